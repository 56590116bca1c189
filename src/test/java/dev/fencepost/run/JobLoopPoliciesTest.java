package dev.fencepost.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.Event;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.run.Orders.Answer;
import dev.fencepost.run.Orders.JobEvent;
import dev.fencepost.run.Policies.Brakes;
import dev.fencepost.run.Policies.Retry;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Overlap;
import dev.fencepost.schedule.Schedule;
import dev.fencepost.schedule.Slot;
import dev.fencepost.schedule.Spread;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a job's loop makes of the policies, of pauses and of orders: slots every ten seconds, and time that the test moves. */
class JobLoopPoliciesTest {

    private static final Duration GAP = Duration.ofSeconds(10);
    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final Owner OTHER = new Owner("other");
    private static final RunId RUN = new RunId(new UUID(9, 9));

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @SuppressWarnings("NullAway.Init")
    private Rig rig;

    @SuppressWarnings("NullAway.Init")
    private JobLoop loop;

    private Instant planningSince = Rig.START;

    @BeforeEach
    void open() {
        rig = new Rig(folder);
    }

    @AfterEach
    void close() {
        rig.close();
        assertEquals(List.of(), rig.events(Event.Problem.class));
    }

    private Job job(Policies policies) {
        return Rig.with(Rig.job("a"), policies);
    }

    private Job registered(Policies policies) {
        return registered(job(policies));
    }

    private Job registered(Job job) {
        rig.real.register(List.of(job));
        loop = rig.loop(job);
        return job;
    }

    private void wake() {
        loop.wakeIfDue(planningSince, rig.time.bootMillis());
        rig.spawner.runAll();
    }

    /** Second after second, as a node does it. */
    private void live(Duration time) {
        for (long second = 0; second < time.toSeconds(); second++) {
            rig.time.pass(SECOND);
            wake();
        }
    }

    /** The next run takes so long; the loop is woken each second meanwhile. */
    private void takes(Duration time) {
        rig.children.life = child -> {
            rig.children.life = next -> {};
            for (long second = 0; second < time.toSeconds() && child.stops.isEmpty(); second++) {
                rig.time.pass(SECOND);
                loop.wakeIfDue(planningSince, rig.time.bootMillis());
                while (rig.spawner.waiting() > 0) {
                    rig.spawner.runOne();
                }
                rig.real
                        .stops(rig.owner)
                        .forEach(stop -> loop.stopRun(
                                stop.runId(), StopRequest.Reason.SUPERSEDED, String.valueOf(stop.reason())));
            }
        };
    }

    private List<String> ticks() {
        return rig.real.history("a", 1_000).reversed().stream()
                .map(entry ->
                        entry.slotKey().replace("2026-03-01T12:", "").replace("Z", "") + " " + entry.tickOutcome())
                .distinct()
                .toList();
    }

    private long ticks(Outcome outcome) {
        return rig.real.history("a", 1_000).stream()
                .filter(entry -> entry.tickOutcome() == outcome)
                .map(History.Entry::slotKey)
                .distinct()
                .count();
    }

    private static Slot slot(int second) {
        return Slot.at(Rig.START.plusSeconds(second));
    }

    // overlap

    @Test
    void theNewestSlotOfALongRunRunsNextAndTheOlderOnesAreSkipped() {
        registered(PolicyKit.overlap(Overlap.BUFFER_ONE));
        rig.time.pass(GAP);
        takes(Duration.ofSeconds(35));
        wake();
        assertEquals(
                List.of("00:10 SUCCEEDED", "00:20 SKIPPED_OVERLAP", "00:30 SKIPPED_OVERLAP", "00:40 SUCCEEDED"),
                ticks());
        assertEquals(2, rig.events(Event.SkippedOverlap.class).size());
        assertEquals(List.of(), rig.events(Event.CaughtUp.class));
        assertEquals(List.of(), rig.events(Event.Dropped.class));
    }

