package dev.fencepost.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.TemporalAdjusters;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Random expressions against a slow answer that shares no code with the fast one: every second (or minute) of a window around a
 * change of the clock is asked whether it is a slot, straight from the words of the policy.
 */
class CronOracleTest {

    private static final long SEED = 20_260_329;
    private static final int ROUNDS = 1_500;

    private static final List<String> ZONES = List.of(
            "Europe/Berlin",
            "America/New_York",
            "Australia/Lord_Howe",
            "Africa/Cairo",
            "America/Santiago",
            "America/Sao_Paulo",
            "Asia/Beirut",
            "Pacific/Apia",
            "Africa/Casablanca",
            "Europe/Dublin",
            "Antarctica/Troll",
            "Asia/Kathmandu",
            "Asia/Pyongyang",
            "Europe/Istanbul",
            "Pacific/Kwajalein",
            "America/Juneau",
            "America/Scoresbysund",
            "Asia/Gaza",
            "Africa/Monrovia",
            "Europe/Amsterdam",
            "Antarctica/Casey",
            "Asia/Tehran");

    @Test
    void nextLatestCountAndGapsAgreeWithASecondBySecondSearch() {
        Random random = new Random(SEED);
        int slotsSeen = 0;
        for (int round = 0; round < ROUNDS; round++) {
            ZoneId zone = ZoneId.of(ZONES.get(random.nextInt(ZONES.size())));
            ZoneOffsetTransition change = change(zone, random);
            Guess guess = random.nextBoolean() ? unix(random, change) : quartz(random, change);
            Cron cron;
            try {
                cron = Cron.parse(guess.text, guess.dialect, zone);
            } catch (ScheduleException never) {
                assertTrue(String.valueOf(never.getMessage()).contains("never fires"), guess.text + ": " + never);
                continue;
            }
            boolean minutes = guess.wholeMinutes
                    && change.getOffsetBefore().getTotalSeconds() % 60 == 0
                    && change.getOffsetAfter().getTotalSeconds() % 60 == 0
                    && change.toEpochSecond() % 60 == 0;
            int step = minutes ? 60 : 1;
            int reach = minutes
                    ? 3 * 86_400
                    : 4 * 3_600 + Math.abs((int) change.getDuration().toSeconds());
            long start = (change.toEpochSecond() - reach / 2 - random.nextInt(reach / 3)) / 60 * 60;
            List<Instant> expected = new ArrayList<>();
            for (long second = start; second < start + reach; second += step) {
                if (guess.isSlot(Instant.ofEpochSecond(second), zone, step)) {
                    expected.add(Instant.ofEpochSecond(second));
                }
            }
            slotsSeen += expected.size();
            compare(
                    cron,
                    Instant.ofEpochSecond(start - 1),
                    Instant.ofEpochSecond(start + reach - step),
                    expected,
                    random);
        }
        assertTrue(slotsSeen > ROUNDS * 10, "the rounds saw only " + slotsSeen + " slots");
    }

    private static void compare(Cron cron, Instant before, Instant end, List<Instant> expected, Random random) {
        String what = cron.text() + " in (" + before + ", " + end + "]";
        List<Instant> forwards = new ArrayList<>();
        Instant slot = cron.next(before);
        while (slot != null && !slot.isAfter(end)) {
            assertTrue(forwards.isEmpty() || slot.isAfter(forwards.getLast()), what + ": next stands still at " + slot);
            forwards.add(slot);
            slot = cron.next(slot);
        }
        assertEquals(expected, forwards, what);

        List<Instant> backwards = new ArrayList<>();
        slot = cron.latest(end);
        while (slot != null && slot.isAfter(before)) {
            assertTrue(
                    backwards.isEmpty() || slot.isBefore(backwards.getLast()),
                    what + ": latest stands still at " + slot);
            backwards.add(slot);
            slot = cron.latest(slot.minusSeconds(1));
        }
        assertEquals(expected.reversed(), backwards, what);

        long window = end.getEpochSecond() - before.getEpochSecond();
        for (int i = 0; i < 8; i++) {
            Instant from = i == 0 ? before : before.plusSeconds(random.nextLong(window));
            Instant to = i == 0 ? end : before.plusSeconds(random.nextLong(window));
            List<Instant> inside = expected.stream()
                    .filter(at -> at.isAfter(from) && !at.isAfter(to))
                    .toList();
            assertEquals(inside.size(), cron.count(from, to), () -> what + ": count from " + from + " to " + to);
            assertEquals(
                    gaps(inside),
                    cron.gaps(from, Duration.between(from, to)),
                    () -> what + ": gaps from " + from + " to " + to);
        }
    }

