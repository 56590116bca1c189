package dev.fencepost;

import dev.fencepost.effect.Dispatcher;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.DeadlineWatch;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Children;
import dev.fencepost.run.Job;
import dev.fencepost.run.JobLoop;
import dev.fencepost.run.Notices;
import dev.fencepost.run.OrderWatch;
import dev.fencepost.run.Orders.Stop;
import dev.fencepost.run.Places;
import dev.fencepost.run.Runner;
import dev.fencepost.run.Ticks.Restless;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One runner: read this first. It is woken once a second, makes sure that the store is ready, and lets each job that has something due
 * look at its slots. A missed, late or doubled wake-up harms nothing: which slots are due comes from the store's cursor.
 *
 * <p>What is ordered through the store is noticed once a second too, by one read whatever the number of jobs (see {@link OrderWatch}): so a
 * run that is to stop is asked to within two seconds, and the jobs that an order is about are looked at.
 *
 * <p>Recovery is part of the wake-up: until the store was reachable once, every wake-up (with growing distance) tries to migrate it and
 * to register the jobs; the node stays up meanwhile. What a dead holder left is cleaned up by the {@link JobLoop} of its job, what a dead
 * sender left by the {@link Dispatcher}.
 */
public final class Node {

    /** Of the program, as its commands and its peers are told. */
    public static final String VERSION = "0.1.0";

    /** Due times up to so far ahead are waited for exactly; it is the distance between two wake-ups. */
    public static final Duration LOOK_AHEAD = Duration.ofSeconds(1);

    /** Twice before an idle job would be looked at by itself, so that one that fails does no harm. */
    private static final Duration SPARING_INTERVAL = Duration.ofSeconds(25);

    /** Looks that begin by one wake-up; the next one goes on behind the last. At the start all jobs are to be looked at. */
    private static final int MOST_LOOKS = 2_000;

    private static final Duration FORCED_STOP_LIMIT = Duration.ofSeconds(4);
    /** At a graceful stop, for calls of sinks that are under way; longer ones are read back at the next start. */
    private static final Duration SENDING_LIMIT = Duration.ofSeconds(5);

    /** What a run may take to end behind its grace. */
    private static final Duration STOP_SLACK = Duration.ofSeconds(4);

    /** A look at slots takes milliseconds; the store's own limits end one that hangs. */
    private static final Duration SUSPEND_LIMIT = Duration.ofSeconds(20);

    private static final Duration FIRST_RETRY = Duration.ofSeconds(1);
    private static final Duration MAX_RETRY = Duration.ofSeconds(15);

    private final Store store;
    private final Runner runner;
    private final Children children;
    private final Owner owner;
    private final Notices notices;
    private final Places places;
    private final Dispatcher dispatcher;
    private final DeadlineWatch watch;
    private final Time time;
    private final Spawner spawner;
    private final Journal journal;
    private final OrderWatch orders;
    private final Errand prepare = new Errand("prepare", "the store is prepared again later");
    private final Errand lookForOrders = new Errand("orders", "they are looked for again");
    private final Errand spareLooks = new Errand("restless-jobs", "each job is looked at by itself");
    private volatile long spareLooksAt;
    private long registered = -1;
    private volatile int firstToWake;
    private volatile Runnable reload = () -> {};
    private final Object changing = new Object();
    private volatile List<Job> jobs;
    private volatile List<JobLoop> loops;
    /** Of jobs that left the file while they ran: nothing is started any more, and they are waited for. */
    private final Set<JobLoop> leaving = ConcurrentHashMap.newKeySet();

    private Duration retry = FIRST_RETRY;
    private volatile long prepareAgainAt = Long.MIN_VALUE;
    private volatile @Nullable Instant planningSince;
    private volatile long lastWakeBootMillis;
    private volatile boolean draining;
    private volatile @Nullable String prepareFailure;

