package dev.fencepost.host;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Something that happened and that a person or a monitor may want to know. {@code slot} is the slot's key
 * ({@code 2026-03-29T01:00:00Z} or {@code manual:…}), {@code fence} the token's value. Events never carry payloads or secrets.
 */
public sealed interface Event {

    /** A slot came due while the lease granted before it was still live (semantics 3.8). Not an error. */
    record SkippedOverlap(String job, String firstSlot, String lastSlot, long count, long heldByFence)
            implements Event {}

    /** Missed slots beyond the catch-up cap or window were given up (semantics 3.7). */
    record Dropped(String job, Instant first, Instant last, long count, String reason) implements Event {}

    /** Missed slots that will be run after all. */
    record CaughtUp(String job, Instant first, Instant last, long count) implements Event {}

    /** An attempt was granted its lease; {@code lag} is the store's time from the slot to the grant. */
    record Started(String job, String slot, int attempt, long fence, String runId, Duration lag) implements Event {}

    /** The end of an attempt is stored. {@code ran} is measured on the boot clock; {@code outcome} may be {@link #DEFERRED}. */
    record Executed(
            String job,
            String slot,
            int attempt,
            long fence,
            String outcome,
            boolean failure,
            @Nullable String reason,
            Duration ran)
            implements Event {

        /** In the place of an outcome: a usage limit was reached, which counts as no failure, and the job waits for its end. */
        public static final String DEFERRED = "DEFERRED";
    }

    /** A write under an old token was refused and changed nothing. */
    record StaleTokenRejected(String job, @Nullable String slot, long fence, String reason) implements Event {}

    /** A call of a worker under an old grant was refused and changed nothing. */
    record StaleWorkRejected(String queue, String item, long fence, String reason) implements Event {}

    /** A renewal was accepted. */
    record Renewed(String job, String slot, long fence) implements Event {}

    /** A renewal had no answer; it is tried again until the local deadline. */
    record RenewFailed(String job, String slot, long fence, String cause) implements Event {}

    /** The lease was lost before the run ended; the run is stopped. */
    record LeaseLost(String job, String slot, long fence, String reason) implements Event {}

    /** The lease of a holder on this host that is provably dead was given up for it, for the next claim (semantics 2.15). */
    record TakenOver(String job, long oldFence, String deadOwner, int processesKilled) implements Event {}

    /** An earlier attempt was found without a living holder and is written as ABANDONED. */
    record Abandoned(String job, String slot, int attempt, long fence) implements Event {}

    /**
     * An effect came into a state. {@code newestFence}: the higher token that it was refused for. {@code waits}: a person has to look.
     */
    record EffectChanged(
            String job,
            String slot,
            long fence,
            String sink,
            String key,
            String state,
            @Nullable String reason,
            @Nullable Long newestFence,
            boolean waits)
            implements Event {}

    /**
     * The job is kept from running by its schedule. {@code cause}: PERSON, or the brake; {@code until} null: until it is resumed. The
     * brakes' pauses alone are told by the node.
     */
    record JobPaused(
            String job,
            String cause,
            @Nullable String reason,
            @Nullable Instant until) implements Event {}

    /** A pause has come to its end. */
    record JobResumed(String job, Instant at) implements Event {}

    /** A usage limit: nothing of the schedule is started before this instant. */
    record JobDeferred(String job, Instant until, String reason) implements Event {}

    /**
     * A notice of a job went out, or was given up.
     *
     * @param channel ping, webhook or mail
     * @param what it tells, such as {@code failure}
     * @param trouble why it was given up; null where it went out
     */
    record Notified(
            String job,
            String channel,
            String what,
            @Nullable String trouble) implements Event {}

    /** The store did not answer, or answers again. Recorded on change only. */
    record StoreAvailable(boolean available, @Nullable String cause) implements Event {}

    /** Something worth a line for a person, without being an error. */
    record Note(@Nullable String job, String text) implements Event {}

    /** An error of ours or of the surroundings, with what it concerns. Logged once, counted. */
    record Problem(
            String where,
            @Nullable String job,
            @Nullable String slot,
            @Nullable Long fence,
            String text,
            @Nullable Throwable cause)
            implements Event {}
}
