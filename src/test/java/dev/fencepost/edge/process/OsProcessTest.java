package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.fencepost.edge.process.Bench.Ended;
import dev.fencepost.run.ChildProcess;
import dev.fencepost.run.ChildProcess.Output;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** Real children with hard behaviour, under each guard. */
@ParameterizedClass
@ValueSource(strings = {"namespace", "parent-death", "none"})
class OsProcessTest {

    private final String guard;
    private Path directory;
    private Bench bench;

    OsProcessTest(String guard) {
        this.guard = guard;
    }

    @BeforeEach
    void setUp(@TempDir Path temporary) {
        directory = temporary;
        bench = new Bench(directory, guard);
        assumeTrue(bench.guardIs(guard), "this host does not allow the guard " + guard);
    }

    // --- being stopped

    @Test
    void childThatIgnoresTermIsKilledAfterTheGrace() throws Exception {
        ChildProcess child = bench.start(Bench.child("ch01_ignore_term.sh"));
        awaitOutput("started");
        long start = System.nanoTime();
        child.stop(Duration.ofMillis(500));
        Ended ended = Bench.end(child);
        long millis = (System.nanoTime() - start) / 1_000_000;
        assertEquals(137, ended.exit().code());
        assertEquals(9, ended.exit().signal());
        assertTrue(millis >= 480 && millis < 2500, "took " + millis);
        assertNothingLeft();
    }

    @Test
    void childMayCleanUpWithinTheGrace() throws Exception {
        Path marker = directory.resolve("marker");
        ChildProcess child = bench.shell("trap 'sleep 0.5; echo cleaned > " + marker
                + "; exit 0' TERM; echo started; while :; do sleep 0.05; done");
        awaitOutput("started");
        child.stop(Duration.ofSeconds(20));
        Ended ended = Bench.end(child);
        assertEquals(0, ended.exit().code());
        assertNull(ended.exit().signal());
        assertTrue(Files.exists(marker));
        assertNothingLeft();
    }

    @Test
    void processBelowTheMainOneMayCleanUpTooAlthoughTheMainOneIsDead() throws Exception {
        ChildProcess child = bench.shell("/bin/sh -c 'trap \"sleep 0.5; echo cleaned; exit 0\" TERM; echo started;"
                + " while :; do sleep 0.05; done'; exit 1");
        awaitOutput("started");
        child.stop(Duration.ofSeconds(20));
        Ended ended = Bench.end(child);
        assertEquals(143, ended.exit().code());
        assertTrue(ended.output().tail().contains("cleaned"), ended.output().tail());
        assertNothingLeft();
    }

    @Test
    void eachProcessGetsTermOnce() throws Exception {
        ChildProcess child = bench.shell(
                "trap 'echo term' TERM; echo started; n=0; while [ $n -lt 40 ]; do sleep 0.02; n=$((n+1)); done");
        awaitOutput("started");
        child.stop(Duration.ofSeconds(20));
        child.stop(Duration.ofSeconds(10));
        Ended ended = Bench.end(child);
        assertEquals(
                1,
                ended.output().tail().lines().filter("term"::equals).count(),
                ended.output().tail());
        assertEquals(0, ended.exit().code());
    }

    @Test
    void secondStopShortensTheGraceAndNeverLengthensIt() throws Exception {
        ChildProcess child = bench.start(Bench.child("ch01_ignore_term.sh"));
        awaitOutput("started");
        long start = System.nanoTime();
        child.stop(Duration.ofSeconds(60));
        child.stop(Duration.ofMillis(200));
        child.stop(Duration.ofSeconds(60));
        Ended ended = Bench.end(child);
        assertEquals(137, ended.exit().code());
        assertTrue(System.nanoTime() - start < 5_000_000_000L);
    }

    @Test
    void stopRightAfterTheStartReachesTheCommand() throws Exception {
        for (int i = 0; i < 5; i++) {
            Bench each = new Bench(directory, guard);
            ChildProcess child = each.start("/bin/sleep", "300");
            child.stop(Duration.ofSeconds(20));
            Ended ended = Bench.end(child);
            assertEquals(143, ended.exit().code());
            assertEquals(List.of(), each.alive());
        }
    }

    @Test
    void stopAfterTheEndHarmsNothing() throws Exception {
        ChildProcess child = bench.shell("echo done");
        assertNotNull(child.await(Bench.LONG));
        child.stop(Duration.ZERO);
        assertEquals("done\n", child.finish().tail());
        child.stop(Duration.ZERO);
        assertEquals(List.of(), bench.journal);
    }

