package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * L2: somebody else holds the one writer of SQLite for eight seconds. That costs no lease, and no run: not in a service with a small heap
 * either, all of whose virtual threads share one carrier.
 */
@Tag("faults")
class BusyWriterIT {

    private static final Duration HELD = Duration.ofSeconds(8);

    /** Its lease is renewed every five seconds. */
    private static final String JOBS = """
            jobs:
              tick:
                every: 1s
                command: ["true"]
              work:
                lease: { ttl: 16s }
                command: |
                  while [ ! -e go ]; do sleep 0.1; done
                  echo kept >"$FENCEPOST_RESULT"
            """;

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "-Xmx64m -Djdk.virtualThreadScheduler.parallelism=1 -Djdk.virtualThreadScheduler.maxPoolSize=1"
            })
    void aWriterThatIsHeldForEightSecondsCostsNoLease(String options) throws SQLException {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.variable("FENCEPOST_JAVA_OPTS", options);
            scene.jobs(JOBS + Scene.oneSlot());
            Rows rows = scene.rows();
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    Duration.ofSeconds(15),
                    service::said,
                    () -> rows.openOf("work", service.pid()) != null
                            && rows.ticks("tick", "SUCCEEDED").size() >= 2);
            Instant end;
            try (Connection other = DriverManager.getConnection("jdbc:sqlite:" + folder.resolve("a/fencepost.db"));
                    Statement statement = other.createStatement()) {
                statement.execute("begin immediate");
                Wait.sleep(HELD);
                end = Instant.now();
                statement.execute("commit");
            }
            Wait.until(
                    Duration.ofSeconds(20),
                    () -> "ticks go on; " + service.said(),
                    () -> rows.successesAfter("tick", end) >= 2);
            scene.touch("go");
            Wait.until(
                    Duration.ofSeconds(10),
                    () -> "the run's success; " + service.said(),
                    () -> rows.attempts("work", "SUCCEEDED").size() == 1);
            List<Rows.Attempt> attempts = rows.attempts("work");
            assertEquals(1, attempts.size(), attempts::toString);
            assertEquals("kept", attempts.getFirst().result());
            assertEquals(0, service.metric("lease_lost_total"), service::said);
            assertTrue(
                    rows.attempts("tick").stream()
                            .allMatch(attempt -> attempt.isOpen() || "SUCCEEDED".equals(attempt.outcome())),
                    () -> "no run was lost: " + rows.attempts("tick"));
            assertEquals(0, service.linesContaining(" ERROR ").size(), service::said);
        }
    }
}
