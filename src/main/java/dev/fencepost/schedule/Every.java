package dev.fencepost.schedule;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A fixed distance: the slots are {@code anchor + k × interval} on the UTC line, for every whole k, also the negative ones.
 *
 * <p>Because nothing but these two values is an input, the slots are the same on every node and after every restart; daylight saving,
 * the length of a run and a manual start move nothing. A day here is always 24 hours: a run at the same wall-clock time each day wants
 * {@link Cron}.
 *
 * @param interval whole seconds, from one second to ten years
 * @param anchor one of the slots, whole seconds
 */
public record Every(Duration interval, Instant anchor) implements Schedule {

    private static final Duration SHORTEST = Duration.ofSeconds(1);
    private static final Duration LONGEST = Duration.ofDays(10 * 366);

    /** @throws ScheduleException when a part is not in whole seconds, or the interval is out of its bounds */
    public Every {
        if (interval.compareTo(SHORTEST) < 0) {
            throw new ScheduleException(
                    "every: " + interval + " is too short: write at least 1s (the longest is 3660 days, PT87840H)");
        }
        if (interval.compareTo(LONGEST) > 0) {
            throw new ScheduleException("every: " + interval
                    + " is too long: write at most 3660 days (PT87840H), or a cron line with a month");
        }
        if (!interval.equals(Duration.ofSeconds(interval.toSeconds()))) {
            throw new ScheduleException(
                    "every: " + interval + " has a fraction of a second: write whole seconds, as in "
                            + Duration.ofSeconds(interval.toSeconds()));
        }
        if (anchor.getNano() != 0) {
            throw new ScheduleException("anchor: " + anchor + " has a fraction of a second: write whole seconds, as in "
                    + Instant.ofEpochSecond(anchor.getEpochSecond()));
        }
    }

    /** Anchored at 1970-01-01T00:00:00Z. */
    public Every(Duration interval) {
        this(interval, Instant.EPOCH);
    }

    @Override
    public @Nullable Instant next(Instant after) {
        long at = slot(index(after) + 1);
        return at > Instant.MAX.getEpochSecond() ? null : Instant.ofEpochSecond(at);
    }

    @Override
    public @Nullable Instant latest(Instant atOrBefore) {
        long at = slot(index(atOrBefore));
        return at < Instant.MIN.getEpochSecond() ? null : Instant.ofEpochSecond(at);
    }

    @Override
    public long count(Instant after, Instant until) {
        return Math.max(0, index(until) - index(after));
    }

    @Override
    public @Nullable Gaps gaps(Instant from, Duration horizon) {
        return count(from, Gaps.end(from, horizon)) < 2 ? null : new Gaps(interval, interval);
    }

    @Override
    public String text() {
        return "every " + interval + " anchor " + anchor;
    }

    /**
     * The k of the newest slot at or before the instant. No overflow: all instants span 6.4e16 seconds, a long holds 9.2e18, and a
     * fraction of a second lies above its floor, where no slot is.
     */
    private long index(Instant instant) {
        return Math.floorDiv(instant.getEpochSecond() - anchor.getEpochSecond(), interval.toSeconds());
    }

    private long slot(long index) {
        return anchor.getEpochSecond() + index * interval.toSeconds();
    }
}
