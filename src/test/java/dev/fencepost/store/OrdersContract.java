package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Orders.Answer;
import dev.fencepost.run.Orders.JobEvent;
import dev.fencepost.run.Orders.JobEvent.Kind;
import dev.fencepost.run.Orders.Signal;
import dev.fencepost.run.Orders.Stop;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Pause.Cause;
import dev.fencepost.run.Start;
import dev.fencepost.run.Ticks.Situation;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Overlap;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Plan.SlotRange;
import dev.fencepost.schedule.Planner;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** What people and brakes order through the store. */
abstract class OrdersContract extends Contract {

    private static final String ME = "ann@desk";
    private static final Duration STEP = Duration.ofSeconds(1);

    private Instant in(Duration time) {
        return store().now().plus(time);
    }

    private Answer paused(Job job) {
        return store().pause(job.id(), null, Cause.PERSON, "why not", ME);
    }

    private List<JobEvent> eventsOf(Job job) {
        return store().jobEvents(job.id(), 100);
    }

    private List<Kind> kinds(Job job) {
        return eventsOf(job).stream().map(JobEvent::kind).toList();
    }

    private Answer triggered(Job job, Slot slot) {
        return assertOne(store().trigger(job.id(), List.of(slot), false, null, ME));
    }

    private static <T> T assertOne(List<T> all) {
        assertEquals(1, all.size(), all::toString);
        return all.getFirst();
    }

    private List<String> tick(Job job, Slot slot, String columns) {
        return assertOne(site().rows("select " + columns + " from tick where job = '" + job.id() + "' and slot_key = '"
                + slot.key() + "'"));
    }

    private static boolean isTrue(String column) {
        return Set.of("t", "1", "true").contains(column);
    }

    /** A tick of the slot that ended so, and the lease given back. */
    private void ended(Job job, Slot slot, Outcome outcome) {
        stored(running(job, slot, ANNA), new Completion(outcome, true, true, 1, null, "so", null, null));
    }

    private Job retiredJob() {
        Job job = registeredJob();
        store().register(List.of());
        return job;
    }

    /** Nothing but the answer: no row, no event, no signal. */
    private void changesNothing(Answer expected, String job, Callable<Answer> order) throws Exception {
        String before = everything(job);
        Signal signal = store().signal();
        List<JobEvent> events = store().jobEvents(job, 100);
        assertEquals(expected, order.call());
        assertEquals(before, everything(job));
        assertEquals(signal, store().signal());
        assertEquals(events, store().jobEvents(job, 100));
    }

    @Nested
    class OfPauses {

        @Test
        void aPauseSaysSinceWhenUntilWhenAndWhy() {
            Job job = registeredJob();
            assertNull(store().pauseOf(job.id()));
            Instant until = in(Duration.ofHours(2));
            long revision = store().signal().revision();

            assertEquals(Answer.DONE, store().pause(job.id(), until, Cause.PERSON, "holiday", ME));

            assertEquals(new Pause(store().now(), until, Cause.PERSON, "holiday", ME), store().pauseOf(job.id()));
            assertEquals(
                    new JobEvent(store().now(), job.id(), Kind.PAUSED, 0, until, "holiday", ME, null),
                    eventsOf(job).getFirst());
            assertEquals(revision + 1, store().signal().revision());
        }

        @Test
        void anEventNamesTheNewestToken() {
            Job job = registeredJob();
            long fence = running(job, slot(0), ANNA).fence().value();
            paused(job);
            assertEquals(fence, eventsOf(job).getFirst().fence());
        }

        @Test
        void aJobThatIsNotThereCannotBePaused() throws Exception {
            String name = newName();
            changesNothing(Answer.UNKNOWN, name, () -> store().pause(name, null, Cause.PERSON, null, ME));
            Job retired = retiredJob();
            changesNothing(Answer.UNKNOWN, retired.id(), () -> paused(retired));
        }

