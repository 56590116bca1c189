package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.jdbc.JdbcStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What exec says; what it does with processes and signals is tested by ExecIT. */
class ExecCommandTest {

    private Workplace workplace;

    @BeforeEach
    void setUp(@TempDir Path dir) {
        workplace = new Workplace(dir);
    }

    @Test
    void aSuccessAddsNothingAndAFailureOfTheCommandNeither() {
        CommandRun good = workplace.run("exec", "nightly", "--", "sh", "-c", "echo out; echo err >&2");
        assertEquals(new CommandRun(0, "out\n", "err\n"), good);
        assertEquals(new CommandRun(9, "", ""), workplace.run("exec", "nightly", "--", "sh", "-c", "exit 9"));
    }

    @Test
    void onATerminalControlCharactersAreShown() {
        CommandRun run = workplace.runAnswering(
                "", "exec", "x", "--", "sh", "-c", "printf '\\033]0;t\\007a\\n'; printf '\\033[2J' >&2");
        assertEquals("\\x1b]0;t\\x07a\n", run.out());
        assertEquals("\\x1b[2J", run.err());
    }

    @Test
    void ourLineBeginsALineOfItsOwn() {
        CommandRun run =
                workplace.run("exec", "x", "--timeout", "300ms", "--", "sh", "-c", "printf open >&2; sleep 60");
        assertEquals(ExitCode.TIMED_OUT, run.exitCode());
        assertTrue(run.err().startsWith("open\nfencepost: x: timed_out: timeout of 0.3s passed"), run.err());
    }

    @Test
    void aSkipIsOneLineOrOneObject() throws IOException {
        try (JdbcStore store = workplace.store()) {
            Workplace.claim(store, "x", "somebody", Duration.ofMinutes(5));
        }
        CommandRun skipped = workplace.run("exec", "x", "--", "echo", "no");
        assertEquals(ExitCode.FINE, skipped.exitCode());
        assertEquals("", skipped.out());
        assertEquals(
                "fencepost: x: skipped, somebody holds the lease with token 1 until LOCAL and renews it as long as it"
                        + " runs\n",
                workplace.plain(skipped.err()));
        CommandRun json = workplace.run("exec", "x", "--json", "--fail-on-skip", "--wait", "300ms", "--", "echo", "no");
        assertEquals(ExitCode.SKIPPED, json.exitCode());
        assertEquals("", json.out());
        JsonNode object = Workplace.json(json.err());
        assertEquals(List.of("job", "slot", "ok", "reason", "held_by"), Workplace.fields(object));
        assertEquals("HELD", object.get("reason").asText());
    }

    @Test
    void theClosingObjectIsOnStandardError() throws IOException {
        CommandRun run = workplace.run("exec", "x", "--json", "--", "sh", "-c", "echo $FENCEPOST_FENCE");
        assertEquals("1\n", run.out());
        JsonNode object = Workplace.json(run.err());
        assertEquals(
                List.of(
                        "job",
                        "slot",
                        "ok",
                        "reason",
                        "outcome",
                        "attempt",
                        "fence",
                        "run_id",
                        "exit_code",
                        "signal",
                        "ran_ms",
                        "log"),
                Workplace.fields(object));
        assertTrue(object.get("ok").booleanValue());
        assertTrue(object.get("slot").asText().startsWith("manual:"));
        assertEquals("1\n", workplace.run("logs", "x").out());
    }

    @Test
    void aResultThatIsTooBigFailsAlthoughTheCommandDidNot() {
        CommandRun run =
                workplace.run("exec", "x", "--", "sh", "-c", "head -c 1048577 /dev/zero >\"$FENCEPOST_RESULT\"");
        assertEquals(ExitCode.FAILED, run.exitCode());
        assertTrue(run.err().contains("the limit is 1048576"), run.err());
    }

    @Test
    void wrongWordsAreToldBeforeAnythingIsMade() throws IOException {
        for (List<String> words : List.of(
                List.of("exec"),
                List.of("exec", "x"),
                List.of("exec", "Big", "--", "true"),
                List.of("exec", "x", "--ttl", "2s", "--", "true"),
                List.of("exec", "x", "--wait", "soon", "--", "true"))) {
            CommandRun run = workplace.run(words.toArray(String[]::new));
            assertEquals(ExitCode.USAGE, run.exitCode(), words::toString);
            assertFalse(run.err().isEmpty());
        }
        Files.writeString(workplace.dir.resolve("fencepost.yaml"), "store: [ mysql, 5 ]\njobs: {}\n");
        CommandRun unknown = workplace.run("exec", "x", "--", "true");
        assertEquals(ExitCode.BAD_CONFIGURATION, unknown.exitCode());
        assertTrue(unknown.err().contains("name the store with --store"), unknown.err());
        assertFalse(Files.exists(workplace.storeFile()));
    }
}
