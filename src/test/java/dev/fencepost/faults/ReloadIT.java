package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** CFG-17, CFG-19: the jobs file changes while the service runs. */
@Tag("faults")
class ReloadIT {

    private static final Duration LIMIT = Duration.ofSeconds(15);

    @TempDir
    Path folder;

    private static String untilThere(String file) {
        return "    command: \"touch up-$FENCEPOST_JOB; while [ ! -e " + file + " ]; do sleep 0.1; done\"\n";
    }

    private static ServeProcess reload(ServeProcess service, String lineOfTheLog) {
        int before = service.linesContaining(lineOfTheLog).size();
        service.signal("HUP");
        Wait.until(
                LIMIT,
                () -> "a line with " + lineOfTheLog + "; it said: " + service.said(),
                () -> service.linesContaining(lineOfTheLog).size() > before);
        return service;
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgres"})
    void aRenamedJobStartsNoMoreItsRunEndsAndTheNewNameBegins(String store) {
        try (Scene scene = Scene.of(store, folder)) {
            scene.jobs("jobs:\n  a:\n    every: 1s\n    lease: { ttl: 60s }\n" + untilThere("go"));
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    LIMIT, () -> "a run of a", () -> !scene.rows().attempts("a").isEmpty());
            scene.jobs("jobs:\n  b:\n    every: 1s\n    command: \"true\"\n");
            Instant change = Instant.now();
            reload(service, "1 jobs of");
            Wait.until(
                    LIMIT, () -> "runs of b", () -> scene.rows().attempts("b").size() >= 2);
            assertTrue(scene.rows().attempts("a").getFirst().isOpen(), "the run of a was stopped");
            scene.touch("go");
            Wait.until(
                    LIMIT,
                    () -> "the end of a",
                    () -> !scene.rows().attempts("a").getFirst().isOpen());
            assertEquals("SUCCEEDED", scene.rows().attempts("a").getFirst().outcome());
            assertEquals(1, scene.rows().attempts("a").size());
            assertTrue(
                    scene.rows().attempts("b").stream()
                            .allMatch(attempt -> !attempt.startedAt().isBefore(change.minusMillis(100))),
                    "b was caught up with the past of a");
            ServeProcess status = scene.command("status", "--store", scene.storeOf("a"));
            assertEquals(0, status.awaitExit(LIMIT), status::said);
            assertTrue(
                    status.lines().stream().anyMatch(line -> line.startsWith("a ") && line.contains("retired")),
                    status::said);
            service.signal("TERM");
            assertEquals(0, service.awaitExit(LIMIT), service::said);
        }
    }

    /** Told by the node's id, which is written before the service boots. */
    @Test
    void aHangupDuringTheStartDoesNotEndIt() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs("jobs:\n  a:\n    every: 1h\n    command: \"true\"\n");
            ServeProcess service = scene.serve("a");
            Wait.until(LIMIT, () -> "its id", () -> Files.exists(folder.resolve("a/node-id")));
            for (int i = 0; i < 5; i++) {
                Wait.sleep(Duration.ofMillis(250));
                service.signal("HUP");
            }
            service.awaitReady();
            service.signal("TERM");
            assertEquals(0, service.awaitExit(LIMIT), service::said);
        }
    }

    @Test
    void anotherScheduleHoldsFromTheChangeOn() {
        try (Scene scene = Scene.sqlite(folder)) {
            String job = "jobs:\n  a:\n    lease: { ttl: 60s }\n" + untilThere("go");
            Instant slot = Instant.now().truncatedTo(ChronoUnit.SECONDS).minusSeconds(2);
            scene.jobs(job + "    every: 1h\n    anchor: " + slot + "\n    start-from: " + slot + "\n");
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(LIMIT, () -> "a run", () -> !scene.rows().attempts("a").isEmpty());
            scene.jobs(job + "    every: 1h\n    anchor: " + slot.minusSeconds(600) + "\n");
            reload(service, "1 jobs of");
            scene.touch("go");
            Wait.until(
                    LIMIT,
                    () -> "its end",
                    () -> !scene.rows().attempts("a").getFirst().isOpen());
            service.signal("TERM");
            assertEquals(0, service.awaitExit(LIMIT), service::said);
            assertEquals(1, scene.rows().attempts("a").size(), "a slot from before the change was caught up");
            assertEquals("SUCCEEDED", scene.rows().attempts("a").getFirst().outcome());
        }
    }

    @Test
    void aBrokenFileIsRefusedWholeAndTheOldOneStays() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs("jobs:\n  a:\n    every: 1s\n    command: \"true\"\n");
            ServeProcess service = scene.serve("a").awaitReady();
            scene.jobs("jobs:\n  b:\n    evry: 1s\n    command: \"true\"\n  c:\n    every: 1x\n");
            reload(service, "the jobs file is refused, the one before stays in force; 3 errors");
            Wait.until(
                    LIMIT,
                    service::said,
                    () -> service.linesContaining("fencepost.yaml:").stream()
                            .anyMatch(line -> line.contains(":3:") && line.contains("evry")));
            assertFalse(service.said().contains("Exception"), service::said);
            int before = scene.rows().attempts("a").size();
            Wait.until(
                    LIMIT,
                    () -> "further runs",
                    () -> scene.rows().attempts("a").size() > before + 1);
            assertEquals(List.of(), scene.rows().attempts("b"));
            scene.jobs("store: sqlite:other.db\njobs:\n  a:\n    every: 1s\n    command: \"true\"\n");
            reload(service, "names another store than the one in use");
            scene.jobs("jobs:\n  b:\n    every: 1s\n    command: \"true\"\n");
            reload(service, "1 jobs of");
            Wait.until(
                    LIMIT, () -> "runs of b", () -> !scene.rows().attempts("b").isEmpty());
        }
    }
}
