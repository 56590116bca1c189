package dev.fencepost.schedule;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A cron expression, read on the wall clock of a zone.
 *
 * <p>An expression names local times. Most of them are shown once by the clocks of the zone, and that instant is the slot. Where the
 * clock is moved, the answer depends on how the expression is written:
 *
 * <ol>
 *   <li>A <b>fixed-time</b> job names its minute and hour. A local time that the clock jumps over runs at the jump instant, so that a
 *       nightly job is not lost; all times missing in one jump are one slot, the same as a real one at that instant. A local time that is
 *       shown twice runs the first time only.
 *   <li>A <b>wildcard</b> job has a minute or hour field that begins with {@code *} (Quartz: also the seconds, and {@code 0/n}). It is
 *       meant by its spacing, so it follows the real clock: nothing is made up, and both passes of a repeated hour count.
 *   <li>A jump above three hours is no daylight saving but a zone that drops a day; nothing is made up.
 * </ol>
 *
 * <p>How it works: the changes of a zone cut the UTC line into stretches of one offset. Inside a stretch, slots are the local times of
 * {@link WallTimes}, shifted by the offset; the rules above concern only its beginning. So a question costs as much as there are
 * stretches between it and its answer, whatever the number of slots.
 *
 * <p>Slots lie in the years 1 to 9999. The zone's rules are those of the running Java, which knows the future only as the law stands
 * today. Zone and locale of the host are no input.
 */
public final class Cron implements Schedule {

    /** How the fields are written. */
    public enum Dialect {
        /** Five fields, Sunday = 0 = 7, two restricted day fields are joined by "or"; also the macros such as {@code @daily}. */
        UNIX,
        /** Six or seven fields that begin with the second, Sunday = 1, exactly one of the day fields is {@code ?}; L, W and #. */
        QUARTZ
    }

    private static final long NONE = WallTimes.NONE;
    private static final long MIN = LocalDate.of(DayPattern.FIRST_YEAR, 1, 1).toEpochDay() * 86_400;
    private static final long MAX = LocalDate.of(DayPattern.LAST_YEAR + 1, 1, 1).toEpochDay() * 86_400;
    private static final int LONGEST_JUMP_SECONDS = 3 * 3_600;
    /** No zone is further from UTC than 18 hours; twice that also spans any repeated day. */
    private static final int FAR_SECONDS = 36 * 3_600;

    /**
     * Where to look for daylight saving when a warning depends on it: late enough for zones that have given it up, early enough for
     * those that list their changes only up to some year. A constant, since no clock is read here.
     */
    private static final Instant RECENT = Instant.parse("2026-01-01T00:00:00Z");

    private final String text;
    private final boolean wildcard;
    private final boolean everyHour;
    private final List<String> textWarnings;
    private final WallTimes times;
    private final ZoneId zone;
    private final ZoneRules rules;
    private final long first;
    private final long last;

    private Cron(CronText text, DayPattern days, WallTimes times, ZoneId zone) {
        this.text = "cron " + (text.dialect() == Dialect.UNIX ? "unix" : "quartz") + " \"" + text.text() + "\" zone "
                + zone.getId();
        this.wildcard = text.isWildcard();
        this.everyHour =
                text.isWildcard(CronField.HOUR) || text.written(CronField.HOUR).equals("0-23");
        this.textWarnings = text.warnings();
        this.times = times;
        this.zone = zone;
        this.rules = zone.getRules();
        long firstLocal = times.ceiling(MIN);
        long lastLocal = times.floor(MAX - 1);
        if (firstLocal == NONE || lastLocal == NONE) {
            throw new ScheduleException(
                    "cron " + CronText.quote(text.text()) + " never fires: " + missingDay(text, days));
        }
        this.first = firstLocal;
        this.last = lastLocal;
        if (next(Instant.ofEpochSecond(MIN - 1)) == null) {
            throw new ScheduleException(
                    "cron " + CronText.quote(text.text()) + " never fires: in " + zone.getId()
                            + " the clock jumps over all its times, and a wildcard job is not made up; write the minute and hour without *");
        }
    }

    /**
     * Reads an expression of the given dialect.
     *
     * @throws ScheduleException when it is no such expression, or never fires
     */
    public static Cron parse(String expression, Dialect dialect, ZoneId zone) {
        return of(CronText.read(expression, dialect), zone);
    }

