package dev.fencepost.edge.process;

import dev.fencepost.host.Programs;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.RunId;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Programs of this host. Input and output go through platform threads, since a pipe blocks a thread of the system in any case.
 *
 * <p>A program that ends by itself may leave a process behind that holds its pipes open; its output is then cut after a short wait.
 */
public final class OsPrograms implements Programs {

    private static final int MAX_OUT_BYTES = 32 << 20;
    private static final int MAX_ERR_BYTES = 8 << 10;
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(1);
    private static final Duration DRAIN_LIMIT = Duration.ofSeconds(2);

    /** These programs carry no tag: their tree is found by its session and its descent. */
    private static final RunId NO_RUN = new RunId(new UUID(0, 0));

    private final Time time;
    private final Spawner spawner;
    private final SignalShell signals = new SignalShell();

    public OsPrograms(Time time, Spawner spawner) {
        this.time = time;
        this.spawner = spawner;
    }

    @Override
    public Ended run(
            List<String> command,
            Map<String, String> environment,
            @Nullable Path workingDir,
            byte[] stdin,
            Duration limit)
            throws IOException, InterruptedException {
        long end = time.bootMillis() + limit.toMillis();
        Process process = start(command, environment, workingDir, stdin.length == 0);
        ProcessTree tree = ProcessTree.below(process, NO_RUN, false, time, signals);
        Capture out = new Capture(MAX_OUT_BYTES, true, process);
        Capture err = new Capture(MAX_ERR_BYTES, false, process);
        List<Spawner.Task> readers = new ArrayList<>();
        boolean timedOut;
        try {
            String name = command.getFirst();
            readers.add(spawner.platformThread("stdout of " + name, () -> out.read(process.getInputStream())));
            readers.add(spawner.platformThread("stderr of " + name, () -> err.read(process.getErrorStream())));
            if (stdin.length > 0) {
                spawner.platformThread("stdin of " + name, () -> feed(process, stdin));
            }
            timedOut = !await(process, out, end);
        } catch (InterruptedException | OutOfMemoryError e) {
            killThoughInterrupted(tree, process);
            closeStreams(process);
            throw e;
        }
        if (timedOut || out.isOverflown()) {
            tree.kill();
            process.waitFor();
        }
        for (Spawner.Task reader : readers) {
            reader.join(DRAIN_LIMIT);
        }
        closeStreams(process);
        if (out.isOverflown()) {
            return new Ended(
                    -1, new byte[0], command.getFirst() + " wrote more than " + MAX_OUT_BYTES + " bytes", timedOut);
        }
        return new Ended(
                process.exitValue(), out.bytes(), new String(err.bytes(), StandardCharsets.UTF_8).strip(), timedOut);
    }

    private static Process start(
            List<String> command, Map<String, String> environment, @Nullable Path workingDir, boolean noInput)
            throws IOException {
        String setsid = Guard.program("setsid");
        if (setsid == null) {
            throw new IOException("the program setsid is missing; it is part of util-linux");
        }
        String program = command.getFirst();
        if (program.indexOf('/') < 0) { // setsid would find it, but its refusal is not told from the program's own
            program = found(program, environment.getOrDefault("PATH", ChildEnvironment.DEFAULT_PATH));
        }
        List<String> words = new ArrayList<>(List.of(setsid, "--", program));
        words.addAll(command.subList(1, command.size()));
        ProcessBuilder builder = new ProcessBuilder(words);
        builder.environment().clear();
        builder.environment().putAll(environment);
        if (workingDir != null) {
            builder.directory(workingDir.toFile());
        }
        if (noInput) {
            builder.redirectInput(Redirect.from(new File("/dev/null")));
        }
        try {
            SpareFiles.check(SpareFiles.FOR_A_START);
            return builder.start();
        } catch (IOException e) {
            throw new IOException(command.getFirst() + " cannot be started: " + e.getMessage(), e);
        }
    }

    private static String found(String name, String searchPath) throws IOException {
        for (String place : searchPath.split(":", -1)) {
            File file = new File(place, name);
            if (place.startsWith("/") && file.isFile() && file.canExecute()) {
                return file.getPath();
            }
        }
        throw new IOException(name + " cannot be started: it is in no directory of PATH " + searchPath);
    }

    /** @return false if the limit passed */
    private boolean await(Process process, Capture out, long end) throws InterruptedException {
        while (true) {
            long left = end - time.bootMillis();
            // In pieces: the JVM's own clock stands still during suspend.
            if (process.waitFor(Math.clamp(left, 0, LONGEST_WAIT.toMillis()), TimeUnit.MILLISECONDS)
                    || out.isOverflown()) {
                return true;
            }
            if (left <= 0) {
                return false;
            }
        }
    }

    private static void killThoughInterrupted(ProcessTree tree, Process process) {
        boolean interrupted = Thread.interrupted();
        try {
            tree.kill();
        } catch (InterruptedException again) {
            interrupted = true;
        } finally {
            process.destroyForcibly();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void feed(Process process, byte[] stdin) {
        try (OutputStream in = process.getOutputStream()) {
            in.write(stdin);
        } catch (IOException notRead) {
            // its own business
        }
    }

    private static void closeStreams(Process process) {
        for (AutoCloseable stream :
                List.of(process.getInputStream(), process.getErrorStream(), process.getOutputStream())) {
            try {
                stream.close();
            } catch (Exception alreadyBroken) {
                // a pipe without a reader says so once more
            }
        }
    }

    /** What a stream gave: its beginning, or its end. In blocks, since one array that grows would need three times its size. */
    private static final class Capture {
        private static final int BLOCK = 64 << 10;

        private final int limit;
        private final boolean whole;
        private final Process process;
        private final Deque<byte[]> blocks = new ArrayDeque<>();
        private int used = BLOCK; // of the last block
        private int size;
        private volatile boolean overflown;

        /** @param whole whether more than the limit is too much, and ends the process, or only its end is wanted */
        Capture(int limit, boolean whole, Process process) {
            this.limit = limit;
            this.whole = whole;
            this.process = process;
        }

        void read(InputStream in) {
            byte[] block = new byte[BLOCK];
            try (in) {
                for (int length = in.read(block); length >= 0; length = in.read(block)) {
                    add(block, length);
                    if (whole && overflown) {
                        process.destroyForcibly();
                        return;
                    }
                }
            } catch (IOException closed) {
                // what was read counts
            }
        }

        private synchronized void add(byte[] block, int length) {
            for (int from = 0; from < length; ) {
                if (used == BLOCK) {
                    blocks.add(new byte[BLOCK]);
                    used = 0;
                }
                int part = Math.min(length - from, BLOCK - used);
                System.arraycopy(block, from, blocks.getLast(), used, part);
                used += part;
                size += part;
                from += part;
            }
            if (whole) {
                overflown |= size > limit;
                if (overflown) {
                    blocks.clear();
                    used = BLOCK;
                    size = 0;
                }
            } else {
                while (size - BLOCK >= limit) {
                    blocks.removeFirst();
                    size -= BLOCK;
                }
            }
        }

        boolean isOverflown() {
            return whole && overflown;
        }

        synchronized byte[] bytes() {
            byte[] bytes = new byte[Math.min(size, limit)];
            int skipped = whole ? 0 : size - bytes.length;
            int at = -skipped;
            for (byte[] block : blocks) {
                int from = Math.max(0, -at);
                int part = Math.min(BLOCK - from, bytes.length - Math.max(0, at));
                if (part > 0) {
                    System.arraycopy(block, from, bytes, Math.max(0, at), part);
                }
                at += BLOCK;
            }
            return bytes;
        }
    }
}
