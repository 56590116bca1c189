package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.Store;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Action;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.History.WriteEvent;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.run.Ticks.Situation;
import dev.fencepost.schedule.Backlog.OpenTick;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Plan.NewTick;
import dev.fencepost.schedule.Schedule;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * What the tests of every store have in common. The store's clock stands still unless a test moves it. Tests share one database, so each
 * takes resources and jobs of its own.
 */
abstract class Contract {

    static final Duration TTL = Duration.ofMinutes(10);
    static final Owner ANNA = new Owner("anna");
    static final Owner BEN = new Owner("ben");

    private static final AtomicInteger NAMES = new AtomicInteger();

    abstract Site site();

    final Store store() {
        return site().store();
    }

    static String newName() {
        return "r" + NAMES.incrementAndGet();
    }

    static RunId newRun() {
        return new RunId(UUID.randomUUID());
    }

    final void pass(Duration time) {
        site().pass(time);
    }

    /** Moves the clock to the very instant at which the lease ends. */
    final void passToTheEndOf(Lease lease) {
        pass(Duration.between(store().now(), view(lease.resource()).expiresAt()));
    }

    final LeaseView view(String resource) {
        return store().inspect(resource);
    }

    final Lease granted(String resource, Owner owner) {
        return granted(resource, owner, TTL);
    }

    final Lease granted(String resource, Owner owner, Duration ttl) {
        return assertInstanceOf(Claim.Granted.class, store().claim(resource, owner, newRun(), ttl))
                .lease();
    }

    final Lease renewed(Lease lease, Duration ttl) {
        return assertInstanceOf(Renewal.Renewed.class, store().renew(lease, ttl))
                .lease();
    }

    final Refusal lost(Lease lease) {
        return assertInstanceOf(Renewal.Lost.class, store().renew(lease, TTL)).reason();
    }

    /** All that the store holds of a job or a resource, but for events. */
    final String everything(String name) {
        return site().rows("select * from lease where resource = '" + name + "'")
                + "\n" + site().rows("select * from job where id = '" + name + "'")
                + "\n" + site().rows("select * from tick where job = '" + name + "' order by slot_key")
                + "\n" + site().rows("select * from attempt where job = '" + name + "' order by run_id")
                + "\n" + site().rows("select * from effect where job = '" + name + "' order by id")
                + "\n" + site().rows("select * from sink_fence where resource = '" + name + "' order by pair");
    }

    static Lease with(Lease lease, String resource, Owner owner, long fence, RunId run) {
        return new Lease(
                resource, owner, new FencingToken(fence), run, lease.slotKey(), lease.grantedAt(), lease.expiresAt());
    }

    /** The lease with each part of what it has to show changed in turn. */
    static Map<String, Lease> forged(Lease lease, String otherResource) {
        String resource = lease.resource();
        Owner owner = lease.owner();
        long fence = lease.fence().value();
        return Map.of(
                "resource", with(lease, otherResource, owner, fence, lease.runId()),
                "owner", with(lease, resource, new Owner(owner.text() + "x"), fence, lease.runId()),
                "an older token", with(lease, resource, owner, fence - 1, lease.runId()),
                "a newer token", with(lease, resource, owner, fence + 1, lease.runId()),
                "run id", with(lease, resource, owner, fence, newRun()));
    }