    /**
     * Reads an expression whose dialect follows from the number of its fields: five, or a macro, is unix; six or seven is Quartz.
     *
     * @throws ScheduleException when it is neither, or never fires
     */
    public static Cron parse(String expression, ZoneId zone) {
        return of(CronText.read(expression, null), zone);
    }

    private static Cron of(CronText text, ZoneId zone) {
        ParsedCron parsed = ParsedCron.of(text);
        return new Cron(text, parsed.days(), parsed.wallTimes(), zone);
    }

    @Override
    public @Nullable Instant next(Instant after) {
        long from = Math.max(after.getEpochSecond() + 1, Math.max(MIN, first - FAR_SECONDS));
        if (from >= MAX) {
            return null;
        }
        Stretch stretch = stretchAt(from);
        // The answer for one local time is kept as long as it holds: a sparse expression crosses many stretches before
        // its next time.
        long asked = Long.MAX_VALUE;
        long answer = NONE;
        while (true) {
            long madeUp = madeUp(stretch);
            if (madeUp != NONE && madeUp >= from) {
                return Instant.ofEpochSecond(madeUp);
            }
            long local = Math.max(from + stretch.offset, firstLocal(stretch));
            if (local < asked || (answer != NONE && local > answer)) {
                asked = local;
                answer = times.ceiling(local);
            }
            if (answer != NONE && answer < stretch.end + stretch.offset) {
                return Instant.ofEpochSecond(answer - stretch.offset);
            }
            if (stretch.end >= Math.min(MAX, last + FAR_SECONDS)) {
                return null;
            }
            from = stretch.end;
            stretch = stretchAt(from);
        }
    }

    @Override
    public @Nullable Instant latest(Instant atOrBefore) {
        long to = Math.min(atOrBefore.getEpochSecond(), Math.min(MAX - 1, last + FAR_SECONDS));
        if (to < MIN) {
            return null;
        }
        Stretch stretch = stretchAt(to);
        long asked = Long.MIN_VALUE;
        long answer = NONE;
        while (true) {
            long local = to + stretch.offset;
            if (local > asked || (answer != NONE && local < answer)) {
                asked = local;
                answer = times.floor(local);
            }
            if (answer != NONE && answer >= firstLocal(stretch)) {
                return Instant.ofEpochSecond(answer - stretch.offset);
            }
            long madeUp = madeUp(stretch);
            if (madeUp != NONE) {
                return Instant.ofEpochSecond(madeUp);
            }
            if (stretch.start <= Math.max(MIN, first - FAR_SECONDS)) {
                return null;
            }
            to = stretch.start - 1;
            stretch = stretchAt(to);
        }
    }

    @Override
    public long count(Instant after, Instant until) {
        long from = lowest(after);
        long to = highest(until);
        long count = 0;
        while (from < to) {
            Stretch stretch = stretchAt(from);
            long end = Math.min(to, stretch.end);
            if (isExtra(stretch, from)) {
                count++;
            }
            count += times.count(Math.max(from + stretch.offset, firstLocal(stretch)), end + stretch.offset);
            from = end;
        }
        return count;
    }

    @Override
    public @Nullable Gaps gaps(Instant from, Duration horizon) {
        long start = lowest(from);
        long end = highest(Gaps.end(from, horizon));
        Gaps.Collector gaps = new Gaps.Collector();
        while (start < end) {
            Stretch stretch = stretchAt(start);
            long stop = Math.min(end, stretch.end);
            if (isExtra(stretch, start)) {
                gaps.slot(stretch.start);
            }
            times.collect(
                    Math.max(start + stretch.offset, firstLocal(stretch)), stop + stretch.offset, stretch.offset, gaps);
            start = stop;
        }
        return gaps.gaps();
    }

