package dev.fencepost.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.Event;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.schedule.Every;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JobLoopTest {

    private static final Duration GAP = Duration.ofSeconds(10);
    private static final Owner OTHER = new Owner("other");
    private static final RunId RUN = new RunId(new UUID(9, 9));

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @SuppressWarnings("NullAway.Init")
    private Rig rig;

    @SuppressWarnings("NullAway.Init")
    private JobLoop loop;

    private final Job job = Rig.job("a");

    @BeforeEach
    void open() {
        rig = new Rig(folder);
        rig.real.register(List.of(job));
        loop = rig.loop(job);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    /** One wake-up, and everything that comes of it. */
    private void wake() {
        loop.wakeIfDue(Rig.START, rig.time.bootMillis() + 1_000);
        rig.spawner.runAll();
    }

    private List<Outcome> outcomes() {
        return rig.attempts("a").stream()
                .map(Attempt::outcome)
                .map(Objects::requireNonNull)
                .toList();
    }

    @Test
    void aSlotThatComesDueIsRunOnce() {
        wake();
        assertEquals(List.of(), outcomes());
        rig.time.pass(GAP);
        wake();
        wake();
        assertEquals(List.of(Outcome.SUCCEEDED), outcomes());
        assertFalse(loop.storeFailure() != null);
    }

    /** The store answers late, so the next look would be as much before the slot, and the one after it a second later. */
    @Test
    void aLookThatIsTooEarlyIsFollowedByOneInTime() {
        rig.faults.first("situation", () -> rig.time.pass(Duration.ofMillis(30)));
        wake();
        rig.time.pass(Duration.ofMillis(9_000));
        wake();
        assertEquals(List.of(Outcome.SUCCEEDED), outcomes());
        assertEquals(
                Instant.parse("2026-03-01T12:00:10Z"),
                rig.attempts("a").getFirst().startedAt());
    }

    /** The node began an hour later than it is now, by a clock that has been set back since. */
    @Test
    void aClockThatIsSetBackBehindTheNodesBeginningStopsNoJob() {
        Instant beginning = Rig.START.plus(Duration.ofHours(1));
        for (int i = 0; i < 3; i++) {
            loop.wakeIfDue(beginning, rig.time.bootMillis() + 1_000);
            rig.spawner.runAll();
            rig.time.pass(GAP);
        }
        assertEquals(List.of(Outcome.SUCCEEDED, Outcome.SUCCEEDED), outcomes());
        assertEquals(List.of(), rig.events(Event.CaughtUp.class), "they were on time");
        assertEquals(List.of(), rig.events(Event.Dropped.class));
    }

    @Test
    void aSlotThatComesDueDuringTheRunIsSkippedAndTold() {
        rig.time.pass(GAP);
        rig.children.life = child -> {
            rig.time.pass(GAP);
            loop.wakeIfDue(Rig.START, rig.time.bootMillis() + 1_000);
            rig.spawner.runOne();
        };
        wake();
        assertEquals(List.of(Outcome.SUCCEEDED), outcomes());
        assertEquals(1, rig.events(Event.SkippedOverlap.class).size());
    }

    @Test
    void theLeaseOfADeadPredecessorIsTakenOverAtOnce() {
        rig.time.pass(GAP);
        rig.real.start(job, rig.slot(), OTHER, RUN, false);
        rig.children.dead.add(OTHER);
        wake();
        assertEquals(List.of(RUN), rig.children.swept);
        assertEquals(1, rig.events(Event.TakenOver.class).size());
        assertTrue(outcomes().contains(Outcome.ABANDONED), outcomes().toString());
        assertTrue(outcomes().contains(Outcome.SUCCEEDED), outcomes().toString());
    }

    /** L1: on another host, so nobody knows that it is dead; and the next slot is far. */
    @Test
    void aLeaseThatNobodyRenewsIsTakenSoonAfterItsEnd() {
        Job hourly = Rig.job("hourly", new Every(Duration.ofHours(1)));
        rig.real.register(List.of(job, hourly));
        loop = rig.loop(hourly);
        long end = rig.time.bootMillis() + hourly.ttl().toMillis() + 1_000;
        rig.real.start(hourly, rig.slot(), OTHER, RUN, false);
        rig.time.pass(hourly.ttl().dividedBy(2));
        wake();
        while (rig.attempts("hourly").size() < 2 && rig.time.bootMillis() < end) {
            rig.time.pass(Duration.ofMillis(500));
            wake();
        }
        assertEquals(2, rig.attempts("hourly").size(), "attempts a second after the end of the lease");
    }

    @Test
    void aLivingHolderIsLeftAlone() {
        rig.time.pass(GAP);
        rig.real.start(job, rig.slot(), OTHER, RUN, false);
        wake();
        assertEquals(List.of(), rig.children.started);
        assertEquals(List.of(), rig.children.swept);
    }

    @Test
    void aClaimOfOursThatArrivedLateIsGivenBack() {
        rig.time.pass(GAP);
        rig.real.start(job, rig.slot(), rig.owner, RUN, false);
        wake();
        assertEquals(List.of(RUN), rig.children.swept);
        assertTrue(outcomes().contains(Outcome.SUCCEEDED), outcomes().toString());
    }

    @Test
    void aRunThatEndsWhileItsLeaseIsLookedAtIsNoTakeOver() {
        rig.time.pass(GAP);
        rig.real.start(job, rig.slot(), rig.owner, RUN, false);
        Lease lease = Objects.requireNonNull(
                Objects.requireNonNull(rig.real.inspect("a")).lease());
        rig.faults.meanwhile("situation", () -> rig.real.endAsLost(lease, "ended by itself"));
        wake();
        assertEquals(List.of(), rig.events(Event.TakenOver.class));
    }

    @Test
    void aClaimThatFailsForGoodIsNotSentInAHotLoop() {
        rig.time.pass(GAP);
        for (int i = 0; i < 900; i++) {
            rig.faults.insteadOf("start", new StoreException(Kind.BROKEN, "permission denied", null));
        }
        wake();
        assertEquals(1, rig.faults.calls("start"));
        assertTrue(loop.storeFailure() != null, "a look that works does not hide claims that fail");
        assertEquals(1, rig.events(Event.StoreAvailable.class).size());
        long end = rig.time.bootMillis() + 60_000;
        while (rig.time.bootMillis() < end) {
            wake();
            rig.time.pass(Duration.ofMillis(500));
        }
        assertTrue(rig.faults.calls("start") <= 10, rig.faults.calls("start") + " claims in a minute");
        assertEquals(1, rig.events(Event.StoreAvailable.class).size(), "told once");
        rig.faults.none();
        rig.time.pass(Duration.ofSeconds(16));
        wake();
        assertTrue(outcomes().contains(Outcome.SUCCEEDED), outcomes().toString());
        assertFalse(loop.storeFailure() != null);
        assertEquals(2, rig.events(Event.StoreAvailable.class).size());
    }

    @Test
    void anErrorOfARunEndsNothingElse() {
        rig.time.pass(GAP);
        rig.faults.insteadOf("start", new OutOfMemoryError("of the test"));
        wake();
        assertEquals(1, rig.events(Event.Problem.class).size());
        rig.time.pass(GAP);
        wake();
        assertTrue(outcomes().contains(Outcome.SUCCEEDED), outcomes().toString());
    }

    @Test
    void aWakeUpWithoutAThreadIsMadeUpForByTheNext() {
        rig.time.pass(GAP);
        rig.spawner.refusing = true;
        assertThrows(OutOfMemoryError.class, () -> loop.wakeIfDue(Rig.START, rig.time.bootMillis() + 1_000));
        rig.spawner.refusing = false;
        wake();
        assertEquals(List.of(Outcome.SUCCEEDED), outcomes());
    }

    @Test
    void aLookThatDoesNotComeIsOverdue() {
        wake();
        rig.time.pass(Duration.ofMinutes(3));
        assertTrue(Objects.requireNonNull(loop.overdueFor()).compareTo(Duration.ofMinutes(1)) > 0);
        wake();
        assertTrue(loop.overdueFor() == null || loop.overdueFor().compareTo(GAP) < 0);
    }

    @Test
    void aStoreThatIsAwayIsToldOnceAndAskedWithGrowingDistance() {
        rig.time.pass(GAP);
        for (int i = 0; i < 900; i++) {
            rig.faults.insteadOf("situation", new StoreException(Kind.UNAVAILABLE, "away", null));
        }
        for (int i = 0; i < 120; i++) {
            wake();
            rig.time.pass(Duration.ofMillis(500));
        }
        assertTrue(rig.faults.calls("situation") <= 12, rig.faults.calls("situation") + " looks in a minute");
        assertEquals(1, rig.events(Event.StoreAvailable.class).size());
        rig.faults.none();
        rig.time.pass(Duration.ofSeconds(16));
        wake();
        assertTrue(outcomes().contains(Outcome.SUCCEEDED), outcomes().toString());
    }

    @Test
    void nothingIsStartedAfterTheStop() {
        rig.time.pass(GAP);
        loop.stopStarting();
        wake();
        assertEquals(List.of(), rig.children.started);
    }

    @Test
    void aRowThatTheStoreHasLostIsNoticed() {
        JobLoop unknown = rig.loop(Rig.job("b"));
        unknown.wakeIfDue(Rig.START, rig.time.bootMillis() + 1_000);
        rig.spawner.runAll();
        assertTrue(unknown.storeFailure() != null);
        assertTrue(unknown.takeLostRegistration());
        assertFalse(unknown.takeLostRegistration());
        assertNotNull(unknown.job());
    }
}
