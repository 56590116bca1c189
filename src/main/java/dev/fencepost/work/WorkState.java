package dev.fencepost.work;

/** Where an item stands. */
public enum WorkState {
    /** Waits for a worker: never claimed, released, failed with tries left, or its lease is over. */
    READY,
    /** A worker holds it under a live lease. */
    CLAIMED,
    /** It has a result, for good. */
    DONE,
    /** Its tries are used up, or a worker gave it up for good. */
    DEAD
}
