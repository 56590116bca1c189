package dev.fencepost.edge.cli;

import dev.fencepost.edge.Assembly;
import dev.fencepost.edge.cli.WorkItemRun.End;
import dev.fencepost.edge.cli.WorkItemRun.Kind;
import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.host.StateDirectory;
import dev.fencepost.edge.host.StopSignals;
import dev.fencepost.edge.process.OsChildren;
import dev.fencepost.edge.process.RunFolders;
import dev.fencepost.edge.remote.RemoteWorkQueue;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Printable;
import dev.fencepost.host.Spawner;
import dev.fencepost.lease.DeadlineWatch;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.Leases;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.StoreException;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkItem;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** A worker, on any machine that reaches the server. */
@Command(
        description = {
            "Claims items of a server's queue, and runs a command for each.",
            "The command reads its payload from the file $FENCEPOST_PAYLOAD, writes its result to $FENCEPOST_RESULT and files",
            "to hand in into $FENCEPOST_OUTPUT_DIR. Exit code 0 makes the item done; any other gives it back as failed, to",
            "be tried again later. The lease is renewed while the command runs; when it is lost, the command is killed.",
            "A server that does not answer is waited for. The first SIGTERM or SIGINT lets what runs end, the second stops",
            "it at once. Ends with 0, or with 143 when something had to be stopped; with --once and --until-empty also",
            "with 1 when an item failed, and with --once with 70 when its lease was lost."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost work loop --server https://vps.example --token-file worker.token --queue pages \\",
            "      -- ./make-page.sh",
            "  fencepost work loop --server https://vps.example --token-file worker.token --queue pages \\",
            "      --until-empty --stdin --timeout 20m -- sh -c 'agent > \"$FENCEPOST_RESULT\"'"
        })
final class WorkLoopCommand implements Callable<Integer> {

    private static final Duration SHORTEST_TTL = Duration.ofSeconds(3);
    private static final Duration LONGEST_DRAIN = Duration.ofDays(1);
    private static final int MOST_PARALLEL = 64;

    /** What a header of a request can hold. */
    private static final Pattern OWNER = Pattern.compile("[!-~]([ -~]{0,198}[!-~])?");

    @Mixin
    private final WorkTarget target = new WorkTarget();

    @Option(names = "--queue", paramLabel = "Q", description = "The queue. Else default.")
    private String queue = NewItem.DEFAULT_QUEUE;

    @Option(
            names = "--ttl",
            paramLabel = "DURATION",
            description = "Of the leases, from 3s; renewed after a third of it. Else 60s.")
    private String ttl = "60s";

    @Option(
            names = "--owner",
            paramLabel = "O",
            description = "The name to claim under, ASCII. Else this process, told apart from every other.")
    private @Nullable String owner;

    @Option(names = "--parallel", paramLabel = "N", description = "So many items at the same time, 1 to 64. Else 1.")
    private int parallel = 1;

    @Option(names = "--once", description = "End after one item.")
    private boolean once;

    @Option(names = "--until-empty", description = "End when there is nothing to claim.")
    private boolean untilEmpty;

    @Option(
            names = "--timeout",
            paramLabel = "DURATION",
            description = "Then the command is stopped, and the item failed. Else it may run for ever.")
    private @Nullable String timeout;

    @Option(
            names = "--grace",
            paramLabel = "DURATION",
            description =
                    "Between SIGTERM and SIGKILL for the command; at a lost lease no longer than its margin. Else 10s.")
    private String grace = "10s";

    @Option(
            names = "--retry-after",
            paramLabel = "DURATION",
            description = "A failed item is not claimed before; doubles with each attempt, at most 1h. Else 30s.")
    private String retryAfter = "30s";

    @Option(
            names = "--drain",
            paramLabel = "DURATION",
            description = "After a signal what runs may go on for so long. Else 30s.")
    private String drain = "30s";

    @Option(names = "--stdin", description = "Give the payload on standard input too; it has to be text.")
    private boolean stdin;

    @Option(names = "--keep", description = "Keep output and files of items that are done, too.")
    private boolean keep;

    @Option(
            names = "--keep-for",
            paramLabel = "DURATION",
            description = "So long what is kept stays, and the newest 1000 runs at most. Else 14d.")
    private String keepFor = "14d";

