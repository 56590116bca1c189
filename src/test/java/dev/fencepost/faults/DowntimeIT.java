package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** CAT-01, in seconds: the service is stopped for more than ten intervals. */
@Tag("faults")
class DowntimeIT {

    private static final int MAX = 3;
    private static final String JOBS = """
            jobs:
              tick:
                every: 1s
                catch-up: { max: 3 }
                command: ["true"]
            """;

    @TempDir
    Path folder;

    @Test
    void newestMissedSlotsRunOldestFirstAndTheRestIsOneRow() {
        Path one = Scene.subfolder(folder, "sqlite");
        Path two = Scene.subfolder(folder, "postgresql");
        try (Scene sqlite = Scene.sqlite(one);
                Scene postgres = Scene.postgres(two, Postgres.newDatabase())) {
            List<Scene> scenes = List.of(sqlite, postgres);
            scenes.forEach(scene -> scene.jobs(JOBS));
            List<ServeProcess> first =
                    scenes.stream().map(scene -> scene.serve("a")).toList();
            List<Instant> lastSlots = new ArrayList<>();
            for (int i = 0; i < scenes.size(); i++) {
                lastSlots.add(stopBetweenTwoSlots(scenes.get(i), first.get(i)));
            }
            Wait.sleep(Duration.ofSeconds(11));
            List<ServeProcess> second =
                    scenes.stream().map(scene -> scene.serve("a")).toList();
            for (int i = 0; i < scenes.size(); i++) {
                check(scenes.get(i), second.get(i).awaitReady(), lastSlots.get(i));
            }
        }
    }

    /** Returns the last slot that was run. */
    private static Instant stopBetweenTwoSlots(Scene scene, ServeProcess service) {
        service.awaitReady();
        Wait.until(Duration.ofSeconds(20), "two successes and half a second to the next slot", () -> {
            int millis = Instant.now().getNano() / 1_000_000;
            List<Rows.Tick> ticks = scene.rows().ticks("tick");
            return millis > 400
                    && millis < 600
                    && ticks.size() >= 2
                    && "SUCCEEDED".equals(ticks.getLast().outcome());
        });
        service.signal("TERM");
        assertEquals(0, service.awaitExit(Duration.ofSeconds(10)), service::said);
        List<Rows.Tick> ticks = scene.rows().ticks("tick");
        // The first run of a service that has just started may take longer than the second to the next slot.
        assertTrue(
                ticks.stream()
                        .allMatch(tick -> Set.of("SUCCEEDED", "SKIPPED_OVERLAP").contains(tick.outcome())),
                () -> String.valueOf(ticks));
        return ticks.getLast().at();
    }

    private static void check(Scene scene, ServeProcess service, Instant lastSlot) {
        Rows rows = scene.rows();
        Wait.until(Duration.ofSeconds(15), () -> "catch-up and two slots on time; " + service.said(), () -> {
            List<Rows.Attempt> runs = after(rows, lastSlot);
            return runs.size() >= MAX + 2 && runs.stream().allMatch(run -> "SUCCEEDED".equals(run.outcome()));
        });
        List<Rows.Tick> dropped = rows.ticks("tick", "DROPPED");
        assertEquals(1, dropped.size(), () -> "one row for all that is dropped: " + dropped);
        Rows.Tick range = dropped.getFirst();
        List<Rows.Attempt> runs = after(rows, lastSlot);
        assertEquals(lastSlot.plusSeconds(1), range.first(), "first dropped slot");
        assertEquals(Duration.between(range.first(), range.at()).toSeconds() + 1, range.count());
        assertTrue(range.count() >= 10 - MAX, () -> "ten intervals were missed: " + range);
        // A slot that came due while a missed one ran is skipped; each other one has its run, and they come in order.
        List<Instant> skipped = rows.ticks("tick", "SKIPPED_OVERLAP").stream()
                .map(Rows.Tick::at)
                .toList();
        Instant expected = range.at();
        for (int i = 0; i < runs.size(); i++) {
            Rows.Attempt run = runs.get(i);
            expected = expected.plusSeconds(1);
            while (i >= MAX && skipped.contains(expected)) {
                expected = expected.plusSeconds(1);
            }
            assertEquals(expected, Instant.parse(run.key()), () -> "oldest first, none left out: " + runs);
            assertEquals(1, run.number());
        }
        List<String> told = service.linesContaining("dropped");
        assertEquals(1, told.size(), service::said);
        assertTrue(
                told.getFirst().contains(range.count() + " slots dropped")
                        && told.getFirst().contains(range.first().toString())
                        && told.getFirst().contains(range.at().toString()),
                told::toString);
        assertEquals(range.count(), service.metric("scheduled_catchup_dropped_total", "job=\"tick\""));
        assertEquals(MAX, service.metric("scheduled_catchup_ran_total", "job=\"tick\""));
    }

    private static List<Rows.Attempt> after(Rows rows, Instant lastSlot) {
        return rows.attempts("tick").stream()
                .filter(run -> Instant.parse(run.key()).isAfter(lastSlot))
                .toList();
    }
}
