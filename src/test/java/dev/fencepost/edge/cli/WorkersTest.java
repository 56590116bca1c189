package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkState;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Workers in JVMs of their own. */
class WorkersTest {

    private WorkSite site;
    private final List<Process> workers = new ArrayList<>();

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        site = new WorkSite(dir);
    }

    @AfterEach
    void close() throws InterruptedException {
        for (Process worker : workers) {
            worker.destroyForcibly();
            worker.waitFor();
        }
        site.close();
    }

    private void enqueue(String id) {
        site.queue.enqueue(new NewItem(id, "pages", null, 0, null, 3));
    }

    private WorkItem item(String id) {
        return Objects.requireNonNull(site.queue.item(id));
    }

    /** @param options of the loop, then its command */
    private Process worker(String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName()));
        List<String> words = new ArrayList<>(List.of("loop", "--queue", "pages"));
        words.addAll(List.of(options));
        command.addAll(site.words(words.toArray(String[]::new)));
        ProcessBuilder builder = new ProcessBuilder(command).directory(site.workplace.dir.toFile());
        builder.environment().keySet().retainAll(List.of("PATH"));
        builder.environment().putAll(site.workplace.environment());
        Process worker = builder.start();
        workers.add(worker);
        return worker;
    }

    private static String awaitLine(BufferedReader err, String part) throws IOException {
        for (String line = err.readLine(); line != null; line = err.readLine()) {
            if (line.contains(part)) {
                return line;
            }
        }
        throw new AssertionError("no line with " + part);
    }

    private static String rest(BufferedReader reader) {
        return reader.lines().map(line -> line + "\n").collect(Collectors.joining());
    }

    private static int end(Process worker) throws InterruptedException {
        assertTrue(worker.waitFor(60, TimeUnit.SECONDS), "the worker does not end");
        return worker.exitValue();
    }

    /** Another worker of the same directory sweeps: what goes on is not its own. */
    @Test
    void theFilesOfARunAreSafeFromOtherWorkersUntilItsProcessEnds() throws Exception {
        enqueue("page-1");
        Path begun = site.file("begun");
        Process worker = worker("--once", "--", "sh", "-c", "touch " + begun + "; exec sleep 600");
        while (!Files.exists(begun)) {
            assertTrue(worker.isAlive(), () -> rest(worker.errorReader(StandardCharsets.UTF_8)));
            Thread.sleep(20); // between two looks at a real child, which cannot call us
        }
        Path files = site.file("state/work");
        KeptFiles other = new KeptFiles(files, Duration.ZERO, 0, new SystemTime(), System.err::println);
        other.sweep();
        assertEquals(1, logs(files));
        worker.destroyForcibly().waitFor();
        other.sweep();
        assertEquals(0, logs(files));
    }

    private static long logs(Path files) throws IOException {
        try (Stream<Path> all = Files.walk(files)) {
            return all.filter(each -> each.endsWith("payload")).count();
        }
    }

    @Test
    void threeWorkersDoEachOfFiftyItemsOnce() throws Exception {
        for (int i = 1; i <= 50; i++) {
            enqueue("page-" + i);
        }
        Path done = site.file("done");
        for (int i = 0; i < 3; i++) {
            worker(
                    "--until-empty",
                    "--parallel",
                    "2",
                    "--",
                    "sh",
                    "-c",
                    "echo $FENCEPOST_ITEM >> " + done + "; echo $FENCEPOST_OWNER > \"$FENCEPOST_RESULT\"");
        }
        for (Process worker : List.copyOf(workers)) {
            String err = rest(worker.errorReader(StandardCharsets.UTF_8));
            assertEquals(ExitCode.FINE, end(worker), err);
        }
        List<WorkItem> items = site.queue.items("pages", WorkState.DONE, 100);
        assertEquals(50, items.size());
        for (WorkItem each : items) {
            assertEquals(1, each.fence(), each.id());
        }
        List<String> lines = Files.readAllLines(done);
        assertEquals(50, lines.size());
        assertEquals(50, lines.stream().distinct().count());
        assertEquals(
                3,
                items.stream()
                        .map(each ->
                                new String(Objects.requireNonNull(each.result()).bytes(), StandardCharsets.UTF_8))
                        .distinct()
                        .count());
    }

    @Test
    void aSignalLetsWhatRunsEndAndClaimsNothingMore() throws Exception {
        enqueue("page-1");
        enqueue("page-2");
        Path go = site.file("go");
        Process worker = worker(
                "--", "sh", "-c", "while [ ! -e " + go + " ]; do sleep 0.05; done; echo ok > \"$FENCEPOST_RESULT\"");
        BufferedReader err = worker.errorReader(StandardCharsets.UTF_8);
        awaitLine(err, "page-1: begun");
        worker.toHandle().destroy();
        awaitLine(err, "stopping; what runs has 30 s to end; once more stops at once");
        Files.createFile(go);
        assertEquals(ExitCode.FINE, end(worker));
        assertTrue(item("page-1").isDone());
        assertEquals(0, item("page-2").fence());
    }

    @Test
    void aSecondSignalStopsAndGivesBackAtOnce() throws Exception {
        enqueue("page-1");
        Process worker = worker("--grace", "50s", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.05; done");
        BufferedReader err = worker.errorReader(StandardCharsets.UTF_8);
        awaitLine(err, "page-1: begun");
        worker.toHandle().destroy();
        awaitLine(err, "stopping");
        worker.toHandle().destroy();
        awaitLine(err, "page-1: given back, ");
        assertEquals(ExitCode.FORCED, end(worker));
        assertEquals(WorkState.READY, item("page-1").state());
        assertEquals(0, item("page-1").attempts());
    }

    @Test
    void aDrainThatIsOverStopsAndGivesBack() throws Exception {
        enqueue("page-1");
        Process worker = worker("--drain", "200ms", "--grace", "100ms", "--", "sleep", "300");
        BufferedReader err = worker.errorReader(StandardCharsets.UTF_8);
        awaitLine(err, "page-1: begun");
        worker.toHandle().destroy();
        awaitLine(err, "page-1: given back, ");
        assertEquals(ExitCode.FORCED, end(worker));
        assertEquals(0, item("page-1").attempts());
    }

    @Test
    void anIdleWorkerEndsOnASignal() throws Exception {
        Process worker = worker("--ttl", "4s", "--", "true");
        BufferedReader err = worker.errorReader(StandardCharsets.UTF_8);
        while (site.server.requests().isEmpty()) {
            Thread.sleep(20); // until it has asked for the first time
        }
        worker.toHandle().destroy();
        awaitLine(err, "stopping; once more stops at once");
        assertEquals(ExitCode.FINE, end(worker));
    }

    @Test
    void aWorkerThatDiesLeavesALeaseThatEnds() throws Exception {
        enqueue("page-1");
        Process worker = worker("--ttl", "3s", "--", "sleep", "300");
        awaitLine(worker.errorReader(StandardCharsets.UTF_8), "page-1: begun");
        worker.destroyForcibly();
        worker.waitFor();
        Process next = worker("--ttl", "3s", "--once", "--", "true");
        String err = rest(next.errorReader(StandardCharsets.UTF_8));
        assertEquals(ExitCode.FINE, end(next), err);
        assertTrue(item("page-1").isDone());
        assertEquals(2, item("page-1").fence());
        assertNull(item("page-1").owner());
    }
}
