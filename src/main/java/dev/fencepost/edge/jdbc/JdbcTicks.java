package dev.fencepost.edge.jdbc;

import dev.fencepost.edge.jdbc.Database.Urgency;
import dev.fencepost.edge.jdbc.Session.Answer;
import dev.fencepost.effect.Announcement;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Leases;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Classification;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Completion.Deferral;
import dev.fencepost.run.Job;
import dev.fencepost.run.Orders.JobEvent.Kind;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.run.Ticks;
import dev.fencepost.schedule.Backlog;
import dev.fencepost.schedule.Backlog.Held;
import dev.fencepost.schedule.Backlog.OpenTick;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Plan.NewTick;
import dev.fencepost.schedule.Plan.SlotRange;
import dev.fencepost.schedule.Plan.TakeOver;
import dev.fencepost.schedule.Slot;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Slots, ticks and attempts. Whoever writes an attempt locks the row of its job's lease first, so that a claim, a completion and the
 * end of an abandoned attempt come one after the other.
 */
final class JdbcTicks implements Ticks {

    private static final Sql NOW = Sql.of("select {now} as now");

    private static final Sql KNOWN_JOBS = Sql.of("select id, schedule_text, retired_at from job");

    /** Another node may have registered the job since the known ones were read. */
    private static final Sql REGISTER = Sql.of("""
            insert into job (id, schedule_text, since, cursor_at) values (:job, :schedule, {now}, coalesce(:start, {now}))
            on conflict (id) do update set schedule_text = :schedule, since = {now}, retired_at = null,
                cursor_at = case when :start > {now} then :start else {now} end
            where job.schedule_text <> :schedule or job.retired_at is not null returning id""");

    /** The row that a claim takes: so the first claim of a job is the usual one too. In an order, since two nodes may do it at once. */
    private static final Sql MAKE_LEASES = Sql.of("""
            insert into lease (resource, fence) select id, 0 from job where true order by id
            on conflict (resource) do nothing returning resource""");

    private static final Sql RETIRE =
            Sql.of("update job set retired_at = {now} where id = :job and retired_at is null returning id");

    static final Sql SITUATION = situationOf("= :job");

    /** Of several jobs, on PostgreSQL. */
    static final Sql SITUATIONS = situationOf("= any (:jobs::text[])");

    static final int MOST_OPEN = 20_000;

    private static final int MOST_REGISTERED = 200;

    /**
     * Asked at every look. SQLite would rather walk the whole history in its order than sort the few open ticks, so the order is by an
     * expression that no index has.
     */
    private static Sql situationOf(String which) {
        return Sql.of(
                "select j.id, {now} as now, j.cursor_at, j.brakes_since, j.defer_until, " + JdbcOrders.PAUSE_COLUMNS
                        + ", {granted l} as granted, " + JdbcLeases.VIEW_COLUMNS
                        + ", (select max(t.ended_at) from tick t where t.job = j.id and t.ended_at is not null) as last_end"
                        + " from job j left join lease l on l.resource = j.id and l.fence > 0 where j.id " + which,
                """
                select t.job, t.slot_key, t.slot_at, t.on_time, t.attempts, t.not_before, t.ordered,
                    (select count(*) from attempt a where a.job = t.job and a.slot_key = t.slot_key
                        and a.counted and a.ended_at is not null) - t.attempts_before as spent,
                    (select min(a.run_id) from attempt a where a.job = t.job and a.slot_key = t.slot_key
                        and a.ended_at is null) as running
                from tick t where t.outcome is null and t.job\s""" + which + " order by coalesce(t.slot_at, t.slot_at) desc limit " + MOST_OPEN);
    }

    /** Open ticks are found by their index; leases and jobs are read through, since no index is worth its keep at each renewal. */
    static final Sql RESTLESS = Sql.of("select {now} as now, count(*) as registered from job", """
            select job from tick where outcome is null
            union select resource from lease where owner is not null
            union select id from job where paused_at is not null or defer_until > {now}""");

    private static final Sql LOCK_LEASE = Sql.of(JdbcLeases.LOCK);

    private static final Sql MOVE_CURSOR =
            Sql.of("update job set cursor_at = :cursor where id = :job and cursor_at = :seen returning id");

    private static final Sql OPEN = Sql.of("""
            insert into tick (job, slot_key, slot_at, on_time, opened_at)
            values (:job, :slot_key, :slot_at, :on_time, {now})
            on conflict (job, slot_key) do nothing returning slot_key""");

    /** One that was started or ordered since the plan was made is left alone. */
    private static final Sql DISPLACE = Sql.of("""
            update tick set outcome = 'SKIPPED_OVERLAP', ended_at = {now}, reason = :reason
            where job = :job and slot_key = :slot_key and outcome is null and attempts = 0 and not ordered
            returning slot_key""");

    /** Of a run that was asked to stop before, whoever asked stays. */
    private static final Sql ASK_TO_STOP = Sql.of("""
            update attempt set stop_kind = 'TAKE_OVER', stop_reason = :reason
            where job = :job and fence = :fence and ended_at is null and stop_kind is null
            returning run_id""");

