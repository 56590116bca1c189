package dev.fencepost.edge.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/** The program without a command: it prints its help. */
@Command(
        name = "fencepost",
        version = Main.VERSION,
        description = "Runs unattended jobs on a schedule, one at a time each, under a lease with a fencing token.",
        synopsisSubcommandLabel = "COMMAND",
        exitCodeListHeading = "%nExit codes:%n",
        footer = {
            "",
            "Begin with:",
            "  fencepost validate --config fencepost.yaml",
            "  fencepost next --cron \"0 6 * * MON-FRI\" --zone Europe/Berlin",
            "  fencepost run article",
            "  fencepost status",
            "  fencepost COMMAND --help"
        })
final class Fencepost implements Runnable {

    @Mixin
    private final SharedOptions shared;

    @Option(names = "--help", usageHelp = true, scope = ScopeType.INHERIT, description = "Show this help.")
    @SuppressWarnings("UnusedVariable")
    private boolean help;

    @Option(names = "--version", versionHelp = true, description = "Show the version.")
    @SuppressWarnings("UnusedVariable")
    private boolean version;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    Fencepost(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public void run() {
        spec.commandLine().usage(shared.surroundings().out());
    }
}