        @Test
        void anEndThatHasPassedIsRefused() {
            Job job = registeredJob();
            String before = everything(job.id());
            for (Instant until : List.of(store().now(), store().now().minusSeconds(1))) {
                IllegalArgumentException e = assertThrows(
                        IllegalArgumentException.class, () -> store().pause(job.id(), until, Cause.PERSON, null, ME));
                assertTrue(e.getMessage().contains(job.id()), e.getMessage());
            }
            assertEquals(before, everything(job.id()));
            assertEquals(
                    Answer.DONE, store().pause(job.id(), store().now().plus(site().step()), Cause.PERSON, null, ME));
        }

        @Test
        void theSamePauseAgainChangesNothing() throws Exception {
            Job job = registeredJob();
            paused(job);
            pass(STEP);
            changesNothing(Answer.ALREADY, job.id(), () -> paused(job));
        }

        @Test
        void aPersonReplacesAnyPause() {
            Job job = registeredJob();
            store().pause(job.id(), null, Cause.AUTH, "login expired", Pause.BY_A_BRAKE);
            pass(STEP);
            assertEquals(Answer.DONE, paused(job));
            assertEquals(new Pause(store().now(), null, Cause.PERSON, "why not", ME), store().pauseOf(job.id()));
            Instant until = in(STEP);
            assertEquals(Answer.DONE, store().pause(job.id(), until, Cause.PERSON, null, ME));
            assertEquals(until, store().pauseOf(job.id()).until());
        }

        @Test
        void aBrakeDoesNotReplaceAPauseInForce() throws Exception {
            Job job = registeredJob();
            paused(job);
            changesNothing(
                    Answer.ALREADY,
                    job.id(),
                    () -> store().pause(job.id(), null, Cause.FAILURES, "5 in a row", Pause.BY_A_BRAKE));
        }

        @Test
        void aBrakeReplacesAPauseThatIsOver() {
            Job job = registeredJob();
            Instant until = in(Duration.ofMinutes(5));
            store().pause(job.id(), until, Cause.PERSON, null, ME);
            pass(Duration.ofMinutes(5));
            assertEquals(Answer.DONE, store().pause(job.id(), null, Cause.FAILURES, "5 in a row", Pause.BY_A_BRAKE));
            assertEquals(Cause.FAILURES, store().pauseOf(job.id()).cause());
            assertEquals(List.of(Kind.PAUSED, Kind.RESUMED, Kind.PAUSED, Kind.REGISTERED), kinds(job));
            assertEquals(until, cursor(job), "what lay in the first pause is not missed");
        }

        @Test
        void aPauseEndsAtItsEndAndNotBefore() {
            Job job = registeredJob();
            Instant until = in(Duration.ofMinutes(5));
            store().pause(job.id(), until, Cause.PERSON, null, ME);
            pass(Duration.ofMinutes(5).minus(site().step()));
            assertFalse(store().endPause(job.id()));
            pass(site().step());
            assertEquals(until, store().now());
            long revision = store().signal().revision();
            assertTrue(store().endPause(job.id()));
            assertNull(store().pauseOf(job.id()));
            assertEquals(until, cursor(job));
            assertEquals(
                    new JobEvent(
                            until, job.id(), Kind.RESUMED, 0, null, "the pause was until now", Pause.BY_A_BRAKE, null),
                    eventsOf(job).getFirst());
            assertEquals(revision + 1, store().signal().revision());
            assertFalse(store().endPause(job.id()), "a second caller changes nothing");
            assertEquals(revision + 1, store().signal().revision());
        }

        /** Case CAT-15: the end is an instant, whether a node was up at it or not. */
        @Test
        void slotsInsideAPauseAreNotMissedAndThoseAfterItAre() {
            Job job = registered(job(newName(), new Every(Duration.ofMinutes(1)), new CatchUp(10_000, null), null, 2));
            Instant until = slot(30).at();
            store().pause(job.id(), until, Cause.PERSON, null, ME);
            pass(Duration.between(store().now(), slot(33).at()).plusSeconds(20));
            assertTrue(store().endPause(job.id()));
            Instant now = store().now();
            Plan plan = Planner.plan(
                    new Planner.Rules(job.schedule(), job.catchUp(), Overlap.SKIP, 2, null),
                    now,
                    situation(job).backlog());
            assertEquals(
                    IntStream.rangeClosed(1, 3)
                            .mapToObj(i -> Slot.at(until.plusSeconds(60L * i)))
                            .toList(),
                    plan.due());
            assertNull(plan.dropped());
        }