    private static final Sql CLOSED_AT_ONCE = Sql.of("""
            insert into tick (job, slot_key, slot_at, on_time, opened_at, outcome, reason, ended_at, range_count, range_first)
            values (:job, :slot_key, :slot_at, false, {now}, :outcome, :reason, {now}, :range_count, :range_first)
            on conflict (job, slot_key) do nothing returning slot_key""");

    /**
     * The number of attempts was read with the plan: an attempt that was started since keeps the tick open. So does one without an end,
     * which may have begun after the lease was read and before the ticks were; and an order that came since, after which it has
     * attempts again.
     */
    private static final Sql CLOSE = Sql.of("""
            update tick set ended_at = {now}, reason = :reason, outcome = coalesce(
                (select a.outcome from attempt a where a.job = :job and a.slot_key = :slot_key and a.ended_at is not null
                    order by a.number desc limit 1), 'DROPPED')
            where job = :job and slot_key = :slot_key and outcome is null and attempts = :attempts and ordered = :ordered
                and (select count(*) from attempt a where a.job = :job and a.slot_key = :slot_key and a.counted
                    and a.ended_at is not null) - attempts_before >= :spent
                and not exists (
                    select 1 from attempt a where a.job = :job and a.slot_key = :slot_key and a.ended_at is null)
            returning slot_key""");

    private static final Sql RANGES_BEYOND = Sql.of("""
            select slot_key, range_first from tick
            where job = :job and range_count is not null and slot_at > :now""");

    private static final Sql CUT_RANGE = Sql.of("""
            update tick set slot_at = :slot_at, range_count = :range_count
            where job = :job and slot_key = :slot_key""");

    private static final Sql DELETE_RANGE =
            Sql.of("delete from tick where job = :job and slot_key = :slot_key and range_count is not null");

    private static final String MINE =
            " exists (select 1 from lease l where l.resource = :resource and l.run_id = :run_id)";

    static final String ATTEMPT_COLUMNS =
            "run_id, job, slot_key, number, fence, owner, started_at, ended_at, outcome, exit_code, signal, reason,"
                    + " classification";

    /** The end of an attempt whose holder is dead; one that had been asked to stop is not tried again. */
    private static final String END_OF_THE_DEAD = """
            update attempt {by attempt_open} set ended_at = {now}, counted = coalesce(stop_kind, '') <> 'TAKE_OVER',
                outcome = case when stop_kind is null then 'ABANDONED' else 'CANCELLED' end,
                reason = coalesce(stop_reason, :abandoned)""";

    /** The tick of such an attempt. */
    private static final Sql CLOSE_STOPPED = Sql.of("""
            update tick set outcome = 'CANCELLED', ended_at = {now}, reason = :reason
            where job = :job and slot_key = :slot_key and run_id = :run_id and outcome is null""");

    /**
     * Nobody but a dead caller knew the command of such a tick: it ends with its attempt, and is never due again. Follows what may have
     * ended the attempt, under the same lock.
     */
    private static final String CLOSE_ONCE = """
            update tick set ended_at = {now},
                outcome = (select a.outcome from attempt a where a.run_id = tick.run_id),
                reason = (select a.reason from attempt a where a.run_id = tick.run_id)
            where job = :resource and outcome is null and slot_key like '"""
            + Slot.ONCE_PATTERN
            + "' and exists (select 1 from attempt a where a.run_id = tick.run_id and a.ended_at is not null)";

    /**
     * Goes before the end of the dead in a start, which may be of the very slot that was stopped: who asked for it to stop did not ask for
     * another try.
     */
    private static final String CLOSE_ASKED = """
            update tick set outcome = 'CANCELLED', ended_at = {now},
                reason = (select a.stop_reason from attempt a where a.run_id = tick.run_id)
            where job = :resource and outcome is null and exists (select 1 from attempt a
                where a.run_id = tick.run_id and a.ended_at is null and a.stop_kind is not null and a.run_id <> :run_id)
                and""";

