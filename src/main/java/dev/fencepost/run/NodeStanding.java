package dev.fencepost.run;

import dev.fencepost.lease.Incarnation;
import dev.fencepost.run.Nodes.NodeView;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A node as people are shown it: its newest start, and an earlier one only while that is alive too.
 *
 * @param differs whether it is alive and runs by another jobs file than the living one that was started last
 */
public record NodeStanding(NodeView start, boolean alive, boolean differs) {

    /** So many starts are to be looked at, so that a node that is started again and again hides no other. */
    public static final int STARTS = 1_000;

    private static final int MOST = 20;

    /**
     * The living ones first, then those that were there last; {@value #MOST} at most.
     *
     * @param starts newest first
     * @param now by the store's clock
     */
    public static List<NodeStanding> of(List<NodeView> starts, Instant now) {
        List<NodeStanding> living = new ArrayList<>();
        List<NodeStanding> others = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        String newestHash = null;
        for (NodeView start : starts) {
            Incarnation incarnation = Incarnation.of(start.owner());
            boolean alive = start.isAlive(now);
            if (!seen.add(incarnation == null ? start.owner().text() : incarnation.nodeId()) && !alive) {
                continue;
            }
            String hash = start.state().jobsHash();
            if (alive) {
                newestHash = newestHash == null ? hash : newestHash;
                living.add(new NodeStanding(start, true, !hash.equals(newestHash)));
            } else {
                others.add(new NodeStanding(start, false, false));
            }
        }
        living.addAll(others);
        return List.copyOf(living.subList(0, Math.min(MOST, living.size())));
    }

    /** {@code alive}, {@code stopped}, or {@code dead} where it ended without a word. */
    public String word() {
        return alive ? "alive" : start.stoppedAt() != null ? "stopped" : "dead";
    }
}
