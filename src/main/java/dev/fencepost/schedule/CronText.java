package dev.fencepost.schedule;

import dev.fencepost.schedule.Cron.Dialect;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
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

    /** What each stands for; the rule for wildcards is then that of its five fields. */
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
            fields.add(new FieldReader(text, dialect, places.get(i), words.get(i), warnings).read());
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
        return '"' + shown(text) + '"';
    }

    private static String shown(String text) {
        String shown = text.length() > 80 ? text.substring(0, 77) + "..." : text;
        return shown.codePoints()
                .mapToObj(c -> isHidden(c) ? String.format(Locale.ROOT, "\\u%04x", c) : Character.toString(c))
                .collect(Collectors.joining());
    }

    private static boolean isHidden(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.UNASSIGNED,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> true;
            default -> false;
        };
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
                            + shown(words.getFirst().substring(words.getFirst().indexOf('=') + 1)));
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
                    + (interval.isEmpty() ? "5m" : shown(interval)));
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
}
