package dev.fencepost.schedule;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How many missed slots are run after all.
 *
 * @param max the newest so many, 0 to {@value #LIMIT}
 * @param window how far back a missed slot may lie, or null for no bound
 */
public record CatchUp(int max, @Nullable Duration window) {

    public static final int LIMIT = 10_000;
    public static final CatchUp DEFAULT = new CatchUp(1, null);

    public CatchUp {
        if (max < 0 || max > LIMIT) {
            throw new IllegalArgumentException("catch-up.max must be between 0 and " + LIMIT + ", not " + max);
        }
        if (window != null && !window.isPositive()) {
            throw new IllegalArgumentException("catch-up.window must be longer than 0, not " + window);
        }
    }
}
