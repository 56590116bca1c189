package dev.fencepost.edge.config;

import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where the jobs file and the state directory are looked for. The same on every host: only the given environment and the given
 * working directory count.
 *
 * @param environment of the process
 * @param workingDir of the process, absolute
 * @param systemFile the place of the jobs file for the whole host
 */
public record Places(Map<String, String> environment, Path workingDir, Path systemFile) {

    private static final String FILE_NAME = "fencepost.yaml";
    private static final String WHERE = "name the jobs file with --config FILE or $FENCEPOST_CONFIG";

    public Places(Map<String, String> environment, Path workingDir) {
        this(environment, workingDir, Path.of("/etc/fencepost").resolve(FILE_NAME));
    }

    /** What the search for the jobs file came to. */
    public sealed interface Search {
        /** A file to read; when it was named by a person it may not exist. */
        record Found(Path file) implements Search {}

        /** None of the usual places has one. */
        record Nowhere(Finding finding) implements Search {}
    }

    /**
     * The jobs file: the given one, else {@code $FENCEPOST_CONFIG}, {@code ./fencepost.yaml}, {@code /etc/fencepost/fencepost.yaml}.
     * A place that a person named is taken alone: a mistyped name does not fall through to another file.
     */
    public Search jobsFile(@Nullable Path option) {
        if (option != null) {
            return new Search.Found(option);
        }
        String named = value("FENCEPOST_CONFIG");
        if (named != null) {
            return new Search.Found(path("$FENCEPOST_CONFIG", named));
        }
        List<String> looked = new ArrayList<>();
        for (Path place : List.of(Path.of(FILE_NAME), systemFile)) {
            // Whatever lies there is taken, so that a directory or a file without rights is told and not passed over.
            if (Files.exists(workingDir.resolve(place))) {
                return new Search.Found(place);
            }
            looked.add(workingDir.resolve(place).toString());
        }
        return new Search.Nowhere(new Finding(
                Finding.Severity.ERROR,
                Path.of(FILE_NAME),
                0,
                0,
                "",
                "there is no jobs file; looked at " + Finding.quotable(String.join(" and ", looked)),
                WHERE));
    }

    /**
     * The state directory: the given one, else the first of {@code $STATE_DIRECTORY} (systemd may name several),
     * {@code $XDG_STATE_HOME/fencepost}, {@code ~/.local/state/fencepost}. Absolute; it need not exist.
     *
     * @throws BadValueException if nothing names one
     */
    public Path stateDir(@Nullable Path option) {
        if (option != null) {
            return workingDir.resolve(option).normalize();
        }
        String systemd = value("STATE_DIRECTORY");
        if (systemd != null) {
            int colon = systemd.indexOf(':');
            return workingDir
                    .resolve(path("$STATE_DIRECTORY", colon < 0 ? systemd : systemd.substring(0, colon)))
                    .normalize();
        }
        String xdg = value("XDG_STATE_HOME");
        // The XDG rule: a relative path there is to be ignored.
        if (xdg != null && path("$XDG_STATE_HOME", xdg).isAbsolute()) {
            return path("$XDG_STATE_HOME", xdg).resolve("fencepost").normalize();
        }
        String home = value("HOME");
        if (home != null) {
            return workingDir
                    .resolve(path("$HOME", home))
                    .resolve(".local/state/fencepost")
                    .normalize();
        }
        throw new BadValueException(
                "there is no state directory: none of $STATE_DIRECTORY, $XDG_STATE_HOME and $HOME is set",
                "name it with --state-dir DIR");
    }

    private @Nullable String value(String name) {
        String value = environment.get(name);
        return value == null || value.isBlank() ? null : value;
    }

    private static Path path(String name, String value) {
        try {
            return Path.of(value);
        } catch (InvalidPathException e) {
            throw new BadValueException(name + " holds no path", WHERE);
        }
    }
}
