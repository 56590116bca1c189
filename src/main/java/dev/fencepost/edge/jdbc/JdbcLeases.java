package dev.fencepost.edge.jdbc;

import dev.fencepost.edge.jdbc.Database.Urgency;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.LeaseView.State;
import dev.fencepost.lease.Leases;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Leases in the table {@code lease}: a row is made once and never deleted; a grant raises its fence. */
final class JdbcLeases implements Leases {

    private static final String COLUMNS_OF = """
            %1$s.resource, %1$s.fence, %1$s.owner, %1$s.run_id, %1$s.slot_key, %1$s.granted_at, {expires %1$s} as expires, \
            case when %1$s.owner is null then 'RELEASED' when {live %1$s} then 'LIVE' else 'EXPIRED' end as state""";

    static final String VIEW_COLUMNS = COLUMNS_OF.formatted("l");

    /** Makes the row, so that the grant below is a plain update of it. */
    static final String MAKE_ROW =
            "insert into lease (resource, fence) values (:resource, 0) on conflict (resource) do nothing";

    /**
     * Goes before every statement that decides by a lease. A statement that waits for the row and finds it unchanged goes on with what
     * it computed before the wait, its clock included; and one that does not wait at all may decide by a row that is just being
     * changed. Behind this lock neither can happen (semantics 2.8).
     */
    static final String LOCK = "select resource from lease where resource = :resource {for_update}";

    /**
     * The usual claim, of a lease that is there and that nobody holds. As for {@link #RENEW} the row is locked first and the clock compared
     * with what is locked.
     */
    static final Sql CLAIM_DEAD = Sql.of("""
            with locked as materialized (
                select * from lease where resource = :resource {for_update})
            update lease set owner = :owner, run_id = :run_id, slot_key = null, fence = {next_fence lease},
                {set_grant}, {set_expiry}
            from locked where lease.resource = locked.resource and {dead locked}
            returning\s""" + COLUMNS_OF.formatted("lease"));

    /** Only with the row locked. */
    static final String GRANT = """
            update lease set owner = :owner, run_id = :run_id, slot_key = :slot_key, fence = {next_fence},
                {set_grant}, {set_expiry}
            where resource = :resource and {dead}""";

    private static final Sql CLAIM =
            Sql.of(MAKE_ROW, LOCK, GRANT, "select " + VIEW_COLUMNS + " from lease l where l.resource = :resource");

    /** The row is locked first and the clock compared with what is locked: see semantics 2.8 (a). */
    static final Sql RENEW = Sql.of("""
            with l as materialized (
                select * from lease where resource = :resource {for_update})
            update lease set {set_expiry} from l
            where lease.resource = l.resource and l.owner = :owner and l.fence = :fence and l.run_id = :run_id and {live l}
            returning {expires lease} as expires""");

    private static final Sql RELEASE = Sql.of("""
            update lease set {set_released}
            where resource = :resource and owner = :owner and fence = :fence and run_id = :run_id
            returning resource""");

    private static final Sql INSPECT =
            Sql.of("select " + VIEW_COLUMNS + " from lease l where l.resource = :resource and l.fence > 0");

    private static final Sql LIST =
            Sql.of("select " + VIEW_COLUMNS + " from lease l where l.fence > 0 order by l.resource limit :limit");

    private static final Sql BREAK = Sql.of(
            LOCK,
            """
            insert into write_event (at, resource, owner, fence, run_id, accepted, reason)
            select {now}, resource, coalesce(owner, 'nobody'), fence, run_id, true, :reason
            from lease where resource = :resource and fence > 0""",
            """
            update tick set outcome = 'CANCELLED', ended_at = {now}, reason = :reason
            where job = :resource and outcome is null and run_id in (
                select a.run_id from attempt a where a.job = :resource and a.ended_at is null)""",
            """
            update attempt set ended_at = {now}, outcome = 'CANCELLED', reason = :reason
            where job = :resource and ended_at is null""",
            "update lease set {set_released}, fence = {next_fence} where resource = :resource and fence > 0",
            "select " + VIEW_COLUMNS + " from lease l where l.resource = :resource and l.fence > 0");

    private final Database database;
    private final @Nullable TickBatches batches;

    /** @param batches the short way for what is usual, or null where there is none */
    JdbcLeases(Database database, @Nullable TickBatches batches) {
        this.database = database;
        this.batches = batches;
    }

