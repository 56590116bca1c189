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
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.History;
import dev.fencepost.run.History.Entry;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.History.Kept;
import dev.fencepost.run.History.WriteEvent;
import dev.fencepost.run.Job;
import dev.fencepost.run.Orders.Answer;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.run.Ticks.Situation;
import dev.fencepost.schedule.Backlog;
import dev.fencepost.schedule.Backlog.OpenTick;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Overlap;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Plan.NewTick;
import dev.fencepost.schedule.Plan.SlotRange;
import dev.fencepost.schedule.Planner;
import dev.fencepost.schedule.Slot;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What every store has to hold: sections 2 and 3 of the semantics, boundary by boundary. Section 5 is in {@link OutboxContract}. */
abstract class StoreContract extends Contract {

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
        void aSecondTryOfTheSameClaimFindsItsGrant() {
            String resource = newName();
            RunId run = newRun();
            Claim first = store().claim(resource, ANNA, run, TTL);
            String before = everything(resource);
            pass(Duration.ofSeconds(1));
            Claim.Granted second = assertInstanceOf(Claim.Granted.class, store().claim(resource, ANNA, run, TTL));
            assertEquals(first, second);
            assertEquals(before, everything(resource));
        }

        /** A run id is no secret: it stands in every event. */
        @Test
        void aClaimUnderTheRunIdOfSomebodyElsesGrantIsRefused() {
            String resource = newName();
            Lease lease = granted(resource, ANNA);
            String before = everything(resource);
            assertEquals(new Claim.Held(lease), store().claim(resource, BEN, lease.runId(), TTL));
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
        void aBreakClearsTheOwnerAndRaisesTheToken() {
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

        @Test
        void whatHadEndedStaysAsItIs() {
            Job job = registeredJob();
            Slot slot = slot(1);
            stored(running(job, slot(0), ANNA), success());
            stored(running(job, slot, ANNA), notTheLast(Outcome.FAILED));
            String of = " where job = '" + job.id() + "' and ";
            List<List<String>> attempts =
                    site().rows("select * from attempt" + of + "ended_at is not null order by number");
            List<List<String>> ticks = site().rows("select * from tick" + of + "outcome is not null");
            running(job, slot, ANNA);
            pass(Duration.ofSeconds(1));
            store().breakLease(job.id(), "test");
            assertEquals(
                    attempts, site().rows("select * from attempt" + of + "outcome <> 'CANCELLED' order by number"));
            assertEquals(ticks, site().rows("select * from tick" + of + "outcome <> 'CANCELLED'"));
            assertEquals(Outcome.CANCELLED, outcome(job, slot));
        }

        /** An order makes the row of a job's lease so that there is something to lock. */
        @Test
        void aRowThatWasNeverGrantedIsNoLease() {
            Job job = registeredJob();
            store().trigger(job.id(), List.of(slot(0)), false, null, "ann");
            assertEquals(1, site().count("lease where resource = '" + job.id() + "'"));
            assertNull(view(job.id()));
            assertNull(store().breakLease(job.id(), "test"));
            assertTrue(store().list(10_000).stream()
                    .noneMatch(lease -> lease.resource().equals(job.id())));
            assertEquals(List.of(), events(job.id()));
            assertEquals(1, running(job, slot(0), ANNA).fence().value());
        }
    }

    @Nested
    class Registrations {

        private static final Every HOURLY = new Every(Duration.ofHours(1));

        @Test
        void aNewJobStartsNow() {
            Job job = newJob(HOURLY, null);
            assertNull(store().situation(job.id()));
            registered(job);
            assertEquals(store().now(), cursor(job));
            Situation situation = situation(job);
            assertNull(situation.lease());
            assertEquals(List.of(), situation.backlog().open());
            assertNull(situation.backlog().held());
        }

        @Test
        void aNewJobWithAStartHasTheSlotAtItsStartBeforeIt() {
            Instant start = slot(-180).at();
            Job job = registered(newJob(new Every(Duration.ofMinutes(1)), start));
            assertTrue(cursor(job).isBefore(start));
            assertEquals(start, job.schedule().next(cursor(job)));
        }

        @Test
        void anUnchangedJobKeepsItsCursor() {
            Job job = registered(newJob(HOURLY, null));
            Instant since = cursor(job);
            pass(Duration.ofHours(5));
            registered(job);
            assertEquals(since, cursor(job));
        }

        @Test
        void anotherScheduleStartsNowWhateverWasMissed() {
            Job job = registered(newJob(HOURLY, null));
            pass(Duration.ofHours(5));
            registered(job(job.id(), new Every(Duration.ofHours(2)), CatchUp.DEFAULT, null, 2));
            assertEquals(store().now(), cursor(job));
        }

        @Test
        void aRemovedJobIsRetiredAndStartsNowWhenItComesBack() {
            Job job = registered(newJob(HOURLY, null));
            Instant since = cursor(job);
            pass(Duration.ofHours(1));
            Job other = registered(newJob(HOURLY, null));
            assertTrue(summary(job).retired());
            assertFalse(summary(other).retired());
            assertEquals(since, cursor(job), "retirement moves nothing");

            pass(Duration.ofHours(1));
            store().register(List.of(job, other));

            assertFalse(summary(job).retired());
            assertEquals(store().now(), cursor(job));
            assertEquals(store().now(), summary(job).registeredSince());
        }

        /** Its slots before the start are not due, and the cursor must not look like one that a clock set back has left ahead. */
        @Test
        void aStartInTheFutureIsKeptWhenTheScheduleChanges() {
            Job before = registered(newJob(HOURLY, null));
            Instant start = slot(60 * 24).at();
            Job job = registered(job(before.id(), new Every(Duration.ofMinutes(30)), CatchUp.DEFAULT, start, 2));
            assertFalse(cursor(job).isBefore(start.minusSeconds(1)), () -> "cursor " + cursor(job));
        }

        private Job newJob(Every schedule, Instant startFrom) {
            return job(newName(), schedule, CatchUp.DEFAULT, startFrom, 2);
        }
    }

    final Map<Outcome, Long> counts(Job job) {
        return store().counts().getOrDefault(job.id(), Map.of());
    }

    final JobSummary summary(Job job) {
        return store().jobs().stream()
                .filter(each -> each.id().equals(job.id()))
                .findFirst()
                .orElseThrow();
    }

    @Nested
    class Situations {

        /** As somebody does who claims the job's lease by hand, after its holder died. */
        @Test
        void anAttemptIsNoRunWhereAnotherGrantHoldsTheLease() {
            Job job = registeredJob();
            Lease dead = running(job, slot(0), ANNA);
            OpenTick running = situation(job).backlog().open().getFirst();
            assertTrue(running.running());
            assertEquals(0, running.spent());
            passToTheEndOf(dead);
            granted(job.id(), BEN);
            OpenTick left = situation(job).backlog().open().getFirst();
            assertFalse(left.running());
            assertEquals(1, left.spent());
        }

        @Test
        void anUnknownJobHasNone() {
            assertNull(store().situation(newName()));
        }

        @Test
        void aLiveLeaseIsHeldAndItsTickRuns() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            pass(Duration.ofMinutes(2));
            Situation situation = situation(job);
            assertEquals(
                    new Backlog.Held(lease.grantedAt(), 1), situation.backlog().held());
            assertEquals(lease, assertNotNull(situation.lease()).lease());
            assertEquals(store().now(), situation.backlog().now());
            assertEquals(
                    List.of(new OpenTick(Slot.at(slot(-2).at()), false, 1, 0, true)),
                    situation.backlog().open());
        }

        @Test
        void anAttemptWhoseLeaseIsOverCountsAndRunsNoMore() {
            Job job = registeredJob();
            Slot slot = slot(0);
            passToTheEndOf(running(job, slot, ANNA));
            Situation situation = situation(job);
            assertNull(situation.backlog().held());
            assertEquals(State.EXPIRED, assertNotNull(situation.lease()).state());
            assertEquals(
                    List.of(new OpenTick(slot, false, 1, 1, false)),
                    situation.backlog().open());
        }

        @Test
        void attemptsAtOtherSlotsDoNotMatter() {
            Job job = registeredJob();
            applied(job, opening(slot(1).at(), slot(0), slot(1)));
            stored(running(job, slot(0), ANNA), notTheLast(Outcome.FAILED));
            running(job, slot(0), ANNA);
            List<OpenTick> open = situation(job).backlog().open();
            assertEquals(
                    List.of(new OpenTick(slot(1), true, 0, 0, false), new OpenTick(slot(0), true, 2, 1, true)), open);
        }

        @Test
        void anAttemptThatDoesNotCountIsNotSpent() {
            Job job = registeredJob();
            Slot slot = slot(0);
            stored(
                    running(job, slot, ANNA),
                    new Completion(Outcome.ABANDONED, false, false, 143, null, "shutdown", null, null));
            assertEquals(
                    List.of(new OpenTick(slot, false, 1, 0, false)),
                    situation(job).backlog().open());
        }
    }

