package dev.fencepost.edge.config;

import dev.fencepost.host.Written;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Durations as people write them: {@code 90s}, {@code 45m}, {@code 1h30m}, {@code 2d}, {@code 500ms}, or in ISO form {@code PT45M}.
 *
 * <p>Every number has its unit, since {@code 45} alone has been read as seconds, minutes and milliseconds by different programs.
 * Larger units stand first and each stands once. A day is 24 hours and a week seven days: durations know no calendar.
 */
public final class DurationText {

    /** No duration in a jobs file is longer; now + duration is then always a valid instant. */
    public static final Duration LONGEST = Duration.ofDays(3650);

    private static final Pattern PART = Pattern.compile("\\s*([0-9]+)\\s*([\\p{L}]*)");
    private static final Pattern BARE_NUMBER = Pattern.compile("[0-9]+");
    private static final Pattern DECIMAL = Pattern.compile("[0-9]*[.,][0-9]+\\s*[a-zA-Z]*");
    private static final int MOST_DIGITS = 15;
    private static final String FORMS = "write a number with its unit, such as 90s, 45m, 1h30m or 2d";

    private enum Unit {
        W(7L * 24 * 3600 * 1000),
        D(24L * 3600 * 1000),
        H(3600L * 1000),
        M(60L * 1000),
        S(1000),
        MS(1);

        final long millis;

        Unit(long millis) {
            this.millis = millis;
        }

        String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private DurationText() {}

    /**
     * Reads a duration of 0 or more whole milliseconds, at most {@link #LONGEST}.
     *
     * @throws BadValueException if the text is anything else
     */
    public static Duration parse(String written) {
        String text = written.strip();
        if (text.isEmpty()) {
            throw new BadValueException("the duration is empty", FORMS);
        }
        if (text.indexOf('-') >= 0) {
            throw new BadValueException(
                    Finding.quote(written) + " is negative", "write a duration above 0, such as 45m");
        }
        if (BARE_NUMBER.matcher(text).matches()) {
            String n = text.length() <= MOST_DIGITS ? text : "45";
            throw new BadValueException(
                    Finding.quote(written) + " has no unit",
                    "write " + n + "s for seconds, " + n + "m for minutes or " + n + "h for hours");
        }
        if (DECIMAL.matcher(text).matches()) {
            throw new BadValueException(
                    Finding.quote(written) + " is not a whole number", "use a smaller unit: 1h30m instead of 1.5h");
        }
        Duration duration = text.charAt(0) == 'P' ? iso(written, text) : parts(written, text);
        if (duration.compareTo(LONGEST) > 0) {
            throw tooLong(written);
        }
        return duration;
    }

    /**
     * Reads a duration within bounds.
     *
     * @throws BadValueException if the text is no duration, or one below the least or above the most
     */
    public static Duration parse(String written, Duration least, Duration most) {
        Duration duration = parse(written);
        if (duration.compareTo(least) < 0) {
            throw new BadValueException(
                    Finding.quote(written) + (duration.isZero() ? " is zero" : " is too short"),
                    "the least is " + format(least));
        }
        if (duration.compareTo(most) > 0) {
            throw new BadValueException(Finding.quote(written) + " is too long", "the most is " + format(most));
        }
        return duration;
    }

    /** Writes a duration so that {@link #parse(String)} reads the same one: {@code 45m}, {@code 1h 30m}, {@code 0s}. */
    public static String format(Duration duration) {
        return Written.duration(duration);
    }

    /** Whether nothing is left below this unit. */
    static boolean isWhole(Duration duration, ChronoUnit unit) {
        return duration.truncatedTo(unit).equals(duration);
    }

    private static Duration iso(String written, String text) {
        Duration duration;
        try {
            duration = Duration.parse(text);
        } catch (DateTimeParseException e) {
            if (e.getCause() instanceof ArithmeticException || e.getCause() instanceof NumberFormatException) {
                throw tooLong(written);
            }
            throw new BadValueException(Finding.quote(written) + " is no ISO duration", FORMS + ", or PT45M");
        }
        if (duration.compareTo(LONGEST) <= 0 && !isWhole(duration, ChronoUnit.MILLIS)) {
            throw new BadValueException(Finding.quote(written) + " is finer than a millisecond", FORMS);
        }
        return duration;
    }

    private static Duration parts(String written, String text) {
        Matcher part = PART.matcher(text);
        long millis = 0;
        int at = 0;
        Unit last = null;
        while (at < text.length()) {
            if (!part.region(at, text.length()).lookingAt()) {
                throw new BadValueException(Finding.quote(written) + " is no duration", FORMS);
            }
            at = part.end();
            Unit unit = unit(written, part.group(2));
            if (last != null && unit.millis >= last.millis) {
                throw new BadValueException(
                        Finding.quote(written) + " has its units out of order",
                        "larger units come first, each once: 1h30m");
            }
            last = unit;
            if (part.group(1).length() > MOST_DIGITS) {
                throw tooLong(written);
            }
            long n = Long.parseLong(part.group(1));
            if (n > LONGEST.toMillis() / unit.millis) {
                throw tooLong(written);
            }
            millis += n * unit.millis;
        }
        return Duration.ofMillis(millis);
    }

    private static Unit unit(String written, String letters) {
        for (Unit unit : Unit.values()) {
            if (unit.text().equals(letters)) {
                return unit;
            }
        }
        if (letters.isEmpty()) {
            throw new BadValueException(Finding.quote(written) + " is no duration: a number in it has no unit", FORMS);
        }
        throw new BadValueException(
                Finding.quote(written) + " has the unknown unit " + Finding.quote(letters),
                "units are w, d, h, m (minutes), s and ms");
    }

    private static BadValueException tooLong(String written) {
        return new BadValueException(
                Finding.quote(written) + " is too long", "the longest duration is " + format(LONGEST) + " (ten years)");
    }
}
