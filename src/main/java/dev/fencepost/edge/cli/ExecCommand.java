package dev.fencepost.edge.cli;

import dev.fencepost.edge.Assembly;
import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.config.Reading;
import dev.fencepost.edge.config.StoreUrl;
import dev.fencepost.edge.host.StateDirectory;
import dev.fencepost.edge.host.StopSignals;
import dev.fencepost.edge.host.Stopwatch;
import dev.fencepost.edge.process.Foreground;
import dev.fencepost.host.Printable;
import dev.fencepost.host.Spawner;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Leases;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Action;
import dev.fencepost.run.Children.StartFailure;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.RetentionPolicy;
import dev.fencepost.run.Runner.Result;
import dev.fencepost.run.StopRequest;
import dev.fencepost.run.Workspace.RunFiles;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Any command under a lease, without a service and without a jobs file: for crontabs, systemd timers and shells. */
@Command(
        description = {
            "Runs a command under the lease NAME, or skips it while another run holds that lease.",
            "For crontabs, timers and scripts: no service and no jobs file is needed. The lease is renewed while the",
            "command runs, and the command is stopped when it is lost. NAME is the id of a job, with which it then shares",
            "the lease; fencepost history NAME shows every run. The command has our standard input, and its output is",
            "passed on as it comes, byte for byte, and kept in the run's log. On a terminal control characters are shown",
            "instead of sent. It sees its token as $FENCEPOST_FENCE. SIGTERM, SIGINT and SIGHUP are passed on, SIGKILL",
            "after the grace; a second signal kills at once.",
            "Ends with the exit code of the command, 128 and more for a signal; 0 when it was skipped, with one line on",
            "standard error; 69 when the store gives no answer: then it is not started, since another run may be under",
            "way; 70 when the lease was lost; 124 after --timeout; 126 and 127 when it could not be started."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost exec backup -- /usr/local/bin/backup --all",
            "  fencepost exec import --ttl 10m --timeout 1h --fail-on-skip -- ./import.sh",
            "  fencepost exec report --store postgresql://fencepost@db1/fencepost --wait 30s -- ./report.sh > report.txt"
        })
final class ExecCommand implements Callable<Integer> {

    private static final Duration SHORTEST_TTL = Duration.ofSeconds(3);
    private static final Duration BETWEEN_CLAIMS = Duration.ofMillis(250);
    private static final String DEFAULT_TTL = "81m";

    /** The schedule that nothing here asks for: the runs of exec are orders. */
    private static final Every NO_SCHEDULE = new Every(Duration.ofMinutes(45));

    @Parameters(
            index = "0",
            paramLabel = "NAME",
            description = "The name of the lease: a job's id, or any name like one.")
    @SuppressWarnings("NullAway.Init")
    private String name;

    @Parameters(
            index = "1..*",
            paramLabel = "CMD",
            arity = "1..*",
            description = "The command and its words, after --.")
    private List<String> command = new ArrayList<>();

    @Option(
            names = "--ttl",
            paramLabel = "DURATION",
            description = "Of the lease, from 3s; renewed after a third of it. After a crash on another host it has to"
                    + " pass. Else " + DEFAULT_TTL + ".")
    private String ttl = DEFAULT_TTL;

    @Option(
            names = "--wait",
            paramLabel = "DURATION",
            description = "Wait so long for the lease before the command is skipped. Else 0s.")
    private String wait = "0s";

    @Option(names = "--fail-on-skip", description = "End with 75 when the command was skipped.")
    private boolean failOnSkip;

    @Option(
            names = "--timeout",
            paramLabel = "DURATION",
            description = "Then the command is stopped. Else it may run for ever.")
    private @Nullable String timeout;

    @Option(
            names = "--grace",
            paramLabel = "DURATION",
            description = "Between the first signal and SIGKILL; at a lost lease no longer than its margin. Else 10s.")
    private String grace = "10s";

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    ExecCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() throws InterruptedException {
        Job job = job();
        Duration longestWait = Bounds.duration("--wait", wait, Duration.ZERO, DurationText.LONGEST);
        StoreUrl url = shared.storeAlone();
        HandRun.Witness witness =
                new HandRun.Witness(new TerseJournal(shared.surroundings().err()));
        try (OpenedStore opened = OpenedStore.prepared(url, witness)) {
            return new Order(job, opened, stateDirectory(opened), witness).carryOut(longestWait);
        } catch (StoreException e) {
            return notStarted(job, e);
        }
    }

