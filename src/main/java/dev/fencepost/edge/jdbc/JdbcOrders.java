package dev.fencepost.edge.jdbc;

import dev.fencepost.edge.jdbc.Database.Urgency;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Orders;
import dev.fencepost.run.Orders.JobEvent.Kind;
import dev.fencepost.run.Pause;
import dev.fencepost.schedule.Slot;
import java.sql.SQLException;
import java.time.Instant;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What people and brakes order. Rows are locked in one order: the job's lease, where ticks or attempts are touched, then the job, and the
 * signal last, so that it is held for the time of a commit only.
 */
final class JdbcOrders implements Orders {

    /** For events that nobody ordered. */
    static final String NOBODY = Pause.BY_A_BRAKE;

    private static final int MOST_SLOTS = 10_000;
    private static final int SLOTS_NAMED = 10;

    private static final Sql SIGNAL = Sql.of("select revision, reloads from signal where id = 1");

    private static final Sql RAISE_SIGNAL =
            Sql.of("update signal set revision = revision + 1, reloads = reloads + :reloads where id = 1");

    private static final Sql EVENT = Sql.of("""
            insert into job_event (at, job, kind, fence, until, reason, ordered_by, slots)
            values (coalesce(:at, {now}), :job, :kind, coalesce((select fence from lease where resource = :job), 0),
                :until, :reason, :by, :slots)""");

    static final String PAUSE_COLUMNS = "paused_at, paused_until, pause_cause, pause_reason, paused_by";

    private static final Sql PAUSE_OF = Sql.of("select " + PAUSE_COLUMNS + " from job where id = :job");

    /** The clock is asked after the wait for the row. */
    private static final Sql LOCK_JOB = Sql.of(
            "select id from job where id = :job {for_update}",
            "select {now} as now, retired_at, defer_until, " + PAUSE_COLUMNS + " from job where id = :job");

    private static final Sql LOCK_LEASE = Sql.of(JdbcLeases.LOCK);

    /** A job that was never claimed has a lease row after this too, so that there is something to lock. */
    private static final Sql MAKE_AND_LOCK_LEASE = Sql.of(JdbcLeases.MAKE_ROW, JdbcLeases.LOCK);

    private static final Sql PAUSE = Sql.of("""
            update job set paused_at = {now}, paused_until = :until, pause_cause = :cause, pause_reason = :reason,
                paused_by = :by
            where id = :job""");

    private static final String NOT_PAUSED =
            " paused_at = null, paused_until = null, pause_cause = null, pause_reason = null, paused_by = null";

    private static final Sql END_PAUSE =
            Sql.of("update job set cursor_at = case when cursor_at < paused_until then paused_until else cursor_at end,"
                    + " brakes_since = paused_until,"
                    + NOT_PAUSED + " where id = :job and paused_until <= {now} returning id");

    private static final Sql RESUME =
            Sql.of("update job set cursor_at = case when paused_at is null then cursor_at else {now} end,"
                    + " brakes_since = {now}, defer_until = null, defer_reason = null,"
                    + NOT_PAUSED
                    + " where id = :job");

    /** Failures in a row, or slots that a brake has dropped, since the last resume. */
    private static final Sql BRAKES_HAVE_COUNTED = Sql.of("""
            select 1 as counted from tick t join job j on j.id = t.job
            where t.job = :job and t.ended_at > coalesce(j.brakes_since, j.since)
                and (t.outcome in ('FAILED', 'TIMED_OUT', 'LEASE_LOST', 'ABANDONED')
                    or (t.outcome = 'DROPPED' and t.reason like 'max-runs-per-day%'))
                and not exists (select 1 from tick s where s.job = t.job and s.outcome = 'SUCCEEDED'
                    and s.ended_at > t.ended_at and t.outcome <> 'DROPPED')
            limit 1""");

    /** An attempt under a live lease. One whose lease is over is a dead holder's, and the tick may be had. */
    private static final String RUNNING = """
            exists (select 1 from attempt a join lease l on l.resource = a.job and l.run_id = a.run_id and {live l}
                where a.job = tick.job and a.slot_key = tick.slot_key and a.ended_at is null)""";

    /** Each part of the given text is the slot's instant in milliseconds, 15 digits long, and its key. */
    private static final Sql TRIGGER = Sql.of("""
            insert into tick (job, slot_key, slot_at, on_time, opened_at, ordered, without_effects)
            select :job, substr(given.value, 16), {epoch} + cast(substr(given.value, 1, 15) as bigint) {ms}, false, {now},
                true, :without_effects
            from {given} where true
            on conflict (job, slot_key) do update set outcome = null, ended_at = null, reason = null, not_before = null,
                ordered = true, without_effects = excluded.without_effects, attempts_before = (
                    select count(*) from attempt a where a.job = tick.job and a.slot_key = tick.slot_key and a.counted)
            where (tick.outcome is null or tick.outcome <> 'SUCCEEDED') and not\s""" + RUNNING + " returning slot_key");