    /**
     * What was accepted but is rarely meant, for a person to read: steps that are not evenly spaced, and runs limited to hours that the
     * zone skips or repeats.
     */
    public List<String> warnings() {
        List<String> warnings = new ArrayList<>(textWarnings);
        if (wildcard && !everyHour) {
            String skipped = moved(true);
            String repeated = moved(false);
            if (skipped != null || repeated != null) {
                warnings.add("in " + zone.getId()
                        + (skipped == null
                                ? ""
                                : " the local time " + skipped
                                        + " is missing on the day the clock goes forward: no run then")
                        + (skipped == null || repeated == null ? "" : ";")
                        + (repeated == null
                                ? ""
                                : " the local time " + repeated
                                        + " comes twice on the day the clock goes back: runs both times")
                        + "; a job that names its minute and hour without * runs once on such a day");
            }
        }
        return List.copyOf(warnings);
    }

    @Override
    public String text() {
        return text;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Cron cron && text.equals(cron.text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    @Override
    public String toString() {
        return text;
    }

    /**
     * A part of the UTC line with one offset, in epoch seconds.
     *
     * @param end not included
     * @param offsetBefore the offset just before the start; the same as the offset where nothing came before
     */
    private record Stretch(long start, long end, int offset, int offsetBefore) {}

    private Stretch stretchAt(long second) {
        Instant at = Instant.ofEpochSecond(second);
        int offset = rules.getOffset(at).getTotalSeconds();
        ZoneOffsetTransition opening = rules.previousTransition(at.plusSeconds(1));
        ZoneOffsetTransition closing = rules.nextTransition(at);
        return new Stretch(
                opening == null ? MIN : Math.max(MIN, opening.toEpochSecond()),
                closing == null ? MAX : Math.min(MAX, closing.toEpochSecond()),
                offset,
                opening == null ? offset : opening.getOffsetBefore().getTotalSeconds());
    }

    /** The first local time that counts: after the clock went back, a fixed-time job waits until it shows new times. */
    private long firstLocal(Stretch stretch) {
        int offset = wildcard ? stretch.offset : Math.max(stretch.offset, stretch.offsetBefore);
        return stretch.start + offset;
    }

    /** The jump instant when the clock jumped over a time of a fixed-time job, else {@link #NONE}. */
    private long madeUp(Stretch stretch) {
        int jump = stretch.offset - stretch.offsetBefore;
        if (wildcard || jump <= 0 || jump > LONGEST_JUMP_SECONDS) {
            return NONE;
        }
        long missing = times.ceiling(stretch.start + stretch.offsetBefore);
        return missing != NONE && missing < stretch.start + stretch.offset ? stretch.start : NONE;
    }

    /** Whether the stretch begins, at or after this second, with a made-up slot that is not also a real one. */
    private boolean isExtra(Stretch stretch, long from) {
        return stretch.start >= from && madeUp(stretch) != NONE && !times.contains(stretch.start + stretch.offset);
    }

    private long lowest(Instant after) {
        return Math.max(after.getEpochSecond() + 1, Math.max(MIN, first - FAR_SECONDS));
    }

    private long highest(Instant until) {
        return Math.min(until.getEpochSecond() + 1, Math.min(MAX, last + FAR_SECONDS));
    }

    /** The next range of local time that the zone leaves out (or repeats) and that would hold a run on some day, or null. */
    private @Nullable String moved(boolean gap) {
        ZoneOffsetTransition change = rules.nextTransition(RECENT);
        for (int i = 0; change != null && i < 20; i++) {
            if (change.isGap() == gap) {
                LocalTime from = (gap ? change.getDateTimeBefore() : change.getDateTimeAfter()).toLocalTime();
                LocalTime to = (gap ? change.getDateTimeAfter() : change.getDateTimeBefore()).toLocalTime();
                if (times.isTimeBetween(from.toSecondOfDay(), to.toSecondOfDay())) {
                    return from + "-" + to;
                }
            }
            change = rules.nextTransition(change.getInstant());
        }
        return null;
    }

    private static String missingDay(CronText text, DayPattern days) {
        String date = " has day-of-month " + CronText.quote(text.written(CronField.DAY)) + " in month "
                + CronText.quote(text.written(CronField.MONTH));
        String weekday = text.written(CronField.WEEKDAY);
        if (!weekday.equals("*") && !weekday.equals("?")) {
            date += " on day-of-week " + CronText.quote(weekday);
        }
        String year = text.written(CronField.YEAR);
        return year.equals("*")
                ? "no date in 400 years" + date + " (at most " + days.longestMonth() + " days there)"
                : "no date of year " + CronText.quote(year) + date;
    }
}
