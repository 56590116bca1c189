package dev.fencepost.edge.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each wrong file is refused at the right place, with what was written and what to write instead. */
class BadInputTest {

    /** @param expected each a place, a path, and parts of message and hint joined by {@code ~} */
    record Bad(String name, String yaml, List<String> expected) {
        @Override
        public String toString() {
            return name;
        }
    }

    @TempDir
    Path dir;

    @ParameterizedTest
    @MethodSource({"jobs", "wholes"})
    void isRefusedAtItsPlace(Bad bad) throws IOException {
        check(dir, bad);
    }

    static void check(Path dir, Bad bad) throws IOException {
        Reading reading = Readings.of(dir, bad.yaml);
        List<String> texts = Readings.texts(reading.errors());
        assertEquals(bad.expected.size(), texts.size(), () -> bad.expected + "\nbut was\n" + String.join("\n", texts));
        for (int i = 0; i < texts.size(); i++) {
            String text = texts.get(i);
            for (String part : bad.expected.get(i).split("~", -1)) {
                assertTrue(text.contains(part), () -> "no " + part + " in " + text);
            }
            assertTrue(text.startsWith(bad.expected.get(i).split("[ ~]", -1)[0] + " "), text);
        }
    }

    /** One key of a job that is good apart from it; the key stands in line 4, column 5. */
    static Bad key(String line, String... expected) {
        return new Bad(line, "jobs:\n  a:\n    command: [date]\n    " + line + "\n", List.of(expected));
    }

    /** A job with nothing but this command. */
    private static Bad command(String line, String... expected) {
        return new Bad(line, "jobs:\n  a:\n    every: 1h\n    " + line + "\n", List.of(expected));
    }

