package dev.fencepost.edge.process;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A shell that stands ready to send signals: the JVM sends only two of them, and none to a group. To start one for each run's end would
 * take longer than the rest of that end, and is not possible where the limit of processes is reached.
 *
 * <p>It ends with the JVM, since its input does. Safe for use by many threads, one after the other.
 */
final class SignalShell {

    /** A terminal's signals go to the whole group of the runner, so to this shell too. */
    private static final String LOOP =
            "trap '' HUP INT TERM; while read -r s pids; do kill -s \"$s\" -- $pids; echo; done";

    private static final long LIMIT_NANOS = 1_000_000_000;
    private static final long BETWEEN_LOOKS_NANOS = 100_000;

    /** A line of so many is shorter than what a pipe takes at once. */
    private static final int MOST_IN_A_LINE = 256;

    private @Nullable Process shell;

    /** Starts the shell now, if it can be; otherwise the first signal does. */
    synchronized void prepare() {
        try {
            ready();
        } catch (IOException atTheFirstSignal) {
            // which says so by its answer
        }
    }

    /**
     * Sends a signal to each of these; one that is not there is passed over.
     *
     * @param signal its name without SIG
     * @param pids asked right before, perhaps more than once; a negative one is a group, which the kernel signals in one step
     * @return whether the shell has done so; it may have even if not
     */
    synchronized boolean send(String signal, Supplier<List<Long>> pids) throws InterruptedException {
        for (int tries = 0; tries < 2; tries++) { // the one at hand may have been killed by somebody
            try {
                Process ready = ready();
                if (ready == null) {
                    return false;
                }
                if (isDone(ready, signal, pids.get())) {
                    return true;
                }
            } catch (IOException ended) {
                // a new one, or none
            }
        }
        return false;
    }

    private @Nullable Process ready() throws IOException {
        Process known = shell;
        if (known != null && known.isAlive()) {
            return known;
        }
        String program = Guard.program("sh");
        if (program == null) {
            return null;
        }
        SpareFiles.check(2 * SpareFiles.FOR_A_START);
        ProcessBuilder builder = new ProcessBuilder(program, "-c", LOOP).redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().clear();
        known = builder.start();
        shell = known;
        return known;
    }

    /** A shell whose answer did not come is forgotten, whatever the reason: the answer would be taken for that to the next line. */
    private boolean isDone(Process ready, String signal, List<Long> pids) throws IOException, InterruptedException {
        boolean done = false;
        try {
            for (int from = 0; from < pids.size(); from += MOST_IN_A_LINE) {
                List<Long> some = pids.subList(from, Math.min(from + MOST_IN_A_LINE, pids.size()));
                if (!isAnswered(ready, line(signal, some))) {
                    return false;
                }
            }
            done = true;
            return true;
        } finally {
            if (!done) {
                forget();
            }
        }
    }

    private static String line(String signal, List<Long> pids) {
        return pids.stream().map(String::valueOf).collect(Collectors.joining(" ", signal + " ", "\n"));
    }

    private static boolean isAnswered(Process ready, String line) throws IOException, InterruptedException {
        OutputStream to = ready.getOutputStream();
        to.write(line.getBytes(StandardCharsets.US_ASCII));
        to.flush();
        InputStream from = ready.getInputStream();
        long end = System.nanoTime() + LIMIT_NANOS;
        while (from.available() == 0) { // a blocking read could last for ever, were the shell stopped
            if (!ready.isAlive() || System.nanoTime() - end > 0) {
                return false;
            }
            Thread.sleep(0, (int) BETWEEN_LOOKS_NANOS);
        }
        return from.read() >= 0;
    }

    private void forget() {
        if (shell != null) {
            shell.destroyForcibly();
            shell = null;
        }
    }
}
