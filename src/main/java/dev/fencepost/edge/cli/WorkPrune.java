package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.remote.RemoteWorkQueue;
import dev.fencepost.edge.remote.RemoteWorkQueue.Gone;
import dev.fencepost.run.Pruner;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.function.Supplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Lets go what ended long ago, now and not when the service does it. */
@Command(
        description = {
            "Deletes items that ended long ago, DONE or DEAD, with the record of their files. Their tokens stay: an id that is",
            "used anew counts on. A service does this by itself once an hour, see work.keep in the jobs file. Each service",
            "deletes its files of these items within the hour, with --server those of that server at once."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost work prune",
            "  fencepost work prune --older-than 7d --json",
            "  fencepost work prune --older-than 7d --server https://vps.example --token-file operator.token"
        })
final class WorkPrune extends WorkCall {

    @Option(
            names = "--older-than",
            paramLabel = "DURATION",
            description = "Since their end, by the clock of the store. Else 30d.")
    private String olderThan = DurationText.format(JobsFile.DEFAULT_WORK_KEEP);

    WorkPrune(SharedOptions shared) {
        super(shared);
    }

    @Override
    Question question() {
        Duration age = Bounds.duration("--older-than", olderThan, Duration.ZERO, DurationText.LONGEST);
        return opened -> {
            Supplier<Gone> once = once(opened, age);
            long pruned = 0;
            Gone last;
            do {
                last = once.get();
                pruned += last.items();
            } while (last.more());
            if (shared.json()) {
                Json.print(out(), Json.object("ok", true, "reason", null, "pruned", pruned));
            } else {
                out().println(pruned + (pruned == 1 ? " item" : " items") + " pruned");
            }
            return ExitCode.FINE;
        };
    }

    /** A small number at a time, so that nobody has to wait for long. */
    private static Supplier<Gone> once(WorkTarget.Opened opened, Duration age) {
        RemoteWorkQueue server = opened.server();
        if (server != null) {
            return () -> server.prune(age);
        }
        Instant before = Objects.requireNonNull(opened.store()).now().minus(age);
        return () -> {
            int items = opened.queue().prune(before, Pruner.AT_ONCE).items();
            return new Gone(items, items == Pruner.AT_ONCE);
        };
    }
}
