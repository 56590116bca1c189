package dev.fencepost.work;

import java.time.Instant;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A file that a worker handed in under its token.
 *
 * @param fence token under which it came; those of older tokens stay, for people
 * @param name one part of a path, see {@link #NAME}
 * @param sha256 hexadecimal
 */
public record Artifact(
        String item, long fence, String name, @Nullable String type, long size, String sha256, Instant at) {

    public static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,99}");
}