    /** The old run stops, its slot is not due again, and the newest slot runs. */
    @Test
    void aNewSlotTakesOver() {
        registered(PolicyKit.overlap(Overlap.TAKE_OVER));
        rig.time.pass(GAP);
        takes(Duration.ofSeconds(30));
        wake();
        Attempt old = rig.attempts("a").getLast();
        assertEquals(Outcome.CANCELLED, old.outcome());
        assertEquals("superseded by slot 2026-03-01T12:00:20Z", old.reason());
        assertEquals("00:10 CANCELLED", ticks().getFirst());
        assertEquals(
                1,
                rig.attempts("a").stream()
                        .filter(a -> a.slotKey().equals(slot(10).key()))
                        .count());
        assertTrue(rig.attempts("a").size() >= 2);
        assertEquals(
                JobEvent.Kind.SUPERSEDED,
                rig.real.jobEvents("a", 100).stream()
                        .map(JobEvent::kind)
                        .filter(kind -> kind != JobEvent.Kind.REGISTERED)
                        .findFirst()
                        .orElseThrow());
    }

    /** The holder is dead: it cannot obey, and its slot is not tried again for all that. */
    @Test
    void aDeadHolderThatWasAskedToMakeWayIsNotTriedAgain() {
        Job job = registered(PolicyKit.overlap(Overlap.TAKE_OVER));
        rig.time.pass(GAP);
        rig.real.start(job, slot(10), OTHER, RUN, false);
        live(Duration.ofSeconds(12));
        assertEquals(1, rig.real.stops(OTHER).size());
        live(Duration.ofSeconds(60));
        Attempt dead = Objects.requireNonNull(rig.real.attempt("a", RUN));
        assertEquals(Outcome.CANCELLED, dead.outcome());
        assertEquals("00:10 CANCELLED", ticks().getFirst());
        assertEquals(
                1,
                rig.attempts("a").stream()
                        .filter(a -> a.slotKey().equals(slot(10).key()))
                        .count());
    }

    // jitter, stagger, places

    @Test
    void jitterPutsTheFirstTryOffByAPartThatIsAlwaysTheSame() {
        Duration jitter = Duration.ofSeconds(8);
        registered(PolicyKit.jitter(jitter));
        Duration place = Spread.place(slot(10).idempotencyKey("a"), jitter);
        assertTrue(place.compareTo(SECOND) > 0, "another slot would be a better test: " + place);
        rig.time.pass(GAP.minusMillis(500)); // the slot itself
        wake();
        assertEquals(List.of(), rig.children.started);
        assertNull(Objects.requireNonNull(rig.real.situation("a")).lease(), "no lease meanwhile");
        rig.time.pass(place.minusMillis(1));
        loop.wakeNow();
        rig.spawner.runAll();
        assertEquals(0, rig.children.started.size());
        rig.time.pass(Duration.ofMillis(1));
        wake();
        assertEquals(1, rig.children.started.size());
    }

    @Test
    void anOrderIsNotPutOffByJitter() {
        registered(PolicyKit.jitter(Duration.ofHours(1)));
        rig.real.trigger("a", List.of(Slot.manual(Rig.START, "x")), false, null, "ann");
        wake();
        assertEquals(1, rig.children.started.size());
    }

    @Test
    void missedSlotsWaitForTheJobsPlaceAfterADowntimeAndNewOnesDoNot() {
        Duration stagger = Duration.ofMinutes(10);
        Schedule hourly = new Every(Duration.ofHours(1));
        registered(hourly, PolicyKit.stagger(stagger));
        rig.time.pass(Duration.ofHours(3));
        planningSince = rig.real.now();
        Duration place = Spread.place("a", stagger);
        assertTrue(place.compareTo(Duration.ofSeconds(5)) > 0, "another name would be a better test: " + place);
        wake();
        assertEquals(List.of(), rig.children.started);
        live(place.minusSeconds(2));
        assertEquals(List.of(), rig.children.started);
        live(Duration.ofSeconds(3));
        assertEquals(1, rig.children.started.size());
        live(Duration.ofHours(1).minus(place));
        assertEquals(2, rig.children.started.size(), "the next slot starts at once");
    }