    /**
     * A run id is granted once: a second try finds the first one's attempt. After the grant every statement asks whether the lease is
     * this run's. A tick that was closed meanwhile gets no attempt, and without an attempt the grant is given back in the same
     * transaction.
     */
    static final Sql START = Sql.of(
            JdbcLeases.MAKE_ROW,
            JdbcLeases.LOCK,
            JdbcLeases.GRANT + " and not exists (select 1 from attempt a where a.run_id = :run_id)",
            CLOSE_ASKED + MINE,
            END_OF_THE_DEAD + " where job = :resource and ended_at is null and run_id <> :run_id and" + MINE
                    + " returning " + ATTEMPT_COLUMNS,
            CLOSE_ONCE + " and" + MINE,
            """
            insert into tick (job, slot_key, slot_at, on_time, opened_at)
            select :resource, :slot_key, :slot_at, false, {now} from lease l
            where l.resource = :resource and l.run_id = :run_id
            on conflict (job, slot_key) do nothing""",
            "update tick set outcome = null, ended_at = null, reason = null where job = :resource and"
                    + " slot_key = :slot_key and :reopen and outcome <> 'SUCCEEDED' and"
                    + MINE,
            "update tick set attempts = attempts + 1, run_id = :run_id, ordered = (ordered or :reopen) where job = :resource and slot_key = :slot_key"
                    + " and outcome is null and (:reopen or ((not_before is null or not_before <= {now})"
                    + " and (select count(*) from attempt a where a.job = :resource and a.slot_key = :slot_key"
                    + " and a.counted and a.ended_at is not null) - attempts_before < :max_attempts))"
                    + " and not exists (select 1 from attempt a where a.run_id = :run_id) and" + MINE,
            """
            insert into attempt (run_id, job, slot_key, number, fence, owner, started_at)
            select :run_id, :resource, :slot_key, t.attempts, l.fence, :owner, {now}
            from tick t join lease l on l.resource = t.job and l.run_id = t.run_id
            where t.job = :resource and t.slot_key = :slot_key and t.run_id = :run_id
            on conflict (run_id) do nothing""",
            "update lease set {set_released} where resource = :resource and owner = :owner and run_id = :run_id"
                    + " and not exists (select 1 from attempt a where a.run_id = :run_id)",
            "select " + JdbcLeases.VIEW_COLUMNS + ", a.number, {now} as now, t.slot_at, t.outcome, t.without_effects,"
                    + " (select count(*) from attempt s where s.job = :resource and s.slot_key = :slot_key"
                    + " and s.counted and s.ended_at is not null) - t.attempts_before as spent,"
                    + " exists (select 1 from attempt e where e.run_id = :run_id) as known from lease l"
                    + " left join attempt a on a.run_id = l.run_id"
                    + " left join tick t on t.job = :resource and t.slot_key = :slot_key"
                    + " where l.resource = :resource");

    /** The attempt has ended as this completion says, and the lease is still its own: nothing but this transaction can have done it. */
    private static final String COMPLETED = """
            exists (select 1 from attempt a join lease l on l.resource = a.job and l.run_id = a.run_id
                where a.run_id = :run_id and a.fence = :fence and a.outcome = :outcome
                    and l.resource = :resource and l.owner = :owner and l.fence = :fence)""";

    /** Only the second statement looks at the clock: what follows depends on what it did, not on the time that has passed since. */
    static final Sql COMPLETE = Sql.of(
            JdbcLeases.LOCK,
            """
            update attempt set ended_at = {now}, outcome = :outcome, counted = :counted, exit_code = :exit_code,
                signal = :signal, reason = :reason, result = :result, output_tail = :output_tail,
                classification = :classification
            where job = :resource and slot_key = :slot_key and run_id = :run_id and fence = :fence and owner = :owner
                and ended_at is null and exists (select 1 from lease l where l.resource = :resource and l.owner = :owner
                    and l.fence = :fence and l.run_id = :run_id and {live l})
                and exists (select 1 from tick t where t.job = :resource and t.slot_key = :slot_key and t.outcome is null)
            returning 1 as ended""",
            "update tick set outcome = :outcome, ended_at = {now}, reason = :reason where job = :resource"
                    + " and slot_key = :slot_key and outcome is null and run_id = :run_id and :closes and "
                    + COMPLETED,
            "insert into write_event (at, resource, owner, fence, run_id, accepted, reason)"
                    + " select {now}, :resource, :owner, :fence, :run_id, true, :outcome from lease l"
                    + " where l.resource = :resource and " + COMPLETED,
            "update lease set {set_released} where resource = :resource and owner = :owner and fence = :fence"
                    + " and run_id = :run_id and " + COMPLETED);

    /** In the transaction of the completion, after it was accepted. */
    private static final Sql NOT_BEFORE = Sql.of("""
            update tick set not_before = {now} + :wait {ms}
            where job = :resource and slot_key = :slot_key and outcome is null and exists (
                select 1 from attempt a where a.run_id = :run_id and a.fence = :fence and a.owner = :owner
                    and a.job = :resource and a.run_id = tick.run_id and a.ended_at is not null)""");

    /** What a person has ordered does not wait for the job's schedule, so it has to wait for itself. */
    private static final Sql DEFER = Sql.of("""
            update job set defer_until = coalesce(:until, {now} + :wait {ms}), defer_reason = :reason
            where id = :resource""", """
            update tick set not_before = (select j.defer_until from job j where j.id = :resource)
            where job = :resource and slot_key = :slot_key and outcome is null
                and (ordered or slot_key like 'manual:%') and exists (
                    select 1 from attempt a where a.run_id = :run_id and a.fence = :fence and a.owner = :owner
                        and a.job = :resource and a.run_id = tick.run_id and a.ended_at is not null)""", "select defer_until from job where id = :resource");

    private static final Sql NEWEST_FENCE = Sql.of("select fence from lease where resource = :resource");

    private static final Sql WHY_REFUSED = Sql.of(
            "select " + JdbcLeases.VIEW_COLUMNS + " from lease l where l.resource = :resource and l.fence > 0",
            "select a.outcome, t.outcome as tick_outcome from attempt a left join tick t on t.job = a.job"
                    + " and t.slot_key = a.slot_key where a.run_id = :run_id");

