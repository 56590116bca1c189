package dev.fencepost.host;

import java.time.Duration;
import java.time.Instant;

/**
 * The clocks of this host, and sleeping by them.
 *
 * <p>Two clocks that must not be mixed up: the <em>wall clock</em> is for people and, on SQLite, for slots; it may be set back or
 * forth at any time. The <em>boot clock</em> only rises, goes on while the machine is suspended, and is the only one that a lease
 * is ever measured by (semantics 2.7 and 2.12). Implementations are safe for use by many threads.
 */
public interface Time {

    /** UTC as the host believes it. May jump in both directions. */
    Instant wallClock();

    /** Milliseconds since the host was started, suspended time included; resolution 10 ms or better. Never falls. */
    long bootMillis();

    /** Names the current start of the host: two boot clock readings may be compared only under the same boot id. */
    String bootId();

    /**
     * Waits for the given time on the boot clock; returns at once when it is zero or negative.
     *
     * @throws InterruptedException if the thread is interrupted before or while it waits
     */
    void sleep(Duration duration) throws InterruptedException;
}
