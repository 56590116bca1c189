package dev.fencepost.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ScheduleTextTest {

    private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");

    @Test
    void whatTheStoreKeepsIsReadBack() {
        for (Schedule schedule : List.of(
                new Every(Duration.ofMinutes(45)),
                new Every(Duration.ofSeconds(7), Instant.parse("2026-01-02T03:04:05Z")),
                Cron.parse("30 7 * * MON-FRI", BERLIN),
                Cron.parse("@daily", BERLIN),
                Cron.parse("0 0 12 ? * 2#1 2030", BERLIN))) {
            ScheduleText read = ScheduleText.parse(schedule.text());
            assertNotNull(read, schedule.text());
            assertEquals(schedule, read.schedule());
            assertEquals(schedule instanceof Every ? ZoneOffset.UTC : BERLIN, read.zone());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "hourly",
                "every PT0S anchor 1970-01-01T00:00:00Z",
                "every 45m anchor 1970-01-01T00:00:00Z",
                "every PT45M anchor then",
                "cron unix \"30 7 * *\" zone Europe/Berlin",
                "cron unix \"30 7 * * *\" zone Europe/Atlantis",
                "cron systemd \"30 7 * * *\" zone Europe/Berlin"
            })
    void whatAnotherVersionWroteIsNotGuessedAt(String text) {
        assertNull(ScheduleText.parse(text));
    }

    @Test
    void anOrdersKeyIsReadBack() {
        Slot order = Slot.manual(Instant.parse("2026-03-29T01:00:00.5Z"), "ab12");
        assertEquals(order, Slot.ofManualKey(order.key()));
        assertNull(Slot.ofManualKey("2026-03-29T01:00:00Z"));
        assertNull(Slot.ofManualKey("manual:yesterday/ab12"));
        assertNull(Slot.ofManualKey("manual:2026-03-29T01:00:00Z"));
    }
}
