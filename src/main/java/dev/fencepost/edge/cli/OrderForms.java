package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.host.HostName;
import dev.fencepost.host.Nearest;
import dev.fencepost.host.Printable;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.Nodes.NodeView;
import dev.fencepost.run.Orders;
import dev.fencepost.run.Orders.Answer;
import dev.fencepost.run.Pause;
import java.time.Instant;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** What the orders of a person have in common: who gives them, what is refused, and whether anybody obeys. */
final class OrderForms {

    static final String REASON = "Kept with the order, for whoever asks why.";

    private static final int MOST_NAMES = 5;
    private static final int NODES_LOOKED_AT = 1_000;

    private OrderForms() {}

    /** {@code user@host}; under sudo the user who called it. */
    static String by(SharedOptions shared) {
        String user = System.getProperty("user.name", "unknown");
        String caller = shared.surroundings().environment().get("SUDO_USER");
        return (user.equals("root") && caller != null && !caller.isBlank() ? caller : user) + "@" + HostName.read();
    }

    static @Nullable String reason(CommandSpec spec, @Nullable String reason) {
        if (!Orders.isReason(reason)) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--reason: write 1 to " + Orders.LONGEST_REASON + " characters, or leave it out");
        }
        return reason;
    }

    /** A job that the store does not know, or that left the file: with the names that may have been meant. */
    static int unknown(SharedOptions shared, OpenedStore opened, @Nullable JobsFile file, String job) {
        Set<String> known = new LinkedHashSet<>();
        boolean retired = false;
        boolean byHand = false;
        for (JobSummary summary : opened.store().jobs()) {
            if (summary.id().equals(job)) {
                retired = summary.retired();
                byHand = retired && summary.scheduleText() == null;
            } else if (!summary.retired() && summary.scheduleText() != null) {
                known.add(summary.id());
            }
        }
        String what;
        if (file != null && file.definitions().containsKey(job)) {
            what = Finding.quote(job) + " is in " + file.path() + ", but no node has read it yet"
                    + "\n    fencepost serve does at its start, and after fencepost reload";
        } else if (byHand) {
            what = Finding.quote(job) + " is run by hand only, with fencepost exec or run; no node starts it"
                    + "\n    what ran of it is in fencepost history " + job + ", and fencepost cancel " + job
                    + " stops what runs";
        } else if (retired) {
            what = Finding.quote(job) + " has left the jobs file; what ran of it is in fencepost history " + job;
        } else {
            if (file != null) {
                known.addAll(file.definitions().keySet());
            }
            List<String> near = Nearest.among(job, known, MOST_NAMES);
            what = "there is no job " + Finding.quote(job) + "\n    "
                    + (!near.isEmpty()
                            ? "did you mean " + String.join(" or ", near) + "?"
                            : known.isEmpty() ? "the store knows none yet" : "fencepost status lists them all");
            if (shared.json()) {
                return refused(shared, job, Answer.UNKNOWN.name(), what, "near", near);
            }
        }
        return refused(shared, job, Answer.UNKNOWN.name(), what);
    }

    /** A normal "no": as JSON on stdout, or as words on stderr. */
    static int refused(SharedOptions shared, String job, String reason, String words, @Nullable Object... more) {
        if (shared.json()) {
            Map<String, @Nullable Object> answer = Json.object("ok", false, "reason", reason, "job", job);
            answer.putAll(Json.object(more));
            Json.print(shared.surroundings().out(), answer);
        } else {
            shared.surroundings().err().println(words);
        }
        return ExitCode.REFUSED;
    }

    static void done(
            SharedOptions shared, OpenedStore opened, @Nullable String job, String words, @Nullable Object... more) {
        List<NodeView> alive = alive(opened);
        if (shared.json()) {
            Map<String, @Nullable Object> answer = Json.object("ok", true, "reason", null, "job", job);
            answer.putAll(Json.object(more));
            answer.put("nodes_alive", alive.size());
            Json.print(shared.surroundings().out(), answer);
        } else {
            shared.surroundings().out().println(Printable.text(words));
            shared.surroundings().out().println(Printable.text(whoObeys(opened, alive)));
        }
    }

    static List<NodeView> alive(OpenedStore opened) {
        Instant now = opened.store().now();
        return opened.store().nodes(NODES_LOOKED_AT).stream()
                .filter(node -> node.isAlive(now))
                .toList();
    }

    private static String whoObeys(OpenedStore opened, List<NodeView> alive) {
        if (!alive.isEmpty()) {
            return "    "
                    + (alive.size() == 1
                            ? "the node on " + alive.getFirst().state().host() + " obeys"
                            : alive.size() + " nodes obey")
                    + " within two seconds";
        }
        List<NodeView> newest = opened.store().nodes(1);
        return "    no node is alive now"
                + (newest.isEmpty()
                        ? ""
                        : ", the last sign of life was at "
                                + SlotText.utc(newest.getFirst().seenAt()))
                + "; fencepost serve obeys when it runs";
    }

    static @Nullable Map<String, @Nullable Object> json(@Nullable Pause pause) {
        return pause == null
                ? null
                : Json.object(
                        "since", pause.since(),
                        "until", pause.until(),
                        "cause", pause.cause(),
                        "reason", pause.reason(),
                        "by", pause.by());
    }
}
