package dev.fencepost.edge.cli;

import dev.fencepost.edge.Assembly;
import dev.fencepost.edge.config.InstantText;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.host.StateDirectory;
import dev.fencepost.edge.host.StopSignals;
import dev.fencepost.edge.host.Stopwatch;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.EffectView;
import dev.fencepost.host.Event;
import dev.fencepost.host.Printable;
import dev.fencepost.host.Spawner;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Refusal;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Runner.Result;
import dev.fencepost.run.StopRequest;
import dev.fencepost.run.StopRequest.Reason;
import dev.fencepost.run.Workspace.RunFiles;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Carries out one tick of a job now, in the foreground: the same run as the service makes, with its output shown as it comes. */
@Command(
        description = {
            "Runs a job once, now, in the foreground, under its lease.",
            "Its output is shown as it comes. Without --slot the run is an order of its own and uses up no slot of the",
            "schedule. Ends with 0 when the run succeeded, 1 when it failed, was stopped or took too long, 70 when",
            "the lease was lost, and 3 when the run was refused: somebody else holds the lease, or the slot has",
            "succeeded already. What the run publishes is sent before the command ends; when it could not be, it",
            "ends with 1. Ctrl-C stops the run with its grace, a second one at once;",
            "fencepost cancel stops it too. It is not tried again by itself, whatever the job's retry says."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost run article",
            "  fencepost run digest --slot 2026-03-29T05:30:00Z",
            "  fencepost run article --json 2> article.log"
        })
final class RunCommand implements Callable<Integer> {

    /** What the run announced is sent for so long; what is left then waits for the service or the next run. */
    private static final Duration SENDING_PATIENCE = Duration.ofMinutes(2);

    /** Notices of the run are waited for so long. */
    private static final Duration NOTIFYING_PATIENCE = Duration.ofSeconds(15);

    @Parameters(paramLabel = "JOB", description = "The id of the job.")
    @SuppressWarnings("NullAway.Init")
    private String id;

    @Option(
            names = "--slot",
            paramLabel = "INSTANT",
            description =
                    "A slot of the schedule that has come due. One that ended otherwise than succeeded is run again.")
    private @Nullable String slotText;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    RunCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() throws InterruptedException {
        JobsFile file = shared.jobsFile();
        Job job = ExplainCommand.definition(file, id).job();
        Instant wanted = slotText == null ? null : SharedOptions.orUsage("--slot", slotText, InstantText::parse);
        if (wanted != null) {
            checkIsSlot(job, wanted);
        }
        HandRun.Witness witness =
                new HandRun.Witness(new TerseJournal(shared.surroundings().err()));
        try (OpenedStore opened = OpenedStore.prepared(shared, file, witness)) {
            Instant now = opened.store().now();
            if (wanted != null && wanted.isAfter(now)) {
                throw usage("the slot " + wanted + " is still to come", job, wanted);
            }
            Slot slot = wanted == null ? manual(opened, now) : Slot.at(wanted);
            StateDirectory directory = stateDirectory(opened);
            Assembly.Crew crew = opened.assembly().crew(opened.store(), directory, file.allSinks(), List.of(job));
            opened.assembly().spawner().platformThread("deadline-watch", crew.watch());
            try {
                int code = run(opened, crew, job, slot, witness);
                CleanUp.sometimes(
                        opened,
                        directory,
                        job.id(),
                        () -> file.retention().with(job.policies().brakes()),
                        this::say);
                return code;
            } finally {
                crew.notifications().close(NOTIFYING_PATIENCE);
            }
        }
    }

    private static Slot manual(OpenedStore opened, Instant now) {
        return Slot.manual(now, opened.assembly().entropy().uuid().toString().substring(0, 8));
    }

    private void checkIsSlot(Job job, Instant wanted) {
        if (!wanted.equals(job.schedule().latest(wanted))) {
            throw usage(
                    wanted + " is no slot of " + job.id() + " ("
                            + job.schedule().text() + ")",
                    job,
                    wanted);
        }
    }

    private ParameterException usage(String what, Job job, Instant wanted) {
        return new ParameterException(
                spec.commandLine(), NeighbouringSlots.words("--slot", what, job.schedule(), wanted));
    }

    private StateDirectory stateDirectory(OpenedStore opened) {
        try {
            return StateDirectory.open(shared.stateDir(), opened.assembly().entropy());
        } catch (IOException e) {
            throw new CommandFailure(
                    ExitCode.BAD_CONFIGURATION, e.getMessage() + "\n    another one is named with --state-dir");
        }
    }

    private int run(OpenedStore opened, Assembly.Crew crew, Job job, Slot slot, HandRun.Witness witness)
            throws InterruptedException {
        StopRequest stop = new StopRequest();
        Output output = new Output(opened);
        Stopwatch watch = Stopwatch.start();
        Result result;
        Spawner.Task orders = OrdersForRun.obey(opened, crew.owner(), stop, job.grace());
        try (StopSignals ignored = new StopSignals(count -> stopped(stop, job, count))) {
            result = new HandRun(opened.store(), crew.runner(), crew.children(), this::say)
                    .claimAndRun(job, slot, stop, slotText != null, output::follow);
        } finally {
            orders.interrupt();
            output.end();
        }
        return switch (result) {
            case Result.Ended ended -> {
                Duration ran = watch.elapsed();
                List<EffectView> effects = ended.outcome() == Outcome.SUCCEEDED && ended.refused() == null
                        ? crew.dispatcher().dispatchAll(ended.effects(), SENDING_PATIENCE)
                        : List.of();
                yield tell(job, slot, ended, witness.started(), output.log(), ran, effects);
            }
            case Result.Held held -> held(job, slot, held.by(), crew);
            case Result.Closed closed -> closed(job, slot, closed.reason());
            case Result.NoAnswer none -> throw none.cause();
        };
    }