    @Override
    public Claim claim(String resource, Owner owner, RunId runId, Duration ttl) {
        Leases.checkTtl(ttl);
        Params params = Params.of("resource", resource)
                .and("owner", owner.text())
                .and("run_id", runId.toString())
                .and("slot_key", null)
                .and("ttl", ttl.toMillis());
        String operation = "claim " + resource;
        Row row = database.writeAtOnce(operation, Urgency.NORMAL, CLAIM_DEAD, params)
                .getFirst()
                .first();
        if (row == null) { // new, or held: perhaps by this very claim, whose answer was lost
            row = database.writeAtOnce(operation, Urgency.NORMAL, CLAIM, params)
                    .getLast()
                    .rows()
                    .getFirst();
        }
        Lease lease = lease(row);
        boolean ours = lease.owner().equals(owner) && lease.runId().equals(runId);
        return ours ? new Claim.Granted(lease) : new Claim.Held(lease);
    }

    @Override
    public Renewal renew(Lease lease, Duration ttl) {
        Leases.checkTtl(ttl);
        Lease usual = batches == null ? null : batches.renew(lease, ttl);
        return usual == null ? renewAlone(lease, ttl) : new Renewal.Renewed(usual);
    }

    private Renewal renewAlone(Lease lease, Duration ttl) {
        String operation = "renew " + lease.resource();
        Params params = identity(lease).and("ttl", ttl.toMillis());
        Row row = database.writeAtOnce(operation, Urgency.URGENT, RENEW, params)
                .getFirst()
                .first();
        if (row == null) {
            return new Renewal.Lost(whyRefused(operation, Urgency.URGENT, lease));
        }
        return new Renewal.Renewed(lease.until(row.instant("expires")));
    }

    @Override
    public Optional<Refusal> release(Lease lease) {
        String operation = "release " + lease.resource();
        Row row = database.writeAtOnce(operation, Urgency.NORMAL, RELEASE, identity(lease))
                .getFirst()
                .first();
        if (row != null) {
            return Optional.empty();
        }
        return Optional.of(whyRefused(operation, Urgency.NORMAL, lease));
    }

    private Refusal whyRefused(String operation, Urgency urgency, Lease lease) {
        return database.write(operation, urgency, session -> reason(session, lease));
    }

    @Override
    public @Nullable LeaseView inspect(String resource) {
        return database.<Optional<LeaseView>>read("inspect " + resource, session -> {
                    Row row = session.one(INSPECT, Params.of("resource", resource))
                            .first();
                    return Optional.ofNullable(row).map(JdbcLeases::view);
                })
                .orElse(null);
    }

    @Override
    public List<LeaseView> list(int limit) {
        return database.read(
                "leases",
                session -> session.one(LIST, Params.of("limit", limit)).rows().stream()
                        .map(JdbcLeases::view)
                        .toList());
    }

    @Override
    public @Nullable LeaseView breakLease(String resource, String reason) {
        return database.<Optional<LeaseView>>write("break " + resource, Urgency.NORMAL, session -> {
                    Row row = session.run(BREAK, Params.of("resource", resource).and("reason", reason))
                            .getLast()
                            .first();
                    return Optional.ofNullable(row).map(JdbcLeases::view);
                })
                .orElse(null);
    }

    static Params identity(Lease lease) {
        return Params.of("resource", lease.resource())
                .and("owner", lease.owner().text())
                .and("fence", lease.fence().value())
                .and("run_id", lease.runId().toString());
    }

    /** Why a write under this lease found no row. */
    static Refusal reason(Session session, Lease lease) throws SQLException {
        Row row = session.one(INSPECT, Params.of("resource", lease.resource())).first();
        return refusal(row == null ? null : view(row), lease);
    }

    static Refusal refusal(@Nullable LeaseView now, Lease lease) {
        if (now == null) {
            return Refusal.UNKNOWN;
        }
        if (now.fence() > lease.fence().value()) {
            return Refusal.STALE_TOKEN;
        }
        boolean same = now.fence() == lease.fence().value()
                && Objects.equals(now.owner(), lease.owner())
                && Objects.equals(now.runId(), lease.runId());
        return same && now.state() == State.EXPIRED ? Refusal.EXPIRED : Refusal.NOT_OWNER;
    }

    static LeaseView view(Row row) {
        String owner = row.optionalText("owner");
        if (owner == null) {
            return new LeaseView(
                    row.text("resource"), row.number("fence"), State.RELEASED, null, null, null, null, null);
        }
        return new LeaseView(
                row.text("resource"),
                row.number("fence"),
                State.valueOf(row.text("state")),
                new Owner(owner),
                RunId.parse(row.text("run_id")),
                row.optionalText("slot_key"),
                row.instant("granted_at"),
                row.instant("expires"));
    }

    static Lease lease(Row row) {
        return new Lease(
                row.text("resource"),
                new Owner(row.text("owner")),
                new FencingToken(row.number("fence")),
                RunId.parse(row.text("run_id")),
                row.optionalText("slot_key"),
                row.instant("granted_at"),
                row.instant("expires"));
    }
}
