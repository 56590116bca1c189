package dev.fencepost.schedule;

import dev.fencepost.schedule.Cron.Dialect;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Checks one field of a cron expression and writes it plainly.
 *
 * <pre>
 *   field = entry { "," entry } | "?"            (? only in Quartz day fields)
 *   entry = ( "*" | value | value "-" value ) [ "/" step ] | special
 *   special = "L" | "L-" n | "LW" | n "W"        (Quartz day-of-month)
 *           | "L" | value "L" | value "#" n      (Quartz day-of-week)
 * </pre>
 */
final class FieldReader {

    /** Leaves room for any value with some leading zeros, and keeps messages that repeat it short. */
    private static final int LONGEST_ENTRY = 40;

    private static final Pattern NUMBER = Pattern.compile("[0-9]+");
    private static final Pattern UNEXPECTED = Pattern.compile("[^0-9A-Za-z*?/#,-]");
    private static final Pattern BEFORE_LAST_DAY = Pattern.compile("L-([0-9]+)");
    private static final Pattern NEAREST_WEEKDAY = Pattern.compile("([0-9]+)W");
    private static final Pattern LAST_OF_WEEKDAY = Pattern.compile("([0-9A-Z]+)L");
    private static final Pattern NTH_OF_WEEKDAY = Pattern.compile("([0-9A-Z]+)#([0-9]+)");
    private static final Pattern QUARTZ_ONLY = Pattern.compile("L|LW|[0-9]+[LW]|[A-Z]{3}L|[A-Z0-9]+#[0-9]+");

    private final String text;
    private final Dialect dialect;
    private final CronField field;
    private final String raw;
    private final List<String> warnings;

    /**
     * @param text the whole expression, for messages
     * @param raw the field as written
     * @param warnings where to add what is accepted but rarely meant
     */
    FieldReader(String text, Dialect dialect, CronField field, String raw, List<String> warnings) {
        this.text = text;
        this.dialect = dialect;
        this.field = field;
        this.raw = raw;
        this.warnings = warnings;
    }

    /**
     * The field as cron-utils reads it rightly: names and leading zeros are gone, special letters are capitals.
     *
     * @throws ScheduleException when it is no such field
     */
    String read() {
        var unexpected = UNEXPECTED.matcher(raw);
        if (unexpected.find()) {
            String sign = Character.toString(raw.codePointAt(unexpected.start()));
            throw refused("unexpected " + CronText.quote(sign) + "; write " + field.expected(dialect)
                    + " with the digits 0-9 and the signs * , - /");
        }
        if (raw.equals("?")) {
            if (dialect == Dialect.UNIX) {
                throw refused("? belongs to the Quartz dialect; write *");
            }
            if (field != CronField.DAY && field != CronField.WEEKDAY) {
                throw refused("? is only for day-of-month or day-of-week; write *");
            }
            return raw;
        }
        List<String> entries = new ArrayList<>();
        for (String entry : raw.toUpperCase(Locale.ROOT).split(",", -1)) {
            entries.add(readEntry(entry));
        }
        return String.join(",", entries);
    }

    private String readEntry(String entry) {
        if (entry.isEmpty()) {
            throw refused("a part of the list is empty; write values with one comma between them");
        }
        if (entry.length() > LONGEST_ENTRY) {
            throw refused(
                    CronText.quote(entry) + " is too long for one value or range; write " + field.expected(dialect));
        }
        String special = dialect == Dialect.QUARTZ ? readSpecial(entry) : null;
        if (special != null) {
            return special;
        }
        String[] parts = entry.split("/", -1);
        if (parts.length > 2) {
            throw refused("more than one step in " + CronText.quote(entry) + "; write one, as in */5");
        }
        int step = parts.length == 2 ? readStep(parts[1]) : 0;
        String stepText = step == 0 ? "" : "/" + step;
        String base = parts[0];
        if (base.equals("*")) {
            warnOfUnevenSteps(field.min(dialect), step);
            return base + stepText;
        }
        if (base.isEmpty()) {
            throw refused("a step needs a start; write */" + step);
        }
        if (base.contains("*") || base.contains("?")) {
            throw refused(CronText.quote(entry) + " mixes signs; write *, */5, or values");
        }
        if (!base.contains("-")) {
            int value = readValue(base);
            warnOfUnevenSteps(value, step);
            return value + stepText;
        }
        String[] ends = base.split("-", -1);
        if (ends.length != 2 || ends[0].isEmpty() || ends[1].isEmpty()) {
            throw refused(CronText.quote(base) + " is no range; write two values, as in " + field.min(dialect) + "-"
                    + field.max + " (no negative numbers)");
        }
        return readRange(ends[0], ends[1], step);
    }

    private String readRange(String start, String end, int step) {
        int from = readValue(start);
        int to = readValue(end);
        String stepText = step == 0 ? "" : "/" + step;
        if (field == CronField.WEEKDAY && end.equals("SUN") && to < from) {
            // The week may be written to its end, Sunday. Quartz counts that Sunday as 1, so the
            // range becomes a list there.
            return dialect == Dialect.UNIX
                    ? from + "-7" + stepText
                    : IntStream.iterate(from, day -> day <= 8, day -> day + Math.max(1, step))
                            .mapToObj(day -> Integer.toString(day == 8 ? 1 : day))
                            .collect(Collectors.joining(","));
        }
        if (from > to) {
            throw refused(
                    "the range " + start + "-" + end + " runs backwards; write " + forwards(start, from, end, to));
        }
        if (step > to - from && step > 1) {
            warnings.add(field.title + " " + CronText.quote(raw) + ": the step " + step + " is longer than the range "
                    + start + "-" + end + ", so that only " + start + " is left of it");
        }
        if (field == CronField.WEEKDAY && dialect == Dialect.QUARTZ && raw.equals("1-5")) {
            warnings.add(
                    "day-of-week \"1-5\" means SUN-THU in the Quartz dialect, where 1 is Sunday; if you mean MON-FRI, write that");
        }
        return from + "-" + to + stepText;
    }

