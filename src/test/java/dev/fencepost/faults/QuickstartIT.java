package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The first two minutes with the program: the quickstart file, as the README has it, on both stores. */
@Tag("faults")
class QuickstartIT {

    private static final Path QUICKSTART =
            Path.of("deploy/examples/quickstart.yaml").toAbsolutePath();

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgresql"})
    void ticksSucceedAndHealthAndMetricsAnswerWithinAMinute(String kind) {
        try (Scene scene = Scene.of(kind, folder)) {
            scene.config(QUICKSTART);
            long start = System.nanoTime();
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    Duration.ofSeconds(60).minusNanos(System.nanoTime() - start),
                    () -> "two successful ticks; it said: " + service.said(),
                    () -> scene.rows().ticks("tick", "SUCCEEDED").size() >= 2);

            assertTrue(service.get("/q/health/live").isUp(), () -> String.valueOf(service.get("/q/health/live")));
            assertTrue(service.get("/q/health/ready").isUp(), () -> String.valueOf(service.get("/q/health/ready")));
            assertTrue(
                    service.get("/q/health/group/fresh").isUp(),
                    () -> String.valueOf(service.get("/q/health/group/fresh")));
            Wait.until(
                    Duration.ofSeconds(2),
                    "the counter of successes",
                    () -> service.metric("scheduled_executed_total", "job=\"tick\"", "outcome=\"SUCCEEDED\"") >= 2);
            assertEquals(0, service.linesContaining(" ERROR ").size(), service::said);

            service.signal("TERM");
            assertEquals(0, service.awaitExit(Duration.ofSeconds(15)));
            assertEquals(0, service.errorLines().size(), service::said);
        }
    }
}
