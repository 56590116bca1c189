package dev.fencepost.bench;

import dev.fencepost.Store;
import dev.fencepost.bench.Slices.Contestant;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.jdbc.WorkStatements;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.work.Grant;
import dev.fencepost.work.ItemResult;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import io.agroal.api.AgroalDataSource;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * How many items a second the work queue takes, run by hand: {@code ./mvnw -q test -Dtest=WorkBench}. The table goes to standard output.
 *
 * <p>Who is compared takes turns on the same server, slice by slice, in an order that turns too; a ratio is of two slices of one round.
 * The queue is filled up before each slice. The first round does not count.
 */
class WorkBench {

    private static final int ROUNDS = Integer.getInteger("bench.rounds", 7);
    private static final Duration SLICE = Duration.ofSeconds(Integer.getInteger("bench.slice-seconds", 3));
    private static final int CLIENTS = 8;
    private static final int QUEUE_LENGTH = 100_000;
    private static final int MANY_DONE = 1_000_000;
    private static final Owner OWNER = new Owner("bench");
    private static final Duration TTL = Duration.ofMinutes(1);

    private final Path folder;

    private final List<String> table = new ArrayList<>();
    private final Slices slices;

    WorkBench(@TempDir Path folder) {
        this.folder = folder;
        slices = new Slices(ROUNDS, SLICE, folder);
    }

    @AfterEach
    void end() {
        table.forEach(System.out::println);
    }

    private void compare(String what, List<Contestant> contestants) throws Exception {
        table.addAll(slices.compare(what, contestants));
    }

    private void header(String title) {
        table.add("\n" + title + "\n");
        table.add("| | by | items a second | quartiles | Fencepost to it, quartiles |");
        table.add("|---|---|---:|---:|---:|");
    }

    private double perSecond(Callable<Integer> some) throws Exception {
        return slices.perSecond(CLIENTS, i -> some);
    }

    private static RunId newRun() {
        return new RunId(UUID.randomUUID());
    }

    private static List<Grant> claim(Store store, int most) {
        List<RunId> runs = Stream.generate(WorkBench::newRun).limit(most).toList();
        return store.claimAny("q", OWNER, runs, TTL).stream()
                .map(item -> new Grant(item.id(), OWNER, new FencingToken(item.fence()), item.runId()))
                .toList();
    }

    private static void checkDone(WorkAnswer answer) {
        if (!(answer instanceof WorkAnswer.Done)) {
            throw new IllegalStateException("refused: " + answer);
        }
    }

    private static int claimAndComplete(Store store, int most) {
        List<Grant> grants = claim(store, most);
        grants.forEach(grant -> checkDone(store.complete(grant, null)));
        return grants.size();
    }

    private static int claimAndCompleteTogether(Store store, int most) {
        List<Grant> grants = claim(store, most);
        if (!grants.isEmpty()) {
            store.completeAll(grants.stream()
                            .map(grant -> new ItemResult(grant, null))
                            .toList())
                    .forEach(WorkBench::checkDone);
        }
        return grants.size();
    }

    private static int enqueue(Store store) {
        store.enqueue(new NewItem(UUID.randomUUID().toString(), "e", null, 0, null, 3));
        return 1;
    }

    /** Items straight into the table, under ids that nobody else uses. */
    private static void insert(Connection connection, Fill fill, String state, long number) {
        String now = "{at " + new SystemTime().wallClock().getEpochSecond() + "}";
        String ended = state.equals("DONE") ? now : "null";
        fill.run(
                connection,
                "insert into work_item (id, queue, state, priority, max_attempts, enqueued_at, ended_at) select '"
                        + UUID.randomUUID() + "-' || n, 'q', '" + state + "', 0, 3, " + now + ", " + ended
                        + " from {numbers " + number + "}");
    }

    private static void fillUp(Connection connection, Fill fill, long waiting) {
        long missing = waiting
                - Script.count(connection, "select count(*) from work_item where queue = 'q' and state = 'READY'");
        if (missing > 0) {
            insert(connection, fill, "READY", missing);
        }
    }

    @Test
    void onPostgres() throws Exception {
        try (DurablePostgres server = DurablePostgres.start();
                Connection connection = server.connect(DurablePostgres.DATABASE);
                JdbcStore store = server.store(DurablePostgres.DATABASE)) {
            store.prepare();
            try (AgroalDataSource pool = server.pool(CLIENTS + 2)) {
                onPostgres(server, connection, store, pool);
            }
        }
    }

