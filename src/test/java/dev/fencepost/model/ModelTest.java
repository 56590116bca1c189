package dev.fencepost.model;

import dev.fencepost.model.Step.Verb;
import dev.fencepost.store.Site;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Random scripts on a store and on the model of the contract beside it: after each step both say the same, and show the same. */
abstract class ModelTest {

    private final AtomicLong plays = new AtomicLong();

    abstract Site site();

    /** How many scripts are played. */
    abstract int seeds();

    @Test
    void leasesTicksOrdersAndEffectsAreAsTheModelSays() {
        explore(
                "leasesTicksOrdersAndEffectsAreAsTheModelSays",
                TicksPlay.WEIGHTS,
                () -> new TicksPlay(site(), plays.incrementAndGet()));
    }

    @Test
    void theQueueOfWorkIsAsTheModelSays() {
        explore(
                "theQueueOfWorkIsAsTheModelSays",
                WorkPlay.WEIGHTS,
                () -> new WorkPlay(site(), plays.incrementAndGet()));
    }

    private void explore(String test, Map<Verb, Integer> weights, Supplier<Explorer.Play> stage) {
        new Explorer(getClass().getSimpleName() + "#" + test, weights, stage).explore(seeds());
    }
}
