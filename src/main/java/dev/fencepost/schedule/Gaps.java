package dev.fencepost.schedule;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * How far apart the slots of a schedule lie in some window, measured on the UTC line: a change of the clock makes a gap shorter or
 * longer, and that counts.
 *
 * @param shortest the least distance of two neighbouring slots
 * @param longest the greatest distance of two neighbouring slots
 */
public record Gaps(Duration shortest, Duration longest) {

    /** {@code from + horizon}, or the last instant where that does not exist. */
    static Instant end(Instant from, Duration horizon) {
        try {
            return from.plus(horizon);
        } catch (DateTimeException | ArithmeticException tooFar) {
            return horizon.isNegative() ? Instant.MIN : Instant.MAX;
        }
    }

    /** Collects gaps from runs of slots that are given in rising order. One thread only. */
    static final class Collector {
        private long shortest = Long.MAX_VALUE;
        private long longest = Long.MIN_VALUE;
        private long newest;
        private boolean started;

        /** One slot. */
        void slot(long at) {
            if (started) {
                gap(at - newest);
            }
            newest = at;
            started = true;
        }

        /** A run of two or more slots, whose inner gaps are known without visiting each. */
        void run(long first, long last, long shortestInside, long longestInside) {
            slot(first);
            gap(shortestInside);
            gap(longestInside);
            newest = last;
        }

        private void gap(long seconds) {
            shortest = Math.min(shortest, seconds);
            longest = Math.max(longest, seconds);
        }

        /** What was collected, or null when fewer than two slots came. */
        @Nullable
        Gaps gaps() {
            return longest < 0 ? null : new Gaps(Duration.ofSeconds(shortest), Duration.ofSeconds(longest));
        }
    }
}
