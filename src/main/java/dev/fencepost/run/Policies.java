package dev.fencepost.run;

import dev.fencepost.schedule.Overlap;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How a job behaves beyond its schedule and its command: what happens at an overlap, after a failure, and when it is stopped for good.
 *
 * @param overlap what becomes of slots that come due during a run
 * @param jitter a scheduled start is put off by a part of this, by job and slot always the same one; zero for none
 * @param stagger missed slots are started over this time after a downtime, each job at its own place in it; zero for at once
 * @param silence a run is stopped, as TIMED_OUT, when its command has written nothing for so long; null for never
 */
public record Policies(
        Overlap overlap,
        Duration jitter,
        Duration stagger,
        @Nullable Duration silence,
        Retry retry,
        SucceedIf succeedIf,
        List<Rule> classify,
        Brakes brakes) {

    public static final Policies DEFAULT = new Policies(
            Overlap.SKIP, Duration.ZERO, Duration.ZERO, null, Retry.NONE, SucceedIf.EXIT_CODE, List.of(), Brakes.NONE);

    public Policies {
        classify = List.copyOf(classify);
    }

    /**
     * Tries after a failure: FAILED or TIMED_OUT, of the same tick, once the old process tree is dead. The tick stays open meanwhile;
     * what comes due first, the next slot or the retry, is run first, and never both at a time.
     *
     * @param max how many more tries after the first; 0 for none
     * @param backoff from the end of an attempt to the first further one; doubled each time, up to a day
     * @param onExitCodes only after these exit codes, or after any failure where it is empty
     * @param onlyTransient only where {@link Policies#classify} says TRANSIENT
     */
    public record Retry(int max, Duration backoff, Set<Integer> onExitCodes, boolean onlyTransient) {

        public static final Retry NONE = new Retry(0, Duration.ofMinutes(1), Set.of(), false);

        public Retry {
            onExitCodes = Set.copyOf(onExitCodes);
        }
    }

    /**
     * What makes a run a success besides the exit code 0. The output is what is kept of it, line by line, stdout and stderr.
     *
     * @param outputMatches at least one line has to match, or null
     * @param outputNotMatches no line may match, or null
     * @param resultNotEmpty the result file has to be there and hold more than white space
     * @param filesChanged a run with nothing to publish to git has failed
     */
    public record SucceedIf(
            @Nullable LinePattern outputMatches,
            @Nullable LinePattern outputNotMatches,
            boolean resultNotEmpty,
            boolean filesChanged) {

        public static final SucceedIf EXIT_CODE = new SucceedIf(null, null, false, false);
    }

    /**
     * Tells a failed attempt's kind; the first rule that fits decides. A run that succeeded is never classified.
     *
     * @param output a line of the output has to match, or null
     * @param exitCodes one of these, or any where it is empty
     * @param defer for LIMIT: how long the job waits, unless the line's group {@code until} holds a time: an ISO-8601 instant or the seconds
     *     since 1970
     */
    public record Rule(Classification kind, @Nullable LinePattern output, Set<Integer> exitCodes, Duration defer) {

        public Rule {
            exitCodes = Set.copyOf(exitCodes);
        }
    }

    /**
     * Limits that no agent can lift (semantics 6.4); {@code resume} does.
     *
     * @param pauseAfterFailures the job is paused when so many ticks in a row have failed; 0 for never
     * @param maxRunsPerDay attempts of scheduled slots in one day of the job's zone; further slots end DROPPED; null for any number
     */
    public record Brakes(int pauseAfterFailures, @Nullable Integer maxRunsPerDay) {

        public static final Brakes NONE = new Brakes(0, null);
    }
}
