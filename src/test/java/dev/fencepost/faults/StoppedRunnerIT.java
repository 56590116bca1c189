package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** S2, S3, LEA-01: a runner is stopped with SIGSTOP past its lease, another one takes over and succeeds, and the first one wakes. */
@Tag("faults")
class StoppedRunnerIT {

    /** Writes the time every 100 ms until it is told to go; what it stores is its token. */
    private static final String JOB = """
            jobs:
              work:
                lease: { ttl: 4s }
                command: |
                  while [ ! -e "go-$FENCEPOST_FENCE" ]; do date +%s%3N >>"stamps-$FENCEPOST_FENCE"; sleep 0.1; done
                  echo "by $FENCEPOST_FENCE" >"$FENCEPOST_RESULT"
            """;

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"goes on", "ended while its runner was stopped"})
    void aStoppedRunnerChangesNothingWhenItWakes(String firstChild) throws IOException {
        try (Scene scene = Scene.postgres(folder, Postgres.newDatabase())) {
            scene.jobs(JOB + Scene.oneSlot());
            Rows rows = scene.rows();
            ServeProcess a = scene.serve("a").awaitReady();
            Rows.Attempt first =
                    Wait.forValue(Duration.ofSeconds(10), "the first run", () -> rows.openOf("work", a.pid()));
            ServeProcess b = scene.serve("b").awaitReady();
            Wait.until(Duration.ofSeconds(5), "stamps", () -> Files.size(stamps(1)) > 0);

            a.signal("STOP");
            Rows.Attempt second =
                    Wait.forValue(Duration.ofSeconds(10), "the take-over", () -> rows.openOf("work", b.pid()));
            assertEquals(first.key(), second.key());
            assertEquals(2, second.number());
            assertTrue(second.fence() > first.fence());
            Duration waited = Duration.between(first.startedAt(), second.startedAt());
            assertTrue(waited.compareTo(Duration.ofSeconds(4)) >= 0, "not before the lease's end: " + waited);
            scene.touch("go-" + second.fence());
            Wait.until(
                    Duration.ofSeconds(5),
                    "the second run's success",
                    () -> rows.attempts("work", "SUCCEEDED").size() == 1);
            boolean ended = !firstChild.equals("goes on");
            if (ended) {
                scene.touch("go-1");
                Wait.until(
                        Duration.ofSeconds(3),
                        "the end of the first child",
                        () -> Processes.ofRuns(List.of(first.runId())).values().stream()
                                .noneMatch(words -> words.contains("stamps")));
            } else {
                assertFalse(Processes.ofRuns(List.of(first.runId())).isEmpty(), "the first child goes on meanwhile");
            }

            Instant woken = Instant.now();
            a.signal("CONT");
            Wait.until(
                    Duration.ofSeconds(2),
                    () -> "the first child is dead: " + Processes.ofRuns(List.of(first.runId())),
                    () -> Processes.ofRuns(List.of(first.runId())).isEmpty());
            Wait.until(
                    Duration.ofSeconds(10),
                    a::said,
                    () -> !a.linesContaining("attempt 1 ended LEASE_LOST").isEmpty());
            Wait.sleep(Duration.ofSeconds(1));

            List<String> stamps = Files.readAllLines(stamps(1));
            Instant last = Instant.ofEpochMilli(Long.parseLong(stamps.getLast()));
            assertTrue(
                    last.isBefore(woken.plusSeconds(1)), () -> "a stamp at " + last + " after the wake-up at " + woken);
            checkStored(rows, first, second);
            long refused = rows.events("work").stream()
                    .filter(event -> !event.accepted())
                    .peek(event -> assertEquals(first.runId(), event.runId()))
                    .count();
            assertEquals(refused, a.metric("stale_token_rejected_total", "job=\"work\""), a::said);
            assertEquals(
                    refused,
                    a.linesContaining("completion refused, STALE_TOKEN").size(),
                    a::said);
            assertEquals(
                    1, refused, "its end is refused and recorded, whether its own watch or the store noticed first");
            assertTrue(a.metric("lease_lost_total", "job=\"work\"") <= 1, a::said);
            assertEquals(0, a.linesContaining(" ERROR ").size(), a::said);
        }
    }

    private Path stamps(long fence) {
        return folder.resolve("stamps-" + fence);
    }

    private static void checkStored(Rows rows, Rows.Attempt first, Rows.Attempt second) {
        List<Rows.Attempt> attempts = rows.attempts("work");
        assertEquals(2, attempts.size(), attempts::toString);
        assertEquals("ABANDONED", attempts.getFirst().outcome());
        assertEquals(first.runId(), attempts.getFirst().runId());
        assertEquals(null, attempts.getFirst().result());
        assertEquals("SUCCEEDED", attempts.getLast().outcome());
        assertEquals("by " + second.fence(), attempts.getLast().result());
        List<Rows.Tick> ticks = rows.ticks("work");
        assertEquals(1, ticks.size(), ticks::toString);
        assertEquals("SUCCEEDED", ticks.getFirst().outcome());
        assertEquals(second.fence(), rows.lease("work").fence());
        assertEquals(null, rows.lease("work").owner());
    }
}
