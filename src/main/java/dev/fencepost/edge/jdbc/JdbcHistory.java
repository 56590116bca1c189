package dev.fencepost.edge.jdbc;

import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History;
import dev.fencepost.run.Outcome;
import dev.fencepost.schedule.Slot;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What happened, for people. Reads only. */
final class JdbcHistory implements History {

    /** The newest ticks are looked up job by job: asked the other way round, the question grows with the whole history. */
    private static final Sql JOBS = Sql.of(
            "select j.*, " + JdbcLeases.VIEW_COLUMNS
                    + " from (select id, schedule_text, since, retired_at, defer_until, defer_reason, brakes_since, "
                    + JdbcOrders.PAUSE_COLUMNS
                    + """
                     from job
                        union all
                        select t.job, null, min(t.opened_at), min(t.opened_at), null, null, null, null, null, null, null,
                            null
                        from tick t where not exists (select 1 from job k where k.id = t.job) group by t.job) j
                    left join lease l on l.resource = j.id and l.fence > 0"""
                    + " order by case when j.retired_at is null then 0 else 1 end, j.id",
            """
            select job, outcome, sum(coalesce(range_count, 1)) as ticks from tick
            where outcome is not null group by job, outcome""",
            """
            select t.job, t.slot_key, t.outcome, t.ended_at
            from (select id from job union select job from tick) j
            join tick t on t.job = j.id and t.slot_key = (
                select n.slot_key from tick n where n.job = j.id and n.outcome is not null
                order by n.slot_at desc, n.slot_key desc limit 1)""",
            """
            select a.run_id, a.job, a.slot_key, a.number, a.fence, a.owner, a.started_at, a.ended_at, a.outcome,
                a.exit_code, a.signal, a.reason, a.classification
            from attempt a where a.ended_at is null""",
            """
            select s.job, (
                select max(e.ended_at) from tick e where e.job = s.job and e.outcome = 'SUCCEEDED') as success_at, (
                select coalesce(sum(coalesce(k.range_count, 1)), 0) from tick k
                where k.job = s.job and k.outcome = 'SKIPPED_OVERLAP' and k.slot_at > s.slot_at) as skipped
            from (select id from job union select job from tick) j
            join tick s on s.job = j.id and s.slot_key = (
                select n.slot_key from tick n where n.job = j.id and n.outcome = 'SUCCEEDED'
                order by n.slot_at desc, n.slot_key desc limit 1)""");

    private static final Sql HISTORY = Sql.of("""
            select t.slot_key, t.slot_at, t.outcome as tick_outcome, t.ended_at as tick_ended_at, t.reason as tick_reason,
                t.range_count, t.range_first, a.run_id, a.job, a.number, a.fence, a.owner, a.started_at, a.ended_at,
                a.outcome, a.exit_code, a.signal, a.reason, a.classification
            from (select * from tick where job = :job order by slot_at desc limit :limit) t
            left join attempt a on a.job = t.job and a.slot_key = t.slot_key
            order by t.slot_at desc, t.slot_key desc, a.number desc
            limit :limit""");

    private static final String EVENT_COLUMNS =
            "select at, resource, owner, fence, run_id, accepted, reason, effect, newest_fence from write_event ";

    private static final Sql EVENTS = Sql.of(EVENT_COLUMNS + "order by id desc limit :limit");

    private static final Sql EVENTS_OF =
            Sql.of(EVENT_COLUMNS + "where resource = :resource order by id desc limit :limit");

    private static final Sql SLOT = Sql.of(
            """
            select t.slot_at, t.outcome, t.reason, t.opened_at, t.ended_at, t.ordered, t.not_before, t.range_count,
                t.range_first
            from tick t where t.job = :job and (t.slot_key = :slot_key
                or (t.range_count is not null and t.slot_at >= :at and t.range_first <= :at))
            order by case when t.slot_key = :slot_key then 0 else 1 end limit 1""",
            "select " + JdbcTicks.ATTEMPT_COLUMNS
                    + " from attempt where job = :job and slot_key = :slot_key order by number desc limit 100",
            "select " + JdbcTicks.ATTEMPT_COLUMNS + """
                     from attempt where job = :job and slot_key <> :slot_key and started_at < :at
                        and (ended_at is null or ended_at >= :at)
                    order by started_at desc limit 1""");

    private static final Sql KEPT = Sql.of(
            "select " + JdbcTicks.ATTEMPT_COLUMNS + ", output_tail from attempt where run_id = :run_id and job = :job");

    /** Attempts are looked up tick by tick: joined, the planner may read them all. */
    static final Sql LONGEST_SUCCESS = Sql.of("""
            select r.started_at, r.ended_at, count(*) over () as successes
            from (
                select t.ended_at, (
                    select a.started_at from attempt a
                    where a.job = t.job and a.slot_key = t.slot_key and a.outcome = 'SUCCEEDED'
                    order by a.number desc limit 1) as started_at
                from (
                    select job, slot_key, outcome, ended_at from tick where job = :job order by slot_at desc limit 10000) t
                where t.outcome = 'SUCCEEDED') r
            where r.started_at is not null
            order by r.ended_at - r.started_at desc limit 1""");

    private final Database database;

    JdbcHistory(Database database) {
        this.database = database;
    }

