package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.run.Completion;
import dev.fencepost.run.History.SlotHistory;
import dev.fencepost.run.Job;
import dev.fencepost.run.Nodes.State;
import dev.fencepost.run.Orders.JobEvent.Kind;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Pause.Cause;
import dev.fencepost.run.Why;
import dev.fencepost.run.Why.Because;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Plan.SlotRange;
import dev.fencepost.schedule.Schedule;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Prepared histories, and the sentence that says what became of a slot. */
abstract class WhyContract extends Contract {

    private static final ZoneId TOKYO = ZoneId.of("Asia/Tokyo");
    private static final String ME = "ann@desk";
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final Owner NODE = new Incarnation("2f1c09ab-0000", "boot", 1, 4711, 5, "00000000").owner();

    private Job job;

    @BeforeEach
    void registerAndGoToTheBeginningOfAMinute() {
        // Nodes of other tests: a store in which none was ever seen.
        site().sql("delete from node");
        pass(Duration.between(
                store().now(), store().now().truncatedTo(ChronoUnit.MINUTES).plusSeconds(60)));
        job = registeredJob();
    }

    private Why.Answer why(Job of, Schedule schedule, Slot slot) {
        return Why.of(new Why.Facts(
                of.id(),
                TOKYO,
                store().now(),
                schedule,
                store().jobs().stream()
                        .filter(each -> each.id().equals(of.id()))
                        .findFirst()
                        .orElse(null),
                store().situation(of.id()) == null ? null : cursor(of),
                slot,
                slot == null ? new SlotHistory(null, List.of(), null) : store().slot(of.id(), slot),
                store().jobEvents(of.id(), 1_000),
                store().nodes(1_000)));
    }

    /** @param sentence without the job's name before it */
    private void because(Because because, Slot slot, String sentence) {
        assertEquals(new Why.Answer(because, job.id() + " " + sentence + "."), why(job, job.schedule(), slot));
    }

    private static String at(Instant instant) {
        Instant whole = instant.truncatedTo(ChronoUnit.SECONDS);
        return DateTimeFormatter.ISO_OFFSET_DATE_TIME.format(whole.atZone(TOKYO)) + " (" + whole + ")";
    }

    private static String at(Slot slot) {
        return at(slot.at());
    }

    private Instant now() {
        return store().now();
    }

    private void nodeIsAlive() {
        store().seen(NODE, new State("vps", "1", "f", "h", null));
    }

    private Slot nextMinute() {
        pass(MINUTE);
        return slot(0);
    }

    private void planned(Slot slot) {
        applied(job, opening(slot.at(), slot));
    }

    @Test
    void itSucceeded() {
        nodeIsAlive();
        Slot slot = nextMinute();
        Lease lease = running(job, slot, NODE);
        pass(Duration.ofSeconds(200));
        stored(lease, success());
        because(
                Because.SUCCEEDED,
                slot,
                "ran for " + at(slot) + " and succeeded: attempt 1 on vps ended SUCCEEDED at " + at(now())
                        + " after 3m20s");
    }

    @Test
    void itFailed() {
        Slot slot = nextMinute();
        stored(running(job, slot, NODE), notTheLast(Outcome.ABANDONED));
        Lease lease = running(job, slot, NODE);
        pass(Duration.ofMillis(1_500));
        stored(lease, new Completion(Outcome.FAILED, true, true, 7, null, null, null, null));
        because(
                Because.FAILED,
                slot,
                "ran for " + at(slot) + " without success: attempt 2 on 2f1c09ab/4711 ended FAILED at " + at(now())
                        + " after 1.5s (exit code 7)");
    }

    @Test
    void itRunsNow() {
        Slot slot = nextMinute();
        Lease lease = running(job, slot, ANNA);
        Instant start = now();
        pass(MINUTE);
        because(
                Because.RUNNING,
                slot,
                "runs for " + at(slot) + " since " + at(start) + ": attempt 1 on anna, token " + lease.fence());
    }

    @Test
    void itsHolderIsGone() {
        Slot slot = nextMinute();
        Lease lease = running(job, slot, ANNA);
        Instant start = now();
        passToTheEndOf(lease);
        because(
                Because.HOLDER_GONE,
                slot,
                "was running for " + at(slot) + " since " + at(start) + ": attempt 1 on anna, token " + lease.fence()
                        + "; its lease is over and its holder gone, and the next run ends it as ABANDONED");
    }