    private static final Sql CANCEL = Sql.of("""
            update attempt set stop_kind = 'CANCEL', stop_reason = :reason
            where job = :job and ended_at is null and coalesce(stop_kind, '') <> 'CANCEL' returning run_id""", """
            update tick set outcome = 'CANCELLED', ended_at = {now}, reason = :reason
            where job = :job and outcome is null and not\s""" + RUNNING + " returning slot_key");

    static final Sql STOPS = Sql.of("""
            select run_id, job, stop_kind, stop_reason from attempt
            where ended_at is null and owner = :owner and stop_kind is not null""");

    private static final String EVENT_COLUMNS =
            "select at, job, kind, fence, until, reason, ordered_by, slots from job_event ";

    static final Sql EVENTS = Sql.of(EVENT_COLUMNS + "order by id desc limit :limit");
    static final Sql EVENTS_OF_JOB = Sql.of(EVENT_COLUMNS + "where job = :job order by id desc limit :limit");

    private final Database database;

    JdbcOrders(Database database) {
        this.database = database;
    }

    @Override
    public Signal signal() {
        return database.read("signal", session -> {
            Row row = Objects.requireNonNull(session.one(SIGNAL, Params.none()).first());
            return new Signal(row.number("revision"), row.number("reloads"));
        });
    }

    @Override
    public @Nullable Pause pauseOf(String job) {
        return database.<Optional<Pause>>read(
                        "pause of " + job,
                        session -> Optional.ofNullable(session.one(PAUSE_OF, Params.of("job", job))
                                        .first())
                                .map(JdbcOrders::pause))
                .orElse(null);
    }

    static @Nullable Pause pause(Row row) {
        Instant since = row.optionalInstant("paused_at");
        return since == null
                ? null
                : new Pause(
                        since,
                        row.optionalInstant("paused_until"),
                        Pause.Cause.valueOf(row.text("pause_cause")),
                        row.optionalText("pause_reason"),
                        row.text("paused_by"));
    }

    @Override
    public Answer pause(String job, @Nullable Instant until, Pause.Cause cause, @Nullable String reason, String by) {
        Optional<Answer> answer = database.write("pause " + job, Urgency.NORMAL, session -> {
            Row row = lockedJob(session, job);
            if (row == null) {
                return Optional.of(Answer.UNKNOWN);
            }
            Instant now = row.instant("now");
            if (until != null && !until.isAfter(now)) {
                return Optional.empty();
            }
            endPassedPause(session, job);
            Pause before = pause(row);
            if (before != null && before.isInForce(now)) {
                boolean same = before.cause() == cause && Objects.equals(before.until(), until);
                if (same || cause != Pause.Cause.PERSON) {
                    return Optional.of(Answer.ALREADY);
                }
            }
            session.one(
                    PAUSE,
                    Params.of("job", job)
                            .and("until", until)
                            .and("cause", cause.name())
                            .and("reason", reason)
                            .and("by", by));
            ordered(session, Kind.PAUSED, job, until, reason, by, null);
            return Optional.of(Answer.DONE);
        });
        return answer.orElseThrow(
                () -> new IllegalArgumentException("a pause of " + job + " until " + until + " would be over already"));
    }

    @Override
    public Answer resume(String job, @Nullable String reason, String by) {
        return database.write("resume " + job, Urgency.NORMAL, session -> {
            Row row = lockedJob(session, job);
            if (row == null) {
                return Answer.UNKNOWN;
            }
            endPassedPause(session, job);
            boolean anything = row.optionalInstant("paused_at") != null
                    || row.optionalInstant("defer_until") != null
                    || session.one(BRAKES_HAVE_COUNTED, Params.of("job", job)).first() != null;
            if (!anything) {
                return Answer.ALREADY;
            }
            session.one(RESUME, Params.of("job", job));
            ordered(session, Kind.RESUMED, job, null, reason, by, null);
            return Answer.DONE;
        });
    }

    @Override
    public boolean endPause(String job) {
        return database.write("end the pause of " + job, Urgency.NORMAL, session -> {
            lockedJob(session, job);
            return endPassedPause(session, job);
        });
    }

    /** A pause that is over ended at its end, whenever somebody notices. */
    private static boolean endPassedPause(Session session, String job) throws SQLException {
        Row row = session.one(PAUSE_OF, Params.of("job", job)).first();
        Pause pause = row == null ? null : pause(row);
        if (pause == null
                || pause.until() == null
                || session.one(END_PAUSE, Params.of("job", job)).first() == null) {
            return false;
        }
        event(session, Kind.RESUMED, job, pause.until(), null, "the pause was until now", NOBODY, null);
        session.one(RAISE_SIGNAL, Params.of("reloads", 0));
        return true;
    }

