package dev.fencepost.lease;

/** Why the store said no. A refusal is a normal answer, never an exception, and surely changed nothing (semantics 2.10). */
public enum Refusal {
    /** Somebody, perhaps the asker, holds a live lease. */
    HELD,
    /** A newer token was granted since. */
    STALE_TOKEN,
    /** The lease ended by the store's clock; an expired lease is never revived. */
    EXPIRED,
    /** The lease is another owner's, or released. */
    NOT_OWNER,
    /** The attempt has an end, or the tick an outcome, already. */
    ALREADY_DONE,
    /** The store knows no such resource, tick or run. */
    UNKNOWN
}
