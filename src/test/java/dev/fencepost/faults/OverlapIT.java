package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** OVR-01, in seconds instead of minutes: a run that is longer than its interval. */
@Tag("faults")
class OverlapIT {

    private static final Duration INTERVAL = Duration.ofSeconds(2);

    @TempDir
    Path folder;

    /** Interval 2 s, child 5 s: what comes due while it runs, two slots or on a busy machine three, is skipped, counted, and no error. */
    @Test
    void slotsDuringARunAreSkippedAndCountedAndNoError() {
        Path one = Scene.subfolder(folder, "sqlite");
        Path two = Scene.subfolder(folder, "postgresql");
        try (Scene sqlite = Scene.sqlite(one);
                Scene postgres = Scene.postgres(two, Postgres.newDatabase())) {
            List<Scene> scenes = List.of(sqlite, postgres);
            scenes.forEach(scene -> scene.jobs("jobs:\n  long:\n    every: 2s\n    command: [sleep, \"5\"]\n"));
            List<ServeProcess> services =
                    scenes.stream().map(scene -> scene.serve("a")).toList();
            for (int i = 0; i < 2; i++) {
                ServeProcess service = services.get(i).awaitReady();
                Rows rows = scenes.get(i).rows();
                Wait.until(Duration.ofSeconds(40), "three runs", () -> {
                    assertTrue(service.get("/q/health").isUp(), service::said);
                    return rows.ticks("long", "SUCCEEDED").size() >= 3;
                });
                check(rows, service);
            }
        }
    }

    private static void check(Rows rows, ServeProcess service) {
        Wait.until(Duration.ofSeconds(8), service::said, () -> {
            long before = skipped(rows);
            double counted = service.metric("scheduled_skipped_overlap_total", "job=\"long\"");
            // Between the store and the counter there is a moment; a look at which no row was added counts.
            return before == skipped(rows) && before == counted;
        });
        List<Rows.Tick> ticks = rows.ticks("long");
        List<Rows.Attempt> runs = rows.attempts("long", "SUCCEEDED");
        Instant last = rows.ticks("long", "SUCCEEDED").get(2).at();
        Instant expected = ticks.getFirst().at();
        int skips = 0;
        for (Rows.Tick tick : ticks) {
            if (tick.at().isAfter(last)) {
                break;
            }
            assertEquals(expected, tick.at(), () -> "no slot is missing: " + ticks);
            boolean isCovered = runs.stream()
                    .anyMatch(run -> Instant.parse(run.key()).isBefore(tick.at())
                            && run.endedAt().isAfter(tick.at()));
            assertEquals(
                    isCovered ? "SKIPPED_OVERLAP" : "SUCCEEDED",
                    tick.outcome(),
                    () -> tick + " of " + ticks + ", runs " + runs);
            expected = expected.plus(INTERVAL);
            if (tick.outcome().equals("SKIPPED_OVERLAP")) {
                skips++;
                assertEquals(
                        1,
                        service.linesContaining(tick.key(), "skipped", " INFO ").size(),
                        () -> tick.key() + " in " + service.said());
            }
        }
        assertTrue(skips >= 4, "five seconds are two slots at least, between three runs");
        for (Rows.Attempt attempt : rows.attempts("long")) {
            Duration lag = Duration.between(Instant.parse(attempt.key()), attempt.startedAt());
            assertTrue(lag.compareTo(INTERVAL) < 0, "a skipped slot never runs late: " + attempt);
        }
        assertEquals(0, service.linesContaining(" ERROR ").size(), service::said);
        assertEquals(0, service.linesContaining(" WARN ").size(), service::said);
    }

    private static long skipped(Rows rows) {
        return rows.ticks("long", "SKIPPED_OVERLAP").stream()
                .mapToLong(Rows.Tick::count)
                .sum();
    }
}
