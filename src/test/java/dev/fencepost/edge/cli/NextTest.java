package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NextTest {

    @TempDir
    Path dir;

    private void writeJobs() throws IOException {
        Files.writeString(dir.resolve("fencepost.yaml"), """
                defaults: { timezone: Asia/Tokyo }
                jobs:
                  a: { every: 1h, command: [date] }
                  b: { cron: "0 22 * * *", command: [date] }
                """);
    }

    @Test
    void plainIsOneInstantALineAndNothingElse() {
        CommandRun run = CommandRun.of(
                dir,
                "next",
                "--cron",
                "30 2 * * *",
                "--dialect",
                "unix",
                "--zone",
                "Europe/Berlin",
                "--after",
                "2026-03-28T01:30:00Z",
                "--count",
                "2",
                "--plain");
        assertEquals(new CommandRun(0, "2026-03-29T01:00:00Z\n2026-03-30T00:30:00Z\n", ""), run);
    }

    @Test
    void untilIsIncludedAndAfterIsNot() {
        CommandRun run = CommandRun.of(
                dir,
                "next",
                "--every",
                "1h",
                "--after",
                "2026-01-01T00:00:00Z",
                "--until",
                "2026-01-01T02:00:00Z",
                "--plain");
        assertEquals("2026-01-01T01:00:00Z\n2026-01-01T02:00:00Z\n", run.out());
    }

    @Test
    void anIntervalMayHaveAnAnchor() {
        CommandRun run = CommandRun.of(
                dir,
                "next",
                "--every",
                "2h",
                "--anchor",
                "2026-01-01T01:00:00Z",
                "--after",
                "2026-01-01T00:00:00Z",
                "--count",
                "1",
                "--plain");
        assertEquals("2026-01-01T01:00:00Z\n", run.out());
    }

    @Test
    void withoutLimitThereAreFiveFromNow() {
        CommandRun run = CommandRun.of(dir, "next", "--every", "45m");
        assertEquals(5, run.out().lines().count());
        assertEquals(
                "2026-03-28T12:45:00Z   Sat 2026-03-28 12:45:00 +00:00 Etc/UTC",
                run.out().lines().findFirst().orElseThrow());
    }

    @Test
    void aHundredThousandSlotsArePrintedAndOneMoreIsUsage() {
        CommandRun run = CommandRun.of(dir, "next", "--every", "1s", "--count", "100000", "--plain");
        assertEquals(100_000, run.out().lines().count());
        assertEquals(
                ExitCode.USAGE,
                CommandRun.of(dir, "next", "--every", "1s", "--count", "100001").exitCode());
    }

    @Test
    void allJobsAreMergedByTime() throws IOException {
        writeJobs();
        CommandRun run = CommandRun.of(dir, "next", "--count", "3");
        assertEquals("""
                2026-03-28T13:00:00Z   Sat 2026-03-28 22:00:00 +09:00 Asia/Tokyo   a
                2026-03-28T13:00:00Z   Sat 2026-03-28 22:00:00 +09:00 Asia/Tokyo   b
                2026-03-28T14:00:00Z   Sat 2026-03-28 23:00:00 +09:00 Asia/Tokyo   a
                """, run.out());
    }

    @Test
    void aJobOfTheFileIsReadInItsZone() throws IOException {
        writeJobs();
        JsonNode json = new ObjectMapper()
                .readTree(CommandRun.of(dir, "next", "b", "--count", "2", "--json")
                        .out());
        assertEquals(2, json.get("slots").size());
        assertEquals(
                "2026-03-28T13:00:00Z", json.get("slots").get(0).get("slot").asText());
        assertEquals(ExitCode.REFUSED, CommandRun.of(dir, "next", "c").exitCode());
    }

    @Test
    void warningsGoToPeopleAndNotIntoThePlainOutput() {
        assertTrue(CommandRun.of(dir, "next", "--cron", "*/45 * * * *").err().startsWith("warning: "));
        assertEquals(
                "",
                CommandRun.of(dir, "next", "--cron", "*/45 * * * *", "--plain").err());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--cron|61 * * * *",
                "--cron|0 0 30 2 *",
                "--cron|",
                "--every|0s",
                "--every|-5m",
                "--every|45",
                "--every|300y"
            })
    void anExpressionThatIsRefusedIsBadConfiguration(String option, String value) {
        CommandRun run = CommandRun.of(dir, "next", option, value == null ? "" : value, "--plain");
        assertEquals(ExitCode.BAD_CONFIGURATION, run.exitCode(), run.err());
        assertEquals("", run.out());
        assertFalse(run.err().contains("Exception"), run.err());
    }

    @ParameterizedTest
    @CsvSource({
        "--zone, Nowhere/City, 78",
        "--zone, '', 78",
        "--after, tomorrow, 2",
        "--until, 2026-01-01, 2",
        "--count, 0, 2",
        "--count, many, 2",
        "--dialect, vixie, 2",
        "--anchor, 2026-01-01T00:00:00Z, 2"
    })
    void wrongOptionsHaveTheirExitCodes(String option, String value, int exitCode) {
        CommandRun run = CommandRun.of(dir, "next", "--cron", "0 0 * * *", option, value);
        assertEquals(exitCode, run.exitCode(), run.err());
        assertEquals("", run.out());
    }

    @Test
    void twoSourcesOfSlotsAreUsage() {
        assertEquals(
                ExitCode.USAGE, CommandRun.of(dir, "next", "a", "--every", "1h").exitCode());
        assertEquals(
                ExitCode.USAGE,
                CommandRun.of(dir, "next", "a", "--zone", "Etc/UTC").exitCode());
    }

    @Test
    void aNegativeIntervalIsAValueAndNotAnOption() {
        assertTrue(CommandRun.of(dir, "next", "--every=-5m").err().contains("is negative"));
    }
}
