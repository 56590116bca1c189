package dev.fencepost.run;

import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.schedule.Backlog;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Slot;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Slots, ticks and attempts of a store: a port. Semantics section 3 is its contract. What is said of exceptions and threads in
 * {@link dev.fencepost.lease.Leases} holds here too.
 */
public interface Ticks {

    /** The clock that slots are compared with: PostgreSQL's own, or this host's wall clock for SQLite. */
    Instant now();

    /**
     * Makes these the jobs of the store. A job seen for the first time, come back, or with another schedule than before starts with
     * its cursor at now (or at its start); one that is no longer there is marked retired. May be repeated.
     */
    void register(Collection<Job> jobs);

    /** What planning needs to know of a job; null if it is not registered. */
    @Nullable
    Situation situation(String job);

    /**
     * A job's slots, its lease, and what keeps it, read in one go.
     *
     * @param lease null if it was never claimed
     * @param pause whether in force or past its end, or null
     * @param deferUntil nothing of the schedule is started before it, since a usage limit was reached; may be past, or null
     * @param brakesSince what failed or ran before it is forgotten by the brakes; null for nothing
     * @param lastEnd when the newest end of a tick was, of whatever outcome; null if none has ended
     */
    record Situation(
            Backlog backlog,
            @Nullable LeaseView lease,
            @Nullable Pause pause,
            @Nullable Instant deferUntil,
            @Nullable Instant brakesSince,
            @Nullable Instant lastEnd) {

        /** Of a job that nothing keeps. */
        public Situation(Backlog backlog, @Nullable LeaseView lease) {
            this(backlog, lease, null, null, null, null);
        }
    }

    /** Reads which jobs may have something to do that their schedules do not tell: one read, whatever their number. */
    Restless restless();

    /**
     * What a node has to know of jobs that rest.
     *
     * @param now by the clock of {@link #now()}
     * @param registered how many jobs the store knows, retired ones included
     * @param jobs with an open tick, a lease that somebody holds or held to his death, a pause, or a usage limit ahead; also names of
     *     leases that are no jobs
     */
    record Restless(Instant now, long registered, Set<String> jobs) {}

    /**
     * Reads what the brakes of a job count (semantics 6.4), since its last resume.
     *
     * @param mostFailures how many failed ticks in a row are looked for at most; 0 for none
     * @param runsSince from when on runs are counted, or null for not at all
     */
    BrakeCounts brakeCounts(String job, int mostFailures, @Nullable Instant runsSince);

    /**
     * What the brakes of a job count.
     *
     * @param failuresInARow of the ticks that ended last; skips, drops, cancelled ones, usage limits and ends by a shutdown count neither
     *     way
     * @param lastFailure reason of the newest of them, or null
     * @param authFailure reason of the newest attempt that has ended, if that was classified as {@link Classification#AUTH}, or null
     * @param runs attempts of slots of the schedule that were started
     */
    record BrakeCounts(
            int failuresInARow,
            @Nullable String lastFailure,
            @Nullable String authFailure,
            long runs) {}

    /**
     * Writes a plan in one transaction. A run that has to make way is asked to stop in it, as {@link Orders#stops} tells its holder.
     *
     * @return the plan as written, without the slots that had a row already, and without displaced ones that were started meanwhile; null, and nothing is written, if the cursor is no longer
     *     where it was read
     */
    @Nullable
    Plan apply(Job job, Backlog seen, Plan plan);

    /**
     * Claims the job's lease for a slot and inserts the attempt, atomically; opens the tick if it has no row yet. An attempt of the
     * job that has no end gets one, as at {@link #abandon}. A tick that is not to be tried again yet gets none.
     *
     * @param reopen whether a tick with another outcome than SUCCEEDED is opened again: a person's order, and the tick is an ordered one
     *     from then on
     */
    Start start(Job job, Slot slot, Owner owner, RunId runId, boolean reopen);

    /**
     * Stores the end of the attempt, its result, the tick's outcome and an accepted event, and releases the lease; in one transaction,
     * with the lease row locked, and only if owner, token and run id match, the attempt has no end, the tick no outcome, and the lease
     * has not expired. The effects that it announces are stored with it; a key that is there already with the same content stays as it
     * is. Otherwise stores an event of the refusal, and one for each effect, and nothing else.
     */
    Completed complete(Lease lease, Completion completion);

    /**
     * Ends an attempt that has no end yet as LEASE_LOST, without a lease (semantics 3.10). If somebody has ended it before, nothing of
     * it changes and the refusal is stored as an event, as at {@link #complete}.
     *
     * @param effects keys of what the run would have announced: for each an event of its refusal, with both tokens
     * @return whether this call ended it
     */
    boolean endAsLost(Lease lease, String reason, List<String> effects);

    /** The same of a run that would have announced nothing. */
    default boolean endAsLost(Lease lease, String reason) {
        return endAsLost(lease, reason, List.of());
    }

    /**
     * Ends what a dead holder left: its lease is released and its attempt written as ABANDONED, if the lease is still this grant's and
     * either expired by the store's clock or {@code provablyDead}. An attempt that had been asked to stop is written as CANCELLED, with
     * its tick, which is not tried again.
     *
     * @return the attempts that this call ended
     */
    List<Attempt> abandon(Lease lease, boolean provablyDead);

    /** Reads an attempt after waiting for whoever writes under its job's lease; null if there is none. For unknown outcomes. */
    @Nullable
    Attempt attempt(String job, RunId runId);
}
