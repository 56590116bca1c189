package dev.fencepost.schedule;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The calendar of a job: a strictly rising series of slots on the UTC line, whole seconds. Immutable, safe for many threads.
 *
 * <p>The rules are one pure function of the expression and its zone, so that the live run, catch-up, "next run" and the preview agree
 * on every node.
 */
public sealed interface Schedule permits Every, Cron {

    /** The first slot strictly after the given instant, or null when the schedule has ended (a Quartz year field). */
    @Nullable
    Instant next(Instant after);

    /** The last slot at or before the given instant, or null when there is none. */
    @Nullable
    Instant latest(Instant atOrBefore);

    /**
     * How many slots lie in {@code (after, until]}. Its cost does not grow with that number: ten years of minutes are counted in
     * milliseconds.
     */
    long count(Instant after, Instant until);

    /**
     * The shortest and the longest gap between neighbouring slots in {@code (from, from + horizon]}, or null when fewer than two lie
     * there. Exact, changes of the clock included. Its cost grows with the days of the horizon, not with the slots.
     */
    @Nullable
    Gaps gaps(Instant from, Duration horizon);

    /** {@link #gaps}: only the shortest. */
    default @Nullable Duration shortestGap(Instant from, Duration horizon) {
        Gaps gaps = gaps(from, horizon);
        return gaps == null ? null : gaps.shortest();
    }

    /** {@link #gaps}: only the longest. */
    default @Nullable Duration longestGap(Instant from, Duration horizon) {
        Gaps gaps = gaps(from, horizon);
        return gaps == null ? null : gaps.longest();
    }

    /** The schedule as the jobs file has it, with everything that moves a slot: two schedules of the same text have the same slots. */
    String text();
}
