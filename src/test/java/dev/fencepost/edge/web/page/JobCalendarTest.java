package dev.fencepost.edge.web.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.web.page.JobCalendar.Day;
import dev.fencepost.run.History.Quarter;
import dev.fencepost.run.Outcome;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JobCalendarTest {

    private static final Instant NOW = Instant.parse("2026-04-30T12:00:00Z");

    private static Quarter quarter(String start, Outcome outcome, long ticks) {
        return new Quarter(Instant.parse(start), outcome, ticks);
    }

    private static Day day(JobCalendar calendar, String date) {
        return calendar.days().stream()
                .filter(day -> day.date().equals(LocalDate.parse(date)))
                .findFirst()
                .orElseThrow();
    }

    private static JobCalendar calendar(ZoneId zone, Quarter... quarters) {
        return JobCalendar.of("article", List.of(quarters), NOW, zone);
    }

    @Test
    void ninetyDaysEndToday() {
        JobCalendar calendar = calendar(ZoneOffset.UTC);
        assertEquals(90, calendar.days().size());
        assertEquals(LocalDate.parse("2026-04-30"), calendar.days().getLast().date());
        assertEquals(Instant.parse("2026-01-31T00:00:00Z"), JobCalendar.from(NOW, ZoneOffset.UTC));
        assertEquals("No ticks in the last 90 days.", calendar.summary());
        assertTrue(calendar.daysWithTicks().isEmpty());
    }

    /** All ticks of a day of 23, 24 or 25 hours lie on it, and none of its neighbours' does. */
    @ParameterizedTest
    @CsvSource({
        "Europe/Berlin, 2026-03-29, 92",
        "Europe/Berlin, 2026-03-28, 96",
        "Africa/Cairo, 2026-04-24, 92",
        "Australia/Lord_Howe, 2026-04-05, 98",
        "Asia/Kathmandu, 2026-03-29, 96",
        "Pacific/Chatham, 2026-04-05, 100",
        "Pacific/Marquesas, 2026-04-05, 96"
    })
    void aDayIsOneOfTheJobsZone(ZoneId zone, String date, long quarters) {
        List<Quarter> all = new ArrayList<>();
        Instant from = Instant.parse("2026-03-20T00:00:00Z");
        for (int i = 0; i < 41 * 96; i++) {
            all.add(new Quarter(from.plus(Duration.ofMinutes(15L * i)), Outcome.SUCCEEDED, 1));
        }
        JobCalendar calendar = JobCalendar.of("article", all, NOW, zone);
        assertEquals(quarters, day(calendar, date).succeeded());
    }

    @Test
    void whereMidnightIsMissingTheDayBeginsAtOne() {
        ZoneId cairo = ZoneId.of("Africa/Cairo");
        JobCalendar calendar = calendar(cairo, quarter("2026-04-23T10:00:00Z", Outcome.FAILED, 1));
        assertEquals(
                "/jobs/article?before=2026-04-23T22:00:00Z#history",
                day(calendar, "2026-04-23").link());
        assertEquals("", day(calendar, "2026-04-22").link());
    }

    @Test
    void weeksAreColumnsAndMondayIsOnTop() {
        JobCalendar calendar = calendar(ZoneOffset.UTC);
        Day monday = day(calendar, "2026-04-27");
        Day sunday = day(calendar, "2026-04-26");
        assertEquals(monday.x() - JobCalendar.STEP, sunday.x());
        assertEquals(monday.y() + 6 * JobCalendar.STEP, sunday.y());
        assertEquals(monday.x(), day(calendar, "2026-04-30").x());
        assertEquals(
                90,
                calendar.days().stream()
                        .map(day -> day.x() + "/" + day.y())
                        .distinct()
                        .count());
        assertTrue(calendar.days().stream()
                .allMatch(day -> day.x() + JobCalendar.CELL <= calendar.width()
                        && day.y() + JobCalendar.CELL <= calendar.height()));
    }

    @Test
    void failuresAreToldByTheirShareAndByAStroke() {
        JobCalendar calendar = calendar(
                ZoneOffset.UTC,
                quarter("2026-04-01T00:00:00Z", Outcome.SUCCEEDED, 99),
                quarter("2026-04-01T00:15:00Z", Outcome.TIMED_OUT, 1),
                quarter("2026-04-02T00:00:00Z", Outcome.LEASE_LOST, 3),
                quarter("2026-04-03T00:00:00Z", Outcome.SUCCEEDED, 100),
                quarter("2026-04-04T00:00:00Z", Outcome.SUCCEEDED, 1));
        assertEquals("failed-1", day(calendar, "2026-04-01").style());
        assertEquals("failed-4", day(calendar, "2026-04-02").style());
        assertEquals("ran-4", day(calendar, "2026-04-03").style());
        assertEquals("ran-1", day(calendar, "2026-04-04").style());
        assertFalse(day(calendar, "2026-04-01").isFailedWholly());
        assertTrue(day(calendar, "2026-04-02").isFailedWholly());
        assertEquals(
                "Wed 1 Apr 2026: 99 succeeded, 1 failed",
                day(calendar, "2026-04-01").title());
        assertEquals("200 succeeded, 4 failed on 2 days, 0 skipped or dropped.", calendar.summary());
    }

    @Test
    void skipsAreNoFailures() {
        JobCalendar calendar = calendar(
                ZoneOffset.UTC,
                quarter("2026-04-01T00:00:00Z", Outcome.SKIPPED_OVERLAP, 2),
                quarter("2026-04-01T00:00:00Z", Outcome.DROPPED, 500));
        Day day = day(calendar, "2026-04-01");
        assertTrue(day.isSkipsOnly());
        assertFalse(day.isFailed());
        assertEquals("skips", day.style());
        assertEquals("502 skipped or dropped", day.numbers());
    }
}
