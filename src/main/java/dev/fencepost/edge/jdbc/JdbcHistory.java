package dev.fencepost.edge.jdbc;

import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History;
import dev.fencepost.run.Outcome;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What happened, for people. Reads only. */
final class JdbcHistory implements History {

    /** Hops from job to job in an index: a list of those that have ticks would read all ticks. */
    static final String JOBS_WITH_TICKS = """
            with recursive hop (job) as (
                select min(job) from tick
                union all
                select (select min(n.job) from tick n where n.job > hop.job) from hop where hop.job is not null)""";

    /**
     * What a job's ticks tell is looked up job by job, by the beginning or the end of a range of an index: asked the other way round, the
     * question grows with the whole history. Each look-up is an expression of its own and not a join, so that no server can read a whole
     * table for it, whatever it takes the sizes to be; and {@code materialized} lets each be done once.
     */
    static final Sql JOBS = jobs(JOBS_WITH_TICKS, "", "");

    static final Sql JOB = jobs(
            "with hop (job) as (select min(job) from tick where job = :id)", " where id = :id", " and a.job = :id");

    private static Sql jobs(String hop, String wanted, String andOfWanted) {
        return Sql.of(
                hop + " select j.*, " + JdbcLeases.VIEW_COLUMNS
                        + " from (select id, schedule_text, since, retired_at, defer_until, defer_reason, brakes_since, "
                        + JdbcOrders.PAUSE_COLUMNS
                        + " from job" + wanted + """

                        union all
                        select t.job, null, t.since, t.since, null, null, null, null, null, null, null, null
                        from (select hop.job, (
                                select n.opened_at from tick n where n.job = hop.job order by n.slot_at limit 1) as since
                            from hop where hop.job is not null
                                and not exists (select 1 from job k where k.id = hop.job)) t) j
                    left join lease l on l.resource = j.id and l.fence > 0"""
                        + " order by case when j.retired_at is null then 0 else 1 end, j.id",
                """
            select a.run_id, a.job, a.slot_key, a.number, a.fence, a.owner, a.started_at, a.ended_at, a.outcome,
                a.exit_code, a.signal, a.reason, a.classification
            from attempt a where a.ended_at is null""" + andOfWanted,
                hop + """
            , known (job, slot_key, success_slot) as materialized (
                select hop.job, (
                    select n.slot_key from tick n where n.job = hop.job and n.outcome is not null
                    order by n.slot_at desc, n.slot_key desc limit 1), (
                    select n.slot_at from tick n where n.job = hop.job and n.outcome = 'SUCCEEDED'
                    order by n.slot_at desc, n.slot_key desc limit 1)
                from hop where hop.job is not null)
            select k.job, k.slot_key, (
                select t.outcome from tick t where t.job = k.job and t.slot_key = k.slot_key) as outcome, (
                select t.ended_at from tick t where t.job = k.job and t.slot_key = k.slot_key) as ended_at, (
                select n.ended_at from tick n where n.job = k.job and n.outcome = 'SUCCEEDED' and n.ended_at is not null
                order by n.ended_at desc, n.slot_key desc limit 1) as success_at, (
                select coalesce(sum(coalesce(n.range_count, 1)), 0) from tick n
                where n.job = k.job and n.outcome = 'SKIPPED_OVERLAP' and n.slot_at > coalesce(k.success_slot, {epoch})
                ) as skipped
            from known k""");
    }

    private static final Sql COUNTS = Sql.of("""
            select job, outcome, sum(coalesce(range_count, 1)) as ticks from tick
            where outcome is not null group by job, outcome""");

    /** One text for each job, of marks with commas between them: count, outcome and key. A join might read all ticks. */
    static final Sql NEWEST = Sql.of("""
            select given.value as job, (
                select string_agg(coalesce(n.range_count, 1) || ' ' || coalesce(n.outcome, '') || ' ' || n.slot_key, ','
                    order by n.slot_at desc, n.slot_key desc)
                from (
                    select slot_at, slot_key, outcome, range_count from tick where job = given.value
                    order by slot_at desc, slot_key desc limit :ticks) n) as marks
            from {given}""");