    private void registered(Schedule schedule, Policies policies) {
        Job plain = Rig.job("a");
        registered(new Job(
                "a",
                schedule,
                ZoneOffset.UTC,
                new Action.Command(List.of("true"), null, Map.of(), null, null),
                Set.of(),
                plain.ttl(),
                null,
                plain.grace(),
                CatchUp.DEFAULT,
                null,
                2,
                null,
                List.of(),
                policies,
                List.of()));
    }

    /** CAT-09 */
    @Test
    void aJobWithoutAPlaceKeepsItsSlotAndRunsWhenOneIsFree() {
        Job a = job(Policies.DEFAULT);
        Job b = Rig.job("b");
        rig.real.register(List.of(a, b));
        Places places = new Places(1, rig.time);
        loop = rig.loop(a, places);
        JobLoop other = rig.loop(b, places);
        rig.time.pass(GAP);
        rig.children.life = child -> {
            rig.children.life = next -> {};
            loop.wakeIfDue(planningSince, rig.time.bootMillis());
            rig.spawner.runOne();
            assertNull(Objects.requireNonNull(rig.real.situation("a")).lease(), "no lease while it waits");
            rig.time.pass(Duration.ofSeconds(5));
        };
        other.wakeIfDue(planningSince, rig.time.bootMillis());
        rig.spawner.runAll();
        assertEquals(2, rig.children.started.size(), "woken by the free place, and not by a second later");
        assertEquals(List.of("00:10 SUCCEEDED"), ticks());
        assertEquals(List.of(), rig.events(Event.Dropped.class));
        assertEquals(List.of(), rig.events(Event.SkippedOverlap.class));
    }

    @Test
    void hoursWithoutAPlaceMakeNoFlood() {
        Job a = job(Policies.DEFAULT);
        rig.real.register(List.of(a));
        Places places = new Places(1, rig.time);
        Places.Guest other = () -> {};
        assertTrue(places.take(other));
        loop = rig.loop(a, places);
        live(Duration.ofMinutes(10));
        assertEquals(List.of(), rig.children.started);
        places.giveBack();
        rig.spawner.runAll();
        assertTrue(rig.children.started.size() <= 3, rig.children.started.size() + " runs at once");
        assertTrue(ticks(Outcome.DROPPED) > 50);
        assertEquals(60, ticks().size(), "each slot has one end");
    }

    // retry

    @Test
    void aFurtherTryComesAtItsTimeAndTheNextSlotIsNotHeldUp() {
        registered(PolicyKit.retry(new Retry(1, Duration.ofSeconds(15), Set.of(), false)));
        rig.children.life = child -> {
            child.code = 1;
            rig.children.life = next -> {};
        };
        live(Duration.ofSeconds(30));
        assertEquals(
                List.of(
                        "2026-03-01T12:00:10Z 1",
                        "2026-03-01T12:00:20Z 1",
                        "2026-03-01T12:00:10Z 2",
                        "2026-03-01T12:00:30Z 1"),
                rig.notices.started);
        assertEquals(List.of("00:10 SUCCEEDED", "00:20 SUCCEEDED", "00:30 SUCCEEDED"), ticks());
    }

    // pauses

    /** CAT-15 */
    @Test
    void aPausedJobRunsOrdersAloneAndItsSlotsAreNotMissed() {
        registered(Policies.DEFAULT);
        live(Duration.ofSeconds(12));
        assertEquals(1, rig.children.started.size());
        assertEquals(Answer.DONE, rig.real.pause("a", null, Pause.Cause.PERSON, null, "ann"));
        live(Duration.ofMinutes(5));
        assertEquals(1, rig.children.started.size());
        assertTrue(loop.isPaused());
        rig.real.trigger("a", List.of(Slot.manual(rig.real.now(), "x")), false, null, "ann");
        loop.wakeNow();
        rig.spawner.runAll();
        assertEquals(2, rig.children.started.size());
        assertEquals(Answer.DONE, rig.real.resume("a", null, "ann"));
        loop.wakeNow();
        rig.spawner.runAll();
        assertEquals(2, rig.children.started.size(), "no catch-up");
        assertFalse(loop.isPaused());
        live(Duration.ofSeconds(10));
        assertEquals(3, rig.children.started.size());
        assertEquals(List.of(), rig.events(Event.Dropped.class));
        assertEquals(List.of(), rig.events(Event.CaughtUp.class));
    }

