package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

class MainTest {

    @TempDir
    Path dir;

    @Test
    void withoutArgumentsTheHelpIsPrinted() {
        CommandRun run = CommandRun.of(dir);
        assertEquals(ExitCode.FINE, run.exitCode());
        assertTrue(run.out().startsWith("Usage: fencepost "), run.out());
        assertTrue(run.out().contains("78  "), run.out());
        assertEquals("", run.err());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "validate",
                "explain",
                "next",
                "run",
                "status",
                "history",
                "events",
                "why",
                "trigger",
                "pause",
                "resume",
                "cancel",
                "reload",
                "lease",
                "effects",
                "demo",
                "doctor",
                "health",
                "completion",
                "man"
            })
    void eachCommandHasAHelpWithExamplesAndNoColours(String command) {
        CommandRun run = CommandRun.of(dir, command, "--help");
        assertEquals(ExitCode.FINE, run.exitCode());
        assertTrue(run.out().contains("Examples:"), run.out());
        assertTrue(run.out().contains("  fencepost " + command), run.out());
        assertTrue(run.out().contains("--state-dir"), run.out());
        assertFalse(run.out().contains("\u001b"), run.out());
    }

    /** Picocli takes them for formats, and complains on the error output of one that is none. */
    @Test
    void eachTextOfAHelpIsAFormat() {
        checkFormats(CommandCasesTest.program());
    }

    private static void checkFormats(CommandLine command) {
        CommandSpec spec = command.getCommandSpec();
        Stream.concat(
                        Stream.of(
                                        spec.usageMessage().description(),
                                        spec.usageMessage().footer())
                                .flatMap(Stream::of),
                        Stream.concat(spec.options().stream(), spec.positionalParameters().stream())
                                .flatMap(each -> Stream.of(each.description())))
                .forEach(text ->
                        assertDoesNotThrow(() -> String.format(text), () -> spec.qualifiedName() + ": " + text));
        command.getSubcommands().values().forEach(MainTest::checkFormats);
    }

    @Test
    void theVersionIsThatOfTheBuild() throws IOException {
        String version = CommandRun.of(dir, "--version").out().strip();
        String number = version.substring("fencepost ".length());
        assertTrue(Files.readString(Path.of("pom.xml")).contains("<version>" + number), version);
    }

    @Test
    void aWrongWordIsUsageAndTheNearestCommandIsNamed() {
        CommandRun run = CommandRun.of(dir, "valdate");
        assertEquals(ExitCode.USAGE, run.exitCode());
        assertTrue(run.err().contains("Did you mean: fencepost validate"), run.err());
        assertEquals("", run.out());
        assertEquals(ExitCode.USAGE, CommandRun.of(dir, "validate", "--frob").exitCode());
        assertEquals(ExitCode.USAGE, CommandRun.of(dir, "explain").exitCode());
    }

    @Test
    void sharedOptionsStandBeforeOrAfterTheCommand() throws IOException {
        Files.writeString(dir.resolve("x.yaml"), "jobs: { a: { command: [date] } }\n");
        String file = dir.resolve("x.yaml").toString();
        CommandRun before = CommandRun.of(dir, "--config", file, "--json", "validate");
        CommandRun after = CommandRun.of(dir, "validate", "--config", file, "--json");
        assertEquals(before, after);
        assertEquals("{\"ok\":true,\"errors\":[],\"warnings\":[],\"jobs\":1}\n", after.out());
    }

    @Test
    void theJobsFileIsFoundByTheEnvironment() throws IOException {
        Files.writeString(dir.resolve("x.yaml"), "jobs: { a: { command: [date] } }\n");
        CommandRun run = CommandRun.of(dir, Map.of("FENCEPOST_CONFIG", "x.yaml"), "validate");
        assertEquals("x.yaml: good: 1 job, 0 warnings\n", run.out());
    }

    @Test
    void storeAndStateDirectoryFollowTheOptions() {
        SharedOptions shared = new SharedOptions(new Surroundings(
                new java.io.PrintWriter(new java.io.StringWriter()),
                new java.io.PrintWriter(new java.io.StringWriter()),
                Map.of("STATE_DIRECTORY", "/var/lib/fencepost:/x"),
                dir,
                java.time.InstantSource.fixed(CommandRun.NOW),
                false));
        assertEquals(Path.of("/var/lib/fencepost"), shared.stateDir());
        assertEquals(
                "sqlite:/var/lib/fencepost/fencepost.db", shared.store(null).display());
        new picocli.CommandLine(new Fencepost(shared)).parseArgs("--store", "sqlite:x.db", "--state-dir", "s");
        assertEquals(dir.resolve("s"), shared.stateDir());
        assertEquals("sqlite:" + dir.resolve("x.db"), shared.store(null).display());
    }
}
