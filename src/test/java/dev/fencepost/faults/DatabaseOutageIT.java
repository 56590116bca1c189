package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** L6, DBF-01, DBF-04, DBF-07: PostgreSQL is away, at the start and in the middle. */
@Tag("faults")
class DatabaseOutageIT {

    private static final Duration OUTAGE = Duration.ofSeconds(15);
    private static final Duration RECOVERY = Duration.ofSeconds(30);
    private static final int MOST_LINES = 60;
    private static final int MOST_CONNECTIONS = 200;

    private static final String TICK = """
            jobs:
              tick:
                every: 1s
                command: ["true"]
            """;

    /** Ends when it is told to; writes down each start. */
    private static final String LONG_RUN = """
              once:
                lease: { ttl: 60s }
                command: |
                  echo "$FENCEPOST_ATTEMPT" >>started
                  while [ ! -e go ]; do sleep 0.1; done
                  echo kept >"$FENCEPOST_RESULT"
                  touch ended
            """;

    private static final Duration SHORT_TTL = Duration.ofSeconds(9);

    /** Writes the time every 100 ms until it is told to end. */
    private static final String STAMPED_RUN = """
              once:
                lease: { ttl: 9s }
                command: |
                  while [ ! -e go ]; do date +%s%3N >>"stamps-$FENCEPOST_FENCE"; sleep 0.1; done
            """;

    @TempDir
    Path folder;

    @Test
    void aServiceThatStartsBeforeItsDatabaseStaysUpAndWorksOnceItIsThere() {
        Postgres.Database database = Postgres.newDatabase();
        try (Proxy proxy = new Proxy(database.port());
                Scene scene = Scene.postgres(folder, database, proxy.port())) {
            proxy.mode(Proxy.Mode.CUT);
            scene.jobs(TICK);
            ServeProcess service = scene.serve("a");
            Wait.until(
                    ServeProcess.START_LIMIT,
                    service::said,
                    () -> service.get("/q/health/live").isUp());
            Wait.sleep(Duration.ofSeconds(5));
            assertTrue(service.isAlive());
            assertTrue(service.get("/q/health/live").isUp(), service::said);
            ServeProcess.Answer ready = service.get("/q/health/ready");
            assertTrue(ready.isDown() && ready.body().contains("127.0.0.1:" + proxy.port()), ready::toString);
            assertTrue(service.get("/q/health/group/fresh").isDown());
            assertTrue(service.lines().size() < 15, service::said);
            assertEquals(1, service.linesContaining("store not available").size(), service::said);

            proxy.mode(Proxy.Mode.PASS);
            Wait.until(
                    RECOVERY,
                    service::said,
                    () -> service.get("/q/health/ready").isUp()
                            && !scene.rows().ticks("tick", "SUCCEEDED").isEmpty());
            assertEquals(0, service.linesContaining(" ERROR ").size(), service::said);
            assertEquals(List.of(), service.errorLines());
        }
    }

    @Test
    void anOutageInTheMiddleCostsNoResultAndTicksGoOnAfterIt() {
        Concurrently.check(this::checkOutageInTheMiddle, Proxy.Mode.CUT, Proxy.Mode.BLACK_HOLE);
    }

