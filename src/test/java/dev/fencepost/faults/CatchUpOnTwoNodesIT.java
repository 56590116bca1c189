package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** S17: two nodes come up together, with three slots missed and others to come. Each slot has one key, and one run under it. */
@Tag("faults")
class CatchUpOnTwoNodesIT {

    /** Longer than a service takes to start on a slow machine: a live slot during the catch-up would be skipped. */
    private static final Duration GAP = Duration.ofSeconds(20);

    private static final int MISSED = 3;

    @TempDir
    Path folder;

    @Test
    void missedAndLiveSlotsAreRunOnceEach() throws IOException {
        // The last missed one lies far enough back that starting does not make it an older one still.
        Instant first = Instant.now()
                .truncatedTo(ChronoUnit.SECONDS)
                .minus(GAP.multipliedBy(MISSED - 1))
                .minusSeconds(2);
        try (Scene scene = Scene.postgres(folder, Postgres.newDatabase())) {
            scene.jobs("""
                    jobs:
                      work:
                        every: 20s
                        anchor: %s
                        start-from: %s
                        catch-up: { max: 10 }
                        command: |
                          echo "$FENCEPOST_IDEMPOTENCY_KEY $FENCEPOST_ATTEMPT" >>started
                          sleep 0.3
                    """.formatted(first, first));
            Rows rows = scene.rows();
            ServeProcess a = scene.serve("a");
            ServeProcess b = scene.serve("b");
            a.awaitReady();
            b.awaitReady();
            int wanted = MISSED + 2;
            Wait.until(
                    Duration.ofSeconds(90),
                    () -> "missed and live ones; " + a.said() + b.said(),
                    () -> rows.ticks("work", "SUCCEEDED").size() >= wanted);
            for (ServeProcess service : List.of(a, b)) {
                service.signal("TERM");
                assertEquals(0, service.awaitExit(Duration.ofSeconds(15)), service::said);
                assertEquals(0, service.linesContaining(" ERROR ").size(), service::said);
            }
            List<Rows.Tick> ticks = rows.ticks("work");
            for (int i = 0; i < ticks.size(); i++) {
                assertEquals(first.plus(GAP.multipliedBy(i)), ticks.get(i).at(), () -> "none is left out: " + ticks);
                assertEquals("SUCCEEDED", ticks.get(i).outcome(), () -> ticks + a.said() + b.said());
                assertEquals(1, ticks.get(i).attempts(), ticks::toString);
            }
            List<String> started = Files.readAllLines(folder.resolve("started"));
            Set<String> expected = new HashSet<>();
            ticks.forEach(tick -> expected.add("work@" + tick.at() + " 1"));
            assertEquals(expected, new HashSet<>(started));
            assertEquals(ticks.size(), started.size(), started::toString);
            assertTrue(ticks.size() >= wanted);
        }
    }
}
