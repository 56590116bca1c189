package dev.fencepost.edge.process;

import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.host.Event;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.ChildProcess;
import dev.fencepost.run.ChildProcess.Exit;
import dev.fencepost.run.ChildProcess.Output;
import dev.fencepost.run.Children.Spec;
import dev.fencepost.run.Children.StartFailure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;

/** A bench to try real children on: real clocks, threads and processes under one guard, and a list for the journal. */
final class Bench {

    static final String NODE = "11111111-2222-3333-4444-555555555555";
    static final Duration LONG = Duration.ofSeconds(30);

    final List<Event> journal = new CopyOnWriteArrayList<>();
    final SystemTime time;
    final SystemThreads threads = new SystemThreads(journal::add);
    final Path directory;
    final OsChildren children;
    final RunId runId = new RunId(UUID.randomUUID());
    private final Map<String, String> jobEnvironment = new HashMap<>();

    Bench(Path directory, String guard) {
        this(directory, guard, System.getenv());
    }

    Bench(Path directory, String guard, Map<String, String> runnerEnvironment) {
        this.directory = directory;
        time = new SystemTime();
        children = GuardedChildren.under(
                guard,
                runnerEnvironment,
                OsChildren.thisIncarnation(NODE, time, new SystemEntropy()),
                time,
                threads,
                journal::add);
    }

    /** Another run of the same runner. */
    Bench(Path directory, Bench sameRunner) {
        this.directory = directory;
        time = sameRunner.time;
        children = sameRunner.children;
    }

    /** Whether the host allows the guard that was asked for. */
    boolean guardIs(String name) {
        return children.guard()
                .startsWith(name.replace("namespace", "pid namespace").replace("parent-death", "parent-death signal"));
    }

    /** A ready-made child with hard behaviour. */
    static String child(String name) {
        return Path.of("src/test/resources/cases/children", name)
                .toAbsolutePath()
                .toString();
    }

    Path log() {
        return directory.resolve(runId + ".log");
    }

    Bench with(String name, String value) {
        jobEnvironment.put(name, value);
        return this;
    }

    Spec spec(String... command) {
        return new Spec(
                runId, List.of(command), Map.copyOf(jobEnvironment), null, null, log(), 16 * 1024 * 1024, Set.of());
    }

    static Spec withStdin(Spec spec, String stdin) {
        return new Spec(
                spec.runId(),
                spec.command(),
                spec.environment(),
                spec.workingDir(),
                stdin,
                spec.log(),
                spec.logLimitBytes(),
                spec.secrets());
    }

    static Spec withSecrets(Spec spec, String... secrets) {
        return new Spec(
                spec.runId(),
                spec.command(),
                spec.environment(),
                spec.workingDir(),
                spec.stdin(),
                spec.log(),
                spec.logLimitBytes(),
                Set.of(secrets));
    }

    static Spec in(Spec spec, Path workingDir) {
        return new Spec(
                spec.runId(),
                spec.command(),
                spec.environment(),
                workingDir,
                spec.stdin(),
                spec.log(),
                spec.logLimitBytes(),
                spec.secrets());
    }

    ChildProcess start(String... command) throws StartFailure {
        return children.start(spec(command));
    }

    ChildProcess shell(String script) throws StartFailure {
        return start("/bin/sh", "-c", script);
    }

    /** How a child ended, and what it wrote. */
    record Ended(Exit exit, Output output) {}

    Ended run(String... command) throws StartFailure, InterruptedException {
        return end(start(command));
    }

    static Ended end(ChildProcess child) throws InterruptedException {
        Exit exit = child.await(LONG);
        if (exit == null) {
            child.stop(Duration.ZERO);
            throw new AssertionError("still running");
        }
        return new Ended(exit, child.finish());
    }

    /** Processes of the run that are alive now. */
    List<Long> alive() throws IOException {
        return ProcessTable.all().values().stream()
                .filter(entry -> entry.isAlive() && ProcessTable.hasTag(entry.pid(), runId))
                .map(ProcessTable.Entry::pid)
                .toList();
    }

    String logText() throws IOException {
        return Files.readString(log());
    }

    static Collection<ProcessTable.Entry> processes() {
        try {
            return ProcessTable.all().values();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Living processes with this word in their command line. */
    static List<Long> withArgument(String word) {
        return processes().stream()
                .filter(entry -> entry.isAlive() && commandLine(entry.pid()).contains(word))
                .map(ProcessTable.Entry::pid)
                .toList();
    }

    private static String commandLine(long pid) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(pid), "cmdline"), StandardCharsets.ISO_8859_1);
        } catch (IOException ended) {
            return "";
        }
    }

    /** Whether the condition comes true within half a minute. */
    static boolean eventually(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + LONG.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) {
                return false;
            }
            Thread.sleep(10); // polls real processes, which cannot call us
        }
        return true;
    }
}
