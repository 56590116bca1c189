package dev.fencepost.edge.cli;

import dev.fencepost.edge.host.StateDirectory;
import dev.fencepost.edge.process.OsPrograms;
import dev.fencepost.edge.process.OutputRetention;
import dev.fencepost.host.Time;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.RetentionPolicy;
import java.io.IOException;
import java.time.Instant;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Clean-up by commands that run something: where no service runs, as beside a crontab, nobody else does it. One call in {@value #ONE_IN}
 * pays for it, with a batch of each kind.
 */
final class CleanUp {

    private static final int ONE_IN = 64;
    private static final int BATCH = 1_000;

    private CleanUp() {}

    /**
     * @param policy asked only when it is this call's turn; null to leave everything
     * @param say takes what went wrong, for a person
     */
    static void sometimes(
            OpenedStore opened,
            StateDirectory directory,
            String job,
            Supplier<@Nullable RetentionPolicy> policy,
            Consumer<String> say)
            throws InterruptedException {
        UUID dice = opened.assembly().entropy().uuid();
        if (Math.floorMod(dice.getLeastSignificantBits(), ONE_IN) == 0) {
            RetentionPolicy keep = policy.get();
            if (keep != null) {
                now(opened, directory, job, keep, say);
            }
        }
    }

    static void now(
            OpenedStore opened, StateDirectory directory, String job, RetentionPolicy keep, Consumer<String> say)
            throws InterruptedException {
        Time time = opened.assembly().time();
        OutputRetention outputs = OutputRetention.of(
                directory.runs(),
                keep.outputs(),
                opened.store(),
                new OsPrograms(time, opened.assembly().spawner()),
                time);
        try {
            Instant now = opened.store().now();
            opened.store().pruneTicks(job, now.minus(keep.ticks()), keep.ticksOfJob(), BATCH);
            opened.store().pruneEvents(now.minus(keep.events()), BATCH);
            outputs.removeBatch(BATCH).failures().forEach(failure -> say.accept("clean-up: " + failure));
        } catch (StoreException away) {
            // The run is over and stored; a later call cleans up.
        } catch (IOException e) {
            say.accept("clean-up: " + e.getMessage());
        }
    }
}
