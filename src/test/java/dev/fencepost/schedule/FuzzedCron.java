package dev.fencepost.schedule;

import static dev.fencepost.fuzz.Shape.isForPeople;
import static dev.fencepost.fuzz.Shape.require;
import static dev.fencepost.fuzz.Shape.same;

import dev.fencepost.fuzz.Shape;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.List;
import java.util.Objects;
import java.util.function.IntPredicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Cron expressions: the first byte chooses zone and instant, the rest is the expression. */
public final class FuzzedCron {

    private static final List<String> ZONES =
            List.of("Etc/UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca");

    private static final List<Instant> INSTANTS = List.of(
            Instant.parse("2026-02-27T23:58:30Z"),
            Instant.parse("2026-03-29T00:59:59Z"),
            Instant.parse("2011-12-29T09:00:00Z"),
            Instant.parse("9999-12-31T23:00:00Z"),
            Instant.parse("0001-01-01T00:00:00Z"));

    /** What a search by minutes can follow in a few lines of its own. */
    private static final Pattern PLAIN = Pattern.compile("[0-9*,/-]+( [0-9*,/-]+){4}");

    private static final int MINUTES_SEARCHED = 3 * 24 * 60;

    private FuzzedCron() {}

    public static void take(byte[] input, Path folder) {
        int choice = Shape.choice(input, ZONES.size() * INSTANTS.size());
        ZoneId zone = ZoneId.of(ZONES.get(choice % ZONES.size()));
        Instant after = INSTANTS.get(choice / ZONES.size());
        String text = Shape.text(input, 1);
        Cron cron;
        try {
            cron = Cron.parse(text, zone);
        } catch (ScheduleException refused) {
            isForPeople("message", refused.getMessage());
            return;
        }
        cron.warnings().forEach(warning -> isForPeople("warning", warning));
        same(
                "read back",
                cron,
                Objects.requireNonNull(ScheduleText.parse(cron.text())).schedule());
        Instant next = cron.next(after);
        if (next != null) {
            require(next.isAfter(after), next + " is not after " + after);
            same("the latest up to it", next, cron.latest(next));
            same("the next from just before", next, cron.next(next.minusSeconds(1)));
            same("slots up to it", 1L, cron.count(after, next));
        }
        Gaps gaps = cron.gaps(after, Duration.ofDays(400));
        require(gaps == null || !gaps.shortest().isNegative(), "gaps " + gaps);
        if (zone.equals(ZoneId.of("Etc/UTC"))
                && after.isBefore(INSTANTS.get(3))
                && PLAIN.matcher(text).matches()) {
            same("by minutes", searched(text, after), next == null || isFar(next, after) ? null : next);
        }
    }

    private static boolean isFar(Instant next, Instant after) {
        return next.isAfter(after.plus(Duration.ofMinutes(MINUTES_SEARCHED)));
    }

    /** Each minute is asked whether it is a slot. */
    private static @Nullable Instant searched(String text, Instant after) {
        String[] fields = text.split(" ");
        IntPredicate minutes = field(fields[0], 0, 59);
        IntPredicate hours = field(fields[1], 0, 23);
        IntPredicate days = field(fields[2], 1, 31);
        IntPredicate months = field(fields[3], 1, 12);
        // A step that has no end goes to Saturday, or begins on the other Sunday and goes nowhere.
        IntPredicate weekdays = field(fields[4].replaceAll("(?<![0-9-])7/[0-9]+", "7"), 0, 6);
        boolean either = !fields[2].startsWith("*") && !fields[4].startsWith("*");
        long first = Math.floorDiv(after.getEpochSecond(), 60) + 1;
        for (long minute = first; minute <= first - 1 + MINUTES_SEARCHED; minute++) {
            Instant instant = Instant.ofEpochSecond(60 * minute);
            ZonedDateTime at = instant.atZone(ZoneOffset.UTC);
            int weekday = at.getDayOfWeek().getValue();
            boolean ofWeek = weekdays.test(weekday) || (weekday == 7 && weekdays.test(0));
            boolean ofMonth = days.test(at.getDayOfMonth());
            if (minutes.test(at.getMinute())
                    && hours.test(at.getHour())
                    && months.test(at.getMonthValue())
                    && (either ? ofWeek || ofMonth : ofWeek && ofMonth)) {
                return instant.isAfter(after.plus(Duration.ofMinutes(MINUTES_SEARCHED))) ? null : instant;
            }
        }
        return null;
    }

    private static IntPredicate field(String text, int least, int most) {
        IntPredicate any = value -> false;
        for (String part : text.split(",")) {
            String[] stepped = part.split("/");
            String[] range = stepped[0].split("-");
            int from = range[0].equals("*") ? least : Integer.parseInt(range[0]);
            int to = range.length > 1
                    ? Integer.parseInt(range[1])
                    : range[0].equals("*") || stepped.length > 1 ? most : from;
            int step = stepped.length > 1 ? Integer.parseInt(stepped[1]) : 1;
            any = any.or(value -> value >= from && value <= to && (value - from) % step == 0);
        }
        return any;
    }
}