    @Nested
    class Plans {

        @Test
        void aPlanMovesTheCursorAndWritesARowForEachOfItsSlots() {
            Job job = registeredJob();
            Instant base = slot(0).at();
            plantCursor(job, slot(-100).at());
            Plan plan = new Plan(
                    base,
                    null,
                    new SlotRange(50, slot(-99).at(), slot(-50).at()),
                    new SlotRange(40, slot(-49).at(), slot(-10).at()),
                    List.of(slot(-9), slot(-8)),
                    List.of(new NewTick(slot(-1), false), new NewTick(slot(0), true)),
                    List.of(),
                    1,
                    List.of(slot(-1), slot(0)));

            assertEquals(plan, applied(job, plan));

            assertEquals(base, cursor(job));
            assertEquals(
                    List.of(new OpenTick(slot(0), true, 0, 0, false), new OpenTick(slot(-1), false, 0, 0, false)),
                    situation(job).backlog().open());
            assertEquals(Outcome.SKIPPED_OVERLAP, outcome(job, slot(-9)));
            assertEquals(Outcome.SKIPPED_OVERLAP, outcome(job, slot(-8)));
            List<Entry> history = store().history(job.id(), 10);
            assertEquals(6, history.size());
            assertEquals(
                    new History.Range(40, slot(-49).at(), slot(-10).at()),
                    history.get(4).range());
            assertEquals(Outcome.SKIPPED_OVERLAP, history.get(4).tickOutcome());
            assertEquals(
                    new History.Range(50, slot(-99).at(), slot(-50).at()),
                    history.get(5).range());
            assertEquals(Outcome.DROPPED, history.get(5).tickOutcome());
            assertEquals(Map.of(Outcome.DROPPED, 50L, Outcome.SKIPPED_OVERLAP, 42L), counts(job));
        }

        @Test
        void ofTwoPlansFromTheSameCursorOneIsWritten() throws Exception {
            for (int round = 0; round < 10; round++) {
                Job job = registeredJob();
                Backlog seen = situation(job).backlog();
                Plan plan = opening(slot(1).at(), slot(1));
                List<Callable<Optional<Plan>>> calls = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    Store node = i % 2 == 0 ? store() : site().otherNode();
                    calls.add(() -> Optional.ofNullable(node.apply(job, seen, plan)));
                }
                List<Optional<Plan>> answers = atOnce(calls);
                assertEquals(1, answers.stream().filter(Optional::isPresent).count());
                assertEquals(slot(1).at(), cursor(job));
                assertEquals(1, site().count("tick where job = '" + job.id() + "'"));
            }
        }

        @Test
        void aPlanFromAnOlderCursorWritesNothing() {
            Job job = registeredJob();
            Backlog seen = situation(job).backlog();
            applied(job, plan(slot(1).at()));
            String before = everything(job.id());
            Plan late = new Plan(
                    slot(2).at(),
                    null,
                    new SlotRange(1, slot(1).at(), slot(1).at()),
                    null,
                    List.of(slot(0)),
                    List.of(new NewTick(slot(2), true)),
                    List.of(),
                    0,
                    List.of());
            assertNull(store().apply(job, seen, late));
            assertEquals(before, everything(job.id()));
        }

        @Test
        void aSlotThatHasARowAlreadyIsLeftOutOfThePlan() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            stored(lease, success());
            Slot skippedBefore = slot(1);
            applied(job, withSkipped(slot(1).at(), skippedBefore));
            String before = everything(job.id());
            Backlog seen = situation(job).backlog();
            Plan again = new Plan(
                    seen.cursor(),
                    null,
                    null,
                    null,
                    List.of(skippedBefore),
                    List.of(new NewTick(slot(0), true), new NewTick(slot(2), true)),
                    List.of(),
                    0,
                    List.of(slot(0), slot(2)));

            Plan written = assertNotNull(store().apply(job, seen, again));

