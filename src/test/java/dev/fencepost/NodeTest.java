package dev.fencepost;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.Event;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Places;
import dev.fencepost.run.Policies.Brakes;
import dev.fencepost.run.PolicyKit;
import dev.fencepost.run.Rig;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NodeTest {

    private static final Duration GAP = Duration.ofSeconds(10);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @SuppressWarnings("NullAway.Init")
    private Rig rig;

    @SuppressWarnings("NullAway.Init")
    private Node node;

    private final Job a = Rig.job("a");
    private final Job b = Rig.job("b");

    @BeforeEach
    void open() {
        rig = new Rig(folder);
        node = new Node(
                rig.store,
                List.of(a, b),
                rig.owner,
                rig.runner,
                rig.children,
                rig.dispatcher,
                rig.watch,
                rig.notices,
                new Places(0, rig.time),
                rig.time,
                rig.spawner,
                rig.events::add);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private void wake() {
        node.wake();
        rig.spawner.runAll();
    }

    @Test
    void jobsAreRegisteredAndRunWhenTheyComeDue() {
        wake();
        assertTrue(node.isPrepared());
        rig.time.pass(GAP);
        wake();
        assertEquals(Outcome.SUCCEEDED, rig.attempts("a").getFirst().outcome());
        assertEquals(Outcome.SUCCEEDED, rig.attempts("b").getFirst().outcome());
    }

    @Test
    void aStoreThatIsNotThereYetIsTriedWithGrowingDistance() {
        for (int i = 0; i < 4; i++) {
            rig.faults.insteadOf("prepare", new StoreException(Kind.UNAVAILABLE, "away", null));
        }
        rig.faults.insteadOf("prepare", new IllegalStateException("of ours"));
        for (int i = 0; i < 10; i++) {
            wake();
            rig.time.pass(Duration.ofSeconds(1));
        }
        assertFalse(node.isPrepared());
        assertTrue(rig.faults.calls("prepare") <= 5, rig.faults.calls("prepare") + " tries in ten seconds");
        for (int i = 0; i < 60; i++) {
            wake();
            rig.time.pass(Duration.ofSeconds(1));
        }
        assertTrue(node.isPrepared());
        assertEquals(1, rig.events(Event.Problem.class).size());
    }

    @Test
    void aJobThatCannotBeWokenDoesNotStopTheOthers() {
        wake();
        rig.time.pass(GAP);
        rig.spawner.refusing = true;
        node.wake();
        assertEquals(4, rig.events(Event.Problem.class).size()); // of both jobs, of the outbox and of the orders
        rig.spawner.refusing = false;
        wake();
        assertEquals(Outcome.SUCCEEDED, rig.attempts("b").getFirst().outcome());
    }

    @Test
    void oneJobsErrorDoesNotStopTheOther() {
        wake();
        rig.time.pass(GAP);
        rig.faults.insteadOf("situation", new StackOverflowError("of the test"));
        wake();
        assertEquals(1, rig.attempts("b").size());
        rig.time.pass(Duration.ofSeconds(2));
        wake();
        assertEquals(1, rig.attempts("a").size());
    }

    @Test
    void aLoopThatIsNotLookedAtAnyMoreShows() {
        wake();
        rig.time.pass(Duration.ofMinutes(3));
        Node.StuckLook stuck = node.longestLook();
        assertTrue(stuck != null && stuck.since().compareTo(Duration.ofMinutes(1)) > 0, "overdue: " + stuck);
    }

    @Test
    void standsStillWhenItIsNotWokenOrALookDoesNotComeOrComeBack() throws Exception {
        Duration limit = Duration.ofMinutes(1);
        assertNull(node.standstill(limit));
        wake();
        assertNull(node.standstill(limit));
        rig.time.pass(Duration.ofMinutes(2));
        assertEquals("the node has not been woken", node.standstill(limit));
        node.wake(); // and the threads that it starts do not come to turn, as where all carriers are pinned
        assertEquals("planning of job a hangs or does not come", node.standstill(limit));
        rig.spawner.runAll();
        assertNull(node.standstill(limit));
        node.replaceJobs(List.of(a), null);
        List<String> during = new ArrayList<>();
        rig.faults.first("situation", () -> {
            rig.time.pass(Duration.ofMinutes(2));
            node.wake();
            during.add(String.valueOf(node.standstill(limit)));
        });
        wake();
        assertEquals(List.of("planning of job a hangs or does not come"), during);
    }

    @Test
    void hasPlannedOnceEachJobWasLookedAtWhateverCameOfIt() {
        assertFalse(node.hasPlanned());
        rig.faults.insteadOf("situation", new StoreException(Kind.UNAVAILABLE, "away", null));
        rig.faults.insteadOf("situation", new IllegalStateException("of ours"));
        node.wake();
        assertFalse(node.hasPlanned());
        rig.spawner.runAll();
        assertTrue(node.hasPlanned());
    }

    @Test
    void aDrainedNodeStartsNothing() throws Exception {
        wake();
        rig.time.pass(GAP);
        assertTrue(node.drain(Duration.ofSeconds(1)));
        wake();
        assertEquals(List.of(), rig.children.started);
    }

    // orders

    private void second() {
        rig.time.pass(Duration.ofSeconds(1));
        wake();
    }

    @Test
    void aCancelledRunIsStoppedWithinTwoSeconds() {
        wake();
        rig.time.pass(GAP);
        Instant[] ordered = new Instant[1];
        rig.children.life = child -> {
            ordered[0] = rig.time.wallClock();
            rig.real.cancel("a", "enough", "ann@desk");
            for (int i = 0; i < 10 && child.stops.isEmpty(); i++) {
                rig.time.pass(Duration.ofSeconds(1));
                node.wake();
                while (rig.spawner.waiting() > 0 && child.stops.isEmpty()) {
                    rig.spawner.runOne();
                }
            }
            assertTrue(
                    Duration.between(ordered[0], rig.time.wallClock()).compareTo(Duration.ofSeconds(2)) <= 0,
                    "stopped at " + rig.time.wallClock());
            rig.children.life = next -> {};
        };
        wake();
        assertEquals(Outcome.CANCELLED, rig.attempts("a").getFirst().outcome());
        assertEquals(
                "cancelled by ann@desk: enough", rig.attempts("a").getFirst().reason());
    }

    /** Else it would be obeyed when the next order comes, which may be never. */
    @Test
    void aCancelThatCouldNotBeReadAtFirstIsReadAgain() {
        wake();
        rig.time.pass(GAP);
        rig.children.life = child -> {
            rig.real.cancel("a", "enough", "ann@desk");
            rig.faults.insteadOf("stops", new StoreException(Kind.UNAVAILABLE, "away", null));
            for (int i = 0; i < 30 && child.stops.isEmpty(); i++) {
                rig.time.pass(Duration.ofSeconds(1));
                node.wake();
                while (rig.spawner.waiting() > 0 && child.stops.isEmpty()) {
                    rig.spawner.runOne();
                }
            }
            rig.children.life = next -> {};
        };
        wake();
        assertEquals(Outcome.CANCELLED, rig.attempts("a").getFirst().outcome());
    }

    @Test
    void anOrderWakesItsJobAndNoOther() {
        wake();
        second();
        int looks = rig.faults.calls("situation");
        rig.real.trigger("b", List.of(Slot.manual(rig.real.now(), "x")), false, null, "ann");
        second();
        assertEquals(1, rig.attempts("b").size());
        assertEquals(0, rig.attempts("a").size());
        assertTrue(rig.faults.calls("situation") - looks <= 3, "only b is looked at, before and after its run");
    }

    @Test
    void withoutOrdersOneRowIsReadASecondAndNothingElse() {
        wake();
        int before = rig.faults.calls("signal");
        for (int i = 0; i < 9; i++) {
            second();
        }
        assertEquals(9, rig.faults.calls("signal") - before);
        assertEquals(1, rig.faults.calls("stops"), "at the start alone");
        assertEquals(0, rig.faults.calls("jobEvents"));
    }

    @Test
    void aStoreThatIsAwayIsAskedForOrdersWithGrowingDistance() {
        wake();
        int before = rig.faults.calls("signal");
        for (int i = 0; i < 100; i++) {
            rig.faults.insteadOf("signal", new StoreException(Kind.UNAVAILABLE, "away", null));
        }
        for (int i = 0; i < 60; i++) {
            second();
        }
        assertTrue(rig.faults.calls("signal") - before <= 9, rig.faults.calls("signal") + " reads");
        rig.faults.none();
        rig.real.trigger("b", List.of(Slot.manual(rig.real.now(), "x")), false, null, "ann");
        for (int i = 0; i < 16; i++) {
            second();
        }
        assertTrue(
                rig.attempts("b").stream().anyMatch(attempt -> attempt.slotKey().startsWith("manual:")));
    }

    @Test
    void anOrderToReadTheFileAnewIsPassedOn() {
        AtomicInteger reloads = new AtomicInteger();
        node.whenReloadIsOrdered(reloads::incrementAndGet);
        rig.real.prepare();
        rig.real.reload(null, "before the start");
        wake();
        second();
        assertEquals(0, reloads.get());
        rig.real.reload(null, "ann");
        second();
        second();
        assertEquals(1, reloads.get());
    }

    @Test
    void aNodeThatDrainsCanStillBeToldToCancel() throws Exception {
        wake();
        rig.time.pass(GAP);
        rig.children.life = child -> {
            try {
                node.drain(Duration.ZERO);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            int before = rig.faults.calls("signal");
            rig.time.pass(Duration.ofSeconds(1));
            node.wake();
            rig.spawner.runAll();
            assertEquals(1, rig.faults.calls("signal") - before);
            rig.children.life = next -> {};
        };
        wake();
    }

    private Job hourly(String id) {
        return new Job(
                id,
                new Every(Duration.ofHours(1)),
                ZoneOffset.UTC,
                a.action(),
                Set.of(),
                a.ttl(),
                null,
                a.grace(),
                a.catchUp(),
                null,
                2,
                null,
                List.of());
    }

    /** All are to be looked at when the node starts; who comes last must not be left out for ever. */
    @Test
    void ofVeryManyJobsAFewThousandAreLookedAtByEachWakeUp() throws Exception {
        int many = 5_000;
        wake();
        node.replaceJobs(
                IntStream.range(0, many).mapToObj(i -> hourly("job-" + i)).toList(), null);
        for (int i = 1; i <= 3; i++) {
            int before = rig.faults.calls("situation");
            while (rig.spawner.waiting() > 0) {
                rig.spawner.runOne();
            }
            int looks = rig.faults.calls("situation") - before;
            assertTrue(looks <= 2_000, looks + " looks at once");
            rig.time.pass(Duration.ofSeconds(1));
            node.wake();
        }
        while (rig.spawner.waiting() > 0) {
            rig.spawner.runOne();
        }
        assertTrue(rig.faults.calls("situation") >= many, "all are looked at");
        assertEquals(
                1,
                node.loops().stream()
                        .map(loop -> loop.rest().until() > 0)
                        .distinct()
                        .count());
    }

    /** Ten thousand jobs that look once a minute each would keep a core busy with nothing. */
    @Nested
    class JobsThatOnlyWait {

        private static final int LONGEST = 60;

        private final Instant slot = Instant.parse("2026-03-01T13:00:00Z");

        @BeforeEach
        void settle() throws InterruptedException {
            wake();
            node.replaceJobs(List.of(hourly("a")), null);
            second();
        }

        private int looks() {
            return rig.faults.calls("situation");
        }

        private void seconds(int count) {
            for (int i = 0; i < count; i++) {
                second();
            }
        }

        @Test
        void areNotLookedAtAndRunOnTime() {
            int before = looks();
            seconds(30 * 60);
            assertEquals(0, looks() - before);
            assertTrue(rig.faults.calls("restless") <= 80, rig.faults.calls("restless") + " reads for all");
            seconds(30 * 60);
            Attempt attempt = rig.attempts("a").getFirst();
            assertEquals(slot.toString(), attempt.slotKey());
            assertTrue(Duration.between(slot, attempt.startedAt()).compareTo(Duration.ofSeconds(1)) < 0);
        }

        @Test
        void areLookedAtByThemselvesWhereTheReadForAllFails() {
            int before = looks();
            for (int i = 0; i < 10; i++) {
                rig.faults.insteadOf("restless", new StoreException(Kind.UNAVAILABLE, "away", null));
            }
            rig.faults.insteadOf("restless", new IllegalStateException("of ours"));
            seconds(2 * LONGEST);
            assertTrue(looks() - before >= 1);
            assertEquals(0, rig.events(Event.Problem.class).size());
        }

        @Test
        void areLookedAtWhenAnotherNodeLeftATickBehind() {
            Slot manual = Slot.manual(rig.real.now(), "x");
            rig.real.start(hourly("a"), manual, new Owner("another"), new RunId(new UUID(7, 7)), false);
            seconds((int) a.ttl().toSeconds() + LONGEST);
            assertEquals(
                    List.of(Outcome.SUCCEEDED, Outcome.ABANDONED),
                    rig.attempts("a").stream().map(Attempt::outcome).toList());
        }

        @Test
        void areLookedAtWhenTheClockWasSetForward() {
            rig.time.setWallClock(Duration.ofHours(2));
            seconds(LONGEST);
            assertEquals(1, rig.attempts("a").size());
        }

        /** A slot that was dropped is ahead once more, and comes due once more. */
        @Test
        void areLookedAtWhenTheClockWasSetBack() {
            int before = looks();
            rig.time.setWallClock(Duration.ofHours(-2));
            seconds(LONGEST);
            assertEquals(1, looks() - before);
        }

        @Test
        void areLookedAtWhenTheStoreIsAnotherOne() {
            int before = looks();
            rig.real.register(List.of(hourly("a"), hourly("another")));
            seconds(LONGEST);
            assertEquals(1, looks() - before);
        }

        /** The read for all came before it, and knows nothing of it. */
        @Test
        void areLookedAtThoughSomethingHappenedDuringTheReadForAll() {
            int before = looks();
            rig.faults.meanwhile("restless", () -> node.loops().getFirst().resume());
            seconds(30);
            assertEquals(1, looks() - before);
        }

        @Test
        void pausedOnesAreLookedAt() {
            rig.real.pause("a", null, Pause.Cause.PERSON, "holidays", "ann");
            second();
            int before = looks();
            seconds(3 * LONGEST);
            assertTrue(looks() - before >= 2);
        }
    }

    @Nested
    class AnotherFile {

        private boolean isRetired(String id) {
            return rig.real.jobs().stream()
                    .filter(job -> job.id().equals(id))
                    .findFirst()
                    .orElseThrow()
                    .retired();
        }

        @Test
        void aJobThatLeftTheFileStartsNothingAndANewOneBeginsNow() throws Exception {
            wake();
            rig.time.pass(GAP);
            wake();
            int before = rig.attempts("a").size();
            node.replaceJobs(List.of(b, Rig.job("c")), null);
            assertTrue(isRetired("a"));
            for (int i = 0; i < 3; i++) {
                rig.time.pass(GAP);
                wake();
            }
            assertEquals(before, rig.attempts("a").size());
            assertEquals(3, rig.attempts("c").size());
            assertEquals(
                    List.of("b", "c"),
                    node.loops().stream().map(loop -> loop.job().id()).toList());
        }

        @Test
        void anotherScheduleHoldsFromTheChangeOnAndNothingOfItWasMissed() throws Exception {
            wake();
            rig.time.pass(GAP);
            wake();
            assertEquals(1, rig.attempts("a").size());
            node.replaceJobs(List.of(hourly("a"), b), null);
            rig.spawner.runAll();
            rig.time.pass(Duration.ofMinutes(30));
            wake();
            assertEquals(1, rig.attempts("a").size());
            rig.time.pass(Duration.ofMinutes(30));
            wake();
            assertEquals("2026-03-01T13:00:00Z", rig.attempts("a").getFirst().slotKey());
        }

        @Test
        void aRunThatIsUnderWayEndsUnderItsOldNameAndIsWaitedFor() throws Exception {
            wake();
            rig.time.pass(GAP);
            rig.children.life = child -> {
                if (!"a".equals(child.spec.environment().get("FENCEPOST_JOB"))) {
                    return;
                }
                try {
                    node.replaceJobs(List.of(b), null);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            };
            wake();
            assertTrue(isRetired("a"));
            assertEquals(Outcome.SUCCEEDED, rig.attempts("a").getFirst().outcome());
            assertTrue(node.drain(Duration.ofSeconds(1)));
        }

        @Test
        void withoutTheStoreNothingIsPlannedUntilTheJobsAreRegistered() throws Exception {
            wake();
            rig.faults.insteadOf("register", new StoreException(Kind.UNAVAILABLE, "away", null));
            node.replaceJobs(List.of(hourly("a"), b), null);
            assertFalse(node.isPrepared());
            rig.time.pass(GAP);
            rig.spawner.runAll();
            assertEquals(List.of(), rig.attempts("a"));
            wake();
            assertTrue(node.isPrepared());
            rig.time.pass(GAP);
            wake();
            assertEquals(List.of(), rig.attempts("a"));
            assertEquals(2, rig.attempts("b").size()); // the one that was missed meanwhile is caught up
        }

        private void replace(Job... changed) {
            try {
                node.replaceJobs(List.of(changed), null);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        @Test
        void anErrorOfOursAtTheRegistrationLeavesNoJobStandingStill() {
            wake();
            rig.faults.insteadOf("register", new IllegalStateException("of ours"));
            replace(a, b);
            assertEquals(1, rig.events(Event.Problem.class).size());
            rig.time.pass(Duration.ofSeconds(1));
            wake();
            assertTrue(node.isPrepared());
            rig.time.pass(GAP);
            wake();
            assertEquals(1, rig.attempts("b").size());
        }

        @Test
        void otherBrakesHoldFromTheChangeOn() {
            wake();
            replace(Rig.with(a, PolicyKit.brakes(new Brakes(1, null))), b);
            rig.children.life = child -> child.code = 1;
            rig.time.pass(GAP);
            wake();
            assertEquals(
                    Pause.Cause.FAILURES,
                    Objects.requireNonNull(rig.real.pauseOf("a")).cause());
            assertNull(rig.real.pauseOf("b"));
        }

        @Test
        void aJobThatLeavesTheFileAndComesBackWhileItRunsGoesOnRunning() {
            wake();
            rig.time.pass(GAP);
            rig.children.life = child -> {
                if ("a".equals(child.spec.environment().get("FENCEPOST_JOB"))) {
                    rig.children.life = next -> {};
                    replace(b);
                    replace(a, b);
                    rig.spawner.runAll();
                    assertEquals(List.of(), rig.children.swept);
                }
            };
            wake();
            assertEquals(1, rig.attempts("a").size());
            assertEquals(Outcome.SUCCEEDED, rig.attempts("a").getFirst().outcome());
            rig.time.pass(GAP);
            wake();
            assertEquals(2, rig.attempts("a").size());
        }

        @Test
        void aJobThatComesBackIsNotPlannedBeforeItIsRegistered() {
            wake();
            rig.time.pass(GAP);
            wake();
            assertEquals(1, rig.attempts("a").size());
            replace(b);
            rig.time.pass(GAP);
            rig.time.pass(GAP);
            rig.faults.first("register", NodeTest.this::wake);
            replace(a, b, Rig.job("c"));
            rig.spawner.runAll();
            assertEquals(1, rig.attempts("a").size(), "what came due while it was away was run");
            assertTrue(node.isPrepared());
            assertEquals(List.of(), node.failingJobs());
            assertEquals(
                    1, rig.events(Event.StoreAvailable.class).size(), "a job that is not registered yet was looked at");
        }
    }
}
