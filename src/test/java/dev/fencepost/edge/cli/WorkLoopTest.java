package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.remote.ApiServer;
import dev.fencepost.edge.remote.ApiServer.Fault;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkState;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The worker with real children, before a server that does what a test says. */
class WorkLoopTest {

    private WorkSite site;

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        site = new WorkSite(dir);
    }

    @AfterEach
    void close() {
        site.close();
    }

    private void enqueue(String id, String payload) {
        site.queue.enqueue(
                new NewItem(id, "pages", new Body(payload.getBytes(StandardCharsets.UTF_8), null), 0, null, 3));
    }

    private WorkItem item(String id) {
        return Objects.requireNonNull(site.queue.item(id));
    }

    private static String result(WorkItem item) {
        return new String(Objects.requireNonNull(item.result()).bytes(), StandardCharsets.UTF_8);
    }

    /** One item, by a shell script. */
    private CommandRun once(String script, String... options) {
        List<String> words = new ArrayList<>(List.of("loop", "--queue", "pages", "--once"));
        words.addAll(List.of(options));
        words.addAll(List.of("--", "sh", "-c", script));
        return site.work(words.toArray(String[]::new));
    }

    private List<Path> runFolders() throws IOException {
        Path work = site.file("state/work");
        if (!Files.exists(work)) {
            return List.of();
        }
        try (Stream<Path> found = Files.walk(work)) {
            return found.filter(each -> each.getFileName().toString().equals("payload"))
                    .map(each -> Objects.requireNonNull(each.getParent()))
                    .toList();
        }
    }

    private static void await(Path file) throws InterruptedException {
        long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (!Files.exists(file)) {
            assertTrue(System.nanoTime() < end, file + " is not there");
            Thread.sleep(20); // between two looks at a real child, which cannot call us
        }
    }

    @Test
    void aResultAndItsFiles() throws IOException {
        enqueue("page-1", "hello");
        CommandRun run = once("""
                tr a-z A-Z < "$FENCEPOST_PAYLOAD" > "$FENCEPOST_RESULT"
                mkdir -p "$FENCEPOST_OUTPUT_DIR/sub"
                echo one > "$FENCEPOST_OUTPUT_DIR/one.txt"
                echo two > "$FENCEPOST_OUTPUT_DIR/sub/two.txt"
                env | grep '^FENCEPOST_' | cut -d= -f1 | sort > "$FENCEPOST_OUTPUT_DIR/names"
                echo "$FENCEPOST_ITEM $FENCEPOST_QUEUE $FENCEPOST_FENCE $FENCEPOST_ATTEMPT $FENCEPOST_IDEMPOTENCY_KEY"\
                 > "$FENCEPOST_OUTPUT_DIR/values"
                """);
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        assertEquals("", run.out());
        assertEquals(
                "fencepost: page-1: begun, attempt 1 of 3, token 1\nfencepost: page-1: done, TIME\n",
                site.workplace.plain(run.err()));
        assertEquals("HELLO", result(item("page-1")));
        assertEquals(
                List.of("names", "one.txt", "sub_two.txt", "values"),
                site.queue.artifacts("page-1").stream().map(Artifact::name).toList());
        assertEquals("two\n", text("sub_two.txt"));
        assertEquals("page-1 pages 1 1 work:page-1\n", text("values"));
        assertEquals("""
                FENCEPOST_ATTEMPT
                FENCEPOST_FENCE
                FENCEPOST_IDEMPOTENCY_KEY
                FENCEPOST_ITEM
                FENCEPOST_OUTPUT_DIR
                FENCEPOST_OWNER
                FENCEPOST_PAYLOAD
                FENCEPOST_QUEUE
                FENCEPOST_RESULT
                FENCEPOST_RUN_ID
                """, text("names"));
        assertEquals(List.of(), runFolders());
    }

    private String text(String name) {
        return new String(Objects.requireNonNull(site.server.file("page-1", 1, name)), StandardCharsets.UTF_8);
    }

    @Test
    void thePayloadOnStandardInputAndAClosingObject() throws IOException {
        enqueue("page-1", "from stdin");
        CommandRun run = once("cat > \"$FENCEPOST_RESULT\"; echo noise", "--stdin", "--keep", "--json");
        assertEquals("from stdin", result(item("page-1")));
        JsonNode end = Workplace.json(run.out());
        assertEquals(List.of("ok", "reason", "item", "end", "ran_ms", "files"), Workplace.fields(end));
        assertTrue(end.get("ok").booleanValue());
        assertEquals("DONE", end.get("end").textValue());
        assertEquals("from stdin", end.get("item").get("result").textValue());
        Path folder = Path.of(end.get("files").textValue());
        assertTrue(Files.readString(folder.resolve("output.log")).contains("noise"));
        assertEquals(List.of(folder), runFolders());
    }

    @Test
    void anEmptyQueueEndsWhatGoesOnUntilThen() {
        CommandRun run = site.work("loop", "--queue", "pages", "--until-empty", "--", "true");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        for (int i = 1; i <= 5; i++) {
            enqueue("page-" + i, "x");
        }
        run = site.work("loop", "--queue", "pages", "--until-empty", "--parallel", "3", "--", "true");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        assertEquals(5, site.queue.items("pages", WorkState.DONE, 10).size());
    }

    @Test
    void anotherExitCodeGivesItBackForLater() throws IOException {
        enqueue("page-1", "x");
        CommandRun run = once("echo why >&2; exit 3", "--retry-after", "1h");
        assertEquals(ExitCode.FAILED, run.exitCode());
        assertEquals(WorkState.READY, item("page-1").state());
        assertEquals("exit code 3", item("page-1").reason());
        assertNotNull(item("page-1").notBefore());
        assertTrue(run.err().contains("page-1: failed, "), run.err());
        assertTrue(run.err().contains(": exit code 3; it is ready, not before "), run.err());
        Path folder = runFolders().getFirst();
        assertTrue(run.err().contains("its files are in " + folder), run.err());
        assertTrue(Files.readString(folder.resolve("output.log")).contains("why"));
    }

    @Test
    void theFilesOfAFailureStayForAWhile() throws IOException {
        enqueue("page-1", "x");
        once("exit 3", "--retry-after", "0s");
        assertEquals(1, runFolders().size());
        once("exit 3", "--retry-after", "0s");
        assertEquals(2, runFolders().size());
        once("exit 3", "--keep-for", "0s");
        assertEquals(1, runFolders().size(), "the last one began after the sweep");
        try (Stream<Path> all = Files.walk(site.file("state/work"))) {
            assertTrue(all.noneMatch(each -> each.endsWith("running")));
        }
    }

    @Test
    void whatFailsEachTimeIsDeadAtLast() {
        enqueue("page-1", "x");
        CommandRun run = site.work(
                "loop", "--queue", "pages", "--until-empty", "--retry-after", "0s", "--", "sh", "-c", "exit 4");
        assertEquals(ExitCode.FAILED, run.exitCode());
        assertEquals(WorkState.DEAD, item("page-1").state());
        assertEquals(3, item("page-1").attempts());
    }

    /** The lease has begun when the claim arrived at last; the worker counts from when it sent it, and cannot know better. */
    @Test
    void aClaimThatIsAnsweredAfterTheEndOfItsLeaseStartsNoChild() {
        enqueue("page-1", "x");
        Path started = site.file("started");
        AtomicInteger claims = new AtomicInteger();
        site.server.faults((method, path) -> {
            if (path.contains("claim") && claims.getAndIncrement() == 0) {
                try {
                    Thread.sleep(3_200); // the worker's clock is the real one, and its lease is of three seconds
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            return ApiServer.Fault.NONE;
        });
        CommandRun run = once("touch " + started, "--ttl", "3s");
        assertEquals(ExitCode.LEASE_LOST, run.exitCode(), run.err());
        assertFalse(Files.exists(started), run.err());
    }

    @Test
    void aTimeoutKillsTheWholeTree() throws Exception {
        enqueue("page-1", "x");
        Path beat = site.file("beat");
        CommandRun run = once(beating(beat) + "wait; sleep 300", "--timeout", "500ms", "--grace", "100ms");
        assertEquals(ExitCode.FAILED, run.exitCode());
        assertEquals("timeout of 500ms passed", item("page-1").reason());
        assertIsGone(beat);
    }

    /** A process that shows that it lives, in the background of a script; it outlives whoever does not kill the tree. */
    private static String beating(Path beat) {
        return "(trap '' TERM; while :; do date +%N > " + beat + "; sleep 0.05; done) & trap '' TERM; ";
    }

    private static void assertIsGone(Path beat) throws Exception {
        String last = Files.readString(beat);
        Thread.sleep(400); // eight beats of a real process, of which there must be none: nothing else could tell
        assertEquals(last, Files.readString(beat), "the process in the background lives");
    }

    private CompletableFuture<CommandRun> inBackground(String script, String... options) {
        // Not on the common pool, which is one thread on a small machine: the HTTP client ends its calls there.
        return CompletableFuture.supplyAsync(
                () -> once(script, options),
                task -> Thread.ofPlatform().daemon().start(task));
    }

    @Test
    void aLostLeaseKillsTheWholeTree() throws Exception {
        enqueue("page-1", "x");
        Path beat = site.file("beat");
        CompletableFuture<CommandRun> running = inBackground(beating(beat) + "wait; sleep 300", "--ttl", "3s");
        await(beat);
        site.passAtTheServer(Duration.ofSeconds(3));
        WorkAnswer taken = site.queue.claimItem(
                "page-1", new Owner("somebody"), new RunId(UUID.randomUUID()), Duration.ofMinutes(1));
        assertEquals(2, ((WorkAnswer.Done) taken).item().fence());
        CommandRun run = running.get(20, TimeUnit.SECONDS);
        assertEquals(ExitCode.LEASE_LOST, run.exitCode());
        assertTrue(run.err().contains("page-1: lost, "), run.err());
        assertTrue(run.err().contains("renewal refused: STALE_TOKEN"), run.err());
        assertIsGone(beat);
        assertEquals(WorkState.CLAIMED, item("page-1").state());
    }

    @Test
    void aServerThatIsAwayForTooLongCostsTheLeaseByOurOwnClock() throws Exception {
        enqueue("page-1", "x");
        Path beat = site.file("beat");
        CompletableFuture<CommandRun> running = inBackground(beating(beat) + "wait; sleep 300", "--ttl", "3s");
        await(beat);
        long began = System.nanoTime();
        site.server.down();
        CommandRun run = running.get(20, TimeUnit.SECONDS);
        assertTrue(Duration.ofNanos(System.nanoTime() - began).toMillis() < 3_000, "the lease was over before");
        assertEquals(ExitCode.LEASE_LOST, run.exitCode());
        assertTrue(run.err().contains("no renewal before the local deadline"), run.err());
        assertEquals(
                1,
                run.err()
                        .lines()
                        .filter(line -> line.contains("a renewal had no answer"))
                        .count());
        assertIsGone(beat);
    }

    @Test
    void aServerThatComesBackInTimeCostsNothing() throws Exception {
        Path begun = site.file("begun");
        Path go = site.file("go");
        site.server.down();
        CompletableFuture<CommandRun> running = inBackground(
                "touch " + begun + "; while [ ! -e " + go + " ]; do sleep 0.05; done; echo ok > \"$FENCEPOST_RESULT\"",
                "--ttl",
                "9s");
        Thread.sleep(700); // by the worker's clock, the real one: it asks a server that is not there, more than once
        enqueue("page-1", "x");
        site.server.up();
        await(begun);
        site.server.down();
        Thread.sleep(3_500); // by the same clock longer than to the first renewal
        Files.createFile(go);
        Thread.sleep(500); // long enough for the end to have no answer at first
        site.server.up();
        CommandRun run = running.get(20, TimeUnit.SECONDS);
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        assertEquals("ok\n", result(item("page-1")));
        assertEquals(1, item("page-1").fence());
        assertEquals(
                1,
                run.err()
                        .lines()
                        .filter(line -> line.contains("no answer, asked again"))
                        .count());
        assertTrue(run.err().contains("the server answers again"), run.err());
    }

    @Test
    void aResultWhoseAnswerWasLostCountsAsStored() {
        enqueue("page-1", "x");
        AtomicInteger completions = new AtomicInteger();
        site.server.faults((method, path) ->
                path.endsWith("/complete") && completions.incrementAndGet() == 1 ? Fault.CUT_AFTER : Fault.NONE);
        CommandRun run = once("echo ok > \"$FENCEPOST_RESULT\"");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        assertEquals(2, completions.get());
        assertEquals("ok\n", result(item("page-1")));
    }

    @Test
    void aTokenThatMayNotLookHasToBelieveTheTokenOfTheRefusal() {
        enqueue("page-1", "x");
        AtomicInteger completions = new AtomicInteger();
        AtomicInteger claims = new AtomicInteger();
        site.server.faults((method, path) -> {
            boolean isFirst = (path.endsWith("/complete") && completions.incrementAndGet() == 1)
                    || (path.startsWith("/claims") && claims.incrementAndGet() == 1);
            return method.equals("GET") ? Fault.FORBIDDEN : isFirst ? Fault.CUT_AFTER : Fault.NONE;
        });
        CompletableFuture<CommandRun> running = inBackground("echo ok > \"$FENCEPOST_RESULT\"", "--ttl", "3s");
        CommandRun run = running.join(); // the item of the lost claim is free again after its ttl
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        assertEquals(2, completions.get());
        assertEquals(2, item("page-1").attempts());
    }

    @Test
    void aResultOfSomebodyElseDoesNotCountAsOurs() {
        enqueue("page-1", "x");
        AtomicInteger completions = new AtomicInteger();
        site.server.faults((method, path) -> {
            if (!path.endsWith("/complete") || completions.incrementAndGet() > 1) {
                return Fault.NONE;
            }
            WorkItem held = item("page-1");
            site.queue.complete(
                    new Grant("page-1", Objects.requireNonNull(held.owner()), new FencingToken(held.fence()), null),
                    new Body("other".getBytes(StandardCharsets.UTF_8), null));
            return Fault.CUT_BEFORE;
        });
        CommandRun run = once("echo ok > \"$FENCEPOST_RESULT\"");
        assertEquals(ExitCode.LEASE_LOST, run.exitCode());
        assertTrue(run.err().contains("result refused: ALREADY_DONE"), run.err());
        assertEquals("other", result(item("page-1")));
    }

    @Test
    void aFailureWhoseAnswerWasLostCountsAsHeard() {
        enqueue("page-1", "x");
        AtomicInteger failures = new AtomicInteger();
        site.server.faults((method, path) ->
                path.endsWith("/fail") && failures.incrementAndGet() == 1 ? Fault.CUT_AFTER : Fault.NONE);
        CommandRun run = once("exit 3");
        assertEquals(ExitCode.FAILED, run.exitCode(), run.err());
        assertEquals(2, failures.get());
    }

    @Test
    void aClaimWhoseAnswerWasLostIsGivenBack() {
        enqueue("page-1", "x");
        AtomicInteger claims = new AtomicInteger();
        site.server.faults((method, path) ->
                path.startsWith("/claims") && claims.incrementAndGet() == 1 ? Fault.CUT_AFTER : Fault.NONE);
        CommandRun run = once("true", "--ttl", "1h");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        assertEquals(1, item("page-1").attempts());
        assertEquals(2, item("page-1").fence());
    }

    @Test
    void whatCannotBeStartedIsGivenBackAsNotTried() throws IOException {
        enqueue("page-1", "x");
        CommandRun run = site.work("loop", "--queue", "pages", "--until-empty", "--", "no-such-program");
        assertEquals(ExitCode.FAILED, run.exitCode());
        assertEquals(WorkState.READY, item("page-1").state());
        assertEquals(0, item("page-1").attempts());
        assertTrue(run.err().contains("could not be started: command not found: no-such-program"), run.err());
        assertEquals(List.of(), runFolders());
    }

    @Test
    void whatCannotBeHandedInFailsTheItem() {
        for (List<String> each : List.of(
                List.of(
                        "ln -s \"$FENCEPOST_RESULT\" \"$FENCEPOST_OUTPUT_DIR/link\"",
                        "holds link, which is no plain file"),
                List.of("touch \"$FENCEPOST_OUTPUT_DIR/a b\"", "holds a b, which is no name to hand in"),
                List.of(
                        "mkdir \"$FENCEPOST_OUTPUT_DIR/a\"; touch \"$FENCEPOST_OUTPUT_DIR/a/b\" \"$FENCEPOST_OUTPUT_DIR/a_b\"",
                        "holds two files that would be handed in as a_b"),
                List.of("head -c 1048577 /dev/zero > \"$FENCEPOST_RESULT\"", "the limit is 1048576"))) {
            String id = "page-" + UUID.randomUUID();
            enqueue(id, "x");
            CommandRun run = once(each.getFirst());
            assertEquals(ExitCode.FAILED, run.exitCode());
            assertTrue(String.valueOf(item(id).reason()).contains(each.getLast()), item(id).reason());
            assertEquals(List.of(), site.queue.artifacts(id));
        }
    }

    @Test
    void aFileUnderATokenThatIsOldByThenIsRefused() throws Exception {
        enqueue("page-1", "x");
        site.server.faults((method, path) -> {
            if (method.equals("PUT")) {
                site.passAtTheServer(Duration.ofHours(1));
                site.queue.claimItem("page-1", new Owner("b"), new RunId(UUID.randomUUID()), Duration.ofMinutes(1));
            }
            return Fault.NONE;
        });
        CommandRun run = once("echo x > \"$FENCEPOST_OUTPUT_DIR/x\"");
        assertEquals(ExitCode.LEASE_LOST, run.exitCode());
        assertTrue(run.err().contains("file refused: STALE_TOKEN"), run.err());
        assertNull(site.server.file("page-1", 1, "x"));
        assertFalse(item("page-1").isDone());
    }

    @Test
    void theTokenIsMaskedInOutputAndResult() throws IOException {
        enqueue("page-1", "x");
        CommandRun run =
                once("cat " + site.tokenFile + "; cat " + site.tokenFile + " > \"$FENCEPOST_RESULT\"", "--keep");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        assertEquals("***\n", result(item("page-1")));
        String log = Files.readString(runFolders().getFirst().resolve("output.log"));
        assertTrue(log.contains("***"), log);
        assertFalse(log.contains(ApiServer.TOKEN), log);
    }

    @Test
    void aStrangerEndsAtOnce() throws IOException {
        Files.writeString(site.tokenFile, "not-the-token-of-it");
        CommandRun run = once("true");
        assertEquals(ExitCode.STORE_UNAVAILABLE, run.exitCode());
        assertEquals("fencepost: server " + site.server.address() + " does not accept the token (401)\n", run.err());
    }

    @ParameterizedTest
    @CsvSource({
        "--ttl, 2s",
        "--ttl, 0s",
        "--parallel, 0",
        "--parallel, many",
        "--queue, No Queue",
        "--owner, wörker",
        "--timeout, 0s",
        "--store, sqlite:x.db",
        "--colour, red",
    })
    void badArguments(String option, String value) {
        CommandRun run = site.work("loop", option, value, "--", "true");
        assertEquals(ExitCode.USAGE, run.exitCode(), run.err());
        assertTrue(run.err().contains(option), run.err());
        assertEquals(List.of(), site.server.requests());
    }

    @Test
    void withoutACommandOrAServer() {
        assertEquals(ExitCode.USAGE, site.work("loop", "--once").exitCode());
        CommandRun run = site.workplace.run("work", "loop", "--", "true");
        assertEquals(ExitCode.USAGE, run.exitCode());
        assertTrue(run.err().contains("--server is missing"), run.err());
    }

    @Test
    void aLongReasonIsNotCutWithinACharacter() {
        String smile = Character.toString(0x1F600);
        assertEquals("x".repeat(499), WorkItemRun.kept("x".repeat(499) + smile));
        assertEquals("x".repeat(498) + smile, WorkItemRun.kept("x".repeat(498) + smile + "y"));
        assertEquals("x".repeat(500), WorkItemRun.kept("x".repeat(501)));
    }

    @Test
    void theNamesOfFiles(@TempDir Path output) throws IOException {
        Files.createDirectories(output.resolve("a/b"));
        Files.createFile(output.resolve("a/b/c.txt"));
        Files.createFile(output.resolve("Z-1_.x"));
        assertEquals(
                List.of("Z-1_.x", "a_b_c.txt"),
                List.copyOf(WorkItemRun.filesIn(output).keySet()));
        Files.createFile(output.resolve(".hidden"));
        assertThrows(IOException.class, () -> WorkItemRun.filesIn(output));
    }
}
