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
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
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

    private static final ZoneId UTC = ZoneId.of("Etc/UTC");

    private final SharedOptions shared;

    StatusCommand(SharedOptions shared) {
        this.shared = shared;
    }

    /**
     * A job of the file, of the store, or of both.
     *
     * @param lease only if it is live
     * @param running only if it stands under that lease
     * @param pause only if it is in force
     * @param deferral only until its time has come
     */
    private record Line(
            String id,
            @Nullable Job job,
            @Nullable JobSummary summary,
            Map<Outcome, Long> counts,
            @Nullable Instant next,
            @Nullable LeaseView lease,
            @Nullable Attempt running,
            @Nullable Pause pause,
            @Nullable Deferral deferral) {

        static Line of(
                String id, @Nullable Job job, @Nullable JobSummary summary, Map<Outcome, Long> counts, Instant now) {
            LeaseView lease = summary == null
                            || summary.lease() == null
                            || !summary.lease().isLive()
                    ? null
                    : summary.lease();
            Attempt open = summary == null ? null : summary.running();
            boolean running = open != null && lease != null && open.runId().equals(lease.runId());
            Pause pause = summary == null ? null : summary.pause();
            Deferral deferral = summary == null ? null : summary.deferral();
            return new Line(
                    id,
                    job,
                    summary,
                    counts,
                    job == null ? null : job.schedule().next(now),
                    lease,
                    running ? open : null,
                    pause != null && pause.isInForce(now) ? pause : null,
                    deferral != null && deferral.until().isAfter(now) ? deferral : null);
        }

        ZoneId zone() {
            return job == null ? UTC : job.zone();
        }
    }

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
            List<NodeLine> nodes = NodeLine.of(opened.store());
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

    /** In the order of the file, and then those that the store alone knows. */
    private static List<Line> lines(
            @Nullable JobsFile file, List<JobSummary> summaries, Map<String, Map<Outcome, Long>> counts, Instant now) {
        Map<String, JobSummary> stored = new LinkedHashMap<>();
        summaries.forEach(summary -> stored.put(summary.id(), summary));
        List<Line> lines = new ArrayList<>();
        if (file != null) {
            file.jobs()
                    .forEach(job -> lines.add(Line.of(
                            job.id(), job, stored.remove(job.id()), counts.getOrDefault(job.id(), Map.of()), now)));
        }
        stored.forEach((id, summary) -> lines.add(Line.of(id, null, summary, counts.getOrDefault(id, Map.of()), now)));
        return lines;
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
        JobSummary summary = line.summary;
        if (line.job == null || summary == null || summary.retired() || summary.scheduleText() == null) {
            return;
        }
        String here = line.job.schedule().text();
        if (!here.equals(summary.scheduleText())) {
            shared.surroundings()
                    .err()
                    .println("warning: " + line.id + ": the store has the schedule " + summary.scheduleText()
                            + ", this file has " + here
                            + "; the service has not reloaded it, or another node runs by another file");
        }
    }

    private static Map<String, @Nullable Object> json(Line line) {
        Attempt running = line.running;
        LeaseView lease = line.lease;
        LastTick last = line.summary == null ? null : line.summary.last();
        return Json.object(
                "id",
                line.id,
                "next_slot",
                line.next,
                "paused",
                line.pause != null,
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
                OrderForms.json(line.pause),
                "deferred",
                line.deferral == null
                        ? null
                        : Json.object("until", line.deferral.until(), "reason", line.deferral.reason()));
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
            LastTick last = line.summary == null ? null : line.summary.last();
            table.row(
                    line.id,
                    line.next == null ? "-" : SlotText.local(line.next, line.zone()),
                    state(line, file != null),
                    lease(line),
                    last == null ? "-" : lower(last.outcome()),
                    last == null ? "-" : SlotText.local(last.endedAt(), line.zone()),
                    countsText(line.counts));
        }
        table.print(out);
        boolean first = true;
        for (Line line : lines) {
            if (line.pause != null || line.deferral != null) {
                out.print(first ? System.lineSeparator() : "");
                first = false;
                out.println(Printable.text(stopped(line)));
            }
        }
    }

    /** Since when, until when, by whom and why. */
    private static String stopped(Line line) {
        Pause pause = line.pause;
        if (pause == null) {
            Deferral deferral = Objects.requireNonNull(line.deferral);
            return line.id + " is deferred until " + SlotText.local(deferral.until(), line.zone()) + " by a usage limit"
                    + because(deferral.reason());
        }
        String who = switch (pause.cause()) {
            case PERSON -> "by " + pause.by();
            case FAILURES -> "by the brake pause-after-failures";
            case AUTH -> "by the brake for logins";
        };
        return line.id + " is paused " + who + " since " + SlotText.local(pause.since(), line.zone()) + " until "
                + (pause.until() == null ? "fencepost resume " + line.id : SlotText.local(pause.until(), line.zone()))
                + because(pause.reason());
    }

    private static String because(@Nullable String reason) {
        return reason == null ? "" : ": " + reason;
    }

    private static String state(Line line, boolean thereIsAFile) {
        if (line.running != null) {
            return line.pause == null ? "running" : "running, paused";
        }
        if (line.lease != null) {
            return "held";
        }
        if (line.summary != null && line.summary.running() != null) {
            return "holder gone";
        }
        if (line.job == null && line.summary != null && line.summary.retired()) {
            return line.summary.scheduleText() == null ? "by hand" : "retired";
        }
        if (line.pause != null) {
            return "paused";
        }
        if (line.deferral != null) {
            return "deferred";
        }
        if (line.job == null && line.summary != null) {
            return thereIsAFile ? "not in this file" : "idle";
        }
        return line.summary == null ? "not seen yet" : "idle";
    }

    private static String lease(Line line) {
        LeaseView lease = line.lease;
        return lease == null
                ? "-"
                : LeaseForms.shortOwner(Objects.requireNonNull(lease.owner())) + ", token " + lease.fence() + ", until "
                        + SlotText.local(Objects.requireNonNull(lease.expiresAt()), line.zone());
    }

    private static String countsText(Map<Outcome, Long> counted) {
        String text = counts(counted).entrySet().stream()
                .filter(count -> !Long.valueOf(0).equals(count.getValue()))
                .map(count -> count.getValue() + " " + count.getKey())
                .collect(Collectors.joining(", "));
        return text.isEmpty() ? "-" : text;
    }
}
