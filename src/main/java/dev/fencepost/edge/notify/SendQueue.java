package dev.fencepost.edge.notify;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * What is to be sent, in lanes: within a lane one after the other in the order of their coming, so that a start comes before its end; the
 * lanes beside each other, so that a receiver that hangs delays nobody else. Bounded: when it is full the oldest is given up. Safe for use
 * by many threads.
 */
final class SendQueue {

    private static final Duration LOOK_AGAIN = Duration.ofMillis(50);

    /** One thing to send. */
    interface Sending {

        /**
         * Tries once.
         *
         * @param isLast whether no further try follows, so that trouble is to be recorded
         * @return whether it is over: sent, or given up
         */
        boolean attempt(boolean isLast) throws InterruptedException;
    }

    private record Waiting(String lane, Sending sending) {}

    /**
     * @param most how many wait at most
     * @param atOnce how many are tried at a time
     * @param pauses before the second try, the third and so on; there are no more
     */
    record Limits(int most, int atOnce, List<Duration> pauses) {
        Limits {
            pauses = List.copyOf(pauses);
        }
    }

    private final Limits limits;
    private final Time time;
    private final Spawner spawner;
    private final Journal journal;
    private final Semaphore places;
    private final Deque<Waiting> waiting = new ArrayDeque<>();
    private final Map<String, Spawner.Task> busy = new HashMap<>();
    private long dropped;

    SendQueue(Limits limits, Time time, Spawner spawner, Journal journal) {
        this.limits = limits;
        this.time = time;
        this.spawner = spawner;
        this.journal = journal;
        this.places = new Semaphore(limits.atOnce());
    }

    /** Returns at once. */
    void add(String lane, Sending sending) {
        boolean isFirstDropped = false;
        synchronized (waiting) {
            waiting.addLast(new Waiting(lane, sending));
            if (waiting.size() > limits.most()) {
                waiting.removeFirst();
                isFirstDropped = dropped++ == 0;
            }
            if (!busy.containsKey(lane)) {
                // The thread's first step waits for this lock, so that it finds itself among the busy ones.
                busy.put(lane, spawner.virtualThread("notify-" + lane, () -> work(lane)));
            }
        }
        if (isFirstDropped) {
            journal.record(new Event.Problem(
                    "notifications",
                    null,
                    null,
                    null,
                    "more than " + limits.most() + " notices wait to be sent, so the oldest are given up; is a receiver"
                            + " hanging?",
                    null));
        }
    }

    private void work(String lane) {
        try {
            for (Sending next = next(lane); next != null; next = next(lane)) {
                send(next);
            }
        } catch (InterruptedException closed) {
            synchronized (waiting) {
                busy.remove(lane);
            }
        }
    }

    private @Nullable Sending next(String lane) {
        synchronized (waiting) {
            for (Iterator<Waiting> all = waiting.iterator(); all.hasNext(); ) {
                Waiting each = all.next();
                if (each.lane().equals(lane)) {
                    all.remove();
                    return each.sending();
                }
            }
            busy.remove(lane);
            if (waiting.isEmpty() && busy.isEmpty()) {
                dropped = 0; // the trouble is over; the next one is told again
            }
            return null;
        }
    }

    private void send(Sending sending) throws InterruptedException {
        for (int tries = 1; ; tries++) {
            boolean isLast = tries > limits.pauses().size();
            boolean over;
            places.acquire();
            try {
                over = sending.attempt(isLast);
            } catch (RuntimeException | Error ours) {
                journal.record(new Event.Problem("notifications", null, null, null, "a notice is given up", ours));
                over = true;
            } finally {
                places.release();
            }
            if (over || isLast) {
                return;
            }
            time.sleep(limits.pauses().get(tries - 1));
        }
    }

    /** Waits until all is sent, but for no longer than this, and gives the rest up. */
    void close(Duration patience) throws InterruptedException {
        long end = time.bootMillis() + patience.toMillis();
        while (!isEmpty() && time.bootMillis() < end) {
            time.sleep(LOOK_AGAIN);
        }
        int left;
        List<Spawner.Task> tasks;
        synchronized (waiting) {
            left = waiting.size() + busy.size();
            waiting.clear();
            tasks = new ArrayList<>(busy.values());
        }
        tasks.forEach(Spawner.Task::interrupt);
        if (left > 0) {
            journal.record(new Event.Problem(
                    "notifications", null, null, null, left + " notices could not be sent before the end", null));
        }
    }

    private boolean isEmpty() {
        synchronized (waiting) {
            return waiting.isEmpty() && busy.isEmpty();
        }
    }
}
