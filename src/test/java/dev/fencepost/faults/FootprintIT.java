package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What the service takes up when it has nothing to do, in counts that are the same on every machine. The bounds are a tenth above what
 * was counted: whoever exceeds them has added something large, and should know.
 */
@Tag("faults")
class FootprintIT {

    /** The number of some threads follows that of the cores. */
    private static final String TWO_CORES = "-XX:ActiveProcessorCount=2";

    private static final int MOST_THREADS = 44;
    private static final int MOST_CLASSES = 12_700;

    @TempDir
    Path folder;

    private record Footprint(long threads, double classes) {}

    @Test
    void threadsAndClassesAreFewAndDoNotGrowWithJobs() throws Exception {
        Footprint one = footprint(1);
        Footprint many = footprint(1_000);
        assertTrue(one.threads() <= MOST_THREADS, one::toString);
        assertTrue(one.classes() <= MOST_CLASSES, one::toString);
        assertTrue(many.threads() <= MOST_THREADS, many::toString);
        assertTrue(many.classes() <= MOST_CLASSES, many::toString);
    }

    private Footprint footprint(int jobs) throws Exception {
        Path place = Files.createDirectory(folder.resolve(jobs + "-jobs"));
        Files.writeString(
                place.resolve("fencepost.yaml"),
                IntStream.range(0, jobs)
                        .mapToObj(i -> "  job-" + i + ":\n    every: 24h\n    command: [\"true\"]\n")
                        .collect(Collectors.joining("", "jobs:\n", "")));
        try (ServeProcess service = ServeProcess.start(
                        place,
                        place.resolve("state"),
                        ServeProcess.freePort(),
                        Map.of("FENCEPOST_JAVA_OPTS", TWO_CORES))
                .awaitReady()) {
            Wait.until(
                    Duration.ofSeconds(60),
                    "all jobs are looked at",
                    () -> service.metric("store_latency_seconds_count", "op=\"situation\"") >= jobs);
            double classes = service.metric("jvm_classes_loaded_classes");
            return new Footprint(threads(service.pid()), classes);
        }
    }

    private static long threads(long pid) throws IOException {
        try (Stream<Path> tasks = Files.list(Path.of("/proc", String.valueOf(pid), "task"))) {
            return tasks.count();
        }
    }
}
