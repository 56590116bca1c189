package dev.fencepost.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.schedule.Cron.Dialect;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.Locale;
import java.util.TimeZone;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class CronTest {

    @Nested
    class OnAMovedClock {

        @Test
        void aMissingTimeAndARealSlotOnTheJumpInstantAreOneSlot() {
            Cron cron = cron("30 2,3 * * *", "Europe/Berlin");
            assertEquals(
                    instants("2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"),
                    slots(cron, "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z"));
            cron = cron("0,30 2,3 * * *", "Europe/Berlin");
            assertEquals(
                    instants("2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"),
                    slots(cron, "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z"));
            assertEquals(2, cron.count(at("2026-03-28T12:00:00Z"), at("2026-03-29T12:00:00Z")));
        }

        @Test
        void aGapOfExactlyThreeHoursIsMadeUpAndALongerOneIsNot() {
            // In Casey, 2009-10-18 02:00 +08 jumps to 05:00 +11.
            assertEquals(
                    instants("2009-10-17T18:00:00Z"),
                    slots(cron("30 3 * * *", "Antarctica/Casey"), "2009-10-17T00:00:00Z", "2009-10-18T00:00:00Z"));
            assertEquals(
                    List.of(),
                    slots(cron("30 3 * * *", "Pacific/Apia"), "2011-12-29T14:00:00Z", "2011-12-30T13:00:00Z"));
        }

        @Test
        void aRepeatedDayRunsAFixedTimeJobOnceAndAWildcardJobTwice() {
            // Kwajalein lived 1969-09-30 twice.
            String from = "1969-09-29T13:00:00Z";
            String to = "1969-10-01T12:00:00Z";
            assertEquals(
                    instants("1969-09-30T01:00:00Z"),
                    slots(cron("0 12 * * *", "Pacific/Kwajalein"), "1969-09-29T13:00:00Z", "1969-10-01T12:00:00Z"));
            assertEquals(47, cron("30 * * * *", "Pacific/Kwajalein").count(at(from), at(to)));
        }

        @Test
        void wintertimeThatGoesBackwardInDublinIsAnOverlapLikeAnyOther() {
            assertEquals(
                    instants("2026-10-25T00:30:00Z"),
                    slots(cron("30 1 * * *", "Europe/Dublin"), "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z"));
        }

        @Test
        void aLastingChangeOfTheOffsetIsAGapLikeAnyOther() {
            // Kathmandu moved from 05:30 to 05:45 at the beginning of 1986.
            assertEquals(
                    instants("1985-12-31T18:30:00Z"),
                    slots(cron("10 0 * * *", "Asia/Kathmandu"), "1985-12-31T12:00:00Z", "1986-01-01T12:00:00Z"));
        }

        @Test
        void theDialectsCountAsWildcardByTheirOwnSigns() {
            String from = "2026-03-28T12:00:00Z";
            String to = "2026-03-29T12:00:00Z";
            assertEquals(1, cron("0/15 2 * * *", "Europe/Berlin").count(at(from), at(to)));
            assertEquals(0, cron("0 0/15 2 * * ?", "Europe/Berlin").count(at(from), at(to)));
            assertEquals(0, cron("0 00/15 2 * * ?", "Europe/Berlin").count(at(from), at(to)));
            assertEquals(0, cron("* 30 2 * * ?", "Europe/Berlin").count(at(from), at(to)));
            assertEquals(1, cron("0 5/15 2 * * ?", "Europe/Berlin").count(at(from), at(to)));
            assertEquals(1, cron("0 0-59/15 2 * * ?", "Europe/Berlin").count(at(from), at(to)));
        }
    }

    @Nested
    class InTheCalendar {

        @Test
        void theTwentyNinthOfFebruaryStaysAwayForEightYearsOver2100() {
            Cron cron = cron("0 0 29 2 *", "UTC");
            assertEquals(at("2104-02-29T00:00:00Z"), cron.next(at("2096-02-29T00:00:00Z")));
            assertEquals(at("2096-02-29T00:00:00Z"), cron.latest(at("2104-02-28T23:59:59Z")));
            assertEquals(97, cron.count(at("2000-12-31T00:00:00Z"), at("2400-12-31T00:00:00Z")));
        }

        @Test
        void aYearThatIsOverHasNoNextButALatest() {
            Cron cron = cron("0 0 6 1 1 ? 2020-2022", "Asia/Tokyo");
            assertEquals(at("2021-12-31T21:00:00Z"), cron.latest(at("2026-01-01T00:00:00Z")));
            assertNull(cron.next(at("2021-12-31T21:00:00Z")));
            assertNull(cron.latest(at("2019-12-31T20:59:59Z")));
            assertEquals(3, cron.count(Instant.MIN, Instant.MAX));
            assertNull(cron.next(Instant.MAX));
            assertNull(cron.latest(Instant.MIN));
        }

        @Test
        void stepsInWeekdaysAndRangesThatEndInSunday() {
            // 2027-01-03 is a Sunday.
            assertEquals(List.of(3, 5, 7, 9), days("0 0 * * */2"));
            assertEquals(List.of(3, 8, 9), days("0 0 * * 5-7"));
            assertEquals(List.of(3, 8, 9), days("0 0 * * Fri-Sun"));
            assertEquals(List.of(3, 8, 9), days("0 0 0 ? * FRI-SUN"));
            assertEquals(List.of(3, 8), days("0 0 0 ? * 6-SUN/2"));
            assertEquals(List.of(3, 4, 5, 6, 7, 8, 9), days("0 0 * * 0-7"));
            assertEquals(List.of(3), days("0 0 * * sun-sun"));
            assertEquals(List.of(3, 4, 5, 6, 7, 8, 9), days("0 0 0 ? * SUN-SAT"));
            assertEquals(List.of(5, 8), days("0 0 0 ? * 3/3"));
        }

        @Test
        void dayFieldsThatBeginWithAStarAreJoinedByAnd() {
            assertEquals(List.of(3, 5, 7, 9), days("0 0 */2 * *"));
            assertEquals(List.of(5), days("0 0 5 * */2"));
            assertEquals(List.of(3, 5, 7, 8, 9), days("0 0 8 * 0-6/2,6"));
        }

        @Test
        void specialDaysMayStandInAList() {
            Cron cron = cron("0 0 0 1,15W,L * ?", "UTC");
            assertEquals(
                    instants("2027-08-01T00:00:00Z", "2027-08-16T00:00:00Z", "2027-08-31T00:00:00Z"),
                    slots(cron, "2027-07-31T12:00:00Z", "2027-08-31T12:00:00Z"));
            assertEquals(
                    instants("2027-08-03T00:00:00Z", "2027-08-30T00:00:00Z"),
                    slots(cron("0 0 0 ? * tue#1,monL", "UTC"), "2027-07-31T12:00:00Z", "2027-08-31T12:00:00Z"));
        }

        private List<Integer> days(String expression) {
            return slots(cron(expression, "UTC"), "2027-01-02T12:00:00Z", "2027-01-09T12:00:00Z").stream()
                    .map(slot -> slot.atOffset(java.time.ZoneOffset.UTC).getDayOfMonth())
                    .toList();
        }
    }

    @Nested
    class AsText {

        @Test
        void namesDialectExpressionAndZone() {
            assertEquals(
                    "cron unix \"0 6 * * MON-FRI\" zone Asia/Tokyo",
                    cron(" 0  6 *\t* MON-FRI\n", "Asia/Tokyo").text());
            assertEquals(
                    "cron quartz \"0 0 6 L * ?\" zone Etc/UTC",
                    cron("0 0 6 L * ?", "Etc/UTC").text());
            assertEquals(
                    "cron unix \"@Daily\" zone Etc/UTC",
                    cron("@Daily", "Etc/UTC").text());
        }

        @Test
        void theNumberOfFieldsTellsTheDialect() {
            assertEquals(Cron.parse("0 0 6 * * ?", Dialect.QUARTZ, ZoneId.of("UTC")), cron("0 0 6 * * ?", "UTC"));
            assertEquals(Cron.parse("0 6 * * *", Dialect.UNIX, ZoneId.of("UTC")), cron("0 6 * * *", "UTC"));
        }

        @Test
        void macrosStandForTheirFieldsInAnyCase() {
            Instant from = at("2027-03-03T12:34:56Z");
            for (List<String> pair : List.of(
                    List.of("@hourly", "0 * * * *"),
                    List.of("@DAILY", "0 0 * * *"),
                    List.of("@midnight", "0 0 * * *"),
                    List.of("@Weekly", "0 0 * * 0"),
                    List.of("@monthly", "0 0 1 * *"),
                    List.of("@yearly", "0 0 1 1 *"),
                    List.of("@annually", "0 0 1 1 *"))) {
                assertEquals(
                        cron(pair.get(1), "UTC").next(from),
                        cron(pair.get(0), "UTC").next(from));
            }
        }

        @Test
        void theHostsZoneAndLanguageAreNoInput() {
            Locale language = Locale.getDefault();
            TimeZone zone = TimeZone.getDefault();
            try {
                // In Turkish the capital of i is not I; in Thai and Arabic locales digits may be other signs.
                Locale.setDefault(Locale.forLanguageTag("tr-TR"));
                TimeZone.setDefault(TimeZone.getTimeZone("America/New_York"));
                Cron cron = cron("30 6 * * fri", "Asia/Tokyo");
                assertEquals(at("2026-01-01T21:30:00Z"), cron.next(at("2026-01-01T00:00:00Z")));
                assertNotNull(cron("0 0 6 ? * friL", "Asia/Tokyo").next(Instant.EPOCH));
                Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
                assertTrue(cron("*/45 * * * *", "UTC").warnings().getFirst().contains(":45"));
            } finally {
                Locale.setDefault(language);
                TimeZone.setDefault(zone);
            }
        }
    }

    @Nested
    class WithManySlots {

        @Test
        void tenYearsOfMinutesAreCountedWithoutVisitingThem() {
            Instant from = at("2026-01-01T00:00:00Z");
            Instant to = at("2036-01-01T00:00:00Z");
            long minutes = Duration.between(from, to).toMinutes();
            assertTimeoutPreemptively(Duration.ofSeconds(2), () -> {
                for (int i = 0; i < 100; i++) {
                    assertEquals(minutes, cron("* * * * *", "Europe/Berlin").count(from, to));
                    assertEquals(
                            minutes * 60,
                            cron("* * * * * ?", "America/New_York").count(from, to));
                }
            });
        }

        @Test
        void theEndsOfTimeAreAnswered() {
            Cron cron = cron("* * * * *", "Europe/Berlin");
            assertNull(cron.next(Instant.MAX));
            assertNull(cron.latest(Instant.MIN));
            Instant first = cron.next(Instant.MIN);
            Instant last = cron.latest(Instant.MAX);
            assertTrue(first != null && last != null && first.isBefore(last));
            assertTrue(cron.count(Instant.MIN, Instant.MAX) > 5_000_000_000L);
            assertEquals(0, cron.count(Instant.MAX, Instant.MIN));
        }

        /** Where a zone is behind UTC its first day begins a day before the calendar. */
        @Test
        void atTheBeginningOfTimeNextAndCountSayTheSame() {
            Cron cron = cron("9 1 1 * 7", "Africa/Casablanca");
            Instant begin = at("0001-01-01T00:00:00Z");
            assertEquals(at("0001-01-01T01:39:20Z"), cron.next(begin));
            assertEquals(1, cron.count(begin, at("0001-01-01T01:39:20Z")));
            assertNull(cron.latest(begin));
        }

        @Test
        void fractionsOfASecondDoNotHideOrDoubleASlot() {
            Cron cron = cron("0 6 * * *", "UTC");
            Instant slot = at("2026-05-05T06:00:00Z");
            assertEquals(slot, cron.next(slot.minusNanos(1)));
            assertEquals(slot.plusSeconds(86_400), cron.next(slot));
            assertEquals(slot, cron.latest(slot));
            assertEquals(slot.minusSeconds(86_400), cron.latest(slot.minusNanos(1)));
            assertEquals(1, cron.count(slot.minusNanos(1), slot));
            assertEquals(0, cron.count(slot, slot.plusNanos(999_999_999)));
        }
    }

    @Nested
    class Gapwise {

        private static final Duration YEAR = Duration.ofDays(365);

        @Test
        void daylightSavingMakesADailyGapShorterAndLonger() {
            Cron cron = cron("0 6 * * *", "Europe/Berlin");
            Instant from = at("2026-01-01T00:00:00Z");
            assertEquals(Duration.ofHours(23), cron.shortestGap(from, YEAR));
            assertEquals(Duration.ofHours(25), cron.longestGap(from, YEAR));
            assertEquals(Duration.ofHours(24), cron.longestGap(from, Duration.ofDays(60)));
        }

        @Test
        void aMadeUpRunCountsForTheGap() {
            Cron cron = cron("30 2 * * *", "Europe/Berlin");
            Instant from = at("2026-03-01T00:00:00Z");
            assertEquals(
                    new Gaps(Duration.ofMinutes(23 * 60 + 30), Duration.ofHours(24)),
                    cron.gaps(from, Duration.ofDays(60)));
        }

        @Test
        void aYearOfSecondsIsNotEnumerated() {
            Cron cron = cron("* * * * * ?", "Europe/Berlin");
            Gaps second = new Gaps(Duration.ofSeconds(1), Duration.ofSeconds(1));
            assertTimeoutPreemptively(
                    Duration.ofSeconds(1), () -> assertEquals(second, cron.gaps(at("2026-01-01T00:00:00Z"), YEAR)));
        }

        @Test
        void workdaysHaveAWeekendBetweenThem() {
            Cron cron = cron("0 9,17 * * 1-5", "Asia/Tokyo");
            assertEquals(
                    new Gaps(Duration.ofHours(8), Duration.ofHours(64)), cron.gaps(at("2026-01-01T00:00:00Z"), YEAR));
        }

        @Test
        void fewerThanTwoSlotsHaveNoGap() {
            Cron yearly = cron("@yearly", "UTC");
            assertNull(yearly.gaps(at("2026-06-01T00:00:00Z"), YEAR));
            assertNull(yearly.shortestGap(at("2026-06-01T00:00:00Z"), Duration.ZERO));
            assertNull(yearly.longestGap(Instant.MAX, Duration.ofSeconds(Long.MAX_VALUE)));
            assertEquals(Duration.ofDays(365), yearly.longestGap(at("2026-06-01T00:00:00Z"), YEAR.multipliedBy(2)));
        }
    }

    @Nested
    class Warnings {

        @Test
        void stepsThatDoNotDivideTheirFieldNameTheIntervalInstead() {
            assertTrue(
                    only("*/45 * * * *", "UTC").contains("fires at :00 and :45; for an even distance use every: 45m"));
            assertTrue(only("0 */5 * * *", "UTC").contains("use every: 5h"));
            assertTrue(only("0/25 * * * * ?", "UTC").contains("second \"0/25\""));
            assertTrue(only("7/35 * * * *", "UTC").contains(":07 and :42"));
            assertEquals(List.of(), cron("*/15 */6 * * *", "UTC").warnings());
            assertEquals(List.of(), cron("5/20 3-9/3 */7 * *", "UTC").warnings());
        }

        @Test
        void hoursThatAZoneMovesAreNamedForAWildcardJobOnly() {
            String warning = only("*/15 2 * * *", "Europe/Berlin");
            assertTrue(
                    warning.contains("02:00-03:00 is missing") && warning.contains("02:00-03:00 comes twice"), warning);
            assertEquals(List.of(), cron("0,15,30,45 2 * * *", "Europe/Berlin").warnings());
            assertEquals(List.of(), cron("*/15 12 * * *", "Europe/Berlin").warnings());
            assertEquals(List.of(), cron("*/15 * * * *", "Europe/Berlin").warnings());
            assertEquals(List.of(), cron("*/15 2 * * *", "Asia/Tokyo").warnings());
            // Brazil gave daylight saving up in 2019.
            assertEquals(List.of(), cron("*/15 0 * * *", "America/Sao_Paulo").warnings());
            assertTrue(only("*/15 0 * * *", "Africa/Cairo").contains("00:00-01:00 is missing"));
        }

        @Test
        void aStepBeyondItsRangeAndWeekdaysOfTheOtherDialectAreNamed() {
            assertTrue(only("10-20/15 * * * *", "UTC").contains("only 10 is left"));
            assertTrue(only("0 0 6 ? * 1-5", "UTC").contains("SUN-THU"));
        }

        private static String only(String expression, String zone) {
            List<String> warnings = cron(expression, zone).warnings();
            assertEquals(1, warnings.size(), () -> expression + ": " + warnings);
            return warnings.getFirst();
        }
    }

    private static Cron cron(String expression, String zone) {
        return Cron.parse(expression, Zones.parse(zone));
    }

    private static Instant at(String text) {
        return Instant.parse(text);
    }

    private static List<Instant> instants(String... texts) {
        return Stream.of(texts).map(Instant::parse).toList();
    }

    private static List<Instant> slots(Schedule schedule, String after, String until) {
        Instant end = Instant.parse(until);
        return Stream.iterate(
                        schedule.next(Instant.parse(after)), slot -> slot != null && !slot.isAfter(end), schedule::next)
                .toList();
    }
}
