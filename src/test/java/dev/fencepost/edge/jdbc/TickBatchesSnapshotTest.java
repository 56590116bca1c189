package dev.fencepost.edge.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What others commit after a statement of a batch has begun, and before it locks its rows: it sees the database as it was before, and has
 * to decide by the rows as they are. So each statement is held up at its first row, until the others have done their work.
 */
class TickBatchesSnapshotTest {

    private static final String AT = "2026-03-01T12:00:00Z";

    private static Postgres.Database database;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    @BeforeAll
    static void open() {
        database = Postgres.newDatabase();
        try (JdbcStore store = JdbcStore.postgres(database.url(), "postgres", null, "postgres", event -> {})) {
            store.prepare();
        }
        database.sql("""
                create function held_up() returns boolean language plpgsql volatile as $$ begin
                    perform pg_advisory_xact_lock_shared(1);
                    return true;
                end $$""");
    }

    /** Jobs a to e, each with a tick that is due and a lease that was released. */
    @BeforeEach
    void fill() {
        database.sql(
                "truncate job, lease, tick, attempt, write_event",
                "insert into job (id, schedule_text, since, cursor_at) select id, 'every: 1m', '" + AT + "', '" + AT
                        + "' from unnest('{a,b,c,d,e}'::text[]) id",
                "insert into lease (resource, fence) select id, 1 from job",
                "insert into tick (job, slot_key, slot_at, on_time, opened_at) select id, 's', '" + AT
                        + "', true, clock_timestamp() from job");
    }

    @AfterEach
    void end() {
        threads.shutdownNow();
        threads.close();
    }

    /** What the statement tells of each job, in the order of their names. */
    private Map<String, String> meanwhile(Sql sql, Map<String, String> values, String id, String told, String... others)
            throws Exception {
        try (Connection gate = database.connect();
                Statement statement = gate.createStatement()) {
            statement.execute("select pg_advisory_lock(1)");
            Future<Map<String, String>> answer = threads.submit(() -> run(sql, values, id, told));
            await(() -> database.rows("select 1 from pg_stat_activity where datname = current_database()"
                                    + " and wait_event = 'advisory'")
                            .size()
                    == 1);
            database.sql(others);
            statement.execute("select pg_advisory_unlock(1)");
            return answer.get(20, TimeUnit.SECONDS);
        }
    }

