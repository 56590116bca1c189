package dev.fencepost.schedule;

import dev.fencepost.schedule.Cron.Dialect;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A cron expression as it is written: split into its fields, each checked, names turned into numbers.
 *
 * <p>The check is done here, before cron-utils sees the text, for two reasons. A refusal must name the field, the offending text and
 * what to write instead. And the library is lenient where it matters: it accepts {@code +5}, digits of other scripts, a second step
 * that it then ignores ({@code 5-10/2/3}), {@code /5}, and in its Quartz form ranges that run backwards.
 */
final class CronText {

    /** Beyond this nobody has written it by hand, and error messages and logs stay readable. */
    private static final int LONGEST = 1_000;

    private static final Pattern BLANKS = Pattern.compile("[ \\t]+");
    private static final Pattern NUMBER = Pattern.compile("[0-9]+");
    private static final Pattern UNEXPECTED = Pattern.compile("[^0-9A-Za-z*?/#,-]");
    private static final Pattern BEFORE_LAST_DAY = Pattern.compile("L-([0-9]+)");
    private static final Pattern NEAREST_WEEKDAY = Pattern.compile("([0-9]+)W");
    private static final Pattern LAST_OF_WEEKDAY = Pattern.compile("([0-9A-Z]+)L");
    private static final Pattern NTH_OF_WEEKDAY = Pattern.compile("([0-9A-Z]+)#([0-9]+)");

    private static final Pattern QUARTZ_ONLY = Pattern.compile("L|LW|[0-9]+[LW]|[A-Z]{3}L|[A-Z0-9]+#[0-9]+");

    private static final Map<String, String> MACROS = Map.of(
            "@hourly", "0 * * * *",
            "@daily", "0 0 * * *",
            "@midnight", "0 0 * * *",
            "@weekly", "0 0 * * 0",
            "@monthly", "0 0 1 * *",
            "@yearly", "0 0 1 1 *",
            "@annually", "0 0 1 1 *");

    private final String text;
    private final Dialect dialect;
    private final List<String> written;
    private final List<String> fields = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();

    /**
     * Reads and checks.
     *
     * @param wanted the dialect, or null to take it from the number of fields
     * @throws ScheduleException when the text is no expression of that dialect
     */
    static CronText read(String expression, @Nullable Dialect wanted) {
        if (expression.length() > LONGEST) {
            throw new ScheduleException("cron " + quote(expression) + ": " + expression.length()
                    + " characters is too long, the limit is " + LONGEST);
        }
        // A block of YAML ends in a line break; inside the expression one is refused below.
        String stripped = expression.strip();
        List<String> words = stripped.isEmpty() ? List.of() : List.of(BLANKS.split(stripped));
        String text = String.join(" ", words);
        refuseForeignForms(text, words);
        if (text.startsWith("@")) {
            return new CronText(text, Dialect.UNIX, List.of(BLANKS.split(macro(text, wanted))));
        }
        int count = words.size();
        Dialect dialect = wanted != null ? wanted : count == 5 ? Dialect.UNIX : Dialect.QUARTZ;
        if (dialect == Dialect.UNIX && count != 5) {
            throw new ScheduleException("cron " + quote(text) + " has " + count
                    + " fields; the unix dialect has 5: minute hour day-of-month month day-of-week"
                    + (count == 6 || count == 7 ? "; with a field for seconds write the Quartz dialect" : ""));
        }
        if (dialect == Dialect.QUARTZ && count != 6 && count != 7) {
            throw new ScheduleException("cron " + quote(text) + " has " + count + " fields; "
                    + (wanted == null ? "write 5 (unix: minute hour day-of-month month day-of-week), or " : "write ")
                    + "6 or 7 (Quartz: second minute hour day-of-month month day-of-week [year])");
        }
        return new CronText(text, dialect, words);
    }

    private CronText(String text, Dialect dialect, List<String> words) {
        this.text = text;
        this.dialect = dialect;
        this.written = words;
        List<CronField> places = dialect == Dialect.UNIX ? CronField.UNIX : CronField.QUARTZ;
        for (int i = 0; i < words.size(); i++) {
            fields.add(readField(places.get(i), words.get(i)));
        }
        if (dialect == Dialect.QUARTZ) {
            boolean anyDay = field(CronField.DAY).equals("?");
            boolean anyWeekday = field(CronField.WEEKDAY).equals("?");
            if (anyDay == anyWeekday) {
                throw new ScheduleException(
                        "cron " + quote(text) + ": day-of-month "
                                + quote(written(CronField.DAY)) + " and day-of-week "
                                + quote(written(CronField.WEEKDAY))
                                + ": in the Quartz dialect exactly one of the two is ?; write ? for the one that does not matter");
            }
        }
    }

