package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program in a JVM of its own: what it prints in all, and how it takes signals. */
class RealProcessTest {

    private Workplace workplace;

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        workplace = new Workplace(dir);
    }

    private Process start(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).directory(workplace.dir.toFile());
        builder.environment().keySet().retainAll(List.of("PATH"));
        builder.environment().putAll(workplace.environment());
        return builder.start();
    }

    private static String rest(BufferedReader reader) {
        return reader.lines().map(line -> line + "\n").collect(Collectors.joining());
    }

    @Test
    void nothingIsPrintedButOurOwnLines() throws Exception {
        workplace.jobs("job: { command: [echo, hi] }");
        Process first = start("run", "job"); // makes the store, with all that its libraries have to say of it
        assertEquals("hi\n", rest(first.inputReader(StandardCharsets.UTF_8)));
        assertEquals(
                "fencepost: job at MANUAL: succeeded, attempt 1, token 1, TIME\n",
                workplace.plain(rest(first.errorReader(StandardCharsets.UTF_8))));
        assertEquals(ExitCode.FINE, first.waitFor());
        Process second = start("status");
        String out = workplace.plain(rest(second.inputReader(StandardCharsets.UTF_8)));
        assertTrue(
                out.startsWith("node  UUID\nstore  sqlite:DIR/state/fencepost.db\nfile  fencepost.yaml\n\nJOB  "), out);
        assertEquals(6, out.lines().count());
        assertEquals("", rest(second.errorReader(StandardCharsets.UTF_8)));
        assertEquals(ExitCode.FINE, second.waitFor());
    }

    @Test
    void aSignalStopsTheRunWithItsGraceAndASecondOneAtOnce() throws Exception {
        workplace.jobs("""
                job:
                  command: "trap 'echo asked' TERM; echo begin; while :; do sleep 0.05; done"
                  grace: 50s
                  lease: { ttl: 1h }
                """);
        Process run = start("run", "job");
        try {
            BufferedReader out = run.inputReader(StandardCharsets.UTF_8);
            assertEquals("begin", out.readLine());
            run.toHandle().destroy();
            assertEquals("asked", out.readLine());
            assertTrue(run.isAlive());
            run.toHandle().destroy();
            assertTrue(run.waitFor(15, TimeUnit.SECONDS), "the second signal did not end it");
            assertEquals(ExitCode.FAILED, run.exitValue());
            String err = rest(run.errorReader(StandardCharsets.UTF_8));
            assertTrue(err.contains("cancelled, attempt 1"), err);
            assertTrue(err.contains("stopped by a signal to fencepost run"), err);
        } finally {
            run.destroyForcibly();
        }
        assertTrue(workplace.run("status").out().contains("1 cancelled"));
    }
}
