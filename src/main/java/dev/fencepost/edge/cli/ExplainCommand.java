package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.Definition;
import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.config.Origin;
import dev.fencepost.run.Job;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Shows what is in force for a job, where each value comes from, and when it runs next. */
@Command(
        description = "Shows each effective value of a job, where it comes from and why, and the next five slots.",
        footer = {"", "Examples:", "  fencepost explain article", "  fencepost explain article --json"})
final class ExplainCommand implements Callable<Integer> {

    private static final int SLOTS = 5;

    @Parameters(paramLabel = "JOB", description = "The id of the job.")
    @SuppressWarnings("NullAway.Init")
    private String id;

    private final SharedOptions shared;

    ExplainCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        JobsFile file = shared.jobsFile();
        Definition definition = definition(file, id);
        List<Instant> slots =
                slots(definition.job(), shared.surroundings().wallClock().instant());
        List<Finding> warnings = file.warnings().stream()
                .filter(f -> f.path().equals("jobs." + id) || f.path().startsWith("jobs." + id + "."))
                .toList();
        if (shared.json()) {
            Json.print(shared.surroundings().out(), json(file, definition, slots, warnings));
        } else {
            print(file, definition, slots, warnings);
        }
        return ExitCode.FINE;
    }

    /** The job of this id; an unknown one ends the command with {@link ExitCode#REFUSED} and the nearest id. */
    static Definition definition(JobsFile file, String id) {
        Definition definition = file.definitions().get(id);
        if (definition == null) {
            String hint = file.nearestId(id)
                    .map(near -> "did you mean " + near + "?")
                    .orElse("known: " + String.join(", ", file.definitions().keySet()));
            throw new CommandFailure(
                    ExitCode.REFUSED, "there is no job " + Finding.quote(id) + " in " + file.path() + "\n    " + hint);
        }
        return definition;
    }

    private static List<Instant> slots(Job job, Instant now) {
        List<Instant> slots = new ArrayList<>();
        Instant slot = job.schedule().next(now);
        while (slot != null && slots.size() < SLOTS) {
            slots.add(slot);
            slot = job.schedule().next(slot);
        }
        return slots;
    }

    private void print(JobsFile file, Definition definition, List<Instant> slots, List<Finding> warnings) {
        PrintWriter out = shared.surroundings().out();
        out.println("job " + definition.job().id() + "  (" + file.path() + ":" + definition.line() + ")");
        out.println();
        int keyWidth =
                width(definition.values().stream().map(Definition.Value::key).toList());
        int textWidth = Math.min(
                28,
                width(definition.values().stream().map(Definition.Value::text).toList()));
        for (Definition.Value value : definition.values()) {
            out.println("  " + padded(value.key(), keyWidth) + "  " + padded(value.text(), textWidth) + "  "
                    + value.origin().text());
        }
        out.println();
        out.println("next slots, in " + definition.job().zone().getId() + " and in UTC");
        for (Instant slot : slots) {
            out.println("  " + SlotText.local(slot, definition.job().zone()) + "   " + slot);
        }
        if (slots.isEmpty()) {
            out.println("  none: the schedule has ended");
        }
        if (!warnings.isEmpty()) {
            out.println();
            warnings.forEach(finding -> out.println(finding.text()));
        }
    }

    private static Map<String, @Nullable Object> json(
            JobsFile file, Definition definition, List<Instant> slots, List<Finding> warnings) {
        return Json.object(
                "job", definition.job().id(),
                "file", file.path(),
                "line", definition.line(),
                "values", definition.values().stream().map(ExplainCommand::json).toList(),
                "next_slots",
                        slots.stream()
                                .map(slot -> Json.object(
                                        "slot",
                                        slot,
                                        "local",
                                        SlotText.iso(slot, definition.job().zone())))
                                .toList(),
                "warnings", warnings.stream().map(ValidateCommand::json).toList());
    }

    private static Map<String, @Nullable Object> json(Definition.Value value) {
        Origin origin = value.origin();
        return Json.object(
                "key", value.key(),
                "value", value.text(),
                "origin", origin.kind().name().toLowerCase(Locale.ROOT),
                "line", origin.line() == 0 ? null : origin.line(),
                "why", origin.why().isEmpty() ? null : origin.why());
    }

    private static int width(List<String> texts) {
        return texts.stream().mapToInt(String::length).max().orElse(0);
    }

    private static String padded(String text, int width) {
        return text + " ".repeat(Math.max(0, width - text.length()));
    }
}
