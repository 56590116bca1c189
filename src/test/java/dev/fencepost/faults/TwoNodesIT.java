package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Two services on one PostgreSQL: every slot has exactly one outcome, whoever is killed. Takes as long as {@code -Dfaults.seconds} says,
 * 40 by default.
 */
@Tag("faults")
class TwoNodesIT {

    private static final Duration LENGTH = Duration.ofSeconds(Long.getLong("faults.seconds", 40));
    private static final Set<String> ALLOWED = Set.of("SUCCEEDED", "SKIPPED_OVERLAP");

    /**
     * Ends after 0.3 to 0.9 seconds. More than one slot is caught up, so that the slot of a killed run is tried again even if a node
     * that comes back finds a newer one that it missed.
     */
    private static final String JOBS = """
            jobs:
              busy:
                every: 1s
                lease: { ttl: 4s }
                catch-up: { max: 5 }
                command: |
                  set -- $(od -An -N1 -tu1 /dev/urandom)
                  sleep 0.$((3 + $1 % 7))
                  echo "$FENCEPOST_FENCE" >"$FENCEPOST_RESULT"
            """;

    @TempDir
    Path folder;

    private long begin;

    @Test
    void everySlotHasOneOutcomeAlthoughBothAreKilledInTurn() {
        try (Scene scene = Scene.postgres(folder, Postgres.newDatabase())) {
            scene.jobs(JOBS);
            begin = System.nanoTime();
            ServeProcess a = scene.serve("a").awaitReady();
            ServeProcess b = scene.serve("b").awaitReady();
            Map<String, Long> killed = new HashMap<>();

            sleepUntil(0.2);
            killDuringARun(scene, a, killed);
            sleepUntil(0.4);
            a = scene.serve("a").awaitReady();
            sleepUntil(0.6);
            killDuringARun(scene, b, killed);
            sleepUntil(0.75);
            b = scene.serve("b").awaitReady();
            sleepUntil(1.0);

            for (ServeProcess service : List.of(a, b)) {
                service.signal("TERM");
                assertEquals(0, service.awaitExit(Duration.ofSeconds(15)), service::said);
                assertEquals(0, service.linesContaining(" ERROR ").size(), service::said);
            }
            checkSlots(scene.rows());
            checkKilled(scene.rows(), killed);
        }
    }

    private void sleepUntil(double part) {
        long until = begin + (long) (LENGTH.toNanos() * part);
        Wait.sleep(Duration.ofNanos(Math.max(0, until - System.nanoTime())));
    }

    private static void killDuringARun(Scene scene, ServeProcess node, Map<String, Long> killed) {
        for (int tries = 0; ; tries++) {
            Rows.Attempt open = Wait.forValue(
                    Duration.ofSeconds(40),
                    "a run of process " + node.pid() + " under way",
                    () -> scene.rows().openOf("busy", node.pid()));
            node.signal("STOP"); // so that the run does not end between the look and the blow
            Rows.Attempt still = scene.rows().openOf("busy", node.pid());
            if (still != null && still.runId().equals(open.runId())) {
                node.signal("KILL");
                node.awaitExit(Duration.ofSeconds(5));
                killed.put(open.runId(), node.pid());
                Wait.until(
                        Duration.ofSeconds(2),
                        () -> "no process of the killed node left: " + Processes.ofRuns(List.of(open.runId())),
                        () -> Processes.ofRuns(List.of(open.runId())).isEmpty());
                return;
            }
            assertTrue(tries < 20, "never caught during a run");
            node.signal("CONT");
        }
    }

    private static void checkSlots(Rows rows) {
        List<Rows.Tick> ticks = rows.ticks("busy");
        TreeMap<Instant, String> outcomes = new TreeMap<>();
        for (Rows.Tick tick : ticks) {
            for (long i = 0; i < tick.count(); i++) {
                Instant slot = tick.first().plusSeconds(i);
                String before = outcomes.put(slot, String.valueOf(tick.outcome()));
                assertEquals(null, before, () -> "two rows for slot " + slot + ": " + ticks);
            }
        }
        List<String> wrong = new ArrayList<>();
        outcomes.forEach((slot, outcome) -> {
            if (!ALLOWED.contains(outcome)) {
                wrong.add(slot + " " + outcome);
            }
        });
        assertEquals(List.of(), wrong, () -> "outcomes that may not be; attempts: " + rows.attempts("busy"));
        long span = Duration.between(outcomes.firstKey(), outcomes.lastKey()).toSeconds() + 1;
        assertEquals(span, outcomes.size(), () -> "a slot without outcome: " + outcomes.keySet());
        assertTrue(span >= LENGTH.toSeconds() - 8, "slots of the whole time: " + span);
        long succeeded = outcomes.values().stream().filter("SUCCEEDED"::equals).count();
        assertTrue(succeeded >= span / 3, "successes: " + succeeded + " of " + span);

        Map<String, String> successes = new HashMap<>();
        Set<Long> fences = new HashSet<>();
        for (Rows.Attempt attempt : rows.attempts("busy")) {
            assertTrue(fences.add(attempt.fence()), () -> "a token given twice: " + attempt);
            assertTrue(!attempt.isOpen(), () -> "an attempt without an end: " + attempt);
            if (attempt.outcome().equals("SUCCEEDED")) {
                String other = successes.put(attempt.key(), attempt.runId());
                assertEquals(null, other, () -> "two successes for " + attempt.key());
                assertEquals(String.valueOf(attempt.fence()), attempt.result());
            }
        }
        long accepted = rows.events("busy").stream()
                .filter(event -> event.accepted() && event.reason().equals("SUCCEEDED"))
                .count();
        assertEquals(successes.size(), accepted, "one accepted write for each success");
    }

    private static void checkKilled(Rows rows, Map<String, Long> killed) {
        List<Rows.Attempt> attempts = rows.attempts("busy");
        for (String runId : killed.keySet()) {
            Rows.Attempt dead = attempts.stream()
                    .filter(attempt -> attempt.runId().equals(runId))
                    .findFirst()
                    .orElseThrow();
            assertEquals("ABANDONED", dead.outcome(), dead::toString);
            Rows.Attempt second = attempts.stream()
                    .filter(attempt -> attempt.key().equals(dead.key()) && attempt.number() == dead.number() + 1)
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("no second attempt after " + dead));
            assertEquals("SUCCEEDED", second.outcome(), second::toString);
            assertTrue(second.fence() > dead.fence(), () -> dead + " then " + second);
        }
        assertEquals(
                killed.keySet(),
                new HashSet<>(attempts.stream()
                        .filter(attempt -> attempt.outcome().equals("ABANDONED"))
                        .map(Rows.Attempt::runId)
                        .toList()));
    }
}
