package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.config.InstantText;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.run.Pause;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Keeps a job from running by its schedule. */
@Command(
        description = {
            "Pauses a job: nothing of its schedule is started, until the time given or fencepost resume.",
            "A run that is under way goes on; fencepost cancel stops it. Slots inside the pause are not missed: they are",
            "not run later. The pause lies in the store, so it holds for all nodes, and after a restart."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost pause article",
            "  fencepost pause article --for 2h --reason \"the blog moves\"",
            "  fencepost pause digest --until 2026-04-06T06:00:00+02:00"
        })
final class PauseCommand implements Callable<Integer> {

    @Parameters(paramLabel = "JOB", description = "The id of the job.")
    @SuppressWarnings("NullAway.Init")
    private String job;

    @Option(names = "--until", paramLabel = "INSTANT", description = "It ends by itself at this instant.")
    private @Nullable String untilText;

    @Option(names = "--for", paramLabel = "D", description = "It ends by itself after so long, such as 90m or 2d.")
    private @Nullable String forText;

    @Option(names = "--reason", paramLabel = "TEXT", description = OrderForms.REASON)
    private @Nullable String reason;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    PauseCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        OrderForms.reason(spec, reason);
        if (untilText != null && forText != null) {
            throw new ParameterException(spec.commandLine(), "--until and --for: give one of them");
        }
        Instant given = untilText == null ? null : SharedOptions.orUsage("--until", untilText, InstantText::parse);
        Duration length =
                forText == null ? null : Bounds.duration("--for", forText, Duration.ofSeconds(1), DurationText.LONGEST);
        JobsFile file = shared.jobsFileIfAny();
        try (OpenedStore opened = OpenedStore.existing(shared, file)) {
            Instant now = opened.store().now();
            // A whole second: never less than was asked for.
            Instant until =
                    length == null ? given : now.plus(length).plusMillis(999).truncatedTo(ChronoUnit.SECONDS);
            if (until != null && !until.isAfter(now)) {
                throw new ParameterException(
                        spec.commandLine(), "--until: " + until + " has passed; it is " + SlotText.utc(now) + " now");
            }
            return switch (opened.store().pause(job, until, Pause.Cause.PERSON, reason, OrderForms.by(shared))) {
                case UNKNOWN -> OrderForms.unknown(shared, opened, file, job);
                case ALREADY, ALREADY_DONE -> {
                    Pause pause = opened.store().pauseOf(job);
                    yield OrderForms.refused(
                            shared,
                            job,
                            "ALREADY",
                            job + " is paused already " + untilWords(until)
                                    + (pause == null
                                            ? ""
                                            : ", since " + SlotText.utc(pause.since()) + " by " + pause.by()),
                            "pause",
                            OrderForms.json(pause));
                }
                case DONE -> {
                    OrderForms.done(
                            shared,
                            opened,
                            job,
                            job + " is paused " + untilWords(until),
                            "pause",
                            OrderForms.json(opened.store().pauseOf(job)));
                    yield ExitCode.FINE;
                }
            };
        }
    }

    private String untilWords(@Nullable Instant until) {
        return until == null ? "until fencepost resume " + job : "until " + until;
    }
}
