package dev.fencepost.edge.cli;

import dev.fencepost.edge.jdbc.Diagnosis.PausedJob;
import dev.fencepost.edge.jdbc.Diagnosis.SinkAhead;
import dev.fencepost.effect.Outbox.Tally;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.Owner;
import dev.fencepost.run.Nodes.NodeView;
import dev.fencepost.run.Pause;
import dev.fencepost.work.WorkQueue.QueueView;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Judges what the nodes of a store are doing, and what waits in it for a person. */
final class FleetVerdicts {

    static final String NODES = "nodes";
    static final String PAUSES = "pauses";
    static final String EFFECTS = "effects";
    static final String SINKS = "sinks";
    static final String WORK = "work queue";

    private static final int MOST_NAMED = 5;

    private FleetVerdicts() {}

    /** @param nodes newest start first */
    static List<Verdict> nodes(List<NodeView> nodes, Instant now) {
        List<Verdict> verdicts = new ArrayList<>();
        List<NodeView> alive = nodes.stream().filter(node -> node.isAlive(now)).toList();
        Map<String, Set<String>> hostsByHash = new TreeMap<>();
        for (NodeView node : alive) {
            hostsByHash
                    .computeIfAbsent(node.state().jobsHash(), hash -> new TreeSet<>())
                    .add(name(node));
            if (node.state().fileError() != null) {
                verdicts.add(Verdict.warning(
                        NODES,
                        name(node) + " has refused its jobs file and goes on with the one before: "
                                + node.state().fileError(),
                        "fencepost validate there, mend the file, then fencepost reload or kill -HUP"));
            }
        }
        if (hostsByHash.size() > 1) {
            verdicts.add(Verdict.warning(
                    NODES,
                    "living nodes have different jobs: "
                            + String.join(
                                    "; ",
                                    hostsByHash.entrySet().stream()
                                            .map(e -> e.getKey() + " on " + String.join(", ", e.getValue()))
                                            .toList()),
                    "give all the same jobs file, and reload each: they retire each other's jobs"));
        }
        Set<String> living = new TreeSet<>();
        alive.forEach(node -> living.add(nodeId(node.owner())));
        Map<String, NodeView> dead = new LinkedHashMap<>();
        for (NodeView node : nodes) {
            String id = nodeId(node.owner());
            if (!living.contains(id)) {
                dead.putIfAbsent(id, node); // its newest start
            }
        }
        dead.values().stream()
                .filter(node -> node.stoppedAt() == null)
                .limit(MOST_NAMED)
                .forEach(node -> verdicts.add(Verdict.note(
                        NODES,
                        name(node) + " gives no sign of life since " + node.seenAt() + " and did not stop in order",
                        "start it again, or leave it where the host is gone for good")));
        if (verdicts.stream().allMatch(verdict -> verdict.state() == Verdict.State.NOTE)) {
            verdicts.addFirst(Verdict.ok(
                    NODES,
                    alive.isEmpty()
                            ? "no service is running on this store"
                            : alive.size() + " alive: "
                                    + String.join(
                                            ", ",
                                            alive.stream()
                                                    .map(FleetVerdicts::name)
                                                    .toList())));
        }
        return verdicts;
    }

    private static String name(NodeView node) {
        return node.state().host();
    }

    /** Of an owner that is no runner the whole text: then each start counts by itself. */
    private static String nodeId(Owner owner) {
        Incarnation incarnation = Incarnation.of(owner);
        return incarnation == null ? owner.text() : incarnation.nodeId();
    }

    static List<Verdict> pauses(List<PausedJob> paused, Instant now) {
        List<Verdict> verdicts = new ArrayList<>();
        for (PausedJob job : paused) {
            Pause pause = job.pause();
            if (!pause.isInForce(now)) {
                continue;
            }
            String text = job.job() + " is paused since " + pause.since()
                    + (pause.until() == null ? "" : ", until " + pause.until()) + " by " + pause.by()
                    + (pause.reason() == null ? "" : ": " + pause.reason());
            String mend = "fencepost resume " + job.job();
            verdicts.add(
                    switch (pause.cause()) {
                        case PERSON -> Verdict.note(PAUSES, text, mend);
                        case FAILURES ->
                            Verdict.warning(
                                    PAUSES, text, "fencepost history " + job.job() + ", mend the cause, then " + mend);
                        case AUTH ->
                            Verdict.warning(PAUSES, text, "log the agent in again, or renew its key, then " + mend);
                    });
        }
        return verdicts.isEmpty() ? List.of(Verdict.ok(PAUSES, "no job is paused")) : verdicts;
    }

    static Verdict effects(List<Tally> tallies) {
        long waiting = tallies.stream().mapToLong(Tally::waiting).sum();
        long open = tallies.stream()
                .filter(tally -> tally.state().isOpen())
                .mapToLong(Tally::count)
                .sum();
        return waiting == 0
                ? Verdict.ok(EFFECTS, "none waits for a person, " + open + " open")
                : Verdict.warning(
                        EFFECTS,
                        waiting + (waiting == 1 ? " effect waits" : " effects wait") + " for a person",
                        "fencepost effects list --waiting");
    }

    static List<Verdict> sinks(List<SinkAhead> ahead) {
        if (ahead.isEmpty()) {
            return List.of(Verdict.ok(SINKS, "none is known to have seen a higher token than the store has granted"));
        }
        return ahead.stream()
                .limit(MOST_NAMED)
                .map(each -> Verdict.bad(
                        SINKS,
                        (each.sink() == null ? "a sink" : "sink " + each.sink()) + " knows token " + each.sinkFence()
                                + " of " + each.resource() + ", the store has granted no more than "
                                + each.storeFence()
                                + ": the store is older than the sink, which refuses what new runs publish",
                        "a backup was restored, or a new store stands before an old sink: fencepost store bump raises the"
                                + " store's tokens above the sink's; see backup-and-upgrade.md"))
                .toList();
    }

    static Verdict work(List<QueueView> queues) {
        if (queues.isEmpty()) {
            return Verdict.ok(WORK, "empty");
        }
        long dead = queues.stream().mapToLong(QueueView::dead).sum();
        long ready = queues.stream().mapToLong(QueueView::ready).sum();
        String text = ready + " ready, "
                + queues.stream().mapToLong(QueueView::claimed).sum() + " claimed, " + dead + " dead";
        return dead == 0
                ? Verdict.ok(WORK, text)
                : Verdict.note(WORK, text, "fencepost work list --state dead shows them, with reasons");
    }
}