        @Test
        void theCursorOnlyRises() {
            Job job = registeredJob();
            store().pause(job.id(), in(STEP), Cause.PERSON, null, ME);
            pass(Duration.ofMinutes(3));
            Instant planned = store().now();
            plantCursor(job, planned);
            assertTrue(store().endPause(job.id()));
            assertEquals(planned, cursor(job));
        }

        @Test
        void aPauseWithoutEndDoesNotEndByItself() {
            Job job = registeredJob();
            paused(job);
            pass(Duration.ofDays(400));
            assertFalse(store().endPause(job.id()));
            assertFalse(store().endPause(newName()));
        }

        @Test
        void theSlotsOfAPauseThatIsResumedAreNotMissed() {
            Job job = registeredJob();
            paused(job);
            pass(Duration.ofHours(3));
            assertEquals(Answer.DONE, store().resume(job.id(), "back", ME));
            assertNull(store().pauseOf(job.id()));
            assertEquals(store().now(), cursor(job));
            assertEquals(
                    new JobEvent(store().now(), job.id(), Kind.RESUMED, 0, null, "back", ME, null),
                    eventsOf(job).getFirst());
        }

        @Test
        void aPauseThatIsOverIsResumedAsOfItsEnd() {
            Job job = registeredJob();
            Instant until = in(Duration.ofMinutes(5));
            store().pause(job.id(), until, Cause.PERSON, null, ME);
            pass(Duration.ofMinutes(20));
            store().resume(job.id(), null, ME);
            assertNull(store().pauseOf(job.id()));
            assertEquals(until, cursor(job), "what came due after it is due");
        }

        @Test
        void whatIsNotPausedCannotBeResumed() throws Exception {
            String name = newName();
            changesNothing(Answer.UNKNOWN, name, () -> store().resume(name, null, ME));
            Job retired = retiredJob();
            changesNothing(Answer.UNKNOWN, retired.id(), () -> store().resume(retired.id(), null, ME));
            Job job = registeredJob();
            changesNothing(Answer.ALREADY, job.id(), () -> store().resume(job.id(), null, ME));
            ended(job, slot(0), Outcome.FAILED);
            pass(STEP);
            ended(job, slot(1), Outcome.SUCCEEDED);
            changesNothing(Answer.ALREADY, job.id(), () -> store().resume(job.id(), null, ME));
        }

        @Test
        void resumeForgetsTheTimeOfAUsageLimitAndLeavesTheCursor() {
            Job job = registeredJob();
            Instant cursor = cursor(job);
            site().sql("update job set defer_until = " + site().literal(in(TTL))
                    + ", defer_reason = 'limit' where id = '" + job.id() + "'");
            pass(STEP);
            assertEquals(Answer.DONE, store().resume(job.id(), null, ME));
            assertNull(site().value("select defer_until from job where id = '" + job.id() + "'"));
            assertNull(site().value("select defer_reason from job where id = '" + job.id() + "'"));
            assertEquals(cursor, cursor(job), "it was not paused");
        }

        @Test
        void resumeForgetsFailuresInARow() {
            Job job = registeredJob();
            pass(STEP);
            ended(job, slot(0), Outcome.FAILED);
            pass(STEP);
            assertEquals(Answer.DONE, store().resume(job.id(), null, ME));
            assertEquals(
                    1,
                    site().count("job where id = '" + job.id() + "' and brakes_since = "
                            + site().literal(store().now())));
            assertEquals(Answer.ALREADY, store().resume(job.id(), null, ME));
        }