    @Test
    void aPauseWithAnEndEndsByItself() {
        registered(Policies.DEFAULT);
        wake();
        Instant until = rig.real.now().plus(Duration.ofSeconds(63));
        rig.real.pause("a", until, Pause.Cause.PERSON, null, "ann");
        live(Duration.ofSeconds(62));
        assertEquals(List.of(), rig.children.started);
        live(Duration.ofSeconds(3));
        assertEquals(List.of(new Event.JobResumed("a", until)), rig.events(Event.JobResumed.class));
        live(Duration.ofSeconds(10));
        assertEquals(List.of("01:10 SUCCEEDED"), ticks());
    }

    @Test
    void aRunUnderWayGoesOnThroughAPause() {
        registered(Policies.DEFAULT);
        rig.time.pass(GAP);
        rig.children.life = child -> rig.real.pause("a", null, Pause.Cause.PERSON, null, "ann");
        wake();
        assertEquals(List.of("00:10 SUCCEEDED"), ticks());
        live(Duration.ofSeconds(30));
        assertEquals(1, rig.children.started.size());
    }

    @Test
    void aUsageLimitKeepsTheScheduleAndThenTheNewestSlotsRun() {
        registered(PolicyKit.retry(Retry.NONE, PolicyKit.rule(Classification.LIMIT, 75)));
        rig.children.life = child -> child.code = 75;
        live(Duration.ofSeconds(12));
        assertEquals(1, rig.children.started.size());
        rig.children.life = child -> {};
        live(Duration.ofMinutes(59));
        assertEquals(1, rig.children.started.size(), "deferred for an hour");
        live(Duration.ofSeconds(90));
        assertTrue(rig.children.started.size() > 1);
        assertEquals(
                1,
                rig.events(Event.Dropped.class).stream()
                        .filter(e -> e.count() > 300)
                        .count());
        assertEquals(0, rig.notices.paused.size());
    }

    // brakes

    @Test
    void failuresInARowPauseTheJobAtOnceAndAreToldOnce() {
        registered(PolicyKit.brakes(new Brakes(3, null)));
        rig.children.life = child -> child.code = 1;
        live(Duration.ofSeconds(30));
        assertEquals(3, rig.children.started.size());
        Pause pause = Objects.requireNonNull(rig.real.pauseOf("a"), "at once after the third");
        assertEquals(Pause.Cause.FAILURES, pause.cause());
        assertEquals(Pause.BY_A_BRAKE, pause.by());
        assertEquals("3 failures in a row, the last: exit code 1", pause.reason());
        live(Duration.ofMinutes(2));
        assertEquals(3, rig.children.started.size());
        assertEquals(1, rig.events(Event.JobPaused.class).size());
        assertEquals(1, rig.notices.paused.size());

        rig.real.resume("a", null, "ann");
        live(Duration.ofSeconds(20));
        assertEquals(5, rig.children.started.size(), "what failed before is forgotten");
        live(Duration.ofMinutes(1));
        assertEquals(6, rig.children.started.size());
        assertEquals(2, rig.notices.paused.size());
    }

    @Test
    void theBrakesAreReadWhenSomethingHasEndedAndNotAtEveryLook() {
        registered(PolicyKit.brakes(new Brakes(3, null)));
        live(Duration.ofMinutes(2));
        assertEquals(12, rig.children.started.size());
        assertEquals(12, rig.faults.calls("brakeCounts"));
    }

