package dev.fencepost.edge.config;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Where an effective value comes from.
 *
 * @param file the jobs file, or null for a built-in value
 * @param line from 1, or 0 for a built-in value
 * @param why the rule behind a built-in value; empty for a written one
 */
public record Origin(Kind kind, @Nullable Path file, int line, String why) {

    public enum Kind {
        /** Written at the job itself. */
        JOB,
        /** Written under {@code defaults}. */
        DEFAULTS,
        /** Written nowhere. */
        BUILT_IN
    }

    static Origin builtIn(String why) {
        return new Origin(Kind.BUILT_IN, null, 0, why);
    }

    /** For a person: {@code fencepost.yaml:12}, {@code defaults, fencepost.yaml:3} or {@code built in: …}. */
    public String text() {
        return switch (kind) {
            case JOB -> place();
            case DEFAULTS -> "defaults, " + place();
            case BUILT_IN -> "built in: " + why;
        };
    }

    private String place() {
        return Finding.quotable(String.valueOf(file == null ? "" : file.getFileName())) + ':' + line;
    }
}
