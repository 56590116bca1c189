package dev.fencepost.lease;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The leases of a store: a port. Semantics section 2 is its contract, and one contract test holds every implementation to it.
 *
 * <p>Every method may throw {@link StoreException}; only its kind {@code AMBIGUOUS} means that the write may have happened. Expiry is
 * judged by the store's clock alone, at a moment when the row is locked. Safe for use by many threads.
 */
public interface Leases extends Renewals {

    Duration MAX_TTL = Duration.ofDays(30);

    /** @throws IllegalArgumentException unless {@code 0 < ttl <= 30 days}, which every claim and renewal asks for */
    static void checkTtl(Duration ttl) {
        if (!ttl.isPositive() || ttl.compareTo(MAX_TTL) > 0) {
            throw new IllegalArgumentException("ttl must be longer than 0 and at most 30 days, not " + ttl);
        }
    }

    /**
     * Grants the resource if it has no live lease; {@code now == expires_at} counts as free. A live lease is refused to everyone, the
     * same owner included.
     */
    Claim claim(String resource, Owner owner, RunId runId, Duration ttl);

    @Override
    Renewal renew(Lease lease, Duration ttl);

    /** Gives the lease back, keeping the token. Empty when released, else why nothing changed. */
    Optional<Refusal> release(Lease lease);

    /** The resource's row, or null if it was never claimed. */
    @Nullable
    LeaseView inspect(String resource);

    /** All resources by name. */
    List<LeaseView> list(int limit);

    /**
     * A person's order: clears the owner and raises the token, whoever holds it; an attempt that is open under it ends CANCELLED.
     *
     * @return the row after it, or null if the resource was never claimed
     */
    @Nullable
    LeaseView breakLease(String resource, String reason);
}