    public Node(
            Store store,
            List<Job> jobs,
            Owner owner,
            Runner runner,
            Children children,
            Dispatcher dispatcher,
            DeadlineWatch watch,
            Notices notices,
            Places places,
            Time time,
            Spawner spawner,
            Journal journal) {
        this.store = store;
        this.runner = runner;
        this.children = children;
        this.owner = owner;
        this.notices = notices;
        this.places = places;
        this.jobs = List.copyOf(jobs);
        this.dispatcher = dispatcher;
        this.watch = watch;
        this.time = time;
        this.spawner = spawner;
        this.journal = journal;
        this.loops = jobs.stream().map(this::loop).toList();
        this.orders = new OrderWatch(store, owner, time, new Obeying());
        this.lastWakeBootMillis = time.bootMillis();
    }

    private JobLoop loop(Job job) {
        return new JobLoop(job, store, store, runner, children, notices, places, owner, time, spawner, journal);
    }

    /**
     * Takes these jobs in the place of the ones before: a job with the same id goes on with its new definition from its next run on, one
     * that is no longer there starts nothing any more and its run may end, a new one begins. Where the store does not answer they are
     * registered once it does; nothing is planned before.
     *
     * @param maxParallel how many runs this node carries out at a time, or null for any number
     */
    public void replaceJobs(List<Job> changed, @Nullable Integer maxParallel) throws InterruptedException {
        synchronized (changing) {
            if (draining) {
                return;
            }
            places.resize(maxParallel == null ? 0 : maxParallel);
            suspendAll();
            Map<String, JobLoop> before =
                    loops.stream().collect(Collectors.toMap(loop -> loop.job().id(), Function.identity()));
            List<JobLoop> after = new ArrayList<>();
            for (Job job : changed) {
                JobLoop known = before.remove(job.id());
                if (known == null) {
                    known = backAgain(job);
                }
                if (known == null) {
                    known = loop(job);
                    known.suspend(Duration.ZERO); // until it is registered: the store may remember an old cursor
                } else {
                    known.redefine(job);
                }
                after.add(known);
            }
            for (JobLoop gone : before.values()) {
                gone.stopStarting();
                leaving.add(gone);
            }
            leaving.removeIf(loop -> loop.runningFor() == null);
            jobs = List.copyOf(changed);
            loops = List.copyOf(after);
            if (draining) { // since the question above: whoever drains may have seen the loops before
                after.forEach(JobLoop::stopStarting);
                return;
            }
            if (planningSince != null) {
                registerAll();
            }
        }
        wake();
    }

    /** All at once, so that while one look is waited for no other begins. */
    private void suspendAll() throws InterruptedException {
        List<JobLoop> all = allLoops();
        try {
            for (JobLoop loop : all) {
                loop.suspend(Duration.ZERO);
            }
            long end = time.bootMillis() + SUSPEND_LIMIT.toMillis();
            for (JobLoop loop : all) {
                if (!loop.suspend(Duration.ofMillis(end - time.bootMillis()))) {
                    journal.record(new Event.Note(
                            loop.job().id(),
                            "a look at its slots hangs; it goes by the old definition until it is back"));
                }
            }
        } catch (InterruptedException stopped) {
            all.forEach(JobLoop::resume);
            throw stopped;
        }
    }

    /** The loop of a job that left the file and comes back while its run goes on: to another one that would be a dead holder's. */
    private @Nullable JobLoop backAgain(Job job) {
        for (JobLoop loop : leaving) {
            if (loop.job().id().equals(job.id())) {
                leaving.remove(loop);
                loop.startAgain();
                return loop;
            }
        }
        return null;
    }

    /** What fails is made up for by prepare, which lets the loops go again; nothing is planned before. */
    private void registerAll() {
        try {
            store.register(jobs);
            loops.forEach(JobLoop::resume);
        } catch (StoreException e) {
            planningSince = null;
            journal.record(new Event.StoreAvailable(false, e.getMessage()));
        } catch (RuntimeException | Error e) {
            planningSince = null;
            journal.record(new Event.Problem("reload", null, null, null, "the jobs are registered again later", e));
        }
    }

