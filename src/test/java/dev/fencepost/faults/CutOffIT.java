package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * S3, L6, L10: a node whose database does not answer any more, without a refusal and without a reset. Its child is dead before its lease
 * ends, another node goes on, and once there are answers again it works on without a restart.
 */
@Tag("faults")
class CutOffIT {

    /** A child that writes the time every 100 ms until it is told to go, and short runs every second. */
    private static final String JOBS = """
            jobs:
              tick:
                every: 1s
                command: ["true"]
              work:
                lease: { ttl: 6s }
                command: |
                  while [ ! -e "%s/go-$FENCEPOST_FENCE" ]; do date +%%s%%3N >>"%s/stamps-$FENCEPOST_FENCE"; sleep 0.1; done
            """;

    /** The way of one node to the database. */
    private interface Way {
        void cut();

        void mend();
    }

    @TempDir
    Path folder;

    @Test
    void behindAWireThatSwallowsEverything() throws IOException {
        Postgres.Database database = Postgres.newDatabase();
        try (Proxy proxy = new Proxy(database.port());
                Scene far = Scene.postgres(Scene.subfolder(folder, "far"), database, proxy.port());
                Scene near = Scene.postgres(Scene.subfolder(folder, "near"), database)) {
            check(far, near, new Way() {
                @Override
                public void cut() {
                    proxy.mode(Proxy.Mode.BLACK_HOLE);
                }

                @Override
                public void mend() {
                    proxy.mode(Proxy.Mode.PASS);
                }
            });
        }
    }

    @Test
    void inANetworkWhoseLinkIsDown() throws IOException {
        try (Namespace namespace = Namespace.open();
                PostgresServer server = PostgresServer.start(
                        folder.resolve("database"), Map.of(), "127.0.0.1," + namespace.hostAddress())) {
            Postgres.Database database = server.database("fencepost");
            String address = "postgresql://postgres@" + namespace.hostAddress() + ":" + database.port() + "/fencepost";
            try (Scene far = Scene.on(Scene.subfolder(folder, "far"), Rows.of(database), address);
                    Scene near = Scene.postgres(Scene.subfolder(folder, "near"), database)) {
                far.prefix(namespace.prefix());
                check(far, near, new Way() {
                    @Override
                    public void cut() {
                        namespace.pullTheWire();
                    }

                    @Override
                    public void mend() {
                        namespace.plugItIn();
                    }
                });
            }
        }
    }

    private void check(Scene far, Scene near, Way way) throws IOException {
        String jobs = JOBS.formatted(folder, folder) + Scene.oneSlot();
        far.jobs(jobs);
        near.jobs(jobs);
        Rows rows = near.rows();
        ServeProcess a = far.serve("a");
        Rows.Attempt first = Wait.forValue(
                ServeProcess.START_LIMIT, "the first run; it said " + a.said(), () -> rows.openOf("work", a.pid()));
        ServeProcess b = near.serve("b").awaitReady();
        Wait.until(Duration.ofSeconds(5), "stamps", () -> Files.size(folder.resolve("stamps-1")) > 0);

        way.cut();
        Instant[] end = new Instant[1];
        Rows.Attempt second = Wait.forValue(Duration.ofSeconds(15), "the take-over", () -> {
            Rows.Attempt taken = rows.openOf("work", b.pid());
            Instant seen = rows.leaseEnd("work", first.fence());
            end[0] = seen == null ? end[0] : seen;
            return taken;
        });
        assertTrue(second.fence() > first.fence(), () -> first + " then " + second);
        List<String> stamps = Files.readAllLines(folder.resolve("stamps-1"));
        Instant last = Instant.ofEpochMilli(Long.parseLong(stamps.getLast()));
        assertTrue(last.isBefore(end[0]), () -> "the child lived at " + last + ", its lease ended at " + end[0]);
        assertTrue(
                last.isAfter(end[0].minusSeconds(4)),
                () -> "it was not given up at the first trouble: " + last + ", " + end[0]);
        assertTrue(Processes.ofRuns(List.of(first.runId())).isEmpty(), "the first child is dead");
        near.touch("../go-" + second.fence());
        Wait.until(
                Duration.ofSeconds(5),
                "the second run's success",
                () -> rows.attempts("work", "SUCCEEDED").size() == 1);

        way.mend();
        b.signal("TERM");
        assertEquals(0, b.awaitExit(Duration.ofSeconds(15)), b::said);
        Instant alone = Instant.now();
        Wait.until(
                Duration.ofSeconds(30),
                () -> "the first node goes on by itself; it said " + a.said(),
                () -> rows.attempts("tick", "SUCCEEDED").stream()
                                .filter(attempt -> attempt.ownerPid() == a.pid()
                                        && attempt.startedAt().isAfter(alone))
                                .count()
                        >= 2);
        assertEquals(1, a.linesContaining("attempt 1 ended LEASE_LOST").size(), a::said);
        assertEquals("ABANDONED", rows.attempts("work").getFirst().outcome());
    }
}
