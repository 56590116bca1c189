package dev.fencepost;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.Event;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Rig;
import dev.fencepost.schedule.Every;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Set;
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
        assertEquals(3, rig.events(Event.Problem.class).size()); // of both jobs and of the outbox
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
    void aDrainedNodeStartsNothing() throws Exception {
        wake();
        rig.time.pass(GAP);
        assertTrue(node.drain(Duration.ofSeconds(1)));
        wake();
        assertEquals(List.of(), rig.children.started);
    }

    @Nested
    class AnotherFile {

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
            node.replaceJobs(List.of(b, Rig.job("c")));
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
            node.replaceJobs(List.of(hourly("a"), b));
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
                    node.replaceJobs(List.of(b));
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
            node.replaceJobs(List.of(hourly("a"), b));
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
    }
}
