package dev.fencepost.run;

import dev.fencepost.run.Policies.Brakes;
import java.time.Duration;

/**
 * How long what is past is kept; see {@link Retention} for what stays whatever its age.
 *
 * @param ticks since their end, with their attempts
 * @param ticksOfJob at most so many of one job
 * @param events of writes, of jobs, and of dead nodes
 * @param effects since they were settled
 * @param outputs log files, results and other files of runs in the state directory, since the end of the run
 */
public record RetentionPolicy(Duration ticks, int ticksOfJob, Duration events, Duration effects, Duration outputs) {

    public static final RetentionPolicy DEFAULT = new RetentionPolicy(
            Duration.ofDays(90), 10_000, Duration.ofDays(90), Duration.ofDays(90), Duration.ofDays(30));

    /** The longest day there is, and some time for those who count late. */
    private static final Duration DAY = Duration.ofHours(26);

    /** More than a day has slots. */
    private static final int TICKS_OF_DAY = 100_000;

    /** The same, but that the runs of a day stay where they are counted: a brake that forgets would let go. */
    public RetentionPolicy with(Brakes brakes) {
        return brakes.maxRunsPerDay() == null
                ? this
                : new RetentionPolicy(
                        ticks.compareTo(DAY) < 0 ? DAY : ticks,
                        Math.max(ticksOfJob, TICKS_OF_DAY),
                        events,
                        effects,
                        outputs);
    }
}
