package dev.fencepost;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.Event;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Places;
import dev.fencepost.run.Rig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
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
    void aDrainedNodeStartsNothing() throws Exception {
        wake();
        rig.time.pass(GAP);
        assertTrue(node.drain(Duration.ofSeconds(1)));
        wake();
        assertEquals(List.of(), rig.children.started);
    }
}
