package dev.fencepost.edge.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.run.Action;
import dev.fencepost.run.Job;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Good files: what is written arrives as written, and what is not gets its default. */
class EffectiveValuesTest {

    @TempDir
    Path dir;

    private Job only(String yaml) throws IOException {
        return Readings.accepted(Readings.of(dir, yaml)).jobs().getFirst();
    }

    @Test
    void aJobWithACommandAloneHasAllDefaults() throws IOException {
        Job job = only("jobs: { a: { command: [date, -u] } }");
        assertEquals(new Every(Duration.ofMinutes(45), Instant.EPOCH), job.schedule());
        assertEquals("Etc/UTC", job.zone().getId());
        assertEquals(List.of("date", "-u"), command(job).words());
        assertEquals(dir, command(job).workingDir());
        assertEquals(Map.of(), command(job).env());
        assertNull(command(job).stdin());
        assertEquals(Duration.ofMinutes(81), job.ttl());
        assertNull(job.timeout());
        assertEquals(Duration.ofSeconds(10), job.grace());
        assertEquals(CatchUp.DEFAULT, job.catchUp());
        assertNull(job.startFrom());
        assertEquals(2, job.maxAttempts());
        assertEquals(Duration.ofMinutes(90), job.freshAfter());
    }

    @Test
    void everyValueCanBeWritten() throws IOException {
        Job job = only("""
                jobs:
                  a:
                    every: 1h30m
                    anchor: 2026-01-01T09:00:00+09:00
                    timezone: Asia/Tokyo
                    command: "echo $HOME | cat"
                    working-dir: .
                    env: { A: no, B: "", C: 010 }
                    stdin: |
                      two
                      lines
                    timeout: 20m
                    grace: 0s
                    lease: { ttl: 3s }
                    overlap: skip
                    catch-up: { max: 0, window: 2d }
                    start-from: 2026-01-01T00:00:00Z
                    max-attempts: 100
                    fresh-after: PT12H
                """);
        assertEquals(new Every(Duration.ofMinutes(90), Instant.parse("2026-01-01T00:00:00Z")), job.schedule());
        assertEquals(List.of("/bin/sh", "-c", "echo $HOME | cat"), command(job).words());
        assertEquals(Map.of("A", "no", "B", "", "C", "010"), command(job).env());
        assertEquals("two\nlines\n", command(job).stdin());
        assertEquals(Duration.ofMinutes(20), job.timeout());
        assertEquals(Duration.ZERO, job.grace());
        assertEquals(Duration.ofSeconds(3), job.ttl());
        assertEquals(new CatchUp(0, Duration.ofDays(2)), job.catchUp());
        assertEquals(Instant.parse("2026-01-01T00:00:00Z"), job.startFrom());
        assertEquals(100, job.maxAttempts());
        assertEquals(Duration.ofHours(12), job.freshAfter());
    }

    @Test
    void defaultsHoldForAllJobsAndAJobMayDiffer() throws IOException {
        JobsFile file = Readings.accepted(Readings.of(dir, """
                shutdown: { drain: 5s }
                defaults: { timezone: Asia/Tokyo, timeout: 5m, catch-up: { max: 3 }, env: { A: x, B: x } }
                jobs:
                  a: { command: [date] }
                  b: { command: [date], timezone: ~, timeout: none, catch-up: { max: null, window: 1h }, env: { B: y } }
                """));
        Job a = file.job("a").orElseThrow();
        Job b = file.job("b").orElseThrow();
        assertEquals(Duration.ofSeconds(5), file.drain());
        assertEquals(Duration.ofMinutes(5), a.timeout());
        assertNull(b.timeout());
        assertEquals("Asia/Tokyo", b.zone().getId());
        assertEquals(new CatchUp(3, Duration.ofHours(1)), b.catchUp());
        assertEquals(Map.of("A", "x", "B", "y"), command(b).env());
    }

    @ParameterizedTest
    @CsvSource({
        "every: 45m, 1h 21m",
        "every: 5s, 10s",
        "every: 7s, 13s",
        "every: 1d, 1d",
        "every: 13h, 23h 24m",
        "every: 14h, 1d",
        "cron: '0 0 29 2 *', 1d"
    })
    void theLeaseIsAsLongAsTheShortestGapAsks(String schedule, String ttl) throws IOException {
        Job job = only("jobs: { a: { " + schedule + ", command: [date] } }");
        assertEquals(ttl, DurationText.format(job.ttl()));
    }

    @Test
    void withoutAGapInTheComingYearThereIsNoFreshAfter() throws IOException {
        assertNull(only("jobs: { a: { cron: '0 0 29 2 *', command: [date] } }").freshAfter());
    }

    @Test
    void whiteSpaceAroundACronExpressionHasNoMeaning() throws IOException {
        Job job = only("jobs:\n  a:\n    cron: |\n      0 9 * * *\n    command: [date]\n");
        assertEquals(Instant.parse("2026-01-01T09:00:00Z"), job.schedule().next(Readings.NOW));
    }

    @Test
    void thePercentSignAndTheDollarAreOrdinaryCharacters() throws IOException {
        Job job = only("jobs: { a: { command: [date, -u, '+%Y-%m-%d', '+\\%Y'] } }");
        assertEquals(List.of("date", "-u", "+%Y-%m-%d", "+\\%Y"), command(job).words());
    }

