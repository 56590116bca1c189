package dev.fencepost.lease;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A resource's row as it stands, for people and for planning.
 *
 * @param fence newest token ever granted, 0 if none was
 * @param state by the store's clock at the moment of the answer
 * @param owner and the fields after it: null when released
 */
public record LeaseView(
        String resource,
        long fence,
        State state,
        @Nullable Owner owner,
        @Nullable RunId runId,
        @Nullable String slotKey,
        @Nullable Instant grantedAt,
        @Nullable Instant expiresAt) {

    /** Whether somebody may act on the resource. */
    public enum State {
        LIVE,
        /** The end has passed and nobody has taken the resource since. */
        EXPIRED,
        RELEASED
    }

    public boolean isLive() {
        return state == State.LIVE;
    }

    /** The lease behind a row that is live or expired, or null when it is released. */
    public @Nullable Lease lease() {
        if (owner == null || runId == null || grantedAt == null || expiresAt == null) {
            return null;
        }
        return new Lease(resource, owner, new FencingToken(fence), runId, slotKey, grantedAt, expiresAt);
    }
}
