package dev.fencepost.edge.process;

import dev.fencepost.edge.process.OutputLog.Source;
import dev.fencepost.host.Spawner;
import dev.fencepost.run.Children.StartFailure;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * What the child of a run in the foreground shares with this process: standard input is ours, what it writes goes to our streams byte for
 * byte as well as to the log, and a stop begins with the signal that we were sent. For one child. Safe for use by many threads.
 *
 * <p><b>Output.</b> While the child runs, a reader of ours that is slow makes it wait, as it would without us. A stream that cannot be
 * written, since nobody reads it any more, is given up and the run goes on. Once the child has ended nothing waits: what is left in its
 * pipes, 64 KiB by default, is taken into memory.
 */
public final class Foreground {

    /** A signal that asks a process to end. */
    public enum Signal {
        HUP(1),
        INT(2),
        TERM(15);

        final int number;

        Signal(int number) {
            this.number = number;
        }

        /** With which shells report a death by it. */
        public int exitCode() {
            return 128 + number;
        }
    }

    private static final int MOST_WAITING_BYTES = 256 * 1024;

    private final Relay out;
    private final Relay err;
    private volatile Signal signal = Signal.TERM;
    private volatile @Nullable StartFailure startFailure;

    /** @param out for the child's standard output; neither is closed */
    public Foreground(OutputStream out, OutputStream err, Spawner spawner) {
        this.out = new Relay(out, spawner);
        this.err = new Relay(err, spawner);
    }

    /** The next stop of the child begins with this signal. Else with SIGTERM. */
    public void stopBy(Signal first) {
        signal = first;
    }

    Signal signal() {
        return signal;
    }

    void notStarted(StartFailure failure) {
        startFailure = failure;
    }

    /** Why the child could not be started, or null. */
    public @Nullable StartFailure startFailure() {
        return startFailure;
    }

    void take(Source source, byte[] bytes, int length) {
        relay(source).take(bytes, length);
    }

    void ended(Source source) {
        relay(source).ended();
    }

    private Relay relay(Source source) {
        return source == Source.STDOUT ? out : err;
    }

    /** From now on nobody waits for our readers. */
    void childEnded() {
        out.open();
        err.open();
    }

    /** After the run: returns when our readers have taken all of it, or are gone. */
    public void awaitReaders() throws InterruptedException {
        out.awaitWritten();
        err.awaitWritten();
    }

    /** What was not written yet is thrown away. */
    public void giveUp() {
        out.giveUp();
        err.giveUp();
    }

    /** Whether the child's standard error ended within a line. */
    public boolean errEndsWithinALine() {
        return err.endsWithinALine();
    }

    /** One stream on its way, and the thread that writes it, so that who reads the child's pipe never waits for a write after its end. */
    private static final class Relay {
        private final OutputStream to;
        private final Spawner spawner;
        private final Deque<byte[]> waiting = new ArrayDeque<>();
        private Spawner.@Nullable Task writer;
        private long waitingBytes;
        private boolean writing;
        private boolean open;
        private boolean ended;
        private boolean broken;
        private byte last = '\n';

        Relay(OutputStream to, Spawner spawner) {
            this.to = to;
            this.spawner = spawner;
        }

        synchronized void take(byte[] bytes, int length) {
            boolean interrupted = false;
            while (waitingBytes >= MOST_WAITING_BYTES && !open && !broken) {
                try {
                    wait();
                } catch (InterruptedException e) {
                    interrupted = true; // whoever reads the pipe goes on to its end
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
            if (broken || length == 0) {
                return;
            }
            waiting.add(Arrays.copyOf(bytes, length));
            waitingBytes += length;
            last = bytes[length - 1];
            if (writer == null) {
                writer = spawner.platformThread("output to our own reader", this::write);
            }
            notifyAll();
        }

        private void write() {
            byte[] next = next();
            while (next != null) {
                boolean written = false;
                try {
                    to.write(next);
                    to.flush();
                    written = true;
                } catch (IOException nobodyReads) {
                    // the run goes on, and its log has everything
                } finally {
                    written(next.length, written);
                }
                next = next();
            }
        }

        private synchronized byte @Nullable [] next() {
            while (waiting.isEmpty() && !ended && !broken) {
                try {
                    wait();
                } catch (InterruptedException e) {
                    broken = true; // nobody interrupts this thread but the end of the program
                }
            }
            byte[] next = broken ? null : waiting.poll();
            writing = next != null;
            return next;
        }

        private synchronized void written(int length, boolean well) {
            writing = false;
            waitingBytes -= length;
            if (!well) {
                giveUp();
            }
            notifyAll();
        }

        synchronized void open() {
            open = true;
            notifyAll();
        }

        synchronized void ended() {
            ended = true;
            notifyAll();
        }

        synchronized void giveUp() {
            broken = true;
            waiting.clear();
            notifyAll();
        }

        synchronized void awaitWritten() throws InterruptedException {
            while (!broken && (writing || !waiting.isEmpty())) {
                wait();
            }
        }

        synchronized boolean endsWithinALine() {
            return last != '\n';
        }
    }
}
