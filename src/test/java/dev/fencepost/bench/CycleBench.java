package dev.fencepost.bench;

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
import java.nio.file.Path;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.stream.Collectors;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
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
    private static final int WARM_ROUNDS = Integer.getInteger("bench.warm-rounds", 40);
    private static final Duration SLICE = Duration.ofMillis(Long.getLong("bench.slice-millis", 250));
    private static final Duration TTL = Duration.ofMinutes(10);
    private static final int SCHEDULED = 5_000;

    /** Of each client of pgbench, which begins with new connections: the first few of each are planned and read from cold caches. */
    private static final int LEAST_TRANSACTIONS = 200;

    private static final Owner OWNER = new Owner("bench");
    private static final Completion SUCCESS = new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null);

    private final Path folder;

    private final AtomicLong numbers = new AtomicLong();
    private final Slices slices;

    CycleBench(@TempDir Path folder) {
        this.folder = folder;
        slices = new Slices(WARM_ROUNDS, ROUNDS, SLICE, folder);
    }

    private static RunId newRun() {
        return new RunId(UUID.randomUUID());
    }

    private Callable<Integer> ticks(Store store, String id) {
        Job job = Rig.job(id);
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

    private static Callable<Integer> leases(Store store, int client) {
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

    private static Callable<Integer> claimsAndReleases(Store store, int client) {
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

    private static Callable<Integer> locks(JdbcTemplateLockProvider provider, int client, boolean extended) {
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

    @ParameterizedTest
    @ValueSource(ints = {1, 8, 32})
    void onPostgres(int clients) throws Exception {
        try (DurablePostgres server = DurablePostgres.start();
                Connection connection = server.connect(DurablePostgres.DATABASE);
                JdbcStore store = server.store(DurablePostgres.DATABASE);
                AgroalDataSource pool = server.pool(clients + 2)) {
            store.prepare();
            Script.run(connection, """
                    create table shedlock (name varchar(64) primary key, lock_until timestamp not null,
                        locked_at timestamp not null, locked_by varchar(255) not null)""");
            DbScheduler.createTable(connection);
            JdbcTemplateLockProvider shedLock =
                    new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
                            .withJdbcTemplate(new JdbcTemplate(pool))
                            .usingDbTime()
                            .build());
            String size = clients + (clients == 1 ? " client" : " clients");
            slices.compare(
                    "tick, " + size,
                    List.of(
                            new Contestant(
                                    "Fencepost",
                                    () -> makeLeases(connection, clients),
                                    () -> slices.perSecond(clients, i -> ticks(store, prefix + i))),
                            new Contestant(
                                            "pgbench, same statements",
                                            () -> makeLeases(connection, clients),
                                            () -> pgbench(server, connection, clients))
                                    .with(clients == 8 ? Goal.TICK_TO_PGBENCH : null),
                            new Contestant(
                                    "ShedLock 7.5.0, lock and unlock alone",
                                    () -> slices.perSecond(clients, i -> locks(shedLock, i, false))),
                            new Contestant(
                                    "db-scheduler 16.7.1, fetch",
                                    () -> DbScheduler.fillUp(connection, SCHEDULED),
                                    () -> DbScheduler.perSecond(
                                            pool,
                                            clients,
                                            settings -> settings.pollingInterval(Duration.ofMillis(20)),
                                            SLICE))));
            slices.compare(
                    "lease, " + size,
                    List.of(
                            new Contestant("Fencepost", () -> slices.perSecond(clients, i -> leases(store, i))),
                            new Contestant(
                                            "ShedLock 7.5.0, lock, extend, unlock",
                                            () -> slices.perSecond(clients, i -> locks(shedLock, i, true)))
                                    .with(Goal.LEASE_TO_SHEDLOCK)));
            slices.compare(
                    "claim and release, " + size,
                    List.of(
                            new Contestant(
                                    "Fencepost", () -> slices.perSecond(clients, i -> claimsAndReleases(store, i))),
                            new Contestant(
                                    "ShedLock 7.5.0, lock and unlock",
                                    () -> slices.perSecond(clients, i -> locks(shedLock, i, false)))));
        }
    }

    /**
     * The jobs of each slice are new ones, so that the token of a run of pgbench is its number, and nobody passes by what thousands of
     * runs of the same job have left in the index of what is open. Their rows are there, as after a registration.
     */
    private void makeLeases(Connection connection, int clients) {
        prefix = "tick-" + numbers.incrementAndGet() + "-";
        Script.run(
                connection,
                "insert into lease (resource, fence) select '" + prefix + "' || n, 0 from generate_series(0, "
                        + (clients - 1) + ") n");
    }

    private double pgbench(DurablePostgres server, Connection connection, int clients) throws Exception {
        double rate = server.pgbench(
                folder, script(), clients, List.of("-t", "" + transactions, "-D", "k=0", "-D", "prefix=" + prefix));
        long stored = Script.count(
                connection, "select count(*) from tick where job like '" + prefix + "%' and outcome = 'SUCCEEDED'");
        if (stored != (long) transactions * clients) {
            throw new IllegalStateException(stored + " ticks were stored of " + transactions * clients);
        }
        transactions = Math.max(LEAST_TRANSACTIONS, (int) (rate * SLICE.toMillis() / 1_000 / clients));
        return rate;
    }

    private String prefix = "";

    /** Of each client of the next slice: it knows numbers only, and the rate says how many fill a slice. */
    private int transactions = LEAST_TRANSACTIONS;

    private static String script() {
        return "\\set k :k + 1\n\\set r random(1, 9000000000000000000)\n"
                + pipeline(TickStatements.start())
                + pipeline(TickStatements.renew())
                + pipeline(TickStatements.complete());
    }

    private static String pipeline(List<String> statements) {
        String all = statements.stream().map(CycleBench::withValues).collect(Collectors.joining());
        return "\\startpipeline\n" + all + "\\endpipeline\n";
    }

    private static String withValues(String statement) {
        String text = statement;
        String[] values = {
            "jobs", oneOf("(:prefix)::text || (:client_id)::text"),
            "slot_keys", oneOf("'slot-' || (:k)::text"),
            "slot_ats", oneOf("clock_timestamp()"),
            "owners", oneOf("'bench'"),
            "run_ids", oneOf("'run-' || (:r)::text"),
            "ttls", oneOf("600000"),
            "resources", oneOf("(:prefix)::text || (:client_id)::text"),
            "fences", oneOf("(:k)::bigint"),
            "outcomes", oneOf("'SUCCEEDED'"),
            "closes", oneOf("true"),
            "counted", oneOf("true"),
            "exit_codes", oneOf("0"),
            "signals", oneOf("'null'"),
            "reasons", oneOf("'null'"),
            "results", oneOf("'null'"),
            "output_tails", oneOf("'null'"),
            "classifications", oneOf("'null'")
        };
        for (int i = 0; i < values.length; i += 2) {
            text = text.replaceAll("(?<!:):" + values[i] + "\\b", Matcher.quoteReplacement(values[i + 1]));
        }
        return text + ";\n";
    }

    /** An array as the driver sends it: the server plans for what it does not know. */
    private static String oneOf(String value) {
        return "('{' || " + value + " || '}')";
    }

    /** Beside what the bare driver needs for as many durable commits of one small row. */
    @ParameterizedTest
    @ValueSource(ints = {1, 8, 32})
    void onSqlite(int clients) throws Exception {
        Path file = folder.resolve("store.db");
        try (JdbcStore store = JdbcStore.sqlite(file, new SystemTime(), new SystemThreads(event -> {}));
                BareCommit bare = BareCommit.sqlite(folder.resolve("bare.db"))) {
            store.prepare();
            slices.compare(
                    "tick, " + clients + (clients == 1 ? " client" : " clients"),
                    List.of(
                            new Contestant(
                                    "Fencepost", () -> slices.perSecond(clients, i -> ticks(store, "tick-" + i))),
                            new Contestant(
                                            "bare driver, three commits of one row, one client",
                                            () -> slices.perSecond(1, i -> () -> {
                                                for (int k = 0; k < 3; k++) {
                                                    bare.run();
                                                }
                                                return 1;
                                            }))
                                    .with(clients == 8 ? Goal.TICK_TO_BARE_SQLITE : null)));
        }
    }
}
