package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The launcher and what the build has made for it: the JVM takes the caches, wherever the program stands, and can do without them; SQLite
 * takes its library.
 */
@Tag("faults")
class AotCacheIT {

    /** Then the JVM does not start without the cache. */
    private static final String ONLY_WITH_IT = "-XX:AOTMode=on";

    @TempDir
    Path folder;

    private record Ended(int code, String said) {}

    private static Ended run(Path program, String options, String... words) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(Stream.concat(Stream.of(program.toString()), Stream.of(words))
                        .toList())
                .redirectErrorStream(true);
        builder.environment().put("FENCEPOST_JAVA_OPTS", options);
        Process process = builder.start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Ended(process.waitFor(), said);
    }

    /** Of the service and of all other commands, which have a cache each. */
    private static List<Ended> helps(Path program, String options) throws Exception {
        return List.of(run(program, options, "serve", "--help"), run(program, options, "status", "--help"));
    }

    @Test
    void serviceAndCommandsStartOutOfTheirCaches() throws Exception {
        for (Ended ended : helps(ServeProcess.PROGRAM, ONLY_WITH_IT)) {
            assertEquals(0, ended.code(), ended::said);
        }
    }

    @Test
    void movedWithTheirTimesTheyStillDoAndAfterAChangeTheyStartWithoutAndSayNothing() throws Exception {
        Path moved = Files.createDirectory(folder.resolve("another place"));
        copy(ServeProcess.PROGRAM.getParent().resolve("quarkus-app"), moved.resolve("quarkus-app"));
        Path program = Files.copy(ServeProcess.PROGRAM, moved.resolve("fencepost"), StandardCopyOption.COPY_ATTRIBUTES);
        for (Ended ended : helps(program, ONLY_WITH_IT)) {
            assertEquals(0, ended.code(), "it was moved with its times");
        }

        Files.setLastModifiedTime(
                moved.resolve("quarkus-app/quarkus-run.jar"), FileTime.from(Instant.parse("2026-01-01T00:00:00Z")));
        for (Ended ended : helps(program, ONLY_WITH_IT)) {
            assertNotEquals(0, ended.code(), "another jar may hold other classes");
        }
        for (Ended without : helps(program, "")) {
            assertEquals(0, without.code(), without::said);
            assertTrue(without.said().startsWith("Usage: "), without::said);
            assertEquals(
                    List.of(),
                    without.said().lines().filter(line -> line.contains("aot")).toList());
        }
    }

    @Test
    void theStoreNeedsNoFolderForTemporaryFiles() throws Exception {
        String state = folder.resolve("state").toString();
        Ended ended = run(
                ServeProcess.PROGRAM, "-Djava.io.tmpdir=/nonexistent", "work", "enqueue", "item", "--state-dir", state);
        assertEquals(0, ended.code(), ended::said);
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> all = Files.walk(from)) {
            for (Path each : all.toList()) {
                Files.copy(each, to.resolve(from.relativize(each).toString()), StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
    }
}
