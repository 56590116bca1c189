package dev.fencepost.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.ManualTime;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.TestThreads;
import dev.fencepost.host.Time;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DeadlineWatchTest {

    private final ManualTime time = new ManualTime(Instant.EPOCH);
    private final TestThreads threads = new TestThreads();
    private final DeadlineWatch watch = new DeadlineWatch(time);
    private final List<String> alarms = new CopyOnWriteArrayList<>();
    private Spawner.Task task = threads.platformThread("none", () -> {});

    @BeforeEach
    void start() throws InterruptedException {
        task = threads.platformThread("watch", watch);
        time.awaitSleepers(1);
    }

    @AfterEach
    void end() throws InterruptedException {
        task.interrupt();
        assertTrue(task.join(Duration.ofSeconds(10)));
    }

    /** Of a lease whose claim was sent now: deadline 6 s from now. */
    private Keeper keeper(Duration ttl) {
        Lease lease = new Lease(
                "r",
                new Owner("anna"),
                new FencingToken(1),
                new RunId(new UUID(0, 1)),
                null,
                Instant.EPOCH,
                Instant.EPOCH);
        Leases nobody = (Leases) Proxy.newProxyInstance(
                Leases.class.getClassLoader(), new Class<?>[] {Leases.class}, (proxy, method, args) -> {
                    throw new AssertionError(method);
                });
        return new Keeper(nobody, time, lease, ttl, time.bootMillis(), new Keeper.Listener() {
            @Override
            public void renewed(Lease renewed) {}

            @Override
            public void renewFailed(Lease failed, StoreException cause) {}

            @Override
            public void lost(Lease gone, Term term, Refusal reason) {}
        });
    }

    private void pass(long millis) throws InterruptedException {
        time.pass(Duration.ofMillis(millis));
        time.awaitSleepers(1); // the watch has looked
    }

    @Test
    void theAlarmComesAtTheDeadlineOnceAndNotBefore() throws InterruptedException {
        DeadlineWatch.Handle handle = watch.watch(keeper(Duration.ofSeconds(8)), () -> alarms.add("r"));
        for (int i = 0; i < 5_999; i += 250) {
            pass(Math.min(250, 5_999 - i));
        }
        assertEquals(List.of(), alarms);
        pass(1);
        assertEquals(List.of("r"), alarms);
        pass(10_000);
        assertEquals(List.of("r"), alarms);
        handle.close();
    }

    /** After a suspend or a SIGSTOP all time has passed at once. */
    @Test
    void afterAFreezeTheAlarmComesAtOnce() throws InterruptedException {
        watch.watch(keeper(Duration.ofSeconds(8)), () -> alarms.add("a"));
        watch.watch(keeper(Duration.ofMinutes(81)), () -> alarms.add("b"));
        pass(Duration.ofHours(3).toMillis());
        assertEquals(2, alarms.size());
    }

    @Test
    void aClosedWatchIsSilent() throws InterruptedException {
        watch.watch(keeper(Duration.ofSeconds(8)), () -> alarms.add("r")).close();
        pass(60_000);
        assertEquals(List.of(), alarms);
    }

    /** Semantics 6.5: one run's error, whatever its kind, is not the others'. And what it had to stop still has to be stopped. */
    @Test
    void anAlarmThatFailsStopsNoOtherAndIsTriedAgain() throws InterruptedException {
        watch.watch(keeper(Duration.ofSeconds(8)), () -> {
            alarms.add("bad");
            if (alarms.size() < 3) {
                throw new OutOfMemoryError("planted fault: no thread for the kill");
            }
        });
        watch.watch(keeper(Duration.ofSeconds(16)), () -> alarms.add("good"));
        for (int i = 0; i < 10; i++) {
            pass(i == 0 ? 6_000 : 250);
        }
        assertEquals(List.of("bad", "bad", "bad"), alarms);
        pass(60_000);
        assertEquals(List.of("bad", "bad", "bad", "good"), alarms);
        assertTrue(task.isAlive());
    }

    /** A watch that ended with a full heap would leave every lease of the node unwatched. */
    @Test
    void anErrorOfItsOwnDoesNotEndTheWatch() {
        Time failing = new Time() {
            private int looks;

            @Override
            public Instant wallClock() {
                return Instant.EPOCH;
            }

            @Override
            public long bootMillis() {
                if (looks++ < 3) {
                    throw new OutOfMemoryError("planted fault");
                }
                return Duration.ofHours(3).toMillis();
            }

            @Override
            public String bootId() {
                return "boot-1";
            }

            @Override
            public void sleep(Duration duration) throws InterruptedException {
                throw new InterruptedException("the test is over");
            }
        };
        DeadlineWatch other = new DeadlineWatch(failing);
        other.watch(keeper(Duration.ofSeconds(8)), () -> alarms.add("r"));
        other.run();
        assertTrue(Thread.interrupted());
        assertEquals(List.of("r"), alarms);
    }
}
