package dev.fencepost.edge.cli;

import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.process.OsChildren;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.run.Job;
import dev.fencepost.run.Runner;
import dev.fencepost.run.Runner.Result;
import dev.fencepost.run.StopRequest;
import dev.fencepost.run.Workspace.RunFiles;
import dev.fencepost.schedule.Slot;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneId;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One run that somebody waits for, with the take-over of a dead holder of this host before it.
 *
 * @param say takes a line for a person
 */
record HandRun(JdbcStore store, Runner runner, OsChildren children, Consumer<String> say) {

    /** A dead holder is cleaned up, and the claim sent again, so often: each time somebody else may be faster. */
    private static final int MOST_CLAIMS = 3;

    /** Keeps what a closing line needs, and passes everything on. */
    static final class Witness implements Journal {
        private final Journal next;
        private final AtomicReference<Event.@Nullable Started> started = new AtomicReference<>();

        Witness(Journal next) {
            this.next = next;
        }

        @Override
        public void record(Event event) {
            if (event instanceof Event.Started now) {
                started.set(now);
            }
            next.record(event);
        }

        Event.@Nullable Started started() {
            return started.get();
        }
    }

    /** Why it ended so, or why its end is not stored. */
    static @Nullable String reason(Result.Ended ended) {
        return ended.refused() == null ? ended.reason() : "the end was refused: " + ended.refused();
    }

    /** How the run ended, for scripts; what it is about stands before it. */
    static Map<String, @Nullable Object> form(
            Result.Ended ended, Event.@Nullable Started started, Duration ran, @Nullable Path log) {
        return Json.object(
                "outcome",
                ended.outcome(),
                "attempt",
                started == null ? null : started.attempt(),
                "fence",
                started == null ? null : started.fence(),
                "run_id",
                started == null ? null : started.runId(),
                "exit_code",
                ended.exit() == null ? null : ended.exit().code(),
                "signal",
                ended.exit() == null ? null : ended.exit().signal(),
                "ran_ms",
                ran.toMillis(),
                "log",
                log);
    }

    /** @param reopen whether a tick that ended otherwise than succeeded is run again */
    Result claimAndRun(Job job, Slot slot, StopRequest stop, boolean reopen, Consumer<RunFiles> started)
            throws InterruptedException {
        for (int claims = 1; ; claims++) {
            Result result = runner.runOnce(job, slot, runner.newRunId(), stop, reopen, started);
            if (!(result instanceof Result.Held held)
                    || claims == MOST_CLAIMS
                    || !children.provablyDead(held.by().owner())) {
                return result;
            }
            // Of this host, and surely gone: nobody has to wait for the end of its lease (semantics 2.15).
            int killed = children.sweep(held.by().runId());
            store.abandon(held.by(), true);
            say.accept("the holder of the lease, "
                    + LeaseForms.shortOwner(held.by().owner()) + ", is dead; its lease is taken over"
                    + (killed == 0 ? "" : ", and what was left of its run is killed: " + killed + " processes"));
        }
    }

    /** Who keeps us away, for a person. */
    static String holder(Lease by, Owner self, ZoneId zone) {
        return LeaseForms.shortOwner(by.owner()) + whose(by, self) + " holds the lease with token " + by.fence()
                + " until " + SlotText.local(by.expiresAt(), zone) + " and renews it as long as it runs";
    }

    private static String whose(Lease lease, Owner self) {
        Incarnation holder = Incarnation.of(lease.owner());
        Incarnation we = Incarnation.of(self);
        return holder != null && we != null && holder.nodeId().equals(we.nodeId())
                ? " (this node, pid " + holder.pid() + ")"
                : "";
    }
}
