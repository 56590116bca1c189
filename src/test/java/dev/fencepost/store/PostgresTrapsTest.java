package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.Store;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.host.Event;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView.State;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What only a real PostgreSQL with its own clock can show: what a statement does that waited for a lock, durability whatever the
 * server's default, time limits, and tokens across a promotion.
 */
class PostgresTrapsTest {

    private static final Owner ANNA = new Owner("anna");
    private static final Owner BEN = new Owner("ben");
    private static final Duration LONG = Duration.ofMinutes(10);
    private static final Completion SUCCESS = new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null);
    private static final Completion FAILURE = new Completion(Outcome.FAILED, true, true, 1, null, "no", null, null);

    private static Postgres.Database database;
    private static JdbcStore store;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    @BeforeAll
    static void open() {
        database = Postgres.newDatabase();
        database.sql("alter database " + database.name() + " set synchronous_commit = off");
        store = database.store(event -> {});
        store.prepare();
    }

    @AfterAll
    static void close() {
        store.close();
        database.drop();
    }

    @AfterEach
    void end() {
        threads.shutdownNow();
        threads.close();
    }

    private static Lease granted(String resource, Duration ttl) {
        return assertInstanceOf(Claim.Granted.class, store.claim(resource, ANNA, StoreContract.newRun(), ttl))
                .lease();
    }

    private static Job job(Duration ttl) {
        Job like =
                StoreContract.job(StoreContract.newName(), new Every(Duration.ofMinutes(1)), CatchUp.DEFAULT, null, 2);
        return new Job(
                like.id(),
                like.schedule(),
                like.zone(),
                like.action(),
                like.secrets(),
                ttl,
                null,
                like.grace(),
                like.catchUp(),
                null,
                2,
                null,
                List.of());
    }

    private static Lease running(Job job) {
        return assertInstanceOf(
                        Start.Started.class,
                        store.start(job, Slot.at(store.now()), ANNA, StoreContract.newRun(), false))
                .lease();
    }

    /** The row of a lease, locked by somebody who may change it or not. */
    private static final class RowLock implements AutoCloseable {
        private final Connection connection;

        RowLock(String resource) {
            this("select 1 from lease where resource = '" + resource + "' for update", true);
        }

        RowLock(String sql, boolean hasRows) {
            try {
                connection = database.connect();
                connection.setAutoCommit(false);
                run(sql);
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        }

        void run(String sql) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        }

        @Override
        public void close() {
            try (connection) {
                connection.commit();
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static int waiting() {
        return Integer.parseInt(
                database.value(
                        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"));
    }

    /** Until so many statements wait for a lock. */
    private static void awaitWaiting(int count) {
        await(() -> waiting() == count, "statements that wait for a lock: " + count);
    }

    /** Until each of these calls waits for a lock. */
    private static void awaitWaiting(Future<?>... calls) {
        await(
                () -> {
                    for (Future<?> call : calls) {
                        assertFalse(call.isDone(), "it did not wait");
                    }
                    return waiting() == calls.length;
                },
                "statements that wait for a lock: " + calls.length);
    }

    private static void awaitClock(Instant instant) {
        await(() -> !store.now().isBefore(instant), "the database's clock");
    }

    private static void await(Callable<Boolean> condition, String what) {
        long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        try {
            while (!condition.call()) {
                assertTrue(System.nanoTime() < giveUp, what);
                Thread.sleep(2); // polls another process, which cannot call us
            }
        } catch (Exception e) {
            throw new IllegalStateException(what, e);
        }
    }

    private static <T> T answer(Future<T> future) throws Exception {
        return future.get(20, TimeUnit.SECONDS);
    }

    private static StoreException failure(Future<?> future) {
        ExecutionException failed = assertThrows(ExecutionException.class, () -> future.get(20, TimeUnit.SECONDS));
        return assertInstanceOf(StoreException.class, failed.getCause());
    }

    /** Semantics 2.8 (a): a statement that waited for the row finds it unchanged, and must still look at the clock again. */
    @Nested
    class AfterAWaitForTheRow {

        private static final Duration SHORT = Duration.ofMillis(400);

        @Test
        void aRenewalThatWaitedPastTheEndIsRefused() throws Exception {
            Lease lease = granted(StoreContract.newName(), SHORT);
            Future<Renewal> renewal;
            try (RowLock lock = new RowLock(lease.resource())) {
                renewal = threads.submit(() -> store.renew(lease, LONG));
                awaitWaiting(1);
                assertTrue(store.now().isBefore(lease.expiresAt()), "the test was too slow to show anything");
                awaitClock(lease.expiresAt());
            }
            assertEquals(new Renewal.Lost(Refusal.EXPIRED), answer(renewal));
            assertEquals(lease.expiresAt(), store.inspect(lease.resource()).expiresAt());
        }

        @Test
        void aCompletionThatWaitedPastTheEndIsRefused() throws Exception {
            Job job = job(SHORT);
            Lease lease = running(job);
            Future<Completed> completion;
            try (RowLock lock = new RowLock(job.id())) {
                completion = threads.submit(() -> store.complete(lease, SUCCESS));
                awaitWaiting(1);
                assertTrue(store.now().isBefore(lease.expiresAt()), "the test was too slow to show anything");
                awaitClock(lease.expiresAt());
            }
            assertEquals(new Completed.Refused(Refusal.EXPIRED), answer(completion));
            assertNull(store.attempt(job.id(), lease.runId()).outcome());
        }

        @Test
        void aRenewalThatWaitedForATakeOverIsRefused() throws Exception {
            Lease lease = granted(StoreContract.newName(), LONG);
            Future<Renewal> renewal;
            try (RowLock lock = new RowLock(lease.resource())) {
                renewal = threads.submit(() -> store.renew(lease, LONG));
                awaitWaiting(1);
                lock.run("update lease set fence = fence + 1, owner = 'ben', run_id = '" + StoreContract.newRun()
                        + "' where resource = '" + lease.resource() + "'");
            }
            assertEquals(new Renewal.Lost(Refusal.STALE_TOKEN), answer(renewal));
        }

        @Test
        void aRenewalThatWaitedForAnotherRenewalGoesThrough() throws Exception {
            Lease lease = granted(StoreContract.newName(), SHORT);
            Future<Renewal> renewal;
            try (RowLock lock = new RowLock(lease.resource())) {
                renewal = threads.submit(() -> store.renew(lease, LONG));
                awaitWaiting(1);
                lock.run("update lease set expires_at = clock_timestamp() + interval '1 hour' where resource = '"
                        + lease.resource() + "'");
                awaitClock(lease.expiresAt());
            }
            assertInstanceOf(Renewal.Renewed.class, answer(renewal));
        }

        /** Semantics 2.8 (b). */
        @Test
        void theEndOfAGrantCountsFromAfterTheWait() throws Exception {
            Lease old = granted(StoreContract.newName(), LONG);
            store.release(old);
            Job job = job(SHORT);
            running(job);
            database.sql("update lease set expires_at = clock_timestamp() where resource = '" + job.id() + "'");
            Future<Claim> claim;
            Future<Start> start;
            Instant free;
            try (RowLock lock = new RowLock(old.resource());
                    RowLock jobLock = new RowLock(job.id())) {
                claim = threads.submit(() -> store.claim(old.resource(), BEN, StoreContract.newRun(), SHORT));
                start = threads.submit(
                        () -> store.start(job, Slot.at(store.now()), BEN, StoreContract.newRun(), false));
                awaitWaiting(2);
                awaitClock(store.now().plus(SHORT));
                free = store.now();
            }
            Lease lease = assertInstanceOf(Claim.Granted.class, answer(claim)).lease();
            assertFalse(lease.expiresAt().isBefore(free.plus(SHORT)), "granted at " + lease + ", free at " + free);
            assertFalse(lease.grantedAt().isBefore(free), "granted at " + lease + ", free at " + free);
            Lease started = assertInstanceOf(Start.Started.class, answer(start)).lease();
            assertFalse(started.expiresAt().isBefore(free.plus(SHORT)), "granted at " + started + ", free at " + free);
        }

        /** Whoever wants to make the row that another is just making. */
        @Test
        void ofTwoFirstClaimsTheSecondWaitsAndIsRefused() throws Exception {
            String resource = StoreContract.newName();
            Future<Claim> claim;
            try (RowLock lock = new RowLock(
                    "insert into lease (resource, fence, owner, run_id, granted_at, expires_at) values ('" + resource
                            + "', 1, 'anna', '" + StoreContract.newRun()
                            + "', clock_timestamp(), clock_timestamp() + interval '1 hour')",
                    false)) {
                claim = threads.submit(() -> store.claim(resource, BEN, StoreContract.newRun(), SHORT));
                awaitWaiting(1);
            }
            assertEquals(
                    ANNA, assertInstanceOf(Claim.Held.class, answer(claim)).by().owner());
        }

        @Test
        void aClaimThatWaitedForARenewalIsRefused() throws Exception {
            Lease lease = granted(StoreContract.newName(), Duration.ofMillis(1));
            Future<Claim> claim;
            try (RowLock lock = new RowLock(lease.resource())) {
                claim = threads.submit(() -> store.claim(lease.resource(), BEN, StoreContract.newRun(), LONG));
                awaitWaiting(1);
                lock.run("update lease set expires_at = clock_timestamp() + interval '1 hour' where resource = '"
                        + lease.resource() + "'");
            }
            assertInstanceOf(Claim.Held.class, answer(claim));
        }

        /** Semantics 3.13: the outcome of a write under way is not read before the write has ended. */
        @Test
        void theReadBackOfAnAttemptWaitsForTheOneWhoWritesIt() throws Exception {
            Job job = job(LONG);
            Lease lease = running(job);
            Future<Attempt> readBack;
            try (RowLock lock = new RowLock(job.id())) {
                lock.run("update attempt set outcome = 'SUCCEEDED', ended_at = clock_timestamp() where run_id = '"
                        + lease.runId() + "'");
                readBack = threads.submit(() -> store.attempt(job.id(), lease.runId()));
                awaitWaiting(readBack);
            }
            assertEquals(Outcome.SUCCEEDED, answer(readBack).outcome());
        }
    }

    /** Two nodes that know a job at the same moment: the second must not pull the cursor of the first. */
    @Test
    void aJobThatAnotherNodeRegistersAtTheSameTimeKeepsItsCursor() throws Exception {
        Job job = job(LONG);
        Future<?> registration;
        try (RowLock lock = new RowLock(
                "insert into job (id, schedule_text, since, cursor_at) values ('" + job.id() + "', '"
                        + job.schedule().text() + "', clock_timestamp(), timestamptz '2026-01-01T00:00:00Z')",
                false)) {
            registration = threads.submit(() -> store.register(List.of(job)));
            awaitWaiting(1);
        }
        answer(registration);
        assertEquals(
                Instant.parse("2026-01-01T00:00:00Z"),
                store.situation(job.id()).backlog().cursor());
    }

    /** Two persons raise the tokens: the second finds what the first did, and takes nothing back. */
    @Test
    void tokensThatAnotherOneRaisesAtTheSameTimeDoNotFall() throws Exception {
        Lease lease = granted(StoreContract.newName(), LONG);
        long known = store.tokens().known().highest();
        long high = known + 10_000;
        Future<?> raising;
        try (RowLock lock = new RowLock("update store_floor set fence = " + high, false)) {
            lock.run("update lease set fence = " + high);
            raising = threads.submit(() -> store.tokens().raise(known + 1_000, "put back", "me"));
            awaitWaiting(raising);
        }
        try {
            ExecutionException refused = assertThrows(ExecutionException.class, () -> answer(raising));
            assertInstanceOf(IllegalArgumentException.class, refused.getCause());
            assertEquals(String.valueOf(high), database.value("select fence from store_floor"));
            assertEquals(
                    String.valueOf(high),
                    database.value("select fence from lease where resource = '" + lease.resource() + "'"));
        } finally {
            database.sql("update store_floor set fence = 0"); // for the tests after this one
        }
    }

    /** A slot that somebody is just opening again: clean-up waits for it, and looks at it again. */
    @Test
    void aSlotThatIsOpenedAgainWhileItIsCleanedUpStays() throws Exception {
        Job job = job(LONG);
        store.register(List.of(job));
        for (int i = 3; i > 0; i--) {
            Slot slot = Slot.at(store.now().minusSeconds(60L * i));
            Start.Started started =
                    assertInstanceOf(Start.Started.class, store.start(job, slot, ANNA, StoreContract.newRun(), false));
            store.complete(started.lease(), FAILURE);
        }
        String oldest = " where job = '" + job.id() + "' and slot_at = (select min(slot_at) from tick where job = '"
                + job.id() + "')";
        Future<Integer> gone;
        try (RowLock lock = new RowLock("update tick set outcome = null, ended_at = null" + oldest, false)) {
            gone = threads.submit(() -> store.pruneTicks(job.id(), store.now(), 1, 100));
            awaitWaiting(gone);
        }
        assertEquals(1, answer(gone));
        assertEquals("1", database.value("select count(*) from tick" + oldest + " and outcome is null"));
    }

    /** S1, by the database's own clock: the end is planted a few milliseconds ahead, and both come as it passes. */
    @Test
    void aCompletionAtTheEndOfItsLeaseAndATakeOverAreNeverBothAccepted() throws Exception {
        int stored = 0;
        int taken = 0;
        for (int round = 0; round < 100; round++) {
            Job job = job(LONG);
            Slot slot = Slot.at(store.now());
            RunId run = StoreContract.newRun();
            Lease lease = assertInstanceOf(Start.Started.class, store.start(job, slot, ANNA, run, false))
                    .lease();
            database.sql("update lease set expires_at = clock_timestamp() + interval '" + (round % 8)
                    + " milliseconds' where resource = '" + job.id() + "'");
            List<Object> answers = StoreContract.atOnce(List.of(() -> store.complete(lease, SUCCESS), () -> {
                while (true) {
                    Start start = store.start(job, slot, BEN, StoreContract.newRun(), false);
                    if (!(start instanceof Start.Held)) {
                        return start;
                    }
                }
            }));
            if (answers.get(1) instanceof Start.Started next) {
                taken++;
                assertInstanceOf(Completed.Refused.class, answers.get(0), "round " + round);
                assertEquals(2, next.lease().fence().value());
                assertEquals(new Completed.Stored(), store.complete(next.lease(), SUCCESS));
            } else {
                stored++;
                assertInstanceOf(Start.Closed.class, answers.get(1));
                assertEquals(new Completed.Stored(), answers.get(0), "round " + round);
            }
            assertEquals(
                    "1",
                    database.value(
                            "select count(*) from write_event where accepted and resource = '" + job.id() + "'"));
        }
        assertTrue(stored > 0 && taken > 0, "stored " + stored + ", taken over " + taken);
    }

    /** Semantics 2.9: an acknowledged grant must survive a crash, so the server's default does not count. */
    @Test
    void grantsAreCommittedDurablyWhateverTheDefault() {
        assertEquals("off", database.value("show synchronous_commit"));
        database.sql(
                "create table commits (setting text, op text)",
                """
                create function note_commit() returns trigger language plpgsql as $$ begin
                    insert into commits values (current_setting('synchronous_commit'), tg_table_name); return new; end $$""",
                "create trigger note_commit after update on lease for each row execute function note_commit()",
                "create trigger note_commit after update on attempt for each row execute function note_commit()");
        try {
            Job job = job(LONG);
            Lease lease = running(job);
            store.renew(lease, LONG);
            store.complete(lease, SUCCESS);
        } finally {
            database.sql("drop function note_commit cascade");
        }
        assertEquals(
                List.of(List.of("on")),
                database.rows("select distinct setting from commits"),
                "in writing transactions");
        assertEquals("4", database.value("select count(*) from commits")); // grant, renewal, end, release
    }

    /** L10: whoever holds a lock for long costs a bounded wait, and renewals wait less than a claim. */
    @Nested
    class Limits {

        @Test
        void aRowThatStaysLockedMakesTheStoreUnavailableWithinBounds() {
            Lease lease = granted(StoreContract.newName(), LONG);
            try (RowLock lock = new RowLock(lease.resource())) {
                long began = System.nanoTime();
                Future<?> claim =
                        threads.submit(() -> store.claim(lease.resource(), BEN, StoreContract.newRun(), LONG));
                Future<?> renewal = threads.submit(() -> store.renew(lease, LONG));
                assertEquals(Kind.UNAVAILABLE, failure(renewal).kind());
                assertBelow(Duration.ofMillis(2_000), began);
                assertEquals(Kind.UNAVAILABLE, failure(claim).kind());
                assertBelow(Duration.ofMillis(5_000), began);
            }
            assertInstanceOf(Renewal.Renewed.class, store.renew(lease, LONG));
        }

        /** L2, LEA-09: the pool that everything else uses is emptied. */
        @Test
        void aRenewalAndACompletionNeedNoConnectionOfTheOtherPool() throws Exception {
            Job job = job(LONG);
            Lease lease = running(job);
            Lease locked = granted(StoreContract.newName(), LONG);
            List<Future<?>> claims = new ArrayList<>();
            try (RowLock lock = new RowLock(locked.resource())) {
                for (int i = 0; i < 12; i++) {
                    claims.add(threads.submit(() -> store.claim(locked.resource(), BEN, StoreContract.newRun(), LONG)));
                }
                awaitWaiting(8);
                long began = System.nanoTime();
                assertInstanceOf(Renewal.Renewed.class, store.renew(lease, LONG));
                assertEquals(new Completed.Stored(), store.complete(lease, SUCCESS));
                assertBelow(Duration.ofMillis(1_000), began);
                assertEquals(8, waiting());
            }
            for (Future<?> claim : claims) {
                assertInstanceOf(Claim.Held.class, answer(claim));
            }
        }

        @Test
        void aServerThatIsNotThereMakesTheStoreUnavailableWithinBounds() throws IOException {
            int closedPort;
            try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                closedPort = socket.getLocalPort();
            }
            try (JdbcStore nowhere = database.store(closedPort, event -> {})) {
                assertUnavailable(nowhere, Duration.ofSeconds(6));
            }
        }

        /** Connections are taken, and never answered. */
        @Test
        void aServerThatNeverAnswersMakesTheStoreUnavailableWithinBounds() throws IOException {
            try (ServerSocket mute = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                    JdbcStore nowhere = database.store(mute.getLocalPort(), event -> {})) {
                assertUnavailable(nowhere, Duration.ofSeconds(6));
            }
        }

        private void assertUnavailable(Store nowhere, Duration bound) {
            Lease lease = granted(StoreContract.newName(), LONG);
            long began = System.nanoTime();
            Future<?> renewal = threads.submit(() -> nowhere.renew(lease, LONG));
            Future<?> claim = threads.submit(() -> nowhere.claim("x", BEN, StoreContract.newRun(), LONG));
            Future<?> read = threads.submit(() -> nowhere.situation("x"));
            assertEquals(Kind.UNAVAILABLE, failure(renewal).kind());
            assertBelow(Duration.ofMillis(3_000), began);
            assertEquals(Kind.UNAVAILABLE, failure(claim).kind());
            assertEquals(Kind.UNAVAILABLE, failure(read).kind());
            assertBelow(bound, began);
        }

        private static void assertBelow(Duration bound, long began) {
            Duration took = Duration.ofNanos(System.nanoTime() - began);
            assertTrue(took.compareTo(bound) < 0, "took " + took);
        }
    }

    /** What an error of the server means for the caller. */
    @ParameterizedTest
    @CsvSource({
        "40P01, UNAVAILABLE", // deadlock
        "40001, UNAVAILABLE", // serialization
        "53100, UNAVAILABLE", // disk full
        "57014, UNAVAILABLE", // statement time limit
        "57P01, AMBIGUOUS", // shutdown: COMMIT was sent along
        "25006, UNAVAILABLE", // a standby
        "25P03, UNAVAILABLE", // the transaction stood still for too long, as after a SIGSTOP
        "42501, BROKEN",
        "P0001, BROKEN"
    })
    void anErrorOfTheServerHasItsKind(String state, Kind kind) {
        Job job = job(LONG);
        Lease lease = running(job);
        database.sql(
                "create function planted() returns trigger language plpgsql as"
                        + " $$ begin raise exception 'planted fault' using errcode = '" + state + "'; end $$",
                "create trigger planted before insert on write_event for each row execute function planted()");
        try {
            StoreException failure = assertThrows(StoreException.class, () -> store.complete(lease, SUCCESS));
            assertEquals(kind, failure.kind());
        } finally {
            database.sql("drop function planted cascade");
        }
        assertEquals(new Completed.Stored(), store.complete(lease, SUCCESS), "nothing of it was written");
    }

    /** An error that the server reports at COMMIT is a rollback, and no unknown outcome. */
    @Test
    void aCommitThatTheServerRefusesWroteNothing() {
        Job job = job(LONG);
        Lease lease = running(job);
        database.sql(
                "create function planted() returns trigger language plpgsql as"
                        + " $$ begin raise exception 'planted fault' using errcode = '53100'; end $$",
                "create constraint trigger planted after insert on write_event deferrable initially deferred"
                        + " for each row execute function planted()");
        try {
            StoreException failure = assertThrows(StoreException.class, () -> store.complete(lease, SUCCESS));
            assertEquals(Kind.UNAVAILABLE, failure.kind());
        } finally {
            database.sql("drop function planted cascade");
        }
        assertEquals(new Completed.Stored(), store.complete(lease, SUCCESS));
    }

    /** A backend that dies while the transaction waits: nothing was committed, and where COMMIT was not yet sent, that is known. */
    @ParameterizedTest
    @CsvSource({"true, 0, UNAVAILABLE", "false, 0, UNAVAILABLE", "false, 20000, AMBIGUOUS"})
    void aConnectionThatDiesBeforeTheCommitWroteNothing(boolean somethingFollows, int outputLength, Kind kind)
            throws Exception {
        Job job = job(LONG);
        Lease lease = running(job);
        Completion first = new Completion(
                Outcome.FAILED,
                false,
                true,
                1,
                null,
                "no",
                null,
                "x".repeat(outputLength), // with much of it a completion goes by itself
                List.of(),
                new Completion.Further(null, somethingFollows ? LONG : null, null));
        Future<Completed> completion;
        try (RowLock lock = new RowLock(job.id())) {
            completion = threads.submit(() -> store.complete(lease, first));
            awaitWaiting(1);
            database.value("select pg_terminate_backend(pid) from pg_stat_activity"
                    + " where datname = current_database() and wait_event_type = 'Lock'");
        }
        assertEquals(kind, failure(completion).kind());
        assertEquals(new Completed.Stored(), store.complete(lease, SUCCESS), "on a new connection");
    }

    /** A backend that dies at COMMIT leaves it open what happened. */
    @Test
    void aConnectionThatDiesAtTheCommitLeavesTheOutcomeUnknown() {
        Job job = job(LONG);
        Lease lease = running(job);
        database.sql(
                "create function planted() returns trigger language plpgsql as"
                        + " $$ begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(10); return null; end $$",
                "create constraint trigger planted after insert on write_event deferrable initially deferred"
                        + " for each row execute function planted()");
        try {
            StoreException failure = assertThrows(StoreException.class, () -> store.complete(lease, SUCCESS));
            assertEquals(Kind.AMBIGUOUS, failure.kind());
        } finally {
            database.sql("drop function planted cascade");
        }
        assertNull(store.attempt(job.id(), lease.runId()).outcome(), "read back on a new connection");
        assertEquals(new Completed.Stored(), store.complete(lease, SUCCESS));
    }

    /**
     * Tokens across a promotion (semantics 2.9). The database's search path puts a function before the built-in one that tells the
     * current WAL file, and so the timeline.
     */
    @Nested
    class Timelines {

        private final Postgres.Database promoted = Postgres.newDatabase();

        private JdbcStore openWithTimeline(String body, Postgres.Recorded journal) {
            promoted.sql(
                    "alter database " + promoted.name() + " set search_path = public, test, pg_catalog",
                    "create schema if not exists test");
            setTimeline(body);
            return promoted.store(journal);
        }

        private void setTimeline(String body) {
            promoted.sql(
                    "create or replace function test.pg_walfile_name(pg_lsn) returns text language plpgsql as $$ begin "
                            + body + "; end $$");
        }

        private static Lease granted(Store store, String resource) {
            Claim.Granted claim =
                    assertInstanceOf(Claim.Granted.class, store.claim(resource, ANNA, StoreContract.newRun(), LONG));
            return claim.lease();
        }

        private static long token(Store store) {
            Lease lease = granted(store, "r");
            store.release(lease);
            return lease.fence().value();
        }

        @Test
        void aNewTimelineBeginsWhereItsPredecessorNeverWas() {
            try (JdbcStore store = openWithTimeline("return '000000010000000000000001'", new Postgres.Recorded())) {
                store.prepare();
                assertEquals(1, token(store));
                assertEquals(2, token(store));
                setTimeline("return '000000020000000000000001'");
                assertEquals(4_294_967_297L, token(store), "the timeline counts at once, without a restart");
                assertEquals(4_294_967_298L, token(store));
                assertEquals(4_294_967_299L, store.breakLease("r", "test").fence());
                setTimeline("return '0000000A0000000000000001'");
                assertEquals(9L * 4_294_967_296L + 1, token(store));
                setTimeline("return '000000010000000000000001'");
                assertEquals(9L * 4_294_967_296L + 2, token(store), "a token never falls");
            }
        }

        @Test
        void aDatabaseThatForbidsTheFunctionCountsOnByOneAndSaysSo() {
            Postgres.Recorded journal = new Postgres.Recorded();
            try (JdbcStore store =
                    openWithTimeline("raise exception 'permission denied' using errcode = '42501'", journal)) {
                store.prepare();
                assertEquals(1, token(store));
                assertEquals(2, token(store));
                assertEquals(2 + 1, store.breakLease("r", "test").fence());
                assertEquals(
                        1,
                        journal.events.stream()
                                .filter(Event.Note.class::isInstance)
                                .count());
            }
        }

        /** A standby cannot tell its timeline yet. A node that was started against it must not forget to ask once it is promoted. */
        @Test
        void aStandbyThatIsPromotedLaterIsAskedAgain() {
            Postgres.Recorded journal = new Postgres.Recorded();
            try (JdbcStore store =
                    openWithTimeline("raise exception 'recovery is in progress' using errcode = '55000'", journal)) {
                StoreException failure = assertThrows(StoreException.class, store::prepare);
                assertEquals(Kind.UNAVAILABLE, failure.kind());
                setTimeline("return '000000020000000000000001'");
                store.prepare();
                assertEquals(4_294_967_297L, token(store));
                assertEquals(List.of(), journal.events);
            }
        }

        @Test
        void theRealServerIsOnItsFirstTimeline() {
            assertEquals(
                    1,
                    granted(PostgresTrapsTest.store, StoreContract.newName())
                            .fence()
                            .value());
            assertEquals("00000001", database.value("select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"));
        }
    }

    @Test
    void theStoreSaysWhereItIs() {
        assertFalse(store.describe().contains("password"));
        store.check();
    }

    @Test
    void aLeaseThatRanOutByItselfIsExpiredAndFree() {
        Lease lease = granted(StoreContract.newName(), Duration.ofMillis(100));
        assertEquals(State.LIVE, store.inspect(lease.resource()).state());
        awaitClock(lease.expiresAt());
        assertEquals(State.EXPIRED, store.inspect(lease.resource()).state());
        assertEquals(new Renewal.Lost(Refusal.EXPIRED), store.renew(lease, LONG));
        assertInstanceOf(Claim.Granted.class, store.claim(lease.resource(), BEN, StoreContract.newRun(), LONG));
    }
}
