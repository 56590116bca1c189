package dev.fencepost.edge.sink;

import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The small grammars of HTTP: what may stand in a header or a URL, and what is read from one. Pure. */
final class HttpText {

    private static final Duration LONGEST_WAIT = Duration.ofHours(24);
    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,9}");
    private static final Pattern MANY_SECONDS = Pattern.compile("[0-9]{10,}");
    private static final String HEX = "0123456789ABCDEF";

    private HttpText() {}

    /**
     * The text as a header carries it: printable ASCII stays; blanks, everything else and the percent sign itself become {@code %XX} of
     * their UTF-8 bytes. Two texts never become the same, and one always becomes the same.
     */
    static String forHeader(String text) {
        return escaped(text, false);
    }

    /** The text as one part of a URL's path, or one value of its query: {@code %XX} for all but letters, digits and {@code - . _ ~}. */
    static String forUrl(String text) {
        return escaped(text, true);
    }

    private static String escaped(String text, boolean unreservedOnly) {
        StringBuilder out = new StringBuilder(text.length() + 16);
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            char c = (char) (b & 0xff);
            boolean isUnreserved = (c >= 'a' && c <= 'z')
                    || (c >= 'A' && c <= 'Z')
                    || (c >= '0' && c <= '9')
                    || "-._~".indexOf(c) >= 0;
            if (isUnreserved || (!unreservedOnly && c > ' ' && c < 0x7f && c != '%')) {
                out.append(c);
            } else {
                out.append('%').append(HEX.charAt(c >> 4)).append(HEX.charAt(c & 15));
            }
        }
        return out.toString();
    }

    /** Whether it is printable ASCII, blanks and tabs included; so no line break can begin a header of its own. */
    static boolean isHeaderValue(String text) {
        return text.chars().allMatch(c -> (c >= ' ' && c < 0x7f) || c == '\t');
    }

    /** The text in one line for a person: what is not printable is a question mark, and the rest is cut. */
    static String printable(String text, int maxLength) {
        StringBuilder out = new StringBuilder();
        text.codePoints()
                .limit(maxLength)
                .map(c -> Character.isISOControl(c) || !Character.isDefined(c) || isFormat(c) ? '?' : c)
                .forEach(out::appendCodePoint);
        return out.toString();
    }

    /** Signs that are not seen but change how others are seen, such as the direction of writing; and halves of characters. */
    private static boolean isFormat(int c) {
        int type = Character.getType(c);
        return type == Character.FORMAT
                || type == Character.SURROGATE
                || type == Character.LINE_SEPARATOR
                || type == Character.PARAGRAPH_SEPARATOR;
    }

    /**
     * How long to wait by a {@code Retry-After}: seconds, or a date (RFC 9110, 10.2.3).
     *
     * @return between nothing and 24 hours, or null if the value is neither
     */
    static @Nullable Duration retryAfter(String value, Instant now) {
        String text = value.strip();
        if (SECONDS.matcher(text).matches()) {
            return bounded(Duration.ofSeconds(Long.parseLong(text)));
        }
        if (MANY_SECONDS.matcher(text).matches()) {
            return LONGEST_WAIT;
        }
        try {
            return bounded(Duration.between(now, Instant.from(DateTimeFormatter.RFC_1123_DATE_TIME.parse(text))));
        } catch (DateTimeException | ArithmeticException neither) {
            return null;
        }
    }

    private static Duration bounded(Duration wait) {
        if (wait.isNegative()) {
            return Duration.ZERO;
        }
        return wait.compareTo(LONGEST_WAIT) > 0 ? LONGEST_WAIT : wait;
    }
}