    /** The expression with single blanks, otherwise as written. */
    String text() {
        return text;
    }

    Dialect dialect() {
        return dialect;
    }

    /** What cron-utils gets: numbers, {@code * ? , - /} and the letters L, W, #. */
    String normalised() {
        return String.join(" ", fields);
    }

    /** Whether the runs are meant by their spacing: the rule is about the text, as in Vixie cron, not about the values. */
    boolean isWildcard() {
        return isWildcard(CronField.MINUTE)
                || isWildcard(CronField.HOUR)
                || (dialect == Dialect.QUARTZ && isWildcard(CronField.SECOND));
    }

    /** Whether the field says something, so that it counts for the rule that joins the two day fields. */
    boolean isRestricted(CronField field) {
        return !field(field).startsWith("*") && !field(field).equals("?");
    }

    /** The field as written; {@code *} for one that is not there. */
    String written(CronField field) {
        int index = index(field);
        return index >= 0 && index < written.size() ? written.get(index) : "*";
    }

    /** What was accepted but is rarely meant. */
    List<String> warnings() {
        return List.copyOf(warnings);
    }

    /** In quotes, short enough for one line, without control characters. */
    static String quote(String text) {
        String shown = text.length() > 80 ? text.substring(0, 77) + "..." : text;
        return shown.codePoints()
                .mapToObj(c ->
                        Character.isISOControl(c) || !Character.isDefined(c) || Character.getType(c) == Character.FORMAT
                                ? String.format(Locale.ROOT, "\\u%04x", c)
                                : Character.toString(c))
                .collect(Collectors.joining("", "\"", "\""));
    }

    /** Whether this field alone makes the expression a wildcard. */
    boolean isWildcard(CronField field) {
        String value = field(field);
        return value.startsWith("*") || (dialect == Dialect.QUARTZ && value.startsWith("0/"));
    }

    private String field(CronField field) {
        return fields.get(index(field));
    }

    private int index(CronField field) {
        return dialect == Dialect.UNIX ? CronField.UNIX.indexOf(field) : CronField.QUARTZ.indexOf(field);
    }

    private static void refuseForeignForms(String text, List<String> words) {
        if (text.isEmpty()) {
            throw new ScheduleException("cron is empty: write five fields, as in \"0 6 * * *\"");
        }
        int lookalike = text.codePoints()
                .filter(c -> c != ' ' && (Character.isWhitespace(c) || Character.isSpaceChar(c)))
                .findFirst()
                .orElse(-1);
        if (lookalike >= 0) {
            throw new ScheduleException(
                    "cron " + quote(text) + String.format(Locale.ROOT, ": the character U+%04X", lookalike)
                            + " separates no fields; write one line with plain blanks or tabs");
        }
        String upper = text.toUpperCase(Locale.ROOT);
        if (upper.startsWith("TZ=") || upper.startsWith("CRON_TZ=")) {
            throw new ScheduleException(
                    "cron " + quote(text) + ": no zone inside the expression; write it beside it, as in zone: "
                            + words.getFirst().substring(words.getFirst().indexOf('=') + 1));
        }
        if (words.stream().anyMatch(word -> word.startsWith("#"))) {
            throw new ScheduleException(
                    "cron " + quote(text) + ": no comment inside the expression; leave out all from the #");
        }
    }

    /** Macros count in any case, as names do. */
    private static String macro(String text, @Nullable Dialect wanted) {
        String lower = text.toLowerCase(Locale.ROOT);
        if (lower.startsWith("@every")) {
            String interval = text.substring("@every".length()).strip();
            throw new ScheduleException("cron " + quote(text) + ": an interval is no cron expression; write every: "
                    + (interval.isEmpty() ? "5m" : interval));
        }
        if (lower.equals("@reboot")) {
            throw new ScheduleException(
                    "cron " + quote(text) + ": there is no boot event where several nodes share the jobs; write a"
                            + " time, as in @daily, or start the job by hand");
        }
        String fields = MACROS.get(lower);
        if (fields == null) {
            throw new ScheduleException("cron " + quote(text) + ": unknown macro; write "
                    + MACROS.keySet().stream().sorted().collect(Collectors.joining(", ")) + ", or the fields");
        }
        if (wanted == Dialect.QUARTZ) {
            throw new ScheduleException("cron " + quote(text)
                    + ": macros belong to the unix dialect; in the Quartz dialect write 6 or 7" + " fields");
        }
        return fields;
    }

