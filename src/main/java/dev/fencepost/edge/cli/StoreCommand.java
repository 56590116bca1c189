package dev.fencepost.edge.cli;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** What a person does to the store as a whole: backup, check, bump. */
@Command(
        description = "Copies the store, checks it, and raises its tokens after a copy was put back.",
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Examples:",
            "  fencepost store backup /var/backups/fencepost.db",
            "  fencepost store check",
            "  fencepost store bump",
            "",
            "How a store is put back: src/docs/backup-and-upgrade.md"
        })
final class StoreCommand implements Runnable {

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    StoreCommand(SharedOptions shared) {
        this.shared = shared;
    }

    /** With its own commands. */
    static CommandLine line(SharedOptions shared) {
        CommandLine store = new CommandLine(new StoreCommand(shared));
        store.addSubcommand("backup", new StoreBackup(shared));
        store.addSubcommand("check", new StoreCheck(shared));
        store.addSubcommand("bump", new StoreBump(shared));
        return store;
    }

    @Override
    public void run() {
        spec.commandLine().usage(shared.surroundings().out());
    }
}
