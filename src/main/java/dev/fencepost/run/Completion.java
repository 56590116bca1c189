package dev.fencepost.run;

import dev.fencepost.effect.Announcement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The end of an attempt as its holder wants it stored.
 *
 * @param closesTick whether the attempt's outcome becomes the tick's, or the tick stays open for another try
 * @param counted whether the attempt counts toward max-attempts; one ended by a graceful stop does not
 * @param exitCode and {@code signal}: null where the child was never started
 * @param result what the command wrote to its result file, at most 1 MiB
 * @param outputTail the end of its output, at most 64 KiB
 * @param effects what it announces: stored with it, or not at all
 * @param further what follows from a failure
 */
public record Completion(
        Outcome outcome,
        boolean closesTick,
        boolean counted,
        @Nullable Integer exitCode,
        @Nullable Integer signal,
        @Nullable String reason,
        byte @Nullable [] result,
        @Nullable String outputTail,
        List<Announcement> effects,
        Further further) {

    /**
     * What follows from a failure; stored with it.
     *
     * @param classification its kind, or null where nothing told it
     * @param retryAfter how long the tick, which stays open, is not tried again; null for at once
     * @param deferral what keeps the whole job, or null
     */
    public record Further(
            @Nullable Classification classification,
            @Nullable Duration retryAfter,
            @Nullable Deferral deferral) {

        public static final Further NOTHING = new Further(null, null, null);
    }

    /**
     * Nothing of the schedule is started for a while, since a usage limit is reached.
     *
     * @param until when the limit ends, as the run said; null where it did not
     * @param otherwise how long it lasts then, counted from the end of the attempt
     */
    public record Deferral(@Nullable Instant until, Duration otherwise) {}

    public static final int MAX_RESULT_BYTES = 1 << 20;

    /** More effects than this of one run are a mistake. */
    public static final int MAX_EFFECTS = 1_000;

    public Completion {
        effects = List.copyOf(effects);
    }

    /** Of a run from whose end nothing follows. */
    public Completion(
            Outcome outcome,
            boolean closesTick,
            boolean counted,
            @Nullable Integer exitCode,
            @Nullable Integer signal,
            @Nullable String reason,
            byte @Nullable [] result,
            @Nullable String outputTail,
            List<Announcement> effects) {
        this(outcome, closesTick, counted, exitCode, signal, reason, result, outputTail, effects, Further.NOTHING);
    }

    /** The same, without effects. */
    public Completion(
            Outcome outcome,
            boolean closesTick,
            boolean counted,
            @Nullable Integer exitCode,
            @Nullable Integer signal,
            @Nullable String reason,
            byte @Nullable [] result,
            @Nullable String outputTail) {
        this(outcome, closesTick, counted, exitCode, signal, reason, result, outputTail, List.of());
    }

    /** Whether the failure counts as none: a usage limit was reached, and the job waits for its end. */
    public boolean isDeferred() {
        return further.deferral() != null;
    }

    /** The outcome alone: result and output are payload. */
    @Override
    public String toString() {
        return "completion " + outcome;
    }
}
