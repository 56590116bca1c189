package dev.fencepost.edge.cli;

import dev.fencepost.edge.cli.WorkItemRun.End;
import dev.fencepost.edge.cli.WorkItemRun.Ground;
import dev.fencepost.edge.cli.WorkItemRun.Kind;
import dev.fencepost.edge.cli.WorkItemRun.Plan;
import dev.fencepost.edge.remote.RemoteWorkQueue;
import dev.fencepost.host.Time;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.StopRequest;
import dev.fencepost.work.Grant;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue;
import dev.fencepost.work.WorkState;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Claims items of a queue, as many at a time as there is room for, and carries them out.
 *
 * <p>A claim waits at the server for the first item. It waits a small part of the ttl only, since the trust in a lease is counted from
 * before its claim was sent. A server that does not answer is asked again with a growing wait.
 */
final class WorkLoop {

    private static final Duration LONGEST_POLL = Duration.ofSeconds(15);
    private static final Duration BETWEEN_LOOKS = Duration.ofMillis(100);
    private static final Duration BETWEEN_POLLS = Duration.ofSeconds(1);
    private static final Duration FIRST_BACKOFF = Duration.ofMillis(500);
    private static final Duration MAX_BACKOFF = Duration.ofSeconds(30);

    /** Killing a tree, and giving its item back, is over by then. */
    private static final Duration KILL_LIMIT = Duration.ofSeconds(15);

    /** When the loop ends by itself. */
    enum Until {
        STOPPED,
        ONE_ITEM,
        EMPTY
    }

    /** Told what became of an item. */
    interface Listener {
        void begun(WorkItem item);

        void ended(End end, Duration ran);
    }

    /**
     * @param ownerIsThisProcess whether nobody else can claim under the owner's name, so that what is claimed and not known here is ours
     *     and lost
     */
    record Settings(String queue, int parallel, Until until, Duration drain, boolean ownerIsThisProcess) {}

    private final Settings settings;
    private final Plan plan;
    private final Ground ground;
    private final Listener listener;
    private final RemoteWorkQueue queue;
    private final Time time;
    private final Semaphore room;
    private final Map<RunId, StopRequest> running = new ConcurrentHashMap<>();
    private final Thread thread = Thread.currentThread();
    private volatile int signals;
    private volatile boolean forced;
    private final AtomicBoolean anyFailed = new AtomicBoolean();
    private volatile @Nullable Kind last;
    private volatile @Nullable String cannotStart;
    private volatile long pausedUntilBootMillis;
    private boolean wasAnswered;
    private boolean isAway;
    private boolean mayHaveClaimed;
    private Duration backoff = FIRST_BACKOFF;

    /** Has to be run by the thread that makes it. */
    WorkLoop(Settings settings, Plan plan, Ground ground, Listener listener) {
        this.settings = settings;
        this.plan = plan;
        this.ground = ground;
        this.listener = listener;
        this.queue = ground.queue();
        this.time = ground.time();
        this.room = new Semaphore(settings.parallel());
    }

    /**
     * A person or the system wants the loop to end: nothing is claimed any more, and what runs gets the time of the drain; the second
     * time it is stopped at once. Does not block.
     *
     * @param count how often it was said, from 1
     */
    void stop(int count) {
        signals = count;
        if (count == 1) {
            ground.say()
                    .accept("stopping"
                            + (running.isEmpty()
                                    ? ""
                                    : "; what runs has " + settings.drain().toSeconds() + " s to end")
                            + "; once more stops at once");
        } else {
            forced = true;
            stopAll(Duration.ZERO);
            thread.interrupt();
        }
    }

    private void stopAll(Duration grace) {
        running.values().forEach(each -> each.request(StopRequest.Reason.SHUTDOWN, "the worker stops", grace));
    }

