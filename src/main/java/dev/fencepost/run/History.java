package dev.fencepost.run;

import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.RunId;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What a store tells people of the past: a port. Reads only. */
public interface History {

    /**
     * The registered jobs by id; the retired ones come last, and with them those that were only ever run by hand. What it costs does not
     * grow with the history, but for what came after a job's last success.
     */
    List<JobSummary> jobs();

    /** One of them; null for a name that the store does not know. */
    @Nullable
    JobSummary job(String id);

    /** Ticks by job and outcome; a range counts as many as it holds. Reads the whole history. */
    Map<String, Map<Outcome, Long>> counts();

    /** The newest ticks of each of these jobs, newest first: a range is one of them. Jobs without ticks are missing. */
    Map<String, List<Mark>> newest(Collection<String> jobs, int ticks);

    /**
     * A tick, or a range, in one look.
     *
     * @param outcome null while it is open
     * @param count 1, or how many ticks the range holds
     */
    record Mark(String slotKey, @Nullable Outcome outcome, long count) {}

    /**
     * Whole ticks with their attempts, newest first, from a place on. What it costs does not grow with the history: of the ticks after the
     * place {@value #MOST_LOOKED_AT} are looked at.
     *
     * @param before null for the newest; there need not be such a tick
     * @param outcomes empty for all, and then open ticks are among them
     * @param limit of ticks; each comes with 20 attempts at most, the newest
     */
    Page page(String job, @Nullable Place before, Collection<Outcome> outcomes, int limit);

    int MOST_LOOKED_AT = 10_000;

    /** Before which tick a page begins. */
    record Place(Instant slotAt, String slotKey) {}

    /**
     * @param entries those of a tick stand together
     * @param next where to go on, or null at the end; there may be more entries although this page has none
     */
    record Page(List<Entry> entries, @Nullable Place next) {}

    /**
     * How many ticks with an outcome lie in each quarter of an hour, by outcome; a range counts at its last slot. Oldest
     * first. Reads the index entries of all these ticks.
     *
     * @param from ticks with earlier slots are left out
     */
    List<Quarter> quarters(String job, Instant from);

    /** @param start of a quarter of an hour of UTC */
    record Quarter(Instant start, Outcome outcome, long ticks) {}

    /** The attempts that were started last, newest first, those under way included. */
    List<Attempt> attempts(String job, int limit);

    /** Writes under the leases of these runs, accepted and refused, those of their effects too; oldest first, 1,000 at most. */
    List<WriteEvent> eventsOfRuns(Collection<RunId> runs);

    /** What a successful run left as its result; null if there is none. */
    byte @Nullable [] result(String job, RunId runId);

    /** Newest first: one entry an attempt, and one for each tick that had none. Empty for an unknown job. */
    List<Entry> history(String job, int limit);

    /** Of the newest 10,000 attempts of the job the success that ran longest; empty if none succeeded. */
    Optional<Longest> longestSuccess(String job);

    /**
     * @param ran by the store's clock, from the start of the attempt that succeeded to its end
     * @param successes of how many it is the longest
     */
    record Longest(Duration ran, long successes) {}

    /** Newest first: writes under leases, accepted and refused. */
    List<WriteEvent> events(int limit);

    /** The same for one resource: a job, a work item, or the pair of a sink and one of these. */
    List<WriteEvent> eventsOf(String resource, int limit);

    /** What is stored of one slot, read in one go; of an unknown job too. */
    SlotHistory slot(String job, Slot slot);

    /**
     * @param tick its row, else that of the range which it lies in, else null
     * @param attempts at it, newest first, 100 at most
     * @param runAtIt the attempt at another slot that ran at the instant of this one, or null
     */
    record SlotHistory(
            @Nullable StoredTick tick,
            List<Attempt> attempts,
            @Nullable Attempt runAtIt) {}

    /**
     * @param ordered by a person
     * @param notBefore of a further try, or null
     * @param range of which the slot is a part, or null
     */
    record StoredTick(
            @Nullable Outcome outcome,
            @Nullable String reason,
            Instant openedAt,
            @Nullable Instant endedAt,
            boolean ordered,
            @Nullable Instant notBefore,
            @Nullable Range range) {}

    /** An attempt and the end of its output; null if there is none. Waits for nobody, unlike {@link Ticks#attempt}. */
    @Nullable
    Kept kept(String job, RunId runId);

    /** @param outputTail at most 64 KiB, both streams; null where nothing is stored, as before the attempt's end */
    record Kept(Attempt attempt, @Nullable String outputTail) {}

    /**
     * @param scheduleText the schedule by which the job was registered, or null if it never was
     * @param registeredSince for a job that never was, since the tick of its first slot
     * @param skippedInARow slots skipped since the last success
     * @param pause null if there is none; it may be past its end
     * @param deferral null if there is none; it may be past its end
     * @param brakesSince when the last pause ended, or what the brakes had counted was forgotten; null for never
     */
    record JobSummary(
            String id,
            @Nullable String scheduleText,
            Instant registeredSince,
            boolean retired,
            @Nullable LeaseView lease,
            @Nullable Attempt running,
            @Nullable LastTick last,
            @Nullable Instant lastSuccessAt,
            long skippedInARow,
            @Nullable Pause pause,
            @Nullable Deferral deferral,
            @Nullable Instant brakesSince) {}

    /** A usage limit: nothing of the schedule is started before. */
    record Deferral(Instant until, @Nullable String reason) {}

    /** The newest tick that has an outcome. */
    record LastTick(String slotKey, Outcome outcome, Instant endedAt) {}

    /**
     * @param attempt null for a tick that had none
     * @param range for DROPPED and for skips too many for a row each
     */
    record Entry(
            String slotKey,
            @Nullable Outcome tickOutcome,
            @Nullable Instant tickEndedAt,
            @Nullable String tickReason,
            @Nullable Attempt attempt,
            @Nullable Range range) {}

    record Range(long count, Instant first, Instant last) {}

    /**
     * @param effect key of the effect that it is about, or null
     * @param newestFence where it was refused, the newest token that was known then, or null
     */
    record WriteEvent(
            Instant at,
            String resource,
            String owner,
            long fence,
            @Nullable String runId,
            boolean accepted,
            @Nullable String reason,
            @Nullable String effect,
            @Nullable Long newestFence) {

        /** Of a write that is about no effect, where no newer token was known. */
        public WriteEvent(
                Instant at,
                String resource,
                String owner,
                long fence,
                @Nullable String runId,
                boolean accepted,
                @Nullable String reason) {
            this(at, resource, owner, fence, runId, accepted, reason, null, null);
        }
    }
}