    private static final String BEFORE = " from tick where job = :job and (slot_at, slot_key) < (:at, :key)"
            + " order by slot_at desc, slot_key desc limit ";

    /** Which ticks, in the index alone; then what is known of those. */
    private static Sql page(String wanted) {
        return Sql.of("select t.slot_key, t.slot_at, t.outcome as tick_outcome, t.ended_at as tick_ended_at,"
                + " t.reason as tick_reason, t.range_count, t.range_first, a.run_id, a.job, a.number, a.fence, a.owner,"
                + " a.started_at, a.ended_at, a.outcome, a.exit_code, a.signal, a.reason, a.classification"
                + " from (select * from (select job, slot_key, slot_at, outcome" + BEFORE + ":looked_at) l" + wanted
                + """
                 order by l.slot_at desc, l.slot_key desc limit :limit) p
            join tick t on t.job = p.job and t.slot_key = p.slot_key
            left join attempt a on a.job = t.job and a.slot_key = t.slot_key and a.number > (
                select max(m.number) - 20 from attempt m where m.job = t.job and m.slot_key = t.slot_key)
            order by t.slot_at desc, t.slot_key desc, a.number desc""");
    }

    static final Sql PAGE = page("");
    static final Sql PAGE_OF_OUTCOMES = page(" where l.outcome in (select given.value from {given})");

    private static final Sql END_OF_PAGE = Sql.of("select slot_at, slot_key" + BEFORE + "1 offset :last");

    /** Sorted by the caller: asked for an order, a server that expects few rows sorts all ticks instead of counting them. */
    static final Sql QUARTERS = Sql.of("""
            select quarter, outcome, count(*) + coalesce(sum(further), 0) as ticks from (
                select {quarter t} as quarter, t.outcome, t.range_count - 1 as further
                from tick t where t.job = :job and t.slot_at >= :from and t.outcome is not null) q
            group by quarter, outcome""");

    private static final Sql ATTEMPTS = Sql.of("select " + JdbcTicks.ATTEMPT_COLUMNS
            + " from attempt where job = :job order by started_at desc limit :limit");

    private static final Sql RESULT = Sql.of("select result from attempt where run_id = :run_id and job = :job");

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

    /** By an expression that no index has: otherwise all events may be walked through in the order of ids. */
    static final Sql EVENTS_OF_RUNS = Sql.of("with wanted as (select given.value as id from {given}) " + EVENT_COLUMNS
            + "where run_id {among wanted} order by id + 0 limit 1000");

    private static final String STORED_TICK = " slot_at, outcome, reason, opened_at, ended_at, ordered, not_before,"
            + " range_count, range_first from tick where job = :job ";

    /**
     * Its own row comes before that of a range. Attempts at one job follow each other, so what ran at an instant is among the last that
     * were started before it.
     */
    static final Sql SLOT = Sql.of(
            "select 0 as place," + STORED_TICK + "and slot_key = :slot_key union all select 1 as place," + STORED_TICK
                    + "and range_count is not null and slot_at >= :at and range_first <= :at order by place limit 1",
            "select " + JdbcTicks.ATTEMPT_COLUMNS
                    + " from attempt where job = :job and slot_key = :slot_key order by number desc limit 100",
            "select " + JdbcTicks.ATTEMPT_COLUMNS + """
                     from (select * from attempt where job = :job and started_at < :at
                        order by started_at desc limit 100) a
                    where slot_key <> :slot_key and (ended_at is null or ended_at >= :at)
                    order by started_at desc limit 1""");

    private static final Sql KEPT = Sql.of(
            "select " + JdbcTicks.ATTEMPT_COLUMNS + ", output_tail from attempt where run_id = :run_id and job = :job");