    static Stream<Bad> jobs() {
        return Stream.of(
                // INT-09 and every other duration that is none
                key("every: 0s", "4:12 jobs.a.every:~\"0s\" is zero~1s"),
                key("every: -5m", "4:12 jobs.a.every:~\"-5m\" is negative"),
                key("every: PT0.0001S", "4:12 jobs.a.every:~finer than a millisecond"),
                key("every: 500ms", "4:12 jobs.a.every:~too short"),
                key("every: 1500ms", "4:12 jobs.a.every:~fraction of a second"),
                key("every: 300y", "4:12 jobs.a.every:~unknown unit \"y\"~w, d, h"),
                key("every: 9223372036854775807s", "4:12 jobs.a.every:~\"9223372036854775807s\" is too long~ten years"),
                key("every: PT9223372036854775808S", "4:12 jobs.a.every:~too long"),
                key("every: P1000000000D", "4:12 jobs.a.every:~too long"),
                key("every: \"\"", "4:12 jobs.a.every:~empty"),
                key("every: 45", "4:12 jobs.a.every:~\"45\" has no unit~45m for minutes"),
                key("every: 1.5h", "4:12 jobs.a.every:~not a whole number~1h30m"),
                key("every: 30m1h", "4:12 jobs.a.every:~out of order"),
                key("every: 45 minutes", "4:12 jobs.a.every:~unknown unit \"minutes\""),
                key("every: 45M", "4:12 jobs.a.every:~unknown unit \"M\""),
                key("every: soon", "4:12 jobs.a.every:~\"soon\" is no duration"),
                key("every: [1h]", "4:12 jobs.a.every:~single value, not a list"),
                key("{every: 1h}", "5:1 :~YAML"),
                key("anchor: 2026-01-01", "4:13 jobs.a.anchor:~no instant~2026-03-29T01:00:00Z"),
                key("anchor: 2026-01-01T00:00:00.5Z", "4:13 jobs.a.anchor:~fraction"),
                key("start-from: 2026-01-01T00:00:00", "4:17 jobs.a.start-from:~no instant"),
                // cron and zones
                key("cron: \"61 * * * *\"", "4:11 jobs.a.cron:~61"),
                key("cron: \"* * * *\"", "4:11 jobs.a.cron:"),
                key("cron: \"0 0 30 2 *\"", "4:11 jobs.a.cron:~never fires"),
                key("cron: \"0 0 * * *\"\n    every: 1h", "4:11 jobs.a.cron:~both every and cron"),
                key("cron: \"0 0 * * *\"\n    dialect: vixie", "5:14 jobs.a.dialect:~unix"),
                key("cron: \"0 0 * * *\"\n    dialect: quartz", "4:11 jobs.a.cron:"),
                key("cron: \"0 0 * * *\"\n    anchor: 2026-01-01T00:00:00Z", "5:13 jobs.a.anchor:~belongs to every"),
                key("every: 1h\n    dialect: unix", "5:14 jobs.a.dialect:~belongs to cron"),
                key("timezone: Europe/Berln", "4:15 jobs.a.timezone:~Europe/Berln~Europe/Berlin"),
                key("timezone: CEST", "4:15 jobs.a.timezone:~CEST"),
                key("timezone: \"\"", "4:15 jobs.a.timezone:~empty~IANA"),
                key("timezone: GMT+25", "4:15 jobs.a.timezone:~GMT+25"),
                // LEA-12
                key("lease: { ttl: 0s }", "4:19 jobs.a.lease.ttl:~zero~the least is 3s"),
                key("lease: { ttl: -10s }", "4:19 jobs.a.lease.ttl:~negative"),
                key("lease: { ttl: 1ms }", "4:19 jobs.a.lease.ttl:~too short~3s"),
                key("lease: { ttl: 2999ms }", "4:19 jobs.a.lease.ttl:~too short"),
                key("lease: { ttl: P1000000000D }", "4:19 jobs.a.lease.ttl:~too long"),
                key("lease: { ttl: 31d }", "4:19 jobs.a.lease.ttl:~too long~30d"),
                key("lease: { ttl: 9223372036854775807s }", "4:19 jobs.a.lease.ttl:~too long"),
                key("lease: { ttl: 30 }", "4:19 jobs.a.lease.ttl:~no unit"),
                key("lease: 30s", "4:12 jobs.a.lease:~must be a mapping~lease: { ttl"),
                // CAT-14
                key("catch-up: { max: -1 }", "4:22 jobs.a.catch-up.max:~\"-1\" is no whole number~from 0 to 10000"),
                key("catch-up: { max: 1000000000 }", "4:22 jobs.a.catch-up.max:~out of range"),
                key("catch-up: { max: 10001 }", "4:22 jobs.a.catch-up.max:~out of range"),
                key("catch-up: { max: three }", "4:22 jobs.a.catch-up.max:~\"three\""),
                key("catch-up: { max: 2.5 }", "4:22 jobs.a.catch-up.max:~\"2.5\""),
                key("catch-up: { max: 0o10 }", "4:22 jobs.a.catch-up.max:~\"0o10\""),
                key("catch-up: { max: 010 }", "4:22 jobs.a.catch-up.max:~\"010\" is ambiguous"),
                key("catch-up: { max: 99999999999999999999 }", "4:22 jobs.a.catch-up.max:~no whole number"),
                key("catch-up: { window: 0s }", "4:25 jobs.a.catch-up.window:~zero"),
                key("catch-up: 3", "4:15 jobs.a.catch-up:~mapping~catch-up: { max: 1 }"),
                key("timeout: 0s", "4:14 jobs.a.timeout:~zero"),
                key("grace: 2h", "4:12 jobs.a.grace:~too long~1h"),
                key("max-attempts: 0", "4:19 jobs.a.max-attempts:~1 to 100"),
                key("max-attempts: 101", "4:19 jobs.a.max-attempts:~1 to 100"),
                key("fresh-after: 0s", "4:18 jobs.a.fresh-after:~zero"),
                key(
                        "overlap: never",
                        "4:14 jobs.a.overlap:~\"never\" is no overlap policy~skip, buffer-one or take-over"),
                // keys
                key("timout: 5s", "4:5 jobs.a.timout:~unknown~did you mean timeout?"),
                key("max_backfill: 3", "4:5 jobs.a.max_backfill:~unknown~catch-up: { max"),
                key("ttl: 3s", "4:5 jobs.a.ttl:~unknown~lease: { ttl"),
                key("frobnicate: 3", "4:5 jobs.a.frobnicate:~unknown~known here: every,"),
                key("Every: 1h", "4:5 jobs.a.Every:~did you mean every?"),
                key("every: 1h\n    every: 2h", "5:5 jobs.a.every:~twice, first in line 4"),
                key("<<: { every: 1h }", "4:5 jobs.a:~merge key"),
                key("stdin: !!binary aGk=", "4:12 jobs.a.stdin:~tag"),
                // env and working-dir
                key("env: { A: }", "4:12 jobs.a.env.A:~null~\"\""),
                key("env: { A: [x] }", "4:15 jobs.a.env.A:~single value"),
                key("env: { 1A: x }", "4:12 jobs.a.env:~\"1A\" is no name"),
                key("env: { \"A=B\": x }", "4:12 jobs.a.env:~\"A=B\" is no name"),
                key("env: { FENCEPOST_JOB: x }", "4:12 jobs.a.env.FENCEPOST_JOB:~set for each run"),
                key("env: { A: \"x\\0y\" }", "4:15 jobs.a.env.A:~NUL"),
                key("env: [A=B]", "4:10 jobs.a.env:~mapping"),
                key("env-file: /no/such/file", "4:15 jobs.a.env-file:~does not exist"),
                key("env-file: /", "4:15 jobs.a.env-file:~is a directory"),
                key("working-dir: /no/such/dir", "4:18 jobs.a.working-dir:~\"/no/such/dir\" does not exist"),
                key("working-dir: /etc/passwd", "4:18 jobs.a.working-dir:~not a directory"),
                // CHP-12 and commands that cannot be started
                command("command: []", "4:14 jobs.a.command:~empty"),
                command("command: \"\"", "4:14 jobs.a.command:~empty"),
                command("command: [\"  \"]", "4:14 jobs.a.command:~blank"),
                command("command: [\"\", \"x\"]", "4:14 jobs.a.command:~blank"),
                command("command: null", "4:5 jobs.a.command:~no value"),
                command("stdin: x", "2:3 jobs.a.command:~no command"),
                command("command: { a: b }", "4:14 jobs.a.command:~list or a text"),
                command("command: [date, ~]", "4:21 jobs.a.command[1]:~null~quotes"),
                command(
                        "command: [no-such-program-here]",
                        "4:14 jobs.a.command:~no program \"no-such-program-here\" in the PATH"),
                command("command: [\"date -u\"]", "4:14 jobs.a.command:~first word is the program alone"),
                command("command: [./missing.sh]", "4:14 jobs.a.command:~there is no file"),
                command("command: [/etc/passwd]", "4:14 jobs.a.command:~not executable~chmod +x"),
                command("command: [/etc]", "4:14 jobs.a.command:~is a directory"),
                command("command: [date, \"a\\0b\"]", "4:14 jobs.a.command:~NUL"));
    }