    private static @Nullable Gaps gaps(List<Instant> slots) {
        if (slots.size() < 2) {
            return null;
        }
        List<Duration> between = IntStream.range(1, slots.size())
                .mapToObj(i -> Duration.between(slots.get(i - 1), slots.get(i)))
                .sorted()
                .toList();
        return new Gaps(between.getFirst(), between.getLast());
    }

    /** Any change of the zone, the old and odd ones too. */
    private static ZoneOffsetTransition change(ZoneId zone, Random random) {
        List<ZoneOffsetTransition> changes = Stream.iterate(
                        zone.getRules().nextTransition(Instant.parse("1800-01-01T00:00:00Z")),
                        change -> change != null && change.getInstant().isBefore(Instant.parse("2050-01-01T00:00:00Z")),
                        change -> zone.getRules().nextTransition(change.getInstant()))
                .toList();
        List<ZoneOffsetTransition> odd = changes.stream()
                .filter(change -> !change.getDuration().abs().equals(Duration.ofHours(1)))
                .toList();
        List<ZoneOffsetTransition> chosen = odd.isEmpty() || random.nextBoolean() ? changes : odd;
        return chosen.get(random.nextInt(chosen.size()));
    }

    /** An expression together with its meaning, worked out by other means. */
    private static final class Guess {
        final String text;
        final Cron.Dialect dialect;
        final boolean wildcard;
        final boolean wholeMinutes;
        private final Field second;
        private final Field minute;
        private final Field hour;
        private final Field month;
        private final Predicate<LocalDate> day;
        private final Map<LocalDate, Boolean> known = new HashMap<>();

        Guess(
                Cron.Dialect dialect,
                Field second,
                Field minute,
                Field hour,
                String days,
                Field month,
                String weekdays,
                String year,
                Predicate<LocalDate> day) {
            this.dialect = dialect;
            this.second = second;
            this.minute = minute;
            this.hour = hour;
            this.month = month;
            this.day = day;
            boolean unix = dialect == Cron.Dialect.UNIX;
            this.text = Stream.of(unix ? "" : second.text, minute.text, hour.text, days, month.text, weekdays, year)
                    .filter(part -> !part.isEmpty())
                    .collect(Collectors.joining(" "));
            this.wildcard = Stream.of(second, minute, hour)
                    .anyMatch(field -> field.text.startsWith("*") || (!unix && field.text.startsWith("0/")));
            this.wholeMinutes = second.values.cardinality() == 1 && second.values.get(0);
        }

        private boolean fits(LocalDateTime time) {
            return second.values.get(time.getSecond())
                    && minute.values.get(time.getMinute())
                    && hour.values.get(time.getHour())
                    && month.values.get(time.getMonthValue())
                    && known.computeIfAbsent(time.toLocalDate(), day::test);
        }

        boolean isSlot(Instant at, ZoneId zone, int step) {
            ZoneOffset offset = zone.getRules().getOffset(at);
            LocalDateTime shown = LocalDateTime.ofEpochSecond(at.getEpochSecond(), 0, offset);
            if (wildcard) {
                return fits(shown);
            }
            if (fits(shown) && zone.getRules().getValidOffsets(shown).getFirst().equals(offset)) {
                return true;
            }
            ZoneOffset before = zone.getRules().getOffset(at.minusSeconds(1));
            int jump = offset.getTotalSeconds() - before.getTotalSeconds();
            if (jump <= 0 || jump > 3 * 3600) {
                return false;
            }
            LocalDateTime missing = LocalDateTime.ofEpochSecond(at.getEpochSecond(), 0, before);
            for (int i = 0; i < jump; i += step) {
                if (fits(missing.plusSeconds(i))) {
                    return true;
                }
            }
            return false;
        }
    }

    private record Field(String text, BitSet values) {
        static Field of(String text, IntStream values) {
            BitSet set = new BitSet();
            values.forEach(set::set);
            return new Field(text, set);
        }
    }

    /** A field of the clock whose values lie near the change half of the time, where it matters. */
    private static Field field(Random random, int min, int max, int near) {
        int a = random.nextBoolean()
                ? Math.clamp(near + random.nextInt(3) - 1, min, max)
                : min + random.nextInt(max - min + 1);
        int b = a + random.nextInt(max - a + 1);
        int step = 1 + random.nextInt(max / 2);
        return switch (random.nextInt(8)) {
            case 0 -> Field.of("*", IntStream.rangeClosed(min, max));
            case 1 -> Field.of("*/" + step, IntStream.iterate(min, i -> i <= max, i -> i + step));
            case 2 -> Field.of(a + "-" + b, IntStream.rangeClosed(a, b));
            case 3 -> Field.of(a + "-" + b + "/" + step, IntStream.iterate(a, i -> i <= b, i -> i + step));
            case 4 -> Field.of(a + "/" + step, IntStream.iterate(a, i -> i <= max, i -> i + step));
            case 5 -> Field.of(b + "," + a + "-" + b, IntStream.rangeClosed(a, b));
            default -> Field.of(Integer.toString(a), IntStream.of(a));
        };
    }