    static final Sql LONGEST_SUCCESS = Sql.of("""
            select started_at, ended_at, count(*) over () as successes
            from (
                select started_at, ended_at, outcome from attempt where job = :job order by started_at desc limit 10000) a
            where outcome = 'SUCCEEDED' order by ended_at - started_at desc limit 1""");

    /** After every tick that there is. */
    private static final Place NEWEST_PLACE = new Place(Instant.parse("9999-12-31T00:00:00Z"), "");

    private final Database database;

    JdbcHistory(Database database) {
        this.database = database;
    }

    @Override
    public List<JobSummary> jobs() {
        return database.read("jobs", session -> summaries(session.run(JOBS, Params.none())));
    }

    @Override
    public @Nullable JobSummary job(String id) {
        List<JobSummary> found =
                database.read("job " + id, session -> summaries(session.run(JOB, Params.of("id", id))));
        return found.isEmpty() ? null : found.getFirst();
    }

    private static List<JobSummary> summaries(List<Session.Answer> answers) {
        Map<String, Row> runnings = byJob(answers.get(1).rows());
        Map<String, Row> ticks = byJob(answers.get(2).rows());
        List<JobSummary> summaries = new ArrayList<>();
        for (Row row : answers.getFirst().rows()) {
            String id = row.text("id");
            Row running = runnings.get(id);
            Row told = ticks.get(id);
            summaries.add(new JobSummary(
                    id,
                    row.optionalText("schedule_text"),
                    row.instant("since"),
                    row.optionalInstant("retired_at") != null,
                    lease(row),
                    running == null ? null : JdbcTicks.attempt(running),
                    told == null ? null : last(told),
                    told == null ? null : told.optionalInstant("success_at"),
                    told == null ? 0 : told.number("skipped"),
                    JdbcOrders.pause(row),
                    deferral(row),
                    row.optionalInstant("brakes_since")));
        }
        return summaries;
    }

    private static @Nullable LastTick last(Row told) {
        String key = told.optionalText("slot_key");
        return key == null ? null : new LastTick(key, Outcome.valueOf(told.text("outcome")), told.instant("ended_at"));
    }

    /** The first of each job. */
    private static Map<String, Row> byJob(List<Row> rows) {
        Map<String, Row> byJob = new HashMap<>();
        rows.forEach(row -> byJob.putIfAbsent(row.text("job"), row));
        return byJob;
    }

    @Override
    public Map<String, Map<Outcome, Long>> counts() {
        return database.read("counts", session -> {
            Map<String, Map<Outcome, Long>> counts = new HashMap<>();
            for (Row row : session.one(COUNTS, Params.none()).rows()) {
                counts.computeIfAbsent(row.text("job"), job -> new EnumMap<>(Outcome.class))
                        .put(Outcome.valueOf(row.text("outcome")), row.number("ticks"));
            }
            return counts;
        });
    }

    @Override
    public Map<String, List<Mark>> newest(Collection<String> jobs, int ticks) {
        if (ticks < 1) {
            throw new IllegalArgumentException("at least one tick a job is asked for, not " + ticks);
        }
        Params params = Params.of("given", String.join(",", jobs)).and("ticks", ticks);
        return database.read("newest ticks", session -> {
            Map<String, List<Mark>> newest = new HashMap<>();
            for (Row row : session.one(NEWEST, params).rows()) {
                String marks = row.optionalText("marks");
                if (marks != null) {
                    newest.put(
                            row.text("job"),
                            Stream.of(marks.split(",")).map(JdbcHistory::mark).toList());
                }
            }
            return newest;
        });
    }

    private static Mark mark(String text) {
        String[] parts = text.split(" ", 3);
        return new Mark(parts[2], parts[1].isEmpty() ? null : Outcome.valueOf(parts[1]), Long.parseLong(parts[0]));
    }

    private static @Nullable Outcome outcome(Row row, String column) {
        String outcome = row.optionalText(column);
        return outcome == null ? null : Outcome.valueOf(outcome);
    }

