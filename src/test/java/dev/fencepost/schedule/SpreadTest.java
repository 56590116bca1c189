package dev.fencepost.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class SpreadTest {

    private static final Duration MINUTE = Duration.ofMinutes(1);

    /** Fixed values: another version, or another node, has to give the same ones. */
    @Test
    void aNameHasAlwaysTheSamePlace() {
        assertEquals(Duration.ofMillis(20831), Spread.place("article", MINUTE));
        assertEquals(Duration.ofMillis(19890), Spread.place("article@2026-03-29T01:00:00Z", MINUTE));
        assertEquals(Duration.ZERO, Spread.place("article", Duration.ZERO));
    }

    @Test
    void manyNamesAreSpreadEvenly() {
        int[] bySecond = new int[60];
        for (int i = 0; i < 6_000; i++) {
            Duration place = Spread.place("job-" + i, MINUTE);
            assertTrue(!place.isNegative() && place.compareTo(MINUTE) < 0, place.toString());
            bySecond[(int) place.toSeconds()]++;
        }
        assertTrue(Arrays.stream(bySecond).allMatch(count -> count > 50 && count < 160), Arrays.toString(bySecond));
    }
}
