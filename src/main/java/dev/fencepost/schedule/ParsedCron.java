package dev.fencepost.schedule;

import com.cronutils.model.CronType;
import com.cronutils.model.definition.CronDefinitionBuilder;
import com.cronutils.model.field.CronFieldName;
import com.cronutils.model.field.expression.And;
import com.cronutils.model.field.expression.Between;
import com.cronutils.model.field.expression.FieldExpression;
import com.cronutils.model.field.expression.On;
import com.cronutils.model.field.value.FieldValue;
import com.cronutils.model.field.value.IntegerFieldValue;
import com.cronutils.parser.CronParser;
import dev.fencepost.schedule.Cron.Dialect;
import java.util.BitSet;

/**
 * What cron-utils makes of an expression: its tree of fields, read as sets of values. The only type that knows that library.
 *
 * <p>The library parses. Its own search for times is not used, neither with a zone, where it breaks the policy's rules on gaps and
 * overlaps, nor without: it joins a day field such as {@code *&#47;2} with the other one by "or", fails on {@code 31W} in a shorter month,
 * and loses the L of {@code 1,15W,L}. A set of values per field leaves nothing to search.
 */
final class ParsedCron {

    private static final int DAYS_OF_WEEK = 7;
    private static final int SATURDAY = 6;
    private static final int SUNDAY = 0;

    private final CronText text;
    private final com.cronutils.model.Cron tree;

    private ParsedCron(CronText text, com.cronutils.model.Cron tree) {
        this.text = text;
        this.tree = tree;
    }

    /** @throws ScheduleException when the library finds a fault that {@link CronText} did not */
    static ParsedCron of(CronText text) {
        CronType type = text.dialect() == Dialect.UNIX ? CronType.UNIX : CronType.QUARTZ;
        try {
            return new ParsedCron(
                    text, new CronParser(CronDefinitionBuilder.instanceDefinitionFor(type)).parse(text.normalised()));
        } catch (IllegalArgumentException refused) {
            throw new ScheduleException("cron " + CronText.quote(text.text()) + ": " + refused.getMessage());
        }
    }

    /** The local times of the expression. */
    WallTimes wallTimes() {
        return new WallTimes(days(), timesOfDay());
    }

    /** The dates of the expression. */
    DayPattern days() {
        BitSet years =
                text.written(CronField.YEAR).equals("*") ? new BitSet() : values(CronFieldName.YEAR, CronField.YEAR);
        return new DayPattern(values(CronFieldName.MONTH, CronField.MONTH), years, this::daysOf);
    }

    private int[] timesOfDay() {
        BitSet seconds = text.dialect() == Dialect.UNIX
                ? BitSet.valueOf(new long[] {1})
                : values(CronFieldName.SECOND, CronField.SECOND);
        BitSet minutes = values(CronFieldName.MINUTE, CronField.MINUTE);
        BitSet hours = values(CronFieldName.HOUR, CronField.HOUR);
        return hours.stream()
                .flatMap(hour -> minutes.stream().map(minute -> hour * 60 + minute))
                .flatMap(minute -> seconds.stream().map(second -> minute * 60 + second))
                .toArray();
    }

    private BitSet values(CronFieldName name, CronField field) {
        BitSet values = new BitSet();
        add(values, expression(name), field.min(text.dialect()), field.max);
        return values;
    }

    private FieldExpression expression(CronFieldName name) {
        return tree.retrieve(name).getExpression();
    }

    /** Values of plain fields; {@code *} and {@code ?} are all of them. */
    private static void add(BitSet values, FieldExpression expression, int min, int max) {
        switch (expression) {
            case And list -> list.getExpressions().forEach(part -> add(values, part, min, max));
            case On one -> values.set(one.getTime().getValue());
            case Between range -> values.set(number(range.getFrom()), number(range.getTo()) + 1);
            case com.cronutils.model.field.expression.Every steps -> addSteps(values, steps, min, max);
            default -> values.set(min, max + 1);
        }
    }