    @Test
    void theRunBeforeHeldTheLease() {
        Slot first = nextMinute();
        Lease lease = running(job, first, ANNA);
        Slot second = nextMinute();
        applied(job, new Plan(second.at(), null, null, null, List.of(second), List.of(), List.of(), 0, List.of()));
        because(
                Because.SKIPPED_OVERLAP,
                second,
                "skipped " + at(second) + ": the run of " + at(first) + " held the lease with token " + lease.fence()
                        + " on anna, since " + at(lease.grantedAt()) + " and without an end yet");
        pass(Duration.ofSeconds(30));
        stored(lease, success());
        because(
                Because.SKIPPED_OVERLAP,
                second,
                "skipped " + at(second) + ": the run of " + at(first) + " held the lease with token " + lease.fence()
                        + " on anna until " + at(now()));
    }

    private void dropped(Slot first, Slot last, int count) {
        applied(
                job,
                new Plan(
                        last.at(),
                        null,
                        new SlotRange(count, first.at(), last.at()),
                        null,
                        List.of(),
                        List.of(),
                        List.of(),
                        0,
                        List.of()));
    }

    @Test
    void itWasDroppedSinceNoNodeWasUp() {
        nodeIsAlive();
        Instant down = now();
        Slot first = nextMinute();
        Slot second = nextMinute();
        Slot third = nextMinute();
        pass(Duration.ofSeconds(10));
        store().seen(BEN, new State("vps", "1", "f", "h", null));
        dropped(first, third, 3);
        because(
                Because.DROPPED,
                second,
                "did not run for " + at(second) + ": dropped, one of 3 slots from " + first.key() + " to " + third.key()
                        + ": missed, catch-up.max is 1; no node was alive from " + at(down) + " to " + at(now()));
    }

    @Test
    void aBrakeDroppedIt() {
        Slot slot = nextMinute();
        planned(slot);
        site().sql("update tick set outcome = 'DROPPED', ended_at = opened_at, reason = 'max-runs-per-day 3 reached'"
                + " where job = '" + job.id() + "'");
        because(
                Because.BRAKE,
                slot,
                "did not run for " + at(slot) + ": stopped by the brake max-runs-per-day 3 reached");
    }

    @Test
    void aPersonHasPausedIt() {
        pass(MINUTE);
        store().pause(job.id(), null, Cause.PERSON, "holiday", ME);
        Instant since = now();
        Slot slot = nextMinute();
        because(
                Because.PAUSED,
                slot,
                "did not run for " + at(slot) + ": it is paused by " + ME + " since " + at(since)
                        + " until somebody resumes it: holiday");
        pass(MINUTE);
        store().resume(job.id(), null, ME);
        because(
                Because.PAUSED,
                slot,
                "did not run for " + at(slot) + ": it was paused by " + ME + " from " + at(since) + " to " + at(now())
                        + ": holiday");
    }

    @Test
    void aPauseThatEndedByItself() {
        pass(MINUTE);
        Instant since = now();
        Instant until = since.plusSeconds(90);
        store().pause(job.id(), until, Cause.PERSON, null, ME);
        Slot slot = nextMinute();
        pass(MINUTE);
        String sentence = "did not run for " + at(slot) + ": it was paused by " + ME;
        because(Because.PAUSED, slot, sentence + " since " + at(since) + " until " + at(until));
        store().endPause(job.id());
        because(Because.PAUSED, slot, sentence + " from " + at(since) + " to " + at(until));
    }

    @Test
    void aBrakeHasPausedIt() {
        pass(MINUTE);
        store().pause(job.id(), null, Cause.FAILURES, "5 failures in a row", Pause.BY_A_BRAKE);
        Instant since = now();
        Slot slot = nextMinute();
        because(
                Because.BRAKE,
                slot,
                "did not run for " + at(slot) + ": it is paused by the brake pause-after-failures since " + at(since)
                        + " until somebody resumes it: 5 failures in a row");
    }

    @Test
    void anOpenSlotWaitsForAResume() {
        Slot slot = nextMinute();
        planned(slot);
        store().pause(job.id(), null, Cause.PERSON, null, ME);
        because(
                Because.PAUSED,
                slot,
                "has not run for " + at(slot) + " yet: it waits, since the job is paused by " + ME + " since "
                        + at(now()) + " until somebody resumes it");
    }

