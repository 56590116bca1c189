package dev.fencepost.bench;

import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import dev.fencepost.Store;
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
import io.agroal.api.configuration.supplier.AgroalDataSourceConfigurationSupplier;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
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
    private static final int SLICE_SECONDS = Integer.getInteger("bench.slice-seconds", 3);
    private static final int CLIENTS = 8;
    private static final int QUEUE_LENGTH = 100_000;
    private static final int MANY_DONE = 1_000_000;
    private static final Owner OWNER = new Owner("bench");
    private static final Duration TTL = Duration.ofMinutes(1);
    private static final Pattern TPS = Pattern.compile("tps = ([0-9.]+) \\(without");

    @TempDir
    private Path folder;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final List<String> table = new ArrayList<>();

    @AfterEach
    void end() {
        threads.shutdownNow();
        table.forEach(System.out::println);
    }

    /** Something that handles items for the length of a slice, and says how many a second. */
    private record Contestant(String name, Runnable before, Callable<Double> slice) {}

    private static double median(List<Double> values) {
        return quantile(values, 0.5);
    }

    private static double quantile(List<Double> values, double part) {
        List<Double> sorted = values.stream().sorted().toList();
        double at = part * (sorted.size() - 1);
        int low = (int) at;
        int high = Math.min(low + 1, sorted.size() - 1);
        return sorted.get(low) + (at - low) * (sorted.get(high) - sorted.get(low));
    }

    /** One line for each: its rate, and the ratio of the first one's rate to its own. */
    private void compare(String what, List<Contestant> contestants) throws Exception {
        List<List<Double>> rates = contestants.stream()
                .<List<Double>>map(each -> new ArrayList<>())
                .toList();
        for (int round = 0; round <= ROUNDS; round++) {
            for (int turn = 0; turn < contestants.size(); turn++) {
                int who = (turn + round) % contestants.size();
                contestants.get(who).before().run();
                double rate = contestants.get(who).slice().call();
                if (round > 0) {
                    rates.get(who).add(rate);
                }
            }
        }
        for (int who = 0; who < contestants.size(); who++) {
            List<Double> mine = rates.get(who);
            List<Double> first = rates.getFirst();
            List<Double> ratios = IntStream.range(0, mine.size())
                    .mapToObj(i -> first.get(i) / mine.get(i))
                    .toList();
            table.add(String.format(
                    Locale.ROOT,
                    "| %s | %s | %.0f | %.0f–%.0f | %s |",
                    what,
                    contestants.get(who).name(),
                    median(mine),
                    quantile(mine, 0.25),
                    quantile(mine, 0.75),
                    who == 0
                            ? ""
                            : String.format(
                                    Locale.ROOT,
                                    "%.2f (%.2f–%.2f)",
                                    median(ratios),
                                    quantile(ratios, 0.25),
                                    quantile(ratios, 0.75))));
            System.out.println(table.getLast());
        }
    }

    private void header(String title) {
        table.add("\n" + title + "\n");
        table.add("| | by | items a second | quartiles | Fencepost to it, quartiles |");
        table.add("|---|---|---:|---:|---:|");
    }

    private double perSecond(Callable<Integer> some) throws Exception {
        long began = System.nanoTime();
        long end = began + Duration.ofSeconds(SLICE_SECONDS).toNanos();
        List<Future<Long>> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            clients.add(threads.submit(() -> {
                long count = 0;
                while (System.nanoTime() < end) {
                    count += some.call();
                }
                return count;
            }));
        }
        long count = 0;
        for (Future<Long> client : clients) {
            count += client.get();
        }
        return count * 1e9 / (System.nanoTime() - began);
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

    private static void run(Connection connection, String... statements) {
        try (Statement statement = connection.createStatement()) {
            for (String each : statements) {
                statement.execute(each);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static long count(Connection connection, String query) {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Items straight into the table, under ids that nobody else uses. */
    private static void insert(Connection connection, String now, String state, long number, boolean sqlite) {
        String ended = state.equals("DONE") ? now : "null";
        String prefix = "'" + UUID.randomUUID() + "-'";
        run(
                connection,
                "insert into work_item (id, queue, state, priority, max_attempts, enqueued_at, ended_at) select "
                        + prefix
                        + " || n, 'q', '" + state + "', 0, 3, " + now + ", " + ended + " from "
                        + (sqlite
                                ? "(with recursive c (n) as (select 1 union all select n + 1 from c where n < " + number
                                        + ") select n from c)"
                                : "generate_series(1, " + number + ") n"));
    }

    private static void fillUp(Connection connection, String now, boolean sqlite) {
        long missing = QUEUE_LENGTH
                - count(connection, "select count(*) from work_item where queue = 'q' and state = 'READY'");
        if (missing > 0) {
            insert(connection, now, "READY", missing, sqlite);
        }
    }

    @Test
    void onPostgres() throws Exception {
        try (EmbeddedPostgres server = EmbeddedPostgres.builder()
                        .setServerConfig("fsync", "on")
                        .setServerConfig("synchronous_commit", "on")
                        .setServerConfig("full_page_writes", "on")
                        .setServerConfig("shared_buffers", "256MB")
                        .setServerConfig("max_wal_size", "2GB")
                        .start();
                Connection connection = DriverManager.getConnection(server.getJdbcUrl("postgres", "postgres"));
                JdbcStore store = JdbcStore.postgres(
                        server.getJdbcUrl("postgres", "postgres").replaceAll("[?].*", ""),
                        "postgres",
                        null,
                        "postgres",
                        event -> {})) {
            store.prepare();
            try (AgroalDataSource pool = pool(server)) {
                onPostgres(server, connection, store, pool);
            }
        }
    }

    /** The same claims on two databases of one server, which take turns: what is done, and what waits, must cost a claim nothing. */
    @Test
    void growth() throws Exception {
        try (EmbeddedPostgres server = EmbeddedPostgres.builder()
                        .setServerConfig("fsync", "on")
                        .setServerConfig("synchronous_commit", "on")
                        .setServerConfig("shared_buffers", "256MB")
                        .setServerConfig("max_wal_size", "2GB")
                        .start();
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

        static Grown of(EmbeddedPostgres server, String name, int done, int waiting) throws SQLException {
            try (Connection admin = DriverManager.getConnection(server.getJdbcUrl("postgres", "postgres"))) {
                run(admin, "create database " + name);
            }
            String url = server.getJdbcUrl("postgres", name).replaceAll("[?].*", "");
            JdbcStore store = JdbcStore.postgres(url, "postgres", null, name, event -> {});
            store.prepare();
            Connection connection = DriverManager.getConnection(url, "postgres", null);
            if (done > 0) {
                insert(connection, "clock_timestamp()", "DONE", done, false);
            }
            Grown grown = new Grown(name.replace('_', ' '), connection, store, waiting + OF_A_SLICE);
            grown.fillUp();
            run(connection, "vacuum analyze work_item", "checkpoint");
            return grown;
        }

        void fillUp() {
            long missing =
                    waiting - count(connection, "select count(*) from work_item where queue = 'q' and state = 'READY'");
            if (missing > 0) {
                insert(connection, "clock_timestamp()", "READY", missing, false);
            }
        }

        @Override
        public void close() throws SQLException {
            connection.close();
            store.close();
        }
    }

    private static AgroalDataSource pool(EmbeddedPostgres server) throws SQLException {
        return AgroalDataSource.from(new AgroalDataSourceConfigurationSupplier()
                .connectionPoolConfiguration(pool -> pool.maxSize(CLIENTS + 2)
                        .acquisitionTimeout(Duration.ofSeconds(30))
                        .connectionFactoryConfiguration(
                                factory -> factory.jdbcUrl(server.getJdbcUrl("postgres", "postgres")))));
    }

    private void onPostgres(EmbeddedPostgres server, Connection connection, Store store, AgroalDataSource pool)
            throws Exception {
        String now = "clock_timestamp()";
        Runnable nothing = () -> {};
        run(
                connection,
                """
                create table scheduled_tasks (task_name text not null, task_instance text not null, task_data bytea,
                    execution_time timestamptz not null, picked boolean not null, picked_by text, last_success timestamptz,
                    last_failure timestamptz, consecutive_failures int, last_heartbeat timestamptz, version bigint not null,
                    priority smallint, primary key (task_name, task_instance))""",
                "create index on scheduled_tasks (execution_time)",
                "create index on scheduled_tasks (last_heartbeat)");
        for (int done : new int[] {0, MANY_DONE}) {
            if (done > 0) {
                insert(connection, now, "DONE", done, false);
            }
            Runnable full = () -> fillUp(connection, now, false);
            full.run();
            run(connection, "vacuum analyze work_item", "checkpoint");
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
                                    () -> fillScheduler(connection),
                                    () -> dbScheduler(pool))));
            compare(
                    "claim 50, complete together",
                    List.of(
                            new Contestant(
                                    "Fencepost", full, () -> perSecond(() -> claimAndCompleteTogether(store, 50))),
                            new Contestant(
                                    "db-scheduler 16.7.1, lock-and-fetch",
                                    () -> fillScheduler(connection),
                                    () -> dbScheduler(pool))));
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

    private static void fillScheduler(Connection connection) {
        long missing = QUEUE_LENGTH - count(connection, "select count(*) from scheduled_tasks");
        run(
                connection,
                "insert into scheduled_tasks (task_name, task_instance, execution_time, picked, version, priority)"
                        + " select 'bench', '" + UUID.randomUUID() + "-' || n, now() - interval '1 hour', false, 1, 0"
                        + " from generate_series(1, " + missing + ") n");
    }

    /** As many workers as we have, batches of as many as we claim. It deletes what is done, and keeps no record of it. */
    private static double dbScheduler(AgroalDataSource pool) throws InterruptedException {
        AtomicLong count = new AtomicLong();
        OneTimeTask<Void> task = Tasks.oneTime("bench").execute((instance, context) -> count.incrementAndGet());
        Scheduler scheduler = Scheduler.create(pool, task)
                .threads(CLIENTS)
                .pollUsingLockAndFetch(0.5, 50.0 / CLIENTS)
                .pollingInterval(Duration.ofMillis(50))
                .build();
        scheduler.start();
        try {
            while (count.get() == 0) {
                Thread.sleep(1); // its start does not count
            }
            long before = count.get();
            long began = System.nanoTime();
            Thread.sleep(Duration.ofSeconds(SLICE_SECONDS)); // the length of the slice
            return (count.get() - before) * 1e9 / (System.nanoTime() - began);
        } finally {
            scheduler.stop();
        }
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

    private double pgbench(EmbeddedPostgres server, String script) throws Exception {
        Path file = Files.writeString(folder.resolve("script.sql"), script);
        Process pgbench = new ProcessBuilder(
                        "pgbench",
                        "-n",
                        "-M",
                        "prepared",
                        "-c",
                        "" + CLIENTS,
                        "-j",
                        "2",
                        "-T",
                        "" + SLICE_SECONDS,
                        "-D",
                        "k=1000",
                        "-f",
                        file.toString(),
                        "-h",
                        "localhost",
                        "-p",
                        "" + server.getPort(),
                        "-U",
                        "postgres",
                        "postgres")
                .redirectErrorStream(true)
                .start();
        String said = new String(pgbench.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        Matcher tps = TPS.matcher(said);
        if (pgbench.waitFor() != 0 || !tps.find() || said.contains("aborted")) {
            throw new IllegalStateException(said);
        }
        return Double.parseDouble(tps.group(1));
    }

    @Test
    void onSqlite() throws Exception {
        Path file = folder.resolve("store.db");
        try (JdbcStore store = JdbcStore.sqlite(file, new SystemTime(), new SystemThreads(event -> {}));
                Connection connection =
                        DriverManager.getConnection("jdbc:sqlite:" + file + "?busy_timeout=20000&synchronous=OFF")) {
            store.prepare();
            String now = String.valueOf(new SystemTime().wallClock().toEpochMilli());
            for (int done : new int[] {0, MANY_DONE}) {
                if (done > 0) {
                    insert(connection, now, "DONE", done, true);
                }
                Runnable full = () -> fillUp(connection, now, true);
                full.run();
                run(connection, "analyze", "pragma wal_checkpoint(truncate)");
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
                run(bare, "create table if not exists bare (text text)");
                long began = System.nanoTime();
                long count = 0;
                while (System.nanoTime() - began
                        < Duration.ofSeconds(SLICE_SECONDS).toNanos()) {
                    run(bare, "insert into bare values ('x')");
                    count++;
                }
                return count * 1e9 / (System.nanoTime() - began);
            }
        };
        return List.of(fencepost, new Contestant("bare driver, one row a commit", () -> {}, commits));
    }
}
