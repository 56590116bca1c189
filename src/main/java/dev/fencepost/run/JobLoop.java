package dev.fencepost.run;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Ticks.Situation;
import dev.fencepost.schedule.Backlog;
import dev.fencepost.schedule.Backlog.OpenTick;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Plan.SlotRange;
import dev.fencepost.schedule.Planner;
import dev.fencepost.schedule.Slot;
import dev.fencepost.schedule.Spread;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One job on this node: looks at its slots when something may be due, writes the plan, and runs one slot at a time.
 *
 * <p>Looking and running are apart: a slot that comes due while the job runs has to be skipped by somebody. At most one look and one run
 * are under way; a wake-up during a look is remembered. Whatever goes wrong here is recorded and tried again later; it never reaches
 * another job.
 *
 * <p>A job that is paused, or deferred by a usage limit, plans nothing: only what people have ordered is run then. A slot that is due may
 * still wait for its start: by jitter, by its place after a downtime, or since the node runs as much as it may. It holds no lease
 * meanwhile, so another node may run it.
 */
public final class JobLoop implements Places.Guest {

    private static final Duration FIRST_BACKOFF = Duration.ofSeconds(1);
    private static final Duration MAX_BACKOFF = Duration.ofSeconds(15);

    /** A job with nothing to do is looked at again after so long, whatever the clocks say, unless {@link #restOn} says that it need not be. */
    static final Duration LONGEST_REST = Duration.ofMinutes(1);

    /** The store's clock and the boot clock of this host go apart by less than this between two looks, unless one was set. */
    private static final Duration CLOCK_STEP = Duration.ofMillis(500);

    /** Open ticks may be waiting behind another node's lease; it can end early. */
    private static final Duration LONGEST_REST_WHILE_WAITING = Duration.ofSeconds(10);

    /** Where another node was faster. */
    private static final Duration OUTRUN_REST = Duration.ofMillis(200);

    private static final Duration SUSPEND_POLL = Duration.ofMillis(5);

    /** A plan that others outran is made again; more often than this it waits for the next look. */
    private static final int MOST_PLANS_IN_A_ROW = 10;

    /** By one wake-up. */
    private static final int MOST_LOOKS_IN_A_ROW = 5;

    private volatile Job job;
    private final Ticks ticks;
    private final Orders orders;
    private volatile JobBrakes brakes;
    private final Runner runner;
    private final Children children;
    private final Notices notices;
    private final Places places;
    private final Owner owner;
    private final Time time;
    private final Spawner spawner;
    private final Journal journal;

    private final AtomicBoolean waiting = new AtomicBoolean();
    private final AtomicBoolean looking = new AtomicBoolean();
    private volatile boolean lookAgain;
    private volatile long lookingSince;
    private final AtomicReference<Rest> rest = new AtomicReference<>(new Rest(0, null));
    private volatile @Nullable String lookFailure;
    private volatile @Nullable String claimFailure;
    private Duration backoff = FIRST_BACKOFF;
    private volatile boolean stopping;
    private volatile boolean suspended;
    private volatile boolean registered = true;
    private volatile boolean paused;
    private volatile @Nullable Instant planningSince;
    private volatile boolean lookedAt;
    private volatile @Nullable Instant nextSlot;

    /** The beginning of planning that {@link #earliest} belongs to. For whoever looks, who is one at a time. */
    private @Nullable Instant begunAt;

    private Instant earliest = Instant.MAX;

    /** What had ended when the brakes were read. For whoever looks. */
    private @Nullable Ended brakesKnow = new Ended(0, false, null);

    private final Object runLock = new Object();
    private @Nullable Run run;
    private long noRunBefore = Long.MIN_VALUE;
    private Duration runBackoff = FIRST_BACKOFF;

    /**
     * Until when nobody need look at the job.
     *
     * @param until on the boot clock
     * @param idle null where more than the schedule may give the job something to do
     */
    public record Rest(long until, @Nullable Idle idle) {}

    /**
     * A job that waits for nothing but its next slot.
     *
     * @param next by the store's clock; null for a schedule that is over
     * @param clockAhead the store's clock less the boot clock of this host, in milliseconds
     */
    record Idle(@Nullable Instant next, long clockAhead) {