    private String readField(CronField field, String raw) {
        var unexpected = UNEXPECTED.matcher(raw);
        if (unexpected.find()) {
            String sign = Character.toString(raw.codePointAt(unexpected.start()));
            throw refused(
                    field,
                    raw,
                    "unexpected " + quote(sign) + "; write " + field.expected(dialect)
                            + " with the digits 0-9 and the signs * , - /");
        }
        if (raw.equals("?")) {
            if (dialect == Dialect.UNIX) {
                throw refused(field, raw, "? belongs to the Quartz dialect; write *");
            }
            if (field != CronField.DAY && field != CronField.WEEKDAY) {
                throw refused(field, raw, "? is only for day-of-month or day-of-week; write *");
            }
            return raw;
        }
        List<String> entries = new ArrayList<>();
        for (String entry : raw.toUpperCase(Locale.ROOT).split(",", -1)) {
            entries.add(readEntry(field, raw, entry));
        }
        return String.join(",", entries);
    }

    private String readEntry(CronField field, String raw, String entry) {
        if (entry.isEmpty()) {
            throw refused(field, raw, "a part of the list is empty; write values with one comma between them");
        }
        String special = dialect == Dialect.QUARTZ ? readSpecial(field, raw, entry) : null;
        if (special != null) {
            return special;
        }
        String[] parts = entry.split("/", -1);
        if (parts.length > 2) {
            throw refused(field, raw, "more than one step in " + quote(entry) + "; write one, as in */5");
        }
        int step = parts.length == 2 ? readStep(field, raw, parts[1]) : 0;
        String stepText = step == 0 ? "" : "/" + step;
        String base = parts[0];
        if (base.equals("*")) {
            warnOfUnevenSteps(field, raw, field.min(dialect), step);
            return base + stepText;
        }
        if (base.isEmpty()) {
            throw refused(field, raw, "a step needs a start; write */" + step);
        }
        if (base.contains("*") || base.contains("?")) {
            throw refused(field, raw, quote(entry) + " mixes signs; write *, */5, or values");
        }
        if (!base.contains("-")) {
            int value = readValue(field, raw, base);
            warnOfUnevenSteps(field, raw, value, step);
            return value + stepText;
        }
        String[] ends = base.split("-", -1);
        if (ends.length != 2 || ends[0].isEmpty() || ends[1].isEmpty()) {
            throw refused(
                    field,
                    raw,
                    quote(base) + " is no range; write two values, as in " + field.min(dialect) + "-" + field.max
                            + " (no negative numbers)");
        }
        return readRange(field, raw, ends[0], ends[1], step);
    }

    private String readRange(CronField field, String raw, String start, String end, int step) {
        int from = readValue(field, raw, start);
        int to = readValue(field, raw, end);
        String stepText = step == 0 ? "" : "/" + step;
        if (field == CronField.WEEKDAY && end.equals("SUN") && to < from) {
            // The week may be written to its end, Sunday. Quartz counts that Sunday as 1, so the range becomes a list
            // there.
            return dialect == Dialect.UNIX
                    ? from + "-7" + stepText
                    : IntStream.iterate(from, day -> day <= 8, day -> day + Math.max(1, step))
                            .mapToObj(day -> Integer.toString(day == 8 ? 1 : day))
                            .collect(Collectors.joining(","));
        }
        if (from > to) {
            throw refused(
                    field,
                    raw,
                    "the range " + start + "-" + end + " runs backwards; write "
                            + forwards(field, start, from, end, to));
        }
        if (step > to - from && step > 1) {
            warnings.add(field.title + " " + quote(raw) + ": the step " + step + " is longer than the range " + start
                    + "-" + end + ", so that only " + start + " is left of it");
        }
        if (field == CronField.WEEKDAY && dialect == Dialect.QUARTZ && raw.equals("1-5")) {
            warnings.add(
                    "day-of-week \"1-5\" means SUN-THU in the Quartz dialect, where 1 is Sunday; if you mean MON-FRI, write that");
        }
        return from + "-" + to + stepText;
    }

