package dev.fencepost.run;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Stops one run, whoever asks first: its timeout, its lease, a shutdown, a person or a newer slot. The first reason stays, except that a lost lease
 * outdoes every other: whatever else was wanted, nothing may be stored any more. Safe for use by many threads.
 */
public final class StopRequest {

    /** Why a run is stopped, and how its attempt then ends. */
    public enum Reason {
        TIMEOUT(Outcome.TIMED_OUT),
        LEASE_LOST(Outcome.LEASE_LOST),
        SHUTDOWN(Outcome.ABANDONED),
        CANCEL(Outcome.CANCELLED),
        /** A newer slot takes over. */
        SUPERSEDED(Outcome.CANCELLED);

        private final Outcome outcome;

        Reason(Outcome outcome) {
            this.outcome = outcome;
        }

        public Outcome outcome() {
            return outcome;
        }

        /** Whether the attempt counts toward max-attempts and the brakes; one that made way for others does not. */
        public boolean counts() {
            return this != SHUTDOWN && this != SUPERSEDED;
        }
    }

    private @Nullable Reason reason;
    private String text = "";
    private Duration grace = Duration.ZERO;
    private @Nullable ChildProcess child;
    private boolean ended;

    /**
     * Asks the run to stop: SIGTERM now, SIGKILL after the grace.
     *
     * @return whether this call changed the reason; false also when the child has ended before
     */
    public synchronized boolean request(Reason why, String words, Duration graceAllowed) {
        if (ended) {
            return false; // the store alone decides now, by the completion that is under way
        }
        if (reason == null || graceAllowed.compareTo(grace) < 0) {
            grace = graceAllowed; // what was once cut short is not made longer
        }
        boolean first = reason == null || (why == Reason.LEASE_LOST && reason != Reason.LEASE_LOST);
        if (first) {
            reason = why;
            text = words;
        }
        if (child != null) {
            child.stop(grace);
        }
        return first;
    }

    /** The child is there; if a stop was asked for before, it is stopped at once. */
    public synchronized void attach(ChildProcess started) {
        child = started;
        if (reason != null) {
            started.stop(grace);
        }
    }

    /** The child has ended; later requests come too late. */
    public synchronized void ended() {
        ended = true;
    }

    public synchronized @Nullable Reason reason() {
        return reason;
    }

    /** The words of the reason; empty without one. */
    public synchronized String text() {
        return text;
    }
}
