package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.Store;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.LeaseView.State;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
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
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/**
 * What every store has to hold: sections 2 and 3 of the semantics, boundary by boundary. The store's clock stands still unless a test
 * moves it. Tests share one database, so each takes resources and jobs of its own.
 */
abstract class StoreContract {

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
                + "\n" + site().rows("select * from attempt where job = '" + name + "' order by run_id");
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
                List.of("true"),
                null,
                Map.of(),
                Set.of(),
                null,
                TTL,
                null,
                Duration.ofSeconds(1),
                catchUp,
                startFrom,
                maxAttempts,
                null);
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

    @Nested
    class Claims {

        @Test
        void aFreeResourceIsGrantedWithTheFirstToken() {
            String resource = newName();
            assertNull(view(resource));
            Instant now = store().now();
            RunId run = newRun();

            Claim claim = store().claim(resource, ANNA, run, TTL);

            Lease lease = new Lease(resource, ANNA, new FencingToken(1), run, null, now, now.plus(TTL));
            assertEquals(new Claim.Granted(lease), claim);
            assertEquals(new LeaseView(resource, 1, State.LIVE, ANNA, run, null, now, now.plus(TTL)), view(resource));
        }

        @Test
        void aTtlOutsideItsBoundsIsAnErrorAndChangesNothing() {
            String resource = newName();
            Lease lease = granted(newName(), ANNA);
            String before = everything(lease.resource());
            for (Duration ttl : List.of(
                    Duration.ZERO,
                    Duration.ofMillis(-1),
                    Duration.ofDays(30).plusMillis(1),
                    Duration.ofSeconds(Long.MAX_VALUE))) {
                assertThrows(
                        IllegalArgumentException.class,
                        () -> store().claim(resource, ANNA, newRun(), ttl),
                        () -> "" + ttl);
                assertThrows(IllegalArgumentException.class, () -> store().renew(lease, ttl), () -> "" + ttl);
            }
            assertNull(view(resource));
            assertEquals(before, everything(lease.resource()));
        }

        @Test
        void thirtyDaysAndOneMillisecondAreTtls() {
            Lease longest = granted(newName(), ANNA, Duration.ofDays(30));
            assertEquals(longest.grantedAt().plus(Duration.ofDays(30)), longest.expiresAt());
            Lease shortest = granted(newName(), ANNA, Duration.ofMillis(1));
            assertEquals(shortest.grantedAt().plusMillis(1), shortest.expiresAt());
        }

        @Test
        void aLiveLeaseIsRefusedToEveryoneTheSameOwnerIncluded() {
            String resource = newName();
            Lease lease = granted(resource, ANNA);
            String before = everything(resource);
            assertEquals(new Claim.Held(lease), store().claim(resource, BEN, newRun(), TTL));
            assertEquals(new Claim.Held(lease), store().claim(resource, ANNA, newRun(), TTL));
            assertEquals(new Claim.Held(lease), site().otherNode().claim(resource, BEN, newRun(), TTL));
            assertEquals(before, everything(resource));
        }

        @Test
        void asSecondTryOfTheSameClaimFindsItsGrant() {
            String resource = newName();
            RunId run = newRun();
            Claim first = store().claim(resource, ANNA, run, TTL);
            String before = everything(resource);
            pass(Duration.ofSeconds(1));
            Claim.Granted second = assertInstanceOf(Claim.Granted.class, store().claim(resource, ANNA, run, TTL));
            assertEquals(first, second);
            assertEquals(before, everything(resource));
        }

        @Test
        void theInstantOfTheEndIsReassignableAndTheOneBeforeIsNot() {
            String resource = newName();
            Lease old = granted(resource, ANNA);
            passToTheEndOf(old);
            pass(site().step().negated());
            assertInstanceOf(Claim.Held.class, store().claim(resource, BEN, newRun(), TTL));
            assertEquals(State.LIVE, view(resource).state());

            pass(site().step());

            assertEquals(State.EXPIRED, view(resource).state());
            assertEquals(old, view(resource).lease());
            Lease next = granted(resource, BEN);
            assertEquals(old.fence().value() + 1, next.fence().value());
            assertEquals(store().now().plus(TTL), next.expiresAt());
        }

        @Test
        void theTokenRisesWithEveryGrantWhateverCameBetween() {
            Job job = registeredJob();
            String resource = job.id();
            long last = 0;
            List<Consumer<Lease>> between = List.of(
                    lease -> assertEquals(Optional.empty(), store().release(lease)),
                    StoreContract.this::passToTheEndOf,
                    lease -> assertEquals(
                            lease.fence().value() + 1,
                            store().breakLease(resource, "test").fence()),
                    lease -> {
                        store().release(lease);
                        store().register(List.of()); // the job is removed …
                        registered(job); // … and comes back
                    },
                    lease -> {
                        store().release(lease);
                        store().prepare();
                    });
            for (Consumer<Lease> step : between) {
                Lease lease = granted(resource, ANNA);
                assertTrue(lease.fence().value() > last, lease + " after " + last);
                last = lease.fence().value();
                step.accept(lease);
            }
            assertTrue(granted(resource, BEN).fence().value() > last);
        }

        @Test
        void ofManySimultaneousClaimsExactlyOneIsGranted() throws Exception {
            String resource = newName();
            for (int round = 1; round <= 10; round++) {
                List<Callable<Claim>> claims = new ArrayList<>();
                for (int i = 0; i < 16; i++) {
                    Store node = i % 2 == 0 ? store() : site().otherNode();
                    Owner owner = new Owner("racer " + i);
                    claims.add(() -> node.claim(resource, owner, newRun(), TTL));
                }
                List<Claim> answers = atOnce(claims);
                List<Claim.Granted> won = answers.stream()
                        .filter(Claim.Granted.class::isInstance)
                        .map(Claim.Granted.class::cast)
                        .toList();
                assertEquals(1, won.size(), () -> "granted: " + won);
                Lease lease = won.getFirst().lease();
                assertEquals(round, lease.fence().value());
                assertEquals(
                        15,
                        answers.stream().filter(new Claim.Held(lease)::equals).count());
                assertEquals(Optional.empty(), store().release(lease));
            }
        }

        @Test
        void allResourcesAreListedByName() {
            String first = newName() + "-a";
            String second = first + "b";
            granted(second, ANNA);
            granted(first, ANNA);
            List<String> names =
                    store().list(10_000).stream().map(LeaseView::resource).toList();
            assertEquals(names.stream().sorted().toList(), names);
            assertTrue(names.containsAll(List.of(first, second)));
            assertEquals(1, store().list(1).size());
        }
    }

    @Nested
    class Renewals {

        @Test
        void aRenewalMovesTheEndAndNothingElse() {
            Lease lease = granted(newName(), ANNA);
            List<String> before = site().rows("select resource, fence, owner, run_id, slot_key, granted_at from lease"
                            + " where resource = '" + lease.resource() + "'")
                    .getFirst();
            pass(Duration.ofMinutes(3));

            Lease renewed = renewed(lease, Duration.ofMinutes(20));

            Instant end = store().now().plus(Duration.ofMinutes(20));
            assertEquals(
                    new Lease(lease.resource(), ANNA, lease.fence(), lease.runId(), null, lease.grantedAt(), end),
                    renewed);
            assertEquals(end, view(lease.resource()).expiresAt());
            assertEquals(
                    before,
                    site().rows("select resource, fence, owner, run_id, slot_key, granted_at from lease"
                                    + " where resource = '" + lease.resource() + "'")
                            .getFirst());
            assertEquals(List.of(), events(lease.resource()));
        }

        @Test
        void theHolderNeedsNotRememberTheEndThatTheStoreGaveIt() {
            Lease lease = granted(newName(), ANNA);
            for (int i = 0; i < 5; i++) {
                pass(Duration.ofMinutes(9));
                renewed(lease, TTL); // the lease as it was at the grant
            }
            assertTrue(view(lease.resource()).isLive());
        }

        @Test
        void atItsEndALeaseIsNotRenewedAlthoughNobodyTookIt() {
            Lease lease = granted(newName(), ANNA);
            passToTheEndOf(lease);
            pass(site().step().negated());
            lease = renewed(lease, TTL);
            passToTheEndOf(lease);
            String before = everything(lease.resource());

            assertEquals(Refusal.EXPIRED, lost(lease));
            pass(Duration.ofDays(1));
            assertEquals(Refusal.EXPIRED, lost(lease));

            assertEquals(before, everything(lease.resource()));
        }

        @Test
        void aLeaseTakenByAnotherIsStale() {
            Lease lease = granted(newName(), ANNA);
            passToTheEndOf(lease);
            Lease next = granted(lease.resource(), BEN);
            assertEquals(Refusal.STALE_TOKEN, lost(lease));
            assertEquals(next, view(lease.resource()).lease());
        }

        @Test
        void aReleasedLeaseIsNotRenewed() {
            Lease lease = granted(newName(), ANNA);
            store().release(lease);
            assertEquals(Refusal.NOT_OWNER, lost(lease));
            assertEquals(State.RELEASED, view(lease.resource()).state());
        }

        @Test
        void aResourceThatWasNeverClaimedIsUnknown() {
            Lease lease = granted(newName(), ANNA);
            Lease nowhere = with(lease, newName(), ANNA, 1, lease.runId());
            assertEquals(Refusal.UNKNOWN, lost(nowhere));
            assertEquals(Optional.of(Refusal.UNKNOWN), store().release(nowhere));
            assertNull(view(nowhere.resource()));
        }

        @Test
        void eachPartOfWhatALeaseShowsCounts() {
            Lease lease = granted(newName(), ANNA);
            store().release(lease);
            lease = granted(lease.resource(), ANNA);
            String other = newName();
            granted(other, ANNA);
            String before = everything(lease.resource()) + everything(other);
            forged(lease, other).forEach((what, forged) -> {
                assertInstanceOf(Renewal.Lost.class, store().renew(forged, TTL), what);
                assertTrue(store().release(forged).isPresent(), what);
                assertEquals(List.of(), store().abandon(forged, true), what);
            });
            assertEquals(before, everything(lease.resource()) + everything(other));
            renewed(lease, TTL);
        }
    }

    @Nested
    class Releases {

        @Test
        void aReleaseKeepsTheTokenAndFreesTheResourceAtOnce() {
            Lease lease = granted(newName(), ANNA);
            assertEquals(Optional.empty(), store().release(lease));
            assertEquals(
                    new LeaseView(lease.resource(), 1, State.RELEASED, null, null, null, null, null),
                    view(lease.resource()));
            assertEquals(2, granted(lease.resource(), BEN).fence().value());
        }

        @Test
        void aSecondReleaseSaysThatNothingChanged() {
            Lease lease = granted(newName(), ANNA);
            store().release(lease);
            assertEquals(Optional.of(Refusal.NOT_OWNER), store().release(lease));
        }

        @Test
        void theReleaseOfAnOldHolderLeavesTheNewOneAlone() {
            Lease old = granted(newName(), ANNA);
            passToTheEndOf(old);
            Lease next = granted(old.resource(), BEN);
            assertEquals(Optional.of(Refusal.STALE_TOKEN), store().release(old));
            assertEquals(new Claim.Held(next), store().claim(old.resource(), new Owner("carl"), newRun(), TTL));
        }

        @Test
        void oneWhoseLeaseRanOutMayStillGiveItBack() {
            Lease lease = granted(newName(), ANNA);
            passToTheEndOf(lease);
            assertEquals(Optional.empty(), store().release(lease));
            assertEquals(State.RELEASED, view(lease.resource()).state());
        }

        /** A released row must stay comparable with every later instant: with a null the resource would be dead for ever. */
        @Test
        void theEndOfAReleasedLeaseIsNeverNull() {
            Lease lease = granted(newName(), ANNA);
            store().release(lease);
            String resource = "'" + lease.resource() + "'";
            assertEquals(1, site().count("lease where resource = " + resource + " and expires_at is not null"));
            assertThrows(
                    IllegalStateException.class,
                    () -> site().sql("update lease set expires_at = null where resource = " + resource));
        }
    }

    @Nested
    class Breaks {

        @Test
        void abreakClearsTheOwnerAndRaisesTheToken() {
            Lease lease = granted(newName(), ANNA);
            LeaseView after = store().breakLease(lease.resource(), "operator says so");
            assertEquals(new LeaseView(lease.resource(), 2, State.RELEASED, null, null, null, null, null), after);
            assertEquals(Refusal.STALE_TOKEN, lost(lease));
            assertEquals(3, granted(lease.resource(), BEN).fence().value());
            WriteEvent event = events(lease.resource()).getFirst();
            assertEquals("operator says so", event.reason());
            assertEquals(lease.runId().toString(), event.runId());
            assertEquals(1, event.fence());
        }

        @Test
        void whatWasNeverClaimedCannotBeBroken() {
            String resource = newName();
            assertNull(store().breakLease(resource, "test"));
            assertNull(view(resource));
            assertEquals(List.of(), events(resource));
        }

        @Test
        void aReleasedResourceOnlyGetsAHigherToken() {
            Lease lease = granted(newName(), ANNA);
            store().release(lease);
            assertEquals(2, store().breakLease(lease.resource(), "test").fence());
        }

        @Test
        void theRunUnderItEndsCancelledAndItsLateCompletionIsRefused() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);

            store().breakLease(job.id(), "operator says so");

            Attempt attempt = attempt(lease);
            assertEquals(Outcome.CANCELLED, attempt.outcome());
            assertEquals("operator says so", attempt.reason());
            assertEquals(store().now(), attempt.endedAt());
            assertEquals(Outcome.CANCELLED, outcome(job, slot(0)));
            String before = everything(job.id());
            assertInstanceOf(Completed.Refused.class, store().complete(lease, success()));
            assertFalse(store().endAsLost(lease, "late"));
            assertEquals(before, everything(job.id()));
            assertEquals(new Start.Closed(Refusal.ALREADY_DONE), start(job, slot(0), BEN));
        }
    }
}
