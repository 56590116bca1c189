package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.lease.Owner;
import dev.fencepost.run.Nodes.NodeView;
import dev.fencepost.run.Nodes.State;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which nodes share the store. */
abstract class NodesContract extends Contract {

    private static final Duration BEAT = Duration.ofSeconds(NodeView.BEAT_SECONDS);
    private static final State STATE = new State("vps", "1.2", "/etc/fencepost/fencepost.yaml", "abc", null);

    private Owner newStart() {
        pass(Duration.ofSeconds(1));
        Owner owner = new Owner(newName());
        store().seen(owner, STATE);
        return owner;
    }

    private NodeView node(Owner owner) {
        return store().nodes(100).stream()
                .filter(node -> node.owner().equals(owner))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void theFirstSignOfLifeIsTheStart() {
        Owner owner = newStart();
        Instant now = store().now();
        assertEquals(new NodeView(owner, STATE, now, now, null), node(owner));
    }

    @Test
    void laterOnesMoveTheLastAndTellWhatChanged() {
        Owner owner = newStart();
        Instant start = store().now();
        pass(BEAT);
        State broken = new State("vps", "1.2", "/etc/fencepost/fencepost.yaml", "abc", "line 3: no such key");
        store().seen(owner, broken);
        assertEquals(new NodeView(owner, broken, start, start.plus(BEAT), null), node(owner));
        store().seen(owner, STATE);
        assertNull(node(owner).state().fileError());
    }

    @Test
    void aNodeIsDeadAfterThreeMissingSigns() {
        Owner owner = newStart();
        Instant seen = store().now();
        assertTrue(node(owner).isAlive(seen.plus(BEAT.multipliedBy(3)).minusMillis(1)));
        assertFalse(node(owner).isAlive(seen.plus(BEAT.multipliedBy(3))));
    }

    @Test
    void oneThatEndedInOrderStaysEnded() {
        Owner owner = newStart();
        pass(BEAT);
        store().stopped(owner);
        Instant end = store().now();
        assertEquals(end, node(owner).stoppedAt());
        assertEquals(end, node(owner).seenAt());
        assertFalse(node(owner).isAlive(end));
        pass(BEAT);
        store().seen(owner, STATE);
        store().stopped(owner);
        assertEquals(end, node(owner).stoppedAt());
        assertEquals(end, node(owner).seenAt());
    }

    @Test
    void theNewestStartComesFirst() {
        Owner first = newStart();
        Owner second = newStart();
        pass(BEAT);
        store().seen(first, STATE);
        assertEquals(
                List.of(second, first),
                store().nodes(2).stream().map(NodeView::owner).toList());
        assertEquals(1, store().nodes(1).size());
    }

    @Test
    void whoNeverLivedDoesNotEnd() {
        Owner owner = new Owner(newName());
        store().stopped(owner);
        assertTrue(store().nodes(100).stream().noneMatch(node -> node.owner().equals(owner)));
    }
}
