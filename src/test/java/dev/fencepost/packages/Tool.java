package dev.fencepost.packages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A program of the system, run to its end; what it said on both outputs. */
record Tool(int code, String said) {

    static Tool run(Path folder, Map<String, String> environment, List<String> words) {
        ProcessBuilder builder = new ProcessBuilder(words)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectInput(Path.of("/dev/null").toFile());
        builder.environment()
                .keySet()
                .removeIf(name -> name.startsWith("FENCEPOST_") || name.equals("STATE_DIRECTORY"));
        builder.environment().putAll(environment);
        try {
            Process process = builder.start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return new Tool(process.waitFor(), said);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    static String good(Path folder, Map<String, String> environment, String... words) {
        Tool ended = run(folder, environment, List.of(words));
        assertEquals(0, ended.code(), () -> String.join(" ", words) + ": " + ended.said());
        return ended.said();
    }

    static String good(Path folder, String... words) {
        return good(folder, Map.of(), words);
    }

    /** Else the test is skipped by its name. */
    static void assume(String program) {
        assumeTrue(
                Stream.of(System.getenv("PATH").split(":"))
                        .anyMatch(dir -> Files.isExecutable(Path.of(dir).resolve(program))),
                "the program " + program + " is missing");
    }
}
