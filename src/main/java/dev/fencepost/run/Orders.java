package dev.fencepost.run;

import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.schedule.Slot;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a person, or a brake, orders through the store, so that any node obeys and no port is needed: a port. Every order is one
 * transaction: the change itself, a {@link JobEvent} that says who, when and why, and a new {@link #signal}, which every node reads once a
 * second. All instants are the store's clock. What is said of exceptions and threads in {@link dev.fencepost.lease.Leases} holds here too.
 *
 * <p>{@code by} is who ordered it, as text: {@code user@host} for a person, {@link Pause#BY_A_BRAKE} for a brake.
 */
public interface Orders {

    /** Characters of the reason of an order. */
    int LONGEST_REASON = 500;

    /** Whether a person may write this as the reason of an order; null is one that is left out. A NUL is no text for PostgreSQL. */
    static boolean isReason(@Nullable String reason) {
        return reason == null || (!reason.isBlank() && reason.length() <= LONGEST_REASON && reason.indexOf('\0') < 0);
    }

    /** What an order came to. */
    enum Answer {
        DONE,
        /** The job has no row in the store, or left the file. Nothing changed. */
        UNKNOWN,
        /** It is so already: paused with the same cause and end, not paused, nothing running. Nothing changed. */
        ALREADY,
        /** The slot has succeeded, or its attempt is running (semantics 3.14). Nothing changed. */
        ALREADY_DONE
    }

    /**
     * Counts that rise with orders, in the order in which these are committed: each order writes the same row.
     *
     * @param revision with every order
     * @param reloads with every order to read the jobs file anew
     */
    record Signal(long revision, long reloads) {}

    Signal signal();

    /** The job's pause, whether in force or past its end; null if there is none, or no such job. */
    @Nullable
    Pause pauseOf(String job);

    /**
     * Pauses the job from now on. A pause by a person replaces any other one; a brake's does not replace one that is in force
     * ({@code ALREADY}). The defer time of a usage limit is not touched.
     *
     * @param until null for until {@link #resume}; one in the past is an {@link IllegalArgumentException}
     */
    Answer pause(String job, @Nullable Instant until, Pause.Cause cause, @Nullable String reason, String by);

    /**
     * Ends the pause, and forgets what the brakes have counted and the time that a usage limit set: the cursor of a paused job is set to
     * now, so that the slots inside the pause are not missed (semantics 3.6). {@code ALREADY} if nothing of it was there: no pause, no
     * such time, no failure since the last success, no slot dropped by a brake.
     */
    Answer resume(String job, @Nullable String reason, String by);

    /**
     * Ends a pause whose {@code until} has passed, as of that instant; for the job's loop, any node. What the brakes had counted before is
     * forgotten, as by {@link #resume}. A second caller changes nothing.
     *
     * @return whether this call ended it
     */
    boolean endPause(String job);

    /**
     * Opens ticks to be run as soon as the job's lease is free, oldest first, outside the catch-up cap, paused or not: a manual tick, or
     * slots of the calendar. A tick that ended otherwise than SUCCEEDED is opened again, with its attempts counted anew; one that has
     * succeeded or is running is left alone.
     *
     * @param withoutEffects whether what the runs announce is thrown away
     * @return for each slot DONE or ALREADY_DONE; empty for an unknown job
     */
    List<Answer> trigger(String job, List<Slot> slots, boolean withoutEffects, @Nullable String reason, String by);

    /**
     * Asks the attempt that is running to stop, as CANCELLED, and ends the open ticks without a running attempt as CANCELLED. A run of a
     * job that left the file, or never was in one, can be cancelled too.
     *
     * @return {@code ALREADY} if nothing runs or waits, or what runs was asked before
     */
    Answer cancel(String job, @Nullable String reason, String by);

    /** Asks every node to read its jobs file anew. */
    void reload(@Nullable String reason, String by);

    /** Attempts of this owner that are to stop and have no end yet. */
    List<Stop> stops(Owner owner);

    /** @param takeOver by a newer slot (semantics 3.8) and not by a person */
    record Stop(
            RunId runId,
            String job,
            boolean takeOver,
            @Nullable String reason) {

        public StopRequest.Reason why() {
            return takeOver ? StopRequest.Reason.SUPERSEDED : StopRequest.Reason.CANCEL;
        }

        /** For people, and for the attempt's reason. */
        public String words() {
            return reason != null ? reason : takeOver ? "superseded" : "cancelled";
        }
    }

    /** Newest first. @param job null for all */
    List<JobEvent> jobEvents(@Nullable String job, int limit);

    /**
     * Something that was ordered, or happened to a job as a whole.
     *
     * @param job null for an order to all, as {@code RELOADED} is
     * @param fence the job's newest token at that time, 0 if it was never claimed
     * @param until of a pause or a deferral, or null
     * @param slots the slot keys of a trigger, as a text: the first ten, and how many more
     */
    record JobEvent(
            Instant at,
            @Nullable String job,
            Kind kind,
            long fence,
            @Nullable Instant until,
            @Nullable String reason,
            String by,
            @Nullable String slots) {

        /** What happened. */
        public enum Kind {
            REGISTERED,
            /** It has another schedule than before. */
            RESCHEDULED,
            /** It left the file. */
            RETIRED,
            PAUSED,
            /** By order, or since its time had come: then at that time. */
            RESUMED,
            TRIGGERED,
            CANCELLED,
            /** A newer slot takes over. */
            SUPERSEDED,
            /** A usage limit: nothing of the schedule is started before {@code until}. */
            DEFERRED,
            RELOADED,
            /** All tokens were raised, since the store is older than what was done under it. */
            BUMPED,
            /** What only a newer program knows. */
            OTHER;

            public static Kind of(String name) {
                for (Kind kind : values()) {
                    if (kind.name().equals(name)) {
                        return kind;
                    }
                }
                return OTHER;
            }
        }
    }
}
