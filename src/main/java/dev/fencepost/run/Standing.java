package dev.fencepost.run;

import dev.fencepost.lease.LeaseView;
import dev.fencepost.run.History.Deferral;
import dev.fencepost.run.History.JobSummary;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How a job of the jobs file, of the store, or of both, stands at an instant of the store's clock: for people. Two that are equal are told
 * alike.
 *
 * @param job null for one that the file does not have
 * @param summary null for one that the store does not know
 * @param next slot by the file
 * @param lease only if it is live
 * @param running only if it stands under that lease
 * @param pause only if it is in force
 * @param deferral only until its time has come
 */
public record Standing(
        String id,
        @Nullable Job job,
        @Nullable JobSummary summary,
        @Nullable Instant next,
        @Nullable LeaseView lease,
        @Nullable Attempt running,
        @Nullable Pause pause,
        @Nullable Deferral deferral) {

    /** In one word or two. A run that is under way comes before everything else, and may be one of a paused job. */
    public enum State {
        RUNNING,
        /** Somebody holds the lease, and no attempt of the job's runs under it. */
        HELD,
        /** An attempt is open, and the lease that it ran under is not live any more. */
        HOLDER_GONE,
        /** It has left every node's file. */
        RETIRED,
        /** It was only ever started by {@code exec}. */
        BY_HAND,
        PAUSED,
        DEFERRED,
        /** Registered in the store, though this file does not have it. */
        NOT_IN_THIS_FILE,
        /** In the file, and the store has not heard of it. */
        NOT_SEEN_YET,
        IDLE
    }

    /** In the order of the file, and then those that the store alone knows. */
    public static List<Standing> of(Collection<Job> jobs, Collection<JobSummary> summaries, Instant now) {
        Map<String, JobSummary> stored = new LinkedHashMap<>();
        summaries.forEach(summary -> stored.put(summary.id(), summary));
        List<Standing> standings = new ArrayList<>();
        jobs.forEach(job -> standings.add(of(job.id(), job, stored.remove(job.id()), now)));
        stored.forEach((id, summary) -> standings.add(of(id, null, summary, now)));
        return standings;
    }

    /** Of one job. At least one of file and store has it. */
    public static Standing of(String id, @Nullable Job job, @Nullable JobSummary summary, Instant now) {
        Instant next = job == null ? null : job.schedule().next(now);
        if (summary == null) {
            return new Standing(id, job, null, next, null, null, null, null);
        }
        LeaseView lease = summary.lease();
        LeaseView live = lease != null && lease.isLive() ? lease : null;
        Attempt open = summary.running();
        Pause pause = summary.pause();
        Deferral deferral = summary.deferral();
        return new Standing(
                id,
                job,
                summary,
                next,
                live,
                open != null && live != null && open.runId().equals(live.runId()) ? open : null,
                pause != null && pause.isInForce(now) ? pause : null,
                deferral != null && deferral.until().isAfter(now) ? deferral : null);
    }

    public State state() {
        if (running != null) {
            return State.RUNNING;
        }
        if (lease != null) {
            return State.HELD;
        }
        if (summary != null && summary.running() != null) {
            return State.HOLDER_GONE;
        }
        if (isRetired()) {
            return summary != null && summary.scheduleText() == null ? State.BY_HAND : State.RETIRED;
        }
        if (pause != null) {
            return State.PAUSED;
        }
        if (deferral != null) {
            return State.DEFERRED;
        }
        if (summary == null) {
            return State.NOT_SEEN_YET;
        }
        return job == null ? State.NOT_IN_THIS_FILE : State.IDLE;
    }

    /** Whether a person has to do something so that its slots run again. */
    public boolean waitsForAPerson() {
        return pause != null && !isRetired();
    }

    /** Whether the store goes by another schedule than the file. */
    public boolean hasOtherSchedule() {
        return job != null
                && summary != null
                && !summary.retired()
                && summary.scheduleText() != null
                && !summary.scheduleText().equals(job.schedule().text());
    }

    /** In which its times are shown. */
    public ZoneId zone() {
        return job == null ? ZoneOffset.UTC : job.zone();
    }

    private boolean isRetired() {
        return job == null && summary != null && summary.retired();
    }
}
