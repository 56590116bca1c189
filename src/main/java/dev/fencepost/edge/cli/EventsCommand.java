package dev.fencepost.edge.cli;

import dev.fencepost.run.History.WriteEvent;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Shows the writes under leases, accepted and refused. Changes nothing. */
@Command(
        description = {
            "Shows the writes under leases, newest first.",
            "Which token was accepted, which was refused for which newer one, and why. What was written is not kept here."
        },
        footer = {"", "Examples:", "  fencepost events", "  fencepost events --limit 200 --json"})
final class EventsCommand implements Callable<Integer> {

    private static final int MOST = 10_000;

    @Option(names = "--limit", paramLabel = "N", description = "So many at most, 1 to 10000. Else 50.")
    private int limit = 50;

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
            List<WriteEvent> events = opened.store().events(limit);
            if (shared.json()) {
                Json.print(
                        shared.surroundings().out(),
                        Json.object(
                                "events",
                                events.stream().map(EventsCommand::json).toList()));
            } else {
                print(events);
            }
        }
        return ExitCode.FINE;
    }

    private void print(List<WriteEvent> events) {
        if (events.isEmpty()) {
            shared.surroundings().out().println("no write yet");
            return;
        }
        table(events).print(shared.surroundings().out());
    }

    static TextTable table(List<WriteEvent> events) {
        TextTable table = new TextTable("AT", "RESOURCE", ">TOKEN", ">NEWEST", "ANSWER", "REASON", "EFFECT", "OWNER");
        for (WriteEvent event : events) {
            table.row(
                    event.at().truncatedTo(ChronoUnit.MILLIS).toString(),
                    event.resource(),
                    String.valueOf(event.fence()),
                    LeaseForms.dash(event.newestFence()),
                    event.accepted() ? "accepted" : "refused",
                    LeaseForms.dash(event.reason()),
                    LeaseForms.dash(event.effect()),
                    LeaseForms.shortOwner(event.owner()));
        }
        return table;
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
}
