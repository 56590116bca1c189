package dev.fencepost.run;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What notifiers have been told of how the jobs do, kept in the store, so that each change is told once whatever the number of nodes and
 * of restarts: a port. What is said of exceptions and threads in {@link dev.fencepost.lease.Leases} holds here too.
 */
public interface Told {

    /** Failures in a row are counted up to so many. */
    int MOST = 1_000;

    /**
     * Counts how many ticks of the job have failed in a row, up to now, and writes that so many are told. Ticks that were skipped, dropped
     * or cancelled neither count nor end the row.
     *
     * @return what the caller, and nobody else, is to tell; no change for an unknown job
     */
    Change change(String job);

    /**
     * @param before how many failures of this row had been told; after a success, those of the row that it ended
     * @param now how many there are; 0 after a success
     * @param last the newest tick that succeeded or failed; null if there is none
     */
    record Change(int before, int now, @Nullable Last last) {

        public static final Change NONE = new Change(0, 0, null);

        /** Whether a notifier that wants to know after so many failures in a row is to be told of the failure now. */
        public boolean isFailureAfter(int failures) {
            return before < failures && failures <= now;
        }

        /** Whether it was told of a failure that is over now. */
        public boolean isRecoveryAfter(int failures) {
            return now == 0 && failures <= before;
        }
    }

    /**
     * A tick that succeeded or failed.
     *
     * @param attempt number of its last attempt, 0 if it had none
     * @param classification of that attempt
     */
    record Last(
            String slotKey,
            Outcome outcome,
            Instant endedAt,
            int attempt,
            @Nullable Classification classification,
            @Nullable String reason) {}
}