    /** The same claims on two databases of one server, which take turns: what is done, and what waits, must cost a claim nothing. */
    @Test
    void growth() throws Exception {
        try (DurablePostgres server = DurablePostgres.start();
                Grown small = Grown.of(server, "small", 0, 1_000);
                Grown done = Grown.of(server, "many_done", MANY_DONE, 1_000);
                Grown waiting = Grown.of(server, "many_waiting", 0, QUEUE_LENGTH)) {
            header(String.format(
                    Locale.ROOT, "PostgreSQL, growth: %,d items done, %,d items waiting", MANY_DONE, QUEUE_LENGTH));
            for (int most : new int[] {1, 50}) {
                compare(
                        "claim " + most + ", complete each",
                        Stream.of(small, done, waiting)
                                .map(each -> new Contestant(
                                        each.name,
                                        each::fillUp,
                                        () -> perSecond(() -> claimAndComplete(each.store, most))))
                                .toList());
            }
        }
    }

    /** A database with so many items done and, before each slice, so many waiting; with a few of them enough for a slice. */
    private record Grown(String name, Connection connection, JdbcStore store, int waiting) implements AutoCloseable {

        private static final int OF_A_SLICE = 30_000;

        static Grown of(DurablePostgres server, String name, int done, int waiting) throws SQLException {
            JdbcStore store = server.newStore(name);
            Connection connection = server.connect(name);
            if (done > 0) {
                insert(connection, Fill.POSTGRES, "DONE", done);
            }
            Grown grown = new Grown(name.replace('_', ' '), connection, store, waiting + OF_A_SLICE);
            grown.fillUp();
            Script.run(connection, "vacuum analyze work_item", "checkpoint");
            return grown;
        }

        void fillUp() {
            WorkBench.fillUp(connection, Fill.POSTGRES, waiting);
        }

        @Override
        public void close() throws SQLException {
            connection.close();
            store.close();
        }
    }

    private void onPostgres(DurablePostgres server, Connection connection, Store store, AgroalDataSource pool)
            throws Exception {
        Runnable nothing = () -> {};
        DbScheduler.createTable(connection);
        for (int done : new int[] {0, MANY_DONE}) {
            if (done > 0) {
                insert(connection, Fill.POSTGRES, "DONE", done);
            }
            Runnable full = () -> fillUp(connection, Fill.POSTGRES, QUEUE_LENGTH);
            full.run();
            Script.run(connection, "vacuum analyze work_item", "checkpoint");
            header(String.format(
                    Locale.ROOT,
                    "PostgreSQL, %d clients, %,d items done at the beginning, %,d waiting",
                    CLIENTS,
                    done,
                    QUEUE_LENGTH));
            compare(
                    "enqueue",
                    List.of(
                            new Contestant("Fencepost", nothing, () -> perSecond(() -> enqueue(store))),
                            new Contestant(
                                    "pgbench, same statements", nothing, () -> pgbench(server, enqueueScript()))));
            compare(
                    "claim 1, complete",
                    List.of(
                            new Contestant("Fencepost", full, () -> perSecond(() -> claimAndComplete(store, 1))),
                            new Contestant("pgbench, same statements", full, () -> pgbench(server, claimScript(1)))));
            compare(
                    "claim 50, complete each",
                    List.of(
                            new Contestant("Fencepost", full, () -> perSecond(() -> claimAndComplete(store, 50))),
                            new Contestant("pgbench, same statements", full, () -> pgbench(server, claimScript(50))),
                            new Contestant(
                                    "db-scheduler 16.7.1, lock-and-fetch",
                                    () -> DbScheduler.fillUp(connection, QUEUE_LENGTH),
                                    () -> dbScheduler(pool))));
            compare(
                    "claim 50, complete together",
                    List.of(
                            new Contestant(
                                    "Fencepost", full, () -> perSecond(() -> claimAndCompleteTogether(store, 50))),
                            new Contestant(
                                            "db-scheduler 16.7.1, lock-and-fetch",
                                            () -> DbScheduler.fillUp(connection, QUEUE_LENGTH),
                                            () -> dbScheduler(pool))
                                    .with(Goal.BATCH_TO_DB_SCHEDULER)));
            looks(store);
        }
    }

    /** What people ask, with all that is in the store by now. */
    private void looks(Store store) {
        for (int i = 0; i < 3; i++) {
            long began = System.nanoTime();
            String queues = store.queues().toString();
            long counted = System.nanoTime();
            store.items("q", null, 100);
            long listed = System.nanoTime();
            if (i == 2) {
                table.add(String.format(
                        Locale.ROOT,
                        "\nqueues() %d ms, items(q) %d ms, for %s",
                        (counted - began) / 1_000_000,
                        (listed - counted) / 1_000_000,
                        queues));
            }
        }
    }

    /** As many workers as we have, batches of as many as we claim. */
    private static double dbScheduler(AgroalDataSource pool) throws InterruptedException {
        return DbScheduler.perSecond(
                pool,
                CLIENTS,
                settings -> settings.pollUsingLockAndFetch(0.5, 50.0 / CLIENTS).pollingInterval(Duration.ofMillis(50)),
                SLICE);
    }

