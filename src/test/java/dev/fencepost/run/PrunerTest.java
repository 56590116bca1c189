package dev.fencepost.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.Event;
import dev.fencepost.host.ManualTime;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.TestThreads;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PrunerTest {

    private static final Instant NOW = Instant.parse("2026-03-01T00:00:00Z");
    private static final Duration KEEP = Duration.ofDays(30);

    private final ManualTime time = new ManualTime(NOW);
    private final TestThreads threads = new TestThreads();
    private final List<Event> events = Collections.synchronizedList(new ArrayList<>());
    private final List<Instant> asked = Collections.synchronizedList(new ArrayList<>());
    private final Deque<Supplier<Integer>> answers = new ArrayDeque<>();
    private final AtomicBoolean ready = new AtomicBoolean(true);

    /** The store's clock is ahead of the host's. */
    private final Pruner pruner = new Pruner(
            "items",
            () -> KEEP,
            ready::get,
            () -> time.wallClock().plus(Duration.ofHours(1)),
            (before, limit) -> {
                assertEquals(Pruner.AT_ONCE, limit);
                asked.add(before);
                return answers.isEmpty() ? 0 : answers.pop().get();
            },
            time,
            events::add);

    private final List<Spawner.Task> tasks = new ArrayList<>();

    private void start() throws InterruptedException {
        tasks.add(threads.virtualThread("prune", pruner));
        time.awaitSleepers(1);
    }

    /** In the steps in which the loop looks up. */
    private void pass(Duration length) throws InterruptedException {
        for (long i = 0; i < length.toSeconds() / 5; i++) {
            time.pass(Duration.ofSeconds(5));
            time.awaitSleepers(1);
        }
    }

    private void fails(RuntimeException e) {
        answers.add(() -> {
            throw e;
        });
    }

    private long problems() {
        return events.stream().filter(Event.Problem.class::isInstance).count();
    }

    @AfterEach
    void stop() {
        tasks.forEach(Spawner.Task::interrupt);
        assertEquals(List.of(), threads.failures());
    }

    @Test
    void atTheStartAndEveryHourByTheStoresClock() throws InterruptedException {
        start();
        Instant first = NOW.plus(Duration.ofHours(1)).minus(KEEP);
        assertEquals(List.of(first), asked);
        pass(Duration.ofMinutes(59));
        assertEquals(1, asked.size());
        pass(Duration.ofMinutes(1));
        assertEquals(List.of(first, first.plus(Duration.ofHours(1))), asked);
        assertEquals(List.of(), events);
    }

    @Test
    void aStoreThatHasNotBeenReachedIsWaitedFor() throws InterruptedException {
        ready.set(false);
        start();
        pass(Duration.ofSeconds(30));
        assertEquals(List.of(), asked);
        ready.set(true);
        pass(Duration.ofSeconds(5));
        assertEquals(1, asked.size());
    }

    @Test
    void smallNumbersUntilNothingIsLeftWithAPauseBetween() throws InterruptedException {
        answers.add(() -> Pruner.AT_ONCE);
        answers.add(() -> Pruner.AT_ONCE);
        answers.add(() -> 7);
        start();
        assertEquals(1, asked.size(), "others may write now");
        time.pass(Duration.ofMillis(100));
        time.awaitSleepers(1);
        assertEquals(2, asked.size());
        time.pass(Duration.ofMillis(100));
        time.awaitSleepers(1);
        assertEquals(3, asked.size());
        assertEquals(1, asked.stream().distinct().count());
        pass(Duration.ofMinutes(1));
        assertEquals(3, asked.size());
        Event.Note note = (Event.Note) events.getFirst();
        assertTrue(note.text().startsWith("207 items"), note::text);
    }

    @Test
    void noErrorEndsItAndEachIsToldOnce() throws InterruptedException {
        fails(new IllegalStateException("odd"));
        fails(new IllegalStateException("odd"));
        fails(new StoreException(Kind.AMBIGUOUS, "unsaid", null));
        fails(new StoreException(Kind.UNAVAILABLE, "away", null));
        start();
        assertEquals(1, problems());
        pass(Duration.ofMinutes(1));
        assertEquals(2, asked.size());
        assertEquals(1, problems(), "the same again");
        pass(Duration.ofMinutes(1));
        assertEquals(2, problems());
        pass(Duration.ofMinutes(1));
        assertEquals(2, problems(), "the store's absence is told by others");
        pass(Duration.ofMinutes(1));
        assertEquals(5, asked.size());
        fails(new StoreException(Kind.AMBIGUOUS, "unsaid", null));
        pass(Duration.ofHours(1));
        assertEquals(3, problems(), "it had gone well in between");
    }

    @Test
    void whoStopsItWaitsForOneBatchAtMost() throws InterruptedException {
        answers.add(() -> {
            pruner.stop();
            return Pruner.AT_ONCE;
        });
        Spawner.Task task = threads.virtualThread("prune", pruner);
        time.awaitSleepers(1);
        time.pass(Duration.ofSeconds(5));
        assertTrue(task.join(Duration.ofSeconds(10)));
        assertEquals(1, asked.size());
    }
}
