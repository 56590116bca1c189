package dev.fencepost.edge.cli;

import dev.fencepost.run.History.WriteEvent;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Shows the writes under leases, accepted and refused. Changes nothing. */
@Command(
        description = {
            "Shows the writes under leases, newest first.",
            "Which token was accepted, which was refused, and why. What was written is not kept here."
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
                                events.stream()
                                        .map(event -> Json.object(
                                                "at", event.at(),
                                                "resource", event.resource(),
                                                "owner", event.owner(),
                                                "fence", event.fence(),
                                                "accepted", event.accepted(),
                                                "reason", event.reason()))
                                        .toList()));
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
        TextTable table = new TextTable("AT", "RESOURCE", ">TOKEN", "ANSWER", "REASON", "OWNER");
        for (WriteEvent event : events) {
            table.row(
                    event.at().truncatedTo(ChronoUnit.MILLIS).toString(),
                    event.resource(),
                    String.valueOf(event.fence()),
                    event.accepted() ? "accepted" : "refused",
                    LeaseForms.dash(event.reason()),
                    LeaseForms.shortOwner(event.owner()));
        }
        table.print(shared.surroundings().out());
    }
}
