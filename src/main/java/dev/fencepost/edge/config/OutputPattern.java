package dev.fencepost.edge.config;

import com.google.re2j.Matcher;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import dev.fencepost.run.LinePattern;
import java.util.Optional;
import java.util.Set;

/**
 * A regular expression of the jobs file, in the syntax of RE2 (no look-around, no back-references), so that the search takes time in
 * proportion to the line. Upper and lower case count; {@code (?i)} at the beginning says otherwise. Immutable; safe for many threads.
 */
final class OutputPattern implements LinePattern {

    static final String UNTIL = "until";

    private static final int LONGEST = 1_000;

    /** The compiled form grows with the product of nested counts, by some 100 bytes each: a{1000} in three brackets is a gigabyte. */
    private static final long MOST_REPETITIONS = 10_000;

    /** Each of them stands inside of the one before, and is read by a call within a call: more of them overflow the stack. */
    private static final long MOST_OPEN_REPETITIONS = 300;

    /** For each step of the compiled form a search keeps the places of all groups. */
    private static final int MOST_GROUPS = 50;

    /** A character may stand for a class of some kilobytes: {@code \pL}. */
    private static final int COST_OF_A_CHARACTER = 10;

    private static final java.util.regex.Pattern COUNT =
            java.util.regex.Pattern.compile("\\{([0-9]{1,9})(?:,([0-9]{0,9}))?}");
    private static final java.util.regex.Pattern LAST_LINE_END = java.util.regex.Pattern.compile("\r?\n\\z");
    private static final String QUOTES = "put it in single quotes, between which YAML leaves a backslash as it is";

    private final String text;
    private final Pattern pattern;

    private OutputPattern(String text, Pattern pattern) {
        this.text = text;
        this.pattern = pattern;
    }

    /**
     * Reads an expression; the line end that a YAML block leaves at its end does not count.
     *
     * @throws BadValueException if it is none, with the place in it
     */
    static OutputPattern parse(String written) {
        String text = LAST_LINE_END.matcher(written).replaceFirst("");
        if (text.isEmpty()) {
            throw new BadValueException(
                    "the expression is empty, and so would be found everywhere", "write one such as 'login expired'");
        }
        if (text.length() > LONGEST) {
            throw new BadValueException(
                    "the expression is longer than " + LONGEST + " characters", "write two entries, or look for less");
        }
        if (text.indexOf('\n') >= 0 || text.indexOf('\r') >= 0) {
            throw new BadValueException(
                    "the expression holds a line end, and no line of output does", "write it on one line");
        }
        int control = controlCharacter(text);
        if (control >= 0) {
            throw new BadValueException(
                    Finding.quote(text) + " holds a control character at character " + (control + 1)
                            + ": between double quotes YAML makes one of \\b, \\e or \\f",
                    QUOTES);
        }
        if (openRepetitions(text) > MOST_OPEN_REPETITIONS) {
            throw new BadValueException(
                    Finding.quote(text) + " has counts such as {1,1000} that leave more than " + MOST_OPEN_REPETITIONS
                            + " repetitions open",
                    "write * or + instead of {n,m}");
        }
        if (repetitions(text) > MOST_REPETITIONS) {
            throw new BadValueException(
                    Finding.quote(text) + " repeats too much: its counts multiply to more than " + MOST_REPETITIONS,
                    "write * or + instead of {n}");
        }
        try {
            Pattern pattern = Pattern.compile(text);
            if (pattern.groupCount() > MOST_GROUPS) {
                throw new BadValueException(
                        Finding.quote(text) + " has " + pattern.groupCount() + " groups, the limit is " + MOST_GROUPS,
                        "write (?:…) where nothing is to be read");
            }
            return new OutputPattern(text, pattern);
        } catch (PatternSyntaxException e) {
            throw new BadValueException(
                    Finding.quote(text) + " is no regular expression: " + place(text, e),
                    "the syntax is that of RE2: no look-around, no back-references; " + QUOTES);
        }
    }

    private static int controlCharacter(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isISOControl(text.charAt(i)) && text.charAt(i) != '\t') {
                return i;
            }
        }
        return -1;
    }

    private static long openRepetitions(String text) {
        java.util.regex.Matcher count = COUNT.matcher(text);
        long sum = 0;
        while (count.find()) {
            boolean isOpen = count.group(2) != null && !count.group(2).isEmpty();
            sum += isOpen ? Math.max(0, Long.parseLong(count.group(2)) - Long.parseLong(count.group(1))) : 0;
        }
        return sum;
    }

    private static long repetitions(String text) {
        java.util.regex.Matcher count = COUNT.matcher(text);
        long product = 1;
        while (count.find() && product <= MOST_REPETITIONS) {
            String most = count.group(2) == null || count.group(2).isEmpty() ? count.group(1) : count.group(2);
            product *= Math.max(1, Long.parseLong(most));
        }
        return product;
    }

    /**
     * The library names the part that is wrong, but not its place: that is the end of the shortest beginning with the same error. It reads
     * from left to right, so every longer beginning has the error too.
     */
    private static String place(String text, PatternSyntaxException error) {
        String what = error.getDescription();
        String part = String.valueOf(error.getPattern());
        boolean isStrayBracket = what.contains("internal error"); // this is how it says so
        if (!isStrayBracket && (part.isEmpty() || what.equals("missing closing )"))) {
            return what + " at its end";
        }
        int without = 0;
        int with = text.length();
        while (with - without > 1) {
            int middle = (without + with) / 2;
            if (isError(text.substring(0, middle), error)) {
                with = middle;
            } else {
                without = middle;
            }
        }
        return isStrayBracket
                ? "unexpected ) at character " + with
                : what + " at character " + (text.lastIndexOf(part, with - part.length()) + 1);
    }

    private static boolean isError(String text, PatternSyntaxException error) {
        try {
            Pattern.compile(text);
            return false;
        } catch (PatternSyntaxException e) {
            return e.getDescription().equals(error.getDescription())
                    && String.valueOf(e.getPattern()).equals(String.valueOf(error.getPattern()));
        }
    }

    @Override
    public boolean isFoundIn(String line) {
        return pattern.matcher(line).find();
    }

    @Override
    public Optional<String> until(String line) {
        if (!names().contains(UNTIL)) {
            return Optional.empty();
        }
        Matcher matcher = pattern.matcher(line);
        return matcher.find() ? Optional.ofNullable(matcher.group(UNTIL)) : Optional.empty();
    }

    /** The room that its compiled form takes, in parts of some 100 bytes. */
    int cost() {
        return pattern.programSize() + COST_OF_A_CHARACTER * text.length();
    }

    /** The names of its groups. */
    Set<String> names() {
        return pattern.namedGroups().keySet();
    }

    /** Whether it says nothing, since it is found in an empty line as in any other. */
    boolean isFoundEverywhere() {
        return isFoundIn("") && isFoundIn("\uE000");
    }

    @Override
    public String text() {
        return text;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof OutputPattern that && text.equals(that.text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    @Override
    public String toString() {
        return text;
    }
}
