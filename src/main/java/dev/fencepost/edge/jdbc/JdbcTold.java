package dev.fencepost.edge.jdbc;

import dev.fencepost.edge.jdbc.Database.Urgency;
import dev.fencepost.run.Classification;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Told;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What notifiers have been told of the jobs. Most looks change nothing, and so only read. */
final class JdbcTold implements Told {

    private static final String FAILURES = "('FAILED', 'TIMED_OUT', 'LEASE_LOST', 'ABANDONED')";

    /** A tick that newer slots closed while a usage limit held is no failure, as for the brakes. */
    private static final String COUNTED = """
             and not exists (select 1 from attempt a where a.job = tick.job and a.slot_key = tick.slot_key
                and a.number = tick.attempts and (not a.counted or a.classification = 'LIMIT'))""";

    private static final Sql TOLD = Sql.of("select told_failures, told_after from job where id = :job");
    private static final Sql LOCKED = Sql.of("select told_failures, told_after from job where id = :job {for_update}");

    private static final Sql SUCCESS = Sql.of("""
            select ended_at from tick where job = :job and outcome = 'SUCCEEDED' and ended_at is not null
            order by ended_at desc limit 1""");

    private static final Sql COUNT = Sql.of("select count(*) as failures from (select 1 from tick where job = :job"
            + " and ended_at is not null and outcome in " + FAILURES + COUNTED + " limit :most) f");

    private static final Sql COUNT_SINCE =
            Sql.of("select count(*) as failures from (select 1 from tick where job = :job"
                    + " and ended_at > :success and outcome in " + FAILURES + COUNTED + " limit :most) f");

    private static final Sql LAST = Sql.of("""
            select t.slot_key, t.outcome, t.ended_at, coalesce(t.reason, a.reason) as reason, a.number, a.classification
            from (select job, slot_key, outcome, ended_at, reason from tick
                where job = :job and ended_at is not null and outcome in ('SUCCEEDED',""" + FAILURES.substring(1) + COUNTED + """

                order by ended_at desc limit 1) t
            left join attempt a on a.job = t.job and a.slot_key = t.slot_key
            order by a.number desc limit 1""");

    private static final Sql TELL =
            Sql.of("update job set told_failures = :failures, told_after = :success where id = :job");

    private final Database database;

    JdbcTold(Database database) {
        this.database = database;
    }

    @Override
    public Change change(String job) {
        String operation = "what is told of " + job;
        if (!database.read(operation, session -> state(session, TOLD, job).isChanged())) {
            return Change.NONE;
        }
        return database.write(operation, Urgency.NORMAL, session -> {
            State state = state(session, LOCKED, job);
            if (!state.isChanged()) {
                return Change.NONE;
            }
            session.one(
                    TELL,
                    Params.of("failures", state.failures)
                            .and("success", state.success)
                            .and("job", job));
            boolean sameRow = state.failures == 0 || Objects.equals(state.toldAfter, state.success);
            return new Change(sameRow ? state.told : 0, state.failures, last(session, job));
        });
    }

    /** What is told, and what is so. */
    private record State(
            int told,
            @Nullable Instant toldAfter,
            int failures,
            @Nullable Instant success) {

        boolean isChanged() {
            return failures != told || (failures > 0 && !Objects.equals(toldAfter, success));
        }
    }

    private static State state(Session session, Sql told, String job) throws SQLException {
        Params params = Params.of("job", job).and("most", MOST);
        Row row = session.one(told, params).first();
        if (row == null) {
            return new State(0, null, 0, null);
        }
        Row newest = session.one(SUCCESS, params).first();
        Instant success = newest == null ? null : newest.instant("ended_at");
        Row count = Objects.requireNonNull(
                session.one(success == null ? COUNT : COUNT_SINCE, params.and("success", success))
                        .first());
        return new State(
                row.integer("told_failures"), row.optionalInstant("told_after"), count.integer("failures"), success);
    }

    private static @Nullable Last last(Session session, String job) throws SQLException {
        Row row = session.one(LAST, Params.of("job", job)).first();
        if (row == null) {
            return null;
        }
        Integer attempt = row.optionalInt("number");
        String classification = row.optionalText("classification");
        return new Last(
                row.text("slot_key"),
                Outcome.valueOf(row.text("outcome")),
                row.instant("ended_at"),
                attempt == null ? 0 : attempt,
                classification == null ? null : Classification.valueOf(classification),
                row.optionalText("reason"));
    }
}