    @Test
    void outputFromJustBeforeTheKillIsKept() throws Exception {
        ChildProcess child = bench.shell("printf before-kill; exec sleep 99");
        awaitOutput("before-kill");
        child.stop(Duration.ofSeconds(1));
        Ended ended = Bench.end(child);
        assertEquals("before-kill", ended.output().tail());
        assertEquals(143, ended.exit().code());
        assertEquals(15, ended.exit().signal());
    }

    // --- those who try to get away

    @Test
    void grandchildInItsOwnSessionThatIgnoresTermIsKilled() throws Exception {
        Path pidFile = directory.resolve("ch17.pid");
        ChildProcess child = bench.start(Bench.child("ch17_setsid_grandchild.sh"), pidFile.toString());
        assertTrue(
                Bench.eventually(() -> Files.exists(pidFile) && pidFile.toFile().length() > 0));
        child.stop(Duration.ofMillis(500));
        Ended ended = Bench.end(child);
        assertEquals(143, ended.exit().code());
        assertEquals(1, ended.output().leftovers());
        assertNothingLeft();
    }

    @Test
    void grandchildThatHoldsTheOutputDoesNotHoldTheRun() throws Exception {
        long start = System.nanoTime();
        Ended ended = bench.run(Bench.child("ch02_grandchild_holds_stdout.sh"));
        assertEquals(0, ended.exit().code());
        assertNull(ended.exit().signal());
        assertTrue(ended.output().tail().startsWith("parent-done"));
        assertEquals(1, ended.output().leftovers());
        assertTrue(System.nanoTime() - start < 3_000_000_000L);
        assertNothingLeft();
    }

    @Test
    void orphanWithoutTheTagIsFoundInTheSession() throws Exception {
        Ended ended =
                bench.run("/bin/sh", "-c", "(env -i sleep " + number() + " >/dev/null 2>&1 &); sleep 0.1; echo ok");
        assertEquals("ok\n", ended.output().tail());
        assertEquals(1, ended.output().leftovers());
        assertEquals(List.of(), Bench.withArgument(number()));
        assertNothingLeft();
    }

    @Test
    void orphanWithoutTagAndSessionIsFoundByTheOutputItHolds() throws Exception {
        Ended ended = bench.run("/bin/sh", "-c", "(env -i setsid sleep " + number() + " &); sleep 0.1; echo ok");
        assertEquals("ok\n", ended.output().tail());
        assertEquals(1, ended.output().leftovers());
        assertEquals(List.of(), Bench.withArgument(number()));
        assertNothingLeft();
    }

    @Test
    void respawnerIsEnded() throws Exception {
        Path script = script("#!/bin/sh\n\"$0\" & exit 0\n");
        ChildProcess child = bench.start(script.toString());
        child.await(Duration.ofMillis(300));
        child.stop(Duration.ZERO);
        Ended ended = Bench.end(child);
        assertNotNull(ended.exit());
        Thread.sleep(50); // time for a survivor to start a copy of itself
        assertNothingLeft();
        assertEquals(List.of(), Bench.withArgument(script.toString()));
    }

    @Test
    void manyProcessesThatRespawnEachOtherAreEnded() throws Exception {
        Path script = script("#!/bin/sh\ntrap '' TERM HUP\nwhile :; do sleep 0.01 & sleep 0.01; done\n");
        ChildProcess child = bench.shell("for i in 1 2 3 4 5; do setsid " + script + " & done; wait");
        assertTrue(Bench.eventually(() -> Bench.withArgument(script.toString()).size() >= 5));
        child.stop(Duration.ofMillis(100));
        Bench.end(child);
        assertNothingLeft();
    }

    // --- the end

    @Test
    void endOfTheOutputIsNotTheEndOfTheRun() throws Exception {
        ChildProcess child = bench.start(
                "python3",
                "-c",
                "import os,time\nos.write(1,b'last words\\n');os.close(1);os.close(2);time.sleep(1);os._exit(7)");
        awaitOutput("last words");
        assertNull(child.await(Duration.ofMillis(100)));
        Ended ended = Bench.end(child);
        assertEquals(7, ended.exit().code());
        assertEquals("last words\n", ended.output().tail());
    }

