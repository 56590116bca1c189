package dev.fencepost.edge.web.page;

import dev.fencepost.run.History.Quarter;
import dev.fencepost.run.Outcome;
import java.time.DayOfWeek;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.format.TextStyle;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalAdjusters;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * How a job did on each of the last days of its zone: a column a week, a cell a day. What failed is told by a stroke through the cell and
 * not by colour alone; skips are apart from both. Lengths are units of the drawing.
 *
 * @param days oldest first
 * @param months where their names stand
 */
public record JobCalendar(List<Day> days, List<Label> months, List<Label> weekdays, int width, int height) {

    static final int DAYS = 90;

    static final int STEP = 20;
    static final int CELL = 17;
    private static final int LEFT = 34;
    private static final int TOP = 18;
    private static final int BASELINE = 13;
    private static final int LEAST_BETWEEN_NAMES = 30;
    private static final DateTimeFormatter DATE = DateTimeFormatter.ofPattern("EEE d MMM yyyy", Locale.ENGLISH);

    public JobCalendar {
        days = List.copyOf(days);
        months = List.copyOf(months);
        weekdays = List.copyOf(weekdays);
    }

    public record Label(int x, int y, String text) {}

    /**
     * @param failed FAILED, TIMED_OUT, LEASE_LOST and ABANDONED
     * @param skipped SKIPPED_OVERLAP and DROPPED
     * @param style class of the cell: none, skip, ran and failed with a degree from 1 to 4
     * @param older where the history of this day and those before begins; empty for a day without ticks
     */
    public record Day(
            LocalDate date,
            long succeeded,
            long failed,
            long skipped,
            long cancelled,
            int x,
            int y,
            String style,
            String older) {

        public int size() {
            return CELL;
        }

        public boolean isEmpty() {
            return succeeded + failed + skipped + cancelled == 0;
        }

        public boolean isFailed() {
            return failed > 0;
        }

        /** Nothing of this day succeeded, and something failed. */
        public boolean isFailedWholly() {
            return failed > 0 && succeeded == 0;
        }

        public boolean isSkipsOnly() {
            return skipped > 0 && succeeded + failed == 0;
        }

        public String name() {
            return DATE.format(date);
        }

        public String numbers() {
            if (isEmpty()) {
                return "no ticks";
            }
            List<String> parts = new ArrayList<>();
            part(parts, succeeded, "succeeded");
            part(parts, failed, "failed");
            part(parts, skipped, "skipped or dropped");
            part(parts, cancelled, "cancelled");
            return String.join(", ", parts);
        }

        private static void part(List<String> parts, long n, String word) {
            if (n > 0) {
                parts.add(n + " " + word);
            }
        }

        public String title() {
            return name() + ": " + numbers();
        }

        /** Of the stroke through the cell. */
        public String stroke() {
            int near = 4;
            int far = CELL - near;
            String one = "M" + (x + near) + " " + (y + far) + "L" + (x + far) + " " + (y + near);
            return isFailedWholly()
                    ? one + "M" + (x + near) + " " + (y + near) + "L" + (x + far) + " " + (y + far)
                    : one;
        }

        /** Of the dot in a cell that has skips alone. */
        public String dot() {
            int middle = CELL / 2;
            return "M" + (x + middle - 2) + " " + (y + middle) + "h5";
        }
    }

    /** From this instant on the ticks are needed. */
    static Instant from(Instant now, ZoneId zone) {
        return first(now, zone).atStartOfDay(zone).toInstant();
    }

    private static LocalDate first(Instant now, ZoneId zone) {
        return LocalDate.ofInstant(now, zone).minusDays(DAYS - 1L);
    }

