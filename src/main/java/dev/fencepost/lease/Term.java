package dev.fencepost.lease;

import java.time.Duration;

/**
 * How long a holder may trust its lease, on its own boot clock. Pure arithmetic.
 *
 * <p>The store counts from the moment it granted or renewed; the holder counts from just <em>before it sent</em> the request, and stops
 * a margin earlier. So whatever the network and the two clocks do, the holder is done before the store forgets it (semantics 2.12).
 *
 * @param sentBootMillis boot clock just before the last successful claim or renewal was sent
 * @param ttlMillis length of the lease
 */
public record Term(long sentBootMillis, long ttlMillis) {

    private static final long LEAST_MARGIN_MILLIS = 2_000;

    public static Term of(long sentBootMillis, Duration ttl) {
        return new Term(sentBootMillis, ttl.toMillis());
    }

    /** max(2 s, 5 % of the ttl), but never more than a quarter of it. Kill and grace have to fit in. */
    public long marginMillis() {
        return Math.min(Math.max(LEAST_MARGIN_MILLIS, ttlMillis / 20), ttlMillis / 4);
    }

    /** When the run has to be stopped. */
    public long deadlineBootMillis() {
        return endBootMillis() - marginMillis();
    }

    /** When the store will have forgotten the lease, at the earliest. */
    public long endBootMillis() {
        return sentBootMillis + ttlMillis;
    }

    /** Time between two renewals: a third of the ttl, so that one that fails leaves two more chances. */
    public long renewIntervalMillis() {
        return Math.max(1, ttlMillis / 3);
    }

    /**
     * The grace that a run under this lease may be given now: as wanted, but at most half of the margin, and half of what is left until
     * the end; the other half is for the kill. Nothing after the end: a runner that was frozen kills at once when it wakes.
     */
    public Duration grace(Duration wanted, long nowBootMillis) {
        long room = Math.min(marginMillis(), Math.max(0, endBootMillis() - nowBootMillis)) / 2;
        return wanted.toMillis() < room ? wanted : Duration.ofMillis(room);
    }
}
