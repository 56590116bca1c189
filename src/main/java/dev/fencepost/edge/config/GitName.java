package dev.fencepost.edge.config;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Names of branches and refs, by git's own rules, so that a bad one is told before a run. */
final class GitName {

    private static final Pattern FORBIDDEN = Pattern.compile("[\\x00-\\x20\\x7f~^:?*\\[\\\\]");

    private GitName() {}

    /** The name of a branch, without {@code refs/heads/}. */
    static String branch(String written) {
        if (written.startsWith("refs/")) {
            throw new BadValueException(
                    Finding.quote(written) + " is a ref, not a branch", "write the branch alone, such as main");
        }
        if (written.startsWith("-") || written.equals("HEAD")) {
            throw new BadValueException(Finding.quote(written) + " is no name of a branch", "write one such as main");
        }
        return checked(written, "branch");
    }

    /** The full name of a ref. */
    static String ref(String written) {
        if (!written.startsWith("refs/") || written.indexOf('/', "refs/".length()) < 0) {
            throw new BadValueException(
                    Finding.quote(written) + " is no full name of a ref", "write one such as refs/fencepost/article");
        }
        return checked(written, "ref");
    }

    private static String checked(String name, String what) {
        String problem = problem(name);
        if (problem != null) {
            throw new BadValueException(
                    Finding.quote(name) + " is no name of a " + what + ": " + problem,
                    "letters, digits, dash, dot, _ and single slashes are always good");
        }
        return name;
    }

    private static @Nullable String problem(String name) {
        if (name.isEmpty() || name.equals("@")) {
            return "git does not allow it";
        }
        if (FORBIDDEN.matcher(name).find()) {
            return "it holds a blank, a control character or one of ~ ^ : ? * [ \\";
        }
        if (name.contains("..") || name.contains("@{") || name.endsWith(".")) {
            return "it holds .. or @{, or ends with a dot";
        }
        for (String part : name.split("/", -1)) {
            if (part.isEmpty()) {
                return "it begins or ends with a slash, or has two in a row";
            }
            if (part.startsWith(".") || part.endsWith(".lock")) {
                return "a part of it begins with a dot or ends with .lock";
            }
        }
        return null;
    }
}