    /** The same values as a backward range, in ranges that ascend. A week may be written to its end, Sunday. */
    private String forwards(CronField field, String start, int from, String end, int to) {
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
    private @Nullable String readSpecial(CronField field, String raw, String entry) {
        if (field == CronField.DAY) {
            if (entry.equals("L") || entry.equals("LW")) {
                return entry;
            }
            var before = BEFORE_LAST_DAY.matcher(entry);
            if (before.matches()) {
                int days = number(before.group(1));
                if (days < 1 || days > 30) {
                    throw refused(field, raw, "L-" + before.group(1) + " is in no month; write L, or L-1 to L-30");
                }
                return "L-" + days;
            }
            var nearest = NEAREST_WEEKDAY.matcher(entry);
            if (nearest.matches()) {
                return readValue(field, raw, nearest.group(1)) + "W";
            }
        }
        if (field == CronField.WEEKDAY) {
            if (entry.equals("L")) {
                return "7";
            }
            var last = LAST_OF_WEEKDAY.matcher(entry);
            if (last.matches()) {
                return readValue(field, raw, last.group(1)) + "L";
            }
            var nth = NTH_OF_WEEKDAY.matcher(entry);
            if (nth.matches()) {
                int number = number(nth.group(2));
                if (number < 1 || number > 5) {
                    throw refused(
                            field,
                            raw,
                            "a month has no weekday number " + nth.group(2) + "; write #1 to #5, or " + nth.group(1)
                                    + "L for the last");
                }
                return readValue(field, raw, nth.group(1)) + "#" + number;
            }
        }
        return null;
    }

    private int readStep(CronField field, String raw, String text) {
        if (!NUMBER.matcher(text).matches()) {
            throw refused(
                    field,
                    raw,
                    (text.isEmpty() ? "nothing" : quote(text))
                            + " is no step; write a whole number after the /, as in */5");
        }
        int step = number(text);
        if (step == 0) {
            throw refused(field, raw, "step 0 never moves on; write 1 or more");
        }
        if (step > field.longestStep()) {
            String instead = !field.hasFixedLength() || step == Integer.MAX_VALUE
                    ? "write a step up to " + field.longestStep()
                    : "for an even distance use every: " + interval(field, step);
            throw refused(
                    field,
                    raw,
                    "the step " + text + " is larger than the field, which ends at " + field.max + "; " + instead);
        }
        return step;
    }

    private int readValue(CronField field, String raw, String text) {
        Integer named = field.named(text, dialect);
        if (named != null) {
            return named;
        }
        if (!NUMBER.matcher(text).matches()) {
            String name = field.shortName(text);
            String instead =
                    dialect == Dialect.UNIX && QUARTZ_ONLY.matcher(text).matches()
                            ? "; L, W and # belong to the Quartz dialect (6 or 7 fields)"
                            : "; write " + (name != null ? name : field.expected(dialect));
            throw refused(field, raw, quote(text) + " is no value here" + instead);
        }
        int value = number(text);
        if (value < field.min(dialect) || value > field.max) {
            throw refused(field, raw, text + " is out of range; write " + field.expected(dialect));
        }
        return value;
    }

    private void warnOfUnevenSteps(CronField field, String raw, int start, int step) {
        boolean clock = field == CronField.SECOND || field == CronField.MINUTE || field == CronField.HOUR;
        if (!clock || step == 0 || field.isEven(step)) {
            return;
        }
        int[] values = IntStream.iterate(start, value -> value <= field.max, value -> value + step)
                .toArray();
        String around = field == CronField.HOUR ? "day" : field == CronField.MINUTE ? "hour" : "minute";
        warnings.add(field.title + " " + quote(raw) + " is not evenly spaced: it begins again each " + around
                + " and fires at "
                + list(values, field == CronField.HOUR) + "; for an even distance use every: "
                + interval(field, step));
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
    private static String interval(CronField field, int steps) {
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

    private ScheduleException refused(CronField field, String raw, String reason) {
        return new ScheduleException("cron " + quote(text) + ": " + field.title + " " + quote(raw) + ": " + reason);
    }
}
