package dev.fencepost.edge.web.page;

import java.util.Locale;

/**
 * Text of others in a form that can neither hide nor reorder what stands on a page: control characters, what changes the direction of
 * text, and what nobody sees become text that names them. Not yet escaped: templates do that.
 */
final class ShownText {

    private ShownText() {}

    /** With {@code \x1b} or <code>\u202e</code> in the place of each character that is not shown; a tab and a newline stay. */
    static String of(String text) {
        StringBuilder shown = null;
        for (int i = 0; i < text.length(); ) {
            int c = text.codePointAt(i);
            int length = Character.charCount(c);
            if (isHidden(c) && c != '\n') {
                if (shown == null) {
                    shown = new StringBuilder(text.length() + 16).append(text, 0, i);
                }
                shown.append(named(c));
            } else if (shown != null) {
                shown.appendCodePoint(c);
            }
            i += length;
        }
        return shown == null ? text : shown.toString();
    }

    static String named(int c) {
        return c < 0x100
                ? String.format(Locale.ROOT, "\\x%02x", c)
                : c < 0x10000 ? String.format(Locale.ROOT, "\\u%04x", c) : String.format(Locale.ROOT, "\\u{%x}", c);
    }

    /** Control characters, a tab excepted; format characters, but for the joiners that scripts and emoji need; half a surrogate pair. */
    static boolean isHidden(int c) {
        return switch (c) {
            case '\t', 0x200c, 0x200d -> false;
            case 0x2028, 0x2029 -> true;
            default ->
                switch (Character.getType(c)) {
                    case Character.CONTROL, Character.FORMAT, Character.SURROGATE -> true;
                    default -> false;
                };
        };
    }
}
