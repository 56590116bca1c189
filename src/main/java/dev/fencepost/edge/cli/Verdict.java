package dev.fencepost.edge.cli;

import java.util.List;

/**
 * What one check of {@code doctor} came to.
 *
 * @param name of the check; several findings of one check have the same
 * @param text what is so, in one line; never a secret
 * @param mend what to do about it; empty where nothing is to be done
 */
record Verdict(String name, State state, String text, String mend) {

    /** How bad it is. */
    enum State {
        OK("ok"),
        /** Good to know; nothing is wrong. */
        NOTE("note"),
        /** Something is wrong, or soon will be. */
        WARNING("warning"),
        /** It does not work, or a promise does not hold. */
        BAD("BAD");

        private final String word;

        State(String word) {
            this.word = word;
        }

        String word() {
            return word;
        }
    }

    static Verdict ok(String name, String text) {
        return new Verdict(name, State.OK, text, "");
    }

    static Verdict note(String name, String text, String mend) {
        return new Verdict(name, State.NOTE, text, mend);
    }

    static Verdict warning(String name, String text, String mend) {
        return new Verdict(name, State.WARNING, text, mend);
    }

    static Verdict bad(String name, String text, String mend) {
        return new Verdict(name, State.BAD, text, mend);
    }

    private boolean isFault() {
        return state == State.WARNING || state == State.BAD;
    }

    /** Whether nothing is wrong: notes do not count. */
    static boolean allWell(List<Verdict> verdicts) {
        return verdicts.stream().noneMatch(Verdict::isFault);
    }
}
