package dev.fencepost.run;

import dev.fencepost.run.Policies.Brakes;
import dev.fencepost.run.Policies.Retry;
import dev.fencepost.run.Policies.Rule;
import dev.fencepost.run.Policies.SucceedIf;
import dev.fencepost.schedule.Overlap;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/** Policies for tests that differ from the default in one thing. */
public final class PolicyKit {

    private static final Policies DEFAULT = Policies.DEFAULT;

    private PolicyKit() {}

    public static Policies overlap(Overlap overlap) {
        return of(overlap, Duration.ZERO, Duration.ZERO, Retry.NONE, List.of(), Brakes.NONE);
    }

    public static Policies jitter(Duration jitter) {
        return of(Overlap.SKIP, jitter, Duration.ZERO, Retry.NONE, List.of(), Brakes.NONE);
    }

    public static Policies stagger(Duration stagger) {
        return of(Overlap.SKIP, Duration.ZERO, stagger, Retry.NONE, List.of(), Brakes.NONE);
    }

    public static Policies retry(Retry retry, Rule... classify) {
        return of(Overlap.SKIP, Duration.ZERO, Duration.ZERO, retry, List.of(classify), Brakes.NONE);
    }

    public static Policies brakes(Brakes brakes, Rule... classify) {
        return of(Overlap.SKIP, Duration.ZERO, Duration.ZERO, Retry.NONE, List.of(classify), brakes);
    }

    public static Policies silence(Duration silence) {
        return new Policies(
                DEFAULT.overlap(),
                DEFAULT.jitter(),
                DEFAULT.stagger(),
                silence,
                DEFAULT.retry(),
                DEFAULT.succeedIf(),
                DEFAULT.classify(),
                DEFAULT.brakes());
    }

    public static Policies succeedIf(SucceedIf rules) {
        return new Policies(
                DEFAULT.overlap(),
                DEFAULT.jitter(),
                DEFAULT.stagger(),
                null,
                DEFAULT.retry(),
                rules,
                DEFAULT.classify(),
                DEFAULT.brakes());
    }

    private static Policies of(
            Overlap overlap, Duration jitter, Duration stagger, Retry retry, List<Rule> classify, Brakes brakes) {
        return new Policies(overlap, jitter, stagger, null, retry, SucceedIf.EXIT_CODE, classify, brakes);
    }

    public static Rule rule(Classification kind, String expression) {
        return new Rule(kind, new Expression(expression), Set.of(), Duration.ofHours(1));
    }

    public static Rule rule(Classification kind, int exitCode) {
        return new Rule(kind, null, Set.of(exitCode), Duration.ofHours(1));
    }
}
