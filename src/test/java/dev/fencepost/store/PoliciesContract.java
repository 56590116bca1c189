package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Refusal;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Classification;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Completion.Deferral;
import dev.fencepost.run.Completion.Further;
import dev.fencepost.run.Job;
import dev.fencepost.run.Orders.JobEvent;
import dev.fencepost.run.Orders.Stop;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Start;
import dev.fencepost.run.Ticks.BrakeCounts;
import dev.fencepost.schedule.Backlog.OpenTick;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Plan.NewTick;
import dev.fencepost.schedule.Plan.SlotRange;
import dev.fencepost.schedule.Plan.TakeOver;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** What a store keeps for the policies of a job: buffers, take-overs, further tries, deferrals and what the brakes count. */
abstract class PoliciesContract extends Contract {

    private static final Duration STEP = Duration.ofSeconds(1);

    private Plan buffering(Instant cursor, Slot slot, List<OpenTick> displaced, TakeOver takeOver) {
        return new Plan(
                cursor,
                null,
                null,
                null,
                List.of(),
                List.of(new NewTick(slot, true)),
                List.of(),
                0,
                List.of(slot),
                displaced,
                takeOver,
                null);
    }

    private String reasonOf(Job job, Slot slot) {
        return site().rows("select reason from tick where job = '" + job.id() + "' and slot_key = '" + slot.key() + "'")
                .getFirst()
                .getFirst();
    }

    private static Completion failed(Classification kind, Duration retryAfter, Deferral deferral) {
        boolean deferred = deferral != null;
        return new Completion(
                Outcome.FAILED,
                retryAfter == null && !deferred,
                !deferred,
                1,
                null,
                "no",
                null,
                null,
                List.of(),
                new Further(kind, retryAfter, deferral));
    }

    @Nested
    class Buffers {

        @Test
        void aSlotThatWaitedEndsSkippedWhenANewerOneTakesItsPlace() {
            Job job = registeredJob();
            applied(job, opening(slot(1).at(), slot(1)));
            OpenTick waiting = situation(job).backlog().open().getFirst();
            Plan written = applied(job, buffering(slot(2).at(), slot(2), List.of(waiting), null));
            assertEquals(List.of(waiting), written.displaced());
            assertEquals(Outcome.SKIPPED_OVERLAP, outcome(job, slot(1)));
            assertNull(outcome(job, slot(2)));
            assertEquals(new Start.Closed(Refusal.ALREADY_DONE), start(job, slot(1), ANNA));
        }

        @Test
        void oneThatWasOrderedMeanwhileIsLeftAlone() {
            Job job = registeredJob();
            applied(job, opening(slot(1).at(), slot(1)));
            OpenTick waiting = situation(job).backlog().open().getFirst();
            store().trigger(job.id(), List.of(slot(1)), false, null, "ann");
            Plan written = applied(job, buffering(slot(2).at(), slot(2), List.of(waiting), null));
            assertEquals(List.of(), written.displaced());
            assertNull(outcome(job, slot(1)));
        }

        @Test
        void oneThatWasStartedMeanwhileIsLeftAlone() {
            Job job = registeredJob();
            applied(job, opening(slot(1).at(), slot(1)));
            OpenTick waiting = situation(job).backlog().open().getFirst();
            running(job, slot(1), ANNA);
            Plan written = applied(job, buffering(slot(2).at(), slot(2), List.of(waiting), null));
            assertEquals(List.of(), written.displaced());
            assertNull(outcome(job, slot(1)));
        }

        @Test
        void oneThatWasCancelledMeanwhileKeepsItsOutcome() {
            Job job = registeredJob();
            applied(job, opening(slot(1).at(), slot(1)));
            OpenTick waiting = situation(job).backlog().open().getFirst();
            store().cancel(job.id(), null, "ann");
            Plan written = applied(job, buffering(slot(2).at(), slot(2), List.of(waiting), null));
            assertEquals(List.of(), written.displaced());
            assertEquals(Outcome.CANCELLED, outcome(job, slot(1)));
        }
    }

    @Nested
    class TakeOvers {

        @Test
        void theHolderIsAskedToStopInTheTransactionOfThePlan() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            long revision = store().signal().revision();
            applied(
                    job,
                    buffering(
                            slot(1).at(),
                            slot(1),
                            List.of(),
                            new TakeOver(lease.fence().value(), slot(1))));
            String reason = "superseded by slot " + slot(1).key();
            assertEquals(
                    List.of(new Stop(lease.runId(), job.id(), true, reason)),
                    store().stops(ANNA).stream()
                            .filter(stop -> stop.job().equals(job.id()))
                            .toList());
            assertEquals(revision + 1, store().signal().revision());
            JobEvent event = store().jobEvents(job.id(), 1).getFirst();
            assertEquals(JobEvent.Kind.SUPERSEDED, event.kind());
            assertEquals(slot(1).key(), event.slots());
            assertEquals(lease.fence().value(), event.fence());
        }

