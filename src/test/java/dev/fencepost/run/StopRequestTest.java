package dev.fencepost.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.run.StopRequest.Reason;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class StopRequestTest {

    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofSeconds(1);

    private final StopRequest stop = new StopRequest();
    private final StoppedChild child = new StoppedChild();

    @Test
    void aRequestStopsTheChildWithItsGrace() {
        stop.attach(child);
        assertNull(stop.reason());
        assertTrue(stop.request(Reason.TIMEOUT, "too long", LONG));
        assertEquals(List.of(LONG), child.stops);
        assertEquals(Reason.TIMEOUT, stop.reason());
        assertEquals("too long", stop.text());
    }

    @Test
    void aRequestFromBeforeTheChildStopsItAtOnce() {
        stop.request(Reason.CANCEL, "order", SHORT);
        stop.attach(child);
        assertEquals(List.of(SHORT), child.stops);
    }

    @Test
    void theFirstReasonStays() {
        stop.attach(child);
        assertTrue(stop.request(Reason.TIMEOUT, "first", LONG));
        assertFalse(stop.request(Reason.SHUTDOWN, "second", SHORT));
        assertEquals(Reason.TIMEOUT, stop.reason());
        assertEquals("first", stop.text());
        assertEquals(SHORT, child.stops.getLast(), "but the shorter grace counts");
    }

    @Test
    void aLostLeaseOutdoesEveryOtherReasonAndOnlyOnce() {
        for (Reason before : List.of(Reason.TIMEOUT, Reason.SHUTDOWN, Reason.CANCEL)) {
            StopRequest request = new StopRequest();
            request.request(before, "first", LONG);
            assertTrue(request.request(Reason.LEASE_LOST, "lost", SHORT));
            assertEquals(Reason.LEASE_LOST, request.reason());
            assertEquals("lost", request.text());
            assertFalse(request.request(Reason.LEASE_LOST, "lost again", SHORT));
            assertFalse(request.request(before, "later", SHORT));
            assertEquals("lost", request.text());
        }
    }

    @Test
    void aLaterRequestNeverMakesTheGraceLonger() {
        stop.request(Reason.LEASE_LOST, "lost", Duration.ZERO);
        stop.request(Reason.SHUTDOWN, "shutdown", LONG);
        stop.attach(child);
        assertEquals(List.of(Duration.ZERO), child.stops);
        stop.request(Reason.SHUTDOWN, "shutdown", LONG);
        assertEquals(List.of(Duration.ZERO, Duration.ZERO), child.stops);
    }

    @Test
    void onceTheChildHasEndedARequestComesTooLate() {
        stop.attach(child);
        stop.ended();
        assertFalse(stop.request(Reason.LEASE_LOST, "late", SHORT));
        assertNull(stop.reason());
        assertEquals(List.of(), child.stops);
    }

    @Test
    void eachReasonHasItsOutcome() {
        assertEquals(Outcome.TIMED_OUT, Reason.TIMEOUT.outcome());
        assertEquals(Outcome.LEASE_LOST, Reason.LEASE_LOST.outcome());
        assertEquals(Outcome.ABANDONED, Reason.SHUTDOWN.outcome());
        assertEquals(Outcome.CANCELLED, Reason.CANCEL.outcome());
    }
}
