package dev.fencepost.schedule;

import java.time.LocalDate;
import java.time.YearMonth;
import java.util.BitSet;
import java.util.function.IntBinaryOperator;

/**
 * The dates of a cron expression. A month's days depend only on its length and on the weekday of its first, so the 28 possible months
 * are worked out once, and every question after that is a walk over months with a few bit operations each.
 *
 * <p>Days are counted as in {@link LocalDate#toEpochDay}. The calendar reaches from year 1 to year 9999.
 */
final class DayPattern {

    /** No such day. */
    static final long NONE = Long.MIN_VALUE;

    static final int FIRST_YEAR = 1;
    static final int LAST_YEAR = 9999;

    private static final int SHORTEST_MONTH = 28;
    private static final int LONGEST_MONTH = 31;

    private final int[] daysByShape = new int[(LONGEST_MONTH - SHORTEST_MONTH + 1) * 7];
    private final BitSet months;
    private final BitSet years;

    /**
     * @param months the numbers 1 to 12
     * @param years the years, empty for all
     * @param days from (length of the month, weekday of its first with Sunday = 0) to the days that fit: bit 0 is the 1st
     */
    DayPattern(BitSet months, BitSet years, IntBinaryOperator days) {
        this.months = months;
        this.years = years;
        for (int length = SHORTEST_MONTH; length <= LONGEST_MONTH; length++) {
            for (int weekday = 0; weekday < 7; weekday++) {
                daysByShape[shape(length, weekday)] = days.applyAsInt(length, weekday) & (-1 >>> (32 - length));
            }
        }
    }

    boolean contains(long day) {
        LocalDate date = LocalDate.ofEpochDay(day);
        int dayOfMonth = date.getDayOfMonth();
        return (days(date.getYear(), date.getMonthValue(), date.lengthOfMonth(), day - dayOfMonth + 1)
                                >> (dayOfMonth - 1)
                        & 1)
                == 1;
    }

    /** The first fitting day at or after this one, or {@link #NONE}. */
    long onOrAfter(long day) {
        LocalDate date = LocalDate.ofEpochDay(Math.max(day, firstDay()));
        int year = date.getYear();
        int month = date.getMonthValue();
        long first = date.toEpochDay() - date.getDayOfMonth() + 1;
        int wanted = -1 << (date.getDayOfMonth() - 1);
        int lastYear = lastYear();
        while (year <= lastYear) {
            int length = length(year, month);
            int found = days(year, month, length, first) & wanted;
            if (found != 0) {
                return first + Integer.numberOfTrailingZeros(found);
            }
            wanted = -1;
            first += length;
            month++;
            if (month > 12) {
                month = 1;
                year++;
            }
        }
        return NONE;
    }

    /** The last fitting day at or before this one, or {@link #NONE}. */
    long onOrBefore(long day) {
        LocalDate date = LocalDate.ofEpochDay(Math.min(day, lastDay()));
        int year = date.getYear();
        int month = date.getMonthValue();
        long first = date.toEpochDay() - date.getDayOfMonth() + 1;
        int wanted = -1 >>> (32 - date.getDayOfMonth());
        int firstYear = firstYear();
        while (year >= firstYear) {
            int found = days(year, month, length(year, month), first) & wanted;
            if (found != 0) {
                return first + 31 - Integer.numberOfLeadingZeros(found);
            }
            wanted = -1;
            month--;
            if (month < 1) {
                month = 12;
                year--;
            }
            first -= length(year, month);
        }
        return NONE;
    }

    /** How many days fit from the first day given, up to but not including the second. */
    long count(long from, long to) {
        long start = Math.max(from, firstDay());
        long end = Math.min(to, lastDay() + 1);
        if (start >= end) {
            return 0;
        }
        LocalDate date = LocalDate.ofEpochDay(start);
        int year = date.getYear();
        int month = date.getMonthValue();
        long first = start - date.getDayOfMonth() + 1;
        int wanted = -1 << (date.getDayOfMonth() - 1);
        long count = 0;
        while (first < end) {
            int length = length(year, month);
            if (end - first < length) {
                wanted &= (1 << (end - first)) - 1;
            }
            count += Integer.bitCount(days(year, month, length, first) & wanted);
            wanted = -1;
            first += length;
            month++;
            if (month > 12) {
                month = 1;
                year++;
            }
        }
        return count;
    }

    /** The most days that one of the months can have. */
    int longestMonth() {
        return months.stream()
                .map(month -> java.time.Month.of(month).maxLength())
                .max()
                .orElse(0);
    }

    private int days(int year, int month, int length, long first) {
        // A zone's offset leads a day beyond either end of the calendar.
        boolean known = year >= FIRST_YEAR && year <= LAST_YEAR;
        boolean fits = known && months.get(month) && (years.isEmpty() || years.get(year));
        // 1970-01-01, day 0, was a Thursday.
        return fits ? daysByShape[shape(length, Math.floorMod(first + 4, 7))] : 0;
    }

    private long firstDay() {
        return LocalDate.of(firstYear(), 1, 1).toEpochDay();
    }

    private long lastDay() {
        return LocalDate.of(lastYear(), 12, 31).toEpochDay();
    }

    private int firstYear() {
        return years.isEmpty() ? FIRST_YEAR : years.nextSetBit(0);
    }

    private int lastYear() {
        return years.isEmpty() ? LAST_YEAR : years.length() - 1;
    }

    private static int length(int year, int month) {
        return YearMonth.of(year, month).lengthOfMonth();
    }

    private static int shape(int length, int weekday) {
        return (length - SHORTEST_MONTH) * 7 + weekday;
    }
}