        boolean wasClockSet(long clockAheadNow) {
            return Math.abs(clockAheadNow - clockAhead) >= CLOCK_STEP.toMillis();
        }
    }

    /**
     * What changes when something ends that the brakes count.
     *
     * @param fence the newest token of the job
     * @param live whether a run may be under way under it
     * @param lastTick when the newest end of a tick was
     */
    private record Ended(long fence, boolean live, @Nullable Instant lastTick) {}

    /** A run from before its claim was sent until its end is stored. */
    private record Run(RunId id, StopRequest stop, long sinceBootMillis, Spawner.Task task) {}

    public JobLoop(
            Job job,
            Ticks ticks,
            Orders orders,
            Runner runner,
            Children children,
            Notices notices,
            Places places,
            Owner owner,
            Time time,
            Spawner spawner,
            Journal journal) {
        this.job = job;
        this.ticks = ticks;
        this.orders = orders;
        this.brakes = new JobBrakes(job, ticks, orders, notices, journal);
        this.runner = runner;
        this.children = children;
        this.notices = notices;
        this.places = places;
        this.owner = owner;
        this.time = time;
        this.spawner = spawner;
        this.journal = journal;
    }

    public Job job() {
        return job;
    }

    /**
     * Looks at the job's slots once its time has come, if that is before the horizon on the boot clock. Returns at once.
     *
     * @return whether a look is to begin by it
     */
    public boolean wakeIfDue(Instant planningSince, long horizonBootMillis) {
        this.planningSince = planningSince;
        if (!isToWait(horizonBootMillis)) {
            return false;
        }
        boolean begun = false;
        try {
            spawner.virtualThread("look-" + job.id(), () -> waitAndLook(planningSince, horizonBootMillis));
            begun = true;
        } finally {
            if (!begun) {
                waiting.set(false); // no thread to be had: the next wake-up tries again
            }
        }
        return true;
    }

    /** Whether the time of a look lies before the horizon and nobody waits for it yet; then the caller does. */
    private boolean isToWait(long horizonBootMillis) {
        return rest.get().until() <= horizonBootMillis && waiting.compareAndSet(false, true);
    }

    /**
     * Where the store answered slowly the time of the next look is a little too early: it is counted from when the store was asked. So a
     * look is followed by another one if that lies before the horizon too.
     */
    private void waitAndLook(Instant planningSince, long horizonBootMillis) {
        int looks = 0;
        do {
            try {
                time.sleep(Duration.ofMillis(rest.get().until() - time.bootMillis()));
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
                return;
            } finally {
                waiting.set(false);
            }
            if (time.bootMillis() >= rest.get().until()) { // else somebody has looked meanwhile
                look(planningSince);
            }
            looks++;
        } while (looks < MOST_LOOKS_IN_A_ROW && !isQuiet() && isToWait(horizonBootMillis));
    }

    /** The job is looked at by one of the next wake-ups. */
    public void lookSoon() {
        restUntil(time.bootMillis());
    }

    /** Something was ordered that may concern the job: it is looked at now. Returns at once. */
    public void wakeNow() {
        Instant since = planningSince;
        lookSoon();
        if (since != null
                && !stopping) { // a look that is under way may have read the store before the order: it looks again
            spawner.virtualThread("look-" + job.id(), () -> look(since));
        }
    }

    @Override
    public void placeIsFree() {
        try {
            wakeNow();
        } catch (RuntimeException
                | Error e) { // not even a thread to be had; the next wake-up of the node makes up for it
            journal.record(new Event.Problem("wake-up", job.id(), null, null, "it is woken again later", e));
        }
    }

    private void look(Instant planningSince) {
        lookAgain = true;
        // Whoever looks already will look again; asked for once more after it let go, so that no wish falls between the
        // two.
        while (lookAgain && !isQuiet() && looking.compareAndSet(false, true)) {
            lookingSince = time.bootMillis();
            try {
                while (lookAgain && !isQuiet()) {
                    lookAgain = false;
                    lookOnce(planningSince);
                }
            } finally {
                lookingSince = 0;
                looking.set(false);
            }
        }
    }

