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
    /** The store knows no such resource, tick, run or item. */
    UNKNOWN,
    /** Of work: an item with this id is there already, and stays as it is. */
    EXISTS,
    /** Of work: its tries are used up, or it was given up. */
    DEAD,
    /** Of work: its time has not come. */
    NOT_YET,
    /** Of work: so many items of its queue are claimed as may be. */
    AT_CAPACITY
}
