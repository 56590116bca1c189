package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.host.Programs.Ended;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class OsProgramsTest {

    private static final byte[] NOTHING = new byte[0];
    private static final Duration LONG = Duration.ofSeconds(30);

    private final OsPrograms programs = new OsPrograms(new SystemTime(), new SystemThreads(event -> {}));
    private final String number = Integer.toString(ThreadLocalRandom.current().nextInt(10_000_000, 100_000_000));

    @Test
    void environmentIsExactlyTheGivenOne() throws Exception {
        Ended ended = programs.run(List.of("/usr/bin/env"), Map.of("A", "1", "B", "two words"), null, NOTHING, LONG);
        assertTrue(ended.isFine(), ended::err);
        assertEquals(
                List.of("A=1", "B=two words"), ended.text().lines().sorted().toList());
    }

    @Test
    void inputArrivesWholeAndOutputComesBackWhole() throws Exception {
        byte[] input = new byte[5 << 20];
        Arrays.fill(input, (byte) 7);
        assertArrayEquals(
                input, programs.run(List.of("cat"), Map.of(), null, input, LONG).out());
        assertEquals(
                0,
                programs.run(List.of("true"), Map.of(), null, input, LONG).code(),
                "input that nobody reads does no harm");
    }

    @Test
    void codeAndTheEndOfStderrAreTold() throws Exception {
        Ended ended = shell("echo out; seq 1 100000 >&2; echo last >&2; exit 3", LONG);
        assertEquals(3, ended.code());
        assertFalse(ended.isFine());
        assertEquals("out\n", ended.text());
        assertTrue(ended.err().endsWith("100000\nlast"), ended.err());
        assertTrue(ended.err().length() <= 8192);
    }

    @Test
    void runsInTheGivenDirectoryInASessionOfItsOwnWithoutInput() throws Exception {
        Ended ended = programs.run(
                List.of("sh", "-c", "pwd; readlink /proc/self/fd/0; cut -d' ' -f1,6 /proc/$$/stat"),
                Map.of("PATH", "/usr/bin:/bin"),
                Path.of("/usr"),
                NOTHING,
                LONG);
        List<String> lines = ended.text().lines().toList();
        assertEquals("/usr", lines.get(0));
        assertEquals("/dev/null", lines.get(1));
        String[] pidAndSession = lines.get(2).split(" ", -1);
        assertEquals(pidAndSession[0], pidAndSession[1]);
    }

    @Test
    void afterTheLimitTheWholeTreeIsKilled() throws Exception {
        long start = System.nanoTime();
        Ended ended = shell(
                "trap '' TERM; sleep " + number + "1 & (setsid sleep " + number + "2 &) ; sleep " + number
                        + "3 & sleep " + number + "4; true",
                Duration.ofMillis(500));
        assertTrue(ended.timedOut());
        assertFalse(ended.isFine());
        assertTrue(System.nanoTime() - start < 10_000_000_000L);
        for (String last : List.of("1", "3", "4")) {
            assertEquals(List.of(), Bench.withArgument("sleep\0" + number + last + "\0"));
        }
        for (Long escaped : Bench.withArgument("sleep\0" + number + "2\0")) { // no parent and a session of its own
            ProcessHandle.of(escaped).ifPresent(ProcessHandle::destroyForcibly);
        }
    }

    @Test
    void anInterruptKillsTheTree() throws Exception {
        AtomicReference<Object> end = new AtomicReference<>();
        Thread thread = Thread.ofPlatform().start(() -> {
            try {
                end.set(shell("sleep " + number + "5; true", LONG));
            } catch (InterruptedException | IOException e) {
                end.set(e);
            }
        });
        assertTrue(Bench.eventually(
                () -> !Bench.withArgument("sleep\0" + number + "5\0").isEmpty()));
        thread.interrupt();
        thread.join();
        assertTrue(end.get() instanceof InterruptedException, () -> "ended with " + end.get());
        assertEquals(List.of(), Bench.withArgument("sleep\0" + number + "5\0"));
    }

    @Test
    void aFloodIsCutAndTheProgramKilled() throws Exception {
        Ended ended = programs.run(List.of("cat", "/dev/zero"), Map.of(), null, NOTHING, LONG);
        assertFalse(ended.isFine());
        assertFalse(ended.timedOut());
        assertEquals(0, ended.out().length);
        assertTrue(ended.err().contains("wrote more than 33554432 bytes"), ended.err());
    }

    @Test
    void whoLeavesAProcessWithItsPipesIsNotWaitedForLong() throws Exception {
        long start = System.nanoTime();
        Ended ended = shell("echo done; sleep " + number + "6 &", LONG);
        assertEquals("done\n", ended.text());
        assertTrue(System.nanoTime() - start < 15_000_000_000L);
        for (Long left : Bench.withArgument("sleep\0" + number + "6\0")) {
            ProcessHandle.of(left).ifPresent(ProcessHandle::destroyForcibly);
        }
    }

    @Test
    void whatCannotBeStartedIsNamed() {
        IOException missing = assertThrows(
                IOException.class,
                () -> programs.run(List.of("no-such-program"), Map.of("PATH", "/usr/bin"), null, NOTHING, LONG));
        assertTrue(
                String.valueOf(missing.getMessage()).contains("no-such-program cannot be started"), missing::toString);
        assertThrows(
                IOException.class,
                () -> programs.run(List.of("true"), Map.of(), Path.of("/no/such/dir"), NOTHING, LONG));
    }

    private Ended shell(String script, Duration limit) throws IOException, InterruptedException {
        return programs.run(List.of("sh", "-c", script), Map.of("PATH", "/usr/bin:/bin"), null, NOTHING, limit);
    }
}