    /** As the runner writes it. */
    private void deferred(Instant until) {
        site().sql("update job set defer_until = " + site().literal(until) + ", defer_reason = 'usage limit reached'"
                + " where id = '" + job.id() + "'");
        site().sql("insert into job_event (at, job, kind, fence, until, reason, ordered_by) values ("
                + site().literal(now()) + ", '" + job.id() + "', '" + Kind.DEFERRED + "', 1, " + site().literal(until)
                + ", 'usage limit reached', 'fencepost')");
    }

    @Test
    void onlyAPersonLiftsAUsageLimit() {
        pass(MINUTE);
        deferred(now().plusSeconds(3600));
        store().pause(job.id(), now().plusSeconds(30), Cause.PERSON, null, ME);
        Slot first = nextMinute();
        assertTrue(store().endPause(job.id()));
        assertEquals(Because.DEFERRED, why(job, job.schedule(), first).because());
        pass(MINUTE);
        store().resume(job.id(), null, ME);
        Slot second = nextMinute();
        assertEquals(Because.NO_NODE, why(job, job.schedule(), second).because());
        assertEquals(Because.DEFERRED, why(job, job.schedule(), first).because(), "it was then");
    }

    @Test
    void aSlotBeforeTheRegistrationMayBeDue() {
        Job early = registered(job(newName(), job.schedule(), CatchUp.DEFAULT, slot(-9).at(), 2));
        assertEquals(Because.NO_NODE, why(early, early.schedule(), slot(-3)).because());
        assertEquals(
                Because.BEFORE_REGISTRATION,
                why(early, early.schedule(), slot(-10)).because());
    }

    @Test
    void aUsageLimitDefersIt() {
        pass(MINUTE);
        Instant since = now();
        Instant until = since.plusSeconds(3600);
        deferred(until);
        Slot slot = nextMinute();
        because(
                Because.DEFERRED,
                slot,
                "did not run for " + at(slot) + ": it was deferred at " + at(since) + " until " + at(until)
                        + " by a usage limit: usage limit reached");
        planned(slot);
        because(
                Because.DEFERRED,
                slot,
                "has not run for " + at(slot) + " yet: it waits, since the job is deferred until " + at(until)
                        + " by a usage limit: usage limit reached");
    }

    @Test
    void itWaitsForARetry() {
        Slot slot = nextMinute();
        Lease lease = running(job, slot, ANNA);
        pass(Duration.ofSeconds(5));
        stored(lease, new Completion(Outcome.FAILED, false, true, 1, null, null, null, null));
        Instant again = now().plusSeconds(120);
        site().sql("update tick set not_before = " + site().literal(again) + " where job = '" + job.id() + "'");
        because(
                Because.WAITS_FOR_RETRY,
                slot,
                "is not done with " + at(slot) + ": attempt 1 ended FAILED at " + at(now())
                        + " after 5s (exit code 1), and it is tried again at " + at(again));
    }

    @Test
    void itWaitsForTheLease() {
        nodeIsAlive();
        Slot first = nextMinute();
        Slot order = Slot.manual(now(), "x");
        Lease lease = running(job, first, ANNA);
        store().trigger(job.id(), List.of(order), false, null, ME);
        because(
                Because.WAITS_FOR_LEASE,
                order,
                "has not run for the order " + order.key() + " yet: it waits for the lease that anna holds with token "
                        + lease.fence() + " for " + at(first) + " until " + at(lease.expiresAt())
                        + ", longer if it is renewed");
        stored(lease, success());
        store().seen(NODE, new State("vps", "1", "f", "h", null));
        because(
                Because.DUE,
                order,
                "has not run for the order " + order.key() + " yet: it is due, by order; a node takes it in a moment");
    }

    @Test
    void aPersonCancelledIt() {
        Slot slot = nextMinute();
        store().trigger(job.id(), List.of(slot), false, null, ME);
        store().cancel(job.id(), "too dear", ME);
        because(
                Because.CANCELLED,
                slot,
                "did not run for " + at(slot) + ": cancelled by " + ME + ": too dear, at " + at(now()));
    }

    @Test
    void noNodeIsAlive() {
        Slot never = nextMinute();
        because(Because.NO_NODE, never, "did not run for " + at(never) + ": no node has ever run on this store");
        nodeIsAlive();
        Instant last = now();
        Slot slot = nextMinute();
        because(Because.NO_NODE, slot, "did not run for " + at(slot) + ": no node is alive since " + at(last));
        planned(slot);
        because(
                Because.NO_NODE,
                slot,
                "has not run for " + at(slot) + " yet: it waits: no node is alive since " + at(last));
    }

