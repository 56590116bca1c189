package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Brakes, orders and overlap policies of the built program. */
@Tag("faults")
class PoliciesIT {

    private static final Duration LONG = Duration.ofSeconds(60);

    /** One second to notice an order, two at most; the rest is for the end of the child and its storing. */
    private static final Duration OBEYED = Duration.ofSeconds(3);

    @TempDir
    Path folder;

    private static void ordered(Scene scene, String... words) {
        ServeProcess command = scene.command(words);
        assertEquals(0, command.awaitExit(LONG), command::said);
    }

    private static String[] words(Scene scene, String... words) {
        List<String> all = new ArrayList<>(List.of(words));
        all.addAll(List.of("--store", scene.store()));
        return all.toArray(String[]::new);
    }

    private static Supplier<String> saying(ServeProcess service) {
        return service::said;
    }

    /** The job comes due each second; three of them with nothing new are enough to see that nothing comes. */
    private static void assertStands(Rows rows, int attempts) {
        Wait.sleep(Duration.ofSeconds(3));
        assertEquals(attempts, rows.attempts("a").size());
    }

    @Test
    void fiveFailuresPauseTheJobWhichIsToldOnceAndResumed() {
        try (Scene scene = Scene.sqlite(folder, folder.resolve("store.db"))) {
            scene.jobs("""
                    jobs:
                      a:
                        every: 1s
                        command: test -e fixed
                        pause-after-failures: 5
                    """);
            ServeProcess service = scene.serve("a").awaitReady();
            Rows rows = scene.rows();
            Wait.until(
                    LONG,
                    saying(service),
                    () -> !service.linesContaining("paused (FAILURES)").isEmpty());
            assertEquals(5, rows.attempts("a", "FAILED").size());
            assertStands(rows, 5);
            assertEquals(1, service.linesContaining("paused (FAILURES)").size(), service::said);
            assertEquals(1, service.metric("job_paused", "job=\"a\""));
            ServeProcess.Answer fresh = service.get("/q/health/group/fresh");
            assertTrue(fresh.isDown() && fresh.body().contains("pause-after-failures"), fresh.body());
            assertTrue(service.get("/q/health/live").isUp());

            scene.touch("fixed");
            ordered(scene, words(scene, "resume", "a"));
            Wait.until(
                    LONG,
                    saying(service),
                    () -> !rows.attempts("a", "SUCCEEDED").isEmpty());
            assertEquals(5, rows.attempts("a", "FAILED").size());
            Wait.until(LONG, saying(service), () -> service.metric("job_paused", "job=\"a\"") == 0);
        }
    }

    /** Nor does a skip or a drop come of it: the slots inside are nothing. */
    @Test
    void aPauseByAPersonTurnsNoHealthDown() {
        try (Scene scene = Scene.sqlite(folder, folder.resolve("store.db"))) {
            scene.jobs("""
                    jobs:
                      a:
                        every: 1s
                        command: ["true"]
                        fresh-after: 4s
                    """);
            ServeProcess service = scene.serve("a").awaitReady();
            Rows rows = scene.rows();
            Wait.until(
                    LONG,
                    saying(service),
                    () -> !rows.attempts("a", "SUCCEEDED").isEmpty());
            ordered(scene, words(scene, "pause", "a"));
            Wait.until(LONG, saying(service), () -> service.metric("job_paused", "job=\"a\"") == 1);
            int before = rows.ticks("a").size();
            Wait.sleep(Duration.ofSeconds(6)); // longer than fresh-after, and nothing may come of it
            assertTrue(service.get("/q/health/group/fresh").isUp(), service::said);
            assertEquals(before, rows.ticks("a").size());
            ordered(scene, words(scene, "resume", "a"));
            assertTrue(service.get("/q/health/group/fresh").isUp(), "the time counts from the resume");
            Wait.until(LONG, saying(service), () -> rows.ticks("a").size() > before);
            assertEquals(List.of(), rows.ticks("a", "DROPPED"));
        }
    }

    /** CHP-16: the text on stdout, and exit code 0. */
    @Test
    void anExpiredLoginPausesTheJobAtOnce() {
        try (Scene scene = Scene.sqlite(folder, folder.resolve("store.db"))) {
            scene.jobs("""
                    jobs:
                      a:
                        every: 1s
                        command: echo 'Your login expired, please run /login'
                        succeed-if: { output-not-matches: '(?i)please run /login' }
                        retry: { max: 3, backoff: 1s }
                        classify: { auth: { output: 'login expired' } }
                    """);
            ServeProcess service = scene.serve("a").awaitReady();
            Rows rows = scene.rows();
            Wait.until(
                    LONG,
                    saying(service),
                    () -> !service.linesContaining("paused (AUTH)").isEmpty());
            assertStands(rows, 1);
            assertEquals(1, service.linesContaining("paused (AUTH)").size(), service::said);
            Rows.Attempt attempt = rows.attempts("a").getFirst();
            assertEquals("FAILED", attempt.outcome());
            assertEquals(0, attempt.exitCode());
            assertTrue(attempt.reason().contains("please run /login"), attempt.reason());
            assertEquals("AUTH", rows.value("select classification from attempt"));
            ServeProcess.Answer fresh = service.get("/q/health/group/fresh");
            assertTrue(fresh.isDown() && fresh.body().contains("login"), fresh.body());
        }
    }

