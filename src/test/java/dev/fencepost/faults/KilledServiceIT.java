package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** L1, S4, S6, LEA-04: the service is killed with -9 during a run whose lease would last another 81 minutes, and started again. */
@Tag("faults")
class KilledServiceIT {

    /** A child with a grandchild that has left its session. */
    private static final String JOB = """
            jobs:
              work:
                lease: { ttl: 81m }
                command: |
                  setsid sleep 300 &
                  if [ "$FENCEPOST_ATTEMPT" = 1 ]; then sleep 200; fi
                  echo done >"$FENCEPOST_RESULT"
                  kill $!
            """;

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"sqlite, ", "postgresql, ", "sqlite, parent-death", "sqlite, none"})
    void nextStartTakesTheSlotOverAtOnceAndLeavesNoProcess(String kind, String guard) {
        try (Scene scene = Scene.of(kind, folder)) {
            scene.jobs(JOB + Scene.oneSlot());
            if (guard != null) {
                scene.variable("FENCEPOST_GUARD", guard);
            }
            Rows rows = scene.rows();
            ServeProcess first = scene.serve("a").awaitReady();
            Rows.Attempt dead =
                    Wait.forValue(Duration.ofSeconds(10), "the first run", () -> rows.openOf("work", first.pid()));
            Wait.until(
                    Duration.ofSeconds(5),
                    "child and grandchild",
                    () -> Processes.ofRuns(List.of(dead.runId())).values().stream()
                                    .filter(words -> words.matches("sleep [23]00"))
                                    .count()
                            == 2);

            first.signal("KILL");
            first.awaitExit(Duration.ofSeconds(5));
            if (guard == null) {
                Wait.until(
                        Duration.ofSeconds(2),
                        () -> "nothing of the run outlives its runner: " + Processes.ofRuns(List.of(dead.runId())),
                        () -> Processes.ofRuns(List.of(dead.runId())).isEmpty());
            } else {
                assertFalse(Processes.ofRuns(List.of(dead.runId())).isEmpty(), "a weaker guard leaves the grandchild");
            }

            long started = System.nanoTime();
            ServeProcess second = scene.serve("a");
            Rows.Attempt next = Wait.forValue(
                    Duration.ofSeconds(10),
                    "the slot's next attempt; it said " + second.said(),
                    () -> rows.attempts("work").stream()
                            .filter(attempt -> attempt.number() == 2)
                            .findFirst()
                            .orElse(null));
            Duration took = Duration.ofNanos(System.nanoTime() - started);
            assertTrue(took.compareTo(Duration.ofSeconds(10)) < 0, took::toString);
            assertEquals(dead.key(), next.key());
            assertTrue(next.fence() > dead.fence());
            assertEquals(
                    List.of(),
                    List.copyOf(Processes.ofRuns(List.of(dead.runId())).values()),
                    "old processes");

            Wait.until(
                    Duration.ofSeconds(10),
                    "the second attempt's success",
                    () -> rows.attempts("work", "SUCCEEDED").size() == 1);
            Rows.Attempt abandoned = rows.attempts("work").getFirst();
            assertEquals("ABANDONED", abandoned.outcome());
            assertEquals(dead.runId(), abandoned.runId());
            assertEquals("SUCCEEDED", rows.ticks("work").getFirst().outcome());
            assertEquals(2, rows.attempts("work").size());
            assertEquals(1, second.metric("lease_taken_over_total", "job=\"work\""));
            assertEquals(0, second.linesContaining(" ERROR ").size(), second::said);
        }
    }
}