    @Test
    void theLongestIdIsAllowed() throws IOException {
        String id = "a".repeat(63);
        assertEquals(id, only("jobs: { " + id + ": { command: [date] } }").id());
    }

    @Test
    void aliasesAreAllowed() throws IOException {
        JobsFile file = Readings.accepted(Readings.of(
                dir, "jobs:\n  a: { command: &c [date, -u], env: &e { A: x } }\n  b: { command: *c, env: *e }\n"));
        assertEquals(List.of("date", "-u"), command(file.job("b").orElseThrow()).words());
    }

    @Test
    void programsAreFoundInThePathOfTheJobAndInItsDirectory() throws IOException {
        Path bin = Files.createDirectory(dir.resolve("bin"));
        Path tool = Files.writeString(bin.resolve("mytool"), "#!/bin/sh\n");
        Files.setPosixFilePermissions(tool, PosixFilePermissions.fromString("rwx------"));
        assertEquals(
                "mytool",
                command(only("jobs: { a: { command: [mytool], env: { PATH: " + bin + " } } }"))
                        .words()
                        .getFirst());
        assertEquals(
                "./mytool",
                command(only("jobs: { a: { command: [./mytool], working-dir: bin } }"))
                        .words()
                        .getFirst());
    }

    @Test
    void valuesOfTheEnvFileAreSecretsAndTheJobsOwnOnesWin() throws IOException {
        Path secrets = Files.writeString(dir.resolve("a.env"), """
                # comment
                export API_KEY="s3cret # not a comment"
                PIN='12'
                PLAIN=a$HOME\\n
                LANG=C
                """);
        Files.setPosixFilePermissions(secrets, PosixFilePermissions.fromString("rw-------"));
        Definition a = Readings.job(
                Readings.of(
                        dir,
                        "jobs: { a: { command: [echo, 's3cret # not a comment'], env-file: a.env, env: { LANG: C.UTF-8 } } }"),
                "a");
        assertEquals("s3cret # not a comment", command(a.job()).env().get("API_KEY"));
        assertEquals("a$HOME\\n", command(a.job()).env().get("PLAIN"));
        assertEquals("12", command(a.job()).env().get("PIN"));
        assertEquals("C.UTF-8", command(a.job()).env().get("LANG"));
        assertEquals(Set.of("s3cret # not a comment", "a$HOME\\n"), a.job().secrets());
        assertFalse(a.values().toString().contains("s3cret"), () -> a.values().toString());
    }

    @Test
    void aBrokenEnvFileIsToldByLineWithoutItsContent() throws IOException {
        Path secrets = Files.writeString(dir.resolve("a.env"), "A=1\nhunter2\nA=2\nB=\"hunter3\n");
        Files.setPosixFilePermissions(secrets, PosixFilePermissions.fromString("rw-r--r--"));
        Reading reading = Readings.of(dir, "jobs: { a: { command: [date], env-file: a.env } }");
        assertEquals(
                List.of(2, 3, 4), reading.errors().stream().map(Finding::line).toList());
        assertEquals(secrets, reading.errors().getFirst().file());
        assertFalse(reading.toString().contains("hunter"));
        assertTrue(reading.warnings().getFirst().message().contains("everyone on this host can read"));
        assertTrue(reading.warnings().getFirst().hint().startsWith("chmod o-rwx"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "cron: '*/45 * * * *' | 45",
                "timeout: 2h | slots lie only 45m apart",
                "env: { API_TOKEN: abc } | looks like a secret",
                "command: [ls, '*'] | like shell syntax",
                "command: [echo, '$HOME', '&&', x] | like shell syntax",
                "command: [echo, --password=abc] | looks like a secret in the command",
                "cron: ~ | cron has no value"
            })
    void doubtfulThingsAreWarnedOf(String line, String part) throws IOException {
        String command = line.startsWith("command") ? "" : "    command: [date]\n";
        Reading reading = Readings.of(dir, "jobs:\n  a:\n" + command + "    " + line + "\n");
        Readings.accepted(reading);
        assertTrue(
                reading.warnings().stream().anyMatch(f -> f.message().contains(part)),
                () -> "" + Readings.texts(reading.warnings()));
    }

    @Test
    void aShellThatIsNamedMayHaveShellSyntax() throws IOException {
        assertEquals(
                List.of(),
                Readings.of(dir, "jobs: { a: { command: [sh, -c, 'echo $HOME > /dev/null'] } }")
                        .warnings());
    }

    @Test
    void aPromptIsNotTakenForShellSyntax() throws IOException {
        assertEquals(
                List.of(),
                Readings.of(dir, "jobs: { a: { command: [echo, 'Write * today; a < b && c'] } }")
                        .warnings());
    }

    @Test
    void theQuickstartIsGood() {
        Reading reading = Readings.of(Path.of("deploy/examples/quickstart.yaml").toAbsolutePath());
        assertEquals(
                List.of("tick", "morning"),
                List.copyOf(Readings.accepted(reading).definitions().keySet()));
        assertEquals(List.of(), reading.warnings());
    }

    @Test
    void anEmptySetOfJobsIsWarnedOf() throws IOException {
        Reading reading = Readings.of(dir, "jobs: {}\n");
        assertEquals(0, Readings.accepted(reading).jobs().size());
        assertEquals(1, reading.warnings().size());
    }

    static Action.Command command(Job job) {
        return (Action.Command) job.action();
    }
}