    /**
     * Returns when the loop has ended.
     *
     * @throws StoreException if the server's first answer is that it does not know us, or no work queue
     */
    int run() throws InterruptedException {
        boolean wellEnded = false;
        try {
            boolean goesOn = true;
            while (goesOn && signals == 0) {
                goesOn = turn();
            }
            wellEnded = true;
        } catch (InterruptedException e) {
            if (!forced) {
                throw e;
            }
            wellEnded = true;
        } finally {
            boolean interrupted = Thread.interrupted(); // by the second signal; the runs are waited for all the same
            if (!wellEnded) {
                stopAll(plan.grace());
            }
            awaitRuns();
            if (interrupted && !forced) {
                thread.interrupt();
            }
        }
        return exitCode();
    }

    /** One claim, and the starts that it leads to; false when there is no reason for another. */
    private boolean turn() throws InterruptedException {
        if (cannotStart != null && settings.until() != Until.STOPPED) {
            return false;
        }
        if (time.bootMillis() < pausedUntilBootMillis || !room.tryAcquire()) {
            time.sleep(BETWEEN_LOOKS);
            return true;
        }
        int wanted = 1;
        while (settings.until() != Until.ONE_ITEM && wanted < settings.parallel() && room.tryAcquire()) {
            wanted++;
        }
        Duration poll = settings.until() == Until.EMPTY ? Duration.ZERO : poll();
        long sent = time.bootMillis();
        List<WorkItem> items = List.of();
        try {
            giveBackWhatNobodyKnows();
            sent = time.bootMillis();
            items = queue.claimAny(settings.queue(), plan.owner(), wanted, plan.ttl(), poll);
            answered();
        } catch (StoreException e) {
            unanswered(e);
            return true;
        } finally {
            room.release(wanted - items.size());
        }
        int started = 0;
        try {
            for (WorkItem item : items) {
                start(item, sent);
                started++;
            }
        } finally {
            room.release(items.size() - started);
        }
        if (!items.isEmpty()) {
            return settings.until() != Until.ONE_ITEM;
        }
        if (settings.until() == Until.EMPTY) {
            return false;
        }
        pause(BETWEEN_POLLS.minusMillis(time.bootMillis() - sent)); // a proxy may answer for a server that would wait
        return true;
    }

    private Duration poll() {
        Duration quarter = plan.ttl().dividedBy(4);
        return quarter.compareTo(LONGEST_POLL) < 0 ? quarter : LONGEST_POLL;
    }

    private void answered() {
        if (isAway) {
            ground.say().accept("the server answers again");
        }
        wasAnswered = true;
        isAway = false;
        backoff = FIRST_BACKOFF;
    }

    private void unanswered(StoreException e) throws InterruptedException {
        if (forced) {
            return;
        }
        if (!wasAnswered && e.kind() == StoreException.Kind.BROKEN) {
            throw e; // a wrong token or address, most likely; later it may pass
        }
        mayHaveClaimed |= e.kind() == StoreException.Kind.AMBIGUOUS;
        if (!isAway) {
            ground.say().accept("no answer, asked again until there is one: " + e.getMessage());
        }
        isAway = true;
        pause(Duration.ofMillis(
                Math.round(backoff.toMillis() * (0.5 + ground.entropy().fraction()))));
        Duration doubled = backoff.multipliedBy(2);
        backoff = doubled.compareTo(MAX_BACKOFF) > 0 ? MAX_BACKOFF : doubled;
    }

    /** Sleeps in pieces, so that a signal is soon noticed. */
    private void pause(Duration length) throws InterruptedException {
        long end = time.bootMillis() + length.toMillis();
        while (signals == 0 && time.bootMillis() < end) {
            time.sleep(Duration.ofMillis(Math.min(BETWEEN_LOOKS.toMillis(), end - time.bootMillis())));
        }
    }