    static Stream<Bad> wholes() {
        return Stream.of(
                new Bad("empty file", "", List.of("0:0 :~empty")),
                new Bad("only a comment", "# nothing\n", List.of("0:0 :~empty")),
                new Bad("a list", "- a\n", List.of("1:1 :~not a mapping")),
                new Bad("no jobs", "{}\n", List.of("1:1 jobs:~no jobs")),
                new Bad("jobs as a list", "jobs:\n  - id: a\n", List.of("2:3 jobs:~not a list~jobs: { article")),
                new Bad("a job that is a text", "jobs: { a: date }\n", List.of("1:12 jobs.a:~mapping")),
                new Bad("capital id", "jobs: { Article: { command: [date] } }\n", List.of("1:9 jobs:~\"Article\"~a-z")),
                new Bad("blank in id", "jobs: { \"a b\": { command: [date] } }\n", List.of("1:9 jobs:~\"a b\"")),
                new Bad("null id", "jobs: { ~: { command: [date] } }\n", List.of("1:9 jobs:~the key is empty~quotes")),
                new Bad("a list as id", "jobs: { [a]: { command: [date] } }\n", List.of("1:9 jobs:~single word")),
                new Bad(
                        "the same id twice",
                        "jobs:\n  a: { command: [date] }\n  a: { command: [date] }\n",
                        List.of("3:3 jobs.a:~twice, first in line 2")),
                new Bad(
                        "second document",
                        "jobs: { a: { command: [date] } }\n---\njobs: {}\n",
                        List.of("2:1 :~second document")),
                new Bad("deep", "jobs: " + "[".repeat(3000), List.of("1:22 :~deeper than 16")),
                new Bad(
                        "aliases",
                        "jobs: { a: &a x, b: [" + "*a, ".repeat(101) + "] }",
                        List.of("1:422 :~100 aliases")),
                new Bad("control character", "jobs: a\u0001b\n", List.of("1:8 :~U+0001")),
                new Bad("undefined alias", "jobs:\n  a: *b\n", List.of("2:6 :~refers to no anchor")),
                new Bad("at sign", "jobs:\n  a:\n    cron: @daily\n", List.of("3:11 :~cannot begin with @~in quotes")),
                new Bad("tab between", "jobs:\n  a:\n    every:\t1h\n", List.of("3:11 :~tab")),
                new Bad(
                        "star in flow",
                        "jobs:\n  a: { cron: * * * * *, command: [date] }\n",
                        List.of("2:14 :~put the cron expression in quotes")),
                new Bad(
                        "bad indentation",
                        "jobs:\n  a:\n    every: 1h\n   command: [date]\n",
                        List.of("4:4 :~cannot be read")),
                new Bad(
                        "unknown store",
                        "store: mysql://u:pw@h/db\njobs: {}\n",
                        List.of("1:8 store:~\"mysql\"~sqlite:PATH or postgresql:")),
                new Bad("planned", "logs: {}\njobs: {}\n", List.of("1:1 logs:~not available in this version")),
                new Bad(
                        "state dir in the file",
                        "state-dir: /x\njobs: {}\n",
                        List.of("1:1 state-dir:~unknown~--state-dir")),
                new Bad("drain", "shutdown: { drain: -1s }\njobs: {}\n", List.of("1:20 shutdown.drain:~negative")),
                new Bad("defaults", "defaults: { every: 1h }\njobs: {}\n", List.of("1:13 defaults.every:~unknown")),
                new Bad(
                        "recursion",
                        "jobs: &j\n  a: *j\n",
                        List.of("2:3 jobs.a.a:~unknown", "2:3 jobs.a.command:~no command")));
    }