    private static Field month(Random random, int near) {
        return random.nextInt(3) > 0 ? Field.of("*", IntStream.rangeClosed(1, 12)) : field(random, 1, 12, near);
    }

    private static Guess unix(Random random, ZoneOffsetTransition change) {
        LocalDateTime near = change.getDateTimeBefore();
        Field days = random.nextBoolean()
                ? Field.of("*", IntStream.rangeClosed(1, 31))
                : field(random, 1, 31, near.getDayOfMonth());
        Field weekdays = random.nextBoolean()
                ? Field.of("*", IntStream.rangeClosed(0, 6))
                : field(random, 0, 6, near.getDayOfWeek().getValue() % 7);
        boolean either = !days.text.startsWith("*") && !weekdays.text.startsWith("*");
        return new Guess(
                Cron.Dialect.UNIX,
                Field.of("0", IntStream.of(0)),
                field(random, 0, 59, near.getMinute()),
                field(random, 0, 23, near.getHour()),
                days.text,
                month(random, near.getMonthValue()),
                weekdays.text,
                "",
                date -> {
                    boolean byDate = days.values.get(date.getDayOfMonth());
                    boolean byWeekday = weekdays.values.get(date.getDayOfWeek().getValue() % 7);
                    return either ? byDate || byWeekday : byDate && byWeekday;
                });
    }

    private static Guess quartz(Random random, ZoneOffsetTransition change) {
        LocalDateTime near = change.getDateTimeBefore();
        int dayOfMonth = near.getDayOfMonth();
        DayOfWeek weekday = near.getDayOfWeek();
        int number = weekday.getValue() % 7 + 1;
        String name = weekday.name().substring(0, 3).toLowerCase(java.util.Locale.ROOT);
        String days = "?";
        String weekdays = "?";
        Predicate<LocalDate> day;
        switch (random.nextInt(9)) {
            case 0 -> {
                days = "L";
                day = date -> date.equals(date.with(TemporalAdjusters.lastDayOfMonth()));
            }
            case 1 -> {
                int before = Math.max(1, near.toLocalDate().lengthOfMonth() - dayOfMonth);
                days = "L-" + before;
                day = date -> date.getDayOfMonth() == date.lengthOfMonth() - before;
            }
            case 2 -> {
                days = "lw";
                day = date -> date.equals(nearestWeekday(date.with(TemporalAdjusters.lastDayOfMonth())));
            }
            case 3 -> {
                days = dayOfMonth + "W";
                day = date -> dayOfMonth <= date.lengthOfMonth()
                        && date.equals(nearestWeekday(date.withDayOfMonth(dayOfMonth)));
            }
            case 4 -> {
                int nth = Math.min(5, (dayOfMonth + 6) / 7);
                weekdays = number + "#" + nth;
                day = date -> date.getDayOfWeek() == weekday && (date.getDayOfMonth() + 6) / 7 == nth;
            }
            case 5 -> {
                weekdays = name + "L";
                day = date -> date.equals(date.with(TemporalAdjusters.lastInMonth(weekday)));
            }
            case 6 -> {
                weekdays = name + "-sun";
                day = date -> date.getDayOfWeek().compareTo(weekday) >= 0;
            }
            case 7 -> {
                days = "*";
                day = date -> true;
            }
            default -> {
                Field list = field(random, 1, 31, dayOfMonth);
                days = list.text;
                day = date -> list.values.get(date.getDayOfMonth());
            }
        }
        boolean ofYear = random.nextInt(4) == 0 && near.getYear() >= 1970;
        return new Guess(
                Cron.Dialect.QUARTZ,
                random.nextInt(3) > 0 ? Field.of("0", IntStream.of(0)) : field(random, 0, 59, near.getSecond()),
                field(random, 0, 59, near.getMinute()),
                field(random, 0, 23, near.getHour()),
                days,
                month(random, near.getMonthValue()),
                weekdays,
                ofYear ? Integer.toString(near.getYear()) : "",
                ofYear ? day.and(date -> date.getYear() == near.getYear()) : day);
    }

    /** The Monday to Friday that is nearest to a date within its month. */
    private static LocalDate nearestWeekday(LocalDate date) {
        return Stream.of(0, -1, 1, -2, 2)
                .map(date::plusDays)
                .filter(near -> near.getMonth() == date.getMonth()
                        && near.getDayOfWeek().compareTo(DayOfWeek.SATURDAY) < 0)
                .findFirst()
                .orElseThrow();
    }
}
