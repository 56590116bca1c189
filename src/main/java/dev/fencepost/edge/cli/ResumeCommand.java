package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.JobsFile;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Ends a pause, whoever began it. */
@Command(
        description = {
            "Ends the pause of a job, whether a person or a brake began it, and the wait for a usage limit.",
            "What the brakes have counted is forgotten. The job goes on with the next slot of its schedule."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost resume article",
            "  fencepost resume article --reason \"logged in again\" --json"
        })
final class ResumeCommand implements Callable<Integer> {

    @Parameters(paramLabel = "JOB", description = "The id of the job.")
    @SuppressWarnings("NullAway.Init")
    private String job;

    @Option(names = "--reason", paramLabel = "TEXT", description = OrderForms.REASON)
    private @Nullable String reason;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    ResumeCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        OrderForms.reason(spec, reason);
        JobsFile file = shared.jobsFileIfAny();
        try (OpenedStore opened = OpenedStore.existing(shared, file)) {
            return switch (opened.store().resume(job, reason, OrderForms.by(shared))) {
                case UNKNOWN -> OrderForms.unknown(shared, opened, file, job);
                case ALREADY, ALREADY_DONE ->
                    OrderForms.refused(shared, job, "ALREADY", job + " is not paused, and no brake has stopped it");
                case DONE -> {
                    OrderForms.done(shared, opened, job, job + " is resumed");
                    yield ExitCode.FINE;
                }
            };
        }
    }
}
