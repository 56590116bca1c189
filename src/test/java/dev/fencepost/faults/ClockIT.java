package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * S13, CLK-01, LEA-06, LEA-07: the clock of a node jumps or is wrong. Needs libfaketime, in one of the usual places or where
 * {@code -Dfaults.faketime} says.
 */
@Tag("faults")
class ClockIT {

    private static final List<String> PLACES = List.of(
            System.getProperty("faults.faketime", ""),
            "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
            "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
            "/usr/lib64/faketime/libfaketimeMT.so.1",
            "/usr/lib/faketime/libfaketimeMT.so.1");

    @TempDir
    Path folder;

    private String library;

    @BeforeEach
    void findLibrary() {
        library = PLACES.stream()
                .filter(place -> !place.isEmpty() && Files.isRegularFile(Path.of(place)))
                .findFirst()
                .orElse(null);
        Assumptions.assumeTrue(
                library != null, "clock tests left out: libfaketime is not installed (package faketime)");
    }

    /** The clock is two hours ahead for a while: nothing stands still afterwards, and nothing runs twice. */
    @Test
    void aClockThatIsSetAheadAndBackStopsNothingAndRepeatsNothing() throws IOException {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs("jobs:\n  tick:\n    every: 2s\n    command: ['true']\n");
            Path clock = folder.resolve("clock");
            fakeClock(scene, clock);
            set(clock, "+0");
            Rows rows = scene.rows();
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    Duration.ofSeconds(15),
                    service::said,
                    () -> rows.ticks("tick", "SUCCEEDED").size() >= 2);

            set(clock, "+7200");
            Wait.until(
                    Duration.ofSeconds(65),
                    service::said,
                    () -> rows.ticks("tick", "SUCCEEDED").stream()
                                    .filter(tick ->
                                            tick.at().isAfter(Instant.now().plusSeconds(7000)))
                                    .count()
                            >= 2);
            set(clock, "+0");
            Instant back = Instant.now();
            Wait.until(
                    Duration.ofSeconds(65),
                    service::said,
                    () -> rows.ticks("tick", "SUCCEEDED").stream()
                                    .filter(tick ->
                                            tick.at().isAfter(back) && tick.at().isBefore(back.plusSeconds(900)))
                                    .count()
                            >= 3);
            Set<String> keys = new HashSet<>();
            for (Rows.Attempt attempt : rows.attempts("tick", "SUCCEEDED")) {
                assertTrue(keys.add(attempt.key()), () -> "run twice: " + attempt);
            }
            for (Rows.Tick tick : rows.ticks("tick", "DROPPED")) {
                assertTrue(
                        !tick.at().isAfter(back.plusSeconds(10)),
                        () -> "slots that are still to come are not dropped: " + tick);
            }
            assertTrue(service.get("/q/health").isUp(), service::said);
            assertEquals(0, service.linesContaining(" ERROR ").size(), service::said);
        }
    }

    /** A node an hour ahead runs nothing early and takes no living lease: the database's clock decides. */
    @Test
    void aNodeWithAWrongClockDoesNoHarmOnPostgresql() throws IOException {
        try (Scene scene = Scene.postgres(folder, Postgres.newDatabase())) {
            scene.jobs("""
                    jobs:
                      tick:
                        every: 1s
                        lease: { ttl: 3s }
                        command: sleep 3.5
                    """);
            ServeProcess right = scene.serve("a").awaitReady();
            Path clock = folder.resolve("clock");
            fakeClock(scene, clock);
            set(clock, "+3600");
            ServeProcess wrong = scene.serve("b").awaitReady();
            Rows rows = scene.rows();
            Wait.until(Duration.ofSeconds(60), "runs of both nodes", () -> {
                List<Rows.Attempt> done = rows.attempts("tick", "SUCCEEDED");
                return done.stream().anyMatch(attempt -> attempt.ownerPid() == right.pid())
                        && done.stream().anyMatch(attempt -> attempt.ownerPid() == wrong.pid());
            });
            for (Rows.Attempt attempt : rows.attempts("tick")) {
                assertTrue(
                        attempt.isOpen() || attempt.outcome().equals("SUCCEEDED"),
                        () -> "taken from a living run: " + attempt);
                Duration lag = Duration.between(Instant.parse(attempt.key()), attempt.startedAt());
                assertTrue(
                        !lag.isNegative() && lag.compareTo(Duration.ofSeconds(5)) < 0,
                        () -> "started " + lag + " after its slot: " + attempt);
            }
            List<Rows.Attempt> attempts = rows.attempts("tick");
            for (int i = 1; i < attempts.size(); i++) {
                assertTrue(
                        !attempts.get(i)
                                .startedAt()
                                .isBefore(attempts.get(i - 1).endedAt()),
                        () -> "two runs at once: " + attempts);
            }
            assertEquals(0, wrong.linesContaining(" ERROR ").size(), wrong::said);
        }
    }

    private void fakeClock(Scene scene, Path clock) {
        scene.variable("LD_PRELOAD", library);
        scene.variable("FAKETIME_TIMESTAMP_FILE", clock.toString());
        scene.variable("FAKETIME_NO_CACHE", "1");
        scene.variable("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        scene.variable("FAKETIME_FORCE_MONOTONIC_FIX", "0"); // else every timed wait of the JVM returns at once
    }

    private static void set(Path clock, String offset) throws IOException {
        Path fresh = Files.writeString(clock.resolveSibling("clock.new"), offset + "\n");
        Files.move(fresh, clock, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
