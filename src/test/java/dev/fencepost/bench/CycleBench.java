package dev.fencepost.bench;

import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import dev.fencepost.Store;
import dev.fencepost.bench.Slices.Contestant;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.jdbc.TickStatements;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Rig;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.Slot;
import io.agroal.api.AgroalDataSource;
import io.agroal.api.configuration.supplier.AgroalDataSourceConfigurationSupplier;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * What a run costs the store, beside the peers; by hand: {@code ./mvnw -q test -Dtest=CycleBench}. Each client has a job of its own. A tick
 * is a claim of its slot, one renewal and its completion; a lease is a claim, one renewal and a release.
 */
class CycleBench {

    private static final int ROUNDS = Integer.getInteger("bench.rounds", 40);
    private static final Duration SLICE = Duration.ofMillis(Long.getLong("bench.slice-millis", 250));
    private static final Duration TTL = Duration.ofMinutes(10);
    private static final Owner OWNER = new Owner("bench");
    private static final Completion SUCCESS = new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null);
    private static final Pattern TPS = Pattern.compile("tps = ([0-9.]+) \\(without");

    @TempDir
    private Path folder;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final AtomicLong numbers = new AtomicLong();

    @AfterEach
    void end() {
        threads.shutdownNow();
    }

    /** What one client does again and again. */
    private interface Client extends Callable<Integer> {}

    private double perSecond(int clients, IntFunction<Client> client) throws Exception {
        long began = System.nanoTime();
        long end = began + SLICE.toNanos();
        List<Future<Long>> all = new ArrayList<>();
        for (int i = 0; i < clients; i++) {
            Client mine = client.apply(i);
            all.add(threads.submit(() -> {
                long count = 0;
                while (System.nanoTime() < end) {
                    count += mine.call();
                }
                return count;
            }));
        }
        long count = 0;
        for (Future<Long> each : all) {
            count += each.get();
        }
        return count * 1e9 / (System.nanoTime() - began);
    }

    private static RunId newRun() {
        return new RunId(UUID.randomUUID());
    }

    private Client ticks(Store store, int client) {
        Job job = Rig.job("tick-" + numbers.incrementAndGet() + "-" + client);
        return () -> {
            Slot slot = Slot.at(Instant.EPOCH.plusSeconds(numbers.incrementAndGet()));
            if (!(store.start(job, slot, OWNER, newRun(), false) instanceof Start.Started started)
                    || !(store.renew(started.lease(), TTL) instanceof Renewal.Renewed)
                    || !(store.complete(started.lease(), SUCCESS) instanceof Completed.Stored)) {
                throw new IllegalStateException("refused, though nobody else wants it");
            }
            return 1;
        };
    }

    private static Client leases(Store store, int client) {
        String resource = "lease-" + client;
        return () -> {
            Lease lease = granted(store, resource);
            if (!(store.renew(lease, TTL) instanceof Renewal.Renewed)) {
                throw new IllegalStateException("refused, though nobody else wants it");
            }
            store.release(lease);
            return 1;
        };
    }

    private static Client claimsAndReleases(Store store, int client) {
        String resource = "pair-" + client;
        return () -> {
            store.release(granted(store, resource));
            return 1;
        };
    }

    private static Lease granted(Store store, String resource) {
        if (store.claim(resource, OWNER, newRun(), TTL) instanceof Claim.Granted granted) {
            return granted.lease();
        }
        throw new IllegalStateException("refused, though nobody else wants it");
    }

    private static Client locks(JdbcTemplateLockProvider provider, int client, boolean extended) {
        String name = "lock-" + client;
        return () -> {
            SimpleLock lock = provider.lock(new LockConfiguration(Instant.now(), name, TTL, Duration.ZERO))
                    .orElseThrow();
            if (extended) {
                lock = lock.extend(TTL, Duration.ZERO).orElseThrow();
            }
            lock.unlock();
            return 1;
        };
    }

    private static EmbeddedPostgres durableServer() throws Exception {
        return EmbeddedPostgres.builder()
                .setServerConfig("fsync", "on")
                .setServerConfig("synchronous_commit", "on")
                .setServerConfig("full_page_writes", "on")
                .setServerConfig("shared_buffers", "256MB")
                .setServerConfig("max_wal_size", "2GB")
                .start();
    }

    private static JdbcStore store(EmbeddedPostgres server) {
        return JdbcStore.postgres(
                "jdbc:postgresql://localhost:" + server.getPort() + "/postgres",
                "postgres",
                null,
                "postgres",
                event -> {});
    }

    private static AgroalDataSource pool(EmbeddedPostgres server, int clients) throws SQLException {
        return AgroalDataSource.from(new AgroalDataSourceConfigurationSupplier()
                .connectionPoolConfiguration(pool -> pool.maxSize(clients)
                        .acquisitionTimeout(Duration.ofSeconds(30))
                        .connectionFactoryConfiguration(
                                factory -> factory.jdbcUrl(server.getJdbcUrl("postgres", "postgres")))));
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

    @ParameterizedTest
    @ValueSource(ints = {1, 8, 32})
    void onPostgres(int clients) throws Exception {
        try (EmbeddedPostgres server = durableServer();
                Connection connection = DriverManager.getConnection(server.getJdbcUrl("postgres", "postgres"));
                JdbcStore store = store(server);
                AgroalDataSource pool = pool(server, Math.min(clients + 2, 34))) {
            store.prepare();
            run(
                    connection,
                    """
                    create table shedlock (name varchar(64) primary key, lock_until timestamp not null,
                        locked_at timestamp not null, locked_by varchar(255) not null)""",
                    """
                    create table scheduled_tasks (task_name text not null, task_instance text not null, task_data bytea,
                        execution_time timestamptz not null, picked boolean not null, picked_by text,
                        last_success timestamptz, last_failure timestamptz, consecutive_failures int,
                        last_heartbeat timestamptz, version bigint not null, priority smallint,
                        primary key (task_name, task_instance))""",
                    "create index on scheduled_tasks (execution_time)",
                    "create index on scheduled_tasks (last_heartbeat)");
            JdbcTemplateLockProvider shedLock =
                    new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
                            .withJdbcTemplate(new JdbcTemplate(pool))
                            .usingDbTime()
                            .build());
            Slices slices = new Slices(ROUNDS, folder);
            String size = clients + (clients == 1 ? " client" : " clients");
            Contestant ticks = new Contestant("Fencepost", () -> perSecond(clients, i -> ticks(store, i)));
            slices.compare(
                    "tick, " + size,
                    List.of(
                            ticks,
                            new Contestant("pgbench, same statements", () -> pgbench(server, clients)),
                            new Contestant(
                                    "ShedLock 7.5.0, lock and unlock alone",
                                    () -> perSecond(clients, i -> locks(shedLock, i, false))),
                            new Contestant(
                                    "db-scheduler 16.7.1, fetch",
                                    () -> fillScheduler(connection),
                                    () -> dbScheduler(pool, clients))));
            slices.compare(
                    "lease, " + size,
                    List.of(
                            new Contestant("Fencepost", () -> perSecond(clients, i -> leases(store, i))),
                            new Contestant(
                                    "ShedLock 7.5.0, lock, extend, unlock",
                                    () -> perSecond(clients, i -> locks(shedLock, i, true)))));
            slices.compare(
                    "claim and release, " + size,
                    List.of(
                            new Contestant("Fencepost", () -> perSecond(clients, i -> claimsAndReleases(store, i))),
                            new Contestant(
                                    "ShedLock 7.5.0, lock and unlock",
                                    () -> perSecond(clients, i -> locks(shedLock, i, false)))));
        }
    }

    private static void fillScheduler(Connection connection) {
        run(
                connection,
                "insert into scheduled_tasks (task_name, task_instance, execution_time, picked, version, priority)"
                        + " select 'bench', '" + UUID.randomUUID() + "-' || n, now() - interval '1 hour', false, 1, 0"
                        + " from generate_series(1, 5000) n");
    }

    /** Each task is picked by a statement of its own; when it is done, its row is deleted. */
    private static double dbScheduler(AgroalDataSource pool, int clients) throws InterruptedException {
        AtomicLong count = new AtomicLong();
        OneTimeTask<Void> task = Tasks.oneTime("bench").execute((instance, context) -> count.incrementAndGet());
        Scheduler scheduler = Scheduler.create(pool, task)
                .threads(clients)
                .pollingInterval(Duration.ofMillis(20))
                .build();
        scheduler.start();
        try {
            while (count.get() == 0) {
                Thread.sleep(1); // its start does not count
            }
            long before = count.get();
            long began = System.nanoTime();
            Thread.sleep(SLICE); // the length of the slice
            return (count.get() - before) * 1e9 / (System.nanoTime() - began);
        } finally {
            scheduler.stop();
        }
    }

    /** A new name for the jobs of each slice, so that the token of a run is its number. */
    private double pgbench(EmbeddedPostgres server, int clients) throws Exception {
        Path file = Files.writeString(folder.resolve("script.sql"), script());
        Process pgbench = new ProcessBuilder(
                        "pgbench",
                        "-n",
                        "-M",
                        "prepared",
                        "-c",
                        "" + clients,
                        "-j",
                        "" + Math.min(clients, 2),
                        "-t",
                        "" + transactions,
                        "-D",
                        "k=0",
                        "-D",
                        "bench=" + ThreadLocalRandom.current().nextInt(Integer.MAX_VALUE),
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
        String said = new String(pgbench.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Matcher tps = TPS.matcher(said);
        if (pgbench.waitFor() != 0 || !tps.find() || said.contains("aborted")) {
            throw new IllegalStateException(said);
        }
        double rate = Double.parseDouble(tps.group(1));
        transactions = Math.max(5, (int) (rate * SLICE.toMillis() / 1_000 / clients));
        return rate;
    }

    /** Of each client of the next slice: it knows numbers only, and the rate says how many fill a slice. */
    private int transactions = 20;

    private static String script() {
        return "\\set k :k + 1\n\\set r random(1, 9000000000000000000)\n"
                + pipeline(TickStatements.start(), true)
                + pipeline(TickStatements.renew(), false)
                + pipeline(TickStatements.complete(), true);
    }

    private static String pipeline(List<String> statements, boolean asTransaction) {
        String all = statements.stream().map(CycleBench::withValues).collect(Collectors.joining());
        return "\\startpipeline\n" + (asTransaction ? "begin;\n" + all + "commit;\n" : all) + "\\endpipeline\n";
    }

    private static String withValues(String statement) {
        String text = statement;
        String[] values = {
            "resource", "('pgbench-' || (:bench)::text || '-' || (:client_id)::text)",
            "run_id", "('run-' || (:r)::text)",
            "slot_key", "('slot-' || (:k)::text)",
            "slot_at", "clock_timestamp()",
            "owner", "'bench'",
            "ttl", "600000",
            "max_attempts", "2",
            "abandoned", "'holder died'",
            "reopen", "false",
            "fence", "(:k)::bigint",
            "outcome", "'SUCCEEDED'",
            "counted", "true",
            "exit_code", "0",
            "signal", "null",
            "reason", "null",
            "result", "null",
            "output_tail", "null",
            "classification", "null",
            "closes", "true"
        };
        for (int i = 0; i < values.length; i += 2) {
            text = text.replaceAll("(?<!:):" + values[i] + "\\b", Matcher.quoteReplacement(values[i + 1]));
        }
        return text + ";\n";
    }

    /** Beside what the bare driver needs for as many durable commits of one small row. */
    @ParameterizedTest
    @ValueSource(ints = {1, 8, 32})
    void onSqlite(int clients) throws Exception {
        Path file = folder.resolve("store.db");
        try (JdbcStore store = JdbcStore.sqlite(file, new SystemTime(), new SystemThreads(event -> {}));
                Connection bare = DriverManager.getConnection("jdbc:sqlite:" + folder.resolve("bare.db")
                        + "?journal_mode=WAL&synchronous=FULL&busy_timeout=20000")) {
            store.prepare();
            run(bare, "create table bare (id text primary key, fence integer, text text)");
            try (PreparedStatement write = bare.prepareStatement("insert into bare values (?, 1, 'x')"
                    + " on conflict (id) do update set fence = fence + 1, text = excluded.text")) {
                new Slices(ROUNDS, folder)
                        .compare(
                                "tick, " + clients + (clients == 1 ? " client" : " clients"),
                                List.of(
                                        new Contestant("Fencepost", () -> perSecond(clients, i -> ticks(store, i))),
                                        new Contestant(
                                                "bare driver, three commits of one row, one client",
                                                () -> perSecond(1, i -> () -> {
                                                    for (int k = 0; k < 3; k++) {
                                                        write.setString(1, "row-" + i);
                                                        write.executeUpdate();
                                                    }
                                                    return 1;
                                                }))));
            }
        }
    }
}
