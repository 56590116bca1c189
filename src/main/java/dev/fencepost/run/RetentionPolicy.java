package dev.fencepost.run;

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
}
