package dev.fencepost.edge.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.ManualTime;
import dev.fencepost.host.TestThreads;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.store.Postgres;
import dev.fencepost.work.Grant;
import dev.fencepost.work.ItemResult;
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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a claim costs must depend neither on the length of the queue nor on what is done. */
class WorkPlanTest {

    private static final ManualTime TIME = new ManualTime(Instant.parse("2026-03-01T12:00:00Z"));

    private static final int DONE = 200_000;
    private static final int READY = 100_000;
    private static final int DELAYED = 10_000;
    private static final int CLAIMED = 300;
    private static final int RUN_OUT = 5;

    /** How many items the claim of the test is for. */
    private static final int COUNT = 10;

    private static final Pattern ROWS_SEEN =
            Pattern.compile("(?:actual time=\\S+ rows=|Rows Removed by Filter: )(\\d+)");

    private static final String RUN_IDS = "00000000-0000-0000-0000-0000000000";

    private static final Map<String, Object> VALUES = Map.ofEntries(
            Map.entry("queue", "q"),
            Map.entry("id", "i" + (DONE + 77)),
            Map.entry("owner", "anna"),
            Map.entry("run_id", RUN_IDS + "99"),
            Map.entry("fence", 1),
            Map.entry("event", "DONE"),
            Map.entry("result", ""),
            Map.entry("result_type", ""),
            Map.entry("given", runIds()),
            Map.entry("listed", listed()),
            Map.entry("count", COUNT),
            Map.entry("limit", 100),
            Map.entry("ttl", 60_000L),
            Map.entry("before", TIME.wallClock().minusSeconds(3600)),
            Map.entry("wall_now", TIME.wallClock().toEpochMilli()),
            Map.entry("boot_now", TIME.bootMillis()),
            Map.entry("boot_id", TIME.bootId()));

