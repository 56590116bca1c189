package dev.fencepost.schedule;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** A place in a cron expression, with the values that may stand there. */
enum CronField {
    SECOND("second", 0, 59, List.of()),
    MINUTE("minute", 0, 59, List.of()),
    HOUR("hour", 0, 23, List.of()),
    DAY("day-of-month", 1, 31, List.of()),
    MONTH("month", 1, 12, List.of("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")),
    WEEKDAY("day-of-week", 0, 7, List.of("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")),
    YEAR("year", 1970, 2099, List.of());

    static final List<CronField> UNIX = List.of(MINUTE, HOUR, DAY, MONTH, WEEKDAY);
    static final List<CronField> QUARTZ = List.of(SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, YEAR);

    /** As a message names it. */
    final String title;

    final int min;
    final int max;

    @SuppressWarnings("ImmutableEnumChecker") // only ever List.of
    private final List<String> names;

    CronField(String title, int min, int max, List<String> names) {
        this.title = title;
        this.min = min;
        this.max = max;
        this.names = names;
    }

    /** Sunday is 0 and 7 in the unix dialect, 1 in the Quartz dialect. */
    int min(Cron.Dialect dialect) {
        return this == WEEKDAY && dialect == Cron.Dialect.QUARTZ ? 1 : min;
    }

    /** The greatest step that still can be meant: no greater than the greatest value, the year's no greater than their number. */
    int longestStep() {
        return this == YEAR ? max - min : max;
    }

    /** Whether a step is a fixed length of time, so that an interval can say the same. */
    boolean hasFixedLength() {
        return compareTo(DAY) <= 0;
    }

    /** Whether the step comes out even where the field begins again. */
    boolean isEven(int step) {
        return (max - min + 1) % step == 0;
    }

    /** The number that a name of three letters (upper case) stands for, or null. */
    @Nullable
    Integer named(String name, Cron.Dialect dialect) {
        int index = names.indexOf(name);
        return index < 0 ? null : index + (this == MONTH ? 1 : min(dialect));
    }

    /** What may be written, for messages. */
    String expected(Cron.Dialect dialect) {
        String numbers = min(dialect) + "-" + max;
        String plain = names.isEmpty() ? numbers : numbers + " or " + names.getFirst() + "-" + names.getLast();
        if (dialect == Cron.Dialect.UNIX) {
            return plain;
        }
        return switch (this) {
            case DAY -> plain + " (also L, L-3, LW, 15W)";
            case WEEKDAY -> plain + " (also 6L, 6#3)";
            default -> plain;
        };
    }

    /** The short name that a longer word begins with ("Monday"), or null. */
    @Nullable
    String shortName(String word) {
        String upper = word.toUpperCase(Locale.ROOT);
        return names.stream().filter(upper::startsWith).findFirst().orElse(null);
    }
}
