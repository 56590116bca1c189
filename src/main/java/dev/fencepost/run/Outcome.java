package dev.fencepost.run;

/** How an attempt, or a tick, ended (semantics 3.9). */
public enum Outcome {
    SUCCEEDED,
    /** Exit code, signal, or it could not be started. */
    FAILED,
    TIMED_OUT,
    /** The lease was lost while the attempt ran; its child was stopped. */
    LEASE_LOST,
    /** The holder died, or was stopped, before the attempt's end. */
    ABANDONED,
    /** A person's order. */
    CANCELLED,
    /** Ticks only: came due while the run before it was still under a live lease. */
    SKIPPED_OVERLAP,
    /** Ticks only: missed, and beyond the catch-up cap. */
    DROPPED;

    public boolean isSuccess() {
        return this == SUCCEEDED;
    }

    /** A skip, a drop and a person's order are no failures. */
    public boolean isFailure() {
        return this == FAILED || this == TIMED_OUT || this == LEASE_LOST || this == ABANDONED;
    }
}
