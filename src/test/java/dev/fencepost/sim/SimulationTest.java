package dev.fencepost.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Stories from seeds: {@code -Dsim.seed=} replays one and tells it, {@code -Dsim.seeds=} runs so many. */
@Tag("simulation")
class SimulationTest {

    private static final int SEEDS = 200;

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

    private static String story(long seed) throws IOException {
        Path folder = Stories.newFolder();
        try (World world = new World(seed, folder)) {
            world.run();
            return world.story() + world.witness().summary();
        } finally {
            Stories.delete(folder);
        }
    }
}
