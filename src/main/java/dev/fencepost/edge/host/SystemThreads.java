package dev.fencepost.edge.host;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Spawner;
import java.time.Duration;

/**
 * Starts the JVM's own threads. Whatever a body throws, an {@link Error} included, becomes one {@link Event.Problem} in the journal and
 * ends that one thread only.
 *
 * <p>The JVM itself may refuse to start a thread (out of memory, or the system's limit of processes): then the call throws that error
 * to its caller, who alone knows what to do about it.
 */
public final class SystemThreads implements Spawner {

    private final Journal journal;

    public SystemThreads(Journal journal) {
        this.journal = journal;
    }

    @Override
    public Task virtualThread(String name, Runnable body) {
        return new Started(Thread.ofVirtual().name(name).start(() -> recordingFailure(name, body)));
    }

    @Override
    public Task platformThread(String name, Runnable body) {
        return new Started(Thread.ofPlatform().name(name).daemon(true).start(() -> recordingFailure(name, body)));
    }

    @SuppressWarnings("CatchAndPrintStackTrace") // the last resort when the journal itself is broken
    private void recordingFailure(String name, Runnable body) {
        try {
            body.run();
        } catch (Throwable thrown) {
            try {
                journal.record(new Event.Problem(
                        "thread " + name, null, null, null, "thread " + name + " ended with " + thrown, thrown));
            } catch (Throwable journalIsBroken) {
                thrown.addSuppressed(journalIsBroken);
                thrown.printStackTrace();
            }
        }
    }

    private record Started(Thread thread) implements Task {

        @Override
        public void interrupt() {
            thread.interrupt();
        }

        @Override
        public boolean isAlive() {
            return thread.isAlive();
        }

        @Override
        public boolean join(Duration limit) throws InterruptedException {
            return limit.isPositive() ? thread.join(limit) : !thread.isAlive();
        }
    }
}
