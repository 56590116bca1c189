package dev.fencepost.edge.cli;

import dev.fencepost.host.Printable;
import dev.fencepost.run.NodeStanding;
import dev.fencepost.run.Nodes.NodeView;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Nodes as {@code status} and {@code doctor} print them. */
final class NodeLine {

    private NodeLine() {}

    static Map<String, @Nullable Object> json(NodeStanding node) {
        NodeView start = node.start();
        return Json.object(
                "owner", start.owner(),
                "host", start.state().host(),
                "version", start.state().version(),
                "alive", node.alive(),
                "started_at", start.startedAt(),
                "seen_at", start.seenAt(),
                "stopped_at", start.stoppedAt(),
                "jobs_file", start.state().jobsFile(),
                "jobs_hash", start.state().jobsHash(),
                "jobs_differ", node.differs(),
                "file_error", start.state().fileError());
    }

    static void print(List<NodeStanding> lines, PrintWriter out) {
        if (lines.isEmpty()) {
            return;
        }
        out.println();
        TextTable table =
                new TextTable("NODE", "HOST", "VERSION", "STATE", "STARTED", "LAST SIGN OF LIFE", "JOBS FILE");
        for (NodeStanding line : lines) {
            NodeView start = line.start();
            table.row(
                    LeaseForms.shortOwner(start.owner()),
                    start.state().host(),
                    start.state().version(),
                    line.word(),
                    SlotText.utc(start.startedAt()),
                    SlotText.utc(start.seenAt()),
                    start.state().jobsFile() + (line.differs() ? ", other jobs than the newest node" : ""));
        }
        table.print(out);
        for (NodeStanding line : lines) {
            String error = line.start().state().fileError();
            if (line.alive() && error != null) {
                out.println(Printable.text(LeaseForms.shortOwner(line.start().owner())
                        + " has refused its jobs file and runs by the one" + " before: " + error));
            }
        }
    }
}
