package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** L9: thirty days were missed: 8,640 slots of one job, two and a half millions of another. It costs neither time nor memory. */
@Tag("faults")
class BacklogIT {

    private static final Duration MISSED = Duration.ofDays(30);

    @TempDir
    Path folder;

    @Test
    void aBacklogOfAMonthIsOneRowForEachJob() {
        Instant from = Instant.now().truncatedTo(ChronoUnit.MINUTES).minus(MISSED);
        try (Scene scene = Scene.sqlite(folder)) {
            scene.variable("FENCEPOST_JAVA_OPTS", "-Xmx64m");
            scene.jobs("""
                    jobs:
                      minutes:
                        every: 5m
                        start-from: %s
                        command: ["true"]
                      seconds:
                        every: 1s
                        start-from: %s
                        catch-up: { max: 20 }
                        command: ["true"]
                      cron:
                        cron: "* * * * *"
                        start-from: %s
                        command: ["true"]
                    """.formatted(from, from, from));
            Rows rows = scene.rows();
            ServeProcess service = scene.serve("a").awaitReady();
            Instant ready = Instant.now();
            Wait.until(
                    Duration.ofSeconds(30),
                    () -> "each has run its newest slots; " + service.said(),
                    () -> !rows.ticks("minutes", "SUCCEEDED").isEmpty()
                            && !rows.ticks("cron", "SUCCEEDED").isEmpty()
                            && rows.ticks("seconds", "SUCCEEDED").size() >= 22);
            Duration took = Duration.between(ready, Instant.now());
            assertTrue(took.compareTo(Duration.ofSeconds(15)) < 0, took::toString);
            check(rows, "minutes", from, Duration.ofMinutes(5), MISSED.toMinutes() / 5);
            check(rows, "seconds", from, Duration.ofSeconds(1), MISSED.toSeconds() - 60);
            check(rows, "cron", from, Duration.ofMinutes(1), MISSED.toMinutes() - 2);
            assertEquals(0, service.linesContaining(" ERROR ").size(), service::said);
        }
    }

    private static void check(Rows rows, String job, Instant from, Duration gap, long least) {
        List<Rows.Tick> dropped =
                rows.ticks(job, "DROPPED").stream().filter(Rows.Tick::range).toList();
        assertEquals(1, dropped.size(), dropped::toString);
        Rows.Tick range = dropped.getFirst();
        assertTrue(
                !range.first().isBefore(from) && range.first().isBefore(from.plus(gap.multipliedBy(2))),
                range::toString);
        assertEquals(Duration.between(range.first(), range.at()).dividedBy(gap) + 1, range.count(), range::toString);
        assertTrue(range.count() >= least - 25, range::toString);
    }
}