    @Override
    public List<Answer> trigger(
            String job, List<Slot> slots, boolean withoutEffects, @Nullable String reason, String by) {
        if (slots.isEmpty() || slots.size() > MOST_SLOTS) {
            throw new IllegalArgumentException(
                    "from 1 to " + MOST_SLOTS + " slots are triggered at a time, not " + slots.size());
        }
        Map<String, Slot> byKey = new LinkedHashMap<>();
        slots.forEach(slot -> byKey.put(slot.key(), slot));
        String given = byKey.values().stream()
                .map(slot -> String.format("%015d", slot.at().toEpochMilli()) + slot.key())
                .collect(Collectors.joining(","));
        return database.write("trigger " + job, Urgency.NORMAL, session -> {
            session.run(MAKE_AND_LOCK_LEASE, Params.of("resource", job));
            if (lockedJob(session, job) == null) {
                session.rollbackOnly();
                return List.of();
            }
            Params params = Params.of("job", job).and("given", given).and("without_effects", withoutEffects);
            Set<String> opened = new HashSet<>();
            for (Row row : session.one(TRIGGER, params).rows()) {
                opened.add(row.text("slot_key"));
            }
            if (!opened.isEmpty()) {
                ordered(session, Kind.TRIGGERED, job, null, reason, by, named(byKey.keySet(), opened));
            }
            return slots.stream()
                    .map(slot -> opened.contains(slot.key()) ? Answer.DONE : Answer.ALREADY_DONE)
                    .toList();
        });
    }

    private static String named(Set<String> keys, Set<String> opened) {
        String first = keys.stream().filter(opened::contains).limit(SLOTS_NAMED).collect(Collectors.joining(", "));
        int others = opened.size() - SLOTS_NAMED;
        return others > 0 ? first + " and " + others + " more" : first;
    }

    @Override
    public Answer cancel(String job, @Nullable String reason, String by) {
        return database.write("cancel " + job, Urgency.NORMAL, session -> {
            session.run(LOCK_LEASE, Params.of("resource", job));
            Row row = lockedJob(session, job);
            String words = "cancelled by " + by + (reason == null ? "" : ": " + reason);
            List<Session.Answer> answers =
                    session.run(CANCEL, Params.of("job", job).and("reason", words));
            List<String> waiting = answers.getLast().rows().stream()
                    .map(tick -> tick.text("slot_key"))
                    .sorted()
                    .toList();
            if (answers.getFirst().rows().isEmpty() && waiting.isEmpty()) {
                return row == null ? Answer.UNKNOWN : Answer.ALREADY;
            }
            ordered(session, Kind.CANCELLED, job, null, reason, by, null);
            return Answer.DONE;
        });
    }

    @Override
    public void reload(@Nullable String reason, String by) {
        database.write("reload", Urgency.NORMAL, session -> {
            event(session, Kind.RELOADED, null, null, null, reason, by, null);
            return session.one(RAISE_SIGNAL, Params.of("reloads", 1)).changed();
        });
    }

    @Override
    public List<Stop> stops(Owner owner) {
        return database.read(
                "stops",
                session -> session.one(STOPS, Params.of("owner", owner.text())).rows().stream()
                        .map(row -> new Stop(
                                RunId.parse(row.text("run_id")),
                                row.text("job"),
                                row.text("stop_kind").equals("TAKE_OVER"),
                                row.optionalText("stop_reason")))
                        .toList());
    }

    @Override
    public List<JobEvent> jobEvents(@Nullable String job, int limit) {
        Params params = Params.of("job", job).and("limit", limit);
        return database.read(
                "events of jobs",
                session -> session.one(job == null ? EVENTS : EVENTS_OF_JOB, params).rows().stream()
                        .map(row -> new JobEvent(
                                row.instant("at"),
                                row.optionalText("job"),
                                Kind.of(row.text("kind")),
                                row.number("fence"),
                                row.optionalInstant("until"),
                                row.optionalText("reason"),
                                row.text("ordered_by"),
                                row.optionalText("slots")))
                        .toList());
    }

    /** The job's row, locked; null if there is none, or it left the file. */
    private static @Nullable Row lockedJob(Session session, String job) throws SQLException {
        Row row = session.run(LOCK_JOB, Params.of("job", job)).getLast().first();
        return row == null || row.optionalInstant("retired_at") != null ? null : row;
    }

    /** What ends every order. */
    static void ordered(
            Session session,
            Kind kind,
            String job,
            @Nullable Instant until,
            @Nullable String reason,
            String by,
            @Nullable String slots)
            throws SQLException {
        event(session, kind, job, null, until, reason, by, slots);
        session.one(RAISE_SIGNAL, Params.of("reloads", 0));
    }

    /** @param at null for now */
    static void event(
            Session session,
            Kind kind,
            @Nullable String job,
            @Nullable Instant at,
            @Nullable Instant until,
            @Nullable String reason,
            String by,
            @Nullable String slots)
            throws SQLException {
        session.one(
                EVENT,
                Params.of("kind", kind.name())
                        .and("job", job)
                        .and("at", at)
                        .and("until", until)
                        .and("reason", reason)
                        .and("by", by)
                        .and("slots", slots));
    }
}
