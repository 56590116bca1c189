package dev.fencepost.store;

import static dev.fencepost.store.WorkContract.done;
import static dev.fencepost.store.WorkContract.grant;
import static dev.fencepost.store.WorkContract.newItem;
import static dev.fencepost.store.WorkContract.newName;
import static dev.fencepost.store.WorkContract.newRun;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Grant;
import dev.fencepost.work.ItemResult;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue;
import dev.fencepost.work.WorkState;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What only a real PostgreSQL with its own clock can show of items of work: above all, what a statement does that waited for a lock. */
class PostgresWorkTrapsTest {

    private static final Owner ANNA = new Owner("anna");
    private static final Owner BEN = new Owner("ben");
    private static final Duration LONG = Duration.ofMinutes(10);
    private static final Duration SHORT = Duration.ofMillis(400);

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

    private static String enqueued(String queue) {
        return store.enqueue(newItem(newName(), queue)).item().id();
    }

    private static String enqueued() {
        return enqueued(newName());
    }

    private static WorkItem claimed(String id, Duration ttl) {
        return done(store.claimItem(id, ANNA, newRun(), ttl));
    }

    /** A transaction of somebody else's, open until it is closed. */
    private static final class Transaction implements AutoCloseable {
        private final Connection connection;

        Transaction(String... statements) throws SQLException {
            connection = database.connect();
            connection.setAutoCommit(false);
            for (String each : statements) {
                run(each);
            }
        }

        static Transaction locking(String id) throws SQLException {
            return new Transaction("select 1 from work_item where id = '" + id + "' for update");
        }

        void run(String sql) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        }