    @Override
    public Page page(String job, @Nullable Place before, Collection<Outcome> outcomes, int limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("a page has at least one tick, not " + limit);
        }
        Place place = before == null ? NEWEST_PLACE : before;
        Params params = Params.of("job", job)
                .and("at", place.slotAt())
                .and("key", place.slotKey())
                .and("given", outcomes.stream().map(Enum::name).collect(Collectors.joining(",")))
                .and("limit", limit + 1) // whether there is one more
                .and("looked_at", MOST_LOOKED_AT)
                .and("last", MOST_LOOKED_AT - 1);
        return database.read("history of " + job, session -> {
            List<Entry> entries = new ArrayList<>();
            Row last = null;
            int ticks = 0;
            for (Row row : session.one(outcomes.isEmpty() ? PAGE : PAGE_OF_OUTCOMES, params)
                    .rows()) {
                if (last == null || !last.text("slot_key").equals(row.text("slot_key"))) {
                    if (ticks == limit) {
                        return new Page(entries, place(last));
                    }
                    ticks++;
                }
                entries.add(entry(row));
                last = row;
            }
            return new Page(entries, place(session.one(END_OF_PAGE, params).first()));
        });
    }

    private static @Nullable Place place(@Nullable Row row) {
        return row == null ? null : new Place(row.instant("slot_at"), row.text("slot_key"));
    }

    @Override
    public List<Quarter> quarters(String job, Instant from) {
        Params params = Params.of("job", job).and("from", from);
        return database.read(
                "ticks by time of " + job,
                session -> session.one(QUARTERS, params).rows().stream()
                        .map(row -> new Quarter(
                                row.instant("quarter"), Outcome.valueOf(row.text("outcome")), row.number("ticks")))
                        .sorted(Comparator.comparing(Quarter::start).thenComparing(Quarter::outcome))
                        .toList());
    }

    @Override
    public List<Attempt> attempts(String job, int limit) {
        Params params = Params.of("job", job).and("limit", limit);
        return database.read(
                "attempts of " + job,
                session -> session.one(ATTEMPTS, params).rows().stream()
                        .map(JdbcTicks::attempt)
                        .toList());
    }

    @Override
    public byte @Nullable [] result(String job, RunId runId) {
        Params params = Params.of("job", job).and("run_id", runId.toString());
        List<Row> rows = database.read(
                "result of " + job, session -> session.one(RESULT, params).rows());
        return rows.isEmpty() ? null : rows.getFirst().optionalBytes("result");
    }

    private static @Nullable Deferral deferral(Row row) {
        Instant until = row.optionalInstant("defer_until");
        return until == null ? null : new Deferral(until, row.optionalText("defer_reason"));
    }

    private static @Nullable LeaseView lease(Row row) {
        return row.optionalText("resource") == null ? null : JdbcLeases.view(row);
    }

    @Override
    public List<Entry> history(String job, int limit) {
        Params params = Params.of("job", job).and("limit", limit);
        return database.read(
                "history of " + job,
                session -> session.one(HISTORY, params).rows().stream()
                        .map(JdbcHistory::entry)
                        .toList());
    }

    private static Entry entry(Row row) {
        Long count = row.optionalNumber("range_count");
        Instant first = row.optionalInstant("range_first");
        return new Entry(
                row.text("slot_key"),
                outcome(row, "tick_outcome"),
                row.optionalInstant("tick_ended_at"),
                row.optionalText("tick_reason"),
                row.optionalText("run_id") == null ? null : JdbcTicks.attempt(row),
                count == null || first == null ? null : new Range(count, first, row.instant("slot_at")));
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
        Long count = row.optionalNumber("range_count");
        Instant first = row.optionalInstant("range_first");
        return new StoredTick(
                outcome(row, "outcome"),
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
    public List<WriteEvent> eventsOfRuns(Collection<RunId> runs) {
        return events(
                EVENTS_OF_RUNS,
                Params.of("given", runs.stream().map(RunId::toString).collect(Collectors.joining(","))));
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
