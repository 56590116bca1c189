package dev.fencepost.host;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Starts threads, and keeps what their bodies threw. */
public final class TestThreads implements Spawner {

    private final List<Throwable> failures = new CopyOnWriteArrayList<>();

    /** What came out of the bodies so far. */
    public List<Throwable> failures() {
        return List.copyOf(failures);
    }

    @Override
    public Task virtualThread(String name, Runnable body) {
        return new Started(Thread.ofVirtual().name(name).start(guarded(body)));
    }

    @Override
    public Task platformThread(String name, Runnable body) {
        return new Started(Thread.ofPlatform().daemon().name(name).start(guarded(body)));
    }

    private Runnable guarded(Runnable body) {
        return () -> {
            try {
                body.run();
            } catch (RuntimeException | Error e) {
                failures.add(e);
            }
        };
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
            return thread.join(limit);
        }
    }
}