    private static final Sql REFUSED_EVENT = Sql.of("""
            insert into write_event (at, resource, owner, fence, run_id, accepted, reason, effect, newest_fence)
            values ({now}, :resource, :owner, :fence, :run_id, false, :reason, :effect, :newest)""");

    private static final Sql END_AS_LOST = Sql.of(JdbcLeases.LOCK, """
            update attempt set ended_at = {now}, outcome = 'LEASE_LOST', reason = :reason
            where job = :resource and run_id = :run_id and fence = :fence and owner = :owner and ended_at is null
            returning run_id""", CLOSE_ONCE, """
            update lease set {set_released}
            where resource = :resource and owner = :owner and fence = :fence and run_id = :run_id""");

    private static final Sql ABANDON = Sql.of(
            JdbcLeases.LOCK,
            END_OF_THE_DEAD + " where job = :resource"
                    + " and run_id = :run_id and fence = :fence and owner = :owner and ended_at is null"
                    + " and exists (select 1 from lease l"
                    + " where l.resource = :resource and l.owner = :owner and l.fence = :fence and l.run_id = :run_id"
                    + " and (:dead or {dead l})) returning " + ATTEMPT_COLUMNS,
            CLOSE_ONCE,
            """
            update lease set {set_released}
            where resource = :resource and owner = :owner and fence = :fence and run_id = :run_id and (:dead or {dead})
                and not exists (select 1 from attempt a where a.run_id = :run_id and a.ended_at is null)""");

    /**
     * The ticks that ended last, of those that count; and the newest attempt that ended. What was ended by a shutdown or a usage limit
     * tells nothing of the job.
     */
    static final Sql BRAKE_COUNTS = Sql.of("""
            select t.outcome, t.reason from tick t join job j on j.id = t.job
            where t.job = :job and t.ended_at is not null and (j.brakes_since is null or t.ended_at > j.brakes_since)
                and t.outcome in ('SUCCEEDED', 'FAILED', 'TIMED_OUT', 'LEASE_LOST', 'ABANDONED')
                and not exists (select 1 from attempt a where a.job = t.job and a.slot_key = t.slot_key
                    and a.number = t.attempts and (not a.counted or a.classification = 'LIMIT'))
            order by t.ended_at desc limit :most""", """
            select a.classification, a.reason from attempt a join job j on j.id = a.job
            where a.job = :job and a.ended_at is not null and (j.brakes_since is null or a.ended_at > j.brakes_since)
            order by a.started_at desc limit 1""");

    static final Sql RUNS_SINCE = Sql.of("""
            select count(*) as runs from attempt a
            where a.job = :job and a.started_at >= :since and a.slot_key not like 'manual:%' and not exists (
                select 1 from tick t where t.job = a.job and t.slot_key = a.slot_key and t.ordered)""");

    private static final Sql READ_BACK = Sql.of(
            JdbcLeases.LOCK, "select " + ATTEMPT_COLUMNS + " from attempt where run_id = :run_id and job = :resource");

    private static final long MAX_URGENT_BYTES = 1 << 20;

    private final Database database;
    private final @Nullable TickBatches batches;

    /** @param batches the quicker way of what is usual, or null where there is none */
    JdbcTicks(Database database, @Nullable TickBatches batches) {
        this.database = database;
        this.batches = batches;
    }

    @Override
    public Instant now() {
        return database.read(
                "clock",
                session -> Objects.requireNonNull(
                                session.one(NOW, Params.none()).first())
                        .instant("now"));
    }

    /** In portions, each of which may be repeated: a transaction of thousands of jobs would hold the rows of all for too long. */
    @Override
    public void register(Collection<Job> jobs) {
        Map<String, Row> known =
                database
                        .read(
                                "known jobs",
                                session ->
                                        session.one(KNOWN_JOBS, Params.none()).rows())
                        .stream()
                        .collect(Collectors.toMap(row -> row.text("id"), Function.identity()));
        Set<String> given = jobs.stream().map(Job::id).collect(Collectors.toSet());
        List<Job> changed = jobs.stream()
                .filter(job -> !isRegistered(job, known.get(job.id())))
                .sorted(Comparator.comparing(Job::id)) // two nodes lock the rows in one order
                .toList();
        for (int from = 0; from < changed.size(); from += MOST_REGISTERED) {
            List<Job> portion = changed.subList(from, Math.min(from + MOST_REGISTERED, changed.size()));
            database.write("register jobs", Urgency.NORMAL, session -> {
                for (Job job : portion) {
                    register(session, job, known.get(job.id()));
                }
                return portion.size();
            });
        }
        if (!changed.isEmpty()) {
            database.write(
                    "rows for leases",
                    Urgency.NORMAL,
                    session -> session.one(MAKE_LEASES, Params.none()).rows().size());
        }
        List<String> gone = known.keySet().stream()
                .filter(id -> !given.contains(id))
                .sorted()
                .toList();
        if (gone.isEmpty()) {
            return;
        }
        database.write("retire jobs", Urgency.NORMAL, session -> {
            for (String id : gone) {
                if (session.one(RETIRE, Params.of("job", id)).first() != null) {
                    JdbcOrders.event(session, Kind.RETIRED, id, null, null, null, JdbcOrders.NOBODY, null);
                }
            }
            return gone.size();
        });
    }

