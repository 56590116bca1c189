package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** S14: the clock of PostgreSQL jumps by an hour. That costs at worst a second run, whose first one is refused. */
@Tag("faults")
class DatabaseClockIT {

    private static final Duration TTL = Duration.ofSeconds(6);

    /** One run goes on until it is told to end; short ones come every second. */
    private static final String JOBS = """
            jobs:
              tick:
                every: 1s
                command: ["true"]
              long:
                lease: { ttl: 6s }
                command: |
                  while [ ! -e "go-$FENCEPOST_FENCE" ]; do sleep 0.1; done
                  echo "by $FENCEPOST_FENCE" >"$FENCEPOST_RESULT"
            """;

    @TempDir
    Path folder;

    private FakeClock clock;
    private PostgresServer server;
    private Scene scene;
    private Rows rows;
    private ServeProcess a;
    private ServeProcess b;
    private Rows.Attempt first;

    /** Node a holds the long run, and b is there too. @param schedule of the long run */
    private void begin(String schedule) {
        clock = FakeClock.at(folder.resolve("clock"));
        server = PostgresServer.start(folder.resolve("database"), clock.variables());
        Postgres.Database database = server.database("fencepost");
        scene = Scene.postgres(folder, database);
        scene.jobs(JOBS + schedule);
        rows = scene.rows();
        a = scene.serve("a").awaitReady();
        first = Wait.forValue(Duration.ofSeconds(10), "the long run", () -> rows.openOf("long", a.pid()));
        b = scene.serve("b").awaitReady();
        Wait.until(
                Duration.ofSeconds(15),
                a::said,
                () -> rows.ticks("tick", "SUCCEEDED").size() >= 2);
    }

    @AfterEach
    void close() {
        if (scene != null) {
            scene.close();
            server.close();
        }
    }

    @Test
    void anHourAheadTheLeaseIsOverAndTheFirstRunIsRefused() {
        begin(Scene.oneSlot());
        clock.set("+3600");
        Rows.Attempt second = Wait.forValue(
                Duration.ofSeconds(10),
                "the take-over",
                () -> rows.attempts("long").stream()
                        .filter(attempt -> attempt.number() == 2)
                        .findFirst()
                        .orElse(null));
        assertTrue(second.fence() > first.fence(), () -> first + " then " + second);
        Wait.until(
                TTL,
                () -> "the first run is stopped at its next renewal; " + a.said(),
                () -> Processes.ofRuns(List.of(first.runId())).isEmpty());
        scene.touch("go-" + second.fence());
        awaitTicksAfter(Instant.now().plusSeconds(3500));
        Wait.until(
                Duration.ofSeconds(10),
                "the second run's success",
                () -> rows.attempts("long").stream()
                        .anyMatch(attempt ->
                                attempt.runId().equals(second.runId()) && "SUCCEEDED".equals(attempt.outcome())));
        Rows.Attempt ended = rows.attempts("long").getFirst();
        assertTrue(
                Set.of("ABANDONED", "LEASE_LOST").contains(ended.outcome()),
                () -> "whoever notices first writes it: " + ended);

        clock.set("+0");
        Instant back = Instant.now();
        awaitTicksBetween(back, back.plusSeconds(900));
        checkNothingRanTwice();
    }

    @Test
    void anHourBackTheRunGoesOnAndOnceItsHolderDiesAnotherNodeGoesOn() {
        begin("    every: 5s\n");
        clock.set("-3600");
        Instant back = Instant.now().minusSeconds(3600);
        awaitTicksBetween(back, back.plusSeconds(900));
        String query = "select expires_at < '" + back.plusSeconds(900) + "' from lease where resource = 'long'";
        Wait.until(
                TTL,
                () -> "renewed by the new time; " + a.said(),
                () -> rows.value(query).equals("t"));
        assertTrue(rows.openOf("long", a.pid()) != null, "the run goes on");

        a.signal("KILL");
        Rows.Attempt second = Wait.forValue(
                TTL.plusSeconds(10), "the next slot on the other node", () -> rows.openOf("long", b.pid()));
        assertTrue(second.fence() > first.fence(), () -> first + " then " + second);
        assertTrue(Instant.parse(second.key()).isBefore(back.plusSeconds(900)), second::toString);
        scene.touch("go-" + second.fence());
        Wait.until(
                Duration.ofSeconds(10),
                "its success",
                () -> rows.attempts("long", "SUCCEEDED").stream()
                        .anyMatch(attempt -> attempt.runId().equals(second.runId())));
        assertEquals("ABANDONED", rows.attempts("long").getFirst().outcome());
        checkNothingRanTwice();
    }

    private void awaitTicksAfter(Instant slot) {
        awaitTicksBetween(slot, Instant.MAX);
    }

    private void awaitTicksBetween(Instant from, Instant to) {
        Wait.until(
                Duration.ofSeconds(30),
                () -> "ticks go on from " + from + "; " + b.said(),
                () -> rows.ticks("tick", "SUCCEEDED").stream()
                                .filter(tick ->
                                        tick.at().isAfter(from) && tick.at().isBefore(to))
                                .count()
                        >= 3);
    }

    private void checkNothingRanTwice() {
        Set<String> keys = new HashSet<>();
        Set<Long> tokens = new HashSet<>();
        for (Rows.Attempt attempt : rows.attempts("tick")) {
            assertTrue(tokens.add(attempt.fence()), () -> "a token given twice: " + attempt);
            assertTrue(
                    !"SUCCEEDED".equals(attempt.outcome()) || keys.add(attempt.key()), () -> "run twice: " + attempt);
        }
        assertEquals(0, a.linesContaining(" ERROR ").size(), a::said);
        assertEquals(0, b.linesContaining(" ERROR ").size(), b::said);
    }
}