    private static Map<String, String> run(Sql sql, Map<String, String> values, String id, String told)
            throws SQLException {
        Sql.Prepared prepared = sql.prepareAtOnce(new Dialect.Postgres());
        int columns = prepared.text().indexOf(" as w (");
        int behind = prepared.text().indexOf(')', columns) + 1;
        String text = prepared.text().substring(0, behind) + " where held_up()"
                + prepared.text().substring(behind);
        try (Connection connection = database.connect();
                PreparedStatement statement = connection.prepareStatement(text)) {
            for (int i = 0; i < prepared.names().size(); i++) {
                statement.setString(i + 1, values.get(prepared.names().get(i)));
            }
            Map<String, String> answers = new TreeMap<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    answers.put(rows.getString(id), rows.getString(told));
                }
            }
            return answers;
        }
    }

    private static void await(Callable<Boolean> condition) throws Exception {
        long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.call()) {
            assertTrue(System.nanoTime() < giveUp, "the statement was not held up");
            Thread.sleep(2); // polls another process, which cannot call us
        }
    }

    private static String five(String value) {
        return "{" + String.join(",", Collections.nCopies(5, value)) + "}";
    }

    private static Map<String, String> values() {
        Map<String, String> values = new HashMap<>();
        values.put("jobs", "{e,c,a,d,b}"); // not in the order in which they are locked
        values.put("run_ids", "{run-e,run-c,run-a,run-d,run-b}");
        values.put("slot_keys", five("s"));
        values.put("slot_ats", five(AT));
        values.put("owners", five("anna"));
        values.put("ttls", five("3600000"));
        values.put("seen", five(AT));
        values.put("cursors", five("2026-03-01T12:01:00Z"));
        values.put("on_time", five("true"));
        values.put("fences", five("1"));
        values.put("outcomes", five("SUCCEEDED"));
        values.put("closes", five("true"));
        values.put("counted", five("true"));
        for (String each : List.of("exit_codes", "signals", "reasons", "results", "output_tails", "classifications")) {
            values.put(each, five("null"));
        }
        return values;
    }

    @Test
    void aClaimIsGrantedWhereLeaseAndTickAreAsTheyWere() throws Exception {
        Map<String, String> fences = meanwhile(
                TickBatches.START.ofSeveral(),
                values(),
                "resource",
                "fence",
                "update lease set fence = 7 where resource = 'b'",
                "update lease set fence = 2, owner = 'ben', run_id = 'other', expires_at = 'infinity' where resource = 'c'",
                "update tick set outcome = 'CANCELLED', ended_at = clock_timestamp() where job = 'd'",
                "delete from tick where job = 'e'");
        assertEquals(Map.of("a", "2"), fences);
        assertEquals(
                List.of(List.of("a", "2", "run-a", "1")),
                database.rows("select t.job, l.fence, a.run_id, t.attempts from attempt a"
                        + " join tick t on t.run_id = a.run_id join lease l on l.run_id = a.run_id and l.fence = a.fence"
                        + " order by 1"));
        assertEquals(
                List.of(List.of("ben", "2")), database.rows("select owner, fence from lease where resource = 'c'"));
    }

    /** It began and ended its lease, but not its attempt: a lease that is given back by hand. */
    @Test
    void aClaimIsNotGrantedWhereSomebodyElseWasGrantedMeanwhile() throws Exception {
        Map<String, String> fences = meanwhile(
                TickBatches.START.ofSeveral(),
                values(),
                "resource",
                "fence",
                "insert into tick (job, slot_key, slot_at, on_time, opened_at, attempts, run_id)"
                        + " values ('b', 'other', '" + AT + "', true, clock_timestamp(), 1, 'other')",
                "insert into attempt (run_id, job, slot_key, number, fence, owner, started_at)"
                        + " values ('other', 'b', 'other', 1, 2, 'ben', clock_timestamp())",
                "update lease set fence = 2 where resource = 'b'");
        assertEquals(Map.of("a", "2", "c", "2", "d", "2", "e", "2"), fences);
        assertEquals(List.of(List.of("other")), database.rows("select run_id from attempt where job = 'b'"));
    }

    @Test
    void oneJobTwiceIsClaimedOnce() throws Exception {
        Map<String, String> values = values();
        values.put("jobs", "{a,b,a,c,a}");
        values.put("slot_keys", "{s,s,t,s,u}");
        assertEquals(
                Map.of("a", "2", "b", "2", "c", "2"), run(TickBatches.START.ofSeveral(), values, "resource", "fence"));
        List<List<String>> granted = database.rows(
                "select a.job, a.run_id, a.slot_key from attempt a join lease l on l.run_id = a.run_id order by 1");
        assertEquals(3, granted.size());
        assertEquals(List.of(List.of("3")), database.rows("select count(*) from attempt"));
        List<String> ofA = granted.getFirst();
        values.put(
                "run_ids",
                "{%1$s,%2$s,%1$s,%3$s,%1$s}"
                        .formatted(
                                ofA.get(1),
                                granted.get(1).get(1),
                                granted.get(2).get(1)));
        values.put("slot_keys", "{%1$s,s,%1$s,s,%1$s}".formatted(ofA.get(2)));
        values.put("fences", five("2"));
        values.put("outcomes", "{SUCCEEDED,SUCCEEDED,FAILED,SUCCEEDED,FAILED}");
        assertEquals(
                3,
                run(TickBatches.COMPLETE.ofSeveral(), values, "ended", "ended").size());
        assertEquals(
                List.of(List.of("3")),
                database.rows(
                        "select count(*) from tick t join attempt a on a.run_id = t.run_id"
                                + " and a.outcome = t.outcome join write_event e on e.run_id = a.run_id and e.reason = a.outcome"));
        assertEquals(List.of(List.of("3")), database.rows("select count(*) from write_event"));
    }

    @Test
    void aRenewalIsJudgedByTheLeaseAsItIsNow() throws Exception {
        database.sql(
                "update lease set owner = 'anna', run_id = 'run-' || resource, slot_key = 's', expires_at = clock_timestamp() + interval '1 minute'",
                "update lease set expires_at = clock_timestamp() - interval '1 hour' where resource = 'b'");
        Map<String, String> values = values();
        values.put("resources", values.get("jobs"));
        Map<String, String> renewed = meanwhile(
                TickBatches.RENEW.ofSeveral(),
                values,
                "resource",
                "resource",
                "update lease set expires_at = clock_timestamp() + interval '1 minute' where resource = 'b'",
                "update lease set expires_at = clock_timestamp() where resource = 'c'",
                "update lease set fence = 2, run_id = 'other' where resource = 'd'",
                "update lease set owner = null, run_id = null, expires_at = '-infinity' where resource = 'e'");
        assertEquals(List.of("a", "b"), List.copyOf(renewed.keySet()));
        assertEquals(
                List.of(List.of("a"), List.of("b")),
                database.rows("select resource from lease where expires_at > clock_timestamp() + interval '50 minutes'"
                        + " order by 1"));
    }

    @Test
    void aCompletionIsJudgedByTheLeaseAsItIsNow() throws Exception {
        database.sql(
                "update lease set owner = 'anna', run_id = 'run-' || resource, slot_key = 's', expires_at = 'infinity'",
                "update lease set expires_at = clock_timestamp() - interval '1 hour' where resource = 'b'",
                "update tick set attempts = 1, run_id = 'run-' || job",
                "insert into attempt (run_id, job, slot_key, number, fence, owner, started_at)"
                        + " select run_id, job, slot_key, 1, 1, 'anna', clock_timestamp() from tick");
        Map<String, String> ended = meanwhile(
                TickBatches.COMPLETE.ofSeveral(),
                values(),
                "ended",
                "ended",
                "update lease set expires_at = 'infinity' where resource = 'b'",
                "update lease set expires_at = clock_timestamp() where resource = 'c'",
                "update lease set fence = 2, run_id = 'other' where resource = 'd'",
                "update attempt set ended_at = clock_timestamp(), outcome = 'LEASE_LOST' where job = 'e'");
        assertEquals(List.of("run-a", "run-b"), List.copyOf(ended.keySet()));
        assertEquals(
                List.of(List.of("a"), List.of("b")),
                database.rows("select t.job from tick t join attempt a on a.run_id = t.run_id and a.outcome = t.outcome"
                        + " join write_event e on e.run_id = a.run_id and e.accepted"
                        + " join lease l on l.resource = t.job and l.owner is null"
                        + " where t.outcome = 'SUCCEEDED' order by 1"));
        assertEquals(List.of(List.of("2")), database.rows("select count(*) from write_event"));
        assertEquals(List.of(List.of("3")), database.rows("select count(*) from tick where outcome is null"));
    }

    @Test
    void aPlanIsComparedWithTheCursorAsItIsNow() throws Exception {
        Map<String, String> values = values();
        values.put("slot_keys", five("next"));
        Map<String, String> opened = meanwhile(
                TickBatches.OPEN.ofSeveral(),
                values,
                "job",
                "opened",
                "update job set cursor_at = cursor_at + interval '1 second' where id = 'b'",
                "update job set paused_at = clock_timestamp() where id = 'c'",
                "insert into tick (job, slot_key, slot_at, on_time, opened_at) values ('d', 'next', '" + AT
                        + "', true, clock_timestamp())");
        assertEquals(Map.of("a", "t", "c", "t", "d", "f", "e", "t"), opened);
        assertEquals(
                List.of(List.of("a"), List.of("c"), List.of("d"), List.of("e")),
                database.rows("select job from tick where slot_key = 'next' order by 1"));
        assertEquals(
                List.of(List.of("a", "f"), List.of("c", "t"), List.of("d", "f"), List.of("e", "f")),
                database.rows(
                        "select id, paused_at is not null from job where cursor_at = '2026-03-01T12:01:00Z' order by 1"));
    }
}