        @Override
        public void close() throws SQLException {
            try (connection) {
                connection.commit();
            }
        }
    }

    private static int waiting() {
        return Integer.parseInt(database.value("select count(*) from pg_stat_activity"
                + " where datname = current_database() and wait_event_type = 'Lock'"));
    }

    private static void awaitWaiting(int count) {
        await(() -> waiting() == count);
    }

    /** Until each of these calls waits for a lock. */
    private static void awaitWaiting(Future<?>... calls) {
        await(() -> {
            for (Future<?> call : calls) {
                assertFalse(call.isDone(), "it did not wait");
            }
            return waiting() == calls.length;
        });
    }

    private static void awaitClock(Instant instant) {
        await(() -> !store.now().isBefore(instant));
    }

    private static void await(BooleanSupplier condition) {
        long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < giveUp, "waited for 20 s");
            try {
                Thread.sleep(2); // polls another process, which cannot call us
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static <T> T answer(Future<T> future) throws Exception {
        return future.get(20, TimeUnit.SECONDS);
    }

    private static Refusal refused(WorkAnswer answer) {
        return assertInstanceOf(WorkAnswer.Refused.class, answer).reason();
    }

    private static String row(String id) {
        return database.rows("select * from work_item where id = '" + id + "'") + "";
    }

    private static Map<String, Function<Grant, WorkAnswer>> writes() {
        Map<String, Function<Grant, WorkAnswer>> writes = new LinkedHashMap<>();
        writes.put("renew", grant -> store.renew(grant, LONG));
        writes.put("complete", grant -> store.complete(grant, null));
        writes.put(
                "complete together",
                grant -> store.completeAll(List.of(new ItemResult(grant, null))).getFirst());
        writes.put("fail", grant -> store.fail(grant, "no", Duration.ZERO));
        writes.put(
                "artifact",
                grant -> store.addArtifact(
                        grant, new Artifact(grant.id(), grant.fence().value(), "a", null, 1, "aa", Instant.EPOCH)));
        return writes;
    }

    /** Semantics 2.8 (a): a statement that waited for the row finds it unchanged, and must still look at the clock again. */
    @Test
    void whatWaitedForTheRowPastTheEndIsRefused() throws Exception {
        for (Map.Entry<String, Function<Grant, WorkAnswer>> write : writes().entrySet()) {
            WorkItem item = claimed(enqueued(), SHORT);
            String before = row(item.id());
            Future<WorkAnswer> answer;
            try (Transaction lock = Transaction.locking(item.id())) {
                answer = threads.submit(() -> write.getValue().apply(grant(item)));
                awaitWaiting(1);
                assertTrue(store.now().isBefore(item.until()), "the test was too slow to show anything");
                awaitClock(item.until());
            }
            assertEquals(Refusal.EXPIRED, refused(answer(answer)), write.getKey());
            assertEquals(before, row(item.id()), write.getKey());
            assertEquals(List.of(), store.artifacts(item.id()));
        }
    }

    @Test
    void whatWaitedForATakeOverIsRefused() throws Exception {
        for (Map.Entry<String, Function<Grant, WorkAnswer>> write : writes().entrySet()) {
            WorkItem item = claimed(enqueued(), LONG);
            Future<WorkAnswer> answer;
            try (Transaction other = Transaction.locking(item.id())) {
                answer = threads.submit(() -> write.getValue().apply(grant(item)));
                awaitWaiting(1);
                other.run("update work_item set fence = fence + 1, owner = 'ben', run_id = '" + newRun()
                        + "' where id = '" + item.id() + "'");
            }
            assertEquals(Refusal.STALE_TOKEN, refused(answer(answer)), write.getKey());
        }
    }

    @Test
    void aWriteThatWaitedForARenewalGoesThrough() throws Exception {
        for (Map.Entry<String, Function<Grant, WorkAnswer>> write : writes().entrySet()) {
            WorkItem item = claimed(enqueued(), SHORT);
            Future<WorkAnswer> answer;
            try (Transaction other = Transaction.locking(item.id())) {
                answer = threads.submit(() -> write.getValue().apply(grant(item)));
                awaitWaiting(1);
                other.run("update work_item set expires_at = clock_timestamp() + interval '1 hour' where id = '"
                        + item.id() + "'");
                awaitClock(item.until());
            }
            assertInstanceOf(WorkAnswer.Done.class, answer(answer), write.getKey());
        }
    }

    /** What waits for the end of one lease takes none of the others down. */
    @Test
    void ofResultsTogetherThoseThatAreInTimeAreStored() throws Exception {
        WorkItem late = claimed(enqueued(), SHORT);
        WorkItem good = claimed(enqueued(), LONG);
        Future<List<WorkAnswer>> answers;
        try (Transaction lock = Transaction.locking(late.id())) {
            answers = threads.submit(() ->
                    store.completeAll(List.of(new ItemResult(grant(late), null), new ItemResult(grant(good), null))));
            awaitWaiting(1);
            assertTrue(store.now().isBefore(late.until()), "the test was too slow to show anything");
            awaitClock(late.until());
        }
        assertEquals(Refusal.EXPIRED, refused(answer(answers).getFirst()));
        done(answer(answers).getLast());
    }

    /** In whatever order they are given: two calls that wait for each other would be a deadlock. */
    @Test
    void resultsTogetherLockTheirItemsInTheOrderOfTheIds() throws Exception {
        String prefix = newName();
        List<ItemResult> results = Stream.of("-c", "-a", "-b")
                .map(end -> store.enqueue(newItem(prefix + end, "q")).item())
                .map(item -> new ItemResult(grant(claimed(item.id(), LONG)), null))
                .toList();
        Future<List<WorkAnswer>> answers;
        try (Transaction first = Transaction.locking(prefix + "-b")) {
            answers = threads.submit(() -> store.completeAll(results));
            awaitWaiting(1);
            first.run("select 1 from work_item where id = '" + prefix + "-c' for update nowait");
            String free = "select count(*) from (select 1 from work_item where id = '" + prefix
                    + "-a' for update skip locked) free";
            assertEquals("0", database.value(free), "the first of them is locked");
        }
        answer(answers).forEach(WorkContract::done);
    }

    /** A backend that dies at COMMIT leaves it open what happened to all of them; the same call tells. */
    @Test
    void afterAnUnknownOutcomeTheSameResultsFindOut() {
        WorkItem one = claimed(enqueued(), LONG);
        WorkItem two = claimed(enqueued(), LONG);
        List<ItemResult> results = List.of(new ItemResult(grant(two), null), new ItemResult(grant(one), null));
        String before = row(one.id()) + row(two.id());
        database.sql(
                "create function planted() returns trigger language plpgsql as"
                        + " $$ begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(10); return null; end $$",
                "create constraint trigger planted after update on work_item deferrable initially deferred"
                        + " for each row execute function planted()");
        try {
            StoreException failure = assertThrows(StoreException.class, () -> store.completeAll(results));
            assertEquals(Kind.AMBIGUOUS, failure.kind());
        } finally {
            database.sql("drop function planted cascade");
        }
        assertEquals(before, row(one.id()) + row(two.id()));
        store.completeAll(results).forEach(WorkContract::done);
        for (WorkAnswer again : store.completeAll(results)) {
            assertEquals(Refusal.ALREADY_DONE, refused(again));
            assertEquals(1, ((WorkAnswer.Refused) again).item().fence());
        }
    }

    /** Semantics 2.8 (b). */
    @Test
    void theEndOfAGrantCountsFromAfterTheWait() throws Exception {
        String id = enqueued();
        Future<WorkAnswer> claim;
        Instant free;
        try (Transaction lock = Transaction.locking(id)) {
            claim = threads.submit(() -> store.claimItem(id, ANNA, newRun(), LONG));
            awaitWaiting(1);
            awaitClock(store.now().plus(SHORT));
            free = store.now();
        }
        WorkItem item = done(answer(claim));
        assertFalse(item.until().isBefore(free.plus(LONG)), item + ", free at " + free);
    }

    /** A trigger makes the claim slow, so that the lease is over before its row is read again. */
    @Test
    void aGrantThatIsOverWhenItIsAnsweredIsAGrantAllTheSame() {
        String queue = newName();
        String one = enqueued(queue);
        String any = enqueued(queue);
        database.sql(
                "create function slow() returns trigger language plpgsql as"
                        + " $$ begin perform pg_sleep(0.05); return null; end $$",
                "create trigger slow after update on work_item for each row execute function slow()");
        try {
            Duration ttl = Duration.ofMillis(20);
            WorkItem first = done(store.claimItem(one, ANNA, newRun(), ttl));
            WorkItem second = store.claimAny(queue, ANNA, List.of(newRun(), newRun()), ttl).stream()
                    .filter(item -> item.id().equals(any))
                    .findFirst()
                    .orElseThrow();
            for (WorkItem item : List.of(first, second)) {
                assertEquals(WorkState.CLAIMED, item.state());
                assertEquals(ANNA, item.owner());
                assertTrue(item.until().isBefore(store.now()), item + " is over");
                assertEquals(WorkState.READY, store.item(item.id()).state());
            }
        } finally {
            database.sql("drop function slow cascade");
        }
    }

    @Test
    void aClaimThatWaitedForARenewalIsRefused() throws Exception {
        WorkItem item = claimed(enqueued(), Duration.ofMillis(1));
        Future<WorkAnswer> claim;
        try (Transaction other = Transaction.locking(item.id())) {
            claim = threads.submit(() -> store.claimItem(item.id(), BEN, newRun(), LONG));
            awaitWaiting(1);
            other.run("update work_item set expires_at = clock_timestamp() + interval '1 hour' where id = '" + item.id()
                    + "'");
        }
        assertEquals(Refusal.HELD, refused(answer(claim)));
    }

    @Test
    void aClaimOfAnySkipsWhatOthersAreJustChanging() throws Exception {
        String queue = newName();
        WorkItem ranOut = claimed(enqueued(queue), Duration.ofMillis(1));
        String first = enqueued(queue);
        String second = enqueued(queue);
        awaitClock(ranOut.until());
        try (Transaction renewal = new Transaction(
                        "update work_item set expires_at = clock_timestamp() + interval '1 hour' where id = '"
                                + ranOut.id() + "'");
                Transaction lock = Transaction.locking(first)) {
            List<WorkItem> items = store.claimAny(queue, BEN, List.of(newRun(), newRun()), LONG);
            assertEquals(List.of(second), items.stream().map(WorkItem::id).toList());
        }
        assertEquals(WorkState.CLAIMED, store.item(ranOut.id()).state());
        assertEquals(1, store.claimAny(queue, BEN, List.of(newRun()), LONG).size());
    }

    /** The claim's first try was given up by its caller and is still under way. */
    @Test
    void aSecondTryWaitsForTheFirstAndFindsItsGrant() throws Exception {
        for (boolean any : new boolean[] {true, false}) {
            String queue = newName();
            String first = enqueued(queue);
            String second = enqueued(queue);
            RunId run = newRun();
            Future<List<WorkItem>> claim;
            try (Transaction twin = new Transaction("update work_item set state = 'CLAIMED', owner = 'anna', fence = 1,"
                    + " attempts = 1, expires_at = clock_timestamp() + interval '1 hour', run_id = '" + run
                    + "' where id = '" + first + "'")) {
                claim = threads.submit(() -> any
                        ? store.claimAny(queue, ANNA, List.of(run), LONG)
                        : List.of(done(store.claimItem(first, ANNA, run, LONG))));
                awaitWaiting(1);
            }
            assertEquals(
                    List.of(first), answer(claim).stream().map(WorkItem::id).toList());
            assertEquals(1, store.item(first).fence());
            assertEquals(WorkState.READY, store.item(second).state());
        }
    }

    @Test
    void anIdThatIsJustPrunedCountsOn() throws Exception {
        String id = enqueued();
        store.complete(grant(claimed(id, LONG)), null);
        Future<WorkQueue.Enqueued> anew;
        try (Transaction prune = new Transaction(
                "insert into work_fence (id, fence) values ('" + id + "', 41)",
                "delete from work_item where id = '" + id + "'")) {
            anew = threads.submit(() -> store.enqueue(newItem(id, "q")));
            awaitWaiting(1);
        }
        assertTrue(answer(anew).created());
        assertEquals(41, answer(anew).item().fence());
        assertEquals(42, claimed(id, LONG).fence());
    }

    @Test
    void whoClaimsInAQueueWithACapacityWaitsForTheOthersWhoDo() throws Exception {
        String queue = newName();
        List<String> ids = List.of(enqueued(queue), enqueued(queue), enqueued(queue));
        store.setCapacity(queue, 1);
        Future<List<WorkItem>> any;
        Future<WorkAnswer> one;
        try (Transaction other = new Transaction(
                "select 1 from work_queue where queue = '" + queue + "' for update",
                "update work_item set state = 'CLAIMED', owner = 'x', fence = 1, attempts = 1, expires_at ="
                        + " clock_timestamp() + interval '1 hour', run_id = '" + newRun() + "' where id = '"
                        + ids.getFirst() + "'")) {
            any = threads.submit(() -> store.claimAny(queue, ANNA, List.of(newRun()), LONG));
            one = threads.submit(() -> store.claimItem(ids.get(1), ANNA, newRun(), LONG));
            awaitWaiting(any, one);
        }
        assertEquals(List.of(), answer(any));
        assertEquals(Refusal.AT_CAPACITY, refused(answer(one)));
    }

    @Test
    void withoutACapacityNobodyWaits() throws Exception {
        String queue = newName();
        enqueued(queue);
        String second = enqueued(queue);
        store.setCapacity("other", 5);
        try (Transaction other = new Transaction(
                "select 1 from work_queue for update",
                "update work_item set priority = priority where id <> '" + second + "'")) {
            assertEquals(
                    List.of(second),
                    store.claimAny(queue, ANNA, List.of(newRun()), LONG).stream()
                            .map(WorkItem::id)
                            .toList());
            store.complete(grant(store.item(second)), null);
        }
    }

    /** By the database's own clock: the end is planted a few milliseconds ahead, and both come as it passes. */
    @Test
    void aCompletionAtTheEndOfItsLeaseAndATakeOverAreNeverBothAccepted() throws Exception {
        int stored = 0;
        int taken = 0;
        for (int round = 0; round < 100; round++) {
            WorkItem item = claimed(enqueued(), LONG);
            database.sql("update work_item set expires_at = clock_timestamp() + interval '" + (round % 8)
                    + " milliseconds' where id = '" + item.id() + "'");
            boolean any = round % 2 == 0;
            List<Object> answers =
                    StoreContract.atOnce(List.<Callable<Object>>of(() -> store.complete(grant(item), null), () -> {
                        while (true) {
                            if (any) {
                                List<WorkItem> items = store.claimAny(item.queue(), BEN, List.of(newRun()), LONG);
                                if (!items.isEmpty()) {
                                    return new WorkAnswer.Done(items.getFirst());
                                }
                                if (store.item(item.id()).isDone()) {
                                    return new WorkAnswer.Refused(Refusal.ALREADY_DONE, null);
                                }
                            } else {
                                WorkAnswer answer = store.claimItem(item.id(), BEN, newRun(), LONG);
                                if (answer instanceof WorkAnswer.Done || refused(answer) != Refusal.HELD) {
                                    return answer;
                                }
                            }
                        }
                    }));
            if (answers.get(1) instanceof WorkAnswer.Done(WorkItem next)) {
                taken++;
                assertInstanceOf(WorkAnswer.Refused.class, answers.get(0), "round " + round);
                assertEquals(2, next.fence());
                done(store.complete(grant(next), null));
            } else {
                stored++;
                assertEquals(Refusal.ALREADY_DONE, refused((WorkAnswer) answers.get(1)));
                done((WorkAnswer) answers.get(0));
            }
            assertEquals(
                    "1",
                    database.value(
                            "select count(*) from write_event where accepted and resource = 'work:" + item.id() + "'"));
        }
        assertTrue(stored > 0 && taken > 0, "stored " + stored + ", taken over " + taken);
    }

    /** Semantics 2.9. */
    @Test
    void grantsAreCommittedDurablyWhateverTheDefault() {
        database.sql(
                "create table commits (setting text)",
                """
                create function note_commit() returns trigger language plpgsql as $$ begin
                    insert into commits values (current_setting('synchronous_commit')); return new; end $$""",
                "create trigger note_commit after update on work_item for each row execute function note_commit()");
        try {
            String queue = newName();
            WorkItem one = claimed(enqueued(queue), LONG);
            enqueued(queue);
            store.claimAny(queue, ANNA, List.of(newRun()), LONG);
            store.renew(grant(one), LONG);
            store.complete(grant(one), null);
        } finally {
            database.sql("drop function note_commit cascade");
        }
        assertEquals(
                List.of(List.of("on", "4")), database.rows("select setting, count(*) from commits group by setting"));
    }

    @Test
    void aNewTimelineBeginsWhereItsPredecessorNeverWas() {
        Postgres.Database promoted = Postgres.newDatabase();
        promoted.sql(
                "alter database " + promoted.name() + " set search_path = public, test, pg_catalog",
                "create schema test",
                "create function test.pg_walfile_name(pg_lsn) returns text language sql as"
                        + " $$ select '000000010000000000000001' $$");
        try (JdbcStore there = promoted.store(event -> {})) {
            there.prepare();
            for (String id : List.of("a", "b")) {
                there.enqueue(newItem(id, "q"));
            }
            WorkItem a = done(there.claimItem("a", ANNA, newRun(), LONG));
            there.release(grant(a));
            promoted.sql("create or replace function test.pg_walfile_name(pg_lsn) returns text language sql as"
                    + " $$ select '000000020000000000000001' $$");
            List<WorkItem> items = there.claimAny("q", ANNA, List.of(newRun(), newRun()), LONG);
            assertEquals(
                    List.of(4_294_967_297L, 4_294_967_297L),
                    items.stream().map(WorkItem::fence).toList());
            there.release(grant(items.getFirst()));
            assertEquals(
                    4_294_967_298L,
                    done(there.claimItem("a", ANNA, newRun(), LONG)).fence());
        }
    }

    /** A backend that dies at COMMIT leaves it open what happened; the second try with the same run id asks. */
    @Test
    void afterAnUnknownOutcomeTheSameClaimFindsOut() {
        String queue = newName();
        String id = enqueued(queue);
        RunId run = newRun();
        database.sql(
                "create function planted() returns trigger language plpgsql as"
                        + " $$ begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(10); return null; end $$",
                "create constraint trigger planted after update on work_item deferrable initially deferred"
                        + " for each row execute function planted()");
        try {
            StoreException failure =
                    assertThrows(StoreException.class, () -> store.claimAny(queue, ANNA, List.of(run), LONG));
            assertEquals(Kind.AMBIGUOUS, failure.kind());
        } finally {
            database.sql("drop function planted cascade");
        }
        List<WorkItem> items = store.claimAny(queue, ANNA, List.of(run), LONG);
        assertEquals(List.of(id), items.stream().map(WorkItem::id).toList());
        assertEquals(1, items.getFirst().fence());
    }
}
