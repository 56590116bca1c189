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

/** The launcher and the cache that the build has made: the JVM takes it, wherever the program stands, and can do without it. */
@Tag("faults")
class AotCacheIT {

    /** Then the JVM does not start without the cache. */
    private static final String ONLY_WITH_IT = "-XX:AOTMode=on";

    @TempDir
    Path folder;

    private record Ended(int code, String said) {}

    private static Ended help(Path program, String options) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(program.toString(), "serve", "--help").redirectErrorStream(true);
        builder.environment().put("FENCEPOST_JAVA_OPTS", options);
        Process process = builder.start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Ended(process.waitFor(), said);
    }

    @Test
    void theServiceStartsOutOfItsCache() throws Exception {
        Ended ended = help(ServeProcess.PROGRAM, ONLY_WITH_IT);
        assertEquals(0, ended.code(), ended::said);
    }

    @Test
    void movedWithItsTimesItStillDoesAndAfterAChangeItStartsWithoutAndSaysNothing() throws Exception {
        Path moved = Files.createDirectory(folder.resolve("another place"));
        copy(ServeProcess.PROGRAM.getParent().resolve("quarkus-app"), moved.resolve("quarkus-app"));
        Path program = Files.copy(ServeProcess.PROGRAM, moved.resolve("fencepost"), StandardCopyOption.COPY_ATTRIBUTES);
        assertEquals(0, help(program, ONLY_WITH_IT).code(), "it was moved with its times");

        Files.setLastModifiedTime(
                moved.resolve("quarkus-app/quarkus-run.jar"), FileTime.from(Instant.parse("2026-01-01T00:00:00Z")));
        assertNotEquals(0, help(program, ONLY_WITH_IT).code(), "another jar may hold other classes");
        Ended without = help(program, "");
        assertEquals(0, without.code(), without::said);
        assertTrue(without.said().startsWith("Usage: "), without::said);
        assertEquals(
                List.of(),
                without.said().lines().filter(line -> line.contains("aot")).toList());
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> all = Files.walk(from)) {
            for (Path each : all.toList()) {
                Files.copy(each, to.resolve(from.relativize(each).toString()), StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
    }
}
