package dev.fencepost.edge.web;

import dev.fencepost.host.Time;
import dev.fencepost.work.WorkQueue;
import dev.fencepost.work.WorkQueue.QueueView;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What is in the queues. Counting takes the longer the more items have ended; so one count answers all who ask, for ten times as long as
 * it took, and at most a minute. However many ask, the store spends a tenth of one connection's time on it. A count that took no time is
 * not kept. Safe for use by many threads.
 */
public final class QueueCounts {

    private static final int TIMES = 10;
    private static final long LONGEST_MILLIS = 60_000;

    private final WorkQueue work;
    private final Time time;
    private final ReentrantLock lock = new ReentrantLock();
    private List<QueueView> views = List.of();
    private long freshUntilBootMillis = Long.MIN_VALUE;

    public QueueCounts(WorkQueue work, Time time) {
        this.work = work;
        this.time = time;
    }

    public List<QueueView> views() {
        lock.lock();
        try {
            long begin = time.bootMillis();
            if (begin >= freshUntilBootMillis) {
                views = work.queues();
                long end = time.bootMillis();
                freshUntilBootMillis = end + Math.min(LONGEST_MILLIS, TIMES * (end - begin));
            }
            return views;
        } finally {
            lock.unlock();
        }
    }

    /** Something was changed by hand: the next one who asks is to see it. */
    void forget() {
        lock.lock();
        freshUntilBootMillis = Long.MIN_VALUE;
        lock.unlock();
    }
}
