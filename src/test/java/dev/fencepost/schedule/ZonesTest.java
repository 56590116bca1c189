package dev.fencepost.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ZonesTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Europe/Berlin",
                "Europe/Kiev",
                "Europe/Kyiv",
                "UTC",
                "Etc/UTC",
                "GMT",
                "Etc/GMT+5",
                "Asia/Calcutta"
            })
    void namesOfTheDatabaseAreTakenOldOnesToo(String name) {
        assertEquals(name, Zones.parse(name).getId());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            Europe/Berln     | did you mean Europe/Berlin?
            europe/berlin    | did you mean Europe/Berlin?
            EUROPE/BERLIN    | did you mean Europe/Berlin?
            Berlin           | did you mean Europe/Berlin?
            Asia/Berlin      | did you mean Europe/Berlin?
            America/New York | did you mean America/New_York?
            America/NewYork  | did you mean America/New_York?
            Asia/Tokio       | did you mean Asia/Tokyo?
            utc              | did you mean UTC?
            CEST             | an IANA name such as Europe/Berlin
            EDT              | an IANA name such as America/New_York
            JST              | an IANA name such as Asia/Tokyo
            Z                | an IANA name such as Etc/UTC
            GMT+25           | is an offset
            UTC+2            | is an offset
            +02:00           | is an offset
            -5               | is an offset
            Mars/Olympus     | not in the IANA time zone database
            SystemV/EST5     | not in the IANA time zone database
            """)
    void otherNamesAreRefusedWithWhatToWrite(String name, String hint) {
        String message = refusal(name);
        assertTrue(message.contains(hint) && message.contains(name), message);
    }

    @Test
    void anEmptyOrPaddedOrHugeNameIsRefused() {
        assertTrue(refusal("").contains("empty"));
        assertTrue(refusal("  ").contains("empty"));
        assertTrue(refusal(" Europe/Berlin").contains("did you mean Europe/Berlin?"));
        assertTrue(refusal("Europe/".repeat(10_000)).length() < 300);
    }

    private static String refusal(String name) {
        return String.valueOf(
                assertThrows(ScheduleException.class, () -> Zones.parse(name)).getMessage());
    }
}
