package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.InstantText;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.host.Printable;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.Inquiry;
import dev.fencepost.run.Job;
import dev.fencepost.run.Why;
import dev.fencepost.schedule.Schedule;
import dev.fencepost.schedule.Slot;
import java.time.Instant;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Says why a job did not run, or what became of it. Changes nothing. */
@Command(
        description = {
            "Says in one sentence what became of a slot of a job, and why.",
            "Without a slot it is the newest one that has come due. The answer comes from the store; the slots of the",
            "schedule from the jobs file where there is one."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost why article",
            "  fencepost why digest 2026-03-29T05:30:00Z",
            "  fencepost why digest --at 2026-03-29T08:00:00+02:00 --json"
        })
final class WhyCommand implements Callable<Integer> {

    @Parameters(index = "0", paramLabel = "JOB", description = "The id of the job.")
    @SuppressWarnings("NullAway.Init")
    private String id;

    @Parameters(
            index = "1",
            arity = "0..1",
            paramLabel = "SLOT",
            description = "A slot of the schedule, or of an order, as fencepost history names it.")
    private @Nullable String slotText;

    @Option(names = "--at", paramLabel = "INSTANT", description = "The newest slot at this instant or before it.")
    private @Nullable String atText;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    WhyCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        if (slotText != null && atText != null) {
            throw new ParameterException(spec.commandLine(), "SLOT and --at: give one of them");
        }
        Slot named = slotText == null ? null : slot(slotText);
        Instant at = atText == null ? null : SharedOptions.orUsage("--at", atText, InstantText::parse);
        JobsFile file = shared.jobsFileIfAny();
        try (OpenedStore opened = OpenedStore.existing(shared, file)) {
            JdbcStore store = opened.store();
            Job defined = file == null ? null : file.job(id).orElse(null);
            JobSummary summary = store.job(id);
            if (defined == null && summary == null) {
                return OrderForms.unknown(shared, opened, file, id);
            }
            Why.Facts facts = new Inquiry<>(store).facts(id, defined, summary, named, at);
            tell(facts, Why.of(facts));
        }
        return ExitCode.FINE;
    }

    private static Slot slot(String written) {
        Slot order = Slot.ofManualKey(written);
        return order != null ? order : Slot.at(SharedOptions.orUsage("SLOT", written, InstantText::parse));
    }

    private void tell(Why.Facts facts, Why.Answer answer) {
        if (!shared.json()) {
            shared.surroundings().out().println(Printable.text(answer.sentence()));
            return;
        }
        Schedule schedule = facts.schedule();
        Attempt attempt = facts.stored().attempts().isEmpty()
                ? null
                : facts.stored().attempts().getFirst();
        Json.print(
                shared.surroundings().out(),
                Json.object(
                        "job", facts.job(),
                        "slot", facts.slot() == null ? null : facts.slot().key(),
                        "because", answer.because(),
                        "sentence", answer.sentence(),
                        "attempt", attempt == null ? null : attempt.number(),
                        "fence", attempt == null ? null : attempt.fence().value(),
                        "run_id", attempt == null ? null : attempt.runId(),
                        "next_slot", schedule == null ? null : schedule.next(facts.now())));
    }
}