    private static boolean isRegistered(Job job, @Nullable Row known) {
        return known != null
                && known.optionalInstant("retired_at") == null
                && known.text("schedule_text").equals(job.schedule().text());
    }

    private static void register(Session session, Job job, @Nullable Row known) throws SQLException {
        Params params = Params.of("job", job.id())
                .and("schedule", job.schedule().text())
                // The slot at start-from itself is due too; the cursor stands just before it.
                .and("start", job.startFrom() == null ? null : job.startFrom().minusSeconds(1));
        if (session.one(REGISTER, params).first() == null) {
            return; // another node was faster
        }
        String before =
                known == null || known.optionalInstant("retired_at") != null ? null : known.text("schedule_text");
        Kind kind = before == null ? Kind.REGISTERED : Kind.RESCHEDULED;
        String schedule = job.schedule().text() + (before == null ? "" : ", was " + before);
        JdbcOrders.event(session, kind, job.id(), null, null, schedule, JdbcOrders.NOBODY, null);
    }

    @Override
    public @Nullable Situation situation(String job) {
        if (batches != null) {
            return batches.situation(job);
        }
        return situations(database.readAtOnce("situation of " + job, SITUATION, Params.of("job", job)))
                .get(job);
    }

    /** By job; only those that are registered. */
    static Map<String, Situation> situations(List<Answer> answers) {
        Map<String, List<Row>> open =
                answers.getLast().rows().stream().collect(Collectors.groupingBy(row -> row.text("job")));
        Map<String, Situation> situations = new HashMap<>();
        for (Row row : answers.getFirst().rows()) {
            String id = row.text("id");
            situations.put(id, situation(row, open.getOrDefault(id, List.of())));
        }
        return situations;
    }

    private static Situation situation(Row row, List<Row> open) {
        LeaseView lease = row.optionalText("resource") == null ? null : JdbcLeases.view(row);
        boolean live = lease != null && lease.isLive();
        String holder = lease == null || !live ? null : String.valueOf(lease.runId());
        List<OpenTick> ticks = open.stream().map(tick -> openTick(tick, holder)).toList();
        Held held = live
                ? new Held(row.instant("granted"), row.number("fence"), isOrdered(row.optionalText("slot_key"), ticks))
                : null;
        return new Situation(
                new Backlog(row.instant("now"), row.instant("cursor_at"), ticks, held),
                lease,
                JdbcOrders.pause(row),
                row.optionalInstant("defer_until"),
                row.optionalInstant("brakes_since"),
                row.optionalInstant("last_end"));
    }

    /** @param holder the run under the live lease, or null */
    private static OpenTick openTick(Row tick, @Nullable String holder) {
        String open = tick.optionalText("running");
        boolean running = open != null && open.equals(holder);
        // An attempt whose lease is over will be abandoned by the next claim, and counts then; whoever has claimed the
        // job's lease by hand meanwhile makes no run of it.
        int spent = tick.integer("spent") + (open != null && !running ? 1 : 0);
        return new OpenTick(
                new Slot(tick.text("slot_key"), tick.instant("slot_at")),
                tick.truth("on_time"),
                tick.integer("attempts"),
                spent,
                running,
                tick.optionalInstant("not_before"),
                tick.truth("ordered"));
    }

    @Override
    public Restless restless() {
        return database.read("restless jobs", session -> {
            List<Answer> answers = session.run(RESTLESS, Params.none());
            Row row = answers.getFirst().rows().getFirst();
            Set<String> jobs = answers.getLast().rows().stream()
                    .map(each -> each.text("job"))
                    .collect(Collectors.toSet());
            return new Restless(row.instant("now"), row.number("registered"), jobs);
        });
    }

    private static boolean isOrdered(@Nullable String slotKey, List<OpenTick> open) {
        return open.stream().anyMatch(tick -> tick.slot().key().equals(slotKey) && tick.isOrdered());
    }

    @Override
    public BrakeCounts brakeCounts(String job, int mostFailures, @Nullable Instant runsSince) {
        return database.read("brakes of " + job, session -> {
            List<Answer> answers =
                    session.run(BRAKE_COUNTS, Params.of("job", job).and("most", mostFailures));
            List<Row> ended = answers.getFirst().rows();
            int failures = 0;
            while (failures < ended.size()
                    && Outcome.valueOf(ended.get(failures).text("outcome")).isFailure()) {
                failures++;
            }
            Row newest = answers.getLast().first();
            boolean auth = newest != null && Classification.AUTH.name().equals(newest.optionalText("classification"));
            long runs = runsSince == null
                    ? 0
                    : Objects.requireNonNull(session.one(
                                            RUNS_SINCE, Params.of("job", job).and("since", runsSince))
                                    .first())
                            .number("runs");
            return new BrakeCounts(
                    failures,
                    failures == 0 ? null : ended.getFirst().optionalText("reason"),
                    auth && newest != null ? String.valueOf(newest.optionalText("reason")) : null,
                    runs);
        });
    }

