package dev.fencepost.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Who may write: tokens, runs and owners. */
final class LeaseRules {

    /** Reasons of events that tell of the end of a grant. Other accepted events are orders of people. */
    private static final Set<String> ENDS = Set.of("SUCCEEDED", "FAILED", "TIMED_OUT", "CANCELLED", "DONE");

    /** Ends that only the holder of a live lease can write. */
    private static final Set<String> ENDS_BY_HOLDERS = Set.of("SUCCEEDED", "FAILED", "TIMED_OUT");

    private LeaseRules() {}

    static boolean isEndOfGrant(Line event) {
        return event.truth("accepted")
                && !event.has("effect")
                && event.has("run_id")
                && ENDS.contains(event.text("reason"));
    }

    /** S1: one accepted completion for each resource and token, and one success for each slot. */
    static void acceptedOnce(History history, Rule.Report report) {
        Map<String, Line> first = new HashMap<>();
        for (Line event : history.rowsOfAll("write_event")) {
            if (isEndOfGrant(event)) {
                String key = event.text("store") + " event " + event.text("resource") + " " + event.number("fence");
                once(first, key, event, "two accepted ends under one token", report);
            }
        }
        for (Line answer : history.all("answer")) {
            if (answer.truth("accepted") && answer.text("operation").equals("complete")) {
                String key = "answer " + answer.text("resource") + " " + answer.number("token");
                once(first, key, answer, "two completions accepted under one token", report);
            }
        }
        for (Line attempt : history.rowsOfAll("attempt")) {
            if (attempt.text("outcome").equals("SUCCEEDED")) {
                String key = attempt.text("store") + " slot " + attempt.text("job") + " " + attempt.text("slot_key");
                once(first, key, attempt, "two successes of one slot", report);
            }
        }
    }

    private static void once(Map<String, Line> first, String key, Line line, String text, Rule.Report report) {
        Line before = first.putIfAbsent(key, line);
        if (before != null) {
            report.violated("S1", text, before, line);
        }
    }

    /** S2: nothing of an older token is accepted once a newer one was granted. */
    static void staleHolderChangesNothing(History history, Rule.Report report) {
        Map<String, List<Line>> granted = by(history.all("granted"), "resource");
        Map<String, Line> tries = new HashMap<>();
        for (Line line : history.lines()) {
            String call = line.file() + " " + line.text("operation") + " " + line.text("run");
            if (line.is("try")) {
                tries.put(call, line);
            } else if (line.is("answer") && line.truth("accepted")) {
                Line asked = tries.getOrDefault(call, line);
                for (Line newer : granted.getOrDefault(line.text("resource"), List.of())) {
                    if (newer.number("token") > line.number("token") && newer.up() < asked.up()) {
                        report.violated("S2", "accepted although a newer token was granted before", newer, asked, line);
                        break;
                    }
                }
            }
        }
        byStoreAnd(history, "write_event", "resource").values().forEach(events -> checkEvents(events, report));
        byStoreAnd(history, "attempt", "job").values().forEach(attempts -> checkEnds(attempts, report));
    }

    /** Events get their numbers while the lease's row is locked. */
    private static void checkEvents(List<Line> events, Rule.Report report) {
        Line highest = null;
        for (Line event : sorted(events, "id")) {
            if (isEndOfGrant(event)) {
                if (highest != null && event.number("fence") < highest.number("fence")) {
                    report.violated(
                            "S2", "an end under an old token was accepted after that of a newer one", highest, event);
                } else {
                    highest = event;
                }
            }
        }
    }

    private static void checkEnds(List<Line> attempts, Rule.Report report) {
        List<Line> byFence = sorted(attempts, "fence");
        Line next = null;
        for (Line attempt : byFence.reversed()) {
            Long ended = attempt.numberOrNull("ended_at");
            boolean byHolder = ENDS_BY_HOLDERS.contains(attempt.text("outcome"));
            if (next != null && ended != null && byHolder && next.number("started_at") < ended) {
                report.violated("S2", "the end was stored although a newer token had been granted", next, attempt);
            }
            if (next == null || attempt.number("started_at") < next.number("started_at")) {
                next = attempt;
            }
        }
    }

