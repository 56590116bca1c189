package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** OPS-04, L5: SIGTERM in all situations. */
@Tag("faults")
class StopIT {

    private static final String SHORT_RUN = """
            shutdown: { drain: 10s }
            jobs:
              work:
                command: sleep 2; echo done >"$FENCEPOST_RESULT"
            """;

    /** The first attempt ignores SIGTERM, in a grandchild too; the second one succeeds. */
    private static final String STUBBORN_RUN = """
            shutdown: { drain: %s }
            jobs:
              work:
                grace: 1s
                max-attempts: 1
                lease: { ttl: 81m }
                command: |
                  if [ "$FENCEPOST_ATTEMPT" = 2 ]; then exit 0; fi
                  trap '' TERM
                  setsid sh -c 'trap "" TERM; while :; do sleep 0.2; done' &
                  touch up
                  while :; do sleep 0.2; done
            """;

    /** Beyond drain and grace; a service that needs more is killed by whoever stops it. */
    private static final Duration SLACK = Duration.ofSeconds(5);

    @TempDir
    Path folder;

    /** At whatever point it comes: before the program has begun to listen for it, the JVM ends as any program does. */
    @Test
    void aSignalDuringTheStartEndsItSoon() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs("jobs:\n  work:\n    every: 1h\n    command: ['true']\n");
            for (int millis = 100; millis <= 1_500; millis += 200) {
                ServeProcess service = scene.serve("a");
                Wait.sleep(Duration.ofMillis(millis)); // into its start
                service.signal("TERM");
                int code = service.awaitExit(SLACK);
                assertTrue(code == 0 || code == 143, () -> code + ": " + service.said());
            }
        }
    }

    @Test
    void aShortRunIsWaitedForAndTheServiceEndsWithZero() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs(SHORT_RUN + Scene.oneSlot());
            ServeProcess service = scene.serve("a");
            Rows.Attempt run = Wait.forValue(
                    ServeProcess.START_LIMIT, "a run", () -> scene.rows().openOf("work", service.pid()));
            service.signal("TERM");
            assertEquals(0, service.awaitExit(Duration.ofSeconds(2).plus(SLACK)), service::said);
            Rows.Attempt ended = scene.rows().attempts("work").getFirst();
            assertEquals("SUCCEEDED", ended.outcome());
            assertEquals("done", ended.result());
            assertEquals(
                    List.of(),
                    List.copyOf(Processes.ofRuns(List.of(run.runId())).values()));
        }
    }

    /** Drain and grace are cut off, and its slot is due again: an attempt that a stop has ended does not count. */
    @Test
    void aRunThatIgnoresTermIsKilledAndItsSlotIsDueAtTheNextStart() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs(STUBBORN_RUN.formatted("1s") + Scene.oneSlot());
            Rows.Attempt run = stopDuringStubbornRun(scene, scene.serve("a"), Duration.ofSeconds(2));
            Rows.Attempt ended = scene.rows().attempts("work").getFirst();
            assertEquals(run.runId(), ended.runId());
            assertEquals("ABANDONED", ended.outcome());
            assertTrue(ended.reason().startsWith("shutdown"), ended::toString);
            assertFalse(ended.counted(), ended::toString);
            assertEquals(null, scene.rows().ticks("work").getFirst().outcome(), "the tick stays open");
            assertEquals(null, scene.rows().lease("work").owner(), "the lease is released");

            ServeProcess next = scene.serve("a");
            Wait.until(
                    ServeProcess.START_LIMIT,
                    next::said,
                    () -> scene.rows().attempts("work").size() == 2
                            && scene.rows().ticks("work", "SUCCEEDED").size() == 1);
        }
    }

    @Test
    void aSecondSignalEndsTheDrainAtOnce() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs(STUBBORN_RUN.formatted("60s") + Scene.oneSlot());
            ServeProcess service = scene.serve("a");
            Rows.Attempt run = awaitStubbornRun(scene, service);
            service.signal("TERM");
            Wait.sleep(Duration.ofMillis(600));
            assertTrue(service.isAlive(), "it drains");
            long second = System.nanoTime();
            service.signal("TERM");
            assertEquals(143, service.awaitExit(Duration.ofSeconds(4)), service::said);
            Duration took = Duration.ofNanos(System.nanoTime() - second);
            assertTrue(took.compareTo(Duration.ofSeconds(3)) < 0, "at once, not after " + took);
            assertNoneLeft(run);
            Rows.Attempt ended = scene.rows().attempts("work").getFirst();
            assertEquals("ABANDONED", ended.outcome());
            assertFalse(ended.counted());
            assertEquals(null, scene.rows().lease("work").owner());
        }
    }

    @Test
    void withoutTheDatabaseItStopsInTimeAndTheSlotIsDueAtTheNextStart() {
        Concurrently.check(this::checkStopWithoutTheDatabase, Proxy.Mode.CUT, Proxy.Mode.BLACK_HOLE);
    }

    private void checkStopWithoutTheDatabase(Proxy.Mode outage) {
        Path folder = Scene.subfolder(this.folder, outage.name());
        Postgres.Database database = Postgres.newDatabase();
        try (Proxy proxy = new Proxy(database.port());
                Scene scene = Scene.postgres(folder, database, proxy.port())) {
            scene.jobs(STUBBORN_RUN.formatted("1s") + Scene.oneSlot());
            ServeProcess service = scene.serve("a");
            Rows.Attempt run = awaitStubbornRun(scene, service);
            proxy.mode(outage);
            service.signal("TERM");
            assertEquals(143, service.awaitExit(Duration.ofSeconds(2).plus(SLACK)), service::said);
            assertNoneLeft(run);
            assertTrue(scene.rows().attempts("work").getFirst().isOpen(), "nobody could store its end");

            proxy.mode(Proxy.Mode.PASS);
            ServeProcess next = scene.serve("a");
            Wait.until(
                    ServeProcess.START_LIMIT,
                    next::said,
                    () -> !scene.rows().attempts("work").getFirst().isOpen());
            assertEquals("ABANDONED", scene.rows().attempts("work").getFirst().outcome());
        }
    }

    @Test
    void withoutRunAndWithoutDatabaseItEndsWithZeroWithinSeconds() {
        Postgres.Database database = Postgres.newDatabase();
        try (Proxy proxy = new Proxy(database.port());
                Scene scene = Scene.postgres(folder, database, proxy.port())) {
            scene.jobs("jobs:\n  work:\n    every: 2s\n    command: ['true']\n");
            ServeProcess service = scene.serve("a").awaitReady();
            proxy.mode(Proxy.Mode.BLACK_HOLE);
            Wait.sleep(Duration.ofSeconds(3)); // so that a look at the job hangs in the dead connection
            service.signal("TERM");
            assertEquals(0, service.awaitExit(SLACK), service::said);
        }
    }

    private static Rows.Attempt awaitStubbornRun(Scene scene, ServeProcess service) {
        Wait.until(
                ServeProcess.START_LIMIT,
                () -> "a run; " + service.said(),
                () -> Files.exists(scene.folder().resolve("up")));
        return scene.rows().openOf("work", service.pid());
    }

    private static Rows.Attempt stopDuringStubbornRun(Scene scene, ServeProcess service, Duration drainAndGrace) {
        Rows.Attempt run = awaitStubbornRun(scene, service);
        long signalled = System.nanoTime();
        service.signal("TERM");
        assertEquals(143, service.awaitExit(drainAndGrace.plus(SLACK)), service::said);
        Duration took = Duration.ofNanos(System.nanoTime() - signalled);
        assertTrue(took.compareTo(drainAndGrace) >= 0, "drain and grace were given: " + took);
        assertNoneLeft(run);
        return run;
    }

    private static void assertNoneLeft(Rows.Attempt run) {
        Wait.until(
                Duration.ofSeconds(1),
                () -> "no orphan: " + Processes.ofRuns(List.of(run.runId())),
                () -> Processes.ofRuns(List.of(run.runId())).isEmpty());
    }
}
