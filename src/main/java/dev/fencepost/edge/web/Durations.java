package dev.fencepost.edge.web;

import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations in requests: {@code 500ms}, {@code 30s}, {@code 5m}, {@code 2h}, {@code 1d}, or in ISO form {@code PT5M}. */
final class Durations {

    private static final Pattern PART = Pattern.compile("([0-9]{1,12})(ms|s|m|h|d)");
    private static final int MOST_LETTERS = 40;

    private Durations() {}

    /**
     * @param what the name of the field, for the message
     * @throws Problem 400 if this is no duration, or not within the bounds
     */
    static Duration parse(String what, String text, Duration least, Duration most) {
        Duration duration = parse(what, text);
        if (duration.compareTo(least) < 0 || duration.compareTo(most) > 0) {
            throw Problem.badRequest(what + ": " + Words.quoted(text) + " is out of range: the least is " + shown(least)
                    + ", the most " + shown(most));
        }
        return duration;
    }

    private static Duration parse(String what, String text) {
        Matcher part = PART.matcher(text);
        if (part.matches()) {
            long number = Long.parseLong(part.group(1));
            return switch (part.group(2)) {
                case "ms" -> Duration.ofMillis(number);
                case "s" -> Duration.ofSeconds(number);
                case "m" -> Duration.ofMinutes(number);
                case "h" -> Duration.ofHours(number);
                default -> Duration.ofDays(number);
            };
        }
        if (text.startsWith("P") && text.length() <= MOST_LETTERS) {
            try {
                return Duration.parse(text);
            } catch (DateTimeParseException | ArithmeticException e) {
                throw bad(what, text);
            }
        }
        throw bad(what, text);
    }

    private static Problem bad(String what, String text) {
        return Problem.badRequest(what + ": " + Words.quoted(text)
                + " is no duration; write a whole number with its unit (ms, s, m, h, d), such as 10s");
    }

    private static String shown(Duration duration) {
        if (duration.toMillis() % 1_000 != 0) {
            return duration.toMillis() + "ms";
        }
        return duration.compareTo(Duration.ofDays(1)) >= 0 ? duration.toDays() + "d" : duration.toSeconds() + "s";
    }
}
