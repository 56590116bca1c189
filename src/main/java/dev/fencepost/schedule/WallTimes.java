package dev.fencepost.schedule;

import java.util.Arrays;

/**
 * The local times of a cron expression on a line without zone: every fitting date, at every fitting time of day. A local time is
 * written as seconds since 1970-01-01T00:00 of that line. Nothing here knows that a clock can jump; {@link Cron} lays that over it.
 */
final class WallTimes {

    /** No such local time. */
    static final long NONE = DayPattern.NONE;

    private static final int DAY = 86_400;

    private final DayPattern days;
    /** Seconds of the day, rising, at least one. */
    private final int[] times;

    private final int shortestInDay;
    private final int longestInDay;

    WallTimes(DayPattern days, int[] times) {
        this.days = days;
        this.times = times.clone();
        this.shortestInDay = shortest(0, times.length);
        this.longestInDay = longest(0, times.length);
    }

    boolean contains(long local) {
        return Arrays.binarySearch(times, secondOfDay(local)) >= 0 && days.contains(day(local));
    }

    /** The first at or after this one, or {@link #NONE}. */
    long ceiling(long local) {
        long day = day(local);
        int index = index(secondOfDay(local));
        if (index < times.length && days.contains(day)) {
            return day * DAY + times[index];
        }
        long next = days.onOrAfter(day + 1);
        return next == NONE ? NONE : next * DAY + times[0];
    }

    /** The last at or before this one, or {@link #NONE}. */
    long floor(long local) {
        long day = day(local);
        int index = index(secondOfDay(local) + 1) - 1;
        if (index >= 0 && days.contains(day)) {
            return day * DAY + times[index];
        }
        long previous = days.onOrBefore(day - 1);
        return previous == NONE ? NONE : previous * DAY + times[times.length - 1];
    }

    /** How many lie from the first local time given, up to but not including the second. */
    long count(long from, long to) {
        if (from >= to) {
            return 0;
        }
        return days.count(day(from), day(to)) * times.length - before(from) + before(to);
    }

    /** Shows those from the first local time given, up to but not including the second, as instants at this offset. */
    void collect(long from, long to, int offset, Gaps.Collector gaps) {
        for (long day = days.onOrAfter(day(from)); day != NONE && day * DAY < to; day = days.onOrAfter(day + 1)) {
            long midnight = day * DAY;
            int low = from <= midnight ? 0 : index((int) (from - midnight));
            int high = to - midnight >= DAY ? times.length : index((int) (to - midnight));
            boolean whole = high - low == times.length;
            if (high - low == 1) {
                gaps.slot(midnight + times[low] - offset);
            } else if (high - low > 1) {
                gaps.run(
                        midnight + times[low] - offset,
                        midnight + times[high - 1] - offset,
                        whole ? shortestInDay : shortest(low, high),
                        whole ? longestInDay : longest(low, high));
            }
        }
    }

    /** Whether there is a time of day from the first second given, up to but not including the second; past midnight when it is less. */
    boolean isTimeBetween(int from, int to) {
        int found = index(to) - index(from);
        return from < to ? found > 0 : found + times.length > 0;
    }

    private long before(long local) {
        return days.contains(day(local)) ? index(secondOfDay(local)) : 0;
    }

    /** The index of the first time of day at or after this second. */
    private int index(int second) {
        int found = Arrays.binarySearch(times, second);
        return found >= 0 ? found : -found - 1;
    }

    private int shortest(int low, int high) {
        int shortest = Integer.MAX_VALUE;
        for (int i = low + 1; i < high; i++) {
            shortest = Math.min(shortest, times[i] - times[i - 1]);
        }
        return shortest;
    }

    private int longest(int low, int high) {
        int longest = 0;
        for (int i = low + 1; i < high; i++) {
            longest = Math.max(longest, times[i] - times[i - 1]);
        }
        return longest;
    }

    private static long day(long local) {
        return Math.floorDiv(local, (long) DAY);
    }

    private static int secondOfDay(long local) {
        return (int) Math.floorMod(local, (long) DAY);
    }
}