    @Override
    public @Nullable Plan apply(Job job, Backlog seen, Plan plan) {
        Plan usual = batches == null ? null : batches.open(job, seen.cursor(), plan);
        return usual == null ? applyAlone(job, seen, plan) : usual;
    }

    private @Nullable Plan applyAlone(Job job, Backlog seen, Plan plan) {
        return database.<Optional<Plan>>write("plan " + job.id(), Urgency.NORMAL, session -> {
                    if (plan.takeOver() != null) { // before the job's row, as everybody does who locks both
                        session.one(LOCK_LEASE, Params.of("resource", job.id()));
                    }
                    Params cursor = Params.of("job", job.id())
                            .and("cursor", plan.cursor())
                            .and("seen", seen.cursor());
                    if (session.one(MOVE_CURSOR, cursor).first() == null) {
                        session.rollbackOnly();
                        return Optional.empty();
                    }
                    if (plan.cutBackTo() != null) {
                        cutRanges(session, job, plan.cutBackTo());
                    }
                    Set<String> taken = new HashSet<>();
                    for (NewTick tick : plan.opened()) {
                        Params params = slot(job, tick.slot()).and("on_time", tick.onTime());
                        if (session.one(OPEN, params).first() == null) {
                            taken.add(tick.slot().key());
                        }
                    }
                    for (Slot slot : plan.skipped()) {
                        if (!closedAtOnce(session, job, slot, Outcome.SKIPPED_OVERLAP, null, null)) {
                            taken.add(slot.key());
                        }
                    }
                    if (plan.skippedRange() != null) {
                        closedAtOnce(
                                session,
                                job,
                                range(plan.skippedRange()),
                                Outcome.SKIPPED_OVERLAP,
                                plan.skippedRange(),
                                null);
                    }
                    if (plan.dropped() != null) {
                        closedAtOnce(
                                session, job, range(plan.dropped()), Outcome.DROPPED, plan.dropped(), plan.brake());
                    }
                    for (OpenTick tick : plan.displaced()) {
                        Params params = slot(job, tick.slot()).and("reason", "a newer slot waits in its place");
                        if (session.one(DISPLACE, params).first() == null) {
                            taken.add(tick.slot().key());
                        }
                    }
                    for (OpenTick tick : plan.closed()) {
                        Params params = slot(job, tick.slot())
                                .and("attempts", tick.attempts())
                                .and("ordered", tick.ordered())
                                .and("spent", tick.spent())
                                .and("reason", whyClosed(job, plan, tick));
                        if (session.one(CLOSE, params).first() == null) {
                            taken.add(tick.slot().key());
                        }
                    }
                    Plan written = taken.isEmpty() ? plan : plan.without(taken);
                    if (written.takeOver() != null) {
                        askToStop(session, job, written.takeOver());
                    }
                    return Optional.of(written);
                })
                .orElse(null);
    }

    private static String whyClosed(Job job, Plan plan, OpenTick tick) {
        if (tick.spent() >= job.mostAttempts()) {
            return "attempts used up";
        }
        return plan.brake() == null
                ? "newer slots are due, catch-up.max is " + job.catchUp().max()
                : plan.brake();
    }

    private static void askToStop(Session session, Job job, TakeOver takeOver) throws SQLException {
        String reason = "superseded by slot " + takeOver.slot().key();
        Params params =
                Params.of("job", job.id()).and("fence", takeOver.fence()).and("reason", reason);
        if (session.one(ASK_TO_STOP, params).first() != null) {
            JdbcOrders.ordered(
                    session,
                    Kind.SUPERSEDED,
                    job.id(),
                    null,
                    reason,
                    JdbcOrders.NOBODY,
                    takeOver.slot().key());
        }
    }

    private static Slot range(SlotRange range) {
        return new Slot("range:" + range.first() + "/" + range.last(), range.last());
    }

    private static Params slot(Job job, Slot slot) {
        return Params.of("job", job.id()).and("slot_key", slot.key()).and("slot_at", slot.at());
    }

    private static boolean closedAtOnce(
            Session session, Job job, Slot slot, Outcome outcome, @Nullable SlotRange range, @Nullable String brake)
            throws SQLException {
        String missed =
                brake == null ? "missed, catch-up.max is " + job.catchUp().max() : brake;
        String reason = outcome == Outcome.DROPPED ? missed : "the run before was still under its lease";
        Params params = slot(job, slot)
                .and("outcome", outcome.name())
                .and("reason", reason)
                .and("range_count", range == null ? null : range.count())
                .and("range_first", range == null ? null : range.first());
        return session.one(CLOSED_AT_ONCE, params).first() != null;
    }

    /** The clock was set back: what is ahead of it again is no longer missed. */
    private static void cutRanges(Session session, Job job, Instant now) throws SQLException {
        Params params = Params.of("job", job.id()).and("now", now);
        for (Row row : session.one(RANGES_BEYOND, params).rows()) {
            Params range = Params.of("job", job.id()).and("slot_key", row.text("slot_key"));
            Instant first = row.instant("range_first");
            Instant last = job.schedule().latest(now);
            if (last == null || last.isBefore(first)) {
                session.one(DELETE_RANGE, range);
            } else {
                long count = 1 + job.schedule().count(first, last);
                session.one(CUT_RANGE, range.and("slot_at", last).and("range_count", count));
            }
        }
    }

