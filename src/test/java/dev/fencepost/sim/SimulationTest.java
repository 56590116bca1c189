package dev.fencepost.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Stories from seeds: {@code -Dsim.seed=} replays one and tells it, {@code -Dsim.seeds=} runs so many. */
@Tag("simulation")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SimulationTest {

    private static final int SEEDS = 200;

    /** Where one of these never happens, the stories say nothing about it. */
    private static final Set<String> TROUBLES = Set.of(
            "a node dies",
            "a node freezes",
            "a node is cut off",
            "a clock is set",
            "a call does not arrive",
            "a call arrives late",
            "an answer is lost",
            "a call is slow",
            "a child hangs",
            "a child ignores SIGTERM",
            "a sink is busy",
            "an effect does not arrive",
            "an answer of a sink is lost",
            "an effect comes again",
            "an effect waits for a person",
            "a renewal is refused",
            "a completion is refused",
            "slots are dropped");

    private final AtomicInteger told = new AtomicInteger();
    private final Map<String, Integer> happened = new ConcurrentSkipListMap<>();

    static LongStream seeds() {
        String one = System.getProperty("sim.seed");
        if (one != null) {
            return LongStream.of(Long.parseLong(one));
        }
        return LongStream.rangeClosed(1, Integer.getInteger("sim.seeds", SEEDS));
    }

    @ParameterizedTest(name = "seed {0}")
    @MethodSource("seeds")
    @Execution(ExecutionMode.CONCURRENT)
    void whatMustHoldHolds(long seed) throws IOException {
        String story = story(seed);
        if (System.getProperty("sim.seed") != null) {
            System.out.println(story);
        }
    }

    /** Else no seed could be replayed. */
    @ParameterizedTest(name = "seed {0}")
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void aSeedTellsTheSameStoryTwice(long seed) throws IOException {
        assertEquals(story(seed), story(seed));
    }

    @AfterAll
    void eachTroubleHappens() {
        if (told.get() < SEEDS) {
            return; // a few seeds need not have all of them
        }
        System.out.println("in " + told + " stories: " + happened);
        Set<String> missing = new TreeSet<>(TROUBLES);
        missing.removeAll(happened.keySet());
        assertEquals(Set.of(), missing, "never happened");
    }

    private String story(long seed) throws IOException {
        Path folder = Stories.newFolder();
        try (World world = new World(seed, folder)) {
            world.run();
            told.incrementAndGet();
            world.happenings().forEach((what, count) -> happened.merge(what, count, Integer::sum));
            return world.story() + world.witness().summary();
        } finally {
            Stories.delete(folder);
        }
    }
}
