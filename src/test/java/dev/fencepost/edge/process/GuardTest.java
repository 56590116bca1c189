package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.fencepost.lease.RunId;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of children when their runner is killed with -9, and of a runner that is short of everything. */
class GuardTest {

    private static final List<String> AS_NOBODY =
            List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--");

    private Path directory;
    private final String number = "7" + ThreadLocalRandom.current().nextInt(10_000_000, 100_000_000);

    @BeforeEach
    void setUp(@TempDir Path temporary) throws IOException {
        directory = temporary;
        Files.setPosixFilePermissions(temporary, PosixFilePermissions.fromString("rwxrwxrwx"));
    }

    @ParameterizedTest
    @CsvSource({
        "namespace, false, 0",
        "namespace, true, 0",
        "parent-death, false, 1",
        "parent-death, true, 1",
        "none, false, 2"
    })
    void killedRunnerLeavesOnlyWhatItsGuardCannotReachAndASweepEndsThat(String guard, boolean nobody, int survivors)
            throws Exception {
        assumeTrue(!nobody || isRoot(), "only root can become another user");
        Process runner = runner(nobody ? AS_NOBODY : List.of(), List.of(), "hold", guard, number);
        try (BufferedReader output = runner.inputReader()) {
            String line = String.valueOf(output.readLine());
            assumeTrue(line.startsWith("run "), "the guard is not allowed here: " + line);
            RunId runId = RunId.parse(line.substring(4));
            runner.destroyForcibly().waitFor();
            long killed = System.nanoTime();
            assertTrue(Bench.eventually(() -> sleepers().size() <= survivors), () -> "alive: " + sleepers());
            assertTrue(System.nanoTime() - killed < 1_000_000_000L, "it took more than a second");

            Bench next = new Bench(directory, "none");
            assertEquals(survivors, next.children.sweep(runId));
            assertEquals(List.of(), sleepers());
            assertEquals(0, next.children.sweep(runId));
        }
    }

    /** The kernel shows it as dead, and its environment is gone; but its other threads run. */
    @ParameterizedTest
    @ValueSource(strings = {"namespace", "parent-death", "none"})
    void aProcessWhoseMainThreadHasEndedIsKilledWithTheRun(String guard) throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/python3")), "no python3 to make such a process");
        Bench bench = new Bench(directory, guard);
        Path beat = directory.resolve("beat");
        String program = """
                import ctypes, os, platform, threading, time
                def live():
                    while True:
                        open('%s', 'w').write(str(time.monotonic_ns()))
                        time.sleep(0.02)
                threading.Thread(target=live).start()
                ctypes.CDLL(None).syscall(93 if platform.machine() == 'aarch64' else 60, 0)
                """.formatted(beat);
        Path script = Files.writeString(directory.resolve("leaderless.py"), program);
        Bench.end(bench.shell(
                "/usr/bin/python3 " + script + " >/dev/null 2>&1 & while ! test -s " + beat + "; do sleep 0.02; done"));
        String last = Files.readString(beat);
        Thread.sleep(300); // fifteen beats of a real process, of which there must be none: nothing else could tell
        assertEquals(last, Files.readString(beat), "its thread goes on");
    }

    /** The sleeping programs alone, without the shells and guards that have the number in their text. */
    private List<Long> sleepers() {
        return Stream.of("1", "2")
                .flatMap(last -> Bench.withArgument("sleep\0" + number + last + "\0").stream())
                .toList();
    }

    @Test
    void floodFitsInASmallHeap() throws Exception {
        Process runner =
                runner(List.of(), List.of("-Xmx48m"), "run", "namespace", Bench.child("ch03_big_no_newline.py"));
        String said = new String(runner.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        assertTrue(said.contains("total=104857600"), said);
        assertTrue(said.contains("truncated=true"), said);
        assertTrue(said.contains("code=0"), said);
    }

    @ParameterizedTest
    @ValueSource(strings = {"namespace", "none"})
    void runnerWithoutFilesRefusesTheStartAndGoesOn(String guard) throws Exception {
        Process runner = runner(List.of("prlimit", "--nofile=64", "--"), List.of(), "parallel", guard, "20");
        String said = new String(runner.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        assertTrue(said.contains("too many open files (EMFILE)"), said);
        assertTrue(said.contains("afterwards 0 left 0"), said);
    }

    @Test
    void runnerWithoutProcessesRefusesTheStartAndGoesOn() throws Exception {
        assumeTrue(isRoot(), "only root can become another user");
        List<String> before = new ArrayList<>(AS_NOBODY);
        before.addAll(List.of("prlimit", "--nproc=60", "--"));
        Process runner =
                runner(before, List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"), "parallel", "none", "30");
        String said = new String(runner.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        assumeTrue(
                !said.contains("Could not find or load main class"),
                "the other user may not read the classes: " + said);
        assertTrue(said.contains("(EAGAIN)"), said);
        assertTrue(said.contains("afterwards 0 left 0"), said);
    }

    @Test
    void guardIsChosenByTheVariableAndNamed() {
        assertTrue(guard("none").toString().startsWith("none"));
        assertEquals(Guard.Kind.PARENT_DEATH, guard("parent-death").kind());
        assertThrows(IllegalArgumentException.class, () -> guard("cgroup"));
        String own = Long.toString(ProcessHandle.current().pid());
        assertEquals(
                Guard.Kind.CONTROL_GROUP,
                Guard.detect(Map.of("SYSTEMD_EXEC_PID", own)).kind());
        assertTrue(Guard.detect(Map.of("SYSTEMD_EXEC_PID", "1")).kind() != Guard.Kind.CONTROL_GROUP);
    }

    private static Guard guard(String name) {
        return Guard.detect(Map.of(Guard.VARIABLE, name));
    }

    private Process runner(List<String> before, List<String> options, String what, String guard, String... words)
            throws IOException {
        List<String> command = new ArrayList<>(before);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(
                List.of("-cp", place(OsChildren.class) + ":" + place(RunnerMain.class), RunnerMain.class.getName()));
        command.addAll(List.of(what, directory.toString(), guard));
        command.addAll(List.of(words));
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    private static String place(Class<?> type) {
        return Path.of(java.net.URI.create(
                        type.getProtectionDomain().getCodeSource().getLocation().toString()))
                .toString();
    }

    private static boolean isRoot() throws IOException {
        return Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
    }
}
