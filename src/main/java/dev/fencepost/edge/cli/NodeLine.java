package dev.fencepost.edge.cli;

import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.host.Printable;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.run.Nodes.NodeView;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A node as {@code status} shows it: its newest start.
 *
 * @param differs whether it is alive and runs by another jobs file than the one that was started last
 */
record NodeLine(NodeView start, boolean alive, boolean differs) {

    private static final int STARTS = 1_000;
    private static final int MOST = 20;

    /** The living ones first, then those that were there last; the newest start of each. */
    static List<NodeLine> of(JdbcStore store) {
        Instant now = store.now();
        List<NodeLine> alive = new ArrayList<>();
        List<NodeLine> others = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        String newestHash = null;
        for (NodeView start : store.nodes(STARTS)) { // newest first
            Incarnation incarnation = Incarnation.of(start.owner());
            boolean isAlive = start.isAlive(now);
            if (!seen.add(incarnation == null ? start.owner().text() : incarnation.nodeId()) && !isAlive) {
                continue;
            }
            String hash = start.state().jobsHash();
            if (isAlive) {
                newestHash = newestHash == null ? hash : newestHash;
                alive.add(new NodeLine(start, true, !hash.equals(newestHash)));
            } else {
                others.add(new NodeLine(start, false, false));
            }
        }
        alive.addAll(others);
        return alive.subList(0, Math.min(MOST, alive.size()));
    }

    Map<String, @Nullable Object> json() {
        return Json.object(
                "owner", start.owner(),
                "host", start.state().host(),
                "version", start.state().version(),
                "alive", alive,
                "started_at", start.startedAt(),
                "seen_at", start.seenAt(),
                "stopped_at", start.stoppedAt(),
                "jobs_file", start.state().jobsFile(),
                "jobs_hash", start.state().jobsHash(),
                "jobs_differ", differs,
                "file_error", start.state().fileError());
    }

    static void print(List<NodeLine> lines, PrintWriter out) {
        if (lines.isEmpty()) {
            return;
        }
        out.println();
        TextTable table =
                new TextTable("NODE", "HOST", "VERSION", "STATE", "STARTED", "LAST SIGN OF LIFE", "JOBS FILE");
        for (NodeLine line : lines) {
            NodeView start = line.start;
            table.row(
                    LeaseForms.shortOwner(start.owner()),
                    start.state().host(),
                    start.state().version(),
                    line.alive ? "alive" : start.stoppedAt() != null ? "stopped" : "dead",
                    SlotText.utc(start.startedAt()),
                    SlotText.utc(start.seenAt()),
                    start.state().jobsFile() + (line.differs ? ", other jobs than the newest node" : ""));
        }
        table.print(out);
        for (NodeLine line : lines) {
            String error = line.start.state().fileError();
            if (line.alive && error != null) {
                out.println(Printable.text(LeaseForms.shortOwner(line.start.owner())
                        + " has refused its jobs file and runs by the one" + " before: " + error));
            }
        }
    }
}