    static JobCalendar of(List<Quarter> quarters, Instant now, ZoneId zone) {
        Map<LocalDate, Map<Outcome, Long>> byDay = new TreeMap<>();
        quarters.forEach(quarter -> byDay.computeIfAbsent(
                        LocalDate.ofInstant(quarter.start(), zone), day -> new EnumMap<>(Outcome.class))
                .merge(quarter.outcome(), quarter.ticks(), Long::sum));
        LocalDate first = first(now, zone);
        LocalDate monday = first.with(TemporalAdjusters.previousOrSame(DayOfWeek.MONDAY));
        long most = byDay.values().stream().mapToLong(JobCalendar::ran).max().orElse(0);
        List<Day> days = new ArrayList<>();
        List<Label> months = new ArrayList<>();
        for (int i = 0; i < DAYS; i++) {
            LocalDate date = first.plusDays(i);
            int week = (int) (ChronoUnit.DAYS.between(monday, date) / 7);
            int x = LEFT + week * STEP;
            int y = TOP + (date.getDayOfWeek().getValue() - 1) * STEP;
            days.add(day(date, byDay.getOrDefault(date, Map.of()), most, x, y, zone));
            if (i == 0 || date.getDayOfMonth() == 1) {
                label(months, x, date);
            }
        }
        List<Label> weekdays =
                List.of(DayOfWeek.MONDAY, DayOfWeek.WEDNESDAY, DayOfWeek.FRIDAY, DayOfWeek.SUNDAY).stream()
                        .map(day -> new Label(
                                0,
                                TOP + (day.getValue() - 1) * STEP + BASELINE,
                                day.getDisplayName(TextStyle.SHORT, Locale.ENGLISH)))
                        .toList();
        return new JobCalendar(days, months, weekdays, days.getLast().x() + STEP, TOP + 7 * STEP);
    }

    /** The name of the month in which the days begin gives way to that of the next one where both have no room. */
    private static void label(List<Label> months, int x, LocalDate date) {
        if (!months.isEmpty() && x - months.getLast().x() < LEAST_BETWEEN_NAMES) {
            months.removeLast();
        }
        months.add(new Label(x, BASELINE - 1, date.getMonth().getDisplayName(TextStyle.SHORT, Locale.ENGLISH)));
    }

    private static Day day(LocalDate date, Map<Outcome, Long> ticks, long most, int x, int y, ZoneId zone) {
        long succeeded = ticks.getOrDefault(Outcome.SUCCEEDED, 0L);
        long failed = failed(ticks);
        long skipped = ticks.getOrDefault(Outcome.SKIPPED_OVERLAP, 0L) + ticks.getOrDefault(Outcome.DROPPED, 0L);
        long cancelled = ticks.getOrDefault(Outcome.CANCELLED, 0L);
        String style = failed > 0
                ? "failed-" + degree(failed, succeeded + failed)
                : succeeded > 0 ? "ran-" + degree(succeeded, most) : skipped + cancelled > 0 ? "skips" : "none";
        String older = ticks.isEmpty()
                ? ""
                : date.plusDays(1).atStartOfDay(zone).toInstant().toString();
        return new Day(date, succeeded, failed, skipped, cancelled, x, y, style, older);
    }

    private static long failed(Map<Outcome, Long> ticks) {
        return ticks.entrySet().stream()
                .filter(entry -> entry.getKey().isFailure())
                .mapToLong(Map.Entry::getValue)
                .sum();
    }

    private static long ran(Map<Outcome, Long> ticks) {
        return failed(ticks) + ticks.getOrDefault(Outcome.SUCCEEDED, 0L);
    }

    /** 1 to 4: in which quarter of the whole the part lies. */
    private static int degree(long part, long whole) {
        return (int) Math.clamp(Math.ceilDiv(part * 4, Math.max(1, whole)), 1, 4);
    }

    public List<Day> daysWithTicks() {
        return days.reversed().stream().filter(day -> !day.isEmpty()).toList();
    }

    public String summary() {
        long succeeded = days.stream().mapToLong(Day::succeeded).sum();
        long failed = days.stream().mapToLong(Day::failed).sum();
        long skipped = days.stream().mapToLong(Day::skipped).sum();
        long failedDays = days.stream().filter(Day::isFailed).count();
        if (days.stream().allMatch(Day::isEmpty)) {
            return "No ticks in the last " + DAYS + " days.";
        }
        return succeeded + " succeeded, " + failed + " failed"
                + (failed == 0 ? "" : " on " + failedDays + (failedDays == 1 ? " day" : " days")) + ", " + skipped
                + " skipped or dropped.";
    }
}
