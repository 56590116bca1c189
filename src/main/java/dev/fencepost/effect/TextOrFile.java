package dev.fencepost.effect;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A setting that stands in the jobs file, or, since it is a secret, in a file of its own, which is read anew each time it is needed.
 * Exactly one of the two is there.
 */
public record TextOrFile(@Nullable String text, @Nullable Path file) {

    public TextOrFile {
        if ((text == null) == (file == null)) {
            throw new IllegalArgumentException("either a text or a file");
        }
    }

    /** The file's name, or that there is a text: either may be a secret. */
    @Override
    public String toString() {
        return file == null ? "a text" : "the content of " + file;
    }
}
