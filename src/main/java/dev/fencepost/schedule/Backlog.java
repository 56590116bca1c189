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
     * @param spent how many of them count toward max-attempts
     * @param running whether an attempt has no end yet
     */
    public record OpenTick(Slot slot, boolean onTime, int attempts, int spent, boolean running) {}

    /** A live lease: slots that come due after its grant overlap. */
    public record Held(Instant grantedAt, long fence) {}
}
