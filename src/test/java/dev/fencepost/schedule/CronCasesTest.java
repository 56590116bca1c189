package dev.fencepost.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Every case of {@code cases/cron_cases.json}: expressions with the instants that users expected, or that must be refused. */
class CronCasesTest {

    private static final Duration TIME_LIMIT = Duration.ofSeconds(1);

    @TestFactory
    Stream<DynamicTest> casesGiveTheExpectedSlots() throws IOException {
        return cases().map(given -> DynamicTest.dynamicTest(
                given.get("id").asText() + " " + given.get("expression").asText() + " in "
                        + given.get("zone").asText(),
                () -> assertTimeoutPreemptively(TIME_LIMIT, () -> check(given))));
    }

    private static void check(JsonNode given) {
        if (!given.get("must_reject").asText().equals("false")) {
            ScheduleException refused = assertThrows(ScheduleException.class, () -> parse(given));
            assertFalse(String.valueOf(refused.getMessage()).isBlank());
            return;
        }
        Cron cron = parse(given);
        Instant after = Instant.parse(given.get("after").asText());
        List<Instant> expected = new ArrayList<>();
        given.get("expected").forEach(slot -> expected.add(Instant.parse(slot.asText())));

        assertEquals(expected, slots(cron, after, given.get("count_or_until")), "next");
        if (!expected.isEmpty()) {
            assertEquals(expected.size(), cron.count(after, expected.getLast()), "count");
            assertEquals(expected.reversed(), slotsBackwards(cron, expected.getLast(), after), "latest");
        }
    }

    private static List<Instant> slots(Cron cron, Instant after, JsonNode limit) {
        List<Instant> slots = new ArrayList<>();
        Instant until = limit.isTextual() ? Instant.parse(limit.asText()) : Instant.MAX;
        int count = limit.isInt() ? limit.asInt() : Integer.MAX_VALUE;
        Instant slot = cron.next(after);
        while (slot != null && !slot.isAfter(until) && slots.size() < count) {
            slots.add(slot);
            slot = cron.next(slot);
        }
        return slots;
    }

    private static List<Instant> slotsBackwards(Cron cron, Instant from, Instant after) {
        List<Instant> slots = new ArrayList<>();
        Instant slot = cron.latest(from);
        while (slot != null && slot.isAfter(after)) {
            slots.add(slot);
            slot = cron.latest(slot.minusSeconds(1));
        }
        return slots;
    }

    private static Cron parse(JsonNode given) {
        Cron.Dialect dialect =
                Cron.Dialect.valueOf(given.get("dialect").asText().toUpperCase(Locale.ROOT));
        return Cron.parse(
                given.get("expression").asText(),
                dialect,
                Zones.parse(given.get("zone").asText()));
    }

    private static Stream<JsonNode> cases() throws IOException {
        try (InputStream file = CronCasesTest.class.getResourceAsStream("/cases/cron_cases.json")) {
            List<JsonNode> cases = new ArrayList<>();
            new ObjectMapper().readTree(Objects.requireNonNull(file)).forEach(cases::add);
            return cases.stream();
        }
    }
}