    private Job job() {
        if (!Job.ID.matcher(name).matches()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "NAME: " + Finding.quote(name)
                            + " is no name of a lease\n    write small letters, digits and . _ -,"
                            + " beginning with a letter or a digit, 63 at most");
        }
        return new Job(
                name,
                NO_SCHEDULE,
                ZoneOffset.UTC,
                new Action.Command(command, null, Map.of(), null, null),
                Set.of(),
                Bounds.duration("--ttl", ttl, SHORTEST_TTL, Leases.MAX_TTL),
                timeout == null
                        ? null
                        : Bounds.duration("--timeout", timeout, Duration.ofMillis(1), DurationText.LONGEST),
                Bounds.duration("--grace", grace, Duration.ZERO, Duration.ofHours(1)),
                new CatchUp(0, null),
                null,
                1,
                null,
                List.of());
    }

    private StateDirectory stateDirectory(OpenedStore opened) {
        try {
            return StateDirectory.open(shared.stateDir(), opened.assembly().entropy());
        } catch (IOException e) {
            throw new CommandFailure(
                    ExitCode.BAD_CONFIGURATION, e.getMessage() + "\n    another one is named with --state-dir");
        }
    }

    /** As the jobs file says, since NAME may be a job of it; null where that is refused. */
    private @Nullable RetentionPolicy retention() {
        if (!shared.hasJobsFile()) {
            return RetentionPolicy.DEFAULT;
        }
        if (!(shared.read() instanceof Reading.Accepted accepted)) {
            return null;
        }
        RetentionPolicy common = accepted.file().retention();
        return accepted.file()
                .job(name)
                .map(job -> common.with(job.policies().brakes()))
                .orElse(common);
    }

    /** Without the lease nobody knows whether another run is under way; to run all the same would be no lease at all. */
    private int notStarted(Job job, StoreException e) {
        if (shared.json()) {
            print(Json.object("ok", false, "reason", "STORE_UNAVAILABLE", "job", job.id(), "detail", e.getMessage()));
        } else {
            say(job.id() + ": not started, since the store gave no answer and another run may be under way: "
                    + e.getMessage());
        }
        return ExitCode.STORE_UNAVAILABLE;
    }

    /** One call of this command, once the store is open. */
    private final class Order {
        private final Job job;
        private final OpenedStore opened;
        private final StateDirectory directory;
        private final HandRun.Witness witness;
        private final StopRequest stop = new StopRequest();
        private final Foreground foreground;
        private final Assembly.Hand hand;
        private final @Nullable TextStream shownOut;
        private final @Nullable TextStream shownErr;
        private volatile Foreground.@Nullable Signal signal;
        private volatile boolean ended;
        private volatile @Nullable Path log;

        Order(Job job, OpenedStore opened, StateDirectory directory, HandRun.Witness witness) {
            this.job = job;
            this.opened = opened;
            this.directory = directory;
            this.witness = witness;
            Surroundings around = shared.surroundings();
            shownOut = around.outIsScreen() ? new TextStream(around.out(), Printable::text) : null;
            shownErr = around.errIsScreen() ? new TextStream(around.err(), Printable::text) : null;
            OutputStream out = shownOut == null ? around.outBytes() : shownOut;
            OutputStream err = shownErr == null ? around.errBytes() : shownErr;
            foreground = new Foreground(out, err, opened.assembly().spawner());
            hand = opened.assembly().hand(opened.store(), directory, foreground);
        }

        int carryOut(Duration longestWait) throws InterruptedException {
            try (StopSignals ignored = new StopSignals(List.of("HUP", "INT", "TERM"), this::caught)) {
                opened.assembly().spawner().platformThread("deadline-watch", hand.watch());
                Stopwatch watch = Stopwatch.start();
                Slot slot = Slot.once(
                        opened.store().now(),
                        opened.assembly().entropy().uuid().toString().substring(0, 8));
                Spawner.Task orders = OrdersForRun.obey(opened, hand.owner(), stop, job.grace());
                Result result;
                try {
                    result = awaitTurn(slot, longestWait);
                } finally {
                    orders.interrupt();
                }
                ended = true;
                Duration took = watch.elapsed();
                foreground.awaitReaders();
                int code = told(slot, result, took);
                CleanUp.sometimes(opened, directory, job.id(), ExecCommand.this::retention, ExecCommand.this::say);
                return code;
            }
        }

        private void caught(String name, int count) {
            Foreground.Signal caught = Foreground.Signal.valueOf(name);
            if (count == 1) {
                signal = caught;
                foreground.stopBy(caught);
            }
            stop.request(
                    StopRequest.Reason.CANCEL,
                    "stopped by SIG" + name + " to fencepost exec",
                    count == 1 ? job.grace() : Duration.ZERO);
            if (ended) {
                foreground.giveUp();
            }
        }

        /** Claims again and again while somebody else holds the lease, until there is no more time to wait. */
        private Result awaitTurn(Slot slot, Duration longestWait) throws InterruptedException {
            HandRun run = new HandRun(opened.store(), hand.runner(), hand.children(), ExecCommand.this::say);
            Stopwatch waiting = Stopwatch.start();
            while (true) {
                Result result = run.claimAndRun(job, slot, stop, false, this::started);
                boolean goesOn = result instanceof Result.Held
                        && stop.reason() == null
                        && waiting.elapsed().compareTo(longestWait) < 0;
                if (!goesOn) {
                    return result;
                }
                opened.assembly().time().sleep(BETWEEN_CLAIMS);
            }
        }

        private void started(RunFiles files) {
            log = files.log();
        }

        private int told(Slot slot, Result result, Duration took) {
            if (shownOut != null) {
                shownOut.end();
            }
            if (shownErr != null) {
                shownErr.end();
            }
            return switch (result) {
                case Result.Ended end -> told(slot, end, took);
                case Result.Held held
                when stop.reason() != null -> {
                    closing(slot, held(held.by(), stop.text()), job.id() + ": not started, " + stop.text());
                    yield bySignal();
                }
                case Result.Held held -> {
                    closing(
                            slot,
                            held(held.by(), "HELD"),
                            job.id() + ": skipped, " + HandRun.holder(held.by(), hand.owner(), job.zone()));
                    yield failOnSkip ? ExitCode.SKIPPED : ExitCode.FINE;
                }
                case Result.Closed closed -> {
                    // The claim took longer than the lease; or a key of ours that was there already, which cannot be.
                    String reason = String.valueOf(closed.reason());
                    closing(slot, Json.object("ok", false, "reason", reason), job.id() + ": not started, " + reason);
                    yield ExitCode.LEASE_LOST;
                }
                case Result.NoAnswer none -> throw none.cause();
            };
        }

        private int told(Slot slot, Result.Ended end, Duration took) {
            String reason = HandRun.reason(end);
            Map<String, @Nullable Object> form =
                    Json.object("ok", end.outcome() == Outcome.SUCCEEDED, "reason", reason);
            form.putAll(HandRun.form(end, witness.started(), took, log));
            boolean commandSaysItself = end.outcome() == Outcome.SUCCEEDED
                    || end.outcome() == Outcome.CANCELLED
                    || (end.outcome() == Outcome.FAILED
                            && end.exit() != null
                            && end.exit().code() != 0);
            closing(
                    slot,
                    form,
                    commandSaysItself
                            ? null
                            : job.id() + ": " + StatusCommand.lower(end.outcome()) + ": " + reason
                                    + (log == null ? "" : "; its output is kept in " + log));
            return exitCode(end);
        }

        private int exitCode(Result.Ended end) {
            StartFailure notStarted = foreground.startFailure();
            return switch (end.outcome()) {
                case LEASE_LOST -> ExitCode.LEASE_LOST;
                case TIMED_OUT -> ExitCode.TIMED_OUT;
                case FAILED -> {
                    if (end.exit() != null) {
                        yield end.exit().code() == 0
                                ? ExitCode.FAILED
                                : end.exit().code();
                    }
                    yield notStarted != null && notStarted.isMissing() ? ExitCode.NOT_FOUND : ExitCode.NOT_EXECUTABLE;
                }
                default -> end.exit() == null ? bySignal() : end.exit().code();
            };
        }

        private int bySignal() {
            Foreground.Signal caught = signal;
            return caught == null ? ExitCode.FAILED : caught.exitCode();
        }

        private Map<String, @Nullable Object> held(Lease by, String reason) {
            return Json.object(
                    "ok",
                    false,
                    "reason",
                    reason,
                    "held_by",
                    Json.object(
                            "owner", by.owner(),
                            "fence", by.fence().value(),
                            "slot", by.slotKey(),
                            "expires_at", by.expiresAt()));
        }

        /** @param text for a person, or null where the command has said enough */
        private void closing(Slot slot, Map<String, @Nullable Object> form, @Nullable String text) {
            if (foreground.errEndsWithinALine() && (text != null || shared.json())) {
                shared.surroundings().err().println();
            }
            if (shared.json()) {
                Map<String, @Nullable Object> object = Json.object("job", job.id(), "slot", slot.key());
                object.putAll(form);
                print(object);
            } else if (text != null) {
                say(text);
            }
        }
    }

    /** On standard error: standard output is the command's. */
    private void print(Map<String, @Nullable Object> closing) {
        Json.print(shared.surroundings().err(), closing);
    }

    private void say(String text) {
        PrintWriter err = shared.surroundings().err();
        err.println("fencepost: " + Printable.text(text));
        err.flush();
    }
}
