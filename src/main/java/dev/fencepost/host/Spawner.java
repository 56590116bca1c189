package dev.fencepost.host;

import java.time.Duration;

/**
 * Starts threads. Virtual ones wait (for a store, a child, a clock); platform ones are for what must go on although every carrier
 * is pinned, such as the watch over lease deadlines (semantics 2.11).
 */
public interface Spawner {

    /** Starts a virtual thread. What the body throws is recorded in the journal; it never ends anything else. */
    Task virtualThread(String name, Runnable body);

    /** Starts a daemon platform thread. What the body throws is recorded in the journal. */
    Task platformThread(String name, Runnable body);

    /** A started thread. */
    interface Task {

        void interrupt();

        boolean isAlive();

        /**
         * Waits for the end of the thread.
         *
         * @return whether it has ended within the limit
         */
        boolean join(Duration limit) throws InterruptedException;
    }
}
