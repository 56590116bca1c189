package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.host.StateDirectory;
import dev.fencepost.host.Printable;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History.Deferral;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.History.LastTick;
import dev.fencepost.run.Inquiry;
import dev.fencepost.run.NodeStanding;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Standing;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;

/** Shows what is: each job with its next slot, its lease, its last outcome and its counts. Changes nothing. */
@Command(
        description = {
            "Shows each job: next slot, who runs it, last outcome, counts, pauses; and the nodes on this store.",
            "Reads the store and changes nothing. Next slots come from the jobs file, where there is one."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost status",
            "  fencepost status --store sqlite:/var/lib/fencepost/fencepost.db",
            "  fencepost status --json"
        })
final class StatusCommand implements Callable<Integer> {

    private final SharedOptions shared;

    StatusCommand(SharedOptions shared) {
        this.shared = shared;
    }

    /** A job with what its ticks came to. */
    private record Line(Standing job, Map<Outcome, Long> counts) {}

    @Override
    public Integer call() {
        JobsFile file = shared.jobsFileIfAny();
        try (OpenedStore opened = OpenedStore.existing(shared, file)) {
            List<Line> lines = lines(
                    file,
                    opened.store().jobs(),
                    opened.store().counts(),
                    opened.store().now());
            lines.forEach(this::warnOfOtherSchedule);
            List<NodeStanding> nodes = NodeStanding.of(
                    opened.store().nodes(NodeStanding.STARTS), opened.store().now());
            String node = node();
            if (shared.json()) {
                Json.print(
                        shared.surroundings().out(),
                        Json.object(
                                "node",
                                node,
                                "store",
                                opened.store().describe(),
                                "jobs",
                                lines.stream().map(StatusCommand::json).toList(),
                                "nodes",
                                nodes.stream().map(NodeLine::json).toList()));
            } else {
                print(file, lines, node, opened.store().describe());
                NodeLine.print(nodes, shared.surroundings().out());
            }
        }
        return ExitCode.FINE;
    }

    private static List<Line> lines(
            @Nullable JobsFile file, List<JobSummary> summaries, Map<String, Map<Outcome, Long>> counts, Instant now) {
        return Standing.of(file == null ? List.of() : file.jobs(), summaries, now).stream()
                .map(job -> new Line(job, counts.getOrDefault(job.id(), Map.of())))
                .toList();
    }

    private @Nullable String node() {
        try {
            return StateDirectory.existingNodeId(shared.stateDir());
        } catch (IOException e) {
            shared.surroundings().err().println("warning: the id of this node cannot be read: " + e);
            return null;
        }
    }

    private void warnOfOtherSchedule(Line line) {
        if (line.job.hasOtherSchedule()) {
            shared.surroundings()
                    .err()
                    .println("warning: " + line.job.id() + ": the store has the schedule "
                            + Objects.requireNonNull(line.job.summary()).scheduleText() + ", this file has "
                            + Objects.requireNonNull(line.job.job()).schedule().text()
                            + "; the service has not reloaded it, or another node runs by another file");
        }
    }

    private static Map<String, @Nullable Object> json(Line line) {
        Attempt running = line.job.running();
        LeaseView lease = line.job.lease();
        LastTick last = line.job.summary() == null ? null : line.job.summary().last();
        return Json.object(
                "id",
                line.job.id(),
                "next_slot",
                line.job.next(),
                "paused",
                line.job.pause() != null,
                "running",
                running == null
                        ? null
                        : Json.object(
                                "slot",
                                running.slotKey(),
                                "attempt",
                                running.number(),
                                "fence",
                                running.fence().value(),
                                "owner",
                                running.owner(),
                                "started_at",
                                running.startedAt()),
                "lease",
                lease == null
                        ? null
                        : Json.object("owner", lease.owner(), "fence", lease.fence(), "expires_at", lease.expiresAt()),
                "last",
                last == null
                        ? null
                        : Json.object(
                                "slot",
                                Inquiry.slot(last.slotKey()),
                                "outcome",
                                last.outcome(),
                                "ended_at",
                                last.endedAt()),
                "counts",
                counts(line.counts),
                "pause",
                OrderForms.json(line.job.pause()),
                "deferred",
                line.job.deferral() == null
                        ? null
                        : Json.object(
                                "until",
                                line.job.deferral().until(),
                                "reason",
                                line.job.deferral().reason()));
    }