    @Test
    void allErrorsAreToldAtOnceInTheOrderOfTheFile() throws IOException {
        Reading reading = Readings.of(dir, """
                stroe: x
                defaults: { timezone: Nowhere/City, timeout: 5 }
                jobs:
                  a: { every: 45, comand: [date] }
                  b: { command: [no-such-program-here] }
                """);
        assertEquals(
                List.of(
                        "stroe",
                        "defaults.timezone",
                        "defaults.timeout",
                        "jobs.a.every",
                        "jobs.a.comand",
                        "jobs.b.command"),
                reading.errors().stream().map(Finding::path).toList());
    }

    @Test
    void whatIsWrongUnderDefaultsIsToldOnceAndNotForEachJob() throws IOException {
        Reading reading = Readings.of(
                dir, "defaults: { lease: { ttl: 1s } }\njobs:\n  a: { command: [date] }\n  b: { command: [date] }\n");
        assertEquals(1, reading.errors().size(), () -> "" + Readings.texts(reading.errors()));
    }

    @Test
    void aPasswordIsNeverRepeated() throws IOException {
        Reading reading = Readings.of(
                dir,
                "store: \"postgresql://me:hunter2@/x?password=hunter3\"\njobs:\n  a: { command: [date], env: { X: } }\n");
        assertFalse(Readings.texts(reading.errors()).toString().contains("hunter"));
        assertEquals(2, reading.errors().size());
    }

