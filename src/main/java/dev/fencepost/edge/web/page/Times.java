package dev.fencepost.edge.web.page;

import io.quarkus.qute.RawString;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Locale;

/** Instants and durations as people read them: in the job's zone, with UTC for whoever points at them. */
final class Times {

    private static final DateTimeFormatter LOCAL = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss", Locale.ROOT);

    private Times() {}

    /** A {@code <time>} element. */
    static RawString element(Instant at, ZoneId zone) {
        String utc = at.truncatedTo(ChronoUnit.SECONDS).toString();
        return new RawString("<time datetime=\"" + utc + "\" title=\"" + utc + "\">" + local(at, zone) + "</time>");
    }

    /** {@code 2026-03-29 04:30:00}. */
    static String local(Instant at, ZoneId zone) {
        return LOCAL.format(at.atZone(zone));
    }

    /** Of a zone; of the offset zero too. */
    static String name(ZoneId zone) {
        return zone.equals(ZoneOffset.UTC) ? "UTC" : zone.getId();
    }

    /** In two units at most, such as {@code 3 d 4 h}, {@code 12 min 5 s}, {@code 640 ms}; below zero as zero. */
    static String span(Duration duration) {
        long millis = Math.max(0, duration.toMillis());
        if (millis < 1_000) {
            return millis + " ms";
        }
        long seconds = millis / 1_000;
        if (seconds < 60) {
            return seconds + " s";
        }
        if (seconds < 3_600) {
            return two(seconds / 60, "min", seconds % 60, "s");
        }
        if (seconds < 86_400) {
            return two(seconds / 3_600, "h", seconds % 3_600 / 60, "min");
        }
        return two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h");
    }

    private static String two(long first, String firstUnit, long second, String secondUnit) {
        return first + " " + firstUnit + (second == 0 ? "" : " " + second + " " + secondUnit);
    }
}
