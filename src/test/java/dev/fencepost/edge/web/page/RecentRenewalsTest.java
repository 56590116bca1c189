package dev.fencepost.edge.web.page;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.fencepost.host.Event;
import dev.fencepost.host.ManualTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RecentRenewalsTest {

    private final List<Event> passedOn = new ArrayList<>();
    private final ManualTime time = new ManualTime(Instant.parse("2026-03-29T04:30:00Z"));
    private final RecentRenewals renewals = new RecentRenewals(passedOn::add, time);

    private static Event started(long fence, String runId) {
        return new Event.Started("a", "2026-03-29T04:30:00Z", 1, fence, runId, Duration.ZERO);
    }

    private static Event renewed(long fence) {
        return new Event.Renewed("a", "2026-03-29T04:30:00Z", fence);
    }

    @Test
    void everythingIsPassedOn() {
        List<Event> events = List.of(started(1, "r"), renewed(1), new Event.Note("a", "text"));
        events.forEach(renewals::record);
        assertEquals(events, passedOn);
    }

    @Test
    void aRunsRenewalsAreKnownByItsTokenAndRunId() {
        renewals.record(started(7, "r"));
        Instant first = time.wallClock();
        renewals.record(renewed(7));
        assertEquals(new RecentRenewals.Known(1, List.of(first)), renewals.of("a", 7, "r"));
        assertEquals(0, renewals.of("a", 7, "twin").count());
        assertEquals(0, renewals.of("b", 7, "r").count());
    }

    @Test
    void aRenewalOfAnUnknownRunIsNotKept() {
        renewals.record(renewed(3));
        assertEquals(0, renewals.of("a", 3, "r").count());
    }

    @Test
    void bothTheRunsAndTheRenewalsOfOneAreBounded() {
        renewals.record(started(1, "r1"));
        for (int i = 0; i < RecentRenewals.MOST_OF_A_RUN + 50; i++) {
            renewals.record(renewed(1));
        }
        assertEquals(
                RecentRenewals.MOST_OF_A_RUN + 50, renewals.of("a", 1, "r1").count());
        assertEquals(
                RecentRenewals.MOST_OF_A_RUN, renewals.of("a", 1, "r1").newest().size());
        for (int i = 2; i <= RecentRenewals.MOST_RUNS + 1; i++) {
            renewals.record(started(i, "r" + i));
        }
        assertEquals(0, renewals.of("a", 1, "r1").count());
        renewals.record(renewed(2));
        assertEquals(1, renewals.of("a", 2, "r2").count());
    }
}
