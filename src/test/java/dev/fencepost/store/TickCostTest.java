package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.faults.Proxy;
import dev.fencepost.faults.Wait;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Renewal;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.run.Ticks.Situation;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Plan.NewTick;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What a tick costs PostgreSQL, in counts that are the same on every machine: a guard against slowness. How often the program waits for
 * it and how many statements it carries out shows only on the wire, since the driver may send in several parts what was given to it as
 * one.
 */
class TickCostTest {

    private static final Owner OWNER = new Owner("anna");
    private static final Duration TTL = Duration.ofMinutes(10);
    private static final Completion SUCCESS = new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null);

    /** After some executions the driver names its statements and sends them in another way, and the server keeps their plans. */
    private static final int WARM_UP = 20;

    private static final int TICKS = 50;
    private static final int JOBS = 2_000;

    private Postgres.Database database;
    private Proxy proxy;

    @BeforeEach
    void open() {
        database = Postgres.newDatabase();
        proxy = new Proxy(database.port());
    }

    @AfterEach
    void close() {
        proxy.close();
        database.drop();
    }

    private static Job job(String id) {
        return StoreContract.job(id, new Every(Duration.ofMinutes(1)), CatchUp.DEFAULT, null, 2);
    }

    private static Situation situation(JdbcStore store, Job job) {
        return Objects.requireNonNull(store.situation(job.id()));
    }

    private static Plan opening(Slot slot) {
        return new Plan(
                slot.at(), null, null, null, List.of(), List.of(new NewTick(slot, true)), List.of(), 0, List.of(slot));
    }

    private static Lease start(JdbcStore store, Job job, Slot slot) {
        return assertInstanceOf(Start.Started.class, store.start(job, slot, OWNER, StoreContract.newRun(), false))
                .lease();
    }

    /** One tick as a node makes it. */
    private static void tick(JdbcStore store, Job job) {
        Situation seen = situation(store, job);
        Slot slot = Slot.at(seen.backlog().cursor().plusSeconds(60));
        assertNotNull(store.apply(job, seen.backlog(), opening(slot)));
        Lease lease = start(store, job, slot);
        assertInstanceOf(Renewal.Renewed.class, store.renew(lease, TTL));
        assertInstanceOf(Completed.Stored.class, store.complete(lease, SUCCESS));
    }

    @Test
    void eachStepWaitsForTheDatabaseOnce() {
        Map<String, Integer> trips = new TreeMap<>();
        Map<String, Integer> statements = new TreeMap<>();
        try (JdbcStore store = database.store(proxy.port(), event -> {})) {
            store.prepare();
            Job job = job("job");
            store.register(List.of(job));
            for (int i = 0; i < WARM_UP; i++) {
                trips.clear();
                statements.clear();
                Counter counter = new Counter(trips, statements);
                Situation seen = counter.count("situation", () -> situation(store, job));
                Slot slot = Slot.at(seen.backlog().cursor().plusSeconds(60));
                counter.count("plan", () -> store.apply(job, seen.backlog(), opening(slot)));
                Lease lease = counter.count("start", () -> start(store, job, slot));
                counter.count("renew", () -> assertInstanceOf(Renewal.Renewed.class, store.renew(lease, TTL)));
                counter.count(
                        "complete", () -> assertInstanceOf(Completed.Stored.class, store.complete(lease, SUCCESS)));
                Lease other = counter.count(
                        "claim",
                        () -> assertInstanceOf(
                                        Claim.Granted.class, store.claim("other", OWNER, StoreContract.newRun(), TTL))
                                .lease());
                counter.count("release", () -> store.release(other));
            }
        }
        assertEquals(
                Map.of("situation", 1, "plan", 1, "start", 1, "renew", 1, "complete", 1, "claim", 1, "release", 1),
                trips);
        assertEquals(
                Map.of("situation", 2, "plan", 1, "start", 1, "renew", 1, "complete", 1, "claim", 1, "release", 1),
                statements);
    }

    private final class Counter {
        private final Map<String, Integer> trips;
        private final Map<String, Integer> statements;

        Counter(Map<String, Integer> trips, Map<String, Integer> statements) {
            this.trips = trips;
            this.statements = statements;
        }

        <T> T count(String what, Supplier<T> step) {
            int tripsBefore = proxy.roundTrips();
            int statementsBefore = proxy.statements();
            T answer = step.get();
            trips.merge(what, proxy.roundTrips() - tripsBefore, Integer::sum);
            statements.merge(what, proxy.statements() - statementsBefore, Integer::sum);
            return answer;
        }
    }

    /** A transaction that writes nothing has no number and needs no disk. */
    @Test
    void aTickIsFourDurableTransactionsAndTheIdleSecondNone() {
        try (JdbcStore store = database.store(event -> {})) {
            store.prepare();
            Job job = job("job");
            store.register(List.of(job));
            tick(store, job);
            assertEquals(4 * TICKS, fewest(() -> tick(store, job)));
            assertEquals(0, fewest(() -> {
                store.signal();
                store.restless();
                situation(store, job);
            }));
        }
    }

    /** Of three times: the numbers are those of the whole server, which now and then cleans up by itself. */
    private long fewest(Runnable step) {
        return IntStream.range(0, 3)
                .mapToLong(time -> {
                    long before = transactions();
                    for (int i = 0; i < TICKS; i++) {
                        step.run();
                    }
                    return transactions() - before - 1;
                })
                .min()
                .orElseThrow();
    }

    /** The number of this very question, which is one by itself. */
    private long transactions() {
        return Long.parseLong(database.value("select pg_current_xact_id()"));
    }

    @Test
    void theRowsThatATickReadsDoNotGrowWithJobsAndHistory() {
        List<Job> jobs = IntStream.range(0, JOBS).mapToObj(i -> job("job-" + i)).toList();
        try (JdbcStore store = database.store(event -> {})) {
            store.prepare();
            store.register(jobs);
        }
        database.sql("update lease set fence = 1", """
                insert into tick (job, slot_key, slot_at, on_time, opened_at, attempts, outcome, ended_at)
                select 'job-' || n % 2000, 'old-' || n, now() - n * interval '1 minute', true, now(), 1, 'SUCCEEDED', now()
                from generate_series(1, 50000) n""", """
                insert into attempt (run_id, job, slot_key, number, fence, owner, started_at, ended_at, outcome)
                select gen_random_uuid(), job, slot_key, 1, 1, 'x', slot_at, now(), 'SUCCEEDED' from tick
                where slot_key like 'old-%'""", "vacuum analyze");
        long before = rowsRead();
        try (JdbcStore store = database.store(event -> {})) {
            for (int i = 0; i < TICKS; i++) {
                tick(store, jobs.get(i));
            }
        }
        long each = (rowsRead() - before) / TICKS;
        assertTrue(each > 0, "rows are counted");
        assertTrue(
                each <= 40,
                () -> each + " rows of tables and indexes are read for a tick; in all: "
                        + database.rows(
                                "select relname, seq_scan, seq_tup_read, idx_scan, idx_tup_fetch from pg_stat_user_tables"
                                        + " where seq_tup_read + coalesce(idx_tup_fetch, 0) > 0"));
    }

    /** By all who have ended their connections, which tell it then. */
    private long rowsRead() {
        Wait.until(
                Duration.ofSeconds(20),
                "the connections end",
                () -> database.value("select count(*) from pg_stat_activity"
                                + " where datname = current_database() and pid <> pg_backend_pid()")
                        .equals("0"));
        return Long.parseLong(database.value("""
                select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) from pg_stat_user_tables"""));
    }
}