    @Test
    void controlCharactersOfTheFileDoNotReachTheTerminal() throws IOException {
        Reading reading = Readings.of(dir, "jobs: { \"a\\e[31m\": { command: [date] } }\n");
        assertTrue(
                reading.errors().getFirst().text().contains("a\\u{1b}[31m"),
                reading.errors().getFirst().text());
    }

    @Test
    void lineSeparatorsOfTheFileDoNotReachTheTerminal() throws IOException {
        Reading reading = Readings.of(dir, "jobs: { \"a\u2028b\": { command: [date] } }\n");
        assertTrue(
                reading.errors().getFirst().text().contains("a\\u{2028}b"),
                reading.errors().getFirst().text());
    }

    @Test
    void anEscapeThatIsCutOffIsToldByItsPlace() throws IOException {
        assertEquals(
                List.of("1:5 : the YAML cannot be read from here on"
                        + " [between double quotes a backslash begins an escape such as \\u00e9: is one cut off?]"),
                Readings.texts(Readings.of(dir, "jobs: \"0\\u").errors()));
    }

    @Test
    void ofManyThousandMistakesTheFirstThousandAreTold() throws IOException {
        StringBuilder yaml = new StringBuilder("jobs: {}\n");
        for (int i = 0; i < 5_000; i++) {
            yaml.append("k").append(i).append(": 1\n");
        }
        List<Finding> errors = Readings.of(dir, yaml.toString()).errors();
        assertEquals(1_000, errors.size());
        assertEquals("k0", errors.getFirst().path());
    }

    @Test
    void theExpressionsOfAFileHaveARoomTogether() throws IOException {
        StringBuilder yaml = new StringBuilder("jobs:\n");
        for (int i = 0; i < 200; i++) {
            yaml.append("  j" + i + ": { command: [date], succeed-if: { output-matches: '(a{90}){90}' } }\n");
        }
        List<Finding> errors = Readings.of(dir, yaml.toString()).errors();
        assertEquals(1, errors.size(), () -> "" + Readings.texts(errors));
        assertTrue(
                errors.getFirst().message().contains("too large together"),
                errors.getFirst().message());
        assertTrue(
                errors.getFirst().path().matches("jobs\\.j1[0-9]{2}\\.succeed-if\\.output-matches"),
                errors.getFirst().path());
    }

    @Test
    void aLongNameIsCutInThePath() throws IOException {
        String error = Readings.of(dir, "jobs: { a: { command: [date], " + "k".repeat(5_000) + ": 1 } }\n")
                .errors()
                .getFirst()
                .text();
        assertTrue(error.length() < 500, error);
    }

    /** Opened, it would be waited for until somebody writes into it. */
    @Test
    void aPipeIsNoFileOfSecrets() throws Exception {
        Path pipe = dir.resolve("pipe");
        assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
        Reading reading = assertTimeoutPreemptively(
                Duration.ofSeconds(10),
                () -> Readings.of(dir, "jobs: { a: { command: [date], env-file: " + pipe + " } }\n"));
        assertTrue(
                reading.errors().getFirst().message().contains("is no plain file"),
                reading.errors().getFirst().message());
    }

    @Test
    void filesThatAreNoneAreRefused() {
        assertTrue(Readings.of(dir).errors().getFirst().message().contains("is a directory"));
        assertTrue(Readings.of(dir.resolve("x")).errors().getFirst().message().contains("does not exist"));
        assertTrue(
                Readings.of(Path.of("/dev/zero")).errors().getFirst().message().contains("larger than 1 MiB"));
        assertTrue(Readings.of(Path.of("/proc/self/mem"))
                .errors()
                .getFirst()
                .message()
                .contains("cannot be read"));
    }
}