        @Test
        void whoHasEndedOrWasAskedBeforeIsNotAskedAgain() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            store().cancel(job.id(), null, "ann");
            long revision = store().signal().revision();
            applied(
                    job,
                    buffering(
                            slot(1).at(),
                            slot(1),
                            List.of(),
                            new TakeOver(lease.fence().value(), slot(1))));
            assertEquals(revision, store().signal().revision());
            assertFalse(store().stops(ANNA).stream()
                    .filter(stop -> stop.runId().equals(lease.runId()))
                    .findFirst()
                    .orElseThrow()
                    .takeOver());
        }

        @Test
        void whoFollowedTheHolderIsNotAskedToStop() {
            Job job = registeredJob();
            Lease seen = running(job, slot(0), ANNA);
            stored(seen, success());
            Lease next = running(job, slot(1), ANNA);
            long revision = store().signal().revision();
            applied(
                    job,
                    buffering(
                            slot(2).at(),
                            slot(2),
                            List.of(),
                            new TakeOver(seen.fence().value(), slot(2))));
            assertTrue(
                    store().stops(ANNA).stream().noneMatch(stop -> stop.runId().equals(next.runId())));
            assertEquals(revision, store().signal().revision(), "nobody is asked, neither who has ended");
        }

        @Test
        void aSlotThatHasARowAlreadyTakesNothingOver() {
            Job job = registeredJob();
            applied(job, opening(slot(1).at(), slot(1)));
            Lease lease = running(job, slot(0), ANNA);
            Plan written = applied(
                    job,
                    buffering(
                            slot(2).at(),
                            slot(1),
                            List.of(),
                            new TakeOver(lease.fence().value(), slot(1))));
            assertNull(written.takeOver());
            assertTrue(
                    store().stops(ANNA).stream().noneMatch(stop -> stop.runId().equals(lease.runId())));
        }

        @Test
        void theAttemptOfADeadHolderThatWasAskedEndsCancelledWithItsTick() {
            for (boolean byNextClaim : List.of(true, false)) {
                Job job = registeredJob();
                Slot old = slot(0);
                Lease lease = running(job, old, ANNA);
                applied(
                        job,
                        buffering(
                                slot(1).at(),
                                slot(1),
                                List.of(),
                                new TakeOver(lease.fence().value(), slot(1))));
                Slot next = slot(1);
                passToTheEndOf(lease);
                List<Attempt> ended = byNextClaim ? started(job, next, BEN).abandoned() : store().abandon(lease, false);
                assertEquals(1, ended.size());
                assertEquals(Outcome.CANCELLED, ended.getFirst().outcome());
                assertEquals(
                        "superseded by slot " + next.key(), ended.getFirst().reason());
                assertEquals(Outcome.CANCELLED, outcome(job, old));
                assertEquals("superseded by slot " + next.key(), reasonOf(job, old));
                assertNull(outcome(job, next));
            }
        }

        @Test
        void aSlotThatIsStartedAgainAfterItsDeadHolderWasAskedStaysOpen() {
            Job job = registeredJob();
            Lease dead = running(job, slot(0), ANNA);
            store().cancel(job.id(), null, "ann");
            passToTheEndOf(dead);
            Start.Started again = started(job, slot(0), BEN);
            assertEquals(Outcome.CANCELLED, again.abandoned().getFirst().outcome());
            assertNull(outcome(job, slot(0)));
            stored(again.lease(), success());
            assertEquals(Outcome.SUCCEEDED, outcome(job, slot(0)));
        }

        @Test
        void aSlotThatMadeWayCanBeOrderedAgain() {
            Job job = registeredJob();
            Slot old = slot(0);
            Lease lease = running(job, old, ANNA);
            applied(
                    job,
                    buffering(
                            slot(1).at(),
                            slot(1),
                            List.of(),
                            new TakeOver(lease.fence().value(), slot(1))));
            stored(lease, new Completion(Outcome.CANCELLED, true, false, 143, null, "superseded by slot", null, null));
            store().trigger(job.id(), List.of(old), false, null, "ann");
            stored(running(job, slot(1), BEN), success());
            assertNull(outcome(job, old), "still open after another grant");
            stored(running(job, old, BEN), success());
            assertEquals(Outcome.SUCCEEDED, outcome(job, old));
        }

        @Test
        void aRunThatAPersonHasOrderedIsKnownAsSuch() {
            Job job = registeredJob();
            Slot manual = Slot.manual(store().now(), "x");
            store().trigger(job.id(), List.of(manual), false, null, "ann");
            Lease lease = running(job, manual, ANNA);
            assertTrue(assertNotNull(situation(job).backlog().held()).byOrder());
            stored(lease, success());
            stored(running(job, slot(0), ANNA), failure("no"));
            assertInstanceOf(Start.Started.class, store().start(job, slot(0), ANNA, newRun(), true), "run --slot");
            assertTrue(assertNotNull(situation(job).backlog().held()).byOrder());
        }
    }

    @Nested
    class FurtherTries {

        @Test
        void aTickWaitsForItsNextTryAndIsNotStartedBefore() {
            Job job = registeredJob();
            Slot slot = slot(0);
            stored(running(job, slot, ANNA), failed(Classification.TRANSIENT, Duration.ofMinutes(5), null));
            Instant then = store().now().plus(Duration.ofMinutes(5));
            assertEquals(
                    List.of(new OpenTick(slot, false, 1, 1, false, then, false)),
                    situation(job).backlog().open());
            pass(Duration.ofMinutes(5).minusMillis(1));
            assertEquals(new Start.Closed(Refusal.ALREADY_DONE), start(job, slot, ANNA));
            assertNull(view(job.id()).owner(), "the lease is given back");
            pass(Duration.ofMillis(1));
            Start.Started again = started(job, slot, ANNA);
            assertEquals(2, again.attempt());
            assertEquals(1, again.spent());
            assertFalse(again.withoutEffects());
        }

        @Test
        void theKindOfAFailureIsKept() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            stored(lease, failed(Classification.AUTH, null, null));
            assertEquals(Classification.AUTH, attempt(lease).classification());
            assertEquals(
                    Classification.AUTH,
                    assertNotNull(store().history(job.id(), 1).getFirst().attempt())
                            .classification());
        }

        @Test
        void attemptsFromBeforeAnOrderAreNotSpent() {
            Job job = registeredJob();
            Slot slot = slot(0);
            for (int i = 0; i < 2; i++) {
                stored(running(job, slot, ANNA), i == 0 ? notTheLast(Outcome.ABANDONED) : failure("no"));
            }
            store().trigger(job.id(), List.of(slot), true, null, "ann");
            OpenTick open = situation(job).backlog().open().getFirst();
            assertEquals(new OpenTick(slot, false, 2, 0, false, null, true), open);
            Start.Started again = started(job, slot, ANNA);
            assertEquals(3, again.attempt());
            assertEquals(0, again.spent());
            assertTrue(again.withoutEffects());
        }
    }

    @Nested
    class Deferrals {

        @Test
        void aUsageLimitDefersTheJobWithTheEndOfTheAttempt() {
            Job job = registeredJob();
            Slot slot = slot(0);
            Instant until = store().now().plus(Duration.ofHours(3));
            Lease lease = running(job, slot, ANNA);
            stored(lease, failed(Classification.LIMIT, null, new Deferral(until, STEP)));
            assertEquals(until, situation(job).deferUntil());
            assertEquals(
                    List.of(new OpenTick(slot, false, 1, 0, false)),
                    situation(job).backlog().open());
            JobEvent event = store().jobEvents(job.id(), 1).getFirst();
            assertEquals(JobEvent.Kind.DEFERRED, event.kind());
            assertEquals(until, event.until());
            assertEquals("no", event.reason());
        }

        @Test
        void withoutATimeItIsCountedFromTheEndByTheStoresClock() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            pass(STEP);
            stored(lease, failed(Classification.LIMIT, null, new Deferral(null, Duration.ofMinutes(7))));
            assertEquals(
                    store().now().plus(Duration.ofMinutes(7)), situation(job).deferUntil());
        }

        @Test
        void whatAPersonOrderedWaitsForItself() {
            Job job = registeredJob();
            Slot manual = Slot.manual(store().now(), "x");
            store().trigger(job.id(), List.of(manual), false, null, "ann");
            stored(
                    running(job, manual, ANNA),
                    failed(Classification.LIMIT, null, new Deferral(null, Duration.ofMinutes(7))));
            assertEquals(
                    store().now().plus(Duration.ofMinutes(7)),
                    situation(job).backlog().open().getFirst().notBefore());
        }

        @Test
        void aRefusedEndDefersNothing() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            passToTheEndOf(lease);
            refused(lease, failed(Classification.LIMIT, null, new Deferral(null, Duration.ofMinutes(7))));
            assertNull(situation(job).deferUntil());
        }

        @Test
        void aPauseIsReadWithTheSituation() {
            Job job = registeredJob();
            assertNull(situation(job).pause());
            store().pause(job.id(), null, Pause.Cause.PERSON, "why not", "ann");
            assertEquals(store().pauseOf(job.id()), situation(job).pause());
            store().resume(job.id(), null, "ann");
            assertNull(situation(job).pause());
            assertEquals(store().now(), situation(job).brakesSince());
        }
    }

    @Nested
    class Brakes {

        private void ended(Job job, int minute, Completion completion) {
            stored(running(job, slot(0), ANNA), completion);
            pass(Duration.ofMinutes(minute));
        }

        private BrakeCounts counts(Job job) {
            return store().brakeCounts(job.id(), 5, null);
        }

        private int row(Job job) {
            return counts(job).failuresInARow();
        }

        @Test
        void failuresInARowAreCountedFromTheNewestBack() {
            Job job = registeredJob();
            assertEquals(new BrakeCounts(0, null, null, 0), counts(job));
            ended(job, 1, failure("first"));
            ended(job, 1, success());
            ended(job, 1, failure("second"));
            ended(job, 1, failure("third"));
            assertEquals(new BrakeCounts(2, "third", null, 0), counts(job));
            assertEquals(1, store().brakeCounts(job.id(), 1, null).failuresInARow());
            assertEquals(0, store().brakeCounts(job.id(), 0, null).failuresInARow());
        }

        @Test
        void skipsDropsCancelledOnesLimitsAndShutdownsCountNeitherWay() {
            Job job = registeredJob();
            ended(job, 1, failure("no"));
            ended(job, 1, new Completion(Outcome.CANCELLED, true, true, 143, null, "ann", null, null));
            Slot shutdown = slot(0);
            ended(job, 1, new Completion(Outcome.ABANDONED, false, false, 143, null, "shutdown", null, null));
            Slot limit = slot(0);
            ended(job, 1, failed(Classification.LIMIT, null, new Deferral(null, STEP)));
            for (OpenTick tick : situation(job).backlog().open()) {
                applied(job, closing(slot(0).at(), List.of(tick)));
            }
            assertEquals(Outcome.ABANDONED, outcome(job, shutdown));
            assertEquals(Outcome.FAILED, outcome(job, limit));
            applied(
                    job,
                    new Plan(
                            slot(9).at(),
                            null,
                            new SlotRange(3, slot(1).at(), slot(3).at()),
                            null,
                            List.of(slot(4), slot(5)),
                            List.of(),
                            List.of(),
                            0,
                            List.of()));
            assertEquals(1, row(job));
        }

        @Test
        void whatFailedBeforeTheLastResumeIsForgotten() {
            Job job = registeredJob();
            ended(job, 1, failed(Classification.AUTH, null, null));
            assertEquals("no", counts(job).authFailure());
            assertEquals(1, row(job));
            store().pause(job.id(), null, Pause.Cause.AUTH, "no", Pause.BY_A_BRAKE);
            store().resume(job.id(), null, "ann");
            assertEquals(new BrakeCounts(0, null, null, 0), counts(job));
        }

        @Test
        void onlyTheNewestAttemptTellsOfALogin() {
            Job job = registeredJob();
            ended(job, 1, failed(Classification.AUTH, null, null));
            ended(job, 1, failure("something else"));
            assertNull(counts(job).authFailure());
        }

        @Test
        void runsOfTheScheduleAreCountedAndOrdersAreNot() {
            Job job = registeredJob();
            ended(job, 1, failure("early"));
            Instant since = store().now();
            ended(job, 1, failed(null, STEP, null));
            ended(job, 1, success());
            Slot manual = Slot.manual(store().now(), "x");
            Slot ordered = slot(-60);
            store().trigger(job.id(), List.of(manual, ordered), false, null, "ann");
            for (Slot slot : List.of(manual, ordered)) {
                stored(running(job, slot, ANNA), success());
            }
            assertEquals(2, store().brakeCounts(job.id(), 0, since).runs());
            assertEquals(0, store().brakeCounts(job.id(), 5, null).runs());
        }

        @Test
        void aBrakeIsTheReasonOfWhatItDrops() {
            Job job = registeredJob();
            applied(job, opening(slot(1).at(), slot(1)));
            OpenTick untried = situation(job).backlog().open().getFirst();
            applied(
                    job,
                    new Plan(
                            slot(3).at(),
                            null,
                            new SlotRange(2, slot(2).at(), slot(3).at()),
                            null,
                            List.of(),
                            List.of(),
                            List.of(untried),
                            0,
                            List.of(),
                            List.of(),
                            null,
                            "max-runs-per-day 3 reached"));
            assertEquals(Outcome.DROPPED, outcome(job, slot(1)));
            assertEquals("max-runs-per-day 3 reached", reasonOf(job, slot(1)));
            assertEquals(
                    Set.of("max-runs-per-day 3 reached"),
                    Set.copyOf(site().rows("select reason from tick where job = '" + job.id() + "'").stream()
                            .map(List::getFirst)
                            .toList()));
            assertInstanceOf(Start.Closed.class, start(job, slot(1), ANNA));
        }
    }
}