    private static String runIds() {
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < COUNT; i++) {
            ids.add(RUN_IDS + (10 + i));
        }
        return String.join(",", ids);
    }

    /** Of items that are claimed. */
    private static String listed() {
        List<ItemResult> results = new ArrayList<>();
        for (int i = 1; i <= COUNT; i++) {
            results.add(new ItemResult(
                    new Grant("i" + (DONE + READY + DELAYED + i), new Owner("ben"), new FencingToken(1), null), null));
        }
        return String.valueOf(Listed.results(results).values().get("listed"));
    }

    /**
     * @param later an instant that is to come, {@code over} and {@code live} ends of leases
     * @param more further columns of a lease, with their values
     */
    private static void fill(
            Connection connection, String numbers, String now, String later, String over, String live, String[] more)
            throws SQLException {
        String insert = "insert into work_item (id, queue, state, priority, max_attempts, enqueued_at, attempts, fence,"
                + " owner, run_id, not_before, expires_at, ended_at" + more[0] + ") select 'i' || n, ";
        int from = 0;
        try (Statement statement = connection.createStatement()) {
            for (String[] each : new String[][] {
                // queue, state, attempts, owner, run id, not before, end of the lease, end
                {"q", "DONE", "1", "null", "null", "null", over, now, "" + DONE},
                {"q", "READY", "0", "null", "null", "null", over, "null", "" + READY},
                {"q", "DELAYED", "0", "null", "null", later, over, "null", "" + DELAYED},
                {"q", "CLAIMED", "1", "'ben'", "'r' || n", "null", live, "null", "" + CLAIMED},
                {"q", "CLAIMED", "1", "'ben'", "'r' || n", "null", over, "null", "" + RUN_OUT},
                {"other", "READY", "0", "null", "null", "null", over, "null", "" + READY / 10}
            }) {
                int count = Integer.parseInt(each[8]);
                assertEquals(
                        count,
                        statement.executeUpdate(insert + "'" + each[0] + "', '" + each[1] + "', n % 7, 3, " + now
                                + ", " + each[2] + ", 0, " + each[3] + ", " + each[4] + ", " + each[5] + ", " + each[6]
                                + ", " + each[7] + more[1]
                                + " from " + numbers.formatted(from + 1, from + count)));
                from += count;
            }
            statement.execute("analyze");
        }
    }

    private static List<String> lines(PreparedStatement statement) throws SQLException {
        List<String> lines = new ArrayList<>();
        try (ResultSet rows = statement.executeQuery()) {
            int last = rows.getMetaData().getColumnCount();
            while (rows.next()) {
                lines.add(rows.getString(last));
            }
        }
        return lines;
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
            connection = DriverManager.getConnection("jdbc:sqlite:" + file + "?synchronous=OFF&journal_mode=WAL");
            connection.setAutoCommit(false);
            long now = TIME.wallClock().toEpochMilli();
            WorkPlanTest.fill(
                    connection,
                    "(with recursive c (n) as (select %d union all select n + 1 from c where n < %d) select n from c)",
                    "" + now,
                    "" + (now + 3_600_000),
                    "0",
                    "" + (TIME.bootMillis() + 3_600_000),
                    new String[] {", boot_id", ", '" + TIME.bootId() + "'"});
            connection.commit();
        }

        @AfterAll
        static void close() throws Exception {
            connection.close();
        }

        private static List<String> plan(String statement) throws SQLException {
            return plan(Sql.of(statement));
        }

        private static List<String> plan(Sql statement) throws SQLException {
            Sql.Prepared sql = statement.prepare(new Dialect.Sqlite(TIME)).getFirst();
            try (PreparedStatement explain = connection.prepareStatement("explain query plan " + sql.text())) {
                for (int i = 0; i < sql.names().size(); i++) {
                    explain.setObject(i + 1, VALUES.get(sql.names().get(i)));
                }
                return lines(explain);
            }
        }

        @Test
        void aClaimOfAnyTakesTheFirstOfItsIndex() throws Exception {
            List<String> plan = plan(JdbcWork.claimFirst(":count"));
            assertTrue(plan.contains("SEARCH work_item USING INDEX work_item_ready (queue=?)"), plan::toString);
            assertOnlySearched(plan);
        }

        @Test
        void whatTimeHasChangedIsFoundByItsIndexes() throws Exception {
            List<String> plan = plan(JdbcWork.PUT_RIGHT);
            assertTrue(
                    plan.contains("SEARCH work_item USING INDEX work_item_delayed (queue=? AND not_before<?)"),
                    plan::toString);
            assertTrue(plan.contains("SEARCH work_item USING INDEX work_item_claimed (queue=?)"), plan::toString);
            assertOnlySearched(plan);
        }

        @Test
        void whatARunHoldsIsFoundByItsId() throws Exception {
            List<String> plan = plan(JdbcWork.CLAIMED_BY);
            assertTrue(plan.contains("SEARCH work_item USING INDEX work_item_run (run_id=?)"), plan::toString);
            assertOnlySearched(plan);
        }

        @Test
        void anItemIsClaimedByItsId() throws Exception {
            assertOnlySearched(plan(JdbcWork.GRANT_ONE));
        }

        @Test
        void itemsThatAreCompletedTogetherAreFoundByTheirIds() throws Exception {
            assertOnlySearched(plan(JdbcResults.LOCKED));
            assertOnlySearched(plan(JdbcResults.COMPLETED));
        }

        @Test
        void queuesAreCountedInTheirIndexesAlone() throws Exception {
            List<String> plan = plan(JdbcWork.QUEUES);
            for (String index : List.of("ready", "ended")) {
                assertTrue(plan.contains("SCAN work_item USING COVERING INDEX work_item_" + index), plan::toString);
            }
        }

        @Test
        void whatEndedLongAgoIsFoundByItsTime() throws Exception {
            List<String> plan = plan(JdbcWork.PRUNABLE);
            assertTrue(plan.getFirst().contains("SEARCH work_item USING INDEX work_item_prune"), plan::toString);
            assertEquals(1, plan.size(), plan::toString);
        }

        private static void assertOnlySearched(List<String> plan) {
            assertFalse(plan.stream().anyMatch(line -> line.matches("SCAN (work_item|w|o)\\b.*")), plan::toString);
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
            WorkPlanTest.fill(
                    connection,
                    "generate_series(%d, %d) n",
                    "clock_timestamp()",
                    "clock_timestamp() + interval '1 hour'",
                    "'-infinity'",
                    "clock_timestamp() + interval '1 hour'",
                    new String[] {"", ""});
        }

        @AfterAll
        static void close() throws Exception {
            connection.close();
        }

        /** As it was carried out and taken back, by the values at hand or by a plan for any value. */
        private static List<String> plan(Sql asked, String mode) throws SQLException {
            Sql.Prepared sql = asked.prepare(new Dialect.Postgres()).getFirst();
            StringBuilder numbered = new StringBuilder();
            int place = 0;
            for (char c : sql.text().toCharArray()) {
                numbered.append(c == '?' ? "$" + ++place : String.valueOf(c));
            }
            List<String> values = sql.names().stream()
                    .map(VALUES::get)
                    .map(value -> value instanceof Number ? value.toString() : "'" + value + "'")
                    .toList();
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.execute("set local plan_cache_mode = " + mode);
                statement.execute("prepare explained as " + numbered);
                try (PreparedStatement explain = connection.prepareStatement(
                        "explain analyze execute explained(" + String.join(", ", values) + ")")) {
                    return lines(explain);
                } finally {
                    statement.execute("deallocate explained");
                }
            } finally {
                connection.rollback();
                connection.setAutoCommit(true);
            }
        }

        /** Whichever way the server plans. */
        private static void assertFewRows(String statement, String... indexes) throws SQLException {
            for (String mode : List.of("force_custom_plan", "force_generic_plan")) {
                String plan = String.join("\n", plan(Sql.of(statement), mode));
                for (String index : indexes) {
                    assertTrue(plan.contains(index), plan);
                }
                assertFalse(plan.contains("Seq Scan on work_item"), plan);
                Matcher rows = ROWS_SEEN.matcher(plan);
                long steps = 0;
                while (rows.find()) {
                    steps++;
                    assertTrue(Long.parseLong(rows.group(1)) <= CLAIMED + RUN_OUT, plan);
                }
                assertTrue(steps > 1, plan);
            }
        }

        @Test
        void aClaimOfAnyTakesTheFirstOfItsIndex() throws Exception {
            assertFewRows(JdbcWork.claimFirst(":count"), "work_item_ready", "work_item_pkey");
            assertFewRows(JdbcWork.claimFirst("1"), "work_item_ready", "work_item_pkey");
        }

        @Test
        void whatTimeHasChangedIsFoundByItsIndexes() throws Exception {
            assertFewRows(JdbcWork.PUT_RIGHT, "work_item_delayed", "work_item_pkey");
        }

        @Test
        void whatARunHoldsIsFoundByItsId() throws Exception {
            assertFewRows(JdbcWork.CLAIMED_BY, "work_item_run");
        }

        @Test
        void anItemIsClaimedByItsId() throws Exception {
            assertFewRows(JdbcWork.GRANT_ONE, "work_item_pkey");
        }

        /** An index of what is claimed looks small in the statistics, and grows with what was claimed until it is cleaned. */
        @Test
        void whoCompletesFindsTheItemByItsId() throws Exception {
            for (String statement :
                    List.of(JdbcWork.ACCEPTED, JdbcWork.COMPLETED, JdbcResults.LOCKED, JdbcResults.COMPLETED)) {
                assertFewRows(statement, "work_item_pkey");
            }
        }

        @Test
        void whatEndedLongAgoIsFoundByItsTime() throws Exception {
            String plan = String.join("\n", plan(JdbcWork.PRUNABLE, "force_custom_plan"));
            assertTrue(plan.contains("work_item_prune"), plan);
        }
    }
}