    /** Starts the watch over lease deadlines. Everything else happens at wake-ups. */
    public void start() {
        spawner.platformThread("deadline-watch", watch);
    }

    /** What is done when somebody orders that the jobs file is read anew; has to return at once. Nothing unless it was set. */
    public void whenReloadIsOrdered(Runnable reload) {
        this.reload = reload;
    }

    /** To be called about once a second, by any thread; returns at once. */
    public void wake() {
        lastWakeBootMillis = time.bootMillis();
        Instant since = planningSince;
        if (since != null) {
            sendEffects();
            lookForOrders.run(orders::look); // also while the node drains: a run that is waited for can be cancelled
        }
        if (draining) {
            return;
        }
        if (since == null) {
            prepareSoon();
            return;
        }
        if (time.bootMillis() >= spareLooksAt) {
            spareLooksAt = time.bootMillis() + SPARING_INTERVAL.toMillis();
            spareLooks.run(this::spareLooks);
        }
        if (wakeLoops(since)) {
            planningSince = null; // the store was replaced by another or an older one
        }
    }

    /** Returns whether the store has lost the row of a job. */
    private boolean wakeLoops(Instant since) {
        long horizon = time.bootMillis() + LOOK_AHEAD.toMillis();
        List<JobLoop> all = loops;
        boolean lost = false;
        int begun = 0;
        int next = firstToWake;
        for (int i = 0; i < all.size(); i++) {
            int place = (firstToWake + i) % all.size();
            JobLoop loop = all.get(place);
            lost |= loop.takeLostRegistration();
            try {
                if (begun < MOST_LOOKS && loop.wakeIfDue(since, horizon)) {
                    begun++;
                    next = place + 1;
                }
            } catch (RuntimeException | Error e) { // not even a thread to be had; the others are woken all the same
                journal.record(new Event.Problem("wake-up", loop.job().id(), null, null, "it is woken again later", e));
            }
        }
        firstToWake = begun < MOST_LOOKS ? 0 : next;
        return lost;
    }

    /** Also while the node drains: what its last runs announced goes out then. */
    private void sendEffects() {
        try {
            dispatcher.wake();
        } catch (RuntimeException | Error e) { // not even a thread to be had; the jobs are woken all the same
            journal.record(new Event.Problem("outbox", null, null, null, "it is looked at again later", e));
        }
    }

    /**
     * Jobs that only wait for their next slots are not looked at one by one, though something may have happened to them in the store: one
     * read tells of all. Where it fails each loop looks by itself, as it does anyway. If other jobs are in the store than before, it may be
     * another one, and all look.
     */
    private void spareLooks() {
        List<JobLoop> all = loops;
        List<JobLoop.Rest> before = all.stream().map(JobLoop::rest).toList();
        long sent = time.bootMillis();
        try {
            Restless restless = store.restless();
            boolean another = registered >= 0 && restless.registered() != registered;
            registered = restless.registered();
            for (int i = 0; i < all.size(); i++) {
                if (another) {
                    all.get(i).lookSoon();
                } else if (!restless.jobs().contains(all.get(i).job().id())) {
                    all.get(i).restOn(before.get(i), sent, restless.now());
                }
            }
        } catch (StoreException away) {
            // the loops tell of it when they look
        }
    }

    /** Something that is done beside the jobs, one at a time, on a thread of its own. */
    private final class Errand {
        private final String name;
        private final String consequence;
        private final AtomicBoolean underWay = new AtomicBoolean();
        private volatile long since;

        /** @param consequence of a failure, in words */
        Errand(String name, String consequence) {
            this.name = name;
            this.consequence = consequence;
        }

