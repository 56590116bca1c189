package dev.fencepost.edge.jdbc;

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
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is asked every second must not grow with the history of the job, nor with what was sent, nor much with what is to be sent. */
class QueryPlanTest {

    private static final ManualTime TIME = new ManualTime(Instant.parse("2026-03-01T12:00:00Z"));
    private static final int OPEN = 25_000;
    private static final int ROWS = 10 * OPEN;
    private static final int PAIRS = 5;
    private static final Pattern ROWS_SEEN =
            Pattern.compile("(?:actual time=\\S+ rows=|Rows Removed by Filter: )(\\d+)");

    /** How many rows a step gave each time, and how often. */
    private static final Pattern STEP = Pattern.compile("actual time=\\S+ rows=(\\d+) loops=(\\d+)");

    private static final Map<String, Object> VALUES = Map.of(
            "pair",
            "sink:s:job3",
            "sinks",
            ",s,",
            "job",
            "job3",
            "limit",
            100,
            "most",
            1L << 40,
            "wall_now",
            TIME.wallClock().toEpochMilli(),
            "boot_now",
            TIME.bootMillis(),
            "boot_id",
            TIME.bootId());

    /** Effects of a few pairs: the newest tenth is PENDING, the others are settled, and a few of those wait for a person. */
    private static String effects(String numbers, String time) {
        return "insert into effect (key, job, slot_key, name, sink, resource, pair, fence, run_id, digest, announced_at,"
                + " expires_at, max_age_ms, state, waits, next_at, changed_at, written_at, settled_at, receipt, size)"
                + " select 'k' || n, 'job' || n % " + PAIRS + ", 's', 'e', 's', 'job' || n % " + PAIRS
                + ", 'sink:s:job' || n % " + PAIRS + ", n, 'r', 'd', " + time + ", " + time + ", 1,"
                + " case when n > " + (ROWS - OPEN)
                + " then 'PENDING' when n % 1000 = 1 then 'DEAD' else 'CONFIRMED' end, n % 1000 = 1 and n <= "
                + (ROWS - OPEN) + ","
                + " case when n > " + (ROWS - OPEN) + " then " + time + " end, " + time + ", " + time
                + ", case when n <= " + (ROWS - OPEN) + " then "
                + time + " end, '" + "r".repeat(400) + "', 0 from " + numbers;
    }