    private void checkOutageInTheMiddle(Proxy.Mode outage) {
        Path folder = Scene.subfolder(this.folder, outage.name());
        Postgres.Database database = Postgres.newDatabase();
        try (Proxy proxy = new Proxy(database.port());
                Scene scene = Scene.postgres(folder, database, proxy.port())) {
            scene.jobs(TICK + LONG_RUN + Scene.oneSlot());
            Rows rows = scene.rows();
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    Duration.ofSeconds(20),
                    service::said,
                    () -> folder.resolve("started").toFile().exists()
                            && rows.ticks("tick", "SUCCEEDED").size() >= 2);

            int linesBefore = service.lines().size();
            int connectionsBefore = proxy.opened();
            proxy.mode(outage);
            long begin = System.nanoTime();
            scene.touch("go");
            Wait.until(
                    Duration.ofSeconds(2),
                    "the end of the child",
                    () -> folder.resolve("ended").toFile().exists());
            Wait.until(
                    OUTAGE,
                    "ready is DOWN",
                    () -> service.get("/q/health/ready").isDown());
            assertTrue(service.get("/q/health/live").isUp(), service::said);
            Wait.sleep(OUTAGE.minusNanos(System.nanoTime() - begin));
            assertTrue(rows.attempts("once").getFirst().isOpen(), "nothing can be stored during the outage");
            int lines = service.lines().size() - linesBefore;
            int connections = proxy.opened() - connectionsBefore;
            proxy.mode(Proxy.Mode.PASS);
            Instant end = Instant.now();

            assertTrue(lines < MOST_LINES, () -> lines + " lines during the outage; " + service.said());
            assertTrue(connections < MOST_CONNECTIONS, () -> connections + " connections during the outage");
            Wait.until(
                    RECOVERY,
                    service::said,
                    () -> service.get("/q/health/ready").isUp()
                            && rows.successesAfter("tick", end) >= 2
                            && rows.ticks("once", "SUCCEEDED").size() == 1);

            List<Rows.Attempt> once = rows.attempts("once");
            assertEquals(1, once.size(), once::toString);
            assertEquals("SUCCEEDED", once.getFirst().outcome());
            assertEquals("kept", once.getFirst().result());
            assertEquals(1, rows.events("once").size(), "stored once");
            assertEquals(List.of(), service.errorLines());
            service.signal("TERM");
            assertEquals(0, service.awaitExit(Duration.ofSeconds(10)), service::said);
            checkEverySlotHasOneOutcome(rows);
        }
    }

    /** Half a ttl, one, and two. Whatever it costs, the run is stored once, its child never outlives its lease, and no restart is needed. */
    @Test
    void anOutageOfHalfATtlCostsNoRunAndALongerOneItsAttemptAtMost() {
        Concurrently.check(this::checkOutageBesideTheTtl, 0.5, 1.0, 2.0);
    }

    private void checkOutageBesideTheTtl(double ttls) {
        Path folder = Scene.subfolder(this.folder, "ttls-" + ttls);
        Postgres.Database database = Postgres.newDatabase();
        try (Proxy proxy = new Proxy(database.port());
                Scene scene = Scene.postgres(folder, database, proxy.port())) {
            scene.jobs(TICK + STAMPED_RUN + Scene.oneSlot());
            Rows rows = scene.rows();
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(Duration.ofSeconds(20), service::said, () -> rows.openOf("once", service.pid()) != null);
            Rows.Attempt first = rows.openOf("once", service.pid());
            Wait.until(
                    Duration.ofSeconds(5),
                    "stamps",
                    () -> !stamps(folder, first).isEmpty());

            proxy.mode(Proxy.Mode.BLACK_HOLE);
            Instant leaseEnd = rows.leaseEnd("once", first.fence());
            Wait.sleep(Duration.ofMillis((long) (SHORT_TTL.toMillis() * ttls)));
            Instant end = Instant.now();
            proxy.mode(Proxy.Mode.PASS);

            Wait.until(
                    RECOVERY,
                    () -> "ticks after the outage; " + service.said(),
                    () -> rows.successesAfter("tick", end) >= 2);
            scene.touch("go");
            Wait.until(
                    RECOVERY,
                    () -> "the success of the run; " + service.said(),
                    () -> rows.ticks("once", "SUCCEEDED").size() == 1);
            List<Rows.Attempt> attempts = rows.attempts("once");
            assertEquals(1, rows.attempts("once", "SUCCEEDED").size(), attempts::toString);
            if (ttls < 1) {
                assertEquals(1, attempts.size(), () -> "half a ttl costs nothing: " + attempts + service.said());
            } else if (attempts.size() > 1) {
                Instant last = Instant.ofEpochMilli(
                        Long.parseLong(stamps(folder, first).getLast()));
                assertTrue(last.isBefore(leaseEnd), () -> "it lived at " + last + ", its lease ended at " + leaseEnd);
            }
            assertTrue(ttls < 2 || attempts.size() == 2, attempts::toString);
            assertEquals(List.of(), service.errorLines());
        }
    }

    private static List<String> stamps(Path folder, Rows.Attempt attempt) {
        try {
            Path file = folder.resolve("stamps-" + attempt.fence());
            return Files.exists(file) ? Files.readAllLines(file) : List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void checkEverySlotHasOneOutcome(Rows rows) {
        TreeMap<Instant, String> outcomes = new TreeMap<>();
        for (Rows.Tick tick : rows.ticks("tick")) {
            for (long i = 0; i < tick.count(); i++) {
                assertEquals(null, outcomes.put(tick.first().plusSeconds(i), String.valueOf(tick.outcome())));
            }
        }
        long span = Duration.between(outcomes.firstKey(), outcomes.lastKey()).toSeconds() + 1;
        assertEquals(span, outcomes.size(), () -> "a slot without a row: " + outcomes);
        Set<String> kinds = new HashSet<>(outcomes.headMap(outcomes.lastKey()).values());
        kinds.removeAll(Set.of("SUCCEEDED", "SKIPPED_OVERLAP", "DROPPED"));
        // A run whose lease ended during the outage may have used up its slot's attempts or not; but it never stays
        // open.
        assertEquals(Set.of(), kinds, () -> "outcomes: " + outcomes + ", attempts: " + rows.attempts("tick"));
        Set<String> successes = new HashSet<>();
        for (Rows.Attempt attempt : rows.attempts("tick", "SUCCEEDED")) {
            assertTrue(successes.add(attempt.key()), () -> "two successes: " + attempt);
        }
    }
}
