package dev.fencepost.edge.quarkus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.Event;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import org.junit.jupiter.api.Test;

class ServiceJournalTest {

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final ServiceJournal journal = new ServiceJournal(meters, List.of());

    /** As {@code job/queue value}. */
    private List<String> series() {
        return meters.find("stale_token_rejected").counters().stream()
                .map(each ->
                        each.getId().getTag("job") + "/" + each.getId().getTag("queue") + " " + (long) each.count())
                .sorted()
                .toList();
    }

    @Test
    void jobsAndQueuesHaveOneCounterWithTheSameLabels() {
        journal.record(new Event.StaleTokenRejected("article", "2026-03-01T00:00:00Z", 3, "STALE_TOKEN"));
        journal.record(new Event.StaleWorkRejected("pages", "page-17", 3, "EXPIRED"));
        journal.record(new Event.StaleWorkRejected("pages", "page-18", 3, "STALE_TOKEN"));
        assertEquals(List.of("/pages 2", "article/ 1"), series());
    }

    @Test
    void theLabelsAreBounded() {
        for (int i = 0; i < ServiceJournal.MOST_QUEUES + 50; i++) {
            journal.record(new Event.StaleWorkRejected("q" + i, "a", 1, "STALE_TOKEN"));
        }
        journal.record(new Event.StaleWorkRejected("q0", "a", 1, "STALE_TOKEN"));
        assertEquals(ServiceJournal.MOST_QUEUES + 1, series().size());
        assertTrue(series().containsAll(List.of("/q0 2", "/other 50")), () -> "" + series());
    }
}
