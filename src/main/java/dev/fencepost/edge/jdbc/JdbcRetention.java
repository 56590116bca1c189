package dev.fencepost.edge.jdbc;

import dev.fencepost.edge.jdbc.Database.Urgency;
import dev.fencepost.run.Nodes.NodeView;
import dev.fencepost.run.Retention;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;

/** Clean-up. Takes no lease's lock, so that a batch never holds up a renewal. */
final class JdbcRetention implements Retention {

    /** The oldest of the newest so many: what ended before it is beyond them. */
    static final Sql EDGE = Sql.of("""
            select ended_at, slot_key from tick where job = :job and ended_at is not null
            order by ended_at desc, slot_key desc limit 1 offset :keep - 1""");

    /**
     * A tick that is opened again while this runs is locked or has no outcome any more. The outer condition on it is the one that is
     * asked again after a wait. What stays for an attempt or an effect is few, and looked up once, not tick by tick.
     */
    static final Sql TICKS = Sql.of("""
            with gone as materialized (
                select t.slot_key as id from tick t
                where t.job = :job and t.ended_at is not null and t.ended_at <= :edge
                    and (t.ended_at < :edge or t.slot_key < :edge_key)
                    and t.slot_key <> (select n.slot_key from tick n where n.job = :job
                        order by n.slot_at desc, n.slot_key desc limit 1)
                    and t.slot_key <> coalesce((select n.slot_key from tick n where n.job = :job
                        and n.outcome = 'SUCCEEDED' order by n.slot_at desc, n.slot_key desc limit 1), '')
                    and t.slot_key <> coalesce((select n.slot_key from tick n where n.job = :job and n.ended_at is not null
                        and n.outcome = 'SUCCEEDED' order by n.ended_at desc, n.slot_key desc limit 1), '')
                    and t.slot_key not in (select a.slot_key from attempt a where a.job = :job and a.ended_at is null)
                    and t.slot_key not in (select e.slot_key from effect e where e.job = :job
                        and (e.settled_at is null or e.waits))
                order by t.ended_at, t.slot_key limit :limit)
            delete from tick where job = :job and outcome is not null and slot_key {among gone} returning slot_key""");

    private static final Sql JOBS =
            Sql.of(JdbcHistory.JOBS_WITH_TICKS + " select job from hop where job is not null order by job");

    private static final Sql ATTEMPTS = Sql.of("""
            with gone as (select given.value as id from {given})
            delete from attempt where job = :job and slot_key {among gone}""");

    /** Numbers rise with time, so the oldest are the first; only these are looked at. */
    private static String events(String table) {
        return "with gone as materialized (select e.id from (select id, at from " + table
                + " order by id limit :limit) e where e.at < :before) delete from " + table + " where id {among gone}";
    }

    static final Sql WRITE_EVENTS = Sql.of(events("write_event"));
    static final Sql JOB_EVENTS = Sql.of(events("job_event"));

    static final Sql NODES = Sql.of("""
            with gone as materialized (
                select owner as id from node where started_at < :before and seen_at < :before
                    and (stopped_at is not null or seen_at < {now} - :dead_after {ms})
                order by started_at limit :limit)
            delete from node where owner {among gone}""");

    /** Locked, since a person may be about to have one sent again. */
    static final Sql SETTLED = Sql.of("""
            select id from effect where settled_at < :before and not waits order by settled_at limit :limit {for_update}""");

    private static final String GIVEN_IDS = "with gone as (select cast(given.value as bigint) as id from {given}) ";

    private static final Sql EFFECTS = Sql.of(
            GIVEN_IDS + "delete from effect_content where key in (select e.key from effect e where e.id {among gone})",
            GIVEN_IDS + "delete from effect where id {among gone}");

    private final Database database;

    JdbcRetention(Database database) {
        this.database = database;
    }

    private static void checkLimit(int limit) {
        if (limit < 1 || limit > MOST_AT_ONCE) {
            throw new IllegalArgumentException("from 1 to " + MOST_AT_ONCE + " rows go at a time, not " + limit);
        }
    }

    @Override
    public List<String> jobsWithTicks() {
        return database.read(
                "jobs with ticks",
                session -> session.one(JOBS, Params.none()).rows().stream()
                        .map(row -> row.text("job"))
                        .toList());
    }

    @Override
    public int pruneTicks(String job, Instant endedBefore, int keep, int limit) {
        checkLimit(limit);
        if (keep < 1) {
            throw new IllegalArgumentException("the newest tick stays, so keep is at least 1, not " + keep);
        }
        return database.write("prune ticks of " + job, Urgency.NORMAL, session -> {
            Row edge =
                    session.one(EDGE, Params.of("job", job).and("keep", keep)).first();
            Params params = Params.of("job", job)
                    .and("edge", endedBefore)
                    .and("edge_key", "")
                    .and("limit", limit);
            if (edge != null && edge.instant("ended_at").isAfter(endedBefore)) {
                params.and("edge", edge.instant("ended_at")).and("edge_key", edge.text("slot_key"));
            }
            List<String> gone = session.one(TICKS, params).rows().stream()
                    .map(row -> row.text("slot_key"))
                    .toList();
            if (!gone.isEmpty()) {
                session.one(ATTEMPTS, Params.of("job", job).and("given", String.join(",", gone)));
            }
            return gone.size();
        });
    }

    @Override
    public int pruneEvents(Instant before, int limit) {
        checkLimit(limit);
        return database.write("prune events", Urgency.NORMAL, session -> {
            int gone = 0;
            for (Sql each : List.of(WRITE_EVENTS, JOB_EVENTS, NODES)) {
                gone += pruned(session, each, before, limit - gone);
            }
            return gone;
        });
    }

    private static int pruned(Session session, Sql sql, Instant before, int limit) throws SQLException {
        if (limit == 0) {
            return 0;
        }
        Params params =
                Params.of("before", before).and("limit", limit).and("dead_after", 3_000 * NodeView.BEAT_SECONDS);
        return session.one(sql, params).changed();
    }

    @Override
    public int pruneEffects(Instant settledBefore, int limit) {
        checkLimit(limit);
        return database.write("prune effects", Urgency.NORMAL, session -> {
            List<String> gone =
                    session.one(SETTLED, Params.of("before", settledBefore).and("limit", limit)).rows().stream()
                            .map(row -> row.text("id"))
                            .toList();
            if (!gone.isEmpty()) {
                session.run(EFFECTS, Params.of("given", String.join(",", gone)));
            }
            return gone.size();
        });
    }
}
