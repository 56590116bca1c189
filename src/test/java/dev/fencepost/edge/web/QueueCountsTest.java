package dev.fencepost.edge.web;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.fencepost.host.ManualTime;
import dev.fencepost.work.NewItem;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class QueueCountsTest {

    private final ManualTime time = new ManualTime(Instant.parse("2026-03-01T00:00:00Z"));
    private final FaultyQueue queue = new FaultyQueue(time::wallClock);
    private final QueueCounts counts = new QueueCounts(queue.face(), time);
    private int items;

    private long ready() {
        return counts.views().getFirst().ready();
    }

    private void enqueue() {
        queue.face().enqueue(new NewItem("i" + items++, "default", null, 0, null, 5));
    }

    private void nextCountTakes(Duration length) {
        queue.beforeNext("queues", () -> time.pass(length));
    }

    @Test
    void aCountThatTookNoTimeIsNotKept() {
        enqueue();
        assertEquals(1, ready());
        enqueue();
        assertEquals(2, ready());
    }

    @Test
    void aSlowCountAnswersForTenTimesAsLong() {
        enqueue();
        nextCountTakes(Duration.ofMillis(300));
        assertEquals(1, ready());
        enqueue();
        time.pass(Duration.ofMillis(2_999));
        assertEquals(1, ready());
        time.pass(Duration.ofMillis(1));
        assertEquals(2, ready());
    }

    @Test
    void aVerySlowOneForAMinuteAtMost() {
        enqueue();
        nextCountTakes(Duration.ofMinutes(1));
        ready();
        enqueue();
        time.pass(Duration.ofSeconds(60));
        assertEquals(2, ready());
    }

    @Test
    void whatAPersonChangedIsSeenAtOnce() {
        enqueue();
        nextCountTakes(Duration.ofMillis(300));
        ready();
        enqueue();
        counts.forget();
        assertEquals(2, ready());
    }
}