    @Override
    public Start start(Job job, Slot slot, Owner owner, RunId runId, boolean reopen) {
        Leases.checkTtl(job.ttl());
        Start usual = batches == null || reopen ? null : batches.start(job, slot, owner, runId);
        return usual == null ? startAlone(job, slot, owner, runId, reopen) : usual;
    }

    private Start startAlone(Job job, Slot slot, Owner owner, RunId runId, boolean reopen) {
        Params params = Params.of("resource", job.id())
                .and("slot_key", slot.key())
                .and("slot_at", slot.at())
                .and("owner", owner.text())
                .and("run_id", runId.toString())
                .and("ttl", job.ttl().toMillis())
                .and("max_attempts", job.mostAttempts())
                .and("abandoned", "holder died")
                .and("reopen", reopen);
        List<Answer> answers =
                database.writeAtOnce("claim " + job.id() + " for " + slot.key(), Urgency.NORMAL, START, params);
        Row row = answers.getLast().rows().getFirst();
        boolean live = row.text("state").equals("LIVE");
        if (row.truth("known") && !live) {
            return new Start.Closed(Refusal.EXPIRED);
        }
        if (runId.toString().equals(row.optionalText("run_id")) && owner.text().equals(row.optionalText("owner"))) {
            List<Attempt> abandoned =
                    answers.get(4).rows().stream().map(JdbcTicks::attempt).toList();
            return started(row, abandoned, row.integer("spent"));
        }
        if (row.optionalText("owner") != null) { // live when it was refused, though its end may have passed since
            return new Start.Held(JdbcLeases.lease(row));
        }
        return new Start.Closed(Refusal.ALREADY_DONE);
    }

    static Start.Started started(Row row, List<Attempt> abandoned, int spent) {
        return new Start.Started(
                JdbcLeases.lease(row),
                row.integer("number"),
                Duration.between(row.instant("slot_at"), row.instant("now")),
                abandoned,
                spent,
                row.truth("without_effects"));
    }

    @Override
    public Completed complete(Lease lease, Completion completion) {
        Params params = JdbcLeases.identity(lease)
                .and("slot_key", lease.slotKey())
                .and("outcome", completion.outcome().name())
                .and("counted", completion.counted())
                .and("exit_code", completion.exitCode())
                .and("signal", completion.signal())
                .and("reason", completion.reason())
                .and("result", completion.result())
                .and("output_tail", completion.outputTail())
                .and("classification", name(completion.further().classification()))
                .and("closes", completion.closesTick());
        boolean nothingFollows = completion.effects().isEmpty()
                && completion.further().retryAfter() == null
                && completion.further().deferral() == null;
        if (nothingFollows && isStoredAtOnce(lease, completion, params)) {
            return new Completed.Stored();
        }
        // Something is to follow it; or it was refused, and is refused once more together with the record of that.
        long bytes = completion.effects().stream()
                .mapToLong(effect -> effect.content().bytes().length)
                .sum();
        // The time limits of what is urgent are too short for much content.
        Urgency urgency = bytes > MAX_URGENT_BYTES ? Urgency.NORMAL : Urgency.URGENT;
        return database.write("complete " + lease.resource(), urgency, session -> {
            if (session.run(COMPLETE, params).get(1).first() != null) {
                String conflict = JdbcOutbox.announce(session, lease, completion.effects());
                if (conflict != null) {
                    session.rollbackOnly();
                    return new Completed.Conflict(conflict);
                }
                further(session, lease, completion);
                return new Completed.Stored();
            }
            Refusal reason = whyRefused(session, lease);
            Long newest = newestFence(session, lease);
            refusedEvent(session, lease, reason.name(), newest);
            refusedEffects(
                    session,
                    lease,
                    reason.name(),
                    newest,
                    completion.effects().stream().map(Announcement::key).toList());
            return new Completed.Refused(reason);
        });
    }

    private boolean isStoredAtOnce(Lease lease, Completion completion, Params params) {
        if (batches != null && TickBatches.isShort(completion)) {
            return batches.complete(lease, completion);
        }
        List<Answer> answers = database.writeAtOnce("complete " + lease.resource(), Urgency.URGENT, COMPLETE, params);
        return answers.get(1).first() != null;
    }

    private static @Nullable String name(@Nullable Classification classification) {
        return classification == null ? null : classification.name();
    }

    private static void further(Session session, Lease lease, Completion completion) throws SQLException {
        Duration retryAfter = completion.further().retryAfter();
        Params params = JdbcLeases.identity(lease).and("slot_key", lease.slotKey());
        if (retryAfter != null) {
            session.one(NOT_BEFORE, params.and("wait", retryAfter.toMillis()));
        }
        Deferral deferral = completion.further().deferral();
        if (deferral != null) {
            String reason = completion.reason();
            Row row = session.run(
                            DEFER,
                            params.and("until", deferral.until())
                                    .and("wait", deferral.otherwise().toMillis())
                                    .and("reason", reason))
                    .getLast()
                    .first();
            Instant until = row == null ? deferral.until() : row.optionalInstant("defer_until");
            JdbcOrders.event(
                    session, Kind.DEFERRED, lease.resource(), null, until, reason, JdbcOrders.NOBODY, lease.slotKey());
        }
    }