    @Test
    void aSuccessBetweenBreaksTheRowAndASkipDoesNot() {
        registered(PolicyKit.brakes(new Brakes(3, null)));
        int[] codes = {1, 1, 0, 1, 1, 0};
        rig.children.life = child -> child.code = codes[rig.children.started.size() - 1];
        live(Duration.ofSeconds(60));
        assertNull(rig.real.pauseOf("a"));
        rig.children.life = child -> {
            child.code = 1;
            rig.time.pass(Duration.ofSeconds(12)); // the next slot is skipped
            loop.wakeIfDue(planningSince, rig.time.bootMillis());
            rig.spawner.runOne();
        };
        live(Duration.ofSeconds(60));
        assertTrue(ticks(Outcome.SKIPPED_OVERLAP) >= 2);
        assertNotNull(rig.real.pauseOf("a"));
        assertEquals(9, rig.children.started.size());
    }

    @Test
    void whatAnotherNodeSawFailIsNotStartedHere() {
        Job job = registered(PolicyKit.brakes(new Brakes(1, null)));
        rig.time.pass(GAP);
        Lease lease = ((Start.Started) rig.real.start(job, slot(10), OTHER, RUN, false)).lease();
        rig.real.complete(lease, new Completion(Outcome.FAILED, true, true, 1, null, "no", null, null));
        live(Duration.ofSeconds(20));
        assertEquals(List.of(), rig.children.started);
        assertEquals(1, rig.notices.paused.size());
    }

    @Test
    void aMissingLoginPausesAtOnce() {
        registered(PolicyKit.brakes(Brakes.NONE, PolicyKit.rule(Classification.AUTH, "login expired")));
        rig.folders.output = List.of("Your login expired.");
        rig.children.life = child -> child.code = 1;
        live(Duration.ofMinutes(1));
        assertEquals(1, rig.children.started.size());
        Pause pause = Objects.requireNonNull(rig.real.pauseOf("a"));
        assertEquals(Pause.Cause.AUTH, pause.cause());
        assertEquals("exit code 1: \"Your login expired.\"", pause.reason());
        assertEquals(1, rig.notices.paused.size());
        rig.real.resume("a", null, "ann");
        rig.children.life = child -> {};
        live(Duration.ofSeconds(20));
        assertEquals(3, rig.children.started.size());
    }

    @Test
    void aStoreThatIsAwayAtTheEndOfARunIsAskedBeforeTheNextStart() {
        registered(PolicyKit.brakes(new Brakes(1, null)));
        rig.children.life = child -> {
            child.code = 1;
            rig.faults.insteadOf("brakeCounts", new StoreException(Kind.UNAVAILABLE, "away", null));
        };
        live(Duration.ofMinutes(1));
        assertEquals(1, rig.children.started.size());
        assertEquals(1, rig.notices.paused.size());
    }

    @Test
    void theRunsOfADayAreLimitedAndOrdersAreNot() {
        registered(PolicyKit.brakes(new Brakes(0, 3)));
        live(Duration.ofSeconds(55));
        assertEquals(3, rig.children.started.size());
        assertEquals(2, ticks(Outcome.DROPPED));
        assertEquals(
                "max-runs-per-day 3 reached",
                rig.events(Event.Dropped.class).getFirst().reason());
        assertEquals(
                "max-runs-per-day 3 reached",
                rig.real.history("a", 1).getFirst().tickReason());
        rig.real.trigger("a", List.of(Slot.manual(rig.real.now(), "x")), false, null, "ann");
        loop.wakeNow();
        rig.spawner.runAll();
        assertEquals(4, rig.children.started.size());
        assertEquals(Answer.DONE, rig.real.resume("a", null, "ann"));
        live(Duration.ofMinutes(1));
        assertEquals(7, rig.children.started.size(), "resume lifts it, for as many again");
        live(Duration.ofHours(12));
        assertEquals(10, rig.children.started.size(), "and so does midnight");
    }
}
