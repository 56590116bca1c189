package dev.fencepost.schedule;

/** What becomes of a slot that comes due while the run before it holds the job's lease (semantics 3.8). */
public enum Overlap {
    /** It ends as SKIPPED_OVERLAP. */
    SKIP,
    /** The newest such slot stays open and runs next; older ones end as SKIPPED_OVERLAP. */
    BUFFER_ONE,
    /** The run is asked to stop and ends CANCELLED; the newest such slot runs once the lease is released or over. */
    TAKE_OVER
}