    private static String with(String statement, String... values) {
        String text = statement;
        for (int i = 0; i < values.length; i += 2) {
            text = text.replaceAll(":" + values[i] + "\\b", Matcher.quoteReplacement(values[i + 1]));
        }
        return text + ";\n";
    }

    private static String enqueueScript() {
        return "\\set r random(1, 9000000000000000000)\n\\startpipeline\nbegin;\n"
                + WorkStatements.enqueue().stream()
                        .map(each -> with(
                                each,
                                "id",
                                "(:r)::text",
                                "queue",
                                "'e'",
                                "priority",
                                "0",
                                "not_before",
                                "null",
                                "max_attempts",
                                "3",
                                "payload",
                                "null",
                                "payload_type",
                                "null"))
                        .collect(Collectors.joining())
                + "commit;\n\\endpipeline\n";
    }

    /** Completes one item; before the first of each batch it claims that. */
    private static String claimScript(int most) {
        String given = "(select string_agg((:r)::text || '-' || i, ',') from generate_series(1, " + most + ") i)";
        List<String> claim = WorkStatements.claimAny(most).stream()
                .map(each -> with(
                        each, "given", given, "queue", "'q'", "owner", "'bench'", "count", "" + most, "ttl", "60000"))
                .toList();
        String claimed = claim.getLast();
        StringBuilder script = new StringBuilder(
                "\\if :k >= " + most + "\n\\set r random(1, 9000000000000000000)\n\\startpipeline\nbegin;\n");
        claim.subList(0, claim.size() - 1).forEach(script::append);
        script.append("\\endpipeline\nselect string_agg(id, ',') as ids, string_agg(run_id, ',') as runs from (")
                .append(claimed, 0, claimed.length() - 2)
                .append(") claimed \\gset\ncommit;\n\\set k 0\n\\endif\n\\set k :k + 1\n\\startpipeline\nbegin;\n");
        for (String each : WorkStatements.complete()) {
            script.append(with(
                    each,
                    "id",
                    "split_part(:ids, ',', :k)",
                    "run_id",
                    "split_part(:runs, ',', :k)",
                    "owner",
                    "'bench'",
                    "fence",
                    "1",
                    "event",
                    "'DONE'",
                    "result",
                    "null",
                    "result_type",
                    "null"));
        }
        return script + "commit;\n\\endpipeline\n";
    }

    private double pgbench(DurablePostgres server, String script) throws Exception {
        return server.pgbench(folder, script, CLIENTS, List.of("-T", "" + SLICE.toSeconds(), "-D", "k=1000"));
    }

    @Test
    void onSqlite() throws Exception {
        Path file = folder.resolve("store.db");
        try (JdbcStore store = JdbcStore.sqlite(file, new SystemTime(), new SystemThreads(event -> {}));
                Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file + Fill.FAST)) {
            store.prepare();
            for (int done : new int[] {0, MANY_DONE}) {
                if (done > 0) {
                    insert(connection, Fill.SQLITE, "DONE", done);
                }
                Runnable full = () -> fillUp(connection, Fill.SQLITE, QUEUE_LENGTH);
                full.run();
                Script.run(connection, "analyze", "pragma wal_checkpoint(truncate)");
                header(String.format(
                        Locale.ROOT,
                        "SQLite, %d clients, %,d items done at the beginning, %,d waiting",
                        CLIENTS,
                        done,
                        QUEUE_LENGTH));
                compare(
                        "enqueue",
                        beside(file, new Contestant("Fencepost", full, () -> perSecond(() -> enqueue(store)))));
                compare(
                        "claim 1, complete",
                        beside(
                                file,
                                new Contestant("Fencepost", full, () -> perSecond(() -> claimAndComplete(store, 1)))));
                compare(
                        "claim 50, complete each",
                        beside(
                                file,
                                new Contestant("Fencepost", full, () -> perSecond(() -> claimAndComplete(store, 50)))));
                compare(
                        "claim 50, complete together",
                        beside(
                                file,
                                new Contestant(
                                        "Fencepost",
                                        full,
                                        () -> perSecond(() -> claimAndCompleteTogether(store, 50)))));
                looks(store);
            }
        }
    }

    /** What the disk gives at that moment: one client of the bare driver that inserts a row and commits, as durably as we do. */
    private static List<Contestant> beside(Path file, Contestant fencepost) {
        Callable<Double> commits = () -> {
            try (Connection bare = DriverManager.getConnection(
                    "jdbc:sqlite:" + file + "?journal_mode=WAL&synchronous=FULL&busy_timeout=20000")) {
                Script.run(bare, "create table if not exists bare (text text)");
                long began = System.nanoTime();
                long count = 0;
                while (System.nanoTime() - began < SLICE.toNanos()) {
                    Script.run(bare, "insert into bare values ('x')");
                    count++;
                }
                return count * 1e9 / (System.nanoTime() - began);
            }
        };
        return List.of(fencepost, new Contestant("bare driver, one row a commit", () -> {}, commits));
    }
}
