package dev.fencepost.host;

/** Text of others in a form that a terminal or a page can be given: it can neither move the cursor nor hide or reorder what stands there. */
public final class Printable {

    private Printable() {}

    /** Control characters, a tab excepted, and those that change the direction of text, as {@code \x1b} or <code>\u202e</code>. */
    public static String text(String text) {
        StringBuilder shown = null;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (isHarmful(c)) {
                if (shown == null) {
                    shown = new StringBuilder(text.length() + 16).append(text, 0, i);
                }
                shown.append(c < 0x100 ? String.format("\\x%02x", (int) c) : String.format("\\u%04x", (int) c));
            } else if (shown != null) {
                shown.append(c);
            }
        }
        return shown == null ? text : shown.toString();
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