    private boolean isQuiet() {
        return stopping || suspended;
    }

    /**
     * Lets no look begin until {@link #resume}, and waits for the one that is under way, whose plan would be that of the old definition.
     *
     * @return whether none is under way any more
     */
    public boolean suspend(Duration limit) throws InterruptedException {
        suspended = true;
        long end = time.bootMillis() + limit.toMillis();
        while (looking.get()) {
            if (time.bootMillis() >= end) {
                return false;
            }
            time.sleep(SUSPEND_POLL);
        }
        return true;
    }

    /** From the next run on the job is this one; the run under way ends as it was begun. To be called while it is suspended. */
    public void redefine(Job changed) {
        if (!changed.id().equals(job.id())) {
            throw new IllegalArgumentException("the loop of " + job.id() + " cannot become that of " + changed.id());
        }
        job = changed;
        brakesKnow = null;
        brakes = new JobBrakes(changed, ticks, orders, notices, journal);
    }

    /** Looks begin again, the next one at once. */
    public void resume() {
        suspended = false;
        lookSoon();
    }

    private void lookOnce(Instant planningSince) {
        try {
            rest.set(planAndRun(planningSince));
            backoff = FIRST_BACKOFF;
            boolean wasFailing = storeFailure() != null;
            lookFailure = null;
            tellIfAnsweringAgain(wasFailing);
        } catch (StoreException e) {
            boolean wasFailing = storeFailure() != null;
            lookFailure = String.valueOf(e.getMessage());
            if (!wasFailing) {
                journal.record(new Event.StoreAvailable(false, e.getMessage()));
            }
            retryLater();
        } catch (RuntimeException | Error e) {
            journal.record(new Event.Problem("planning", job.id(), null, null, "the job is looked at again later", e));
            retryLater();
        } finally {
            lookedAt = true;
        }
    }

    private void tellIfAnsweringAgain(boolean wasFailing) {
        if (wasFailing && storeFailure() == null) {
            journal.record(new Event.StoreAvailable(true, null));
        }
    }

    private void retryLater() {
        restUntil(time.bootMillis() + backoff.toMillis());
        backoff = longer(backoff);
    }

    private static Duration longer(Duration backoff) {
        Duration doubled = backoff.multipliedBy(2);
        return doubled.compareTo(MAX_BACKOFF) > 0 ? MAX_BACKOFF : doubled;
    }

    /** Returns until when nothing can come due. */
    private Rest planAndRun(Instant planningSince) {
        for (int i = 0; i < MOST_PLANS_IN_A_ROW; i++) {
            long sent = time.bootMillis();
            Situation situation = ticks.situation(job.id());
            if (situation == null) {
                registered = false;
                throw new StoreException(
                        StoreException.Kind.BROKEN, "job " + job.id() + " is not registered in the store", null);
            }
            if (cleanUp(situation.lease())) {
                continue;
            }
            if (isPauseOver(situation) || isNowPaused(situation)) {
                continue;
            }
            paused = situation.pause() != null;
            Instant now = situation.backlog().now();
            Instant since = byTheClockNow(planningSince, now);
            Plan plan = plan(situation, since);
            if (plan.changes(situation.backlog().cursor())) {
                plan = ticks.apply(job, situation.backlog(), plan);
                if (plan == null) {
                    continue; // another node was faster
                }
                tell(plan, situation);
            }
            LeaseView lease = situation.lease();
            boolean held = lease != null && lease.isLive();
            Starts starts = new Starts(plan, situation.backlog(), since);
            Slot next = held ? null : starts.next(now);
            boolean waiting = held ? !plan.due().isEmpty() : next != null;
            Instant following = job.schedule().next(now);
            nextSlot = paused || isDeferred(situation) ? null : following;
            Duration undisturbed = starts.rest(now, undisturbed(situation, following, waiting, lease));
            if (next == null) {
                places.leave(this);
                return restFrom(sent, undisturbed, held ? null : idle(situation, plan, following, sent));
            }
            Duration barred = startRun(next, planningSince);
            Duration until = barred == null ? undisturbed : shorter(undisturbed, barred);
            return restFrom(sent, until, null);
        }
        return new Rest(time.bootMillis() + OUTRUN_REST.toMillis(), null);
    }