    @Parameters(paramLabel = "CMD", arity = "1..*", description = "The command and its words, after --.")
    private List<String> command = new ArrayList<>();

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    WorkLoopCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() throws InterruptedException {
        Bounds.number(spec, "--parallel", parallel, 1, MOST_PARALLEL);
        if (once && untilEmpty) {
            throw new ParameterException(spec.commandLine(), "--once or --until-empty, not both");
        }
        if (shared.writtenStore() != null) {
            throw new ParameterException(spec.commandLine(), "--store: the loop works with a --server");
        }
        Duration drainLimit = Bounds.duration("--drain", drain, Duration.ZERO, LONGEST_DRAIN);
        Duration keepLimit = Bounds.duration("--keep-for", keepFor, Duration.ZERO, DurationText.LONGEST);
        checkQueue();
        Journal journal = new TerseJournal(shared.surroundings().err());
        Assembly assembly = new Assembly(journal);
        try (RemoteWorkQueue remote = target.remote(shared, spec, assembly)) {
            StateDirectory directory = stateDirectory(assembly);
            Incarnation self = OsChildren.thisIncarnation(directory.nodeId(), assembly.time(), assembly.entropy());
            WorkItemRun.Plan plan = plan(owner == null ? self.owner() : named(owner));
            DeadlineWatch watch = new DeadlineWatch(assembly.time());
            assembly.spawner().platformThread("deadline-watch", watch);
            Path files = directory.path().resolve("work");
            KeptFiles kept = new KeptFiles(files, keepLimit, KeptFiles.MOST, assembly.time(), this::say);
            kept.sweep();
            WorkItemRun.Ground ground = new WorkItemRun.Ground(
                    remote,
                    new OsChildren(self, assembly.time(), assembly.spawner(), journal),
                    new RunFolders(files),
                    kept,
                    watch,
                    assembly.time(),
                    assembly.spawner(),
                    assembly.entropy(),
                    this::say);
            WorkLoop.Until until =
                    once ? WorkLoop.Until.ONE_ITEM : untilEmpty ? WorkLoop.Until.EMPTY : WorkLoop.Until.STOPPED;
            WorkLoop loop = new WorkLoop(
                    new WorkLoop.Settings(queue, parallel, until, drainLimit, owner == null),
                    plan,
                    ground,
                    new Lines());
            Spawner.Task sweeping = assembly.spawner().virtualThread("kept files", kept);
            try (StopSignals ignored = new StopSignals(loop::stop)) {
                return loop.run();
            } finally {
                sweeping.interrupt();
            }
        } catch (StoreException e) {
            throw WorkCall.noAnswer(e);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
        }
    }

    private void checkQueue() {
        try {
            NewItem.checkQueue(queue);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), "--queue: " + e.getMessage(), e);
        }
    }

    private WorkItemRun.Plan plan(Owner claimant) {
        return new WorkItemRun.Plan(
                List.copyOf(command),
                shared.surroundings().workingDir(),
                claimant,
                Bounds.duration("--ttl", ttl, SHORTEST_TTL, Leases.MAX_TTL),
                timeout == null
                        ? null
                        : Bounds.duration("--timeout", timeout, Duration.ofMillis(1), DurationText.LONGEST),
                Bounds.duration("--grace", grace, Duration.ZERO, Duration.ofHours(1)),
                Bounds.duration("--retry-after", retryAfter, Duration.ZERO, Duration.ofDays(1)),
                stdin,
                keep,
                Set.of(target.token(shared).value()));
    }

    private Owner named(String text) {
        if (!OWNER.matcher(text).matches()) {
            throw new ParameterException(
                    spec.commandLine(), "--owner: write 1 to 200 ASCII characters, without blanks at the ends");
        }
        return new Owner(text);
    }

    private StateDirectory stateDirectory(Assembly assembly) {
        try {
            return StateDirectory.open(shared.stateDir(), assembly.entropy());
        } catch (IOException e) {
            throw new CommandFailure(
                    ExitCode.BAD_CONFIGURATION, e.getMessage() + "\n    another one is named with --state-dir");
        }
    }

    private void say(String text) {
        PrintWriter err = shared.surroundings().err();
        err.println("fencepost: " + Printable.text(text));
        err.flush();
    }

    /** One line for each beginning and end; with --json a line on stdout for each end. */
    private final class Lines implements WorkLoop.Listener {

        @Override
        public void begun(WorkItem item) {
            say(item.id() + ": begun, attempt " + item.attempts() + " of " + item.maxAttempts() + ", token "
                    + item.fence());
        }

        @Override
        public void ended(End end, Duration ran) {
            if (shared.json()) {
                PrintWriter out = shared.surroundings().out();
                Json.print(
                        out,
                        Json.object(
                                "ok",
                                end.kind() == Kind.DONE,
                                "reason",
                                end.reason(),
                                "item",
                                WorkForms.json(end.item()),
                                "end",
                                end.kind(),
                                "ran_ms",
                                ran.toMillis(),
                                "files",
                                end.folder()));
                out.flush();
            }
            say(end.item().id() + ": " + words(end.kind()) + ", " + HistoryCommand.took(ran)
                    + (end.reason() == null ? "" : ": " + end.reason())
                    + (end.kind() != Kind.FAILED
                            ? ""
                            : "; it is " + WorkForms.lower(end.item())
                                    + (end.item().notBefore() == null
                                            ? ""
                                            : ", not before "
                                                    + WorkForms.seconds(
                                                            end.item().notBefore())))
                    + (end.folder() == null ? "" : "; its files are in " + end.folder()));
        }

        private static String words(Kind kind) {
            return switch (kind) {
                case DONE -> "done";
                case FAILED -> "failed";
                case LOST -> "lost";
                case RELEASED -> "given back";
                case NOT_STARTED -> "given back";
            };
        }
    }
}
