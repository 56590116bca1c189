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
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One job on this node: looks at its slots when something may be due, writes the plan, and runs one slot at a time.
 *
 * <p>Looking and running are apart: a slot that comes due while the job runs has to be skipped by somebody. At most one look and one run
 * are under way; a wake-up during a look is remembered. Whatever goes wrong here is recorded and tried again later; it never reaches
 * another job.
 */
public final class JobLoop {

    private static final Duration FIRST_BACKOFF = Duration.ofSeconds(1);
    private static final Duration MAX_BACKOFF = Duration.ofSeconds(15);

    /** A job with nothing to do is looked at again after so long, whatever the clocks say. */
    private static final Duration LONGEST_REST = Duration.ofMinutes(1);

    /** Open ticks may be waiting behind another node's lease; it can end early. */
    private static final Duration LONGEST_REST_WHILE_WAITING = Duration.ofSeconds(10);

    private static final Duration SUSPEND_POLL = Duration.ofMillis(5);

    /** A plan that others outran is made again; more often than this it waits for the next look. */
    private static final int MOST_PLANS_IN_A_ROW = 10;

    private volatile Job job;
    private final Ticks ticks;
    private final Runner runner;
    private final Children children;
    private final Owner owner;
    private final Time time;
    private final Spawner spawner;
    private final Journal journal;

    private final AtomicBoolean waiting = new AtomicBoolean();
    private final AtomicBoolean looking = new AtomicBoolean();
    private volatile boolean lookAgain;
    private volatile long lookingSince;
    private volatile long nextLookAt;
    private volatile @Nullable String lookFailure;
    private volatile @Nullable String claimFailure;
    private Duration backoff = FIRST_BACKOFF;
    private volatile boolean stopping;
    private volatile boolean suspended;
    private volatile boolean registered = true;

    private final Object runLock = new Object();
    private @Nullable Run run;
    private long noRunBefore = Long.MIN_VALUE;
    private Duration runBackoff = FIRST_BACKOFF;

    /** A run from before its claim was sent until its end is stored. */
    private record Run(RunId id, StopRequest stop, long sinceBootMillis, Spawner.Task task) {}

    public JobLoop(
            Job job,
            Ticks ticks,
            Runner runner,
            Children children,
            Owner owner,
            Time time,
            Spawner spawner,
            Journal journal) {
        this.job = job;
        this.ticks = ticks;
        this.runner = runner;
        this.children = children;
        this.owner = owner;
        this.time = time;
        this.spawner = spawner;
        this.journal = journal;
    }

    public Job job() {
        return job;
    }

