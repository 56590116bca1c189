package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Action;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogsCommandTest {

    private static final String BOMB = Path.of("src/test/resources/children/terminal-bomb.py")
            .toAbsolutePath()
            .toString();
    private static final Owner ELSEWHERE =
            new Owner("11111111-2222-3333-4444-555555555555/boot/4026531836/77/12345/0a1b2c3d");

    private Workplace workplace;

    @BeforeEach
    void setUp(@TempDir Path dir) {
        workplace = new Workplace(dir);
    }

    private void ran(String command) throws IOException {
        workplace.jobs("job: { command: " + command + ", timeout: 20s }");
        workplace.run("run", "job");
    }

    private CommandRun logs(String... more) {
        return workplace.run(
                Stream.concat(Stream.of("logs", "job"), Stream.of(more)).toArray(String[]::new));
    }

    private Path log() throws IOException {
        try (Stream<Path> files = Files.walk(workplace.dir.resolve("state/runs"))) {
            return files.filter(file -> file.endsWith("output.log")).findFirst().orElseThrow();
        }
    }

    /** Nothing that a terminal obeys, or that turns text around, but the end of a line. */
    private static void assertHarmless(String text) {
        text.chars()
                .filter(c -> (c < 0x20 && c != '\n' && c != '\t')
                        || (c >= 0x7f && c < 0xa0)
                        || c == 0x61c
                        || (c >= 0x200e && c <= 0x200f)
                        || (c >= 0x2028 && c <= 0x202e)
                        || (c >= 0x2066 && c <= 0x2069))
                .findFirst()
                .ifPresent(c -> {
                    throw new AssertionError("U+%04X is sent".formatted(c));
                });
    }

    @Test
    void theNewestAttemptIsShownWithItsStreamsAndTimes() throws IOException {
        ran("\"echo old\"");
        ran("\"echo one; echo two; sleep 0.2; echo wrong >&2; exit 3\"");
        CommandRun both = logs();
        assertEquals(ExitCode.FINE, both.exitCode(), both.err());
        assertEquals("one\ntwo\nwrong\n", both.out());
        assertEquals("fencepost: job at MANUAL, attempt 1: failed: exit code 3\n", workplace.plain(both.err()));
        assertEquals("one\ntwo\n", logs("--stream", "out").out());
        assertEquals("wrong\n", logs("--stream", "err").out());
        assertEquals(
                "INSTANT out one\nINSTANT out two\nINSTANT err wrong\n",
                workplace.plain(logs("--timestamps").out()));
        CommandRun last = logs("--lines", "1", "--stream", "out");
        assertEquals("two\n", last.out());
        assertTrue(last.err().contains("1 lines before these are left out"), last.err());
        assertEquals("one\ntwo\nwrong\n", logs("--all", "--raw").out());

        List<String> json = logs("--json").out().lines().toList();
        assertEquals(4, json.size());
        JsonNode record = Workplace.json(json.get(2));
        assertEquals(List.of("at", "stream", "text", "newline"), Workplace.fields(record));
        assertEquals("err", record.get("stream").asText());
        JsonNode closing = Workplace.json(json.get(3));
        assertEquals("FAILED", closing.get("outcome").asText());
        assertEquals("log", closing.get("source").asText());
        assertEquals(3, closing.get("exit_code").intValue());
    }

    @Test
    void aTerminalBombIsHarmlessEverywhere() throws IOException {
        ran("[\"" + BOMB + "\"]");
        for (List<String> words : List.of(
                List.of("logs", "job"),
                List.of("logs", "job", "--all", "--timestamps"),
                List.of("logs", "job", "--stream", "err"),
                List.of("logs", "job", "--json"))) {
            CommandRun piped = workplace.run(words.toArray(String[]::new));
            assertEquals(ExitCode.FINE, piped.exitCode(), piped.err());
            assertTrue(piped.out().contains("ZXZpbA=="), "the text itself is shown");
            assertHarmless(piped.out());
            assertHarmless(
                    workplace.runAnswering("", words.toArray(String[]::new)).out());
        }
        String text = logs("--all").out();
        assertTrue(text.contains("\\x1b]0;owned\\x07"), "escapes are shown");
        assertTrue(text.contains("safe\\u202etxt.exe\\u202c"), text.substring(0, 400));
        assertTrue(text.contains("harmless\\x0drm -rf /"), "a carriage return hides nothing");
        assertTrue(text.lines().anyMatch(line -> line.length() > 200_000), "the line without end is whole");

        String raw = logs("--all", "--raw").out();
        assertTrue(raw.contains("\u001b]0;owned\u0007"));
        CommandRun refused = workplace.runAnswering("", "logs", "job", "--raw");
        assertEquals(ExitCode.USAGE, refused.exitCode());
        assertEquals("", refused.out());

        Files.delete(log());
        CommandRun tail = logs();
        assertEquals(ExitCode.FINE, tail.exitCode(), tail.err());
        assertHarmless(tail.out());
        assertHarmless(logs("--json").out());
    }

    @Test
    void whatIsNotThereIsSaidWithWhatIs() throws IOException {
        ran("\"echo one\"");
        CommandRun unknown = workplace.run("logs", "jbo");
        assertEquals(ExitCode.REFUSED, unknown.exitCode());
        assertEquals("there is no job \"jbo\"\n    did you mean job?\n", unknown.err());
        CommandRun noSlot = logs("2026-01-01T00:00:00Z");
        assertEquals(ExitCode.REFUSED, noSlot.exitCode());
        assertTrue(noSlot.err().contains("the newest are manual:"), noSlot.err());
        CommandRun noAttempt = logs("--attempt", "2");
        assertEquals(ExitCode.REFUSED, noAttempt.exitCode());
        assertTrue(noAttempt.err().contains("there is no attempt 2 at manual:"), noAttempt.err());
        assertEquals("one\n", logs("manual:").out());
        ran("\"echo two\"");
        CommandRun ambiguous = logs("manual:");
        assertEquals(ExitCode.REFUSED, ambiguous.exitCode());
        assertTrue(ambiguous.err().contains("fits 2 slots of job\n    write more of manual:"), ambiguous.err());
        assertEquals(ExitCode.USAGE, logs("--lines", "0").exitCode());
        assertEquals(ExitCode.USAGE, logs("--stream", "mixed").exitCode());
        workplace.jobs("job: { command: [date] }\nother: { command: [date] }");
        CommandRun never = workplace.run("logs", "other");
        assertEquals(ExitCode.REFUSED, never.exitCode());
        assertEquals("no run of other is known yet\n", never.err());
    }

    private static Job job() {
        return new Job(
                "job",
                new Every(Duration.ofMinutes(1)),
                ZoneOffset.UTC,
                new Action.Command(List.of("true"), null, Map.of(), null, null),
                Set.of(),
                Duration.ofMinutes(1),
                null,
                Duration.ZERO,
                CatchUp.DEFAULT,
                null,
                2,
                null,
                List.of());
    }

    @Test
    void ofAnotherNodesRunTheStoreHasTheEndOnceItHasEnded() throws Exception {
        Slot slot = Slot.at(Instant.parse("2026-03-29T01:00:00Z"));
        try (JdbcStore store = workplace.store()) {
            Lease lease =
                    ((Start.Started) store.start(job(), slot, ELSEWHERE, new RunId(UUID.randomUUID()), false)).lease();
            CommandRun running = logs("2026-03-29T03:00:00+02:00");
            assertEquals(ExitCode.REFUSED, running.exitCode());
            assertTrue(
                    running.err().contains("is under way on node 11111111-2222-3333-4444-555555555555"), running.err());
            CompletableFuture<CommandRun> following = CompletableFuture.supplyAsync(() -> logs("-f"));
            store.complete(
                    lease, new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, "a\n\u001b[2Jb\nc\n"));
            CommandRun followed = following.get(30, TimeUnit.SECONDS);
            assertEquals("a\n\\x1b[2Jb\nc\n", followed.out());
            assertTrue(
                    followed.err().contains("the full log is on node 11111111-2222-3333-4444-555555555555"),
                    followed.err());
            assertEquals("c\n", logs("--lines", "1").out());
            CommandRun apart = logs("--stream", "out");
            assertEquals(ExitCode.REFUSED, apart.exitCode());
            assertTrue(apart.err().contains("both streams in one"), apart.err());
            JsonNode first =
                    Workplace.json(logs("--json").out().lines().findFirst().orElseThrow());
            assertEquals("both", first.get("stream").asText());
            assertTrue(first.get("at").isNull());
        }
    }

    @Test
    void followingShowsWhatComesAndEndsWithTheRun() throws Exception {
        workplace.jobs("job: { command: \"echo first; while [ ! -e go ]; do sleep 0.02; done; printf second\","
                + " working-dir: " + workplace.dir + " }");
        CompletableFuture<CommandRun> running = CompletableFuture.supplyAsync(() -> workplace.run("run", "job"));
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CompletableFuture<Integer> following = CompletableFuture.supplyAsync(() -> {
            while (logs().exitCode() != ExitCode.FINE) { // until the run has begun
                Thread.onSpinWait();
            }
            return Main.run(
                    new Surroundings(
                            new PrintWriter(out),
                            new PrintWriter(err),
                            workplace.environment(),
                            workplace.dir,
                            new SystemTime()::wallClock,
                            false),
                    "logs",
                    "job",
                    "--follow");
        });
        long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (!out.toString().equals("first\n")) {
            assertTrue(System.nanoTime() < end, () -> out + "/" + err);
            Thread.sleep(10); // between two looks at commands that run beside it, and cannot call us
        }
        assertFalse(following.isDone());
        Files.createFile(workplace.dir.resolve("go"));
        assertEquals(ExitCode.FINE, following.get(30, TimeUnit.SECONDS));
        assertEquals(ExitCode.FINE, running.get().exitCode());
        assertEquals("first\nsecond\n", out.toString());
        assertTrue(err.toString().contains("attempt 1: succeeded"), err.toString());
    }

    @Test
    void aLinkInThePlaceOfTheLogIsNotFollowed() throws IOException {
        ran("\"echo one\"");
        Path secret = Files.writeString(workplace.dir.resolve("secret"), "of another user\n");
        Path log = log();
        Files.delete(log);
        Files.createSymbolicLink(log, secret);
        CommandRun run = logs();
        assertEquals("one\n", run.out());
        assertTrue(run.err().contains("the full log is no longer on this node"), run.err());
    }

    @Test
    void aHugeLineWithoutEndIsCountedAsOne() throws IOException {
        ran("\"echo before; head -c 20000000 /dev/zero | tr '\\\\000' x\"");
        CommandRun one = logs("--lines", "1");
        assertEquals(ExitCode.FINE, one.exitCode(), one.err());
        assertTrue(one.out().length() > 7_000_000, "the half of the limit at least");
        assertFalse(one.out().contains("before"));
        assertEquals(1, one.out().lines().count());
        assertTrue(logs("--all").out().contains("bytes of this log are cut out here"));
    }

    /** CHO-09 and CHO-04: what stands in one stored row. */
    @Test
    void theLastWordsBeforeAKillAndBadBytesAreInTheStoredRow() throws IOException {
        workplace.jobs("job: { command: [sh, -c, \"printf before-kill; exec sleep 99\"], timeout: 1s, grace: 1s }");
        workplace.run("run", "job");
        Files.delete(log());
        CommandRun killed = logs();
        assertEquals("before-kill\n", killed.out());
        assertTrue(killed.err().contains("timed_out"), killed.err());
        ran("[\"" + Path.of("src/test/resources/cases/children/ch04_bytes.py").toAbsolutePath() + "\"]");
        assertEquals("ok:é bad:\uFFFD\uFFFD\uFFFD sur:\uFFFD\uFFFD\uFFFD nul:\u2400 lat:\uFFFD end\n", logs().out());
    }
}
