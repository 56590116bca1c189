package dev.fencepost.edge.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.ManualTime;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class FailedLoginsTest {

    private final ManualTime time = new ManualTime(Instant.parse("2026-03-01T00:00:00Z"));
    private final FailedLogins failed = new FailedLogins(time);

    private void fail(String address, int times) {
        for (int i = 0; i < times; i++) {
            failed.failed(address);
        }
    }

    @Test
    void theTenthWithinAMinuteMakesTheAddressWait() {
        fail("10.0.0.1", 9);
        assertEquals(0, failed.waitMillis("10.0.0.1"));
        time.pass(Duration.ofSeconds(20));
        assertTrue(failed.failed("10.0.0.1"));
        assertFalse(failed.failed("10.0.0.1"), "told once");
        assertEquals(40_000, failed.waitMillis("10.0.0.1"));
        assertEquals(0, failed.waitMillis("10.0.0.2"), "others do not wait");
        time.pass(Duration.ofMillis(39_999));
        assertEquals(1, failed.waitMillis("10.0.0.1"));
        time.pass(Duration.ofMillis(1));
        assertEquals(0, failed.waitMillis("10.0.0.1"));
        fail("10.0.0.1", 9);
        assertEquals(0, failed.waitMillis("10.0.0.1"), "a new minute, a new count");
    }

    @Test
    void theWallClockDoesNotMatter() {
        fail("10.0.0.1", 10);
        time.setWallClock(Instant.parse("2036-01-01T00:00:00Z"));
        assertEquals(60_000, failed.waitMillis("10.0.0.1"));
    }

    @Test
    void aMachineHasOneAddressOfIpv6() {
        for (int i = 0; i < 10; i++) {
            failed.failed("2001:db8:0:1:0:0:0:" + Integer.toHexString(i));
        }
        assertTrue(failed.waitMillis("2001:db8:0:1:ffff:0:0:1") > 0);
        assertEquals(0, failed.waitMillis("2001:db8:0:2:0:0:0:1"));
    }

    @Test
    void theTableIsBounded() {
        fail("10.0.0.1", 10);
        for (int i = 0; i < 10_000; i++) {
            failed.failed("address-" + i);
        }
        assertEquals(0, failed.waitMillis("10.0.0.1"), "the one that was there the longest went");
        fail("address-9999", 9);
        assertTrue(failed.waitMillis("address-9999") > 0);
    }
}