        /** Returns at once; nothing happens if the one before has not come back. */
        void run(Runnable body) {
            if (!underWay.compareAndSet(false, true)) {
                return;
            }
            boolean begun = false;
            try {
                spawner.virtualThread(name, () -> {
                    since = time.bootMillis();
                    try {
                        body.run();
                    } catch (RuntimeException | Error e) {
                        journal.record(new Event.Problem(name, null, null, null, consequence, e));
                    } finally {
                        since = 0;
                        underWay.set(false);
                    }
                });
                begun = true;
            } catch (RuntimeException | Error e) { // not even a thread to be had; the jobs are woken all the same
                journal.record(new Event.Problem(name, null, null, null, consequence, e));
            } finally {
                if (!begun) {
                    underWay.set(false);
                }
            }
        }

        /** How long the one under way has taken, or null if there is none. */
        @Nullable
        Duration takes() {
            long begun = since;
            return begun == 0 ? null : Duration.ofMillis(time.bootMillis() - begun);
        }
    }

    private final class Obeying implements OrderWatch.Listener {
        @Override
        public void stop(Stop stop) {
            allLoops().stream()
                    .filter(loop -> loop.job().id().equals(stop.job()))
                    .forEach(loop -> loop.stopRun(stop.runId(), stop.why(), stop.words()));
        }

        @Override
        public void ordered(@Nullable Set<String> jobs) {
            if (jobs == null) {
                loops.forEach(JobLoop::lookSoon);
                return;
            }
            loops.stream().filter(loop -> jobs.contains(loop.job().id())).forEach(JobLoop::wakeNow);
        }

        @Override
        public void reload() {
            reload.run();
        }
    }

    private void prepareSoon() {
        if (time.bootMillis() >= prepareAgainAt) {
            prepare.run(this::prepare);
        }
    }

    private void prepare() {
        try {
            store.prepare();
            synchronized (changing) {
                store.register(jobs);
                planningSince = store.now();
                loops.forEach(JobLoop::resume);
            }
            prepareFailure = null;
            retry = FIRST_RETRY;
            journal.record(new Event.StoreAvailable(true, null));
            wake();
        } catch (StoreException e) {
            prepareFailure = e.getMessage();
            journal.record(new Event.StoreAvailable(false, e.getMessage()));
            prepareLater();
        } catch (RuntimeException | Error e) {
            prepareFailure = e.toString();
            journal.record(new Event.Problem("start", null, null, null, "the store is prepared again later", e));
            prepareLater();
        }
    }

    private void prepareLater() {
        prepareAgainAt = time.bootMillis() + retry.toMillis();
        Duration doubled = retry.multipliedBy(2);
        retry = doubled.compareTo(MAX_RETRY) > 0 ? MAX_RETRY : doubled;
    }

    /** Whether the store has been reached and the jobs are registered. */
    public boolean isPrepared() {
        return planningSince != null;
    }

    /** Why the store could not be prepared at the last try, or null. */
    public @Nullable String prepareFailure() {
        return prepareFailure;
    }

    /** Jobs whose last look or claim the store refused, each with the reason. */
    public List<FailingJob> failingJobs() {
        List<FailingJob> failing = new ArrayList<>();
        for (JobLoop loop : loops) {
            String reason = loop.storeFailure();
            if (reason != null) {
                failing.add(new FailingJob(loop.job().id(), reason));
            }
        }
        return failing;
    }

    /** A job that the store does nothing for at the moment. */
    public record FailingJob(String job, String reason) {}

    /** How long ago the last wake-up was; a node that is not woken any more is dead, whatever else says it is well. */
    public Duration sinceLastWake() {
        return Duration.ofMillis(time.bootMillis() - lastWakeBootMillis);
    }

    /** The job whose look at its slots has been under way, or overdue, the longest, and for how long; null if there is none. */
    public @Nullable StuckLook longestLook() {
        StuckLook longest = null;
        for (JobLoop loop : loops) {
            Duration looking = loop.lookingFor();
            Duration since = looking == null && isPrepared() ? loop.overdueFor() : looking;
            if (since != null && (longest == null || since.compareTo(longest.since()) > 0)) {
                longest = new StuckLook(loop.job().id(), since);
            }
        }
        return longest;
    }

