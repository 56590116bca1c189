package dev.fencepost.host;

import java.util.Locale;
import java.util.function.IntPredicate;

/** Text of others in a form that a terminal or a page can be given: it can neither move the cursor nor hide or reorder what stands there. */
public final class Printable {

    private Printable() {}

    /** Control characters, a tab excepted, and those that change the direction of text, as {@code \x1b} or <code>\u202e</code>. */
    public static String text(String text) {
        return text(text, c -> c < 0x10000 && isHarmful((char) c));
    }

    /** The same by another rule. @param hidden code points that are named instead of shown */
    public static String text(String text, IntPredicate hidden) {
        StringBuilder shown = null;
        for (int i = 0; i < text.length(); ) {
            int c = text.codePointAt(i);
            if (hidden.test(c)) {
                if (shown == null) {
                    shown = new StringBuilder(text.length() + 16).append(text, 0, i);
                }
                shown.append(named(c));
            } else if (shown != null) {
                shown.appendCodePoint(c);
            }
            i += Character.charCount(c);
        }
        return shown == null ? text : shown.toString();
    }

    /** A code point by its number, in the way of string literals: with an x and two digits, or with a u and four or more. */
    public static String named(int c) {
        return c < 0x100
                ? String.format(Locale.ROOT, "\\x%02x", c)
                : c < 0x10000 ? String.format(Locale.ROOT, "\\u%04x", c) : String.format(Locale.ROOT, "\\u{%x}", c);
    }

    public static boolean isHarmful(char c) {
        return switch (c) {
            case '\t' -> false;
            case '\u061c', '\u200e', '\u200f', '\u2028', '\u2029' -> true;
            default ->
                c < 0x20
                        || (c >= 0x7f && c < 0xa0)
                        || (c >= '\u202a' && c <= '\u202e')
                        || (c >= '\u2066' && c <= '\u2069');
        };
    }
}
