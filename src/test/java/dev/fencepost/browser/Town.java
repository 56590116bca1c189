package dev.fencepost.browser;

import dev.fencepost.faults.Scene;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/** What the services of these tests are given: tokens, and jobs to look at. */
final class Town {

    /** May do all. */
    static final String OPERATOR = "0123456789abcdef".repeat(3);

    /** May only look. */
    static final String READER = "fedcba9876543210".repeat(3);

    private Town() {}

    /** Writes the token file and returns the lines of a jobs file that name it. */
    static String tokens(Scene scene) {
        Path file = scene.folder().resolve("tokens");
        try {
            Files.writeString(file, "alice read,work,operate " + OPERATOR + "\nrita read " + READER + "\n");
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return "api: { token-file: tokens }\n";
    }

    /** The file of the quickstart as it is, with tokens and this at its end. */
    static String quickstart(Scene scene, String moreJobs) {
        try {
            return Files.readString(Path.of("deploy/examples/quickstart.yaml")) + "\n" + moreJobs + tokens(scene);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
