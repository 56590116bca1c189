package dev.fencepost.model;

import dev.fencepost.lease.Claim;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Section 2 of the semantics on a map. */
final class LeaseBook {

    private static final class Row {
        private long fence;
        private @Nullable Lease lease;
    }

    private final Map<String, Row> rows = new TreeMap<>();

    private Row row(String resource) {
        return rows.computeIfAbsent(resource, name -> new Row());
    }

    /** The lease that nobody has released, live or over. */
    @Nullable
    Lease current(String resource) {
        return row(resource).lease;
    }

    @Nullable
    Lease live(String resource, Instant now) {
        Lease lease = current(resource);
        return lease != null && now.isBefore(lease.expiresAt()) ? lease : null;
    }

    long fence(String resource) {
        return row(resource).fence;
    }

    /** Whether the resource's lease is the very grant that is shown, live or over. */
    boolean isOf(Lease shown) {
        Lease lease = current(shown.resource());
        return lease != null
                && lease.owner().equals(shown.owner())
                && lease.fence().equals(shown.fence())
                && lease.runId().equals(shown.runId());
    }

    boolean isLive(Lease shown, Instant now) {
        return isOf(shown) && live(shown.resource(), now) != null;
    }

    Lease grant(String resource, Owner owner, RunId runId, @Nullable String slotKey, Instant now, Duration ttl) {
        Row row = row(resource);
        row.fence++;
        Lease lease = new Lease(resource, owner, new FencingToken(row.fence), runId, slotKey, now, now.plus(ttl));
        row.lease = lease;
        return lease;
    }

    void free(String resource) {
        row(resource).lease = null;
    }

    void raise(String resource) {
        row(resource).fence++;
    }

    Claim claim(String resource, Owner owner, RunId runId, Duration ttl, Instant now) {
        Lease live = live(resource, now);
        if (live == null) {
            return new Claim.Granted(grant(resource, owner, runId, null, now, ttl));
        }
        boolean secondTry = live.owner().equals(owner) && live.runId().equals(runId);
        return secondTry ? new Claim.Granted(live) : new Claim.Held(live);
    }

    Renewal renew(Lease shown, Duration ttl, Instant now) {
        if (!isLive(shown, now)) {
            return new Renewal.Lost(refusal(shown));
        }
        Lease renewed = new Lease(
                shown.resource(),
                shown.owner(),
                shown.fence(),
                shown.runId(),
                shown.slotKey(),
                shown.grantedAt(),
                now.plus(ttl));
        row(shown.resource()).lease = renewed;
        return new Renewal.Renewed(renewed);
    }

    Optional<Refusal> release(Lease shown) {
        if (!isOf(shown)) {
            return Optional.of(refusal(shown));
        }
        free(shown.resource());
        return Optional.empty();
    }

    /** Why a lease that is not live, or not the one shown, lets nothing in. */
    Refusal refusal(Lease shown) {
        long fence = fence(shown.resource());
        if (fence == 0) {
            return Refusal.UNKNOWN;
        }
        if (fence > shown.fence().value()) {
            return Refusal.STALE_TOKEN;
        }
        return isOf(shown) ? Refusal.EXPIRED : Refusal.NOT_OWNER;
    }

    /** Ends of leases. */
    Stream<Instant> instants() {
        return rows.values().stream()
                .map(row -> row.lease)
                .filter(Objects::nonNull)
                .map(Lease::expiresAt);
    }

    @Nullable
    LeaseView view(String resource, Instant now) {
        Row row = row(resource);
        if (row.fence == 0) {
            return null;
        }
        Lease lease = row.lease;
        if (lease == null) {
            return new LeaseView(resource, row.fence, LeaseView.State.RELEASED, null, null, null, null, null);
        }
        return new LeaseView(
                resource,
                row.fence,
                live(resource, now) == null ? LeaseView.State.EXPIRED : LeaseView.State.LIVE,
                lease.owner(),
                lease.runId(),
                lease.slotKey(),
                lease.grantedAt(),
                lease.expiresAt());
    }
}
