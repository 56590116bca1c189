package dev.fencepost.edge.systemd;

import dev.fencepost.Node;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What a node does, in one line for {@code systemctl status}. */
public final class StatusLine {

    private static final int MOST_NAMED = 3;

    private StatusLine() {}

    /**
     * @param stopping whether it only waits for the end of its runs
     * @param refused why the jobs file was refused at the last reload, or null
     */
    public static String of(Node node, boolean stopping, @Nullable String refused) {
        List<String> running = node.loops().stream()
                .filter(loop -> loop.runningFor() != null)
                .map(loop -> loop.job().id())
                .toList();
        if (stopping) {
            return "stopping" + (running.isEmpty() ? "" : ", waits for " + named(running));
        }
        if (!node.isPrepared()) {
            String failure = node.prepareFailure();
            return failure == null ? "starting" : "the store is not available, tried again: " + failure;
        }
        String state = running.isEmpty() ? "idle" : "runs " + named(running);
        String text = state + "; " + next(node);
        List<Node.FailingJob> failing = node.failingJobs();
        if (!failing.isEmpty()) {
            text = "the store refuses planning of " + failing.size() + " of "
                    + node.loops().size() + " jobs: " + failing.getFirst().reason() + "; " + text;
        }
        return refused == null ? text : text + "; jobs file refused: " + refused;
    }

    private static String next(Node node) {
        record Next(String job, Instant at) {}
        Optional<Next> next = node.loops().stream()
                .flatMap(loop -> Optional.ofNullable(loop.nextSlot())
                        .map(at -> new Next(loop.job().id(), at))
                        .stream())
                .min(Comparator.comparing(Next::at).thenComparing(Next::job));
        return next.map(n -> "next " + n.job() + " at " + n.at().truncatedTo(ChronoUnit.SECONDS))
                .orElse("no next slot");
    }

    private static String named(List<String> jobs) {
        String first = jobs.stream().limit(MOST_NAMED).collect(Collectors.joining(", "));
        int more = jobs.size() - MOST_NAMED;
        return more > 0 ? first + " and " + more + " more" : first;
    }
}
