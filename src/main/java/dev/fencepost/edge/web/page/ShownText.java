package dev.fencepost.edge.web.page;

import dev.fencepost.host.Printable;

/**
 * Text of others in a form that can neither hide nor reorder what stands on a page: control characters, what changes the direction of
 * text, and what nobody sees become text that names them. Stricter than {@link Printable}, since a page
 * has links and forms. Not yet escaped: templates do that.
 */
final class ShownText {

    private ShownText() {}

    /** With {@code \x1b} or <code>\u202e</code> in the place of each character that is not shown; a tab and a newline stay. */
    static String of(String text) {
        return Printable.text(text, c -> isHidden(c) && c != '\n');
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