    @Test
    void exitCodesAreGivenAsTheyAre() throws Exception {
        for (int code : new int[] {0, 1, 126, 127, 129, 137, 143, 255}) {
            Ended ended = new Bench(directory, guard).run(Bench.child("ch19_exit_code.sh"), Integer.toString(code));
            assertEquals(code, ended.exit().code());
            assertNull(ended.exit().signal());
            assertEquals("", ended.output().tail());
        }
    }

    @Test
    void deathBySignalIsToldWhereTheGuardSawIt() throws Exception {
        for (int signal : new int[] {9, 15, 11}) {
            Ended ended = new Bench(directory, guard).run("/bin/sh", "-c", "kill -" + signal + " $$");
            assertEquals(128 + signal, ended.exit().code());
            assertEquals(guard.equals("namespace") ? signal : null, ended.exit().signal());
            assertEquals("", ended.output().tail());
        }
    }

    @Test
    void finishAnswersTheSameAgain() throws Exception {
        ChildProcess child = bench.shell("echo out; echo err >&2");
        assertNotNull(child.await(Bench.LONG));
        Output first = child.finish();
        assertEquals(first, child.finish());
        assertEquals(0, first.leftovers());
        assertEquals(8, first.totalBytes());
        assertFalse(first.truncated());
        assertEquals(List.of(bench.log()), filesIn(directory));
    }

    @Test
    void theTimeOfTheLastOutputIsKnown() throws Exception {
        ChildProcess child = bench.shell("sleep 0.4; echo said; sleep 30");
        long started = child.lastOutputBootMillis();
        assertTrue(Bench.eventually(() -> child.lastOutputBootMillis() > started));
        long said = child.lastOutputBootMillis();
        assertTrue(said - started >= 300, said - started + " ms");
        assertNull(child.await(Duration.ofMillis(200)));
        assertEquals(said, child.lastOutputBootMillis());
        child.stop(Duration.ZERO);
        assertNotNull(child.await(Bench.LONG));
        child.finish();
    }

    @Test
    void awaitGivesNullAtItsLimit() throws Exception {
        ChildProcess child = bench.start("/bin/sleep", "30");
        assertNull(child.await(Duration.ZERO));
        assertNull(child.await(Duration.ofMillis(50)));
        child.stop(Duration.ofSeconds(5));
        assertNotNull(child.await(Duration.ofSeconds(Long.MAX_VALUE)));
        assertEquals("", child.finish().tail());
    }

    @Test
    void orphansLeaveNoZombies() throws Exception {
        Ended ended = bench.run("/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do (sleep 0.1 &) ; done; sleep 0.4");
        assertEquals(0, ended.exit().code());
        assertEquals(0, ended.output().leftovers());
        long own = ProcessHandle.current().pid();
        assertTrue(Bench.eventually(
                () -> Bench.processes().stream().noneMatch(entry -> entry.parent() == own && !entry.isAlive())));
    }

    // --- input and surroundings

    @Test
    void inputIsEmptyWithoutText() throws Exception {
        Ended ended = bench.run(Bench.child("ch07_reads_stdin.sh"));
        assertEquals(0, ended.exit().code());
        assertTrue(ended.output().tail().contains("eof after 0 bytes"));
    }

    @Test
    void inputIsTheGivenTextAndEnds() throws Exception {
        Ended ended = Bench.end(bench.children.start(Bench.withStdin(bench.spec("cat"), "größe\n")));
        assertEquals("größe\n", ended.output().tail());
        Bench other = new Bench(directory, guard);
        Ended empty = Bench.end(other.children.start(Bench.withStdin(other.spec("wc", "-c"), "")));
        assertEquals("0\n", empty.output().tail());
    }

    @Test
    void childThatDoesNotReadItsInputBlocksNothing() throws Exception {
        Ended ended = Bench.end(
                bench.children.start(Bench.withStdin(bench.spec("sleep", "0.1"), "x".repeat(4 * 1024 * 1024))));
        assertEquals(0, ended.exit().code());
        assertNothingLeft();
    }

    @Test
    void childHasNoTerminal() throws Exception {
        Ended ended = bench.run(Bench.child("ch08_needs_tty.sh"));
        assertEquals(3, ended.exit().code());
        assertEquals("stdin is not a tty\nno controlling tty\n", ended.output().tail());
    }

    @Test
    void childFindsItselfInProcAndHasDefaultSignalsAndThreeFiles() throws Exception {
        Ended ended = bench.run("python3", "-c", """
                import os, signal
                print(os.getpid() == int(os.readlink('/proc/self')), os.getsid(0) == os.getpid())
                print([s for s in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP)
                       if signal.getsignal(s) not in (signal.SIG_DFL, signal.default_int_handler)])
                print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:4])
                """);
        assertEquals("True True\n[]\n[0, 1, 2, 3]\n", ended.output().tail());
    }

