package dev.fencepost.edge.cli;

import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.run.History.WriteEvent;
import dev.fencepost.run.Orders.JobEvent;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Shows the writes under leases, accepted and refused, and what was ordered or happened to jobs. Changes nothing. */
@Command(
        description = {
            "Shows the writes under leases, and the orders of people and brakes, newest first.",
            "Of a write: which token was accepted, which was refused for which newer one, and why. Of an order: who gave",
            "it, and why. What was written is not kept here."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost events",
            "  fencepost events --job article",
            "  fencepost events --limit 200 --json"
        })
final class EventsCommand implements Callable<Integer> {

    private static final int MOST = 10_000;

    @Option(names = "--limit", paramLabel = "N", description = "So many at most, 1 to 10000. Else 50.")
    private int limit = 50;

    @Option(names = "--job", paramLabel = "JOB", description = "Only of this job, or of another resource of this name.")
    private @Nullable String job;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    EventsCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        Bounds.number(spec, "--limit", limit, 1, MOST);
        try (OpenedStore opened = OpenedStore.existing(shared, shared.jobsFileIfAny())) {
            List<Line> lines = lines(opened.store());
            if (shared.json()) {
                Json.print(
                        shared.surroundings().out(),
                        Json.object("events", lines.stream().map(Line::json).toList()));
            } else if (lines.isEmpty()) {
                shared.surroundings().out().println("nothing yet");
            } else {
                TextTable table = newTable();
                lines.forEach(line -> table.row(line.cells()));
                table.print(shared.surroundings().out());
            }
        }
        return ExitCode.FINE;
    }

    /** An event of either kind, ready to be shown. */
    private record Line(Instant at, String[] cells, Map<String, @Nullable Object> json) {}

    /** The order within each kind is the store's, which knows it better than a clock that may have been set back. */
    private List<Line> lines(JdbcStore store) {
        String of = job;
        List<Line> lines = new ArrayList<>();
        for (WriteEvent event : of == null ? store.events(limit) : store.eventsOf(of, limit)) {
            lines.add(new Line(event.at(), cells(event), json(event)));
        }
        for (JobEvent event : store.jobEvents(of, limit)) {
            lines.add(new Line(event.at(), cells(event), json(event)));
        }
        lines.sort(Comparator.comparing(Line::at).reversed());
        return lines.subList(0, Math.min(limit, lines.size()));
    }

    private static TextTable newTable() {
        return new TextTable("AT", "RESOURCE", ">TOKEN", ">NEWEST", "ANSWER", "REASON", "EFFECT", "OWNER");
    }

    static TextTable table(List<WriteEvent> events) {
        TextTable table = newTable();
        events.forEach(event -> table.row(cells(event)));
        return table;
    }

    private static String[] cells(WriteEvent event) {
        return new String[] {
            event.at().truncatedTo(ChronoUnit.MILLIS).toString(),
            event.resource(),
            String.valueOf(event.fence()),
            LeaseForms.dash(event.newestFence()),
            event.accepted() ? "accepted" : "refused",
            LeaseForms.dash(event.reason()),
            LeaseForms.dash(event.effect()),
            LeaseForms.shortOwner(event.owner())
        };
    }

    private static String[] cells(JobEvent event) {
        String reason = Stream.of(
                        event.until() == null ? null : "until " + SlotText.utc(event.until()),
                        event.slots(),
                        event.reason())
                .filter(Objects::nonNull)
                .collect(Collectors.joining("; "));
        return new String[] {
            event.at().truncatedTo(ChronoUnit.MILLIS).toString(),
            event.job() == null ? "all jobs" : event.job(),
            String.valueOf(event.fence()),
            "-",
            event.kind().name().toLowerCase(Locale.ROOT),
            reason.isEmpty() ? "-" : reason,
            "-",
            event.by()
        };
    }

    static Map<String, @Nullable Object> json(WriteEvent event) {
        return Json.object(
                "at", event.at(),
                "resource", event.resource(),
                "owner", event.owner(),
                "fence", event.fence(),
                "accepted", event.accepted(),
                "reason", event.reason(),
                "effect", event.effect(),
                "newest_fence", event.newestFence());
    }

    /** The fields of a write, and those that only an order has. */
    private static Map<String, @Nullable Object> json(JobEvent event) {
        return Json.object(
                "at", event.at(),
                "resource", event.job(),
                "owner", event.by(),
                "fence", event.fence(),
                "accepted", true,
                "reason", event.reason(),
                "effect", null,
                "newest_fence", null,
                "kind", event.kind(),
                "until", event.until(),
                "slots", event.slots());
    }
}
