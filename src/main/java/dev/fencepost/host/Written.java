package dev.fencepost.host;

import java.time.Duration;

/** Values in the form in which people write them in a jobs file. */
public final class Written {

    private enum Unit {
        D(24L * 3600 * 1000, "d"),
        H(3600L * 1000, "h"),
        M(60L * 1000, "m"),
        S(1000, "s"),
        MS(1, "ms");

        final long millis;
        final String text;

        Unit(long millis, String text) {
            this.millis = millis;
            this.text = text;
        }
    }

    private Written() {}

    /** {@code 45m}, {@code 1h 30m}, {@code 0s}; one that is negative, or finer than a millisecond, in ISO form. */
    public static String duration(Duration duration) {
        if (duration.isNegative() || duration.getNano() % 1_000_000 != 0) {
            return duration.toString();
        }
        StringBuilder text = new StringBuilder();
        long left = duration.toMillis();
        for (Unit unit : Unit.values()) {
            long n = left / unit.millis;
            left -= n * unit.millis;
            if (n > 0) {
                text.append(text.isEmpty() ? "" : " ").append(n).append(unit.text);
            }
        }
        return text.isEmpty() ? "0s" : text.toString();
    }
}