    /** The same values as a backward range, in ranges that ascend. A week may be written to its end, Sunday. */
    private String forwards(String start, int from, String end, int to) {
        if (field != CronField.WEEKDAY) {
            return (from == field.max ? start : start + "-" + field.max) + ","
                    + (to == field.min ? end : field.min + "-" + end);
        }
        int sunday = field.min(dialect);
        if (dialect == Dialect.UNIX && from == field.max) {
            return "SUN-" + end;
        }
        return start + "-SUN" + (to == sunday ? "" : to == sunday + 1 ? "," + end : ",MON-" + end);
    }

    /** The forms with L, W and # of the Quartz dialect, or null when it is none of them. */
    private @Nullable String readSpecial(String entry) {
        if (field == CronField.DAY) {
            if (entry.equals("L") || entry.equals("LW")) {
                return entry;
            }
            var before = BEFORE_LAST_DAY.matcher(entry);
            if (before.matches()) {
                int days = number(before.group(1));
                if (days < 1 || days > 30) {
                    throw refused("L-" + before.group(1) + " is in no month; write L, or L-1 to L-30");
                }
                return "L-" + days;
            }
            var nearest = NEAREST_WEEKDAY.matcher(entry);
            if (nearest.matches()) {
                return readValue(nearest.group(1)) + "W";
            }
        }
        if (field == CronField.WEEKDAY) {
            if (entry.equals("L")) {
                return "7";
            }
            var last = LAST_OF_WEEKDAY.matcher(entry);
            if (last.matches()) {
                return readValue(last.group(1)) + "L";
            }
            var nth = NTH_OF_WEEKDAY.matcher(entry);
            if (nth.matches()) {
                int number = number(nth.group(2));
                if (number < 1 || number > 5) {
                    throw refused("a month has no weekday number " + nth.group(2) + "; write #1 to #5, or "
                            + nth.group(1) + "L for the last");
                }
                return readValue(nth.group(1)) + "#" + number;
            }
        }
        return null;
    }

    private int readStep(String word) {
        if (!NUMBER.matcher(word).matches()) {
            throw refused((word.isEmpty() ? "nothing" : CronText.quote(word))
                    + " is no step; write a whole number after the /, as in */5");
        }
        int step = number(word);
        if (step == 0) {
            throw refused("step 0 never moves on; write 1 or more");
        }
        if (step > field.longestStep()) {
            String instead = !field.hasFixedLength() || step == Integer.MAX_VALUE
                    ? "write a step up to " + field.longestStep()
                    : "for an even distance use every: " + interval(step);
            throw refused(
                    "the step " + word + " is larger than the field, which ends at " + field.max + "; " + instead);
        }
        return step;
    }

    private int readValue(String word) {
        Integer named = field.named(word, dialect);
        if (named != null) {
            return named;
        }
        if (!NUMBER.matcher(word).matches()) {
            String name = field.shortName(word);
            String instead =
                    dialect == Dialect.UNIX && QUARTZ_ONLY.matcher(word).matches()
                            ? "; L, W and # belong to the Quartz dialect (6 or 7 fields)"
                            : "; write " + (name != null ? name : field.expected(dialect));
            throw refused(CronText.quote(word) + " is no value here" + instead);
        }
        int value = number(word);
        if (value < field.min(dialect) || value > field.max) {
            throw refused(word + " is out of range; write " + field.expected(dialect));
        }
        return value;
    }

    private void warnOfUnevenSteps(int start, int step) {
        boolean clock = field == CronField.SECOND || field == CronField.MINUTE || field == CronField.HOUR;
        if (!clock || step == 0 || field.isEven(step)) {
            return;
        }
        int[] values = IntStream.iterate(start, value -> value <= field.max, value -> value + step)
                .toArray();
        String around = field == CronField.HOUR ? "day" : field == CronField.MINUTE ? "hour" : "minute";
        warnings.add(field.title + " " + CronText.quote(raw) + " is not evenly spaced: it begins again each " + around
                + " and fires at "
                + list(values, field == CronField.HOUR) + "; for an even distance use every: "
                + interval(step));
    }

    private static String list(int[] values, boolean hours) {
        List<String> shown = IntStream.of(values)
                .mapToObj(value -> hours
                        ? String.format(Locale.ROOT, "%02d:00", value)
                        : String.format(Locale.ROOT, ":%02d", value))
                .toList();
        if (shown.size() == 1) {
            return shown.getFirst() + " only";
        }
        if (shown.size() <= 6) {
            return String.join(", ", shown.subList(0, shown.size() - 1)) + " and " + shown.getLast();
        }
        return String.join(", ", shown.subList(0, 3)) + ", …, " + shown.getLast();
    }

    /** So many steps of the field as an interval; days are written in hours. */
    private String interval(int steps) {
        return switch (field) {
            case SECOND -> steps + "s";
            case MINUTE -> steps + "m";
            case HOUR -> steps + "h";
            default -> 24L * steps + "h";
        };
    }

    /** A number of any length; what is longer than any field's values becomes one that every field refuses. */
    private static int number(String digits) {
        int start = 0;
        while (start < digits.length() - 1 && digits.charAt(start) == '0') {
            start++;
        }
        return digits.length() - start > 6 ? Integer.MAX_VALUE : Integer.parseInt(digits.substring(start));
    }

    private ScheduleException refused(String reason) {
        return new ScheduleException(
                "cron " + CronText.quote(text) + ": " + field.title + " " + CronText.quote(raw) + ": " + reason);
    }
}