    /** Rounded up: a slot's own millisecond has not begun before. */
    private static Rest restFrom(long sent, Duration rest, @Nullable Idle idle) {
        return new Rest(sent + rest.plusNanos(999_999).toMillis(), idle);
    }

    private @Nullable Idle idle(Situation situation, Plan plan, @Nullable Instant next, long sent) {
        Backlog backlog = situation.backlog();
        boolean waits = !plan.due().isEmpty() || !backlog.open().isEmpty();
        if (waits || situation.pause() != null || isDeferred(situation)) {
            return null;
        }
        return new Idle(next, backlog.now().toEpochMilli() - sent);
    }

    /** Until when nobody need look at the job, as it is known at this moment: for {@link #restOn}. */
    public Rest rest() {
        return rest.get();
    }

    /**
     * Spares an idle job its next look, by what was read for all jobs at once: the store held nothing for it. Nothing comes of it if
     * somebody has looked since, or a clock was set.
     *
     * @param before {@link #rest()} from before the read
     * @param sent on the boot clock, just before the read
     * @param now of the store
     */
    public void restOn(Rest before, long sent, Instant now) {
        long clockAhead = now.toEpochMilli() - sent;
        Idle idle = before.idle();
        if (idle == null || idle.wasClockSet(clockAhead)) {
            return;
        }
        Instant next = idle.next();
        Duration longest = next == null ? LONGEST_REST : shorter(LONGEST_REST, Duration.between(now, next));
        rest.compareAndSet(before, restFrom(sent, longest, new Idle(next, clockAhead)));
    }

    private void restUntil(long bootMillis) {
        rest.set(new Rest(bootMillis, null));
    }

    /**
     * Since when slots are planned here, by the clock as it stands now. One that was set back behind the beginning would else make every
     * slot one of before it, which waits for the beginning to come once more.
     */
    private Instant byTheClockNow(Instant planningSince, Instant now) {
        if (!planningSince.equals(begunAt)) {
            begunAt = planningSince;
            earliest = planningSince;
        }
        if (now.isBefore(earliest)) {
            earliest = now;
        }
        return earliest;
    }

    /** Ends a pause whose time has come. Returns whether the situation has to be read again. */
    private boolean isPauseOver(Situation situation) {
        Pause pause = situation.pause();
        if (pause == null || pause.isInForce(situation.backlog().now())) {
            return false;
        }
        if (orders.endPause(job.id())) {
            journal.record(new Event.JobResumed(job.id(), Objects.requireNonNull(pause.until())));
        }
        return true;
    }

    /**
     * Pauses the job if a limit is reached: at the look that follows a run, so that everybody sees it at once, and before the next start.
     * Nothing is read where nothing has ended since it was read before. Returns whether the situation has to be read again.
     */
    private boolean isNowPaused(Situation situation) {
        LeaseView lease = situation.lease();
        Ended ended =
                new Ended(lease == null ? 0 : lease.fence(), lease != null && lease.isLive(), situation.lastEnd());
        if (situation.pause() != null || ended.equals(brakesKnow)) {
            return false;
        }
        boolean pausedNow = brakes.pauseIfReached();
        brakesKnow = ended;
        return pausedNow;
    }

    private Plan plan(Situation situation, Instant planningSince) {
        Backlog backlog = situation.backlog();
        if (situation.pause() != null || isDeferred(situation) || isBeforeItsStart(backlog)) {
            return Planner.ordersOnly(job.mostAttempts(), backlog);
        }
        String brake = brakes.dayLimit(backlog.now(), situation.brakesSince());
        Planner.Rules rules =
                new Planner.Rules(job.schedule(), job.catchUp(), job.policies().overlap(), job.mostAttempts(), brake);
        return Planner.plan(rules, planningSince, backlog);
    }

    private static boolean isDeferred(Situation situation) {
        Instant until = situation.deferUntil();
        return until != null && situation.backlog().now().isBefore(until);
    }

    /** When the due slots of a plan may be started on this node. */
    private final class Starts {
        private final Plan plan;
        private final Map<String, OpenTick> open;
        private final Instant planningSince;

