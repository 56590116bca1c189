package dev.fencepost.edge.config;

import java.nio.file.Path;

/**
 * One thing that is wrong, or doubtful, in a file.
 *
 * @param severity an error refuses the whole file, a warning does not
 * @param file the file as it was named by the caller
 * @param line from 1, or 0 when the file as a whole is meant
 * @param column from 1, in characters, or 0 when no column is meant
 * @param path where in the structure, such as {@code jobs.article.every}; empty for the whole file
 * @param message what is wrong, with the text as written
 * @param hint what to write instead; may be empty
 */
public record Finding(Severity severity, Path file, int line, int column, String path, String message, String hint) {

    private static final int LONGEST_QUOTE = 80;

    public enum Severity {
        ERROR,
        WARNING
    }

    /** One line in the form that editors can jump to, and the hint on a second one. */
    public String text() {
        StringBuilder text = new StringBuilder(quotable(file.toString()));
        if (line > 0) {
            text.append(':').append(line);
        }
        if (column > 0) {
            text.append(':').append(column);
        }
        text.append(severity == Severity.ERROR ? ": error: " : ": warning: ");
        if (!path.isEmpty()) {
            text.append(path).append(": ");
        }
        text.append(message);
        if (!hint.isEmpty()) {
            text.append("\n    ").append(hint);
        }
        return text.toString();
    }

    /** The text in double quotes, cut to a readable length, with control characters shown instead of sent to a terminal. */
    public static String quote(String text) {
        return '"' + cut(text) + '"';
    }

    /** The same without the quotes. */
    static String cut(String text) {
        if (text.codePointCount(0, text.length()) <= LONGEST_QUOTE) {
            return quotable(text);
        }
        int end = text.offsetByCodePoints(0, LONGEST_QUOTE);
        return quotable(text.substring(0, end)) + "…";
    }

    static String quotable(String text) {
        StringBuilder shown = new StringBuilder(text.length());
        text.codePoints().forEach(c -> {
            switch (c) {
                case '\n' -> shown.append("\\n");
                case '\r' -> shown.append("\\r");
                case '\t' -> shown.append("\\t");
                default -> {
                    if (isHidden(c)) {
                        shown.append("\\u{").append(Integer.toHexString(c)).append('}');
                    } else {
                        shown.appendCodePoint(c);
                    }
                }
            }
        });
        return shown.toString();
    }

    private static boolean isHidden(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> true;
            default -> false;
        };
    }
}
