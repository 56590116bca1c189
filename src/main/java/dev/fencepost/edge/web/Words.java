package dev.fencepost.edge.web;

/** What came from outside, shown within our own text. */
final class Words {

    private static final int MOST_SHOWN = 60;

    private Words() {}

    /** In quotes, cut, and with nothing in it that a log or a terminal would obey. */
    static String quoted(String text) {
        StringBuilder shown = new StringBuilder("\"");
        text.codePoints().limit(MOST_SHOWN).forEach(c -> shown.appendCodePoint(isPlain(c) && c != '"' ? c : '\uFFFD'));
        return shown.append(text.codePointCount(0, text.length()) > MOST_SHOWN ? "…\"" : "\"")
                .toString();
    }

    private static boolean isPlain(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.UNASSIGNED -> false;
            default -> true;
        };
    }

    /** Whether this can be stored as it is: half of a surrogate pair has no UTF-8. */
    static boolean isWellFormed(String text) {
        return text.codePoints().noneMatch(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE);
    }

    /** Whether this has characters that no name has: controls, NUL among them. */
    static boolean hasControls(String text) {
        return text.chars().anyMatch(Character::isISOControl);
    }
}
