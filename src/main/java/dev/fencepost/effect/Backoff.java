package dev.fencepost.effect;

import java.time.Duration;

/**
 * The wait before another try: it doubles from one second to ten minutes, and a random part of up to a half is taken off, so that the
 * effects of an outage do not all come back at once. Pure.
 */
final class Backoff {

    private static final long FIRST_MILLIS = 1_000;
    private static final long MAX_MILLIS = 600_000;

    private Backoff() {}

    /**
     * @param tries how many there were, from 1
     * @param fraction in {@code [0, 1)}, drawn for this wait
     */
    static Duration after(int tries, double fraction) {
        int doublings = Math.clamp(tries - 1L, 0, 20);
        long full = Math.min(FIRST_MILLIS << doublings, MAX_MILLIS);
        return Duration.ofMillis(full - Math.round(full / 2.0 * fraction));
    }
}