    /** Runs all of them at the same moment, on a virtual thread each, and gives their answers. */
    static <T> List<T> atOnce(List<Callable<T>> calls) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(calls.size());
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<T>> futures = calls.stream()
                    .map(call -> threads.submit(() -> {
                        barrier.await();
                        return call.call();
                    }))
                    .toList();
            List<T> answers = new ArrayList<>();
            for (Future<T> future : futures) {
                answers.add(future.get());
            }
            return answers;
        }
    }

    static Job job(String id) {
        return job(id, new Every(Duration.ofMinutes(1)), CatchUp.DEFAULT, null, 2);
    }

    static Job job(String id, Schedule schedule, CatchUp catchUp, Instant startFrom, int maxAttempts) {
        return new Job(
                id,
                schedule,
                ZoneOffset.UTC,
                new Action.Command(List.of("true"), null, Map.of(), null, null),
                Set.of(),
                TTL,
                null,
                Duration.ofSeconds(1),
                catchUp,
                startFrom,
                maxAttempts,
                null,
                List.of());
    }

    final Job registered(Job job) {
        store().register(List.of(job));
        return job;
    }

    final Job registeredJob() {
        return registered(job(newName()));
    }

    /** The slot so many minutes after the current minute began. */
    final Slot slot(int minutes) {
        return Slot.at(store().now().truncatedTo(ChronoUnit.MINUTES).plusSeconds(60L * minutes));
    }

    final Situation situation(Job job) {
        return assertNotNull(store().situation(job.id()));
    }

    final Instant cursor(Job job) {
        return situation(job).backlog().cursor();
    }

    final void plantCursor(Job job, Instant at) {
        site().sql("update job set cursor_at = " + site().literal(at) + " where id = '" + job.id() + "'");
    }

    static Plan plan(Instant cursor) {
        return new Plan(cursor, null, null, null, List.of(), List.of(), List.of(), 0, List.of());
    }

    static Plan opening(Instant cursor, Slot... slots) {
        return new Plan(
                cursor,
                null,
                null,
                null,
                List.of(),
                Stream.of(slots).map(slot -> new NewTick(slot, true)).toList(),
                List.of(),
                0,
                List.of(slots));
    }

    static Plan closing(Instant cursor, List<OpenTick> ticks) {
        return new Plan(cursor, null, null, null, List.of(), List.of(), ticks, 0, List.of());
    }

    final Plan applied(Job job, Plan plan) {
        Plan written = store().apply(job, situation(job).backlog(), plan);
        assertTrue(written != null, "the cursor was where it had been read");
        return written;
    }

    final Start start(Job job, Slot slot, Owner owner) {
        return store().start(job, slot, owner, newRun(), false);
    }

    final Start.Started started(Job job, Slot slot, Owner owner) {
        return assertInstanceOf(Start.Started.class, start(job, slot, owner));
    }

    final Lease running(Job job, Slot slot, Owner owner) {
        return started(job, slot, owner).lease();
    }

    static Completion success() {
        return new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null);
    }

    static Completion failure(String reason) {
        return new Completion(Outcome.FAILED, true, true, 1, null, reason, null, null);
    }

    /** The end of an attempt after which its slot is tried again. */
    static Completion notTheLast(Outcome outcome) {
        return new Completion(outcome, false, true, 1, null, "again", null, null);
    }

    final void stored(Lease lease, Completion completion) {
        assertEquals(new Completed.Stored(), store().complete(lease, completion));
    }

    final Refusal refused(Lease lease, Completion completion) {
        return assertInstanceOf(Completed.Refused.class, store().complete(lease, completion))
                .reason();
    }

    final Attempt attempt(Lease lease) {
        return assertNotNull(store().attempt(lease.resource(), lease.runId()));
    }

    /** The outcome of a slot's tick; null while it is open. */
    final Outcome outcome(Job job, Slot slot) {
        List<List<String>> rows = site().rows(
                        "select outcome from tick where job = '" + job.id() + "' and slot_key = '" + slot.key() + "'");
        assertEquals(1, rows.size(), "ticks of " + slot);
        String outcome = rows.getFirst().getFirst();
        return outcome == null ? null : Outcome.valueOf(outcome);
    }

    final List<WriteEvent> events(String resource) {
        return store().events(10_000).stream()
                .filter(event -> event.resource().equals(resource))
                .toList();
    }

    static <T> T assertNotNull(T value) {
        assertTrue(value != null, "expected a value");
        return value;
    }
}
