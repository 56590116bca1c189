package dev.fencepost.edge.process;

import dev.fencepost.edge.process.Foreground.Signal;
import dev.fencepost.edge.process.OutputLog.Source;
import dev.fencepost.edge.process.ProcessTable.Entry;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Spawner.Task;
import dev.fencepost.host.Time;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.ChildProcess;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A started child: two threads read its output, and a third one stops it when it is told to.
 *
 * <p>All three are platform threads. Reading a pipe blocks a thread of the system in any case, and a stop must not wait for a free
 * carrier.
 *
 * <p><b>What is known of the end.</b> Java gives {@code 128 + n} both for a death by signal n and for {@code exit 128+n}. Under the
 * namespace guard the shell that waits for the command tells a death by signal (other than SIGINT and SIGPIPE, about which shells say
 * nothing). Under the other guards a signal is reported only when it is the one that {@link #stop} sent before; everything else is a code without signal, "143
 * (possible SIGTERM)".
 */
final class OsProcess implements ChildProcess {

    private static final int BLOCK = 64 * 1024;
    private static final int SIGKILL = 9;
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(1);
    private static final Duration POLL = Duration.ofMillis(20);
    private static final Duration FIRST_SIGNAL_LIMIT = Duration.ofSeconds(1);
    private static final Duration DRAIN_LIMIT = Duration.ofSeconds(2);
    private static final Duration OWN_END_LIMIT = Duration.ofMillis(200);

    private final Process process;
    private final RunId runId;
    private final boolean namespace;
    private final ProcessTree tree;
    private final @Nullable Foreground foreground;
    private final OutputLog log;
    private final Path report;
    private final Time time;
    private final Spawner spawner;
    private final Journal journal;
    private final Set<String> pipes = new HashSet<>();
    private final List<Task> readers = new ArrayList<>();

    private final Object stopping = new Object();
    private final AtomicLong killAt = new AtomicLong(Long.MAX_VALUE);
    private @Nullable Task stopper;
    private volatile long lastOutputBootMillis;
    private volatile @Nullable Signal sent;
    private volatile boolean sentKill;
    private volatile int killedAfterMain;

    private final Object finishing = new Object();
    private volatile @Nullable Output output;
    private volatile @Nullable Exit exit;

    private OsProcess(
            Process process,
            RunId runId,
            Guard guard,
            SignalShell signals,
            @Nullable Foreground foreground,
            OutputLog log,
            Path report,
            Time time,
            Spawner spawner,
            Journal journal) {
        this.process = process;
        this.runId = runId;
        this.namespace = guard.isNamespace();
        this.tree = ProcessTree.below(process, runId, namespace, time, signals);
        this.foreground = foreground;
        this.log = log;
        this.report = report;
        this.time = time;
        this.spawner = spawner;
        this.journal = journal;
        this.lastOutputBootMillis = time.bootMillis();
    }

    /**
     * Takes over a process that was just started.
     *
     * @param signals what the runner sends signals by
     * @param foreground what it shares with this process, or null for nothing
     * @param report file in which the guard's init leaves its report
     * @throws OutOfMemoryError if the system allows no more threads; the process is dead then
     */
    static OsProcess of(
            Process process,
            RunId runId,
            @Nullable String stdin,
            Guard guard,
            SignalShell signals,
            @Nullable Foreground foreground,
            OutputLog log,
            Path report,
            Time time,
            Spawner spawner,
            Journal journal) {
        OsProcess child =
                new OsProcess(process, runId, guard, signals, foreground, log, report, time, spawner, journal);
        try {
            child.rememberPipes();
            child.read(Source.STDOUT, process.getInputStream());
            child.read(Source.STDERR, process.getErrorStream());
            if (stdin != null) {
                child.feed(stdin);
            }
        } catch (Throwable noThread) {
            process.destroyForcibly();
            child.closeStreams();
            throw noThread;
        }
        return child;
    }

    /** The kernel's names of the two output pipes, as long as the child still has them. */
    private void rememberPipes() {
        for (int descriptor = 1; descriptor <= 2; descriptor++) {
            String file = ProcessTable.openFile(process.pid(), descriptor);
            if (file != null && file.startsWith("pipe:")) {
                pipes.add(file);
            }
        }
    }

    private void read(Source source, InputStream in) {
        readers.add(spawner.platformThread("output of run " + runId, () -> {
            byte[] block = new byte[BLOCK];
            try (in) {
                for (int length = in.read(block); length >= 0; length = in.read(block)) {
                    lastOutputBootMillis = time.bootMillis();
                    log.write(source, block, length, length == block.length);
                    if (foreground != null) {
                        foreground.take(source, block, length);
                    }
                }
            } catch (IOException closedByFinish) {
                // what was read is in the log
            } finally {
                log.end(source);
                if (foreground != null) {
                    foreground.ended(source);
                }
            }
        }));
    }

    /** A child that does not read only blocks this thread; its death ends the write. */
    private void feed(String stdin) {
        spawner.platformThread("input of run " + runId, () -> {
            try (OutputStream out = process.getOutputStream()) {
                out.write(stdin.getBytes(StandardCharsets.UTF_8));
            } catch (IOException notRead) {
                // its own business
            }
        });
    }

    /** Pid of the process that was started: of the command itself, or of the guard that ends together with it and with its code. */
    @Override
    public long pid() {
        return process.pid();
    }

    @Override
    public @Nullable Exit await(Duration limit) throws InterruptedException {
        long end = endOf(limit);
        while (true) {
            long left = end - time.bootMillis();
            // In pieces: the JVM's own clock stands still during suspend.
            if (process.waitFor(Math.clamp(left, 0, LONGEST_WAIT.toMillis()), TimeUnit.MILLISECONDS)) {
                return exit();
            }
            if (left <= 0) {
                return null;
            }
        }
    }

    @Override
    public long lastOutputBootMillis() {
        return lastOutputBootMillis;
    }

    private long endOf(Duration limit) {
        long now = time.bootMillis();
        return limit.compareTo(Duration.ofDays(36_500)) > 0 ? Long.MAX_VALUE : now + limit.toMillis();
    }

    private Exit exit() {
        Exit known = exit;
        if (known == null) {
            int code = process.exitValue();
            known = new Exit(code, signalIn(code));
            exit = known;
        }
        return known;
    }

    private @Nullable Integer signalIn(int code) {
        int signal = code - 128;
        Signal first = sent;
        boolean ours = (first != null && signal == first.number) || (signal == SIGKILL && sentKill);
        boolean reported = signal > 0 && signal <= 64 && report().stream().anyMatch(line -> !line.startsWith("left "));
        return ours || reported ? signal : null;
    }

    private List<String> report() {
        try {
            return namespace ? Files.readAllLines(report, StandardCharsets.ISO_8859_1) : List.of();
        } catch (IOException none) {
            return List.of();
        }
    }

    @Override
    public void stop(Duration grace) {
        long end = endOf(grace.isNegative() ? Duration.ZERO : grace);
        killAt.accumulateAndGet(end, Math::min);
        synchronized (stopping) {
            if (stopper != null || output != null) {
                return;
            }
            try {
                stopper = spawner.platformThread("stop of run " + runId, this::stopTree);
            } catch (OutOfMemoryError noThread) {
                problem("no thread for the stop of run " + runId + ", so it is killed without a grace", noThread);
                sentKill = true;
                process.destroyForcibly();
            }
        }
    }

    private void stopTree() {
        boolean carriedOut = false;
        try {
            Entry main = terminate();
            while (time.bootMillis() < killAt.get() && !isGone()) {
                time.sleep(POLL);
            }
            boolean mainAlive = namespace ? main != null && isThere(main) : process.isAlive();
            sentKill = process.isAlive();
            int killed = kill();
            killedAfterMain = mainAlive ? 0 : killed;
            carriedOut = true;
        } catch (InterruptedException endOfTheRunner) {
            Thread.currentThread().interrupt();
        } finally {
            if (!carriedOut) {
                sentKill = true;
                process.destroyForcibly();
            }
        }
    }

    /** Sends the first signal to what there is; right after the start the command itself may still be to come. */
    private @Nullable Entry terminate() throws InterruptedException {
        long end = Math.min(killAt.get(), time.bootMillis() + FIRST_SIGNAL_LIMIT.toMillis());
        Signal first = foreground == null ? Signal.TERM : foreground.signal();
        Entry main = null;
        try {
            do {
                if (process.isAlive()) {
                    sent = first;
                }
                main = tree.main();
                if (tree.terminate(first) || !process.isAlive()) {
                    break;
                }
                time.sleep(POLL);
            } while (time.bootMillis() < end);
        } catch (IOException noTable) {
            problem(
                    "run " + runId + " gets no SIG" + first
                            + " since /proc cannot be read, only SIGKILL after the grace",
                    noTable);
        }
        return main;
    }

    private static boolean isThere(Entry entry) {
        try {
            return ProcessTable.isStill(entry);
        } catch (IOException noTable) {
            return true;
        }
    }

    private boolean isGone() {
        try {
            return !process.isAlive() && tree.members().isEmpty();
        } catch (IOException noTable) {
            return false;
        }
    }

    private int kill() throws InterruptedException {
        ProcessTree.Killed killed = tree.kill();
        if (!killed.unkillable().isEmpty()) {
            problem("run " + runId + " has processes that cannot be killed: " + killed.unkillable(), null);
        }
        return killed.count();
    }

    @Override
    public Output finish() throws InterruptedException {
        Task stop;
        synchronized (stopping) {
            stop = stopper;
        }
        if (foreground != null) {
            foreground.childEnded();
        }
        while (stop != null && !stop.join(LONGEST_WAIT)) {
            // it ends after the grace
        }
        synchronized (finishing) {
            Output known = output;
            if (known == null) {
                int leftovers = killedAfterMain + kill() + reportedLeftovers();
                leftovers += drain();
                closeStreams();
                explainGuardFailure();
                log.close();
                deleteReport();
                known = new Output(log.tail(), log.totalBytes(), log.truncated(), leftovers);
                output = known;
            }
            return known;
        }
    }

    private int reportedLeftovers() {
        return report().stream()
                .filter(line -> line.matches("left \\d{1,9}"))
                .mapToInt(line -> Integer.parseInt(line.substring(5)))
                .sum();
    }

    /**
     * Everybody of the tree is dead, so the pipes end by themselves; unless someone who got out of the tree has inherited one. Who
     * writes to this run's pipe belongs to this run.
     *
     * @return how many of those were killed
     */
    private int drain() throws InterruptedException {
        if (readersEnd(OWN_END_LIMIT)) {
            return 0;
        }
        int killed = 0;
        try {
            for (Entry writer : ProcessTable.writers(pipes)) {
                killed += ProcessTree.signal(writer, true) ? 1 : 0;
            }
        } catch (IOException noTable) {
            // then the streams are closed under the readers
        }
        if (!readersEnd(DRAIN_LIMIT)) {
            problem("the output of run " + runId + " is held open by a process that is out of reach; it is cut", null);
        }
        return killed;
    }

    /** A process that the guard's programs could not start looks like a command with an exit code. */
    private void explainGuardFailure() {
        if (!process.isAlive() && exit().code() != 0 && namespace && !sentKill && !Files.exists(report)) {
            log.remark("the guard may have failed to start the command, see above; " + Guard.VARIABLE
                    + " in the runner's environment chooses another");
        }
    }

    private boolean readersEnd(Duration limit) throws InterruptedException {
        long end = time.bootMillis() + limit.toMillis();
        for (Task reader : readers) {
            Duration left = Duration.ofMillis(Math.max(1, end - time.bootMillis()));
            if (!reader.join(left)) {
                return false;
            }
        }
        return true;
    }

    private void closeStreams() {
        for (AutoCloseable stream :
                List.of(process.getInputStream(), process.getErrorStream(), process.getOutputStream())) {
            try {
                stream.close();
            } catch (Exception alreadyBroken) {
                // a pipe without a reader says so once more
            }
        }
    }

    private void deleteReport() {
        try {
            Files.deleteIfExists(report);
        } catch (IOException e) {
            problem("the report " + report + " cannot be deleted: " + e, e);
        }
    }

    private void problem(String text, @Nullable Throwable cause) {
        journal.record(new Event.Problem("child process", null, null, null, text, cause));
    }
}