    @Test
    void noNodeWasAliveWhenItCameDue() {
        nodeIsAlive();
        Instant last = now();
        Slot slot = nextMinute();
        pass(MINUTE);
        store().seen(BEN, new State("other", "1", "f", "h", null));
        plantCursor(job, now());
        because(
                Because.NODE_DOWN,
                slot,
                "did not run for " + at(slot) + ": no node was alive from " + at(last) + " to " + at(now()));
    }

    @Test
    void aNodeIsAboutToTakeIt() {
        Slot slot = nextMinute();
        nodeIsAlive();
        because(Because.DUE, slot, "has not run for " + at(slot) + " yet: it is due; a node takes it in a moment");
    }

    @Test
    void itIsNoSlot() {
        pass(MINUTE);
        Slot between = Slot.at(slot(0).at().plusSeconds(7));
        because(
                Because.NOT_A_SLOT,
                between,
                "has no slot at " + at(between) + ": the one before it is " + at(slot(0)) + ", the one after it "
                        + at(slot(1)));
    }

    @Test
    void itIsNotDue() {
        because(
                Because.NOT_DUE,
                slot(90),
                "has not run for " + at(slot(90)) + " yet: it comes due in 1h30m; the next slot is " + at(slot(1)));
        store().pause(job.id(), null, Cause.PERSON, null, ME);
        because(
                Because.NOT_DUE,
                slot(1),
                "has not run for " + at(slot(1)) + " yet: it comes due in 1m; but the job is paused by " + ME
                        + " since " + at(now()) + " until somebody resumes it");
    }

    @Test
    void itWasRegisteredLater() {
        because(
                Because.BEFORE_REGISTRATION,
                slot(-5),
                "did not run for " + at(slot(-5)) + ": it was registered after it, at " + at(now()));
    }

    @Test
    void itsScheduleWasChangedAfterIt() {
        Slot slot = nextMinute();
        pass(MINUTE);
        String before = job.schedule().text();
        job = registered(job(job.id(), new Every(Duration.ofSeconds(30)), CatchUp.DEFAULT, null, 2));
        because(
                Because.RESCHEDULED,
                slot,
                "did not run for " + at(slot) + ": its schedule was changed after it, at " + at(now()) + " ("
                        + job.schedule().text() + ", was " + before + ")");
    }

    @Test
    void itHadLeftTheFile() {
        pass(MINUTE);
        store().register(List.of());
        Instant left = now();
        Slot slot = nextMinute();
        because(Because.RETIRED, slot, "did not run for " + at(slot) + ": it left the jobs file at " + at(left));
        pass(MINUTE);
        registered(job);
        because(
                Because.RETIRED,
                slot,
                "did not run for " + at(slot) + ": it left the jobs file at " + at(left) + " and came back at "
                        + at(now()));
    }

    @Test
    void nothingIsKnownOfIt() {
        Slot slot = nextMinute();
        plantCursor(job, now());
        because(Because.NO_RECORD, slot, "has no record of " + at(slot) + "; it may have been cleaned up since");
        Slot order = Slot.manual(now(), "gone");
        because(Because.NO_RECORD, order, "has no order " + order.key() + "; it may have been cleaned up since");
        Job unread = job(newName());
        assertEquals(
                new Why.Answer(
                        Because.NOT_REGISTERED,
                        unread.id() + " did not run for " + at(slot)
                                + ": no node has read it from a jobs file yet; fencepost serve does."),
                why(unread, unread.schedule(), slot));
        assertEquals(
                new Why.Answer(
                        Because.NO_SLOT,
                        unread.id() + " has no schedule that is known here, and nothing of it is stored."),
                why(unread, null, null));
    }

    /** Two nodes: while one of them lives, there is no gap. */
    @Test
    void oneOfTwoNodesIsEnough() {
        nodeIsAlive();
        store().seen(BEN, new State("other", "1", "f", "h", null));
        pass(MINUTE);
        store().seen(BEN, new State("other", "1", "f", "h", null));
        Slot slot = Slot.at(slot(0).at());
        plantCursor(job, now());
        because(Because.NO_RECORD, slot, "has no record of " + at(slot) + "; it may have been cleaned up since");
        assertTrue(store().nodes(9).stream().noneMatch(node -> node.owner().equals(NODE) && node.isAlive(now())));
    }
}
