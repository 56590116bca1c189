package dev.fencepost.edge.sink;

import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where below its root a file goes, checked: nothing in it leads out of the root or into what the sink itself keeps there.
 *
 * @param text as it was given
 * @param folders from the root down
 */
record FileTarget(String text, List<String> folders, String name) {

    private static final int LONGEST = 1024;
    private static final int LONGEST_PART_BYTES = 255;
    private static final int DEEPEST = 32;

    /** Begins the names of the sink's own folder and of its temporary files. */
    static final String OWN = ".fencepost";

    /** It names no file that may be placed. The message says why, for a person. */
    static final class Refused extends Exception {
        Refused(String message) {
            super(message);
        }
    }

    static FileTarget of(@Nullable String text) throws Refused {
        if (text == null || text.isEmpty()) {
            throw new Refused("the effect names no file");
        }
        if (text.length() > LONGEST) {
            throw new Refused("the path is longer than " + LONGEST + " characters");
        }
        if (text.chars().anyMatch(Character::isISOControl)) {
            throw new Refused("the path has control characters in it");
        }
        if (text.startsWith("/")) {
            throw new Refused("the path " + text + " is not relative");
        }
        List<String> parts = List.of(text.split("/", -1));
        if (parts.size() > DEEPEST) {
            throw new Refused("the path is deeper than " + DEEPEST + " folders");
        }
        for (String part : parts) {
            if (part.isEmpty() || part.equals(".") || part.equals("..")) {
                throw new Refused("the path " + text + " has a part that is empty, . or ..");
            }
            if (part.getBytes(StandardCharsets.UTF_8).length > LONGEST_PART_BYTES) {
                throw new Refused("the path has a part of more than " + LONGEST_PART_BYTES + " bytes");
            }
            if (part.startsWith(OWN)) {
                throw new Refused(
                        "the path " + text + " has a part that begins with " + OWN + ", which is the sink's own");
            }
            if (!isName(part)) {
                throw new Refused(
                        "the path has characters that this system cannot write in a name; is LC_ALL set to UTF-8?");
            }
        }
        return new FileTarget(text, parts.subList(0, parts.size() - 1), parts.getLast());
    }

    private static boolean isName(String part) {
        try {
            return Path.of(part).toString().equals(part);
        } catch (InvalidPathException e) {
            return false;
        }
    }
}