    private static void addSteps(BitSet values, com.cronutils.model.field.expression.Every steps, int min, int max) {
        int from = min;
        int to = max;
        if (steps.getExpression() instanceof Between range) {
            from = number(range.getFrom());
            to = number(range.getTo());
        } else if (steps.getExpression() instanceof On start) {
            from = start.getTime().getValue();
        }
        for (int value = from; value <= to; value += steps.getPeriod().getValue()) {
            values.set(value);
        }
    }

    /** The fitting days of a month of this shape, bit 0 for the 1st. */
    private int daysOf(int length, int firstWeekday) {
        int byDate = byDate(expression(CronFieldName.DAY_OF_MONTH), length, firstWeekday);
        int byWeekday = byWeekday(expression(CronFieldName.DAY_OF_WEEK), length, firstWeekday);
        boolean either = text.dialect() == Dialect.UNIX
                && text.isRestricted(CronField.DAY)
                && text.isRestricted(CronField.WEEKDAY);
        return either ? byDate | byWeekday : byDate & byWeekday;
    }

    private static int byDate(FieldExpression expression, int length, int firstWeekday) {
        if (expression instanceof And list) {
            return list.getExpressions().stream()
                    .mapToInt(part -> byDate(part, length, firstWeekday))
                    .reduce(0, (a, b) -> a | b);
        }
        if (expression instanceof On on) {
            int day = on.getTime().getValue();
            return switch (on.getSpecialChar().getValue()) {
                case L -> bit(length - Math.max(0, on.getNth().getValue()));
                case LW -> bit(nearestWeekday(length, length, firstWeekday));
                // A month that lacks the day has no such weekday either: no move to its last day.
                case W -> day > length ? 0 : bit(nearestWeekday(day, length, firstWeekday));
                default -> bit(day);
            };
        }
        BitSet values = new BitSet();
        add(values, expression, CronField.DAY.min, CronField.DAY.max);
        return values.stream().map(ParsedCron::bit).reduce(0, (a, b) -> a | b);
    }

    private int byWeekday(FieldExpression expression, int length, int firstWeekday) {
        if (expression instanceof And list) {
            return list.getExpressions().stream()
                    .mapToInt(part -> byWeekday(part, length, firstWeekday))
                    .reduce(0, (a, b) -> a | b);
        }
        if (expression instanceof On on) {
            int first = firstDayOf(weekday(on.getTime().getValue()), firstWeekday);
            return switch (on.getSpecialChar().getValue()) {
                case L -> bit(first + (length - first) / DAYS_OF_WEEK * DAYS_OF_WEEK);
                case HASH -> bit(first + (on.getNth().getValue() - 1) * DAYS_OF_WEEK);
                default -> everyWeekFrom(first);
            };
        }
        BitSet values = new BitSet();
        // Without a range, unix weekdays are 0 to 6; the 7 is a second name for 0.
        int min = CronField.WEEKDAY.min(text.dialect());
        add(values, expression, min, min + DAYS_OF_WEEK - 1);
        return values.stream()
                .map(value -> everyWeekFrom(firstDayOf(weekday(value), firstWeekday)))
                .reduce(0, (a, b) -> a | b);
    }

    /** From the dialect's number to Sunday = 0. */
    private int weekday(int number) {
        return text.dialect() == Dialect.UNIX ? number % DAYS_OF_WEEK : number - 1;
    }

    private static int firstDayOf(int weekday, int firstWeekday) {
        return 1 + Math.floorMod(weekday - firstWeekday, DAYS_OF_WEEK);
    }

    private static int everyWeekFrom(int first) {
        int days = 0;
        for (int day = first; day <= CronField.DAY.max; day += DAYS_OF_WEEK) {
            days |= bit(day);
        }
        return days;
    }

    /** Monday to Friday next to this day, never in another month. */
    private static int nearestWeekday(int day, int length, int firstWeekday) {
        int weekday = (firstWeekday + day - 1) % DAYS_OF_WEEK;
        if (weekday == SATURDAY) {
            return day > 1 ? day - 1 : day + 2;
        }
        if (weekday == SUNDAY) {
            return day < length ? day + 1 : day - 2;
        }
        return day;
    }

    private static int bit(int day) {
        return day < 1 || day > CronField.DAY.max ? 0 : 1 << (day - 1);
    }

    private static int number(FieldValue<?> value) {
        return ((IntegerFieldValue) value).getValue();
    }
}