    /** Looks at the job's slots once its time has come, if that is before the horizon on the boot clock. Returns at once. */
    public void wakeIfDue(Instant planningSince, long horizonBootMillis) {
        if (nextLookAt > horizonBootMillis || !waiting.compareAndSet(false, true)) {
            return;
        }
        Runnable waitAndLook = () -> {
            try {
                time.sleep(Duration.ofMillis(nextLookAt - time.bootMillis()));
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
                return;
            } finally {
                waiting.set(false);
            }
            if (time.bootMillis() >= nextLookAt) { // else somebody has looked meanwhile
                look(planningSince);
            }
        };
        boolean begun = false;
        try {
            spawner.virtualThread("look-" + job.id(), waitAndLook);
            begun = true;
        } finally {
            if (!begun) {
                waiting.set(false); // no thread to be had: the next wake-up tries again
            }
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
    }

    /** Looks begin again, the next one at once. */
    public void resume() {
        suspended = false;
        nextLookAt = time.bootMillis();
    }

    private void lookOnce(Instant planningSince) {
        try {
            long sent = time.bootMillis();
            Duration rest = planAndRun(planningSince);
            nextLookAt = sent + rest.toMillis();
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
        }
    }

    private void tellIfAnsweringAgain(boolean wasFailing) {
        if (wasFailing && storeFailure() == null) {
            journal.record(new Event.StoreAvailable(true, null));
        }
    }

    private void retryLater() {
        nextLookAt = time.bootMillis() + backoff.toMillis();
        backoff = longer(backoff);
    }

    private static Duration longer(Duration backoff) {
        Duration doubled = backoff.multipliedBy(2);
        return doubled.compareTo(MAX_BACKOFF) > 0 ? MAX_BACKOFF : doubled;
    }

    /** Returns how long nothing can come due. */
    private Duration planAndRun(Instant planningSince) {
        for (int i = 0; i < MOST_PLANS_IN_A_ROW; i++) {
            Situation situation = ticks.situation(job.id());
            if (situation == null) {
                registered = false;
                throw new StoreException(
                        StoreException.Kind.BROKEN, "job " + job.id() + " is not registered in the store", null);
            }
            if (cleanUp(situation.lease())) {
                continue;
            }
            if (isBeforeItsStart(situation.backlog())) {
                return rest(situation, false, situation.lease());
            }
            Plan plan =
                    Planner.plan(job.schedule(), job.catchUp(), job.maxAttempts(), planningSince, situation.backlog());
            if (plan.changes(situation.backlog().cursor())) {
                plan = ticks.apply(job, situation.backlog(), plan);
                if (plan == null) {
                    continue; // another node was faster
                }
                tell(plan, situation);
            }
            LeaseView lease = situation.lease();
            boolean held = lease != null && lease.isLive();
            Duration rest = rest(situation, held && !plan.due().isEmpty(), lease);
            if (!plan.due().isEmpty() && !held) {
                Duration barred = startRun(plan.due().getFirst(), planningSince);
                rest = barred == null ? rest : shorter(rest, barred);
            }
            return rest;
        }
        return Duration.ofMillis(200);
    }

    /** The cursor of a job that is to start later stands ahead; that is no clock that was set back. */
    private boolean isBeforeItsStart(Backlog backlog) {
        Instant start = job.startFrom();
        return start != null
                && backlog.now().isBefore(start)
                && !backlog.cursor().isBefore(start.minusSeconds(1));
    }

    private Duration rest(Situation situation, boolean waiting, @Nullable LeaseView lease) {
        Instant now = situation.backlog().now();
        Duration rest = waiting ? LONGEST_REST_WHILE_WAITING : LONGEST_REST;
        Instant next = job.schedule().next(now);
        if (next != null) {
            rest = shorter(rest, Duration.between(now, next));
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
            journal.record(new Event.Abandoned(
                    job.id(),
                    attempt.slotKey(),
                    attempt.number(),
                    attempt.fence().value()));
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
        SlotRange dropped = plan.dropped();
        if (dropped != null) {
            journal.record(new Event.Dropped(
                    job.id(),
                    dropped.first(),
                    dropped.last(),
                    dropped.count(),
                    "missed, catch-up.max is " + job.catchUp().max()));
        }
        for (OpenTick tick : plan.closed()) {
            if (tick.attempts() == 0) {
                Instant at = tick.slot().at();
                journal.record(new Event.Dropped(job.id(), at, at, 1, "newer slots are due, and it was never tried"));
            } else {
                String why = tick.spent() >= job.maxAttempts() ? "its attempts are used up" : "newer slots are due";
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

    /** Returns null, or how long no run may be started, since the last one could not be. */
    private @Nullable Duration startRun(Slot slot, Instant planningSince) {
        synchronized (runLock) {
            if (run != null || stopping) {
                return null;
            }
            long barred = noRunBefore - time.bootMillis();
            if (noRunBefore != Long.MIN_VALUE && barred > 0) {
                return Duration.ofMillis(barred);
            }
            RunId id = runner.newRunId();
            StopRequest stop = new StopRequest();
            // The task waits for the lock, so that the run is known before its claim is sent.
            run = new Run(
                    id,
                    stop,
                    time.bootMillis(),
                    spawner.virtualThread("run-" + job.id(), () -> carryOut(slot, id, stop, planningSince)));
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
                pause = Duration.ofMillis(200);
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
            nextLookAt = time.bootMillis() + pause.toMillis();
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
        long late = time.bootMillis() - nextLookAt;
        return isQuiet() || looking.get() || nextLookAt == 0 || late <= 0 ? null : Duration.ofMillis(late);
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

    /** No slot is started after this. */
    public void stopStarting() {
        synchronized (runLock) {
            stopping = true;
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
