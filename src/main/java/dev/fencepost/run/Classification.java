package dev.fencepost.run;

/** What kind of failure an attempt's output or exit code shows, where the job says how to tell. */
public enum Classification {
    /** A login is missing or expired: no further run can succeed, so the job is paused at once. */
    AUTH,
    /** A usage limit is reached: the job waits until a given time, and the attempt counts as no failure. */
    LIMIT,
    /** Worth another try: the only kind that {@code retry} goes on with, where the job names it. */
    TRANSIENT
}
