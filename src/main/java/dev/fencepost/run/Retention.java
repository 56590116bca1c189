package dev.fencepost.run;

import java.time.Instant;
import java.util.List;

/** Clean-up of what is long past, in small batches: a port. Tokens, cursors and what is still open are never touched. */
public interface Retention {

    int MOST_AT_ONCE = 1_000;

    /** Ids of all jobs that have ticks, those that left the file, and names of {@code exec}, included. */
    List<String> jobsWithTicks();

    /**
     * Deletes ticks of one job that ended before the instant, and those beyond the newest {@code keep}, with their attempts; oldest first.
     * Stays: what is open or running, the newest tick and the newest success of the job, and ticks that an unsettled effect belongs to.
     *
     * @param limit 1 to {@value #MOST_AT_ONCE}
     * @return how many ticks went; fewer than the limit means that nothing is left to do
     */
    int pruneTicks(String job, Instant endedBefore, int keep, int limit);

    /** Deletes events of writes and of jobs, and rows of dead nodes, that are older; the same limit, the same answer. */
    int pruneEvents(Instant before, int limit);

    /** Deletes effects that were settled before, with their content; fences of sinks stay. The same limit, the same answer. */
    int pruneEffects(Instant settledBefore, int limit);
}
