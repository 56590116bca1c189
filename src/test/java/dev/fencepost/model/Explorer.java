package dev.fencepost.model;

import dev.fencepost.model.Step.Verb;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Plays the scripts of many seeds, and cuts one that fails to the shortest that still fails.
 *
 * <p>{@code -Dmodel.seeds=} plays so many seeds instead, {@code -Dmodel.seed=} one of them, {@code -Dmodel.script=} the script that is
 * written there.
 */
final class Explorer {

    /** A store and the books beside it, for one script. */
    interface Play {

        /** Takes the step on both sides and compares them. */
        void take(Step step);
    }

    /** Playing for longer, only to make the text shorter, is not worth it. */
    private static final int MOST_TRIES_TO_SHORTEN = 3_000;

    private final String test;
    private final Map<Verb, Integer> weights;
    private final Supplier<Play> stage;
    private int tries;
    private long steps;

    /**
     * @param test what is run again to see a failure again
     * @param stage a new play for each script
     */
    Explorer(String test, Map<Verb, Integer> weights, Supplier<Play> stage) {
        this.test = test;
        this.weights = weights;
        this.stage = stage;
    }

    /** @param seeds how many are played where nothing else is said */
    void explore(int seeds) {
        String text = System.getProperty("model.script");
        if (text != null) {
            failIf(Script.parse(text), "the script given");
            return;
        }
        Long one = Long.getLong("model.seed");
        long first = one == null ? 1 : one;
        long last = one == null ? Integer.getInteger("model.seeds", seeds) : one;
        for (long seed = first; seed <= last; seed++) {
            failIf(Script.of(seed, weights), "seed " + seed);
        }
        System.out.println(test + ": " + (last - first + 1) + " scripts, " + steps + " steps, no difference");
    }

    private void failIf(Script script, String from) {
        Throwable failure = play(script);
        if (failure == null) {
            return;
        }
        Script shortest = shortened(script);
        Throwable shown = play(shortest);
        String told =
                shown == null ? "(and did not fail when it was played again)" : String.valueOf(shown.getMessage());
        throw new AssertionError(
                from + ", cut from " + script.steps().size() + " steps to "
                        + shortest.steps().size() + ":\n" + told + "\nagain: ./mvnw test -Dtest='" + test
                        + "' -Dmodel.script='" + shortest + "'",
                shown == null ? failure : shown);
    }

    private @Nullable Throwable play(Script script) {
        Play play = stage.get();
        for (Step step : script.steps()) {
            try {
                steps++;
                play.take(step);
            } catch (RuntimeException | Error failure) {
                return failure;
            }
        }
        return null;
    }

    private boolean fails(Script script) {
        return ++tries <= MOST_TRIES_TO_SHORTEN && play(script) != null;
    }

    /** Leaves out runs of steps, long ones first, and makes numbers smaller, as long as anything of it helps. */
    private Script shortened(Script failing) {
        tries = 0;
        Script best = failing;
        Script before;
        do {
            before = best;
            for (int length = Math.max(1, best.steps().size() / 2); length >= 1; length /= 2) {
                for (int from = best.steps().size() - length; from >= 0; from--) {
                    if (from + length <= best.steps().size()) {
                        best = better(best.without(from, from + length), best);
                    }
                }
            }
            for (int i = 0; i < best.steps().size(); i++) {
                best = smaller(best, i);
            }
        } while (!best.equals(before) && tries < MOST_TRIES_TO_SHORTEN);
        return best;
    }

    private Script smaller(Script script, int i) {
        Script best = script;
        Step step = best.steps().get(i);
        for (int smaller : new int[] {0, step.a() / 2}) {
            best = best.steps().get(i).a() > smaller ? better(best.with(i, with(best, i, smaller, 0)), best) : best;
        }
        for (int smaller : new int[] {0, step.b() / 2}) {
            best = best.steps().get(i).b() > smaller ? better(best.with(i, with(best, i, smaller, 1)), best) : best;
        }
        for (int smaller : new int[] {0, step.c() / 2}) {
            best = best.steps().get(i).c() > smaller ? better(best.with(i, with(best, i, smaller, 2)), best) : best;
        }
        return best;
    }

    private static Step with(Script script, int i, int number, int place) {
        Step step = script.steps().get(i);
        return switch (place) {
            case 0 -> step.with(number, step.b(), step.c());
            case 1 -> step.with(step.a(), number, step.c());
            default -> step.with(step.a(), step.b(), number);
        };
    }

    private Script better(Script shorter, Script longer) {
        return fails(shorter) ? shorter : longer;
    }
}
