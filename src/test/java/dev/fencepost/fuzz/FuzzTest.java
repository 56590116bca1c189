package dev.fencepost.fuzz;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every case that was ever found, and random changes of all of them. {@code -Dfuzz.inputs=} makes so many of each target, {@code
 * -Dfuzz.seed=} others.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FuzzTest {

    private static final int INPUTS = 1_000;

    private static final int MOST_TRIES = 1_000;
    private static final Bounds BOUNDS = new Bounds(Duration.ofSeconds(1), 256L << 20);

    @TempDir
    private Path folder;

    static Stream<Arguments> cases() throws IOException {
        Stream.Builder<Arguments> cases = Stream.builder();
        for (Target target : Target.values()) {
            Map<String, byte[]> all = Corpus.cases(target);
            assertFalse(all.isEmpty(), target + " has no cases");
            all.forEach((name, input) -> cases.add(Arguments.of(target, name, input)));
        }
        return cases.build();
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("cases")
    void eachCaseIsTakenAsItShouldBe(Target target, String name, byte[] input) throws Exception {
        BOUNDS.take(target, input, folder);
    }

    @ParameterizedTest
    @EnumSource
    void whateverIsWrittenIsAnsweredOrRefusedWithItsPlace(Target target) throws IOException {
        List<byte[]> seeds = Corpus.cases(target).values().stream()
                .filter(input -> input.length <= Corpus.LARGEST_SEED)
                .toList();
        Mutations mutations = new Mutations(Long.getLong("fuzz.seed", 1), seeds, Corpus.words(target));
        int inputs = Integer.getInteger("fuzz.inputs", INPUTS) / target.cost();
        for (int i = 0; i < inputs; i++) {
            byte[] input = mutations.next();
            Throwable failure = failure(target, input);
            if (failure != null) {
                byte[] shortest = shortened(target, input, failure);
                Throwable shown = failure(target, shortest);
                Path kept = Files.createDirectories(Path.of("target/fuzz"))
                        .resolve(target.word() + "-" + Integer.toHexString(Arrays.hashCode(shortest)));
                Files.write(kept, shortest);
                throw new AssertionError(
                        target + ", input " + i + ", cut from " + input.length + " bytes to " + shortest.length
                                + ", kept as " + kept + ": " + Shape.shown(shortest) + "\n" + shown,
                        shown == null ? failure : shown);
            }
        }
    }

    private @Nullable Throwable failure(Target target, byte[] input) {
        try {
            BOUNDS.take(target, input, folder);
            return null;
        } catch (Exception | Error e) {
            return e;
        }
    }

    /** As long as it is the same kind of failure. */
    private byte[] shortened(Target target, byte[] input, Throwable failure) {
        byte[] best = input;
        int tries = 0;
        for (int length = Math.max(1, best.length / 2); length >= 1; length /= 2) {
            for (int from = best.length - length; from >= 0 && tries < MOST_TRIES; from -= length) {
                tries++;
                byte[] shorter = new byte[best.length - length];
                System.arraycopy(best, 0, shorter, 0, from);
                System.arraycopy(best, from + length, shorter, from, best.length - length - from);
                Throwable shown = failure(target, shorter);
                if (shown != null && shown.getClass() == failure.getClass()) {
                    best = shorter;
                }
            }
        }
        return best;
    }
}