    /** A claim whose answer was lost may have been granted: its items would wait for the end of their leases. */
    private void giveBackWhatNobodyKnows() {
        if (!mayHaveClaimed || !settings.ownerIsThisProcess()) {
            return;
        }
        try {
            for (WorkItem item : queue.items(settings.queue(), WorkState.CLAIMED, WorkQueue.MOST_AT_ONCE)) {
                RunId runId = item.runId();
                if (plan.owner().equals(item.owner()) && runId != null && !running.containsKey(runId)) {
                    queue.release(new Grant(item.id(), plan.owner(), new FencingToken(item.fence()), runId));
                }
            }
        } catch (StoreException e) {
            if (e.kind() != StoreException.Kind.BROKEN) {
                throw e;
            }
            // a token that may not look: then the leases end by themselves
        }
        mayHaveClaimed = false;
    }

    /** One permit of the room is this item's until it has ended. */
    private void start(WorkItem item, long sentBootMillis) {
        StopRequest stop = new StopRequest();
        RunId runId = Objects.requireNonNull(item.runId(), "a claimed item has a run id");
        running.put(runId, stop);
        if (signals > 0) { // they came while the claim was under way
            stop.request(StopRequest.Reason.SHUTDOWN, "the worker stops", Duration.ZERO);
        }
        long began = time.bootMillis();
        boolean started = false;
        try {
            WorkItemRun run = new WorkItemRun(plan, ground, item, sentBootMillis, stop);
            ground.spawner().virtualThread("item " + item.id(), () -> {
                boolean told = false;
                try {
                    listener.begun(item);
                    End end = run.run();
                    told = true;
                    ended(end, Duration.ofMillis(time.bootMillis() - began));
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                } finally {
                    if (!told) {
                        anyFailed.set(true);
                    }
                    running.remove(runId);
                    room.release();
                }
            });
            started = true;
        } finally {
            if (!started) {
                running.remove(runId);
            }
        }
    }

    private void ended(End end, Duration ran) {
        if (end.kind() != Kind.DONE && end.kind() != Kind.RELEASED) {
            anyFailed.set(true);
        }
        last = end.kind();
        if (end.kind() == Kind.NOT_STARTED) {
            pausedUntilBootMillis = time.bootMillis() + MAX_BACKOFF.toMillis();
            boolean isNew = !Objects.equals(cannotStart, end.reason());
            cannotStart = end.reason();
            if (!isNew) {
                return;
            }
        } else if (end.kind() != Kind.RELEASED) {
            cannotStart = null;
        }
        listener.ended(end, ran);
    }

    private void awaitRuns() throws InterruptedException {
        if (signals == 0) {
            while (signals == 0 && !allEnded(BETWEEN_LOOKS)) {
                // they may take as long as they like
            }
        }
        if (signals > 0 && !allEnded(Duration.ZERO)) {
            long end = time.bootMillis() + settings.drain().toMillis();
            while (!forced && time.bootMillis() < end && !allEnded(BETWEEN_LOOKS)) {
                // the drain
            }
            if (!allEnded(Duration.ZERO)) {
                forced = true;
                stopAll(plan.grace());
                allEnded(plan.grace().plus(KILL_LIMIT));
            }
        }
    }

    private boolean allEnded(Duration limit) throws InterruptedException {
        long end = time.bootMillis() + limit.toMillis();
        while (room.availablePermits() < settings.parallel()) {
            long left = end - time.bootMillis();
            if (left <= 0) {
                return false;
            }
            try {
                time.sleep(Duration.ofMillis(Math.min(left, 20)));
            } catch (InterruptedException e) {
                if (!forced) {
                    throw e;
                }
                // the second signal: what runs is stopped already, and its end is waited for
            }
        }
        return true;
    }

    private int exitCode() {
        if (signals > 0) {
            return forced ? ExitCode.FORCED : ExitCode.FINE;
        }
        if (settings.until() == Until.ONE_ITEM && last == Kind.LOST) {
            return ExitCode.LEASE_LOST;
        }
        return anyFailed.get() ? ExitCode.FAILED : ExitCode.FINE;
    }
}