    /** S5: no token falls, none is given to two runs, and no run has two. */
    static void tokensRise(History history, Rule.Report report) {
        Map<String, Line> runOfToken = new HashMap<>();
        Map<String, Line> tokenOfRun = new HashMap<>();
        Map<String, Line> newest = new HashMap<>();
        for (Line line : history.lines()) {
            Grant grant = grant(line);
            if (grant == null) {
                continue;
            }
            String token = grant.resource() + " " + grant.token();
            Line sameToken = runOfToken.putIfAbsent(token, line);
            if (sameToken != null && !grantOf(sameToken).run().equals(grant.run())) {
                report.violated("S5", "one token of two runs", sameToken, line);
            }
            Line sameRun = tokenOfRun.putIfAbsent(grant.run(), line);
            if (sameRun != null && !grantOf(sameRun).equals(grant)) {
                report.violated("S5", "one run with two tokens", sameRun, line);
            }
            newest.merge(grant.resource(), line, (one, other) -> grantOf(one).token() >= grant.token() ? one : other);
        }
        by(history.all("granted"), "resource").values().forEach(grants -> checkOrder(grants, report));
        if (history.all("database").stream()
                .noneMatch(line -> line.text("state").equals("clock"))) {
            byStoreAnd(history, "attempt", "job").values().forEach(attempts -> checkStarts(attempts, report));
        }
        for (Line lease : history.rows("lease")) {
            Line grant = newest.get(lease.text("resource"));
            if (grant != null && grantOf(grant).token() > lease.number("fence")) {
                report.violated("S5", "the lease's token has fallen", grant, lease);
            }
        }
    }

    private record Grant(String resource, long token, String run) {}

    private static Grant grantOf(Line line) {
        Grant grant = grant(line);
        if (grant == null) {
            throw new IllegalArgumentException("no grant: " + line);
        }
        return grant;
    }

    private static @Nullable Grant grant(Line line) {
        if (line.is("granted")) {
            return new Grant(line.text("resource"), line.number("token"), line.text("run"));
        }
        if (line.is("start")) {
            return new Grant(line.text("job"), line.number("token"), line.text("run"));
        }
        return line.isRowOf("attempt") ? new Grant(line.text("job"), line.number("fence"), line.text("run_id")) : null;
    }

    /** A claim that was sent after the answer to another one has the higher token. */
    private static void checkOrder(List<Line> grants, Rule.Report report) {
        for (Line later : grants) {
            for (Line earlier : grants) {
                if (later.number("sent") > earlier.up() && later.number("token") <= earlier.number("token")) {
                    report.violated("S5", "a later grant has no higher token", earlier, later);
                }
            }
        }
    }

    private static void checkStarts(List<Line> attempts, Rule.Report report) {
        Line before = null;
        for (Line attempt : sorted(attempts, "fence")) {
            if (before != null && attempt.number("started_at") < before.number("started_at")) {
                report.violated("S5", "the higher token is of the earlier attempt", before, attempt);
            }
            before = attempt;
        }
    }

    /** S6: each owner is one start of a service, and does nothing after the end of that. */
    static void ownerIsOneIncarnation(History history, Rule.Report report) {
        Map<String, Line> nodeOfOwner = new HashMap<>();
        Map<Line, String> ownerOfNode = new HashMap<>();
        for (Line start : history.all("start")) {
            String owner = start.text("owner");
            Line node = Runners.nodeOf(history, start);
            if (node == null) {
                report.violated("S6", "an owner that no service is", start);
                continue;
            }
            Line other = nodeOfOwner.putIfAbsent(owner, node);
            if (other != null && other != node) {
                report.violated("S6", "one owner is two starts of a service", other, node, start);
            }
            String name = ownerOfNode.putIfAbsent(node, owner);
            if (name != null && !name.equals(owner)) {
                report.violated("S6", "one start of a service is two owners: " + name, node, start);
            }
            Line end = Runners.endOf(history, node);
            if (end != null && start.up() > end.up() + Runners.DYING_MILLIS) {
                report.violated("S6", "an owner started a run after its own end", end, start);
            }
        }
    }

    static Map<String, List<Line>> by(List<Line> lines, String name) {
        Map<String, List<Line>> parts = new HashMap<>();
        lines.forEach(line -> parts.computeIfAbsent(line.text(name), none -> new ArrayList<>())
                .add(line));
        return parts;
    }

    private static Map<String, List<Line>> byStoreAnd(History history, String table, String name) {
        Map<String, List<Line>> parts = new HashMap<>();
        for (Line row : history.rowsOfAll(table)) {
            parts.computeIfAbsent(row.text("store") + " " + row.text(name), none -> new ArrayList<>())
                    .add(row);
        }
        return parts;
    }

    private static List<Line> sorted(List<Line> lines, String name) {
        return lines.stream()
                .sorted(Comparator.comparingLong(line -> line.number(name)))
                .toList();
    }
}
