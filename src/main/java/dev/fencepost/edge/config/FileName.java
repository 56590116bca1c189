package dev.fencepost.edge.config;

import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Names of files and directories as they stand in the jobs file: taken as written, nothing is expanded. */
final class FileName {

    private FileName() {}

    /**
     * The path, starting from the base when it is relative.
     *
     * @throws BadValueException if the text is blank or no path
     */
    static Path resolve(Path base, String written) {
        if (written.isBlank()) {
            throw new BadValueException("the path is empty", "write a path, or remove the key");
        }
        try {
            return base.resolve(written).normalize();
        } catch (InvalidPathException e) {
            throw new BadValueException(Finding.quote(written) + " is no path", "");
        }
    }

    static @Nullable String whyNoDirectory(Path path) {
        if (Files.isDirectory(path)) {
            return null;
        }
        String shown = Finding.quote(path.toString());
        return Files.exists(path) ? shown + " is not a directory" : "the directory " + shown + " does not exist";
    }

    /** Why this file cannot be started, or null when it can. */
    static @Nullable String whyNotExecutable(Path path) {
        String shown = Finding.quote(path.toString());
        if (!Files.exists(path)) {
            return "there is no file " + shown;
        }
        if (Files.isDirectory(path)) {
            return shown + " is a directory";
        }
        return Files.isExecutable(path) ? null : shown + " is not executable";
    }
}