    /** A look at a job's slots that has not come back. */
    public record StuckLook(String job, Duration since) {}

    /**
     * Why this node does not turn any more, or null if it does: whether it is woken, and each look comes and comes back. A store that does not
     * answer is no standstill, since its own limits end each call; nor is the renewal of one lease, whose end is watched.
     *
     * @param limit how long anything may take
     */
    public @Nullable String standstill(Duration limit) {
        if (sinceLastWake().compareTo(limit) > 0) {
            return "the node has not been woken";
        }
        StuckLook look = longestLook();
        if (look != null && look.since().compareTo(limit) > 0) {
            return "planning of job " + look.job() + " hangs or does not come";
        }
        if (isLonger(dispatcher.lookingFor(), limit)) {
            return "the look at the effects to be sent hangs";
        }
        if (isLonger(lookForOrders.takes(), limit)) {
            return "the look for orders hangs";
        }
        return isLonger(watch.sinceLastLook(), limit) ? "the deadlines of leases are not watched" : null;
    }

    private static boolean isLonger(@Nullable Duration duration, Duration limit) {
        return duration != null && duration.compareTo(limit) > 0;
    }

    /** Whether each job has been looked at once since the start, so that what is due runs. */
    public boolean hasPlanned() {
        return isPrepared() && loops.stream().allMatch(JobLoop::wasLookedAt);
    }

    /** How long a graceful stop takes at the most. */
    public Duration longestStop(Duration drain) {
        return drain.plus(longestGrace(allLoops())).plus(STOP_SLACK).plus(SENDING_LIMIT);
    }

    public List<JobLoop> loops() {
        return loops;
    }

    /** Those of jobs that have left the file included. */
    private List<JobLoop> allLoops() {
        List<JobLoop> all = new ArrayList<>(loops);
        all.addAll(leaving);
        return all;
    }

    /**
     * Graceful stop: no new ticks; running ones get the drain time, then are stopped, and their leases released; their slots are still
     * due (semantics 3.11).
     *
     * @return whether every run had ended by itself within the drain time
     */
    public boolean drain(Duration drain) throws InterruptedException {
        draining = true;
        List<JobLoop> all = allLoops();
        for (JobLoop loop : all) {
            loop.stopStarting();
        }
        List<JobLoop> left = awaitEnd(all, drain);
        if (left.isEmpty()) {
            dispatcher.stop(SENDING_LIMIT);
            return true;
        }
        left.forEach(loop -> loop.stopRun("shutdown", loop.job().grace()));
        awaitEnd(left, longestGrace(left).plus(STOP_SLACK));
        dispatcher.stop(SENDING_LIMIT);
        return false;
    }

    private static Duration longestGrace(List<JobLoop> of) {
        return of.stream()
                .map(loop -> loop.job().grace())
                .max(Duration::compareTo)
                .orElse(Duration.ZERO);
    }

    /** Forced stop: running children are killed without grace; their slots are still due. */
    public void stopNow() throws InterruptedException {
        draining = true;
        List<JobLoop> all = allLoops();
        for (JobLoop loop : all) {
            loop.stopStarting();
            loop.stopRun("shutdown, forced", Duration.ZERO);
        }
        awaitEnd(all, FORCED_STOP_LIMIT);
        dispatcher.stop(Duration.ZERO);
    }

    private List<JobLoop> awaitEnd(List<JobLoop> of, Duration limit) throws InterruptedException {
        long end = time.bootMillis() + limit.toMillis();
        List<JobLoop> left = new ArrayList<>();
        for (JobLoop loop : of) {
            if (!loop.awaitEndOfRun(Duration.ofMillis(Math.max(0, end - time.bootMillis())))) {
                left.add(loop);
            }
        }
        return left;
    }
}
