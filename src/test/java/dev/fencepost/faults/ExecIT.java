package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code fencepost exec} in the place of {@code flock -n}: real processes, started with no more of an environment than cron gives. */
@Tag("faults")
class ExecIT {

    private static final Duration LIMIT = Duration.ofSeconds(40);
    private static final String MINIMAL = "/usr/bin:/bin";

    @TempDir
    Path folder;

    /** A process whose output is kept in files. */
    private record Started(Process process, Path out, Path err) implements AutoCloseable {

        int exit() {
            try {
                if (!process.waitFor(LIMIT.toMillis(), TimeUnit.MILLISECONDS)) {
                    throw new AssertionError("still running; " + err());
                }
                return process.exitValue();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError("interrupted", e);
            }
        }

        byte[] bytes() {
            return read(out);
        }

        String text() {
            return new String(bytes(), StandardCharsets.UTF_8);
        }

        String errText() {
            return new String(read(err), StandardCharsets.UTF_8);
        }

        void signal(String name) {
            Processes.signal(process.pid(), name);
        }

        @Override
        public void close() {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    private static byte[] read(Path file) {
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private int starts;

    /** A shell with cron's environment, in which {@code fencepost} is the program with a state directory of this test. */
    private Started shell(String script) {
        int number = ++starts;
        Path out = folder.resolve("out-" + number);
        Path err = folder.resolve("err-" + number);
        ProcessBuilder builder = new ProcessBuilder(
                        "/usr/bin/env",
                        "-i",
                        "PATH=" + MINIMAL,
                        "/bin/sh",
                        "-c",
                        "fencepost() { " + ServeProcess.PROGRAM + " \"$@\"; }\n" + script)
                .directory(folder.toFile())
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        try {
            return new Started(builder.start(), out, err);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The program alone, so that its pid is known; with the state directory of this test. */
    private Started exec(String words) {
        return shell("exec " + ServeProcess.PROGRAM + " exec --state-dir state " + words);
    }

    private Rows rows() {
        return Rows.of(folder.resolve("state/fencepost.db"));
    }

    private void awaitFile(String name) {
        Wait.until(LIMIT, "the file " + name, () -> Files.exists(folder.resolve(name)));
    }

    private void write(String name, String text) {
        try {
            Files.writeString(folder.resolve(name), text);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void onlyLine(String text, String part) {
        assertEquals(1, text.lines().count(), text);
        assertTrue(text.contains(part), text);
    }

    @Test
    void anOverlapIsSkippedWithZeroOrSeventyFiveAndWaitingGetsTheLease() {
        try (Started holder = exec("nightly -- sh -c 'touch begun; while [ ! -e go ]; do sleep 0.1; done'")) {
            awaitFile("begun");
            Started skipped = exec("nightly -- touch never");
            assertEquals(0, skipped.exit(), skipped::errText);
            assertEquals("", skipped.text());
            onlyLine(skipped.errText(), "nightly: skipped, ");
            Started failing = exec("nightly --fail-on-skip --json -- touch never");
            assertEquals(75, failing.exit(), failing::errText);
            assertEquals("", failing.text());
            onlyLine(failing.errText(), "\"reason\":\"HELD\"");
            Started other = exec("another -- echo runs");
            assertEquals(0, other.exit(), other::errText);
            assertEquals("runs\n", other.text());
            assertEquals("", other.errText(), "nothing of ours in a mail of cron");

            try (Started waiting = exec("nightly --wait 1m -- touch waited")) {
                Wait.sleep(Duration.ofSeconds(3)); // it has to be there and wait; that it waits shows in nothing
                assertFalse(Files.exists(folder.resolve("waited")));
                write("go", "");
                assertEquals(0, waiting.exit(), waiting::errText);
                awaitFile("waited");
            }
            assertEquals(0, holder.exit(), holder::errText);
        }
        assertFalse(Files.exists(folder.resolve("never")));
        assertEquals(2, rows().attempts("nightly", "SUCCEEDED").size());
        Started history = shell("fencepost history nightly --state-dir state --json");
        assertEquals(0, history.exit(), history::errText);
        assertTrue(history.text().contains("\"slot\":\"manual:"), history::text);
    }

    @ParameterizedTest
    @CsvSource({"namespace", "parent-death", "none"})
    void aKilledHoldersLeaseIsFreeAtOnceOnTheSameHost(String guard) {
        try (Started holder = shell("export FENCEPOST_GUARD=" + guard + "\nexec " + ServeProcess.PROGRAM
                + " exec --state-dir state long --ttl 81m -- sh -c 'touch begun; setsid sleep 300 & sleep 300'")) {
            awaitFile("begun");
            Rows.Attempt dead = Wait.forValue(
                    LIMIT,
                    "the attempt",
                    () -> rows().openOf("long", holder.process().pid()));
            holder.signal("KILL");
            assertEquals(137, holder.exit());
            if (guard.equals("namespace")) {
                Wait.until(
                        Duration.ofSeconds(2),
                        () -> "left: " + Processes.ofRuns(List.of(dead.runId())),
                        () -> Processes.ofRuns(List.of(dead.runId())).isEmpty());
            }

            long begin = System.nanoTime();
            Started next = exec("long -- echo taken");
            assertEquals(0, next.exit(), next::errText);
            assertTrue(System.nanoTime() - begin < Duration.ofSeconds(20).toNanos(), "not at once");
            assertEquals("taken\n", next.text());
            assertTrue(next.errText().contains("is dead; its lease is taken over"), next::errText);
            assertEquals(
                    List.of(),
                    List.copyOf(Processes.ofRuns(List.of(dead.runId())).values()));
            List<Rows.Attempt> attempts = rows().attempts("long");
            assertEquals("ABANDONED", attempts.getFirst().outcome());
            assertTrue(attempts.getLast().fence() > dead.fence());
            assertEquals(
                    List.of("ABANDONED", "SUCCEEDED"),
                    rows().ticks("long").stream()
                            .sorted((a, b) -> a.outcome().compareTo(b.outcome()))
                            .map(Rows.Tick::outcome)
                            .toList(),
                    "the dead one's slot is never due again");
        }
    }

    @Test
    void aRunLongerThanItsTtlIsRenewedAndKeepsOthersAway() {
        try (Started holder = exec("renewed --ttl 3s -- sh -c 'touch begun; sleep 9; echo done'")) {
            awaitFile("begun");
            Wait.sleep(Duration.ofSeconds(5)); // longer than the ttl
            Started other = exec("renewed --ttl 3s -- touch never");
            assertEquals(0, other.exit(), other::errText);
            onlyLine(other.errText(), "skipped");
            assertEquals(0, holder.exit(), holder::errText);
            assertEquals("done\n", holder.text());
        }
        assertFalse(Files.exists(folder.resolve("never")));
        assertEquals("SUCCEEDED", rows().attempts("renewed").getFirst().outcome());
    }

    @ParameterizedTest
    @ValueSource(strings = {"CUT", "BLACK_HOLE"})
    void aRunIsStoppedWithinTheMarginWhenTheStoreGoesAway(String mode) {
        Postgres.Database database = Postgres.newDatabase();
        try (Proxy proxy = new Proxy(database.port());
                Started run = exec("cut --ttl 8s --store postgresql://postgres@127.0.0.1:" + proxy.port() + "/"
                        + database.name()
                        + " -- sh -c 'trap \"\" TERM; while :; do date +%s.%N >now; mv now last; sleep 0.05; done'")) {
            awaitFile("last");
            Rows rows = Rows.of(database);
            Rows.Attempt attempt = rows.attempts("cut").getFirst();
            proxy.mode(Proxy.Mode.valueOf(mode));
            assertEquals(70, run.exit(), run::errText);
            // The last renewal that the store knows of: before its end the child must be dead.
            Instant end = Instant.parse(rows.value("select to_char(expires_at at time zone 'UTC',"
                    + " 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') from lease where resource = 'cut'"));
            Instant last = Wait.forValue(LIMIT, "the last sign of the child", () -> {
                String[] parts =
                        Files.readString(folder.resolve("last")).strip().split("\\.");
                return Instant.ofEpochSecond(Long.parseLong(parts[0]), Long.parseLong(parts[1]));
            });
            assertTrue(last.isBefore(end), () -> "alive at " + last + ", the lease ended at " + end);
            assertTrue(Processes.ofRuns(List.of(attempt.runId())).isEmpty());
            assertTrue(run.errText().contains("lease_lost"), run::errText);
        }
    }

    @Test
    void withoutAStoreTheCommandIsNotStarted() {
        Started none = exec("x --store postgresql://postgres@127.0.0.1:1/nothing -- touch never");
        assertEquals(69, none.exit(), none::errText);
        onlyLine(none.errText(), "x: not started, since the store gave no answer and another run may be under way");
        Started noFolder = exec("x --store sqlite:/proc/nothing/here.db --json -- touch never");
        assertEquals(69, noFolder.exit(), noFolder::errText);
        onlyLine(noFolder.errText(), "\"reason\":\"STORE_UNAVAILABLE\"");
        assertFalse(Files.exists(folder.resolve("never")));
    }

    @ParameterizedTest
    @CsvSource({"HUP,129", "INT,130", "TERM,143"})
    void aSignalIsPassedOn(String name, int code) {
        try (Started plain = exec("plain -- sh -c 'touch begun; exec sleep 300'");
                Started trapped = exec("trapped -- sh -c 'trap \"echo got " + name + "; exit 3\" " + name
                        + "; touch begun2; while :; do sleep 0.1; done'")) {
            awaitFile("begun");
            awaitFile("begun2");
            plain.signal(name);
            trapped.signal(name);
            assertEquals(code, plain.exit(), plain::errText);
            assertEquals(3, trapped.exit(), trapped::errText);
            assertEquals("got " + name + "\n", trapped.text());
        }
        assertEquals("CANCELLED", rows().attempts("plain").getFirst().outcome());
        assertEquals("CANCELLED", rows().ticks("trapped").getFirst().outcome());
    }

    @Test
    void aSecondSignalKillsAtOnce() {
        try (Started run = exec(
                "stubborn --grace 10m -- sh -c 'trap \"touch asked\" INT; touch begun; while :; do sleep 0.1; done'")) {
            awaitFile("begun");
            run.signal("INT");
            awaitFile("asked");
            assertTrue(run.process().isAlive());
            run.signal("TERM");
            assertEquals(137, run.exit(), run::errText);
        }
    }

    @Test
    void theExitCodeIsTheCommands() {
        write("no-program", "");
        Started all = shell(String.join(
                "\n",
                "x() { fencepost exec --state-dir state codes \"$@\"; echo $?; }",
                "x -- true",
                "x -- sh -c 'exit 7'",
                "x -- sh -c 'exit 255'",
                "x -- sh -c 'kill -KILL $$'",
                "x -- ./nothing-here",
                "x -- ./no-program",
                "x --timeout 500ms -- sleep 300",
                "x --ttl 2s -- true",
                "fencepost exec --state-dir state 'Not A Name' -- true; echo $?"));
        assertEquals(0, all.exit());
        assertEquals("0\n7\n255\n137\n127\n126\n124\n2\n2\n", all.text(), all::errText);
        List<String> outcomes =
                rows().attempts("codes").stream().map(Rows.Attempt::outcome).toList();
        assertEquals(
                List.of("SUCCEEDED", "FAILED", "FAILED", "FAILED", "FAILED", "FAILED", "TIMED_OUT"),
                outcomes,
                "what could not be started is stored too");
    }

    @Test
    void bytesPassUnchangedInAndOutAndWordsKeepTheirLetters() throws IOException {
        byte[] bytes = new byte[3_000_000];
        new java.util.Random(7).nextBytes(bytes);
        Files.write(folder.resolve("in"), bytes);
        Started slow = shell("fencepost exec --state-dir state pipe -- cat <in | (sleep 4; cat)");
        assertEquals(0, slow.exit(), slow::errText);
        assertArrayEquals(bytes, slow.bytes(), "also what a slow reader takes after the end of the command");
        Started words = exec("words -- sh -c 'printf %s \"$0 ${FENCEPOST_EFFECTS-none} $FENCEPOST_FENCE\"' 'ä€😀'");
        assertEquals(0, words.exit(), words::errText);
        assertEquals("ä€😀 none 1", words.text());
        assertEquals("", words.errText());
    }

    @Test
    void aReaderThatIsGoneNeitherEndsNorHangsTheRun() {
        Started run = shell("fencepost exec --state-dir state gone -- sh -c '"
                + "i=0; while [ $i -lt 40000 ]; do echo line $i; i=$((i+1)); done; touch ended' | head -n 1");
        assertEquals(0, run.exit(), run::errText);
        assertEquals("line 0\n", run.text());
        Wait.until(
                LIMIT,
                "the stored success",
                () -> rows().attempts("gone", "SUCCEEDED").size() == 1);
        assertTrue(Files.exists(folder.resolve("ended")));
    }

    @Test
    void aBrokenJobsFileDoesNotMatterUnlessItHidesTheStore() {
        write("fencepost.yaml", "store: sqlite:other.db\njobs: { wrong: { every: never } }\n");
        Started run = exec("job -- true");
        assertEquals(0, run.exit(), run::errText);
        assertEquals("", run.errText());
        assertEquals(1, Rows.of(folder.resolve("other.db")).attempts("job").size());
        Started named = exec("job --config fencepost.yaml -- true");
        assertEquals(78, named.exit(), named::errText);
        write("fencepost.yaml", "store: [\n");
        Started hidden = exec("job -- true");
        assertEquals(78, hidden.exit(), hidden::errText);
        assertTrue(hidden.errText().contains("--store"), hidden::errText);
        Started given = exec("job --store sqlite:other.db -- true");
        assertEquals(0, given.exit(), given::errText);
        assertEquals(2, Rows.of(folder.resolve("other.db")).attempts("job").size());
    }

    /** A service on the same job, which exec keeps away; a dead exec leaves it nothing to run. */
    @Test
    void aServiceSkipsWhileExecHoldsItsJob() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs("""
                    jobs:
                      shared:
                        every: 1s
                        command: [sh, -c, 'touch by-the-service; echo "$FENCEPOST_SLOT" >>slots']
                    """);
            List<String> order = new ArrayList<>();
            try (Started holder = exec("shared --store sqlite:a/fencepost.db -- sh -c 'touch begun; sleep 300'")) {
                awaitFile("begun");
                scene.serve("a");
                Wait.until(
                        LIMIT,
                        "skips",
                        () -> scene.rows().ticks("shared", "SKIPPED_OVERLAP").size() >= 2);
                assertFalse(Files.exists(folder.resolve("by-the-service")));
                order.add(scene.rows().attempts("shared").getFirst().key());
                scene.rows().sql("update lease set expires_at = 1 where resource = 'shared'");
                holder.signal("KILL");
            }
            awaitFile("slots");
            Wait.until(
                    LIMIT,
                    "more runs of the service",
                    () -> scene.rows().ticks("shared", "SUCCEEDED").size() >= 2);
            assertEquals(
                    "ABANDONED",
                    scene.rows().ticks("shared").stream()
                            .filter(tick -> tick.key().equals(order.getFirst()))
                            .findFirst()
                            .orElseThrow()
                            .outcome());
            assertFalse(new String(read(folder.resolve("slots")), StandardCharsets.UTF_8).contains("manual:"));
        }
    }
}
