package dev.fencepost.edge.jdbc;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.ManualTime;
import dev.fencepost.host.TestThreads;
import dev.fencepost.store.Postgres;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What nodes ask every second, and what clean-up looks for, is found by an index: neither reads a whole history. */
class OperationPlanTest {

    private static final Instant NOW = Instant.parse("2026-03-01T12:00:00Z");
    private static final ManualTime TIME = new ManualTime(NOW);
    private static final int ROWS = 20_000;

    /** {@code n} is the row's number, {@code at(n)} an instant that rises with it. */
    private static List<String> rows(String numbers, String at) {
        String from = " from " + numbers;
        return List.of(
                "insert into tick (job, slot_key, slot_at, on_time, opened_at, outcome, ended_at) select 'job' || n % 10, 's'"
                        + " || n, " + at + ", true, " + at + ", 'FAILED', " + at + from,
                "insert into attempt (run_id, job, slot_key, number, fence, owner, started_at, ended_at, outcome) select 'r'"
                        + " || n, 'job' || n % 10, 's' || n, 1, n, 'o', " + at + ", case when n < " + ROWS + " then "
                        + at
                        + " end, 'FAILED'" + from,
                "insert into job_event (at, job, kind, ordered_by) select " + at + ", 'job' || n % 10, 'PAUSED', 'me'"
                        + from,
                "insert into write_event (at, resource, owner, fence, accepted) select " + at
                        + ", 'job' || n % 10, 'o', n, true" + from,
                "insert into node (owner, host, version, jobs_file, jobs_hash, started_at, seen_at) select 'o' || n, 'h', '1',"
                        + " 'f', 'h', " + at + ", " + at + from,
                "insert into effect (key, job, slot_key, name, sink, resource, pair, fence, run_id, digest, announced_at,"
                        + " expires_at, max_age_ms, state, changed_at, written_at, settled_at, size) select 'k' || n, 'job' || n %"
                        + " 10, 's' || n, 'e', 's', 'r', 'p', n, 'r', 'd', " + at + ", " + at + ", 1, 'CONFIRMED', "
                        + at + ", " + at
                        + ", " + at + ", 0" + from);
    }

    private static void fill(Connection connection, String numbers, String at) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String insert : rows(numbers, at)) {
                assertEquals(ROWS, statement.executeUpdate(insert), insert);
            }
            statement.execute("analyze");
        }
    }

    private static List<String> explained(
            Connection connection, String explain, Sql.Prepared prepared, Map<String, Object> values)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(explain + prepared.text())) {
            for (int i = 0; i < prepared.names().size(); i++) {
                statement.setObject(i + 1, values.get(prepared.names().get(i)));
            }
            List<String> plan = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery()) {
                int last = rows.getMetaData().getColumnCount();
                while (rows.next()) {
                    plan.add(rows.getString(last));
                }
            }
            return plan;
        }
    }

    /** @param early an instant before which a few rows lie */
    private static Map<String, Object> values(Object early) {
        Map<String, Object> values = new HashMap<>();
        values.put("owner", "o");
        values.put("job", "job3");
        values.put("limit", 10);
        values.put("keep", 100);
        values.put("edge", early);
        values.put("edge_key", "");
        values.put("before", early);
        values.put("dead_after", 45_000);
        values.put("wall_now", NOW.toEpochMilli());
        values.put("boot_now", TIME.bootMillis());
        values.put("boot_id", TIME.bootId());
        return values;
    }

    private static final Map<String, Sql> STATEMENTS = Map.of(
            "stops", JdbcOrders.STOPS,
            "events of all", JdbcOrders.EVENTS,
            "events of a job", JdbcOrders.EVENTS_OF_JOB,
            "nodes", JdbcNodes.NODES,
            "the edge", JdbcRetention.EDGE,
            "ticks", JdbcRetention.TICKS,
            "write events", JdbcRetention.WRITE_EVENTS,
            "job events", JdbcRetention.JOB_EVENTS,
            "dead nodes", JdbcRetention.NODES,
            "settled effects", JdbcRetention.SETTLED);

    @FunctionalInterface
    private interface Check {
        void of(String name, Sql sql) throws SQLException;
    }

    /** Fails with all that are wrong, not with the first. */
    private static void forEach(Check check) {
        assertAll(STATEMENTS.entrySet().stream().map(each -> () -> check.of(each.getKey(), each.getValue())));
    }

    @Nested
    class OnSqlite {

        private static Connection connection;

        @BeforeAll
        static void fill(@TempDir Path folder) throws Exception {
            Path file = folder.resolve("store.db");
            try (JdbcStore store = JdbcStore.sqlite(file, TIME, new TestThreads())) {
                store.prepare();
            }
            connection = DriverManager.getConnection("jdbc:sqlite:" + file);
            OperationPlanTest.fill(
                    connection,
                    "(with recursive c (n) as (select 1 union all select n + 1 from c where n < " + ROWS
                            + ") select n from c)",
                    NOW.toEpochMilli() + " + n * 1000");
        }

        @AfterAll
        static void close() throws Exception {
            connection.close();
        }

        @Test
        void noTableIsRead() {
            forEach((name, sql) -> {
                List<String> plan = explained(
                        connection,
                        "explain query plan ",
                        sql.prepare(new Dialect.Sqlite(TIME)).getLast(),
                        values(NOW.plusSeconds(20).toEpochMilli()));
                String lines = name + ": " + plan;
                // What has the same instant may be sorted; a whole history may not.
                assertFalse(lines.contains("TEMP B-TREE FOR ORDER BY"), lines);
                assertFalse(lines.contains("CORRELATED"), lines);
                // A scan in the order of an index, or of ids, ends at the limit; what the with has found is short.
                assertTrue(
                        plan.stream()
                                .allMatch(line -> !line.startsWith("SCAN")
                                        || line.contains("USING")
                                        || line.matches("SCAN (gone|e|write_event|job_event|\\(subquery-\\d+\\))")),
                        lines);
            });
        }
    }

    @Nested
    class OnPostgres {

        private static Connection connection;

        @BeforeAll
        static void fill() throws Exception {
            Postgres.Database database = Postgres.newDatabase();
            try (JdbcStore store = JdbcStore.postgres(database.url(), "postgres", null, "postgres", event -> {})) {
                store.prepare();
            }
            connection = database.connect();
            OperationPlanTest.fill(
                    connection,
                    "generate_series(1, " + ROWS + ") n",
                    "timestamptz '" + NOW + "' + n * interval '1 second'");
        }

        @AfterAll
        static void close() throws Exception {
            connection.close();
        }

        @Test
        void noTableIsRead() {
            forEach((name, sql) -> {
                List<String> lines = explained(
                        connection,
                        "explain ",
                        sql.prepare(new Dialect.Postgres()).getLast(),
                        values(Timestamp.from(NOW.plusSeconds(20))));
                String plan = name + ":\n" + String.join("\n", lines);
                assertFalse(plan.contains("Seq Scan"), plan);
                assertTrue(plan.contains("Index"), plan);
            });
        }
    }
}
