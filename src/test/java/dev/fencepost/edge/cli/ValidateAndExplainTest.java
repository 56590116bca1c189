package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a person and a script get to read, letter by letter. */
class ValidateAndExplainTest {

    private static final String GOOD = """
            store: postgresql://fencepost:hunter2@db1,db2/fencepost
            defaults: { timezone: Europe/Berlin, timeout: 60m, working-dir: / }
            jobs:
              article:
                every: 45m
                command: [date, "+%F %T"]
                env: { LANG: C.UTF-8 }
                env-file: article.env
              nightly:
                cron: "30 2 * * *"
                command: echo hello
                timeout: 5m
            """;

    @TempDir
    Path dir;

    @BeforeEach
    void writeFiles() throws IOException {
        write("article.env", "API_KEY=hunter3\n");
        write("fencepost.yaml", GOOD);
    }

    private void write(String name, String text) throws IOException {
        Path file = Files.writeString(dir.resolve(name), text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    @Test
    void aGoodFileIsGoodAndItsWarningsAreShown() {
        CommandRun run = CommandRun.of(dir, "validate");
        assertEquals(ExitCode.FINE, run.exitCode());
        assertEquals("fencepost.yaml: good: 2 jobs, 1 warning\n", run.out());
        assertEquals("""
                fencepost.yaml:5:12: warning: jobs.article.every: a run may take 1h, but slots lie only 45m apart
                    slots that come due during a run are skipped; a timeout below the gap avoids that
                """, run.err());
    }

    @Test
    void aBadFileIsRefusedWithAllItsErrors() throws IOException {
        write("fencepost.yaml", "jobs:\n  a:\n    every: 45\n    comand: [date]\n  B: { command: [date] }\n");
        CommandRun run = CommandRun.of(dir, "validate");
        assertEquals(ExitCode.BAD_CONFIGURATION, run.exitCode());
        assertEquals("", run.out());
        assertEquals("""
                fencepost.yaml:3:12: error: jobs.a.every: "45" has no unit
                    write 45s for seconds, 45m for minutes or 45h for hours
                fencepost.yaml:4:5: error: jobs.a.comand: the key "comand" is unknown
                    did you mean command?
                fencepost.yaml:5:3: error: jobs: the job id "B" is not allowed
                    an id has 1 to 63 characters of a-z, 0-9, dot, dash and _, and begins with a letter or digit
                refused: 3 errors, 0 warnings
                """, run.err());
        JsonNode json = new ObjectMapper()
                .readTree(CommandRun.of(dir, "validate", "--json").out());
        assertFalse(json.get("ok").asBoolean());
        assertEquals(3, json.get("errors").size());
        assertEquals(
                "{\"file\":\"fencepost.yaml\",\"line\":4,\"column\":5,\"path\":\"jobs.a.comand\","
                        + "\"message\":\"the key \\\"comand\\\" is unknown\",\"hint\":\"did you mean command?\"}",
                json.get("errors").get(1).toString());
    }

    /** As {@code serve}, which would end with the same code. */
    @Test
    void tokensThatCannotBeUsedRefuseTheFile() throws IOException {
        write("fencepost.yaml", "api: { token-file: tokens }\n" + GOOD);
        write("tokens", "");
        Files.setPosixFilePermissions(dir.resolve("tokens"), PosixFilePermissions.fromString("rw-r--r--"));
        CommandRun run = CommandRun.of(dir, "validate");
        assertEquals(ExitCode.BAD_CONFIGURATION, run.exitCode());
        assertTrue(
                run.err(dir).startsWith("fencepost.yaml: error: api.token-file: the token file DIR/tokens "), run::err);
    }

    @Test
    void aMissingFileNamesThePlacesLookedAt() throws IOException {
        Files.delete(dir.resolve("fencepost.yaml"));
        CommandRun run = CommandRun.of(dir, "validate", "--config", "x.yaml");
        assertEquals(ExitCode.BAD_CONFIGURATION, run.exitCode());
        assertTrue(run.err(dir).startsWith("x.yaml: error: the file \"DIR/x.yaml\" does not exist\n"), run.err());
        CommandRun explain = CommandRun.of(dir, "explain", "article");
        assertEquals(ExitCode.BAD_CONFIGURATION, explain.exitCode());
        assertEquals("""
                fencepost.yaml: error: there is no jobs file; looked at DIR/fencepost.yaml and /etc/fencepost/fencepost.yaml
                    name the jobs file with --config FILE or $FENCEPOST_CONFIG
                """, explain.err(dir));
    }

    @Test
    void aJobIsExplainedValueByValue() {
        CommandRun run = CommandRun.of(dir, "explain", "nightly");
        assertEquals(ExitCode.FINE, run.exitCode());
        assertEquals("""
                job nightly  (fencepost.yaml:9)

                  cron                           30 2 * * *          fencepost.yaml:10
                  timezone                       Europe/Berlin       defaults, fencepost.yaml:2
                  command                        sh -c 'echo hello'  fencepost.yaml:11
                  working-dir                    /                   defaults, fencepost.yaml:2
                  env-file                       none                built in: no secrets
                  stdin                          none                built in: empty input, so that nothing waits for a terminal
                  run-as                         none                built in: the runner's own user
                  timeout                        5m                  fencepost.yaml:12
                  grace                          10s                 built in: from SIGTERM to SIGKILL
                  lease.ttl                      1d                  built in: 1.8 × the shortest gap of the coming year (23h 30m), at least 10s, at most 1d
                  overlap                        skip                built in: two runs never overlap
                  catch-up.max                   1                   built in: the newest missed slot
                  catch-up.window                none                built in: no bound
                  catch-up.stagger               0s                  built in: missed slots start at once
                  start-from                     none                built in: from the first time the job is seen
                  max-attempts                   2                   built in: one more try after a crash or a lost lease
                  jitter                         0s                  built in: a run starts when its slot comes due
                  silence                        none                built in: a run may be quiet
                  retry.max                      0                   built in: a failure is final
                  retry.backoff                  1m                  built in: doubled after each further failure, up to a day
                  retry.on-exit-codes            none                built in: after any exit code
                  retry.only                     any                 built in: after a failure of any kind
                  succeed-if.output-matches      none                built in: the exit code alone counts
                  succeed-if.output-not-matches  none                built in: the exit code alone counts
                  succeed-if.result-not-empty    false               built in: a run may have no result
                  classify                       none                built in: all failures are alike
                  pause-after-failures           5                   built in: failed ticks in a row; 0 for never
                  max-runs-per-day               none                built in: any number
                  fresh-after                    2d 2h 5m            built in: 2 × the longest gap of the coming year (1d 1h) + timeout
                  publish                        none                built in: nothing is given out but what a run announces itself
                  notify                         none                built in: nobody is told

                next slots, in Europe/Berlin and in UTC
                  Sun 2026-03-29 03:00:00 +02:00   2026-03-29T01:00:00Z
                  Mon 2026-03-30 02:30:00 +02:00   2026-03-30T00:30:00Z
                  Tue 2026-03-31 02:30:00 +02:00   2026-03-31T00:30:00Z
                  Wed 2026-04-01 02:30:00 +02:00   2026-04-01T00:30:00Z
                  Thu 2026-04-02 02:30:00 +02:00   2026-04-02T00:30:00Z
                """, run.out().replaceFirst("\nno advice on the ttl: the store gave no answer: [^\n]*\n$", ""));
    }

    @Test
    void secretsAreNotShown() {
        CommandRun run = CommandRun.of(dir, "explain", "article");
        assertTrue(run.out().contains("env.API_KEY"), run.out());
        assertFalse((run + "" + CommandRun.of(dir, "explain", "article", "--json")).contains("hunter"));
    }

    @Test
    void aJobIsExplainedToScriptsToo() throws IOException {
        JsonNode json = new ObjectMapper()
                .readTree(CommandRun.of(dir, "explain", "nightly", "--json").out());
        assertEquals("nightly", json.get("job").asText());
        JsonNode ttl = json.get("values")
                .valueStream()
                .filter(v -> v.get("key").asText().equals("lease.ttl"))
                .findFirst()
                .orElseThrow();
        assertEquals("built_in", ttl.get("origin").asText());
        assertTrue(ttl.get("line").isNull());
        assertEquals(
                "2026-03-29T01:00:00Z",
                json.get("next_slots").get(0).get("slot").asText());
        assertEquals(
                "2026-03-29T03:00:00+02:00",
                json.get("next_slots").get(0).get("local").asText());
    }

    @Test
    void anUnknownJobIsRefusedWithTheNearestId() {
        CommandRun run = CommandRun.of(dir, "explain", "artikle");
        assertEquals(ExitCode.REFUSED, run.exitCode());
        assertEquals("there is no job \"artikle\" in fencepost.yaml\n    did you mean article?\n", run.err());
        assertTrue(CommandRun.of(dir, "explain", "zzz").err().contains("known: article, nightly"));
    }
}