            assertEquals(List.of(), written.skipped());
            assertEquals(List.of(new NewTick(slot(2), true)), written.opened());
            assertEquals(List.of(slot(2)), written.due());
            assertEquals(Outcome.SUCCEEDED, outcome(job, slot(0)));
            site().sql("delete from tick where job = '" + job.id() + "' and outcome is null");
            assertEquals(before, everything(job.id()));
        }

        @Test
        void aTickIsClosedWithTheResultOfItsLastAttempt() {
            Job job = registeredJob();
            Slot slot = slot(0);
            stored(running(job, slot, ANNA), notTheLast(Outcome.FAILED));
            stored(running(job, slot, ANNA), notTheLast(Outcome.TIMED_OUT));
            assertNull(outcome(job, slot));

            applied(job, closing(cursor(job), situation(job).backlog().open()));

            assertEquals(Outcome.TIMED_OUT, outcome(job, slot));
            Entry entry = store().history(job.id(), 1).getFirst();
            assertEquals("attempts used up", entry.tickReason());
            assertEquals(store().now(), entry.tickEndedAt());
        }

        @Test
        void aTickWithoutAttemptsIsClosedAsDropped() {
            Job job = registeredJob();
            applied(job, opening(slot(0).at(), slot(0)));
            applied(job, closing(cursor(job), situation(job).backlog().open()));
            assertEquals(Outcome.DROPPED, outcome(job, slot(0)));
        }

        @Test
        void aClosedTickKeepsItsOutcome() {
            Job job = registeredJob();
            applied(job, opening(slot(0).at(), slot(0)));
            List<OpenTick> seen = situation(job).backlog().open();
            stored(running(job, slot(0), ANNA), success());
            String before = everything(job.id());
            applied(job, closing(cursor(job), seen));
            assertEquals(before, everything(job.id()));
        }

        @Test
        void aTickThatWasStartedSinceThePlanWasMadeIsNotClosed() {
            Job job = registeredJob();
            applied(job, opening(slot(0).at(), slot(0)));
            List<OpenTick> seen = situation(job).backlog().open();
            Lease lease = running(job, slot(0), ANNA);
            applied(job, closing(cursor(job), seen));
            assertNull(outcome(job, slot(0)));
            stored(lease, success());
        }

        @Test
        void aTickThatWasTriedSinceThePlanWasMadeIsNotClosed() {
            Job job = registeredJob();
            applied(job, opening(slot(0).at(), slot(0)));
            List<OpenTick> seen = situation(job).backlog().open();
            stored(running(job, slot(0), ANNA), notTheLast(Outcome.FAILED));
            applied(job, closing(cursor(job), seen));
            assertNull(outcome(job, slot(0)));
        }

        @Test
        void aTickThatWasCancelledSinceThePlanWasMadeKeepsItsOutcome() {
            Job job = registeredJob();
            applied(job, opening(slot(0).at(), slot(0)));
            List<OpenTick> seen = situation(job).backlog().open();
            assertEquals(Answer.DONE, store().cancel(job.id(), null, "ann"));
            applied(job, closing(cursor(job), seen));
            assertEquals(Outcome.CANCELLED, outcome(job, slot(0)));
        }

        /** A planner reads lease and ticks one after the other: the attempt may have begun between the two. */
        @ParameterizedTest
        @ValueSource(ints = {0, 1})
        void aTickWhoseAttemptHasNoEndIsNotClosed(int spent) {
            Job job = registeredJob();
            Slot slot = slot(0);
            Lease lease = running(job, slot, ANNA);
            applied(job, closing(cursor(job), List.of(new OpenTick(slot, true, 1, spent, false))));
            assertNull(outcome(job, slot));
            stored(lease, success());
            assertEquals(Outcome.SUCCEEDED, outcome(job, slot));
        }

        @Test
        void aRangeIsCutWhereTheClockWasSetBackTo() {
            Job job = registeredJob();
            plantCursor(job, slot(-100).at());
            applied(
                    job,
                    withDropped(
                            slot(-50).at(),
                            new SlotRange(50, slot(-99).at(), slot(-50).at())));
            applied(
                    job,
                    withDropped(
                            slot(-10).at(),
                            new SlotRange(40, slot(-49).at(), slot(-10).at())));
            applied(job, withDropped(slot(-5).at(), new SlotRange(5, slot(-9).at(), slot(-5).at())));
            Instant back = slot(-20).at().plusSeconds(30);

            applied(job, new Plan(back, back, null, null, List.of(), List.of(), List.of(), 0, List.of()));

            assertEquals(back, cursor(job));
            assertEquals(
                    List.of(
                            new History.Range(30, slot(-49).at(), slot(-20).at()),
                            new History.Range(50, slot(-99).at(), slot(-50).at())),
                    store().history(job.id(), 10).stream().map(Entry::range).toList());
            assertEquals(Map.of(Outcome.DROPPED, 80L), counts(job));
        }

        @Test
        void aRangeThatEndsAtTheInstantTheClockWasSetBackToStays() {
            Job job = registeredJob();
            plantCursor(job, slot(-100).at());
            applied(
                    job,
                    withDropped(
                            slot(-50).at(),
                            new SlotRange(50, slot(-99).at(), slot(-50).at())));
            Instant back = slot(-50).at();
            applied(job, new Plan(back, back, null, null, List.of(), List.of(), List.of(), 0, List.of()));
            assertEquals(Map.of(Outcome.DROPPED, 50L), counts(job));
        }

        /** CLK-01: the clock ran two hours ahead, slots took place there, and it is set right again. */
        @Test
        void aSlotThatRanWhileTheClockWasAheadDoesNotRunAgain() {
            Job job = registeredJob();
            site().pass(Duration.ofHours(2));
            Slot ahead = slot(0);
            plantCursor(job, slot(-1).at());
            Plan early = planned(job);
            assertEquals(List.of(ahead), early.due());
            stored(running(job, ahead, ANNA), success());

            site().setBack(Duration.ofHours(2));
            Plan back = planned(job);
            assertEquals(List.of(), back.due());
            assertEquals(store().now(), cursor(job));

            site().pass(Duration.ofMinutes(1));
            assertEquals(List.of(slot(0)), planned(job).due(), "the next minute is due as ever");

            site().pass(Duration.ofMinutes(119));
            assertEquals(ahead, slot(0));
            Plan again = planned(job);
            assertFalse(again.due().contains(ahead), () -> "due " + again.due());
            assertEquals(Outcome.SUCCEEDED, outcome(job, ahead));
        }

        @Test
        void aPlanThatFailsHalfwayLeavesNothing() {
            Job job = registeredJob();
            applied(job, opening(slot(0).at(), slot(0)));
            List<OpenTick> open = situation(job).backlog().open();
            String before = everything(job.id());
            Backlog seen = situation(job).backlog();
            site().failInserts("tick");
            try {
                Plan plan = new Plan(
                        slot(2).at(),
                        null,
                        null,
                        null,
                        List.of(slot(1)),
                        List.of(new NewTick(slot(2), true)),
                        open,
                        0,
                        List.of());
                StoreException failure = assertThrows(StoreException.class, () -> store().apply(job, seen, plan));
                assertEquals(StoreException.Kind.BROKEN, failure.kind());
            } finally {
                site().repair("tick");
            }
            assertEquals(before, everything(job.id()));
        }

        private Plan planned(Job job) {
            Backlog backlog = situation(job).backlog();
            Plan plan = Planner.plan(
                    new Planner.Rules(job.schedule(), job.catchUp(), Overlap.SKIP, job.maxAttempts(), null),
                    Instant.EPOCH,
                    backlog);
            return plan.changes(backlog.cursor()) ? assertNotNull(store().apply(job, backlog, plan)) : plan;
        }

        private Plan withSkipped(Instant cursor, Slot skipped) {
            return new Plan(cursor, null, null, null, List.of(skipped), List.of(), List.of(), 0, List.of());
        }

        private Plan withDropped(Instant cursor, SlotRange range) {
            return new Plan(cursor, null, range, null, List.of(), List.of(), List.of(), 0, List.of());
        }
    }

    @Nested
    class Starts {

        @Test
        void aStartGrantsTheLeaseAndInsertsTheFirstAttempt() {
            Job job = registeredJob();
            Slot slot = slot(0);
            applied(job, opening(slot.at(), slot));
            RunId run = newRun();

            Start start = store().start(job, slot, ANNA, run, false);

            Instant now = store().now();
            Lease lease = new Lease(job.id(), ANNA, new FencingToken(1), run, slot.key(), now, now.plus(TTL));
            assertEquals(new Start.Started(lease, 1, Duration.between(slot.at(), now), List.of()), start);
            assertEquals(lease, view(job.id()).lease());
            assertEquals(
                    new Attempt(run, job.id(), slot.key(), 1, lease.fence(), ANNA, now, null, null, null, null, null),
                    attempt(lease));
            assertNull(outcome(job, slot));
            assertEquals(List.of(), events(job.id()));
        }

        @Test
        void aTickWithoutARowIsOpened() {
            Job job = registeredJob();
            Slot slot = Slot.manual(store().now(), "abc");
            Lease lease = running(job, slot, ANNA);
            assertEquals(slot.key(), lease.slotKey());
            assertNull(outcome(job, slot));
        }

        @Test
        void whileTheLeaseIsLiveNothingChanges() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            String before = everything(job.id());
            assertEquals(new Start.Held(lease), start(job, slot(0), BEN));
            assertEquals(new Start.Held(lease), start(job, slot(1), ANNA));
            assertEquals(new Start.Held(lease), store().start(job, slot(1), ANNA, newRun(), true));
            assertEquals(before, everything(job.id()));
        }

        @Test
        void aSecondTryWithTheSameRunIdIsTheSameGrant() {
            Job job = registeredJob();
            Slot slot = slot(0);
            RunId run = newRun();
            Start first = store().start(job, slot, ANNA, run, false);
            String before = everything(job.id());
            Start second = site().otherNode().start(job, slot, ANNA, run, false);
            assertEquals(first, second);
            assertEquals(before, everything(job.id()));
        }

        @Test
        void aStartUnderTheRunIdOfSomebodyElsesRunIsRefused() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            String before = everything(job.id());
            assertEquals(new Start.Held(lease), store().start(job, slot(0), BEN, lease.runId(), false));
            assertEquals(before, everything(job.id()));
        }

        @Test
        void aSecondTryThatMeetsSomebodyElsesLeaseThatIsOverIsNotToldThatItIsHeld() {
            Job job = registeredJob();
            Lease first = running(job, slot(0), ANNA);
            stored(first, success());
            Lease other = granted(job.id(), BEN);
            passToTheEndOf(other);
            assertEquals(new Start.Closed(Refusal.EXPIRED), store().start(job, slot(0), ANNA, first.runId(), false));
            assertEquals(other, view(job.id()).lease());
        }

        /** A claim that was tried again after its first try had been granted, and had run out, must not run without an attempt. */
        @Test
        void aSecondTryAfterTheEndOfTheGrantGrantsNothing() {
            Job job = registeredJob();
            Slot slot = slot(0);
            RunId run = newRun();
            Lease first = assertInstanceOf(Start.Started.class, store().start(job, slot, ANNA, run, false))
                    .lease();
            passToTheEndOf(first);
            String before = everything(job.id());

            Start second = store().start(job, slot, ANNA, run, false);

            assertEquals(before, everything(job.id()));
            if (second instanceof Start.Started started) {
                assertEquals(first, started.lease(), "the old grant, which its holder knows to be over");
            }
            store().abandon(first, false);
            before = everything(job.id());
            assertFalse(store().start(job, slot, ANNA, run, false) instanceof Start.Started);
            assertEquals(before, everything(job.id()));
        }

        @Test
        void attemptsAreNumberedWithinTheirTick() {
            Job job = registered(job(newName(), new Every(Duration.ofMinutes(1)), CatchUp.DEFAULT, null, 5));
            for (int number = 1; number <= 3; number++) {
                Start.Started started = started(job, slot(0), ANNA);
                assertEquals(number, started.attempt());
                assertEquals(number, started.lease().fence().value());
                stored(started.lease(), notTheLast(Outcome.FAILED));
            }
            pass(Duration.ofMinutes(2));
            Start.Started other = started(job, slot(-1), ANNA);
            assertEquals(1, other.attempt());
            assertEquals(0, other.spent());
            assertEquals(Duration.between(slot(-1).at(), store().now()), other.lag());
        }

        @Test
        void aClosedTickGetsNoAttemptAndTheLeaseIsGivenBack() {
            Job job = registeredJob();
            stored(running(job, slot(0), ANNA), success());

            assertEquals(new Start.Closed(Refusal.ALREADY_DONE), start(job, slot(0), BEN));

            assertEquals(State.RELEASED, view(job.id()).state());
            assertEquals(2, view(job.id()).fence(), "the token of a grant is never used again");
            assertEquals(1, site().count("attempt where job = '" + job.id() + "'"));
            assertEquals(3, started(job, slot(1), BEN).lease().fence().value());
        }

        @Test
        void aTickWhoseAttemptsAreUsedUpGetsNoFurther() {
            Job job = registeredJob();
            stored(running(job, slot(0), ANNA), notTheLast(Outcome.FAILED));
            stored(running(job, slot(0), ANNA), notTheLast(Outcome.FAILED));
            assertInstanceOf(Start.Closed.class, start(job, slot(0), ANNA));
            assertEquals(State.RELEASED, view(job.id()).state());
            assertEquals(2, site().count("attempt where job = '" + job.id() + "'"));
            assertNull(outcome(job, slot(0)), "closing it is the planner's affair");
        }

        @Test
        void attemptsThatDoNotCountUseNothingUp() {
            Job job = registeredJob();
            Completion shutdown = new Completion(Outcome.ABANDONED, false, false, 143, null, "shutdown", null, null);
            for (int i = 1; i <= 4; i++) {
                Start.Started started = started(job, slot(0), ANNA);
                assertEquals(i, started.attempt());
                stored(started.lease(), shutdown);
                assertNull(outcome(job, slot(0)));
            }
        }

        @Test
        void theAttemptOfADeadHolderIsAbandonedAndReported() {
            Job job = registeredJob();
            Lease dead = running(job, slot(0), ANNA);
            passToTheEndOf(dead);
            Slot slot = Slot.at(slot(-10).at());

            Start.Started next = started(job, slot, BEN);

            Attempt abandoned = attempt(dead);
            assertEquals(Outcome.ABANDONED, abandoned.outcome());
            assertEquals(store().now(), abandoned.endedAt());
            assertEquals(List.of(abandoned), next.abandoned());
            assertEquals(2, next.attempt());
            assertEquals(2, next.lease().fence().value());
        }

        @Test
        void aDeadHoldersLastAttemptIsAbandonedAlthoughNoneFollows() {
            Job job = registered(job(newName(), new Every(Duration.ofMinutes(1)), CatchUp.DEFAULT, null, 1));
            Slot slot = slot(0);
            Lease dead = running(job, slot, ANNA);
            passToTheEndOf(dead);
            assertInstanceOf(Start.Closed.class, start(job, slot, BEN));
            assertEquals(Outcome.ABANDONED, attempt(dead).outcome());
            assertEquals(Refusal.STALE_TOKEN, refused(dead, success()));
        }

        @Test
        void aPersonReopensWhatDidNotSucceed() {
            Job job = registeredJob();
            for (Outcome outcome : List.of(Outcome.FAILED, Outcome.TIMED_OUT, Outcome.CANCELLED)) {
                stored(
                        started(job, slot(0), ANNA, true).lease(),
                        new Completion(outcome, true, true, 1, null, null, null, null));
                assertEquals(outcome, outcome(job, slot(0)));
                assertInstanceOf(Start.Closed.class, start(job, slot(0), ANNA));
            }
            Start.Started fourth = started(job, slot(0), ANNA, true);
            assertEquals(4, fourth.attempt());
            assertNull(outcome(job, slot(0)));
            stored(fourth.lease(), success());
            assertEquals(new Start.Closed(Refusal.ALREADY_DONE), store().start(job, slot(0), ANNA, newRun(), true));
            assertEquals(Outcome.SUCCEEDED, outcome(job, slot(0)));
        }

        /** Nothing is reopened by a claim that is refused. */
        @Test
        void whileAnotherSlotRunsNothingIsReopened() {
            Job job = registeredJob();
            stored(running(job, slot(0), ANNA), failure("no"));
            Lease lease = running(job, slot(1), ANNA);
            String before = everything(job.id());
            assertEquals(new Start.Held(lease), store().start(job, slot(0), BEN, newRun(), true));
            assertEquals(before, everything(job.id()));
        }

        @Test
        void aPersonReopensWhatWasSkippedOrDropped() {
            Job job = registeredJob();
            applied(job, opening(slot(0).at(), slot(0)));
            applied(job, closing(cursor(job), situation(job).backlog().open()));
            assertEquals(Outcome.DROPPED, outcome(job, slot(0)));
            stored(started(job, slot(0), ANNA, true).lease(), success());
            assertEquals(Outcome.SUCCEEDED, outcome(job, slot(0)));
        }

        @Test
        void ofManySimultaneousStartsOneGetsTheOnlyAttempt() throws Exception {
            for (int round = 0; round < 5; round++) {
                Job job = registeredJob();
                List<Callable<Start>> calls = new ArrayList<>();
                for (int i = 0; i < 16; i++) {
                    Store node = i % 2 == 0 ? store() : site().otherNode();
                    calls.add(() -> node.start(job, slot(0), ANNA, newRun(), false));
                }
                List<Start> answers = atOnce(calls);
                assertEquals(
                        1,
                        answers.stream().filter(Start.Started.class::isInstance).count());
                assertEquals(
                        15,
                        answers.stream().filter(Start.Held.class::isInstance).count());
                assertEquals(1, site().count("attempt where job = '" + job.id() + "'"));
            }
        }

        @Test
        void aStartThatFailsHalfwayGrantsNothing() {
            Job job = registeredJob();
            site().failInserts("attempt");
            try {
                assertThrows(StoreException.class, () -> start(job, slot(0), ANNA));
            } finally {
                site().repair("attempt");
            }
            assertNull(view(job.id()));
            assertEquals(0, site().count("tick where job = '" + job.id() + "'"));
        }

        @Test
        void anImpossibleTtlIsAnError() {
            Job job = job(newName());
            Job wrong = new Job(
                    job.id(),
                    job.schedule(),
                    job.zone(),
                    job.action(),
                    Set.of(),
                    Duration.ZERO,
                    null,
                    job.grace(),
                    job.catchUp(),
                    null,
                    2,
                    null,
                    List.of());
            assertThrows(IllegalArgumentException.class, () -> start(wrong, slot(0), ANNA));
            assertNull(view(job.id()));
        }

        private Start.Started started(Job job, Slot slot, Owner owner, boolean reopen) {
            return assertInstanceOf(Start.Started.class, store().start(job, slot, owner, newRun(), reopen));
        }

        private Start.Started started(Job job, Slot slot, Owner owner) {
            return started(job, slot, owner, false);
        }
    }

    @Nested
    class Completions {

        @Test
        void aCompletionWritesAttemptTickAndEventAndGivesTheLeaseBack() {
            Job job = registeredJob();
            Slot slot = slot(0);
            applied(job, opening(slot.at(), slot));
            Lease lease = running(job, slot, ANNA);
            pass(Duration.ofMinutes(1));
            byte[] result = {0, 1, -1, 'x'};

            stored(lease, new Completion(Outcome.FAILED, true, true, 7, 9, "exit code 7", result, "the end\n"));

            Instant now = store().now();
            assertEquals(
                    new Attempt(
                            lease.runId(),
                            job.id(),
                            slot.key(),
                            1,
                            lease.fence(),
                            ANNA,
                            lease.grantedAt(),
                            now,
                            Outcome.FAILED,
                            7,
                            9,
                            "exit code 7"),
                    attempt(lease));
            String byRun = " from attempt where run_id = '" + lease.runId() + "'";
            assertEquals("0001ff78", site().value("select " + site().hex("result") + byRun));
            assertEquals("the end\n", site().value("select output_tail" + byRun));
            Entry entry = store().history(job.id(), 10).getFirst();
            assertEquals(Outcome.FAILED, entry.tickOutcome());
            assertEquals(now, entry.tickEndedAt());
            assertEquals("exit code 7", entry.tickReason());
            assertEquals(
                    List.of(new WriteEvent(
                            now, job.id(), ANNA.text(), 1, lease.runId().toString(), true, "FAILED")),
                    events(job.id()));
            assertEquals(new LeaseView(job.id(), 1, State.RELEASED, null, null, null, null, null), view(job.id()));
            assertEquals(2, running(job, slot(1), BEN).fence().value());
        }

        @Test
        void aCompletionThatClosesNothingLeavesTheTickOpen() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            stored(lease, new Completion(Outcome.ABANDONED, false, false, 143, null, "shutdown", null, null));
            assertEquals(Outcome.ABANDONED, attempt(lease).outcome());
            assertNull(outcome(job, slot(0)));
            assertEquals(State.RELEASED, view(job.id()).state());
            assertEquals(2, started(job, slot(0), BEN).attempt());
        }

        @Test
        void aSecondCompletionChangesNothing() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            stored(lease, success());
            String before = everything(job.id());
            assertEquals(Refusal.ALREADY_DONE, refused(lease, failure("late")));
            assertEquals(Refusal.ALREADY_DONE, refused(lease, success()));
            assertEquals(before, everything(job.id()));
        }

        @Test
        void itCountsUntilTheLastInstantOfTheLeaseAndNoLonger() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            passToTheEndOf(lease);
            pass(site().step().negated());
            stored(lease, success());

            Lease late = running(job, Slot.manual(store().now(), "late"), ANNA);
            passToTheEndOf(late);
            String before = everything(job.id());
            assertEquals(Refusal.EXPIRED, refused(late, success()));
            assertEquals(before, everything(job.id()));
            assertEquals(
                    new WriteEvent(
                            store().now(),
                            job.id(),
                            ANNA.text(),
                            2,
                            late.runId().toString(),
                            false,
                            "EXPIRED"),
                    events(job.id()).getFirst());
        }

        @Test
        void aRenewedLeaseIsCompletedByWhatItsHolderGotAtTheGrant() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            pass(Duration.ofMinutes(9));
            renewed(lease, TTL);
            pass(Duration.ofMinutes(9));
            stored(lease, success());
        }

        @Test
        void eachPartOfWhatALeaseShowsCounts() {
            Job job = registeredJob();
            Job other = job(newName());
            store().register(List.of(job, other));
            store().breakLease(granted(job.id(), BEN).resource(), "so that there is an older token");
            Lease otherLease = running(other, slot(0), ANNA);
            Lease lease = running(job, slot(0), ANNA);
            String before = everything(job.id()) + everything(other.id());
            forged(lease, other.id()).forEach((what, forged) -> {
                assertInstanceOf(Completed.Refused.class, store().complete(forged, success()), what);
                assertFalse(store().endAsLost(forged, "lost"), what);
                assertEquals(List.of(), store().abandon(forged, true), what);
                assertTrue(store().release(forged).isPresent(), what);
                assertInstanceOf(Renewal.Lost.class, store().renew(forged, TTL), what);
                assertEquals(before, everything(job.id()) + everything(other.id()), what);
            });
            stored(lease, success());
            stored(otherLease, success());
        }

        /** What the store has of a lease is compared too: a twin may hold the same token, by another run (semantics 2.9). */
        @Test
        void eachPartOfWhatTheStoreHasOfTheLeaseCounts() {
            for (String other : List.of("fence = fence + 1", "owner = 'ben'", "run_id = '" + newRun() + "'")) {
                Job job = registeredJob();
                Lease lease = running(job, slot(0), ANNA);
                site().sql("update lease set " + other + " where resource = '" + job.id() + "'");
                String before = everything(job.id());
                assertInstanceOf(Completed.Refused.class, store().complete(lease, success()), other);
                assertEquals(before, everything(job.id()), other);
            }
        }

        @Test
        void anotherSlotThanItsOwnIsNotCompleted() {
            Job job = registeredJob();
            applied(job, opening(slot(1).at(), slot(0), slot(1)));
            Lease lease = running(job, slot(0), ANNA);
            Lease forged = new Lease(
                    lease.resource(),
                    lease.owner(),
                    lease.fence(),
                    lease.runId(),
                    slot(1).key(),
                    lease.grantedAt(),
                    lease.expiresAt());
            String before = everything(job.id());
            assertInstanceOf(Completed.Refused.class, store().complete(forged, success()));
            assertEquals(before, everything(job.id()));
            stored(lease, success());
        }

        @Test
        void anUnknownRunIsToldSo() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            assertEquals(Refusal.UNKNOWN, refused(with(lease, job.id(), ANNA, 1, newRun()), success()));
        }

        /** A plain lease, taken without an attempt, has nothing to complete. */
        @Test
        void aLeaseWithoutAnAttemptIsNotCompleted() {
            Lease lease = granted(newName(), ANNA);
            String before = everything(lease.resource());
            assertEquals(Refusal.UNKNOWN, refused(lease, success()));
            assertEquals(before, everything(lease.resource()));
        }

        @Test
        void anAttemptWithAnEndIsNotEndedAgain() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            site().sql("update attempt set outcome = 'ABANDONED', ended_at = " + site().literal(store().now())
                    + " where run_id = '" + lease.runId() + "'");
            String before = everything(job.id());
            assertEquals(Refusal.ALREADY_DONE, refused(lease, success()));
            assertEquals(before, everything(job.id()));
        }

        @Test
        void aTickWithAnOutcomeIsNotClosedAgain() {
            Job job = job(newName());
            Job other = job(newName());
            store().register(List.of(job, other));
            applied(other, opening(slot(0).at(), slot(0)));
            applied(job, opening(slot(1).at(), slot(0), slot(1)));
            Lease lease = running(job, slot(0), ANNA);
            site().sql("update tick set outcome = 'DROPPED', ended_at = " + site().literal(store().now())
                    + " where job = '" + job.id() + "' and slot_key = '" + slot(0).key() + "'");
            String before = everything(job.id());
            assertEquals(Refusal.ALREADY_DONE, refused(lease, success()));
            assertEquals(before, everything(job.id()));
        }

        @Test
        void eachRefusalLeavesAnEventWithTheTokenThatWasShown() {
            Job job = registeredJob();
            Lease old = running(job, slot(0), ANNA);
            passToTheEndOf(old);
            Lease next = running(job, slot(0), BEN);
            assertEquals(Refusal.STALE_TOKEN, refused(old, success()));
            assertEquals(
                    List.of(new WriteEvent(
                            store().now(),
                            job.id(),
                            ANNA.text(),
                            1,
                            old.runId().toString(),
                            false,
                            "STALE_TOKEN",
                            null,
                            2L)),
                    events(job.id()));
            stored(next, success());
        }

        @Test
        void eventsCarryNoPayload() {
            Job job = registeredJob();
            Lease old = running(job, slot(0), ANNA);
            passToTheEndOf(old);
            Lease next = running(job, slot(0), BEN);
            Completion secret = new Completion(
                    Outcome.FAILED,
                    true,
                    true,
                    1,
                    null,
                    "reason-hidden",
                    "result-hidden".getBytes(StandardCharsets.UTF_8),
                    "output-hidden");
            refused(old, secret);
            stored(next, secret);
            String events = site().rows("select * from write_event").toString();
            assertFalse(events.contains("hidden"), events);
        }

        @Test
        void aStaleHolderChangesNothing() {
            Job job = registeredJob();
            Lease stale = running(job, slot(0), ANNA);
            passToTheEndOf(stale); // frozen past its end
            Lease next = running(job, slot(-10), BEN);
            stored(next, success());
            String before = everything(job.id());
            assertEquals(Refusal.STALE_TOKEN, lost(stale));
            assertEquals(Refusal.STALE_TOKEN, refused(stale, success()));
            assertFalse(store().endAsLost(stale, "late"));
            assertEquals(List.of(), store().abandon(stale, true));
            assertEquals(Optional.of(Refusal.STALE_TOKEN), store().release(stale));
            assertEquals(before, everything(job.id()));
            assertEquals(
                    1, events(job.id()).stream().filter(WriteEvent::accepted).count());
        }

        @Test
        void aCompletionThatFailsHalfwayLeavesNothing() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            String before = everything(job.id());
            site().failInserts("write_event");
            try {
                StoreException failure = assertThrows(StoreException.class, () -> store().complete(lease, success()));
                assertEquals(StoreException.Kind.BROKEN, failure.kind());
                assertThrows(StoreException.class, () -> store().breakLease(job.id(), "test"));
            } finally {
                site().repair("write_event");
            }
            assertEquals(before, everything(job.id()));
            assertEquals(List.of(), events(job.id()));
            stored(lease, success());
        }
    }

    @Nested
    class EndsWithoutALease {

        @Test
        void aLostRunEndsItsAttemptAndLeavesTheTickOpen() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            passToTheEndOf(lease);
            assertTrue(store().endAsLost(lease, "no renewal"));
            Attempt attempt = attempt(lease);
            assertEquals(Outcome.LEASE_LOST, attempt.outcome());
            assertEquals("no renewal", attempt.reason());
            assertEquals(store().now(), attempt.endedAt());
            assertNull(outcome(job, slot(-10)));
            assertFalse(store().endAsLost(lease, "again"));
            assertEquals(2, started(job, slot(-10), BEN).attempt());
        }

        @Test
        void aRunThatGivesItselfUpBeforeItsEndFreesTheJob() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            assertTrue(store().endAsLost(lease, "the local deadline comes first"));
            assertEquals(State.RELEASED, view(job.id()).state());
            assertEquals(Refusal.ALREADY_DONE, refused(lease, success()));
        }

        @Test
        void itEndsUnderANewHolderToo() {
            Job job = registeredJob();
            Lease old = running(job, slot(0), ANNA);
            passToTheEndOf(old);
            // A claim without an attempt, so that nobody has abandoned the old one.
            Lease next = granted(job.id(), BEN);
            assertTrue(store().endAsLost(old, "lost"));
            assertEquals(next, view(job.id()).lease());
        }

        @Test
        void aDeadHoldersAttemptIsAbandonedOnceItsLeaseIsOver() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            passToTheEndOf(lease);
            pass(site().step().negated());
            String before = everything(job.id());
            assertEquals(List.of(), store().abandon(lease, false));
            assertEquals(before, everything(job.id()));

            pass(site().step());

            List<Attempt> abandoned = store().abandon(lease, false);
            assertEquals(List.of(attempt(lease)), abandoned);
            assertEquals(Outcome.ABANDONED, abandoned.getFirst().outcome());
            assertEquals(store().now(), abandoned.getFirst().endedAt());
            assertEquals(State.RELEASED, view(job.id()).state());
            assertEquals(1, view(job.id()).fence());
            assertNull(outcome(job, slot(-10)));
            assertEquals(List.of(), store().abandon(lease, false));
        }

        @Test
        void aProvablyDeadHolderIsAbandonedAtOnce() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            assertEquals(
                    Outcome.ABANDONED, store().abandon(lease, true).getFirst().outcome());
            assertEquals(2, running(job, slot(0), BEN).fence().value());
        }

        @Test
        void aRenewedLeaseIsNotAbandonedByOneWhoSawItExpired() {
            Job job = registeredJob();
            Lease seen = running(job, slot(0), ANNA);
            pass(Duration.ofMinutes(9));
            renewed(seen, TTL);
            pass(Duration.ofMinutes(2)); // the end that was seen has passed
            assertEquals(List.of(), store().abandon(seen, false));
            stored(seen, success());
        }

        @Test
        void aLeaseWithoutAnAttemptIsOnlyFreed() {
            Lease lease = granted(newName(), ANNA);
            assertEquals(List.of(), store().abandon(lease, false));
            assertTrue(view(lease.resource()).isLive());
            assertEquals(List.of(), store().abandon(lease, true));
            assertEquals(State.RELEASED, view(lease.resource()).state());
        }

        @Test
        void whoComesSecondChangesNothing() {
            Job job = registeredJob();
            Lease first = running(job, slot(0), ANNA);
            passToTheEndOf(first);
            store().abandon(first, false);
            String before = everything(job.id());
            assertFalse(store().endAsLost(first, "late"));
            assertEquals(before, everything(job.id()));

            Lease second = running(job, slot(0), ANNA);
            passToTheEndOf(second);
            assertTrue(store().endAsLost(second, "lost"));
            before = everything(job.id());
            assertEquals(List.of(), store().abandon(second, true));
            assertFalse(store().endAsLost(second, "lost"));
            assertEquals(before, everything(job.id()));
        }
    }

    @Nested
    class Histories {

        @Test
        void theNewestSlotComesFirstWithItsNewestAttempt() {
            Job job = registeredJob();
            Lease first = running(job, slot(0), ANNA);
            stored(first, notTheLast(Outcome.FAILED));
            Lease second = running(job, slot(0), ANNA);
            stored(second, success());
            applied(job, opening(slot(1).at(), slot(1)));
            Lease third = running(job, slot(2), ANNA);

            List<Entry> history = store().history(job.id(), 10);

            assertEquals(
                    List.of(slot(2).key(), slot(1).key(), slot(0).key(), slot(0).key()),
                    history.stream().map(Entry::slotKey).toList());
            assertEquals(attempt(third), history.get(0).attempt());
            assertNull(history.get(1).attempt());
            assertEquals(attempt(second), history.get(2).attempt());
            assertEquals(attempt(first), history.get(3).attempt());
            assertEquals(Outcome.SUCCEEDED, history.get(3).tickOutcome());
            assertEquals(history.subList(0, 3), store().history(job.id(), 3));
            assertEquals(List.of(), store().history(newName(), 10));
        }

        private void ran(Job job, Slot slot, Duration time, Completion completion) {
            Lease lease = running(job, slot, ANNA);
            pass(time);
            stored(lease, completion);
        }

        @Test
        void theLongestSuccessIsFoundAmongTheSuccesses() {
            Job job = registeredJob();
            assertEquals(Optional.empty(), store().longestSuccess(job.id()));
            ran(job, slot(0), Duration.ofMinutes(5), failure("exit code 1"));
            assertEquals(Optional.empty(), store().longestSuccess(job.id()));
            ran(job, slot(1), Duration.ofSeconds(20), success());
            ran(job, slot(2), Duration.ofSeconds(70), success());
            ran(job, slot(3), Duration.ofSeconds(30), success());
            // Of a slot that was tried twice the attempt that succeeded counts alone.
            Slot twice = slot(4);
            ran(job, twice, Duration.ofMinutes(4), notTheLast(Outcome.FAILED));
            ran(job, twice, Duration.ofSeconds(10), success());
            ran(registeredJob(), slot(0), Duration.ofMinutes(9), success());

            assertEquals(Optional.of(new History.Longest(Duration.ofSeconds(70), 4)), store().longestSuccess(job.id()));
        }

        @Test
        void aJobsSummaryTellsWhatRunsAndWhatWasLast() {
            Job job = registeredJob();
            assertNull(summary(job).lease());
            assertNull(summary(job).last());
            assertNull(summary(job).lastSuccessAt());
            stored(running(job, slot(0), ANNA), success());
            Instant successAt = store().now();
            pass(Duration.ofMinutes(1));
            stored(running(job, slot(0), ANNA), failure("exit code 1"));
            Lease lease = running(job, slot(1), ANNA);

            JobSummary summary = summary(job);

            assertEquals(lease, assertNotNull(summary.lease()).lease());
            assertEquals(attempt(lease), summary.running());
            assertEquals(new History.LastTick(slot(0).key(), Outcome.FAILED, store().now()), summary.last());
            assertEquals(successAt, summary.lastSuccessAt());
            assertEquals(Map.of(Outcome.SUCCEEDED, 1L, Outcome.FAILED, 1L), counts(job));
        }

        @Test
        void theLastSuccessIsTheOneThatEndedLast() {
            Job job = registeredJob();
            Slot older = slot(-5);
            stored(running(job, slot(0), ANNA), success());
            pass(Duration.ofMinutes(3));
            stored(running(job, older, ANNA), success());
            assertEquals(store().now(), summary(job).lastSuccessAt());
        }

        @Test
        void skipsSinceTheLastSuccessAreCountedWithTheirRanges() {
            Job job = registeredJob();
            assertEquals(0, summary(job).skippedInARow());
            applied(
                    job,
                    new Plan(slot(1).at(), null, null, null, List.of(slot(1)), List.of(), List.of(), 0, List.of()));
            assertEquals(1, summary(job).skippedInARow());
            stored(running(job, slot(2), ANNA), success());
            assertEquals(0, summary(job).skippedInARow());
            applied(
                    job,
                    new Plan(
                            slot(50).at(),
                            null,
                            null,
                            new SlotRange(30, slot(10).at(), slot(39).at()),
                            List.of(slot(40), slot(41)),
                            List.of(),
                            List.of(),
                            0,
                            List.of()));
            stored(running(job, slot(45), ANNA), failure("no success"));
            assertEquals(32, summary(job).skippedInARow());
        }

        @Test
        void eventsComeNewestFirstAndAsManyAsAskedFor() {
            Job job = registeredJob();
            for (int i = 0; i < 3; i++) {
                stored(running(job, slot(i), ANNA), success());
            }
            List<WriteEvent> events = store().events(3);
            assertEquals(
                    List.of(3L, 2L, 1L), events.stream().map(WriteEvent::fence).toList());
            assertEquals(events.subList(0, 2), store().events(2));
        }
    }

    @Nested
    class Races {

        /** S1: of the holder who comes at the very end and the one who takes over, one is accepted. */
        @Test
        void aCompletionAtTheEndOfItsLeaseAndATakeOverAreNeverBothAccepted() throws Exception {
            int completed = 0;
            int takenOver = 0;
            for (int round = 0; round < 60; round++) {
                Job job = job(newName());
                Slot slot = slot(0);
                Lease lease = running(job, slot, ANNA);
                passToTheEndOf(lease);
                pass(site().step().negated());
                List<Object> answers = atOnce(List.of(
                        () -> store().complete(lease, success()),
                        () -> site().otherNode().start(job, slot, BEN, newRun(), false),
                        () -> {
                            pass(site().step());
                            return "";
                        }));
                boolean stored = answers.get(0) instanceof Completed.Stored;
                switch ((Start) answers.get(1)) {
                    case Start.Started next -> {
                        takenOver++;
                        assertFalse(stored, "round " + round + ": both accepted");
                        stored(next.lease(), success());
                    }
                    case Start.Held held -> assertEquals(lease, held.by());
                    case Start.Closed closed -> assertTrue(stored, "closed by nobody");
                }
                completed += stored ? 1 : 0;
                long accepted =
                        events(job.id()).stream().filter(WriteEvent::accepted).count();
                assertTrue(accepted <= 1, "accepted " + accepted + " times");
                assertEquals(
                        accepted, site().count("attempt where outcome = 'SUCCEEDED' and job = '" + job.id() + "'"));
            }
            assertTrue(completed + takenOver > 0, "nobody ever won");
        }

        /** A planner that gives a tick up and a node that starts it: the tick is either dropped or run, never both. */
        @Test
        void aTickIsNotGivenUpAndStartedAtOnce() throws Exception {
            for (int round = 0; round < 40; round++) {
                Job job = registeredJob();
                Slot slot = slot(0);
                applied(job, opening(slot.at(), slot));
                Backlog seen = situation(job).backlog();
                List<Object> answers = atOnce(List.of(
                        () -> assertNotNull(store().apply(job, seen, closing(seen.cursor(), seen.open()))),
                        () -> site().otherNode().start(job, slot, BEN, newRun(), false)));
                if (answers.get(1) instanceof Start.Started started) {
                    assertNull(outcome(job, slot));
                    stored(started.lease(), success());
                } else {
                    assertInstanceOf(Start.Closed.class, answers.get(1));
                    assertEquals(Outcome.DROPPED, outcome(job, slot));
                    assertEquals(0, site().count("attempt where job = '" + job.id() + "'"));
                }
            }
        }

        /** A claim that meets a lease just as it is given back, broken or completed has one of the two answers, never an error. */
        @Test
        void aClaimThatMeetsAReleaseHasAnAnswer() throws Exception {
            for (int round = 0; round < 60; round++) {
                Job job = job(newName());
                Lease lease = running(job, slot(0), ANNA);
                int way = round % 3;
                List<Object> answers = atOnce(List.of(
                        () -> site().otherNode().claim(job.id(), BEN, newRun(), TTL),
                        () -> site().otherNode().start(job, slot(1), new Owner("carl"), newRun(), false),
                        () -> way == 0
                                ? store().release(lease)
                                : way == 1
                                        ? store().complete(lease, success())
                                        : store().breakLease(job.id(), "test")));
                int granted = (answers.get(0) instanceof Claim.Granted ? 1 : 0)
                        + (answers.get(1) instanceof Start.Started ? 1 : 0);
                assertTrue(granted <= 1, "granted twice");
                assertFalse(answers.get(1) instanceof Start.Closed, "the tick is open");
                assertTrue(view(job.id()).fence() >= 1 + granted);
            }
        }
    }

    @Nested
    class OrdersOfOnce {

        private Slot once() {
            return Slot.once(store().now(), "0a1b2c3d");
        }

        @Test
        void aLostAttemptIsTheEndOfItsTick() {
            Job job = registeredJob();
            Slot slot = once();
            Lease lease = running(job, slot, ANNA);
            assertTrue(store().endAsLost(lease, "no renewal"));
            assertEquals(Outcome.LEASE_LOST, outcome(job, slot));
            assertEquals(List.of(), situation(job).backlog().open(), "no service ever runs its own command for it");
        }

        @Test
        void aDeadHoldersAttemptIsTheEndOfItsTickWhoeverFindsIt() {
            Job job = registeredJob();
            Slot slot = once();
            Lease lease = running(job, slot, ANNA);
            assertEquals(1, store().abandon(lease, true).size());
            assertEquals(Outcome.ABANDONED, outcome(job, slot));

            Slot second = Slot.once(store().now(), "ffffffff");
            passToTheEndOf(running(job, second, ANNA));
            Slot third = slot(0);
            running(job, third, BEN);
            assertEquals(Outcome.ABANDONED, outcome(job, second));
            assertNull(outcome(job, third));
        }

        @Test
        void oneThatRunsIsNotEndedByOthers() {
            Job job = registeredJob();
            Slot slot = once();
            running(job, slot, ANNA);
            assertInstanceOf(Start.Held.class, start(job, slot(0), BEN));
            assertNull(outcome(job, slot));
            Slot other = Slot.manual(store().now(), "0a1b2c3d");
            Job otherJob = registeredJob();
            store().endAsLost(running(otherJob, other, ANNA), "no renewal");
            assertNull(outcome(otherJob, other), "an order to a service is tried again");
        }

        @Test
        void whatIsKeptOfAnAttemptIsReadWithoutWaiting() {
            Job job = registeredJob();
            Lease lease = running(job, once(), ANNA);
            assertEquals(new Kept(attempt(lease), null), store().kept(job.id(), lease.runId()));
            stored(lease, new Completion(Outcome.FAILED, true, true, 7, null, "why", null, "the end\n"));
            assertEquals(new Kept(attempt(lease), "the end\n"), store().kept(job.id(), lease.runId()));
            assertNull(store().kept(newName(), lease.runId()));
            assertNull(store().kept(job.id(), newRun()));
        }
    }
}