    private void stopped(StopRequest stop, Job job, int count) {
        // At once, but the second time only: a child that cleans up gets its grace.
        Duration grace = count == 1 ? job.grace() : Duration.ZERO;
        stop.request(Reason.CANCEL, "stopped by a signal to fencepost run", grace);
    }

    private int tell(
            Job job,
            Slot slot,
            Result.Ended ended,
            Event.@Nullable Started started,
            @Nullable Path log,
            Duration ran,
            List<EffectView> effects) {
        String reason = HandRun.reason(ended);
        if (shared.json()) {
            Map<String, @Nullable Object> closing = Json.object(
                    "ok", ended.outcome() == Outcome.SUCCEEDED, "reason", reason, "job", job.id(), "slot", slot.key());
            closing.putAll(HandRun.form(ended, started, ran, log));
            closing.put("effects", effects.stream().map(EffectForms::json).toList());
            print(closing);
        } else {
            say(job.id() + " at " + slot.key() + ": " + StatusCommand.lower(ended.outcome())
                    + (started == null ? "" : ", attempt " + started.attempt() + ", token " + started.fence())
                    + ", " + HistoryCommand.took(ran) + (reason == null ? "" : ": " + reason));
            if (log != null && ended.outcome() != Outcome.SUCCEEDED) {
                say("its output is kept in " + log);
            }
            effects.forEach(this::tell);
        }
        return switch (ended.outcome()) {
            case SUCCEEDED ->
                effects.stream().allMatch(each -> each.state() == EffectState.CONFIRMED)
                        ? ExitCode.FINE
                        : ExitCode.FAILED;
            case LEASE_LOST -> ExitCode.LEASE_LOST;
            default -> ExitCode.FAILED;
        };
    }

    private void tell(EffectView effect) {
        String detail = effect.state() == EffectState.CONFIRMED ? effect.receipt() : effect.reason();
        String later = effect.state() == EffectState.PENDING
                ? "; fencepost serve, or the next run, sends it later"
                : effect.waits() ? "; see fencepost effects show" : "";
        say("effect " + effect.key() + " is " + effect.state() + (detail == null ? "" : ": " + detail) + later);
    }

    private int held(Job job, Slot slot, Lease by, Assembly.Crew crew) {
        if (shared.json()) {
            print(refusal(
                    job,
                    slot,
                    Refusal.HELD,
                    Json.object(
                            "owner", by.owner(),
                            "fence", by.fence().value(),
                            "slot", by.slotKey(),
                            "expires_at", by.expiresAt())));
        } else {
            say(job.id() + ": refused, HELD: " + HandRun.holder(by, crew.owner(), job.zone()));
        }
        return ExitCode.REFUSED;
    }

    private int closed(Job job, Slot slot, Refusal reason) {
        if (shared.json()) {
            print(refusal(job, slot, reason, null));
        } else {
            say(job.id() + " at " + slot.key() + ": refused, " + reason + ": the slot has succeeded already; without"
                    + " --slot the job runs all the same");
        }
        return ExitCode.REFUSED;
    }

    private static Map<String, @Nullable Object> refusal(
            Job job, Slot slot, Refusal reason, @Nullable Map<String, @Nullable Object> holder) {
        return Json.object("ok", false, "reason", reason, "job", job.id(), "slot", slot.key(), "held_by", holder);
    }

    private void print(Map<String, @Nullable Object> closing) {
        Json.print(shared.surroundings().out(), closing);
    }

    private void say(String text) {
        PrintWriter err = shared.surroundings().err();
        err.println("fencepost: " + Printable.text(text));
        err.flush();
    }

    /** Shows the output of the run while it comes. */
    private final class Output {

        private static final Duration PATIENCE = Duration.ofSeconds(30);

        private final OpenedStore opened;
        private volatile boolean ended;
        private volatile @Nullable Path log;
        private Spawner.@Nullable Task following;

        Output(OpenedStore opened) {
            this.opened = opened;
        }

        /** Called by the run once its child is started. */
        synchronized void follow(RunFiles files) {
            log = files.log();
            LiveOutput live = new LiveOutput(shared.surroundings(), shared.json(), files.log());
            following = opened.assembly()
                    .spawner()
                    .virtualThread(
                            "output of " + id,
                            () -> live.follow(opened.assembly().time(), () -> ended));
        }

        @Nullable
        Path log() {
            return log;
        }

        /** The log is complete: shows the rest. A reader of ours that does not read on must not hold the end up for ever. */
        void end() throws InterruptedException {
            ended = true;
            Spawner.Task task;
            synchronized (this) {
                task = following;
            }
            if (task != null) {
                task.join(PATIENCE);
            }
        }
    }
}
