package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.host.Nearest;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Classification;
import dev.fencepost.run.History.Entry;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.History.Range;
import dev.fencepost.run.Inquiry;
import dev.fencepost.run.Outcome;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Shows what was: the attempts at a job's slots, and the slots that had none. Changes nothing. */
@Command(
        description = {
            "Shows what became of the slots of a job, newest first.",
            "A row for each attempt, and one for each slot, or range of slots, that had none.",
            "Ends with 3 when there is no such job."
        },
        footer = {"", "Examples:", "  fencepost history article", "  fencepost history article --limit 100 --json"})
final class HistoryCommand implements Callable<Integer> {

    private static final int MOST = 10_000;

    @Parameters(paramLabel = "JOB", description = "The id of the job.")
    @SuppressWarnings("NullAway.Init")
    private String id;

    @Option(names = "--limit", paramLabel = "N", description = "So many rows at most, 1 to 10000. Else 20.")
    private int limit = 20;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    HistoryCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        Bounds.number(spec, "--limit", limit, 1, MOST);
        JobsFile file = shared.jobsFileIfAny();
        try (OpenedStore opened = OpenedStore.existing(shared, file)) {
            List<Entry> entries = opened.store().history(id, limit);
            if (entries.isEmpty()) {
                refuseUnknown(id, file, opened.store().jobs());
            }
            if (shared.json()) {
                Json.print(
                        shared.surroundings().out(),
                        Json.object(
                                "ticks",
                                entries.stream().map(HistoryCommand::json).toList()));
            } else {
                print(entries);
            }
        }
        return ExitCode.FINE;
    }

    /** Ends the command with {@link ExitCode#REFUSED} where neither the file nor the store knows such a job. */
    static void refuseUnknown(String id, @Nullable JobsFile file, List<JobSummary> stored) {
        TreeSet<String> known = new TreeSet<>();
        stored.forEach(summary -> known.add(summary.id()));
        if (file != null) {
            known.addAll(file.definitions().keySet());
        }
        if (!known.contains(id)) {
            String hint = Nearest.to(id, known)
                    .map(near -> "did you mean " + near + "?")
                    .orElse(known.isEmpty() ? "no job is known yet" : "known: " + String.join(", ", known));
            throw new CommandFailure(ExitCode.REFUSED, "there is no job " + Finding.quote(id) + "\n    " + hint);
        }
    }

    private static Map<String, @Nullable Object> json(Entry entry) {
        Attempt attempt = entry.attempt();
        Range range = entry.range();
        return Json.object(
                "slot",
                Inquiry.slot(entry.slotKey()),
                "outcome",
                attempt == null ? entry.tickOutcome() : attempt.outcome(),
                "tick_outcome",
                entry.tickOutcome(),
                "attempt",
                attempt == null ? null : attempt.number(),
                "fence",
                attempt == null ? null : attempt.fence().value(),
                "run_id",
                attempt == null ? null : attempt.runId(),
                "owner",
                attempt == null ? null : attempt.owner(),
                "started_at",
                attempt == null ? null : attempt.startedAt(),
                "ended_at",
                attempt == null ? entry.tickEndedAt() : attempt.endedAt(),
                "exit_code",
                attempt == null ? null : attempt.exitCode(),
                "signal",
                attempt == null ? null : attempt.signal(),
                "reason",
                attempt == null ? entry.tickReason() : attempt.reason(),
                "classification",
                attempt == null ? null : attempt.classification(),
                "dropped",
                range == null
                        ? null
                        : Json.object("count", range.count(), "first", range.first(), "last", range.last()));
    }

    private void print(List<Entry> entries) {
        if (entries.isEmpty()) {
            shared.surroundings().out().println("no slot of " + id + " has been handled yet");
            return;
        }
        TextTable table =
                new TextTable("SLOT", "OUTCOME", ">TRY", ">TOKEN", "STARTED", ">TOOK", "EXIT", "OWNER", "REASON");
        for (Entry entry : entries) {
            Attempt attempt = entry.attempt();
            if (attempt == null) {
                table.row(slots(entry), outcome(entry), "-", "-", "-", "-", "-", "-", dash(entry.tickReason()));
            } else {
                table.row(
                        entry.slotKey(),
                        outcome(entry, attempt),
                        String.valueOf(attempt.number()),
                        attempt.fence().toString(),
                        attempt.startedAt().truncatedTo(ChronoUnit.SECONDS).toString(),
                        took(attempt.startedAt(), attempt.endedAt()),
                        exit(attempt),
                        LeaseForms.shortOwner(attempt.owner()),
                        dash(reason(attempt)));
            }
        }
        table.print(shared.surroundings().out());
    }

    /** With the kind of the failure, where something told it. */
    private static @Nullable String reason(Attempt attempt) {
        Classification kind = attempt.classification();
        return kind == null ? attempt.reason() : kind.name().toLowerCase(Locale.ROOT) + ": " + attempt.reason();
    }

    private static String dash(@Nullable Object value) {
        return LeaseForms.dash(value);
    }

    private static String slots(Entry entry) {
        Range range = entry.range();
        return range == null ? entry.slotKey() : range.first() + " to " + range.last();
    }

    private static String outcome(Entry entry) {
        Outcome outcome = entry.tickOutcome();
        if (outcome == null) {
            return "due";
        }
        Range range = entry.range();
        return StatusCommand.lower(outcome) + (range == null ? "" : " × " + range.count());
    }

    private static String outcome(Entry entry, Attempt attempt) {
        if (attempt.outcome() == null) {
            return "running";
        }
        return StatusCommand.lower(attempt.outcome()) + (entry.tickOutcome() == null ? ", still due" : "");
    }

    private static String exit(Attempt attempt) {
        return attempt.signal() == null ? dash(attempt.exitCode()) : "signal " + attempt.signal();
    }

    private static String took(Instant start, @Nullable Instant end) {
        return end == null ? "-" : took(Duration.between(start, end));
    }

    /** Short times to the millisecond, longer ones to the second. */
    static String took(Duration took) {
        boolean isLong = took.compareTo(Duration.ofSeconds(10)) >= 0;
        return DurationText.format(took.truncatedTo(isLong ? ChronoUnit.SECONDS : ChronoUnit.MILLIS));
    }
}
