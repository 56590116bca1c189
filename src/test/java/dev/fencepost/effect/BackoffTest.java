package dev.fencepost.effect;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class BackoffTest {

    @Test
    void doublesFromOneSecondToTenMinutes() {
        assertEquals(Duration.ofSeconds(1), Backoff.after(1, 0));
        assertEquals(Duration.ofSeconds(2), Backoff.after(2, 0));
        assertEquals(Duration.ofSeconds(512), Backoff.after(10, 0));
        assertEquals(Duration.ofMinutes(10), Backoff.after(11, 0));
        assertEquals(Duration.ofMinutes(10), Backoff.after(Integer.MAX_VALUE, 0));
        assertEquals(Duration.ofSeconds(1), Backoff.after(0, 0));
    }

    @Test
    void upToAHalfIsTakenOff() {
        assertEquals(Duration.ofMillis(500), Backoff.after(1, Math.nextDown(1.0)));
        assertEquals(Duration.ofMillis(750), Backoff.after(1, 0.5));
    }
}