    @Override
    public List<JobSummary> jobs() {
        return database.read("jobs", session -> {
            List<List<Row>> answers = session.run(JOBS, Params.none()).stream()
                    .map(Session.Answer::rows)
                    .toList();
            List<JobSummary> summaries = new ArrayList<>();
            for (Row row : answers.getFirst()) {
                String id = row.text("id");
                Row last = of(id, answers.get(2));
                Row success = of(id, answers.get(4));
                summaries.add(new JobSummary(
                        id,
                        row.optionalText("schedule_text"),
                        row.instant("since"),
                        row.optionalInstant("retired_at") != null,
                        lease(row),
                        running(id, answers.get(3)),
                        last == null
                                ? null
                                : new LastTick(
                                        last.text("slot_key"),
                                        Outcome.valueOf(last.text("outcome")),
                                        last.instant("ended_at")),
                        success == null ? null : success.instant("success_at"),
                        success == null
                                ? counts(id, answers.get(1)).getOrDefault(Outcome.SKIPPED_OVERLAP, 0L)
                                : success.number("skipped"),
                        counts(id, answers.get(1)),
                        JdbcOrders.pause(row),
                        deferral(row),
                        row.optionalInstant("brakes_since")));
            }
            return summaries;
        });
    }

    private static @Nullable Deferral deferral(Row row) {
        Instant until = row.optionalInstant("defer_until");
        return until == null ? null : new Deferral(until, row.optionalText("defer_reason"));
    }

    private static @Nullable LeaseView lease(Row row) {
        return row.optionalText("resource") == null ? null : JdbcLeases.view(row);
    }

    private static @Nullable Row of(String job, List<Row> rows) {
        return rows.stream()
                .filter(row -> row.text("job").equals(job))
                .findFirst()
                .orElse(null);
    }

    private static @Nullable Attempt running(String job, List<Row> rows) {
        Row row = of(job, rows);
        return row == null ? null : JdbcTicks.attempt(row);
    }

    private static Map<Outcome, Long> counts(String job, List<Row> rows) {
        Map<Outcome, Long> counts = new EnumMap<>(Outcome.class);
        for (Row row : rows) {
            if (row.text("job").equals(job)) {
                counts.put(Outcome.valueOf(row.text("outcome")), row.number("ticks"));
            }
        }
        return counts;
    }

    @Override
    public List<Entry> history(String job, int limit) {
        return database.read("history of " + job, session -> entries(session, job, limit));
    }

    private static List<Entry> entries(Session session, String job, int limit) throws SQLException {
        List<Entry> entries = new ArrayList<>();
        for (Row row :
                session.one(HISTORY, Params.of("job", job).and("limit", limit)).rows()) {
            String outcome = row.optionalText("tick_outcome");
            Long count = row.optionalNumber("range_count");
            Instant first = row.optionalInstant("range_first");
            entries.add(new Entry(
                    row.text("slot_key"),
                    outcome == null ? null : Outcome.valueOf(outcome),
                    row.optionalInstant("tick_ended_at"),
                    row.optionalText("tick_reason"),
                    row.optionalText("run_id") == null ? null : JdbcTicks.attempt(row),
                    count == null || first == null ? null : new Range(count, first, row.instant("slot_at"))));
        }
        return entries;
    }

    @Override
    public SlotHistory slot(String job, Slot slot) {
        // An order lies in no range, and is skipped for no other run.
        Params params = Params.of("job", job).and("slot_key", slot.key()).and("at", slot.isManual() ? null : slot.at());
        return database.read("slot " + slot.key() + " of " + job, session -> {
            List<Session.Answer> answers = session.run(SLOT, params);
            Row tick = answers.getFirst().first();
            Row other = answers.getLast().first();
            return new SlotHistory(
                    tick == null ? null : tick(tick),
                    answers.get(1).rows().stream().map(JdbcTicks::attempt).toList(),
                    other == null ? null : JdbcTicks.attempt(other));
        });
    }

    private static StoredTick tick(Row row) {
        String outcome = row.optionalText("outcome");
        Long count = row.optionalNumber("range_count");
        Instant first = row.optionalInstant("range_first");
        return new StoredTick(
                outcome == null ? null : Outcome.valueOf(outcome),
                row.optionalText("reason"),
                row.instant("opened_at"),
                row.optionalInstant("ended_at"),
                row.truth("ordered"),
                row.optionalInstant("not_before"),
                count == null || first == null ? null : new Range(count, first, row.instant("slot_at")));
    }

    @Override
    public @Nullable Kept kept(String job, RunId runId) {
        Params params = Params.of("job", job).and("run_id", runId.toString());
        return database.<Optional<Kept>>read("output of " + job, session -> {
                    Row row = session.one(KEPT, params).first();
                    return row == null
                            ? Optional.empty()
                            : Optional.of(new Kept(JdbcTicks.attempt(row), row.optionalText("output_tail")));
                })
                .orElse(null);
    }

    @Override
    public Optional<Longest> longestSuccess(String job) {
        return database.read("longest success of " + job, session -> {
            Row row = session.one(LONGEST_SUCCESS, Params.of("job", job)).first();
            return row == null
                    ? Optional.empty()
                    : Optional.of(new Longest(
                            Duration.between(row.instant("started_at"), row.instant("ended_at")),
                            row.number("successes")));
        });
    }

    @Override
    public List<WriteEvent> events(int limit) {
        return events(EVENTS, Params.of("limit", limit));
    }

    @Override
    public List<WriteEvent> eventsOf(String resource, int limit) {
        return events(EVENTS_OF, Params.of("resource", resource).and("limit", limit));
    }

    private List<WriteEvent> events(Sql sql, Params params) {
        return database.read(
                "events",
                session -> session.one(sql, params).rows().stream()
                        .map(row -> new WriteEvent(
                                row.instant("at"),
                                row.text("resource"),
                                row.text("owner"),
                                row.number("fence"),
                                row.optionalText("run_id"),
                                row.truth("accepted"),
                                row.optionalText("reason"),
                                row.optionalText("effect"),
                                row.optionalNumber("newest_fence")))
                        .toList());
    }
}
