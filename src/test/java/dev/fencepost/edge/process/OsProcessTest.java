package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.fencepost.edge.process.Bench.Ended;
import dev.fencepost.run.ChildProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
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
    void setUp(@TempDir Path directory) {
        this.directory = directory;
        bench = new Bench(directory, guard);
        assumeTrue(
                Guard.detect(Map.of(Guard.VARIABLE, guard))
                        .kind()
                        .name()
                        .equals(guard.toUpperCase(Locale.ROOT).replace('-', '_')),
                "this host does not allow the guard " + guard);
    }

    @Test
    void childThatIgnoresTermIsKilledAfterTheGrace() throws Exception {
        ChildProcess child = bench.start(Bench.child("ch01_ignore_term.sh"));
        assertTrue(Bench.eventually(() -> logHas("started")));
        long start = System.nanoTime();
        child.stop(Duration.ofMillis(500));
        Ended ended = Bench.end(child);
        long took = (System.nanoTime() - start) / 1_000_000;
        assertEquals(137, ended.exit().code());
        assertEquals(9, ended.exit().signal());
        assertTrue(took >= 500 && took < 2000, "took " + took);
        assertEquals(List.of(), bench.alive());
    }

    @Test
    void graceLetsAChildCleanUp() throws Exception {
        Path marker = directory.resolve("marker");
        ChildProcess child = bench.start(Bench.child("ch11_slow_cleanup.sh"), marker.toString());
        assertTrue(Bench.eventually(() -> logHas("started")));
        child.stop(Duration.ofSeconds(10));
        Ended ended = Bench.end(child);
        assertEquals(0, ended.exit().code());
        assertNull(ended.exit().signal());
        assertTrue(Files.exists(marker));
        assertEquals(List.of(), bench.alive());
    }

    @Test
    void parentIsDoneAndAGrandchildHoldsThePipe() throws Exception {
        long start = System.nanoTime();
        Ended ended = bench.run(Bench.child("ch02_grandchild_holds_stdout.sh"));
        assertEquals(0, ended.exit().code());
        assertTrue(ended.output().tail().startsWith("parent-done"));
        assertEquals(1, ended.output().leftovers());
        assertTrue(System.nanoTime() - start < 3_000_000_000L);
        assertEquals(List.of(), bench.alive());
        assertNoThreads();
    }

    private boolean logHas(String text) {
        try {
            return Files.exists(bench.log()) && bench.logText().contains(text);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private void assertNoThreads() throws InterruptedException {
        assertTrue(
                Bench.eventually(() -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().contains(bench.runId.toString()))),
                () -> Thread.getAllStackTraces().keySet().toString());
    }
}