    @Test
    void aCancelledRunStopsWithinTwoSeconds() {
        try (Scene scene = Scene.sqlite(folder, folder.resolve("store.db"))) {
            scene.jobs("jobs:\n  a:\n" + Scene.oneSlot() + "    command: [sleep, \"600\"]\n");
            ServeProcess service = scene.serve("a").awaitReady();
            Rows rows = scene.rows();
            Wait.until(LONG, saying(service), () -> rows.openOf("a", service.pid()) != null);
            ordered(scene, words(scene, "cancel", "a"));
            Wait.until(LONG, saying(service), () -> rows.openOf("a", service.pid()) == null);
            Rows.Attempt attempt = rows.attempts("a").getFirst();
            assertEquals("CANCELLED", attempt.outcome());
            assertEquals("CANCELLED", rows.ticks("a").getFirst().outcome());
            Duration took = Duration.between(rows.eventAt("a", "CANCELLED"), attempt.endedAt());
            assertTrue(took.compareTo(OBEYED) <= 0, "stopped after " + took);
            Wait.sleep(Duration.ofSeconds(2)); // two looks, at which nothing may be tried again
            assertEquals(1, rows.attempts("a").size());
        }
    }

    @Test
    void aRunInTheForegroundIsCancelledToo() {
        try (Scene scene = Scene.sqlite(folder, folder.resolve("store.db"))) {
            scene.jobs("jobs:\n  a:\n    every: 1h\n    command: [sleep, \"600\"]\n");
            ServeProcess run = scene.command(
                    words(scene, "run", "a", "--state-dir", folder.resolve("a").toString()));
            Wait.until(LONG, saying(run), () -> !scene.rows().attempts("a").isEmpty());
            ordered(scene, words(scene, "cancel", "a"));
            assertEquals(1, run.awaitExit(LONG), run::said);
            assertEquals("CANCELLED", scene.rows().attempts("a").getFirst().outcome());
        }
    }

    /** Two nodes: whoever plans asks, and the holder obeys. */
    @Test
    void aNewSlotTakesOverFromTheRunBeforeIt() {
        try (Scene scene = Scene.postgres(folder, Postgres.newDatabase())) {
            scene.jobs("""
                    jobs:
                      a:
                        every: 6s
                        command: [sleep, "600"]
                        overlap: take-over
                    """);
            ServeProcess one = scene.serve("a");
            ServeProcess two = scene.serve("b");
            one.awaitReady();
            two.awaitReady();
            Rows rows = scene.rows();
            Wait.until(LONG, saying(one), () -> rows.attempts("a").size() >= 4);
            List<Rows.Attempt> attempts = rows.attempts("a");
            for (int i = 0; i + 1 < attempts.size(); i++) {
                Rows.Attempt old = attempts.get(i);
                Rows.Attempt next = attempts.get(i + 1);
                assertEquals("CANCELLED", old.outcome(), attempts::toString);
                assertEquals("superseded by slot " + next.key(), old.reason());
                assertFalse(old.counted());
                assertFalse(next.startedAt().isBefore(old.endedAt()), "never two at a time");
                Duration late = Duration.between(Instant.parse(next.key()), next.startedAt());
                assertTrue(late.compareTo(OBEYED.plusSeconds(1)) <= 0, next + " started " + late + " after its slot");
            }
            assertTrue(rows.ticks("a").stream().allMatch(tick -> tick.attempts() <= 1), "none is tried again");
            assertTrue(
                    rows.texts("select paused_at from job").stream().allMatch(at -> at == null),
                    "and none counts for the brakes");
        }
    }

    @Test
    void aJobEachSecondWithRunsOfFiveSecondsRunsBackToBackUnderBufferOne() {
        try (Scene scene = Scene.sqlite(folder, folder.resolve("store.db"))) {
            scene.jobs("""
                    jobs:
                      a:
                        every: 1s
                        command: [sleep, "5"]
                        overlap: buffer-one
                    """);
            ServeProcess service = scene.serve("a").awaitReady();
            Rows rows = scene.rows();
            Wait.until(
                    LONG, saying(service), () -> rows.attempts("a", "SUCCEEDED").size() >= 5);
            List<Rows.Attempt> attempts = rows.attempts("a");
            for (int i = 0; i + 1 < attempts.size(); i++) {
                Duration gap = Duration.between(
                        attempts.get(i).endedAt(), attempts.get(i + 1).startedAt());
                assertTrue(gap.compareTo(Duration.ofMillis(900)) < 0, "the next run waits " + gap);
            }
            List<Rows.Tick> ticks = rows.ticks("a");
            Instant expected = ticks.getFirst().at();
            for (Rows.Tick tick : ticks) {
                assertEquals(expected, tick.at(), () -> "no slot is missing: " + ticks);
                expected = expected.plusSeconds(1);
            }
            long open = ticks.stream().filter(tick -> tick.outcome() == null).count();
            assertTrue(open <= 3, () -> "one runs, one waits, and one may have come due between: " + ticks);
            assertTrue(
                    ticks.stream()
                            .allMatch(tick -> tick.outcome() == null
                                    || List.of("SUCCEEDED", "SKIPPED_OVERLAP").contains(tick.outcome())),
                    ticks::toString);
            Wait.until(LONG, saying(service), () -> {
                long before = rows.ticks("a", "SKIPPED_OVERLAP").size();
                double counted = service.metric("scheduled_skipped_overlap_total", "job=\"a\"");
                return before == rows.ticks("a", "SKIPPED_OVERLAP").size() && before == counted;
            });
            assertEquals(0, service.linesContaining(" ERROR ").size(), service::said);
        }
    }
}
