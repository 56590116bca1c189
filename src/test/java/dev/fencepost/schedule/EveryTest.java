package dev.fencepost.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EveryTest {

    @Test
    void slotsFollowTheAnchorAndNotTheRestart() {
        Every every = new Every(Duration.ofHours(4), Instant.parse("2026-02-01T23:40:00Z"));
        assertEquals(
                instants("2026-02-02T03:40:00Z", "2026-02-02T07:40:00Z", "2026-02-02T11:40:00Z"),
                slots(every, "2026-02-02T03:29:00Z", "2026-02-02T12:00:00Z"));
    }

    @Test
    void aManualStartBetweenTwoSlotsMovesNothing() {
        Every every = new Every(Duration.ofHours(24), Instant.parse("2026-06-01T01:00:00Z"));
        assertEquals(Instant.parse("2026-06-11T01:00:00Z"), every.next(Instant.parse("2026-06-10T11:30:00Z")));
    }

    @Test
    void aDayIsTwentyFourHoursAcrossDaylightSaving() {
        Every every = new Every(Duration.ofHours(24), Instant.parse("2026-03-01T01:30:00Z"));
        assertEquals(
                instants(
                        "2026-03-27T01:30:00Z", "2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T01:30:00Z"),
                slots(every, "2026-03-27T00:00:00Z", "2026-03-31T00:00:00Z"));
    }

    @Test
    void fortyFiveMinutesAreEvenAndAnchoredAtTheEpoch() {
        assertEquals(
                instants(
                        "2027-01-01T00:45:00Z",
                        "2027-01-01T01:30:00Z",
                        "2027-01-01T02:15:00Z",
                        "2027-01-01T03:00:00Z",
                        "2027-01-01T03:45:00Z"),
                slots(new Every(Duration.ofMinutes(45)), "2027-01-01T00:00:00Z", "2027-01-01T04:00:00Z"));
    }

    @Test
    void slotsLieBeforeTheAnchorToo() {
        Every every = new Every(Duration.ofHours(7), Instant.parse("2026-01-01T00:00:00Z"));
        assertEquals(
                instants("2025-12-31T10:00:00Z", "2025-12-31T17:00:00Z", "2026-01-01T00:00:00Z"),
                slots(every, "2025-12-31T03:00:00Z", "2026-01-01T00:00:00Z"));
        assertEquals(Instant.parse("2025-12-31T17:00:00Z"), every.latest(Instant.parse("2025-12-31T23:59:59.999Z")));
    }

    @Test
    void nextIsStrictlyAfterAndLatestIncludesTheInstant() {
        Every every = new Every(Duration.ofMinutes(1));
        Instant slot = Instant.parse("2026-05-05T05:05:00Z");
        assertEquals(slot.plusSeconds(60), every.next(slot));
        assertEquals(slot.plusSeconds(60), every.next(slot.plusNanos(1)));
        assertEquals(slot, every.next(slot.minusNanos(1)));
        assertEquals(slot, every.latest(slot));
        assertEquals(slot.minusSeconds(60), every.latest(slot.minusNanos(1)));
        assertEquals(1, every.count(slot.minusNanos(1), slot));
        assertEquals(0, every.count(slot, slot.plusNanos(1)));
        assertEquals(0, every.count(slot.plusSeconds(600), slot));
    }

    @Test
    void tenYearsOfSecondsAreCounted() {
        Instant from = Instant.parse("2026-01-01T00:00:00Z");
        assertEquals(315_360_000L, new Every(Duration.ofSeconds(1)).count(from, from.plusSeconds(315_360_000L)));
    }

    @Test
    void theEndsOfTimeOverflowNothing() {
        for (Instant anchor :
                List.of(Instant.EPOCH, Instant.MIN, Instant.ofEpochSecond(Instant.MAX.getEpochSecond()))) {
            for (Duration interval :
                    List.of(Duration.ofSeconds(1), Duration.ofDays(3660), Duration.ofSeconds(86_399))) {
                Every every = new Every(interval, anchor);
                assertNull(every.next(Instant.MAX));
                Instant last = every.latest(Instant.MAX);
                assertTrue(last != null && !last.isAfter(Instant.MAX));
                Instant first = every.next(Instant.MIN);
                assertTrue(first != null && first.isAfter(Instant.MIN));
                assertTrue(every.count(Instant.MIN, Instant.MAX) > 0);
                Instant atMin = every.latest(Instant.MIN);
                assertTrue(atMin == null || atMin.equals(Instant.MIN));
                assertEquals(new Gaps(interval, interval), every.gaps(Instant.MIN, Duration.ofSeconds(Long.MAX_VALUE)));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"PT0S", "PT-5M", "PT0.0001S", "PT1.5S", "PT2628000H", "PT87840H1S", "PT9223372036854775807S"})
    void intervalsOutOfBoundsAreRefused(String interval) {
        ScheduleException refused = assertThrows(ScheduleException.class, () -> new Every(Duration.parse(interval)));
        String message = String.valueOf(refused.getMessage());
        assertTrue(message.startsWith("every: ") && message.contains("write "), message);
    }

    @Test
    void anAnchorWithAFractionIsRefused() {
        assertThrows(ScheduleException.class, () -> new Every(Duration.ofHours(1), Instant.ofEpochMilli(1)));
    }

    @Test
    void oneSecondAndTenYearsAreTheBounds() {
        assertEquals("every PT1S anchor 1970-01-01T00:00:00Z", new Every(Duration.ofSeconds(1)).text());
        assertEquals("every PT87840H anchor 1970-01-01T00:00:00Z", new Every(Duration.ofDays(3660)).text());
    }

    @Test
    void fewerThanTwoSlotsHaveNoGap() {
        Every every = new Every(Duration.ofHours(1));
        Instant from = Instant.parse("2026-01-01T00:00:00Z");
        assertNull(every.gaps(from, Duration.ofMinutes(119)));
        assertEquals(Duration.ofHours(1), every.shortestGap(from, Duration.ofHours(2)));
        assertEquals(Duration.ofHours(1), every.longestGap(from, Duration.ofDays(365)));
        assertNull(every.longestGap(from, Duration.ofDays(-1)));
    }

    private static List<Instant> slots(Schedule schedule, String after, String until) {
        Instant end = Instant.parse(until);
        return Stream.iterate(
                        schedule.next(Instant.parse(after)), slot -> slot != null && !slot.isAfter(end), schedule::next)
                .toList();
    }

    private static List<Instant> instants(String... texts) {
        return Stream.of(texts).map(Instant::parse).toList();
    }
}
