package dev.fencepost.edge.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Prints the manual page. */
@Command(
        description = "Prints the manual page, for man: all commands with their options, and the exit codes.",
        footer = {
            "",
            "Examples:",
            "  fencepost man | man -l -",
            "  fencepost man > /usr/local/share/man/man1/fencepost.1"
        })
final class ManCommand implements Callable<Integer> {

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    ManCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        shared.surroundings().out().print(new ManPage(spec.root()).text());
        return ExitCode.FINE;
    }
}
