package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.Definition;
import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.config.Origin;
import dev.fencepost.host.Printable;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Job;
import dev.fencepost.run.TtlAdvice;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
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
        description = {
            "Shows each effective value of a job, where it comes from and why, and the next five slots.",
            "Where there is a store, also which ttl would fit what its runs have taken."
        },
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
        Advice advice = advice(file, definition.job());
        if (shared.json()) {
            Json.print(shared.surroundings().out(), json(file, definition, slots, warnings, advice));
        } else {
            print(file, definition, slots, warnings, advice);
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

    /** What the history says of the ttl: the advice, or why there is none; neither where there is no store yet. */
    private record Advice(@Nullable TtlAdvice ttl, @Nullable String whyNone) {}

    /** A store that is away, or not to be found, is no error here; and none is made. */
    private Advice advice(JobsFile file, Job job) {
        try {
            Path path = shared.store(file).file();
            if (path != null && !Files.exists(path)) {
                return new Advice(null, null);
            }
            try (OpenedStore opened = OpenedStore.existing(shared, file)) {
                return opened.store()
                        .longestSuccess(job.id())
                        .map(longest -> new Advice(TtlAdvice.of(longest, job.ttl()), null))
                        .orElseGet(() -> new Advice(null, "no success so far"));
            }
        } catch (CommandFailure e) {
            return new Advice(
                    null, String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
        } catch (StoreException e) {
            return new Advice(null, "the store gave no answer: " + e.getMessage());
        }
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

    private void print(
            JobsFile file, Definition definition, List<Instant> slots, List<Finding> warnings, Advice advice) {
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
        String told = advice.ttl != null
                ? advice.ttl.text()
                : advice.whyNone != null ? "no advice on the ttl: " + advice.whyNone : null;
        if (told != null) {
            out.println();
            out.println(Printable.text(told));
        }
        if (!warnings.isEmpty()) {
            out.println();
            warnings.forEach(finding -> out.println(finding.text()));
        }
    }

    private static Map<String, @Nullable Object> json(
            JobsFile file, Definition definition, List<Instant> slots, List<Finding> warnings, Advice advice) {
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
                "warnings", warnings.stream().map(ValidateCommand::json).toList(),
                "ttl_advice", advice.ttl == null ? null : json(advice.ttl));
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

    private static Map<String, @Nullable Object> json(TtlAdvice advice) {
        return Json.object(
                "longest_success_ms", advice.longest().ran().toMillis(),
                "successes", advice.longest().successes(),
                "least_ms", advice.least().toMillis(),
                "most_ms", advice.most().toMillis(),
                "ttl_ms", advice.ttl().toMillis());
    }

    private static int width(List<String> texts) {
        return texts.stream().mapToInt(String::length).max().orElse(0);
    }

    private static String padded(String text, int width) {
        return text + " ".repeat(Math.max(0, width - text.length()));
    }
}