    /** All eight, in a fixed order. */
    private static Map<String, @Nullable Object> counts(Map<Outcome, Long> counted) {
        Map<String, @Nullable Object> counts = new LinkedHashMap<>();
        for (Outcome outcome : List.of(
                Outcome.SUCCEEDED,
                Outcome.FAILED,
                Outcome.TIMED_OUT,
                Outcome.LEASE_LOST,
                Outcome.ABANDONED,
                Outcome.SKIPPED_OVERLAP,
                Outcome.DROPPED,
                Outcome.CANCELLED)) {
            counts.put(lower(outcome), counted.getOrDefault(outcome, 0L));
        }
        return counts;
    }

    static String lower(Outcome outcome) {
        return outcome.name().toLowerCase(Locale.ROOT);
    }

    private void print(@Nullable JobsFile file, List<Line> lines, @Nullable String node, String store) {
        PrintWriter out = shared.surroundings().out();
        out.println("node   " + (node == null ? "has no id yet: nothing has run with this state directory" : node));
        out.println("store  " + store);
        out.println("file   "
                + (file != null
                        ? file.path()
                        : (shared.hasJobsFile() ? "refused" : "none found") + ": next slots are not known"));
        out.println();
        if (lines.isEmpty()) {
            out.println("no jobs yet");
            return;
        }
        TextTable table = new TextTable("JOB", "NEXT SLOT", "STATE", "LEASE", "LAST", "ENDED", "COUNTS");
        for (Line line : lines) {
            LastTick last =
                    line.job.summary() == null ? null : line.job.summary().last();
            table.row(
                    line.job.id(),
                    line.job.next() == null ? "-" : SlotText.local(line.job.next(), line.job.zone()),
                    state(line, file != null),
                    lease(line),
                    last == null ? "-" : lower(last.outcome()),
                    last == null ? "-" : SlotText.local(last.endedAt(), line.job.zone()),
                    countsText(line.counts));
        }
        table.print(out);
        boolean first = true;
        for (Line line : lines) {
            if (line.job.pause() != null || line.job.deferral() != null) {
                out.print(first ? System.lineSeparator() : "");
                first = false;
                out.println(Printable.text(stopped(line)));
            }
        }
    }

    /** Since when, until when, by whom and why. */
    private static String stopped(Line line) {
        Pause pause = line.job.pause();
        if (pause == null) {
            Deferral deferral = Objects.requireNonNull(line.job.deferral());
            return line.job.id() + " is deferred until " + SlotText.local(deferral.until(), line.job.zone())
                    + " by a usage limit" + because(deferral.reason());
        }
        String who = switch (pause.cause()) {
            case PERSON -> "by " + pause.by();
            case FAILURES -> "by the brake pause-after-failures";
            case AUTH -> "by the brake for logins";
        };
        return line.job.id() + " is paused " + who + " since " + SlotText.local(pause.since(), line.job.zone())
                + " until "
                + (pause.until() == null
                        ? "fencepost resume " + line.job.id()
                        : SlotText.local(pause.until(), line.job.zone()))
                + because(pause.reason());
    }

    private static String because(@Nullable String reason) {
        return reason == null ? "" : ": " + reason;
    }

    private static String state(Line line, boolean thereIsAFile) {
        return switch (line.job.state()) {
            case RUNNING -> line.job.pause() == null ? "running" : "running, paused";
            case HELD -> "held";
            case HOLDER_GONE -> "holder gone";
            case RETIRED -> "retired";
            case BY_HAND -> "by hand";
            case PAUSED -> "paused";
            case DEFERRED -> "deferred";
            case NOT_IN_THIS_FILE -> thereIsAFile ? "not in this file" : "idle";
            case NOT_SEEN_YET -> "not seen yet";
            case IDLE -> "idle";
        };
    }

    private static String lease(Line line) {
        LeaseView lease = line.job.lease();
        return lease == null
                ? "-"
                : LeaseForms.shortOwner(Objects.requireNonNull(lease.owner())) + ", token " + lease.fence() + ", until "
                        + SlotText.local(Objects.requireNonNull(lease.expiresAt()), line.job.zone());
    }

    private static String countsText(Map<Outcome, Long> counted) {
        String text = counts(counted).entrySet().stream()
                .filter(count -> !Long.valueOf(0).equals(count.getValue()))
                .map(count -> count.getValue() + " " + count.getKey())
                .collect(Collectors.joining(", "));
        return text.isEmpty() ? "-" : text;
    }
}
