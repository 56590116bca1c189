package dev.fencepost.edge.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.notify.SendQueue.Limits;
import dev.fencepost.host.Event;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SendQueueTest {

    private static final Duration LONG = Duration.ofSeconds(10);
    private static final Duration SHORT = Duration.ofMillis(5);

    private final List<Event> events = new CopyOnWriteArrayList<>();
    private final List<String> sent = new CopyOnWriteArrayList<>();
    private final CountDownLatch open = new CountDownLatch(1);

    private SendQueue queue(int most, int atOnce, Duration... pauses) {
        return new SendQueue(
                new Limits(most, atOnce, List.of(pauses)),
                new SystemTime(),
                new SystemThreads(events::add),
                events::add);
    }

    private SendQueue.Sending sending(String name) {
        return isLast -> sent.add(name);
    }

    private SendQueue.Sending hanging(String name, CountDownLatch begun) {
        return isLast -> {
            begun.countDown();
            open.await();
            return sent.add(name);
        };
    }

    @Test
    void aLaneKeepsItsOrder() throws Exception {
        SendQueue queue = queue(1_000, 8);
        List<String> names = IntStream.range(0, 500).mapToObj(String::valueOf).toList();
        names.forEach(name -> queue.add("lane", sending(name)));
        queue.close(LONG);
        assertEquals(names, sent);
        assertEquals(List.of(), events);
    }

    @Test
    void aLaneThatHangsDelaysNoOther() throws Exception {
        SendQueue queue = queue(100, 8);
        CountDownLatch begun = new CountDownLatch(1);
        queue.add("a", hanging("hanging", begun));
        queue.add("a", sending("behind it"));
        assertTrue(begun.await(10, TimeUnit.SECONDS));
        CountDownLatch others = new CountDownLatch(2);
        for (String lane : List.of("b", "c")) {
            queue.add(lane, isLast -> {
                others.countDown();
                return true;
            });
        }
        assertTrue(others.await(10, TimeUnit.SECONDS));
        assertEquals(List.of(), sent);
        open.countDown();
        queue.close(LONG);
        assertEquals(List.of("hanging", "behind it"), sent);
    }

    @Test
    void aFullQueueGivesUpItsOldestAndSaysSoOnce() throws Exception {
        SendQueue queue = queue(3, 8);
        CountDownLatch begun = new CountDownLatch(1);
        queue.add("a", hanging("first", begun));
        assertTrue(begun.await(10, TimeUnit.SECONDS));
        List.of("1", "2", "3", "4", "5").forEach(name -> queue.add("a", sending(name)));
        open.countDown();
        queue.close(LONG);
        assertEquals(List.of("first", "3", "4", "5"), sent);
        assertEquals(1, events.size(), events::toString);
        assertTrue(
                assertInstanceOf(Event.Problem.class, events.getFirst()).text().contains("more than 3 notices"));
    }

    @Test
    void itIsTriedAgainUntilTheLastTime() throws Exception {
        SendQueue queue = queue(10, 1, SHORT, SHORT);
        List<Boolean> tries = new CopyOnWriteArrayList<>();
        queue.add("a", isLast -> {
            tries.add(isLast);
            return isLast;
        });
        queue.add("a", sending("next"));
        queue.close(LONG);
        assertEquals(List.of(false, false, true), tries);
        assertEquals(List.of("next"), sent);
    }

    @Test
    void anErrorOfOursEndsThatNoticeAlone() throws Exception {
        SendQueue queue = queue(10, 1, SHORT);
        queue.add("a", isLast -> {
            throw new IllegalStateException("planted");
        });
        queue.add("a", sending("next"));
        queue.close(LONG);
        assertEquals(List.of("next"), sent);
        assertInstanceOf(Event.Problem.class, events.getFirst());
    }

    @Test
    void atTheEndWhatHangsIsGivenUpAndSaidSo() throws Exception {
        SendQueue queue = queue(10, 8);
        CountDownLatch begun = new CountDownLatch(1);
        queue.add("a", hanging("never", begun));
        queue.add("a", sending("never either"));
        assertTrue(begun.await(10, TimeUnit.SECONDS));
        queue.close(Duration.ofMillis(100));
        assertEquals(List.of(), sent);
        assertTrue(
                assertInstanceOf(Event.Problem.class, events.getFirst()).text().startsWith("2 notices"),
                events::toString);
    }

    @Test
    void notMoreAreTriedAtATimeThanAllowed() throws Exception {
        SendQueue queue = queue(100, 2);
        AtomicInteger now = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        for (int i = 0; i < 20; i++) {
            queue.add("lane " + i, isLast -> {
                most.accumulateAndGet(now.incrementAndGet(), Math::max);
                new SystemTime().sleep(Duration.ofMillis(2));
                now.decrementAndGet();
                return sent.add("x");
            });
        }
        queue.close(LONG);
        assertEquals(20, sent.size());
        assertTrue(most.get() <= 2, most::toString);
    }
}
