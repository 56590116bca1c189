package dev.fencepost.edge.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.Event;
import dev.fencepost.host.Spawner.Task;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class SystemThreadsTest {

    private static final Duration LONG = Duration.ofSeconds(20);

    private final List<Event> journal = new CopyOnWriteArrayList<>();
    private final SystemThreads threads = new SystemThreads(journal::add);

    @Test
    void errorsAreRecordedAndEndOnlyTheirThread() throws Exception {
        Error error = new AssertionError("broken");
        assertTrue(threads.platformThread("first", () -> {
                    throw error;
                })
                .join(LONG));
        assertTrue(threads.virtualThread("second", () -> {
                    throw new IllegalStateException("too");
                })
                .join(LONG));
        assertEquals(2, journal.size());
        Event.Problem problem = (Event.Problem) journal.getFirst();
        assertEquals("thread first", problem.where());
        assertSame(error, problem.cause());
    }

    @Test
    void kindsOfThreads() throws Exception {
        AtomicReference<Thread> virtual = new AtomicReference<>();
        AtomicReference<Thread> platform = new AtomicReference<>();
        threads.virtualThread("v", () -> virtual.set(Thread.currentThread())).join(LONG);
        threads.platformThread("p", () -> platform.set(Thread.currentThread())).join(LONG);
        assertTrue(assertGiven(virtual).isVirtual());
        assertFalse(assertGiven(platform).isVirtual());
        assertTrue(assertGiven(platform).isDaemon());
        assertEquals("p", assertGiven(platform).getName());
        assertEquals(List.of(), journal);
    }

    private static Thread assertGiven(AtomicReference<Thread> thread) {
        Thread given = thread.get();
        assertNotNull(given);
        return given;
    }

    @Test
    void taskIsJoinedAndInterrupted() throws Exception {
        CountDownLatch interrupted = new CountDownLatch(1);
        Task task = threads.virtualThread("waits", () -> {
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                interrupted.countDown();
            }
        });
        assertTrue(task.isAlive());
        assertFalse(task.join(Duration.ZERO));
        assertFalse(task.join(Duration.ofMillis(10)));
        task.interrupt();
        assertTrue(task.join(LONG));
        assertFalse(task.isAlive());
        assertEquals(0, interrupted.getCount());
    }
}
