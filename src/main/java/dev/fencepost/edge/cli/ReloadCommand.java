package dev.fencepost.edge.cli;

import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Asks every node to read its jobs file anew. */
@Command(
        description = {
            "Asks every node of the store to read its jobs file anew.",
            "A file with errors is refused whole and the one before stays in force: fencepost status then shows why."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost validate && fencepost reload",
            "  fencepost reload --reason \"two new jobs\" --json"
        })
final class ReloadCommand implements Callable<Integer> {

    @Option(names = "--reason", paramLabel = "TEXT", description = OrderForms.REASON)
    private @Nullable String reason;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    ReloadCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        OrderForms.reason(spec, reason);
        try (OpenedStore opened = OpenedStore.existing(shared, shared.jobsFileIfAny())) {
            opened.store().reload(reason, OrderForms.by(shared));
            OrderForms.done(
                    shared,
                    opened,
                    null,
                    "every node is asked to read its jobs file; fencepost status shows what came of it");
        }
        return ExitCode.FINE;
    }
}