        Starts(Plan plan, Backlog backlog, Instant planningSince) {
            this.plan = plan;
            this.open = backlog.open().stream()
                    .collect(Collectors.toMap(tick -> tick.slot().key(), tick -> tick, (one, same) -> one));
            this.planningSince = planningSince;
        }

        boolean isOrdered(Slot slot) {
            OpenTick tick = open.get(slot.key());
            return slot.isManual() || (tick != null && tick.ordered());
        }

        @Nullable
        Slot next(Instant now) {
            return plan.due().stream()
                    .filter(slot -> !notBefore(slot).isAfter(now))
                    .findFirst()
                    .orElse(null);
        }

        /** Until a slot that has to wait may be started, if that is shorter. */
        Duration rest(Instant now, Duration rest) {
            Duration shortest = rest;
            for (Slot slot : plan.due()) {
                shortest = shorterIfAhead(now, notBefore(slot), shortest);
            }
            for (OpenTick tick : open.values()) {
                Instant retry = tick.notBefore();
                shortest = retry == null ? shortest : shorterIfAhead(now, retry, shortest);
            }
            return shortest;
        }

        private Instant notBefore(Slot slot) {
            if (isOrdered(slot)) {
                return Instant.MIN;
            }
            OpenTick tick = open.get(slot.key());
            boolean first = tick == null || tick.attempts() == 0;
            Instant start = slot.at();
            if (first) {
                start = start.plus(Spread.place(
                        slot.idempotencyKey(job.id()), job.policies().jitter()));
            }
            if (slot.at().isBefore(planningSince)) {
                Instant afterDowntime =
                        planningSince.plus(Spread.place(job.id(), job.policies().stagger()));
                start = afterDowntime.isAfter(start) ? afterDowntime : start;
            }
            return start;
        }
    }

    private static Duration shorterIfAhead(Instant now, Instant at, Duration rest) {
        return at.isAfter(now) ? shorter(rest, Duration.between(now, at)) : rest;
    }

    /** The cursor of a job that is to start later stands ahead; that is no clock that was set back. */
    private boolean isBeforeItsStart(Backlog backlog) {
        Instant start = job.startFrom();
        return start != null
                && backlog.now().isBefore(start)
                && !backlog.cursor().isBefore(start.minusSeconds(1));
    }

    /** How long nothing comes due if nobody does anything. */
    private Duration undisturbed(
            Situation situation, @Nullable Instant next, boolean waiting, @Nullable LeaseView lease) {
        Instant now = situation.backlog().now();
        Duration rest = waiting ? LONGEST_REST_WHILE_WAITING : LONGEST_REST;
        if (next != null) {
            rest = shorter(rest, Duration.between(now, next));
        }
        Pause pause = situation.pause();
        if (pause != null && pause.until() != null) {
            rest = shorterIfAhead(now, pause.until(), rest);
        }
        if (situation.deferUntil() != null) {
            rest = shorterIfAhead(now, situation.deferUntil(), rest);
        }
        if (lease != null && lease.isLive() && lease.expiresAt() != null) {
            Duration untilFree = Duration.between(now, lease.expiresAt()).plusMillis(20);
            rest = shorter(rest, untilFree.compareTo(Duration.ofMillis(20)) < 0 ? Duration.ofMillis(20) : untilFree);
        }
        return rest;
    }

    private static Duration shorter(Duration a, Duration b) {
        return a.compareTo(b) < 0 ? a : b;
    }

    /**
     * Ends what a dead holder left: one whose lease has expired, one on this host that is provably dead, or a claim of ours that
     * arrived after we had given it up.
     *
     * @return whether something changed, so that the situation has to be read again
     */
    private boolean cleanUp(@Nullable LeaseView view) {
        Lease lease = view == null ? null : view.lease();
        if (view == null || lease == null) {
            return false;
        }
        boolean ours = lease.owner().equals(owner);
        if (ours && isRunning(lease.runId())) {
            return false;
        }
        boolean dead = ours || children.provablyDead(lease.owner());
        if (view.isLive() && !dead) {
            return false;
        }
        int killed = dead ? children.sweep(lease.runId()) : 0;
        List<Attempt> abandoned = ticks.abandon(lease, dead);
        for (Attempt attempt : abandoned) {
            journal.record(Runner.abandoned(attempt));
        }
        if (abandoned.isEmpty()) {
            return view.isLive(); // the run has ended by itself since its lease was read
        }
        if (ours && view.isLive()) {
            journal.record(new Event.Note(
                    job.id(),
                    "token " + lease.fence()
                            + " was granted without our hearing of it; nothing was started under it, and"
                            + " its lease is given back"));
        } else if (dead && view.isLive()) {
            journal.record(new Event.TakenOver(
                    job.id(), lease.fence().value(), lease.owner().text(), killed));
        }
        return !abandoned.isEmpty() || view.isLive();
    }

