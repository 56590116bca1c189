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
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** S13, CLK-01, LEA-06, LEA-07: the clock of a node jumps or is wrong. */
@Tag("faults")
class ClockIT {

    @TempDir
    Path folder;

    /**
     * The clock is two hours ahead for a while, and then an hour late, so behind the beginning of the service: nothing stands still
     * afterwards, and nothing runs twice.
     */
    @Test
    void aClockThatIsSetAheadAndBackStopsNothingAndRepeatsNothing() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs("jobs:\n  tick:\n    every: 2s\n    command: ['true']\n");
            FakeClock clock = FakeClock.at(folder.resolve("clock"));
            clock.variables().forEach(scene::variable);
            Rows rows = scene.rows();
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    Duration.ofSeconds(15),
                    service::said,
                    () -> rows.ticks("tick", "SUCCEEDED").size() >= 2);

            clock.set("+7200");
            Wait.until(
                    Duration.ofSeconds(65),
                    service::said,
                    () -> rows.ticks("tick", "SUCCEEDED").stream()
                                    .filter(tick ->
                                            tick.at().isAfter(Instant.now().plusSeconds(7000)))
                                    .count()
                            >= 2);
            clock.set("-3600");
            Instant back = Instant.now().minusSeconds(3600);
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
                        !tick.range() || !tick.at().isAfter(back.plusSeconds(10)),
                        () -> "slots that are still to come are not dropped: " + tick);
            }
            assertTrue(service.get("/q/health").isUp(), service::said);
            assertEquals(0, service.linesContaining(" ERROR ").size(), service::said);
        }
    }

    /** A wall clock that runs ten times too fast makes slots come ten times as often; leases are measured by another clock. */
    @Test
    void aClockThatRunsTooFastShortensNoLease() throws Exception {
        FakeClock clock = FakeClock.at(folder.resolve("clock"));
        try (Scene scene = Scene.sqlite(folder);
                AutoCloseable fast = clock.runTenTimesAsFast()) {
            scene.jobs("""
                    jobs:
                      tick:
                        every: 10s
                        lease: { ttl: 3s }
                        command: sleep 3.5
                    """);
            clock.variables().forEach(scene::variable);
            Rows rows = scene.rows();
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    Duration.ofSeconds(40),
                    service::said,
                    () -> rows.attempts("tick", "SUCCEEDED").size() >= 3);
            for (Rows.Attempt attempt : rows.attempts("tick")) {
                assertTrue(attempt.isOpen() || attempt.outcome().equals("SUCCEEDED"), attempt::toString);
                assertEquals(1, attempt.number(), attempt::toString);
            }
            assertEquals(0, service.linesContaining(" ERROR ").size(), service::said);
        }
    }

    /** A node whose clock is wrong runs nothing early and takes no living lease: the database's clock decides. */
    @Test
    void aNodeWithAWrongClockDoesNoHarmOnPostgresql() {
        try (Scene scene = Scene.postgres(folder, Postgres.newDatabase())) {
            // Two jobs, and each node has room for one: else the node that is some milliseconds ahead may have all
            // runs.
            scene.jobs("""
                    max-parallel: 1
                    jobs:
                      tick:
                        every: 1s
                        lease: { ttl: 3s }
                        command: sleep 3.5
                      tock:
                        every: 1s
                        lease: { ttl: 3s }
                        command: sleep 3.5
                    """);
            Rows rows = scene.rows();
            ServeProcess right = scene.serve("right").awaitReady();
            FakeClock clock = FakeClock.at(folder.resolve("clock"));
            clock.variables().forEach(scene::variable);
            for (String offset : List.of("+3600", "-3600")) {
                clock.set(offset);
                ServeProcess wrong = scene.serve("wrong").awaitReady();
                long before = successes(rows, right);
                Wait.until(
                        Duration.ofSeconds(60),
                        () -> "runs of both nodes; " + wrong.said(),
                        () -> successes(rows, right) > before && successes(rows, wrong) > 0);
                wrong.signal("TERM");
                assertEquals(0, wrong.awaitExit(Duration.ofSeconds(15)), wrong::said);
                assertEquals(0, wrong.linesContaining(" ERROR ").size(), wrong::said);
            }
            checkRuns(rows.attempts("tick"));
            checkRuns(rows.attempts("tock"));
        }
    }

    private static long successes(Rows rows, ServeProcess node) {
        return Stream.of("tick", "tock")
                .flatMap(job -> rows.attempts(job, "SUCCEEDED").stream())
                .filter(attempt -> attempt.ownerPid() == node.pid())
                .count();
    }

    private static void checkRuns(List<Rows.Attempt> attempts) {
        for (int i = 0; i < attempts.size(); i++) {
            Rows.Attempt attempt = attempts.get(i);
            assertTrue(
                    attempt.isOpen() || attempt.outcome().equals("SUCCEEDED"),
                    () -> "taken from a living run: " + attempt);
            Duration lag = Duration.between(Instant.parse(attempt.key()), attempt.startedAt());
            assertTrue(
                    !lag.isNegative() && lag.compareTo(Duration.ofSeconds(10)) < 0,
                    () -> "started " + lag + " after its slot: " + attempt);
            Rows.Attempt before = i == 0 ? null : attempts.get(i - 1);
            assertTrue(
                    before == null || !attempt.startedAt().isBefore(before.endedAt()),
                    () -> "two runs at once: " + attempts);
        }
    }
}
