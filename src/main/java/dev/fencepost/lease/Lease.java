package dev.fencepost.lease;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Permission, with an end, to act on a resource. It is what every later write has to show: owner, token and run id stand in the WHERE
 * of the statement that writes.
 *
 * @param slotKey the slot it was granted for, or null for a resource that is no job
 * @param grantedAt by the store's clock, for people and for the rule of overlap
 * @param expiresAt by the store's clock as it was at the last grant or renewal; the holder trusts its own {@link Term} instead
 */
public record Lease(
        String resource,
        Owner owner,
        FencingToken fence,
        RunId runId,
        @Nullable String slotKey,
        Instant grantedAt,
        Instant expiresAt) {

    /**
     * The same after a renewal.
     *
     * @param end by the store's clock
     */
    public Lease until(Instant end) {
        return new Lease(resource, owner, fence, runId, slotKey, grantedAt, end);
    }
}
