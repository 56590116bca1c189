package dev.fencepost.edge.web.page;

import dev.fencepost.run.NodeStanding;
import dev.fencepost.run.Nodes.NodeView;
import java.time.ZoneId;
import java.time.ZoneOffset;

/**
 * A node as the overview shows it.
 *
 * @param mine whether it is the one that made this page
 * @param fileError empty, or why it runs by the file before
 * @param differs whether it runs by another jobs file than the living node that was started last
 */
public record NodeRow(
        String name,
        String owner,
        boolean mine,
        String host,
        String version,
        Label state,
        When started,
        When seen,
        String file,
        String fileError,
        boolean differs) {

    static NodeRow of(NodeStanding node, String here) {
        NodeView start = node.start();
        String owner = start.owner().text();
        String error = start.state().fileError();
        ZoneId utc = ZoneOffset.UTC;
        return new NodeRow(
                start.owner().brief(),
                owner,
                node.alive() && owner.startsWith(here + "/"),
                start.state().host(),
                start.state().version(),
                switch (node.word()) {
                    case "alive" -> new Label("alive", "\u25cf", "good");
                    case "stopped" -> new Label("stopped", "\u25a1", "skip");
                    default -> new Label("gone", "\u26a0", "warn");
                },
                When.of(start.startedAt(), utc),
                When.of(start.seenAt(), utc),
                start.state().jobsFile(),
                node.alive() && error != null ? error : "",
                node.differs());
    }
}
