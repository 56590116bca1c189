package dev.fencepost.run;

import dev.fencepost.effect.Announcement;
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
        List<Announcement> effects) {

    public static final int MAX_RESULT_BYTES = 1 << 20;

    /** More effects than this of one run are a mistake. */
    public static final int MAX_EFFECTS = 1_000;

    public Completion {
        effects = List.copyOf(effects);
    }

    /** Without effects. */
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

    /** The outcome alone: result and output are payload. */
    @Override
    public String toString() {
        return "completion " + outcome;
    }
}
