package dev.fencepost.lease;

import dev.fencepost.host.Time;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Calls the alarm of every held lease whose local deadline has passed. Runs on one platform thread for all leases, so that neither a
 * full pool nor pinned carriers can delay it; after a suspend or a SIGSTOP it is among the first things that happen (semantics 2.12).
 */
public final class DeadlineWatch implements Runnable {

    private static final long LONGEST_WAIT_MILLIS = 250;
    private static final long NEVER = -1;

    /**
     * A lease under watch: its keeper knows the current term, the alarm stops the run and must not block. An alarm that fails is called
     * again at the next look, since the run has to be stopped all the same; telling of the failure is its own affair.
     */
    private record Watched(Keeper keeper, Runnable alarm) {}

    private final Time time;
    private final Set<Watched> watched = ConcurrentHashMap.newKeySet();
    private volatile long lookedAt = NEVER;

    public DeadlineWatch(Time time) {
        this.time = time;
    }

    /** Watches until the returned handle is closed or the alarm was called. */
    public Handle watch(Keeper keeper, Runnable alarm) {
        Watched entry = new Watched(keeper, alarm);
        watched.add(entry);
        return () -> watched.remove(entry);
    }

    /** Ends a watch. */
    @FunctionalInterface
    public interface Handle extends AutoCloseable {
        @Override
        void close();
    }

    @Override
    public void run() {
        try {
            while (true) {
                try {
                    lookAndSleep();
                } catch (RuntimeException | Error passing) { // a full heap, say: no lease may go unwatched for it
                    Thread.yield();
                }
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    private void lookAndSleep() throws InterruptedException {
        long now = time.bootMillis();
        lookedAt = now;
        long next = now + LONGEST_WAIT_MILLIS;
        for (Watched entry : watched) {
            long deadline = entry.keeper().term().deadlineBootMillis();
            if (now >= deadline) {
                if (hasRung(entry)) {
                    watched.remove(entry);
                }
            } else {
                next = Math.min(next, deadline);
            }
        }
        time.sleep(Duration.ofMillis(Math.max(1, next - now)));
    }

    /** How long ago the last look at the deadlines was, or null before the first one. */
    public @Nullable Duration sinceLastLook() {
        long last = lookedAt;
        return last == NEVER ? null : Duration.ofMillis(time.bootMillis() - last);
    }

    private static boolean hasRung(Watched entry) {
        try {
            entry.alarm().run();
            return true;
        } catch (RuntimeException | Error oneRunsOwn) {
            return false; // the other leases are watched whatever happens here
        }
    }
}