    private void tell(Plan plan, Situation situation) {
        long heldBy = situation.lease() == null ? 0 : situation.lease().fence();
        SlotRange older = plan.skippedRange();
        if (older != null) {
            journal.record(new Event.SkippedOverlap(
                    job.id(), older.first().toString(), older.last().toString(), older.count(), heldBy));
        }
        for (Slot slot : plan.skipped()) {
            journal.record(new Event.SkippedOverlap(job.id(), slot.key(), slot.key(), 1, heldBy));
        }
        for (OpenTick tick : plan.displaced()) {
            String key = tick.slot().key();
            journal.record(new Event.SkippedOverlap(job.id(), key, key, 1, heldBy));
        }
        Plan.TakeOver takeOver = plan.takeOver();
        if (takeOver != null) {
            journal.record(new Event.Note(
                    job.id(),
                    "slot " + takeOver.slot().key() + " takes over: the run with token " + takeOver.fence()
                            + " is asked to stop"));
        }
        SlotRange dropped = plan.dropped();
        String brake = plan.brake();
        if (dropped != null) {
            journal.record(new Event.Dropped(
                    job.id(),
                    dropped.first(),
                    dropped.last(),
                    dropped.count(),
                    brake == null ? "missed, catch-up.max is " + job.catchUp().max() : brake));
        }
        for (OpenTick tick : plan.closed()) {
            if (tick.attempts() == 0) {
                Instant at = tick.slot().at();
                journal.record(new Event.Dropped(
                        job.id(), at, at, 1, brake == null ? "newer slots are due, and it was never tried" : brake));
            } else {
                boolean usedUp = tick.spent() >= job.mostAttempts();
                String why = usedUp ? "its attempts are used up" : brake == null ? "newer slots are due" : brake;
                journal.record(new Event.Note(
                        job.id(), "slot " + tick.slot().key() + " is closed with its last attempt's result: " + why));
            }
        }
        List<Instant> missed = plan.opened().stream()
                .filter(tick -> !tick.onTime())
                .map(tick -> tick.slot().at())
                .toList();
        if (!missed.isEmpty()) {
            journal.record(new Event.CaughtUp(job.id(), missed.getFirst(), missed.getLast(), missed.size()));
        }
    }

    private boolean isRunning(RunId id) {
        synchronized (runLock) {
            return run != null && run.id().equals(id);
        }
    }

    /** Returns null, or how long no run may be started, since the last one could not be or there is no place for it. */
    private @Nullable Duration startRun(Slot slot, Instant planningSince) {
        synchronized (runLock) {
            if (run != null || stopping) {
                return null;
            }
            long barred = noRunBefore - time.bootMillis();
            if (noRunBefore != Long.MIN_VALUE && barred > 0) {
                return Duration.ofMillis(barred);
            }
            if (!places.take(this)) {
                return LONGEST_REST_WHILE_WAITING;
            }
            RunId id = runner.newRunId();
            StopRequest stop = new StopRequest();
            try {
                // The task waits for the lock, so that the run is known before its claim is sent.
                run = new Run(
                        id,
                        stop,
                        time.bootMillis(),
                        spawner.virtualThread("run-" + job.id(), () -> carryOut(slot, id, stop, planningSince)));
            } finally {
                if (run == null) {
                    places.giveBack();
                }
            }
            return null;
        }
    }