    private static @Nullable Long newestFence(Session session, Lease lease) throws SQLException {
        Row row = session.one(NEWEST_FENCE, Params.of("resource", lease.resource()))
                .first();
        return row == null ? null : row.optionalNumber("fence");
    }

    private static void refusedEvent(Session session, Lease lease, String reason, @Nullable Long newest)
            throws SQLException {
        boolean newer = newest != null && newest > lease.fence().value();
        session.one(
                REFUSED_EVENT,
                JdbcLeases.identity(lease)
                        .and("reason", reason)
                        .and("effect", null)
                        .and("newest", newer ? newest : null));
    }

    /** One event for each effect that is not announced after all, with the token it was shown and the newest one. */
    private static void refusedEffects(
            Session session, Lease lease, String reason, @Nullable Long newest, List<String> effects)
            throws SQLException {
        for (String key : effects) {
            session.one(
                    REFUSED_EVENT,
                    JdbcLeases.identity(lease)
                            .and("reason", reason)
                            .and("effect", key)
                            .and("newest", newest));
        }
    }

    private static Refusal whyRefused(Session session, Lease lease) throws SQLException {
        List<Answer> answers = session.run(WHY_REFUSED, JdbcLeases.identity(lease));
        Row attempt = answers.getLast().first();
        if (attempt == null) {
            return Refusal.UNKNOWN;
        }
        Row row = answers.getFirst().first();
        Refusal byLease = JdbcLeases.refusal(row == null ? null : JdbcLeases.view(row), lease);
        String outcome = attempt.optionalText("outcome");
        boolean lost = outcome == null || outcome.equals("ABANDONED") || outcome.equals("LEASE_LOST");
        if (byLease == Refusal.STALE_TOKEN && lost) {
            return byLease;
        }
        return outcome != null || attempt.optionalText("tick_outcome") != null ? Refusal.ALREADY_DONE : byLease;
    }

    @Override
    public boolean endAsLost(Lease lease, String reason, List<String> effects) {
        return database.write("end " + lease.resource() + " as lost", Urgency.URGENT, session -> {
            if (session.run(END_AS_LOST, JdbcLeases.identity(lease).and("reason", reason))
                            .get(1)
                            .first()
                    != null) {
                refusedEffects(session, lease, Outcome.LEASE_LOST.name(), newestFence(session, lease), effects);
                return true;
            }
            // Somebody else has ended it: a write of a late holder like any other, and recorded like one.
            String refusal = whyRefused(session, lease).name();
            Long newest = newestFence(session, lease);
            refusedEvent(session, lease, refusal, newest);
            refusedEffects(session, lease, refusal, newest, effects);
            return false;
        });
    }

    @Override
    public List<Attempt> abandon(Lease lease, boolean provablyDead) {
        String reason = provablyDead ? "holder died, as its host knows" : "holder died: its lease expired";
        Params params = JdbcLeases.identity(lease).and("dead", provablyDead).and("abandoned", reason);
        return database.write(
                "abandon " + lease.resource(),
                Urgency.NORMAL,
                session -> ended(session, session.run(ABANDON, params).get(1).rows()));
    }

    /** The attempts of the dead that were just ended; the ticks of those that had been asked to stop are closed with them. */
    private static List<Attempt> ended(Session session, List<Row> rows) throws SQLException {
        List<Attempt> ended = rows.stream().map(JdbcTicks::attempt).toList();
        for (Attempt attempt : ended) {
            if (attempt.outcome() == Outcome.CANCELLED) {
                session.one(
                        CLOSE_STOPPED,
                        Params.of("job", attempt.job())
                                .and("slot_key", attempt.slotKey())
                                .and("run_id", attempt.runId().toString())
                                .and("reason", attempt.reason()));
            }
        }
        return ended;
    }

    @Override
    public @Nullable Attempt attempt(String job, RunId runId) {
        Params params = Params.of("resource", job).and("run_id", runId.toString());
        return database.<Optional<Attempt>>write("read back " + job, Urgency.URGENT, session -> {
                    Row row = session.run(READ_BACK, params).getLast().first();
                    return Optional.ofNullable(row).map(JdbcTicks::attempt);
                })
                .orElse(null);
    }

    static Attempt attempt(Row row) {
        String outcome = row.optionalText("outcome");
        String classification = row.optionalText("classification");
        return new Attempt(
                RunId.parse(row.text("run_id")),
                row.text("job"),
                row.text("slot_key"),
                row.integer("number"),
                new FencingToken(row.number("fence")),
                new Owner(row.text("owner")),
                row.instant("started_at"),
                row.optionalInstant("ended_at"),
                outcome == null ? null : Outcome.valueOf(outcome),
                row.optionalInt("exit_code"),
                row.optionalInt("signal"),
                row.optionalText("reason"),
                classification == null ? null : Classification.valueOf(classification));
    }
}
