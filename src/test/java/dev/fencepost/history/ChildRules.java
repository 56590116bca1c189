package dev.fencepost.history;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** When the children of a runner may live. */
final class ChildRules {

    /** The clock of the stamps goes in steps of ten; two of them may be read in either order. */
    private static final long CLOCK_STEP_MILLIS = 20;

    private ChildRules() {}

    /**
     * S3: no child of an older token is alive once one of a newer token has begun; but while its runner is stopped, and until it is dead
     * after the waking. After a promotion the store may not know of the older one, which then lives for a lease at most.
     */
    static void deadBeforeTheNext(History history, Rule.Report report) {
        Map<String, List<Line>> startsOfJob = LeaseRules.by(history.all("start"), "job");
        for (Line start : history.all("start")) {
            Line newer = firstAfter(startsOfJob.getOrDefault(start.text("job"), List.of()), start.number("token"));
            Line node = Runners.nodeOf(history, start);
            if (newer == null) {
                continue;
            }
            for (Line line : history.ofRun(start.text("run"))) {
                boolean beside = line.up() > newer.up() + CLOCK_STEP_MILLIS;
                boolean frozen = node != null && Runners.isFrozen(history, node, line.up());
                if (beside && !frozen && !history.promotedBetween(start.up(), line.up())) {
                    report.violated("S3", "a child lives beside its successor", start, newer, line);
                    break; // once for each child is enough
                }
            }
        }
    }

    /** The first start under a higher token. */
    private static @Nullable Line firstAfter(List<Line> starts, long token) {
        return starts.stream()
                .filter(start -> start.number("token") > token)
                .findFirst()
                .orElse(null);
    }

    /** S3: a child is dead at once when its runner is killed. */
    static void deadWithItsRunner(History history, Rule.Report report) {
        for (Line start : history.all("start")) {
            Line node = Runners.nodeOf(history, start);
            Line end = node == null ? null : Runners.endOf(history, node);
            if (end == null) {
                continue;
            }
            for (Line line : history.ofRun(start.text("run"))) {
                if (!line.is("start") && line.up() > end.up() + Runners.DYING_MILLIS) {
                    report.violated("S3", "a child outlives its runner", start, end, line);
                    break;
                }
            }
        }
    }

    /** S4: nothing of a run is left behind. */
    static void nothingIsLeft(History history, Rule.Report report) {
        history.all("left").forEach(line -> report.violated("S4", "a process without an owner", line));
    }
}
