package dev.fencepost.fuzz;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** What Jazzer calls, in a process of its own, with {@code -Dfuzz.target=}. */
public final class JazzerMain {

    /** Its counters make everything slower; and while it rewrites a class, that costs the input which has the class loaded. */
    private static final Bounds BOUNDS = new Bounds(Duration.ofSeconds(10), Long.MAX_VALUE);

    private static final Target TARGET = Target.of(System.getProperty("fuzz.target", ""));
    private static final Path FOLDER = folder();

    private JazzerMain() {}

    private static Path folder() {
        try {
            return Files.createTempDirectory("fuzz");
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void fuzzerTestOneInput(byte[] input) throws Exception {
        BOUNDS.take(TARGET, input, FOLDER);
    }
}
