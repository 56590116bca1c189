package dev.fencepost.lease;

import java.time.Duration;

/** Where a lease is renewed: all that its {@link Keeper} needs of a store, or of a server that stands before one. */
@FunctionalInterface
public interface Renewals {

    /**
     * Moves the end of a live lease of this owner, token and run to {@code now + ttl}, and changes nothing else.
     *
     * @throws StoreException if there was no answer; only its kind {@code AMBIGUOUS} means that it may have happened
     */
    Renewal renew(Lease lease, Duration ttl);
}
