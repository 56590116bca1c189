package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.faults.Proxy;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Attempt;
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
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Many jobs at the same moment. What each of them gets is what it would get alone, and the calls of the database are few. */
class PostgresBatchesTest {

    private static final Owner ANNA = new Owner("anna of \"{a,\\b}\", 'c'");
    private static final Owner BEN = new Owner("ben");
    private static final Completion SUCCESS = new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null);
    private static final int MANY = 60;

    private static Postgres.Database database;
    private static Proxy proxy;
    private static JdbcStore store;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    @BeforeAll
    static void open() {
        database = Postgres.newDatabase();
        proxy = new Proxy(database.port());
        store = database.store(proxy.port(), event -> {});
        store.prepare();
    }

    @AfterAll
    static void close() {
        store.close();
        proxy.close();
        database.drop();
    }

    @AfterEach
    void end() {
        threads.shutdownNow();
        threads.close();
    }

    private static Job job(String id) {
        return StoreContract.job(id, new Every(Duration.ofMinutes(1)), CatchUp.DEFAULT, null, 2);
    }

    /** Registered, and each with a lease that was released before. */
    private static List<Job> jobs(int count) {
        String name = StoreContract.newName();
        List<Job> jobs =
                IntStream.range(0, count).mapToObj(i -> job(name + "-" + i)).toList();
        store.register(jobs);
        for (Job job : jobs) {
            complete(started(start(job, Slot.at(Instant.EPOCH), ANNA)));
        }
        return jobs;
    }

    private static Start.Started started(Start start) {
        return assertInstanceOf(Start.Started.class, start);
    }

    private static void complete(Start.Started started) {
        assertInstanceOf(Completed.Stored.class, store.complete(started.lease(), SUCCESS));
    }

    private static Completed completed(Lease lease, Completion completion) {
        return insistently(() -> store.complete(lease, completion));
    }

    private static Renewal renewed(Lease lease, Duration ttl) {
        return insistently(() -> store.renew(lease, ttl));
    }

    /** As a runner does: what is urgent waits a second at the most, and is tried again. */
    private static <T> T insistently(Supplier<T> call) {
        while (true) {
            try {
                return call.get();
            } catch (StoreException e) {
                assertEquals(StoreException.Kind.UNAVAILABLE, e.kind(), e::getMessage);
            }
        }
    }

    private static List<Lease> claimed(List<Job> jobs, Slot slot) {
        return jobs.stream().map(job -> started(start(job, slot, ANNA)).lease()).toList();
    }

    /** As the store has it. */
    private static Lease lease(Job job) {
        return Objects.requireNonNull(
                Objects.requireNonNull(store.inspect(job.id())).lease());
    }

    private static Lease renewal(Renewal renewal) {
        return assertInstanceOf(Renewal.Renewed.class, renewal).lease();
    }

    private static Situation situation(Job job) {
        return Objects.requireNonNull(store.situation(job.id()));
    }

    private static Plan opening(Slot... slots) {
        List<NewTick> ticks =
                List.of(slots).stream().map(slot -> new NewTick(slot, true)).toList();
        return new Plan(slots[slots.length - 1].at(), null, null, null, List.of(), ticks, List.of(), 0, List.of(slots));
    }

    /** What each answers, where all but the first ones had to wait and so went together. */
    private <T> List<T> atTheSameTime(String table, List<Job> jobs, Function<Job, T> call) throws Exception {
        List<Future<T>> answers;
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("lock table " + table + " in access exclusive mode");
            answers = jobs.stream()
                    .map(job -> threads.submit(() -> call.apply(job)))
                    .toList();
            await(() -> waiting() == 2, "two calls that wait for the table");
            Thread.sleep(300); // the others have nobody to tell that they wait for those two
            connection.commit();
        }
        return answers.stream().map(PostgresBatchesTest::answer).toList();
    }

    private static int waiting() {
        return Integer.parseInt(
                database.value(
                        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"));
    }

    private static void await(Callable<Boolean> condition, String what) throws Exception {
        long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.call()) {
            assertTrue(System.nanoTime() < giveUp, what);
            Thread.sleep(2); // polls another process, which cannot call us
        }
    }

    private static <T> T answer(Future<T> future) {
        try {
            return future.get(20, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void manyTicksTakeAFewCalls() throws Exception {
        List<Job> jobs = jobs(MANY);
        Slot slot = Slot.at(store.now());
        int before = proxy.roundTrips();
        List<Situation> situations = atTheSameTime("job", jobs, PostgresBatchesTest::situation);
        assertTrue(proxy.roundTrips() - before <= MANY / 4, proxy.roundTrips() - before + " calls to read");
        before = proxy.roundTrips();
        List<Plan> plans = atTheSameTime(
                "tick",
                jobs,
                job -> store.apply(job, situations.get(jobs.indexOf(job)).backlog(), opening(slot)));
        assertEquals(
                MANY,
                plans.stream().filter(plan -> plan.due().equals(List.of(slot))).count());
        assertTrue(proxy.roundTrips() - before <= MANY / 4, proxy.roundTrips() - before + " calls to open");
        before = proxy.roundTrips();
        List<Start> starts = atTheSameTime("attempt", jobs, job -> start(job, slot, ANNA));
        assertTrue(proxy.roundTrips() - before <= MANY / 4, proxy.roundTrips() - before + " calls to claim");
        for (int i = 0; i < MANY; i++) {
            Start.Started started = started(starts.get(i));
            assertEquals(jobs.get(i).id(), started.lease().resource());
            assertEquals(slot.key(), started.lease().slotKey());
            assertEquals(2, started.lease().fence().value());
            assertEquals(1, started.attempt());
            LeaseView view = Objects.requireNonNull(store.inspect(jobs.get(i).id()));
            assertEquals(started.lease(), view.lease());
        }
        before = proxy.roundTrips();
        List<Renewal> renewals = atTheSameTime(
                "lease",
                jobs,
                job -> renewed(started(starts.get(jobs.indexOf(job))).lease(), Duration.ofHours(3)));
        assertTrue(proxy.roundTrips() - before <= MANY / 4, proxy.roundTrips() - before + " calls to renew");
        for (int i = 0; i < MANY; i++) {
            assertEquals(renewal(renewals.get(i)), lease(jobs.get(i)));
            assertTrue(lease(jobs.get(i)).expiresAt().isAfter(store.now().plus(Duration.ofHours(2))));
        }
        before = proxy.roundTrips();
        List<Completed> completed = atTheSameTime(
                "attempt",
                jobs,
                job -> completed(started(starts.get(jobs.indexOf(job))).lease(), SUCCESS));
        assertEquals(
                MANY,
                completed.stream().filter(Completed.Stored.class::isInstance).count());
        assertTrue(proxy.roundTrips() - before <= MANY / 4, proxy.roundTrips() - before + " calls to complete");
        assertEquals(
                List.of(List.of("t", String.valueOf(MANY))),
                database.rows("select on_time, count(*) from tick where slot_key = '" + slot.key()
                        + "' and outcome = 'SUCCEEDED' and attempts = 1 and job like '"
                        + jobs.getFirst().id().replaceAll("-0$", "-%") + "' group by 1"));
    }

    @Test
    void theVeryFirstTicksOfManyJobsTakeAFewCallsToo() throws Exception {
        String name = StoreContract.newName();
        List<Job> jobs =
                IntStream.range(0, MANY).mapToObj(i -> job(name + "-" + i)).toList();
        store.register(jobs);
        Slot slot = Slot.at(store.now());
        int before = proxy.roundTrips();
        List<Start> starts = atTheSameTime("attempt", jobs, job -> start(job, slot, ANNA));
        assertTrue(proxy.roundTrips() - before <= MANY / 4, proxy.roundTrips() - before + " calls to claim");
        starts.forEach(each -> assertEquals(1, started(each).lease().fence().value()));
    }

    @Test
    void eachGetsItsOwnAnswerWhateverTheOthersGet() throws Exception {
        List<Job> jobs = jobs(9);
        Slot slot = Slot.at(store.now());
        Start.Started other = started(start(jobs.get(2), slot, BEN));
        Start.Started dead = started(start(jobs.get(3), Slot.at(Instant.EPOCH.plusSeconds(60)), BEN));
        database.sql("update lease set expires_at = clock_timestamp() where resource = " + quoted(jobs.get(3)));
        complete(started(start(jobs.get(4), slot, BEN)));
        database.sql("insert into attempt (run_id, job, slot_key, number, fence, owner, started_at) values ('"
                + StoreContract.newRun() + "', " + quoted(jobs.get(5)) + ", 'before', 1, 1, 'nobody ended it', now())");
        Lease byHand = assertInstanceOf(
                        Claim.Granted.class,
                        store.claim(jobs.get(6).id(), BEN, StoreContract.newRun(), Duration.ofHours(1)))
                .lease();
        database.sql("insert into tick (job, slot_key, slot_at, on_time, opened_at, outcome, ended_at) values ("
                + quoted(jobs.get(7)) + ", '" + slot.key() + "', now(), true, now(), 'SKIPPED_OVERLAP', now())");
        List<Start> starts = atTheSameTime("tick", jobs, job -> start(job, slot, ANNA));
        for (int i : List.of(0, 1, 8)) {
            assertEquals(2, started(starts.get(i)).lease().fence().value());
        }
        assertEquals(other.lease(), held(starts.get(2)));
        assertEquals(
                List.of(dead.lease().runId()),
                started(starts.get(3)).abandoned().stream().map(Attempt::runId).toList());
        assertInstanceOf(Start.Closed.class, starts.get(4));
        assertEquals(1, started(starts.get(5)).abandoned().size());
        assertEquals(byHand, held(starts.get(6)));
        assertInstanceOf(Start.Closed.class, starts.get(7));
    }

    @Test
    void whatFailsForOneFailsForItAlone() throws Exception {
        List<Job> jobs = jobs(6);
        Slot slot = Slot.at(store.now());
        database.sql("insert into attempt (run_id, job, slot_key, number, fence, owner, started_at, ended_at) values ('"
                + StoreContract.newRun() + "', " + quoted(jobs.get(3)) + ", '" + slot.key()
                + "', 1, 1, 'its tick does not know of it', now(), now())");
        List<Object> answers = atTheSameTime("tick", jobs, job -> {
            try {
                return start(job, slot, ANNA);
            } catch (StoreException e) {
                return e.kind();
            }
        });
        assertEquals(StoreException.Kind.BROKEN, answers.get(3));
        assertEquals(5, answers.stream().filter(Start.Started.class::isInstance).count());
    }

    @Test
    void eachCompletionIsJudgedByItself() throws Exception {
        List<Job> jobs = jobs(8);
        Slot slot = Slot.at(store.now());
        List<Lease> leases = claimed(jobs, slot);
        database.sql("update lease set expires_at = clock_timestamp() where resource = " + quoted(jobs.get(2)));
        store.breakLease(jobs.get(3).id(), "by hand");
        database.sql(
                "update attempt set ended_at = clock_timestamp(), outcome = 'LEASE_LOST' where ended_at is null and job = "
                        + quoted(jobs.get(4)));
        database.sql(
                "update tick set outcome = 'CANCELLED', ended_at = clock_timestamp() where outcome is null and job = "
                        + quoted(jobs.get(5)));
        List<Completion> completions = new ArrayList<>(Collections.nCopies(8, SUCCESS));
        byte[] result = {0, '"', '\\', -1};
        completions.set(
                0, new Completion(Outcome.FAILED, false, true, 3, 9, "it's \"so\", {null}", result, "a\\b\n\"c\""));
        completions.set(1, new Completion(Outcome.FAILED, true, false, null, null, "null", null, "x".repeat(20_000)));
        List<Completed> answers = atTheSameTime(
                "attempt", jobs, job -> completed(leases.get(jobs.indexOf(job)), completions.get(jobs.indexOf(job))));
        for (int i : List.of(0, 1, 6, 7)) {
            assertInstanceOf(Completed.Stored.class, answers.get(i));
        }
        assertEquals(
                List.of(Refusal.EXPIRED, Refusal.ALREADY_DONE, Refusal.ALREADY_DONE, Refusal.ALREADY_DONE),
                answers.subList(2, 6).stream()
                        .map(each -> ((Completed.Refused) each).reason())
                        .toList());
        for (int i : List.of(4, 5)) {
            assertEquals(
                    LeaseView.State.LIVE,
                    Objects.requireNonNull(store.inspect(jobs.get(i).id())).state());
        }
        assertEquals(
                List.of(
                        List.of("0", "FAILED", "t", "3", "9", "it's \"so\", {null}", "00225cff", "a\\b\n\"c\"", "-"),
                        List.of("1", "FAILED", "f", "-", "-", "null", "-", "x".repeat(20_000), "FAILED"),
                        List.of("6", "SUCCEEDED", "t", "0", "-", "-", "-", "-", "SUCCEEDED"),
                        List.of("7", "SUCCEEDED", "t", "0", "-", "-", "-", "-", "SUCCEEDED")),
                database.rows("select right(a.job, 1), a.outcome, a.counted, coalesce(a.exit_code::text, '-'),"
                        + " coalesce(a.signal::text, '-'), coalesce(a.reason, '-'), coalesce(encode(a.result, 'hex'), '-'),"
                        + " coalesce(a.output_tail, '-'), coalesce(t.outcome, '-') from attempt a"
                        + " join tick t on t.job = a.job and t.slot_key = a.slot_key"
                        + " join write_event e on e.run_id = a.run_id and e.accepted and e.reason = a.outcome"
                        + " join lease l on l.resource = a.job and l.owner is null"
                        + " where a.fence = 2 and a.job like '"
                        + jobs.getFirst().id().replaceAll("-0$", "-%")
                        + "' order by 1"));
    }

    @Test
    void eachRenewalIsJudgedByItself() throws Exception {
        List<Job> jobs = jobs(7);
        Slot slot = Slot.at(store.now());
        List<Lease> leases = new ArrayList<>(claimed(jobs, slot));
        database.sql("update lease set expires_at = clock_timestamp() where resource = " + quoted(jobs.get(1)));
        store.breakLease(jobs.get(2).id(), "by hand");
        leases.set(
                3,
                like(
                        leases.get(3),
                        BEN,
                        leases.get(3).fence().value(),
                        leases.get(3).runId()));
        leases.set(4, like(leases.get(4), ANNA, 1, leases.get(4).runId()));
        leases.set(5, like(leases.get(5), ANNA, leases.get(5).fence().value(), StoreContract.newRun()));
        List<Renewal> answers = atTheSameTime("lease", jobs, job -> {
            int i = jobs.indexOf(job);
            return renewed(leases.get(i), Duration.ofHours(3 + i));
        });
        for (int i : List.of(0, 6)) {
            Instant end = renewal(answers.get(i)).expiresAt();
            assertEquals(leases.get(i).until(end), renewal(answers.get(i)));
            assertEquals(3 + i, Duration.between(leases.get(i).grantedAt(), end).toHours());
        }
        assertEquals(
                List.of(
                        Refusal.EXPIRED,
                        Refusal.STALE_TOKEN,
                        Refusal.NOT_OWNER,
                        Refusal.STALE_TOKEN,
                        Refusal.NOT_OWNER),
                answers.subList(1, 6).stream()
                        .map(each -> assertInstanceOf(Renewal.Lost.class, each).reason())
                        .toList());
        assertEquals(
                List.of("0", "6"),
                database
                        .rows("select right(resource, 1) from lease where resource like '"
                                + jobs.getFirst().id().replaceAll("-0$", "-%")
                                + "' and expires_at > clock_timestamp() + interval '2 hours' order by 1")
                        .stream()
                        .map(List::getFirst)
                        .toList());
    }

    private static Lease like(Lease lease, Owner owner, long fence, RunId runId) {
        return new Lease(
                lease.resource(),
                owner,
                new FencingToken(fence),
                runId,
                lease.slotKey(),
                lease.grantedAt(),
                lease.expiresAt());
    }

    @Test
    void aLeaseThatIsLockedMakesNobodyElseWaitForItsRenewal() throws Exception {
        List<Job> jobs = jobs(6);
        Slot slot = Slot.at(store.now());
        List<Lease> leases = claimed(jobs, slot);
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("select 1 from lease where resource = " + quoted(jobs.get(4)) + " for update");
            Savepoint before = connection.setSavepoint();
            statement.execute("lock table lease in access exclusive mode");
            List<Integer> others = List.of(0, 1, 2, 3, 5);
            List<Future<Renewal>> renewals = new ArrayList<>();
            for (int alone : List.of(1, 2)) {
                renewals.add(asked(leases.get(others.get(alone - 1))));
                await(() -> waiting() == alone, "two that go alone");
            }
            Future<Renewal> locked = threads.submit(() -> renewed(leases.get(4), Duration.ofHours(5)));
            others.subList(2, others.size()).forEach(i -> renewals.add(asked(leases.get(i))));
            Thread.sleep(100); // they have nobody to tell that they wait, and go together
            connection.rollback(before);
            List<Lease> renewed =
                    renewals.stream().map(each -> renewal(answer(each))).toList();
            connection.commit();
            assertEquals(renewal(answer(locked)), lease(jobs.get(4)));
            for (int i = 0; i < others.size(); i++) {
                assertEquals(renewed.get(i), lease(jobs.get(others.get(i))));
            }
        }
    }

    private Future<Renewal> asked(Lease lease) {
        return threads.submit(() -> store.renew(lease, Duration.ofHours(3)));
    }

    /** What is urgent may take a second and a half. The first one goes alone, and meanwhile the others wait and then go together. */
    @Test
    void whatTakesTooLongTogetherIsDoneOneByOne() throws Exception {
        List<Job> jobs = jobs(5);
        Slot slot = Slot.at(store.now());
        List<Lease> leases = claimed(jobs, slot);
        database.sql(
                "create function slow() returns trigger language plpgsql as $$ begin"
                        + " perform pg_sleep(0.6); return new; end $$",
                "create trigger slow before update on attempt for each row execute function slow()");
        try {
            List<Future<Completed>> answers = leases.stream()
                    .map(lease -> threads.submit(() -> store.complete(lease, SUCCESS)))
                    .toList();
            answers.forEach(each -> assertInstanceOf(Completed.Stored.class, answer(each)));
        } finally {
            database.sql("drop function slow cascade");
        }
    }

    private static Start start(Job job, Slot slot, Owner owner) {
        return store.start(job, slot, owner, StoreContract.newRun(), false);
    }

    private static Lease held(Start start) {
        return assertInstanceOf(Start.Held.class, start).by();
    }

    private static String quoted(Job job) {
        return "'" + job.id() + "'";
    }

    @Test
    void oneJobTwiceIsClaimedOnce() throws Exception {
        List<Job> jobs = jobs(6);
        Job twice = jobs.getLast();
        Slot slot = Slot.at(store.now());
        List<Job> asked = List.of(jobs.get(0), jobs.get(1), twice, jobs.get(2), twice, jobs.get(3), twice);
        List<Start> starts = atTheSameTime("tick", asked, job -> start(job, slot, ANNA));
        assertEquals(5, starts.stream().filter(Start.Started.class::isInstance).count());
        assertEquals(2, starts.stream().filter(Start.Held.class::isInstance).count());
    }

    @Test
    void whatIsLockedByAnotherIsWaitedForAlone() throws Exception {
        List<Job> jobs = jobs(2);
        Slot slot = Slot.at(store.now());
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("select 1 from lease where resource = " + quoted(jobs.get(0)) + " for update");
            Future<Start> first = threads.submit(() -> start(jobs.get(0), slot, ANNA));
            await(() -> waiting() == 1, "a claim that waits for its lease");
            started(start(jobs.get(1), slot, ANNA));
            statement.execute("update lease set owner = 'ben', run_id = '" + StoreContract.newRun()
                    + "', fence = fence + 1, granted_at = clock_timestamp(), expires_at = clock_timestamp() + interval '1 hour'"
                    + " where resource = " + quoted(jobs.get(0)));
            connection.commit();
            assertEquals(
                    BEN, assertInstanceOf(Start.Held.class, answer(first)).by().owner());
        }
    }

    @Test
    void aTickThatIsLockedMakesNobodyElseWait() throws Exception {
        List<Job> jobs = jobs(6);
        Slot slot = Slot.at(store.now());
        jobs.forEach(job -> store.apply(job, situation(job).backlog(), opening(slot)));
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("select 1 from tick where job = " + quoted(jobs.get(4)) + " for update");
            List<Future<Start>> starts = jobs.stream()
                    .map(job -> threads.submit(() -> start(job, slot, ANNA)))
                    .toList();
            for (int i : List.of(0, 1, 2, 3, 5)) {
                started(answer(starts.get(i)));
            }
            connection.commit();
            started(answer(starts.get(4)));
        }
    }

    @Test
    void aCursorThatMovedMeanwhileOpensNothing() throws SQLException {
        List<Job> jobs = jobs(1);
        Situation seen = situation(jobs.getFirst());
        Slot slot = Slot.at(store.now());
        assertNotNull(store.apply(jobs.getFirst(), seen.backlog(), opening(slot)));
        assertNull(store.apply(
                jobs.getFirst(), seen.backlog(), opening(Slot.at(slot.at().plusSeconds(60)))));
        assertEquals(
                "1",
                database.value("select count(*) from tick where outcome is null and job = " + quoted(jobs.getFirst())));
    }

    @Test
    void aPlanOfSeveralTicksIsWrittenWhole() {
        Job job = jobs(1).getFirst();
        Slot first = Slot.at(store.now());
        Slot second = Slot.at(first.at().plusSeconds(60));
        store.apply(job, situation(job).backlog(), opening(first, second));
        assertEquals(2, situation(job).backlog().open().size());
    }

    @Test
    void aTickThatIsThereIsNotInThePlanAsWritten() {
        Job job = jobs(1).getFirst();
        Slot slot = Slot.at(store.now());
        complete(started(start(job, slot, ANNA)));
        Plan written = Objects.requireNonNull(store.apply(job, situation(job).backlog(), opening(slot)));
        assertEquals(List.of(), written.due());
        assertEquals(slot.at(), situation(job).backlog().cursor());
    }

    @Test
    void aTickThatIsNotToBeTriedAgainYetIsNot() {
        Job job = jobs(1).getFirst();
        Slot slot = Slot.at(store.now());
        store.apply(job, situation(job).backlog(), opening(slot));
        database.sql("update tick set not_before = clock_timestamp() + interval '1 hour' where job = " + quoted(job)
                + " and outcome is null");
        assertInstanceOf(Start.Closed.class, start(job, slot, ANNA));
    }
}