    private void carryOut(Slot slot, RunId id, StopRequest stop, Instant planningSince) {
        boolean failed = true;
        Duration pause = Duration.ZERO;
        try {
            synchronized (runLock) {
                // see startRun
            }
            Runner.Result result = runner.run(job, slot, id, stop, false, files -> {});
            if (result instanceof Runner.Result.NoAnswer none) {
                throw none.cause();
            }
            failed = false;
            boolean wasFailing = storeFailure() != null;
            claimFailure = null;
            tellIfAnsweringAgain(wasFailing);
            if (result instanceof Runner.Result.Held) {
                pause = OUTRUN_REST;
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        } catch (StoreException e) {
            boolean wasFailing = storeFailure() != null;
            claimFailure = String.valueOf(e.getMessage());
            if (!wasFailing) {
                journal.record(new Event.StoreAvailable(false, e.getMessage()));
            }
        } catch (RuntimeException | Error e) {
            journal.record(new Event.Problem("run", job.id(), slot.key(), null, "the run broke off", e));
        } finally {
            synchronized (runLock) {
                run = null;
                if (failed) { // a claim that fails at once must not be sent again at once, for ever
                    noRunBefore = time.bootMillis() + runBackoff.toMillis();
                    runBackoff = longer(runBackoff);
                } else {
                    runBackoff = FIRST_BACKOFF;
                }
            }
            places.giveBack();
            restUntil(time.bootMillis() + pause.toMillis());
            look(planningSince);
        }
    }

    /** How long the look under way has taken, or null if there is none. */
    public @Nullable Duration lookingFor() {
        long since = lookingSince;
        return since == 0 ? null : Duration.ofMillis(time.bootMillis() - since);
    }

    /** Since when a look at the job has been wanted and none has come, or null. A loop for which this grows is dead. */
    public @Nullable Duration overdueFor() {
        long until = rest.get().until();
        long late = time.bootMillis() - until;
        return isQuiet() || looking.get() || until == 0 || late <= 0 ? null : Duration.ofMillis(late);
    }

    /** Whether the store has lost the job's row; asking takes note of it, and the answer is then no until it is missed again. */
    public boolean takeLostRegistration() {
        boolean lost = !registered;
        registered = true;
        return lost;
    }

    /** Why the store did not do what the last look or claim wanted, or null if it did. */
    public @Nullable String storeFailure() {
        String look = lookFailure;
        return look != null ? look : claimFailure;
    }

    /** How long the run under way has taken, its claim included, or null if there is none. */
    public @Nullable Duration runningFor() {
        synchronized (runLock) {
            return run == null ? null : Duration.ofMillis(time.bootMillis() - run.sinceBootMillis());
        }
    }

    /** Whether the job has been looked at once, whatever came of it. */
    public boolean wasLookedAt() {
        return lookedAt;
    }

    /** The next slot by the schedule, by the last look; null where there is none, or the job is paused or waits for a usage limit. */
    public @Nullable Instant nextSlot() {
        return nextSlot;
    }

    /** Whether the job was paused when it was last looked at. */
    public boolean isPaused() {
        return paused;
    }

    /** No slot is started after this. */
    public void stopStarting() {
        synchronized (runLock) {
            stopping = true;
        }
        places.leave(this);
    }

    /** The job is back in the file after {@link #stopStarting}. The run under way, if there is one, is still this loop's. */
    public void startAgain() {
        synchronized (runLock) {
            stopping = false;
        }
    }

    /** Stops this run, if it is the one under way, for somebody who ordered it or a newer slot. */
    public void stopRun(RunId id, StopRequest.Reason reason, String text) {
        synchronized (runLock) {
            if (run != null && run.id().equals(id)) {
                run.stop().request(reason, text, job.grace());
            }
        }
    }

    /** Stops the run, if there is one, for a shutdown: its slot stays due. */
    public void stopRun(String reason, Duration grace) {
        synchronized (runLock) {
            if (run != null) {
                run.stop().request(StopRequest.Reason.SHUTDOWN, reason, grace);
            }
        }
    }

    /** Waits for the end of the run under way. Returns whether there is none left. */
    public boolean awaitEndOfRun(Duration limit) throws InterruptedException {
        Run current;
        synchronized (runLock) {
            current = run;
        }
        return current == null || current.task().join(limit);
    }
}
