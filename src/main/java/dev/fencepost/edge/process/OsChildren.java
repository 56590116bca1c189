package dev.fencepost.edge.process;

import dev.fencepost.edge.process.ProcessTable.Entry;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.ChildProcess;
import dev.fencepost.run.Children;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;

/**
 * Children of this host. One is enough for a runner.
 *
 * <p>All starts are made by one platform thread that lives as long as the runner: the death signal of a child is bound to the
 * <em>thread</em> that started it, and would come when that thread ends.
 */
public final class OsChildren implements Children {

    private static final String NO_BOOT_CLOCK = "no-boot-clock";

    private final Incarnation self;
    private final Time time;
    private final Spawner spawner;
    private final Journal journal;
    private final Map<String, String> runnerEnvironment;
    private final Guard guard;
    private final SignalShell signals = new SignalShell();
    private final @Nullable Foreground foreground;
    private final BlockingQueue<FutureTask<Process>> starts = new LinkedBlockingQueue<>();
    private Spawner.@Nullable Task starter;

    /** Finds out which guard this host allows, which starts a few processes that end at once. */
    public OsChildren(Incarnation self, Time time, Spawner spawner, Journal journal) {
        this(self, time, spawner, journal, System.getenv(), null);
    }

    /** For one child, which shares with this process what {@link Foreground} says. */
    public OsChildren(Incarnation self, Time time, Spawner spawner, Journal journal, @Nullable Foreground foreground) {
        this(self, time, spawner, journal, System.getenv(), foreground);
    }

    /** With another environment than the process's own. */
    OsChildren(Incarnation self, Time time, Spawner spawner, Journal journal, Map<String, String> runnerEnvironment) {
        this(self, time, spawner, journal, runnerEnvironment, null);
    }

    OsChildren(
            Incarnation self,
            Time time,
            Spawner spawner,
            Journal journal,
            Map<String, String> runnerEnvironment,
            @Nullable Foreground foreground) {
        this.self = self;
        this.time = time;
        this.spawner = spawner;
        this.journal = journal;
        this.runnerEnvironment = Map.copyOf(runnerEnvironment);
        this.foreground = foreground;
        this.guard = Guard.detect(runnerEnvironment);
        if (!guard.isNamespace()) { // which has no group to be killed at a run's end
            signals.prepare();
        }
    }

    /** The incarnation that this process is, on this node. */
    public static Incarnation thisIncarnation(String nodeId, Time time, Entropy entropy) {
        Entry process;
        try {
            process = ProcessTable.self();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new Incarnation(
                nodeId,
                time.bootId(),
                ProcessTable.pidNamespace(),
                process.pid(),
                process.startTicks(),
                entropy.uuid().toString().substring(0, 8));
    }

    @Override
    public ChildProcess start(Spec spec) throws StartFailure {
        try {
            return started(spec);
        } catch (StartFailure e) {
            if (foreground != null) {
                foreground.notStarted(e);
            }
            throw e;
        }
    }

    private ChildProcess started(Spec spec) throws StartFailure {
        if (!guard.canStart()) {
            throw new StartFailure("the program setsid is missing; it is part of util-linux", null);
        }
        Account as = spec.runAs() == null ? null : Account.of(spec.runAs());
        Map<String, String> environment = ChildEnvironment.of(spec, as, runnerEnvironment);
        Launch.check(spec, environment);
        if (as != null) {
            as.takeOver(spec);
        }
        Path report = spec.log().resolveSibling(spec.log().getFileName() + ".end");
        List<String> change = as == null ? List.of() : as.change();
        ProcessBuilder builder = new ProcessBuilder(guard.wrap(spec.command(), report.toAbsolutePath(), change));
        builder.environment().clear();
        builder.environment().putAll(environment);
        if (spec.workingDir() != null) {
            builder.directory(spec.workingDir().toFile());
        }
        if (foreground != null) {
            builder.redirectInput(Redirect.INHERIT);
        } else if (spec.stdin() == null) {
            builder.redirectInput(Redirect.from(new File("/dev/null")));
        }
        OutputLog log = new OutputLog(spec.log(), spec.logLimitBytes(), spec.secrets(), time, journal);
        try {
            Process process = onStarter(builder);
            return OsProcess.of(
                    process,
                    spec.runId(),
                    spec.stdin(),
                    guard,
                    signals,
                    foreground,
                    log,
                    report,
                    time,
                    spawner,
                    journal);
        } catch (IOException | OutOfMemoryError e) {
            log.close();
            // The JVM may have started the process and then failed to watch it.
            sweep(spec.runId());
            throw Launch.refused(spec, e);
        }
    }

    private Process onStarter(ProcessBuilder builder) throws IOException {
        FutureTask<Process> start = new FutureTask<>(() -> {
            SpareFiles.check(SpareFiles.FOR_A_START);
            return builder.start();
        });
        synchronized (starts) {
            if (starter == null || !starter.isAlive()) {
                starter = spawner.platformThread("starter of children", this::startForEver);
            }
        }
        starts.add(start);
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return start.get();
                } catch (InterruptedException e) {
                    interrupted = true; // a start takes milliseconds, and a child without an owner would be worse
                } catch (ExecutionException e) {
                    throw e.getCause() instanceof IOException refused ? refused : new IOException(e.getCause());
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void startForEver() {
        while (true) {
            try {
                starts.take().run();
            } catch (InterruptedException nobodyMayEndThis) {
                journal.record(new Event.Problem(
                        "starter of children", null, null, null, "interrupted, goes on", nobodyMayEndThis));
            }
        }
    }

    @Override
    public int sweep(RunId runId) {
        try {
            ProcessTree.Killed killed = ProcessTree.leftOf(runId, time, signals).kill();
            if (!killed.unkillable().isEmpty()) {
                journal.record(new Event.Problem(
                        "sweep",
                        null,
                        null,
                        null,
                        "run " + runId + " has processes that cannot be killed: " + killed.unkillable(),
                        null));
            }
            return killed.count();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 0;
        }
    }

    @Override
    public boolean provablyDead(Owner owner) {
        Incarnation other = Incarnation.of(owner);
        if (other == null || !other.nodeId().equals(self.nodeId())) {
            return false;
        }
        boolean unknownBoot =
                other.bootId().equals(NO_BOOT_CLOCK) || self.bootId().equals(NO_BOOT_CLOCK);
        if (!other.bootId().equals(self.bootId())) {
            return !unknownBoot;
        }
        if (other.pidNamespace() == 0 || other.pidNamespace() != self.pidNamespace()) {
            return false;
        }
        try {
            Entry process = ProcessTable.of(other.pid());
            if (process == null) {
                // Where /proc hides the processes of others (hidepid), the first one is hidden too.
                return ProcessTable.of(1) != null;
            }
            return !process.isAlive() || process.startTicks() != other.startTicks();
        } catch (IOException inDoubt) {
            return false;
        }
    }

    @Override
    public String guard() {
        return guard.toString();
    }
}
