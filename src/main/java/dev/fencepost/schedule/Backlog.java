package dev.fencepost.schedule;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the store knows of a job's slots, read in one go.
 *
 * @param now the store's clock
 * @param cursor newest planned slot
 * @param open ticks without an outcome
 * @param held the live lease of the job, or null
 */
public record Backlog(
        Instant now,
        Instant cursor,
        List<OpenTick> open,
        @Nullable Held held) {

    /**
     * A tick without an outcome.
     *
     * @param onTime whether it was on time when it was planned
     * @param attempts how many were started
     * @param spent how many of them count toward max-attempts, without those from before an order
     * @param running whether an attempt has no end yet
     * @param notBefore when it may be tried again, or null for at once
     * @param ordered whether a person has ordered this slot of the calendar: then it is due outside the cap, as manual ticks are
     */
    public record OpenTick(
            Slot slot,
            boolean onTime,
            int attempts,
            int spent,
            boolean running,
            @Nullable Instant notBefore,
            boolean ordered) {

        /** Of the schedule alone, to be tried at once. */
        public OpenTick(Slot slot, boolean onTime, int attempts, int spent, boolean running) {
            this(slot, onTime, attempts, spent, running, null, false);
        }

        /** Whether a person wants it, and not the schedule alone. */
        public boolean isOrdered() {
            return ordered || slot.isManual();
        }

        boolean isReady(Instant now) {
            return notBefore == null || !notBefore.isAfter(now);
        }
    }

    /**
     * A live lease: slots that come due after its grant overlap.
     *
     * @param byOrder whether a person has ordered the run that it was granted for
     */
    public record Held(Instant grantedAt, long fence, boolean byOrder) {

        /** For a run of the schedule. */
        public Held(Instant grantedAt, long fence) {
            this(grantedAt, fence, false);
        }
    }
}