    @Test
    void usualProgramsRunUnderTheGuard() throws Exception {
        assertEquals(0, bench.run("ps", "-ef").exit().code());
        Bench other = new Bench(directory, guard);
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        assertEquals(0, other.run(java.toString(), "-version").exit().code());
    }

    @Test
    void environmentIsCompleteAlthoughTheRunnerHasNone() throws Exception {
        Bench bare = new Bench(
                directory,
                guard,
                Map.of(
                        "PATH", "/usr/bin:/bin",
                        "NOTIFY_SOCKET", "/run/x",
                        "WATCHDOG_USEC", "1",
                        "LISTEN_FDS", "1",
                        "MEMORY_PRESSURE_WATCH", "/x",
                        "CREDENTIALS_DIRECTORY", "/run/credentials/x",
                        "PGPASSFILE", "/run/credentials/x/pgpass",
                        "QUARKUS_PASSWORD", "geheim"));
        Ended ended =
                bare.with("GIVEN", "by job").run("/bin/sh", "-uc", "echo \"$HOME|$PATH|$USER|$LOGNAME|$GIVEN\"; env");
        assertEquals(0, ended.exit().code());
        String home = System.getProperty("user.home");
        String user = System.getProperty("user.name");
        List<String> lines = ended.output().tail().lines().toList();
        assertEquals(home + "|/usr/bin:/bin|" + user + "|" + user + "|by job", lines.getFirst());
        assertTrue(lines.contains("FENCEPOST_RUN_ID=" + bare.runId));
        assertTrue(lines.contains("LANG=C.UTF-8"));
        assertTrue(
                lines.stream()
                        .noneMatch(line -> line.matches("(NOTIFY|WATCHDOG|LISTEN|MEMORY|CREDENTIALS|PGPASS).*")
                                || line.contains("geheim")),
                lines::toString);
        assertTrue(lines.stream().noneMatch(line -> line.startsWith("fencepost_")), lines::toString);
    }

    // --- resources

    @Test
    void manyRunsLeaveNoFileAndNoThread() throws Exception {
        new Bench(directory, bench).run("true"); // after which its children have the shell that sends signals
        System.gc(); // closes what earlier tests left to the collector
        int before = openFiles();
        for (int round = 0; round < 4; round++) {
            List<ChildProcess> children = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                Bench each = new Bench(directory, bench);
                children.add(each.children.start(Bench.withStdin(each.spec("sh", "-c", "cat; sleep 300 &"), "text")));
            }
            for (ChildProcess child : children) {
                Ended ended = Bench.end(child);
                assertEquals("text", ended.output().tail());
                assertEquals(1, ended.output().leftovers());
            }
        }
        assertTrue(Bench.eventually(() -> openFiles() <= before), () -> before + " files before, now " + openFiles());
        assertNoThreads();
    }

    private static int openFiles() {
        int pipesAndLogs = 0;
        String[] descriptors = Path.of("/proc/self/fd").toFile().list();
        for (String descriptor : descriptors == null ? new String[0] : descriptors) {
            String file = ProcessTable.openFile(ProcessHandle.current().pid(), Integer.parseInt(descriptor));
            if (file != null && (file.startsWith("pipe:") || file.contains(".log"))) {
                pipesAndLogs++;
            }
        }
        return pipesAndLogs;
    }

    private String number() {
        return "3" + Math.floorMod(bench.runId.hashCode(), 100_000_000) + ".125";
    }

    private Path script(String text) throws IOException {
        Path script = directory.resolve("script-" + bench.runId + ".sh");
        Files.writeString(script, text);
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
        return script;
    }

    private static List<Path> filesIn(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.toList();
        }
    }

    private void awaitOutput(String text) throws InterruptedException {
        assertTrue(
                Bench.eventually(() -> {
                    try {
                        return Files.exists(bench.log()) && bench.logText().contains(text);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }),
                "the child has not written " + text);
    }

    private void assertNothingLeft() throws Exception {
        assertEquals(List.of(), bench.alive());
        assertNoThreads();
        assertEquals(List.of(), bench.journal);
    }

    private void assertNoThreads() throws InterruptedException {
        assertTrue(
                Bench.eventually(() -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().contains(" of run "))),
                "threads of a run are left");
    }
}