    private static void insert(Connection connection, String numbers, String time) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            assertEquals(ROWS, statement.executeUpdate(effects(numbers, time)));
            statement.execute("insert into effect_content (key, content) select key, '' from effect");
            statement.execute("analyze");
        }
    }

    private static List<String> explained(Connection connection, String explain, Sql.Prepared prepared)
            throws SQLException {
        return explained(connection, explain, prepared, VALUES::get);
    }

    private static List<String> explained(
            Connection connection, String explain, Sql.Prepared prepared, Function<String, @Nullable Object> values)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(explain + prepared.text())) {
            for (int i = 0; i < prepared.names().size(); i++) {
                statement.setObject(i + 1, values.apply(prepared.names().get(i)));
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
            insert(
                    connection,
                    "(with recursive c (n) as (select 1 union all select n + 1 from c where n < " + ROWS
                            + ") select n from c)",
                    String.valueOf(TIME.wallClock().toEpochMilli() + 3_600_000));
        }

        @AfterAll
        static void close() throws Exception {
            connection.close();
        }

        private static List<String> plan(Sql sql) throws SQLException {
            return explained(
                    connection,
                    "explain query plan ",
                    sql.prepare(new Dialect.Sqlite(TIME)).getLast());
        }

        @Test
        void openTicksAreFoundByTheirOwnIndex() throws Exception {
            List<String> plan = plan(JdbcTicks.SITUATION);
            assertTrue(plan.getFirst().contains("tick_open"), plan.toString());
        }

        /** However many ticks and attempts a job has had, a claim and a completion look at the few that are open. */
        @Test
        void aTickIsClaimedAndCompletedByIndexesOfWhatIsOpen() throws Exception {
            for (Sql sql : List.of(JdbcTicks.START, JdbcTicks.COMPLETE)) {
                for (Sql.Prepared each : sql.prepare(new Dialect.Sqlite(TIME))) {
                    for (String step : explained(connection, "explain query plan ", each)) {
                        boolean ofAllOfAJob = step.endsWith("(job=?)") && !step.contains("_open ");
                        assertFalse(step.startsWith("SCAN") || ofAllOfAJob, step + " in " + each.text());
                    }
                }
            }
            List<String> restless = plan(JdbcTicks.RESTLESS);
            assertTrue(restless.contains("SCAN tick USING INDEX tick_open"), restless::toString);
        }

        /** Asked before each start of a job that has brakes. */
        @Test
        void whatTheBrakesCountIsFoundByItsTime() throws Exception {
            List<Sql.Prepared> brakes = JdbcTicks.BRAKE_COUNTS.prepare(new Dialect.Sqlite(TIME));
            List<String> ended = explained(connection, "explain query plan ", brakes.getFirst());
            assertTrue(ended.toString().contains("SEARCH t USING INDEX tick_by_end (job=?"), ended::toString);
            assertFalse(ended.toString().contains("TEMP B-TREE"), ended::toString);
            List<String> newest = explained(connection, "explain query plan ", brakes.getLast());
            assertTrue(newest.toString().contains("SEARCH a USING INDEX attempt_started (job=?"), newest::toString);
            assertFalse(newest.toString().contains("TEMP B-TREE"), newest::toString);
            List<String> runs = plan(JdbcTicks.RUNS_SINCE);
            assertTrue(runs.getFirst().contains("attempt_started (job=? AND started_at>?)"), runs::toString);
        }

        @Test
        void duePairsAreHoppedTo() throws Exception {
            List<String> plan = plan(JdbcOutbox.DUE_PAIRS);
            assertEquals(
                    3,
                    plan.stream().filter(line -> line.contains("effect_open")).count(),
                    plan::toString);
            assertOnlySearched(plan);
        }

        @Test
        void theFirstOfAPairIsFoundInTheIndexOfOpenEffects() throws Exception {
            List<String> plan = plan(JdbcOutbox.NEXT);
            assertTrue(plan.contains("SEARCH t USING INDEX effect_open (pair=?)"), plan::toString);
            assertOnlySearched(plan);
        }

        @Test
        void whatIsTooOldIsFoundByItsTime() throws Exception {
            List<String> plan = plan(JdbcOutbox.EXPIRE);
            assertTrue(
                    plan.contains("SEARCH effect USING COVERING INDEX effect_pending (expires_at<?)"), plan::toString);
            assertOnlySearched(plan);
        }

        @Test
        void whatIsOpenIsCountedInItsIndexAlone() throws Exception {
            List<String> plan = plan(JdbcOutbox.TALLIES);
            assertEquals("SCAN effect USING COVERING INDEX effect_counted", plan.getFirst());
            assertFalse(plan.toString().contains("TEMP B-TREE"), plan::toString);
        }

        @Test
        void theLongestSuccessIsFoundAmongTheNewestAttempts() throws Exception {
            List<String> plan = plan(JdbcHistory.LONGEST_SUCCESS);
            assertTrue(plan.contains("SEARCH attempt USING INDEX attempt_started (job=?)"), plan::toString);
            assertFalse(plan.stream().anyMatch(line -> line.matches("SCAN attempt\\b.*")), plan::toString);
        }

        private static void assertOnlySearched(List<String> plan) {
            assertFalse(plan.stream().anyMatch(line -> line.matches("SCAN (effect|n|t)\\b.*")), plan::toString);
        }
    }

    @Nested
    class OnPostgres {

        /** In the order in which a tick has them. */
        private static final List<TickBatches.Statement> OF_A_TICK =
                List.of(TickBatches.OPEN, TickBatches.START, TickBatches.RENEW, TickBatches.COMPLETE);

        private static Connection connection;

        @BeforeAll
        static void fill() throws Exception {
            Postgres.Database database = Postgres.newDatabase();
            try (JdbcStore store = JdbcStore.postgres(database.url(), "postgres", null, "postgres", event -> {})) {
                store.prepare();
            }
            connection = database.connect();
            insert(connection, "generate_series(1, " + ROWS + ") n", "clock_timestamp() + interval '1 hour'");
        }

        @AfterAll
        static void close() throws Exception {
            connection.close();
        }

        /** To plan the claim of a tick takes longer than the claim. */
        @Test
        void theStatementsOfATickAreNotPlannedAnewEachTime() throws Exception {
            for (TickBatches.Statement each : OF_A_TICK) {
                assertTrue(keepsItsPlan(each.ofOne()), each.toString());
                assertTrue(keepsItsPlan(each.ofSeveral()), each.toString());
            }
        }

        /**
         * The plan that is kept was made when nothing ran, and is used when a thousand jobs do: no table and no index of what is open has to
         * be read through. A table of a thousand rows the server may still rather read, so that is forbidden here.
         */
        @Test
        void theStatementsOfATickLookEachRowUpByItsKey() throws Exception {
            try (Statement statement = connection.createStatement()) {
                statement.execute("""
                        insert into job (id, schedule_text, since, cursor_at)
                        select 'idle' || n, 'every: 1m', clock_timestamp(), clock_timestamp() from generate_series(1, 1000) n;
                        insert into lease (resource, fence) select 'idle' || n, 1 from generate_series(1, 1000) n;
                        insert into tick (job, slot_key, slot_at, on_time, opened_at, outcome, ended_at)
                        select 'idle' || n, 's', clock_timestamp(), true, clock_timestamp(), 'SUCCEEDED', clock_timestamp()
                        from generate_series(1, 1000) n;
                        insert into attempt (run_id, job, slot_key, number, fence, owner, started_at, ended_at, outcome)
                        select 'idle' || n, 'idle' || n, 's', 1, 1, 'o', clock_timestamp(), clock_timestamp(), 'SUCCEEDED'
                        from generate_series(1, 1000) n;
                        analyze job, lease, tick, attempt""");
            }
            for (TickBatches.Statement each : OF_A_TICK) {
                assertLookedUpByKey(each.ofOne());
                assertLookedUpByKey(each.ofSeveral());
            }
        }

        private static void assertLookedUpByKey(Sql sql) throws SQLException {
            List<String> plan;
            execute("set enable_seqscan = off");
            try {
                plan = explained(
                        connection,
                        "explain (costs off) ",
                        sql.prepare(new Dialect.Postgres()).getFirst(),
                        name -> name.equals("jobs") || name.equals("resources") ? "{job0,job1,job2}" : "{}");
            } finally {
                execute("reset enable_seqscan");
            }
            assertFalse(lines(plan).contains("Seq Scan"), lines(plan));
            for (int i = 0; i < plan.size(); i++) {
                if (plan.get(i).contains("Index") && plan.get(i).contains(" using ")) {
                    assertTrue(plan.get(i + 1).strip().startsWith("Index Cond: "), lines(plan));
                }
            }
        }

        /** With each row compared with each, two hundred jobs would take forty thousand comparisons. */
        @Test
        void aBatchComparesEachRowWithFewOthers() throws Exception {
            String since = "clock_timestamp() - interval '1 minute'";
            execute(
                    "insert into job (id, schedule_text, since, cursor_at)"
                            + " select 'batch' || n, 'every: 1m', now(), 'epoch' from generate_series(1, 200) n",
                    "insert into lease (resource, fence) select 'batch' || n, 0 from generate_series(1, 200) n",
                    // A completion of long ago, under each of these jobs, which none of the statements has to look at.
                    "insert into attempt (run_id, job, slot_key, number, fence, owner, started_at, ended_at, outcome)"
                            + " select 'old' || n, 'batch' || n % 200, 's' || n, 1, 0, 'o', " + since
                            + ", now(), 'SUCCEEDED' from generate_series(1, 20000) n",
                    "analyze job, lease, attempt");
            for (TickBatches.Statement each : OF_A_TICK) {
                List<String> plan = explained(
                        connection,
                        "explain (analyze) ",
                        each.ofSeveral().prepare(new Dialect.Postgres()).getFirst(),
                        name -> TickBatches.array(
                                IntStream.rangeClosed(1, 200).<@Nullable Object>mapToObj(n -> ofBatch(name, n))));
                Matcher steps = STEP.matcher(lines(plan));
                while (steps.find()) {
                    long rows = Long.parseLong(steps.group(1)) * Long.parseLong(steps.group(2));
                    assertTrue(rows <= 1_200, lines(plan)); // at most each job once
                }
                assertFalse(lines(plan).contains("Rows Removed by"), lines(plan));
            }
            assertEquals(200, count("select count(*) from tick where slot_key = 'slot' and outcome = 'SUCCEEDED'"));
        }

        /** What job n of a batch has for this array. */
        private static @Nullable Object ofBatch(String array, int n) {
            return switch (array) {
                case "jobs", "resources" -> "batch" + n;
                case "slot_keys" -> "slot";
                case "seen" -> Instant.EPOCH;
                case "cursors", "slot_ats" -> TIME.wallClock();
                case "owners" -> "anna";
                case "run_ids" -> "run" + n;
                case "ttls" -> 60_000;
                case "fences" -> 1;
                case "outcomes" -> "SUCCEEDED";
                case "on_time", "closes", "counted" -> true;
                default -> null;
            };
        }

        private static void execute(String... statements) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                for (String each : statements) {
                    statement.execute(each);
                }
            }
        }

        private static long count(String query) throws SQLException {
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery(query)) {
                assertTrue(rows.next());
                return rows.getLong(1);
            }
        }

        /** The server makes up its mind after five. */
        private static boolean keepsItsPlan(Sql sql) throws SQLException {
            Sql.Prepared prepared = sql.prepare(new Dialect.Postgres()).getFirst();
            String text = prepared.text();
            for (int i = 1; text.contains("?"); i++) {
                text = text.replaceFirst("\\?", "\\$" + i);
            }
            String empty = prepared.names().stream().map(each -> "'{}'").collect(Collectors.joining(", "));
            try (Statement statement = connection.createStatement()) {
                statement.execute("prepare of_a_tick as " + text);
                for (int i = 0; i < 10; i++) {
                    statement.execute("execute of_a_tick (" + empty + ")");
                }
                boolean keeps;
                try (ResultSet plans = statement.executeQuery(
                        "select generic_plans > 0 from pg_prepared_statements where name = 'of_a_tick'")) {
                    assertTrue(plans.next());
                    keeps = plans.getBoolean(1);
                }
                statement.execute("deallocate of_a_tick");
                return keeps;
            }
        }

        /** As it was carried out, with the number of rows that each step gave. */
        private static List<String> plan(Sql sql) throws SQLException {
            return explained(
                    connection,
                    "explain (analyze) ",
                    sql.prepare(new Dialect.Postgres()).getLast());
        }

        @Test
        void duePairsAreHoppedTo() throws Exception {
            List<String> plan = plan(JdbcOutbox.DUE_PAIRS);
            assertEquals(
                    3,
                    plan.stream()
                            .filter(line -> line.contains("using effect_open"))
                            .count(),
                    lines(plan));
            assertFewRows(plan);
        }

        @Test
        void theFirstOfAPairIsFoundInTheIndexOfOpenEffects() throws Exception {
            List<String> plan = plan(JdbcOutbox.NEXT);
            assertTrue(lines(plan).contains("using effect_open"), lines(plan));
            assertFewRows(plan);
        }

        @Test
        void whatIsTooOldIsFoundByItsTime() throws Exception {
            List<String> plan = plan(JdbcOutbox.EXPIRE);
            assertTrue(lines(plan).contains("using effect_pending"), lines(plan));
            assertFewRows(plan);
        }

        @Test
        void whatIsOpenIsCountedByItsIndex() throws Exception {
            List<String> plan = plan(JdbcOutbox.TALLIES);
            assertTrue(lines(plan).contains(" effect_counted"), lines(plan));
            assertFalse(lines(plan).contains("Seq Scan on effect"), lines(plan));
        }

        @Test
        void theLongestSuccessIsFoundAmongTheNewestAttempts() throws Exception {
            try (Statement statement = connection.createStatement()) {
                statement.execute("""
                        insert into attempt (run_id, job, slot_key, number, fence, owner, started_at, ended_at, outcome)
                        select 'r' || n, 'job3', 's' || n, 1, n, 'o', clock_timestamp(), clock_timestamp(), 'SUCCEEDED'
                        from generate_series(1, 30000) n""");
                statement.execute("analyze attempt");
            }
            List<String> plan = plan(JdbcHistory.LONGEST_SUCCESS);
            assertTrue(lines(plan).contains("Index Scan Backward using attempt_started on attempt"), lines(plan));
            assertFalse(lines(plan).contains("Seq Scan"), lines(plan));
            Matcher rows = ROWS_SEEN.matcher(lines(plan));
            while (rows.find()) {
                assertTrue(Long.parseLong(rows.group(1)) <= 10_000, lines(plan));
            }
        }

        private static String lines(List<String> plan) {
            return String.join("\n", plan);
        }

        private static void assertFewRows(List<String> plan) {
            assertFalse(lines(plan).contains("Seq Scan on effect"), lines(plan));
            Matcher rows = ROWS_SEEN.matcher(lines(plan));
            long steps = 0;
            while (rows.find()) {
                steps++;
                assertTrue(Long.parseLong(rows.group(1)) <= PAIRS + 1, lines(plan));
            }
            assertTrue(steps > 3, lines(plan));
        }
    }
}
