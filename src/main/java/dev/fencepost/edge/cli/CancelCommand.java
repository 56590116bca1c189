package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.lease.LeaseView;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Stops what a job runs now. */
@Command(
        description = {
            "Stops the run of a job: SIGTERM, and after the job's grace SIGKILL, to its whole tree.",
            "The run ends as CANCELLED, which is no failure. Slots and orders that wait to be run, or to be tried again,",
            "end as CANCELLED too. The job goes on with the next slot of its schedule; fencepost pause keeps it from",
            "that. Ends with 3 when nothing runs or waits."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost cancel article",
            "  fencepost cancel article --reason \"writes nonsense\" && fencepost pause article"
        })
final class CancelCommand implements Callable<Integer> {

    @Parameters(paramLabel = "JOB", description = "The id of the job, or the name of what fencepost exec runs.")
    @SuppressWarnings("NullAway.Init")
    private String job;

    @Option(names = "--reason", paramLabel = "TEXT", description = OrderForms.REASON)
    private @Nullable String reason;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    CancelCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        OrderForms.reason(spec, reason);
        JobsFile file = shared.jobsFileIfAny();
        try (OpenedStore opened = OpenedStore.existing(shared, file)) {
            LeaseView before = opened.store().inspect(job);
            LeaseView held = before != null && before.isLive() ? before : null;
            return switch (opened.store().cancel(job, reason, OrderForms.by(shared))) {
                case UNKNOWN -> OrderForms.unknown(shared, opened, file, job);
                case ALREADY, ALREADY_DONE ->
                    OrderForms.refused(
                            shared,
                            job,
                            "ALREADY",
                            held == null
                                    ? "nothing of " + job + " runs or waits"
                                    : job + ": its run was asked to stop before; fencepost lease break " + job
                                            + " takes its lease away");
                case DONE -> {
                    OrderForms.done(
                            shared,
                            opened,
                            job,
                            held == null
                                    ? job + ": what waited is cancelled"
                                    : job + ": the run of " + held.slotKey() + " on "
                                            + LeaseForms.shortOwner(Objects.requireNonNull(held.owner()))
                                            + " is asked to stop, and what waited is cancelled",
                            "slot",
                            held == null ? null : held.slotKey(),
                            "run_id",
                            held == null ? null : held.runId());
                    yield ExitCode.FINE;
                }
            };
        }
    }
}