        @Test
        void aPausedJobThatLeavesTheFileAndComesBackIsStillPaused() {
            Job job = registeredJob();
            paused(job);
            store().register(List.of());
            assertEquals("why not", store().pauseOf(job.id()).reason());
            registered(job);
            assertEquals("why not", store().pauseOf(job.id()).reason());
        }

        @Test
        void ofTwoPausesAtOnceOneIsDone() throws Exception {
            Job job = registeredJob();
            List<Answer> answers = atOnce(List.of(
                    () -> paused(job), () -> site().otherNode().pause(job.id(), null, Cause.PERSON, "why not", ME)));
            assertEquals(Set.of(Answer.DONE, Answer.ALREADY), Set.copyOf(answers));
            assertEquals(List.of(Kind.PAUSED, Kind.REGISTERED), kinds(job));
        }

        @Test
        void ofManyWhoEndAPauseOneDoes() throws Exception {
            Job job = registeredJob();
            store().pause(job.id(), in(STEP), Cause.PERSON, null, ME);
            pass(STEP);
            List<Callable<Boolean>> calls = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                calls.add(
                        i % 2 == 0
                                ? () -> store().endPause(job.id())
                                : () -> site().otherNode().endPause(job.id()));
            }
            assertEquals(1, atOnce(calls).stream().filter(ended -> ended).count());
            assertEquals(List.of(Kind.RESUMED, Kind.PAUSED, Kind.REGISTERED), kinds(job));
        }
    }

    @Nested
    class OfTriggers {

        @Test
        void aManualTickIsOpenAndOrdered() {
            Job job = registeredJob();
            Instant cursor = cursor(job);
            Slot slot = Slot.manual(store().now(), "abc");
            long revision = store().signal().revision();
            assertEquals(List.of(Answer.DONE), store().trigger(job.id(), List.of(slot), true, "a look", ME));
            List<String> row = tick(
                    job, slot, "outcome, ordered, without_effects, attempts_before, not_before, attempts, on_time");
            assertNull(row.getFirst());
            assertTrue(isTrue(row.get(1)));
            assertTrue(isTrue(row.get(2)));
            assertEquals("0", row.get(3));
            assertNull(row.get(4));
            assertEquals("0", row.get(5));
            assertFalse(isTrue(row.get(6)));
            assertEquals(slot, assertOne(situation(job).backlog().open()).slot());
            assertEquals(cursor, cursor(job), "it eats no slot");
            assertEquals(
                    new JobEvent(store().now(), job.id(), Kind.TRIGGERED, 0, null, "a look", ME, slot.key()),
                    eventsOf(job).getFirst());
            assertEquals(revision + 1, store().signal().revision());
            started(job, slot, ANNA);
        }

        @Test
        void slotsOfTheCalendarKeepTheirInstants() {
            Job job = registeredJob();
            List<Slot> slots =
                    IntStream.rangeClosed(-9, 3).mapToObj(i -> slot(i)).toList();
            assertEquals(
                    slots.stream().map(slot -> Answer.DONE).toList(),
                    store().trigger(job.id(), slots, false, null, ME));
            assertEquals(
                    slots.reversed(),
                    situation(job).backlog().open().stream()
                            .map(tick -> tick.slot())
                            .toList());
            String named = eventsOf(job).getFirst().slots();
            assertTrue(named.startsWith(slots.getFirst().key() + ", "), named);
            assertTrue(named.endsWith(slots.get(9).key() + " and 3 more"), named);
        }

        @Test
        void anUnknownJobHasNoAnswers() {
            String name = newName();
            Signal signal = store().signal();
            assertEquals(List.of(), store().trigger(name, List.of(slot(0)), false, null, ME));
            Job retired = retiredJob();
            assertEquals(List.of(), store().trigger(retired.id(), List.of(slot(0)), false, null, ME));
            assertEquals(0, site().count("lease where resource = '" + name + "'"));
            assertEquals(0, site().count("lease where resource = '" + retired.id() + "' and fence > 0"));
            assertEquals(0, site().count("tick where job in ('" + name + "', '" + retired.id() + "')"));
            assertEquals(signal, store().signal());
        }

        @Test
        void noneAndTooManyAreRefused() {
            Job job = registeredJob();
            List<Slot> many =
                    IntStream.rangeClosed(1, 10_001).mapToObj(i -> slot(-i)).toList();
            for (List<Slot> slots : List.of(List.<Slot>of(), many)) {
                assertThrows(IllegalArgumentException.class, () -> store().trigger(job.id(), slots, false, null, ME));
            }
            assertEquals(
                    10_000,
                    store().trigger(job.id(), many.subList(0, 10_000), false, null, ME).stream()
                            .filter(answer -> answer == Answer.DONE)
                            .count());
        }

        @Test
        void aTickThatEndedOtherwiseIsOpenedAgain() {
            for (Outcome outcome : List.of(Outcome.FAILED, Outcome.TIMED_OUT, Outcome.ABANDONED, Outcome.CANCELLED)) {
                Job job = registeredJob();
                Slot slot = slot(0);
                stored(running(job, slot, ANNA), notTheLast(Outcome.ABANDONED));
                stored(running(job, slot, ANNA), new Completion(outcome, true, true, 1, null, "so", null, null));
                assertEquals(outcome, outcome(job, slot));
                site().sql("update tick set not_before = " + site().literal(in(TTL)) + " where job = '" + job.id()
                        + "'");

                assertEquals(Answer.DONE, triggered(job, slot));

                assertNull(outcome(job, slot));
                List<String> row = tick(job, slot, "attempts_before, not_before, ended_at, reason, attempts, ordered");
                assertEquals("2", row.getFirst());
                assertNull(row.get(1));
                assertNull(row.get(2));
                assertNull(row.get(3));
                assertEquals("2", row.get(4));
                assertTrue(isTrue(row.get(5)));
            }
        }

        @Test
        void anAttemptThatDidNotCountIsNotAmongThoseBefore() {
            Job job = registeredJob();
            Slot slot = slot(0);
            stored(
                    running(job, slot, ANNA),
                    new Completion(Outcome.ABANDONED, false, false, null, null, "shutdown", null, null));
            triggered(job, slot);
            assertEquals(List.of("0"), tick(job, slot, "attempts_before"));
        }

        @Test
        void skippedAndDroppedSlotsAreOpenedAgain() {
            Job job = registeredJob();
            Slot skipped = slot(-1);
            Slot inRange = slot(-5);
            applied(
                    job,
                    new Plan(
                            store().now(),
                            null,
                            new SlotRange(3, slot(-6).at(), slot(-4).at()),
                            null,
                            List.of(skipped),
                            List.of(),
                            List.of(),
                            0,
                            List.of()));
            assertEquals(Outcome.SKIPPED_OVERLAP, outcome(job, skipped));
            assertEquals(
                    List.of(Answer.DONE, Answer.DONE),
                    store().trigger(job.id(), List.of(inRange, skipped), false, null, ME));
            assertNull(outcome(job, skipped));
            assertNull(outcome(job, inRange));
            assertEquals(1, site().count("tick where job = '" + job.id() + "' and range_count = 3"));
        }

        @Test
        void whatHasSucceededAndWhatRunsIsLeftAlone() {
            Job job = registeredJob();
            ended(job, slot(0), Outcome.SUCCEEDED);
            running(job, slot(1), ANNA);
            String before = everything(job.id());
            Signal signal = store().signal();
            assertEquals(
                    List.of(Answer.ALREADY_DONE, Answer.ALREADY_DONE),
                    store().trigger(job.id(), List.of(slot(0), slot(1)), false, null, ME));
            assertEquals(before, everything(job.id()));
            assertEquals(signal, store().signal());
            assertEquals(List.of(Kind.REGISTERED), kinds(job));

            assertEquals(
                    List.of(Answer.ALREADY_DONE, Answer.DONE, Answer.DONE),
                    store().trigger(job.id(), List.of(slot(0), slot(2), slot(2)), false, null, ME));
            assertEquals(slot(2).key(), eventsOf(job).getFirst().slots());
        }

        @Test
        void aSlotWhoseHolderDiedIsOpened() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            passToTheEndOf(lease);
            assertEquals(Answer.DONE, triggered(job, Slot.at(Instant.parse(lease.slotKey()))));
            assertEquals(
                    List.of("1"), tick(job, Slot.at(Instant.parse(lease.slotKey())), "attempts_before"), "it counts");
        }

        @Test
        void anOpenTickBecomesAnOrderedOne() {
            Job job = registeredJob();
            Slot slot = slot(0);
            applied(job, opening(store().now(), slot));
            assertEquals(Answer.DONE, triggered(job, slot));
            assertTrue(isTrue(tick(job, slot, "ordered").getFirst()));
            assertTrue(isTrue(tick(job, slot, "on_time").getFirst()), "what was planned of it stays");
        }

        @Test
        void aPlanThatWasMadeBeforeTheOrderDoesNotCloseTheTick() {
            Job job = registeredJob();
            Slot slot = slot(0);
            applied(job, opening(store().now(), slot));
            Situation before = situation(job);
            assertEquals(Answer.DONE, triggered(job, slot));
            Plan written = applied(
                    job, closing(before.backlog().cursor(), before.backlog().open()));
            assertEquals(List.of(), written.closed(), "nobody is told that it was");
            assertNull(outcome(job, slot));
        }

        @Test
        void aPlanThatWasMadeBeforeAnOrderIsRepeatedDoesNotCloseTheTick() {
            Job job = registeredJob();
            Slot slot = slot(0);
            assertEquals(Answer.DONE, triggered(job, slot));
            stored(running(job, slot, ANNA), notTheLast(Outcome.FAILED));
            stored(running(job, slot, ANNA), notTheLast(Outcome.FAILED));
            Situation before = situation(job);
            assertEquals(Answer.DONE, triggered(job, slot));
            applied(job, closing(before.backlog().cursor(), before.backlog().open()));
            assertNull(outcome(job, slot));
            applied(
                    job,
                    closing(before.backlog().cursor(), situation(job).backlog().open()));
            assertEquals(Outcome.FAILED, outcome(job, slot), "a plan that knows of the order may");
        }

        @Test
        void aPausedJobIsTriggeredAllTheSame() {
            Job job = registeredJob();
            paused(job);
            assertEquals(Answer.DONE, triggered(job, slot(0)));
            assertTrue(store().pauseOf(job.id()) != null, "and stays paused");
        }

        @Test
        void ofATriggerAndAStartAtOnceNeitherIsLost() throws Exception {
            for (int round = 0; round < 10; round++) {
                Job job = registeredJob();
                Slot slot = slot(0);
                atOnce(List.<Callable<Object>>of(
                        () -> triggered(job, slot), () -> site().otherNode().start(job, slot, BEN, newRun(), false)));
                List<String> row = tick(job, slot, "attempts_before, attempts");
                assertEquals(List.of("0", "1"), row, "a running attempt was counted as one before the order");
            }
        }
    }

    @Nested
    class OfCancels {

        @Test
        void whatRunsIsAskedToStop() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            running(registeredJob(), slot(0), BEN);
            assertEquals(
                    List.of(),
                    store().stops(ANNA).stream()
                            .filter(s -> s.job().equals(job.id()))
                            .toList());

            assertEquals(Answer.DONE, store().cancel(job.id(), "too dear", ME));

            Stop stop = new Stop(lease.runId(), job.id(), false, "cancelled by " + ME + ": too dear");
            assertTrue(store().stops(ANNA).contains(stop));
            assertFalse(store().stops(BEN).contains(stop));
            assertEquals(Kind.CANCELLED, kinds(job).getFirst());
            assertNull(outcome(job, slot(0)), "its holder ends it");
            stored(lease, new Completion(Outcome.CANCELLED, true, true, null, 15, stop.reason(), null, null));
            assertFalse(store().stops(ANNA).contains(stop));
        }

        @Test
        void aRunIsAskedOnce() throws Exception {
            Job job = registeredJob();
            running(job, slot(0), ANNA);
            store().cancel(job.id(), null, ME);
            changesNothing(Answer.ALREADY, job.id(), () -> store().cancel(job.id(), null, ME));
        }

        @Test
        void aTakeOverIsTold() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), new Owner(newName()));
            site().sql("update attempt set stop_kind = 'TAKE_OVER', stop_reason = 'superseded' where job = '" + job.id()
                    + "'");
            assertEquals(List.of(new Stop(lease.runId(), job.id(), true, "superseded")), store().stops(lease.owner()));
            assertEquals(Answer.DONE, store().cancel(job.id(), null, ME));
            assertEquals(
                    List.of(new Stop(lease.runId(), job.id(), false, "cancelled by " + ME)),
                    store().stops(lease.owner()));
        }

        @Test
        void ticksThatWaitEndCancelled() {
            Job job = registeredJob();
            running(job, slot(0), ANNA);
            triggered(job, slot(1));
            assertEquals(Answer.DONE, store().cancel(job.id(), "enough", ME));
            assertNull(outcome(job, slot(0)));
            assertEquals(Outcome.CANCELLED, outcome(job, slot(1)));
            assertEquals(List.of("cancelled by " + ME + ": enough"), tick(job, slot(1), "reason"));
        }

        @Test
        void aSlotThatWaitsForAFurtherTryEndsCancelled() {
            Job job = registeredJob();
            stored(running(job, slot(0), ANNA), notTheLast(Outcome.FAILED));
            assertEquals(Answer.DONE, store().cancel(job.id(), null, ME));
            assertEquals(Outcome.CANCELLED, outcome(job, slot(0)));
        }

        @Test
        void theSlotOfADeadHolderIsNotTriedAgain() {
            Job job = registeredJob();
            Slot slot = slot(0);
            Lease lease = running(job, slot, ANNA);
            passToTheEndOf(lease);
            assertEquals(Answer.DONE, store().cancel(job.id(), null, ME));
            assertEquals(Outcome.CANCELLED, outcome(job, slot));
            assertTrue(
                    store().stops(ANNA).stream().anyMatch(stop -> stop.runId().equals(lease.runId())),
                    "should it only have stood still");
        }

        /** Its lease may be gone before anybody has written its end: released by hand, or taken for the very same slot. */
        @Test
        void theSlotOfARunThatWasCancelledIsNotStartedAgain() {
            for (boolean released : List.of(true, false)) {
                Job job = registeredJob();
                Slot slot = slot(0);
                Lease lease = running(job, slot, ANNA);
                assertEquals(Answer.DONE, store().cancel(job.id(), null, ME));
                if (released) {
                    assertEquals(Optional.empty(), store().release(lease));
                } else {
                    passToTheEndOf(lease);
                }

                assertEquals(new Start.Closed(Refusal.ALREADY_DONE), store().start(job, slot, BEN, newRun(), false));

                assertEquals(Outcome.CANCELLED, outcome(job, slot));
                assertEquals(Outcome.CANCELLED, attempt(lease).outcome());
                assertEquals(1, site().count("attempt where job = '" + job.id() + "'"));
                assertInstanceOf(
                        Start.Started.class,
                        store().start(job, slot, BEN, newRun(), true),
                        "a person may want it all the same");
            }
        }

        @Test
        void whereNothingRunsNothingIsCancelled() throws Exception {
            String name = newName();
            changesNothing(Answer.UNKNOWN, name, () -> store().cancel(name, null, ME));
            Job retired = retiredJob();
            changesNothing(Answer.UNKNOWN, retired.id(), () -> store().cancel(retired.id(), null, ME));
            Job job = registeredJob();
            ended(job, slot(0), Outcome.FAILED);
            changesNothing(Answer.ALREADY, job.id(), () -> store().cancel(job.id(), null, ME));
        }

        @Test
        void aRunOfAJobThatLeftTheFileCanBeCancelled() {
            Job job = registeredJob();
            Lease lease = running(job, slot(0), ANNA);
            store().register(List.of());
            assertEquals(Answer.DONE, store().cancel(job.id(), null, ME));
            assertTrue(
                    store().stops(ANNA).stream().anyMatch(stop -> stop.runId().equals(lease.runId())));
        }
    }

    @Nested
    class OfTheSignal {

        @Test
        void aReloadIsForAll() {
            Signal before = store().signal();
            store().reload("new prices", ME);
            assertEquals(
                    new Signal(before.revision() + 1, before.reloads() + 1),
                    site().otherNode().signal());
            assertEquals(
                    new JobEvent(store().now(), null, Kind.RELOADED, 0, null, "new prices", ME, null),
                    store().jobEvents(null, 1).getFirst());
        }

        @Test
        void everyOrderOfManyAtOnceIsCounted() throws Exception {
            Job job = registeredJob();
            Signal before = store().signal();
            List<Callable<Boolean>> calls = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                Slot slot = Slot.manual(store().now(), "n" + i);
                calls.add(() -> {
                    var store = slot.key().hashCode() % 2 == 0 ? store() : site().otherNode();
                    Signal mine = store.signal();
                    store.trigger(job.id(), List.of(slot), false, null, ME);
                    return store.signal().revision() > mine.revision();
                });
            }
            assertFalse(atOnce(calls).contains(false), "an order whose signal had been read before");
            assertEquals(new Signal(before.revision() + 12, before.reloads()), store().signal());
            assertEquals(12, situation(job).backlog().open().size());
        }

        @Test
        void anOrderThatFailsLeavesNothing() {
            Job job = registeredJob();
            String before = everything(job.id());
            Signal signal = store().signal();
            site().failInserts("job_event");
            try {
                assertThrows(RuntimeException.class, () -> paused(job));
                assertThrows(RuntimeException.class, () -> triggered(job, slot(0)));
                assertThrows(RuntimeException.class, () -> store().reload(null, ME));
            } finally {
                site().repair("job_event");
            }
            assertEquals(before, everything(job.id()));
            assertEquals(signal, store().signal());
        }
    }

    @Nested
    class OfEvents {

        @Test
        void aJobsLifeIsTold() {
            String id = newName();
            registered(job(id));
            registered(job(id));
            Job hourly = registered(job(id, new Every(Duration.ofHours(1)), CatchUp.DEFAULT, null, 2));
            store().register(List.of());
            store().register(List.of());
            registered(hourly);
            assertEquals(List.of(Kind.REGISTERED, Kind.RETIRED, Kind.RESCHEDULED, Kind.REGISTERED), kinds(hourly));
            JobEvent rescheduled = eventsOf(hourly).get(2);
            assertEquals(
                    new Every(Duration.ofHours(1)).text() + ", was " + new Every(Duration.ofMinutes(1)).text(),
                    rescheduled.reason());
            assertEquals(Pause.BY_A_BRAKE, rescheduled.by());
        }

        @Test
        void theNewestComeFirst() {
            Job job = registeredJob();
            paused(job);
            store().resume(job.id(), null, ME);
            assertEquals(List.of(Kind.RESUMED, Kind.PAUSED), kinds(job).subList(0, 2));
            assertEquals(
                    List.of(Kind.RESUMED),
                    store().jobEvents(job.id(), 1).stream().map(JobEvent::kind).toList());
            assertEquals(store().jobEvents(job.id(), 2), store().jobEvents(null, 2));
        }
    }

    /** The attempts before the order do not bar it: here, the only one that there was. */
    @Test
    void aStartSeesTheOrderThatCameBefore() {
        Job job = registeredJob();
        Slot slot = slot(0);
        ended(job, slot, Outcome.FAILED);
        ended(job, slot(1), Outcome.FAILED);
        triggered(job, slot);
        assertInstanceOf(Start.Started.class, start(job, slot, BEN));
    }
}
