package dev.fencepost.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.EndedTask;
import dev.fencepost.host.ManualTime;
import dev.fencepost.host.Spawner;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.schedule.Backlog;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Slot;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jetbrains.lincheck.Lincheck;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Wishes that must not fall between two threads: to be looked at, and to get a place. */
class InterleavingsTest {

    private static final int INVOCATIONS = Integer.getInteger("lincheck.invocations", 300);
    private static final Job JOB = Rig.job("a");
    private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

    /** Runs what is to run in a thread of its own in that of whoever wants it, which is one of several here. */
    private static final class AtOnce implements Spawner {

        @Override
        public Task virtualThread(String name, Runnable body) {
            body.run();
            return new EndedTask();
        }

        @Override
        public Task platformThread(String name, Runnable body) {
            body.run();
            return new EndedTask();
        }
    }

    /** A store that is only asked how a job stands, and has no answer. */
    private record Asked(Runnable look) implements Ticks {

        private static StoreException away() {
            return new StoreException(StoreException.Kind.UNAVAILABLE, "away", null);
        }

        @Override
        public Instant now() {
            throw away();
        }

        @Override
        public void register(Collection<Job> jobs) {
            throw away();
        }

        @Override
        public Situation situation(String job) {
            look.run();
            throw away();
        }

        @Override
        public Restless restless() {
            throw away();
        }

        @Override
        public BrakeCounts brakeCounts(String job, int mostFailures, @Nullable Instant runsSince) {
            throw away();
        }

        @Override
        public Plan apply(Job job, Backlog seen, Plan plan) {
            throw away();
        }

        @Override
        public Start start(Job job, Slot slot, Owner owner, RunId runId, boolean reopen) {
            throw away();
        }

        @Override
        public Completed complete(Lease lease, Completion completion) {
            throw away();
        }

        @Override
        public boolean endAsLost(Lease lease, String reason, List<String> effects) {
            throw away();
        }

        @Override
        public List<Attempt> abandon(Lease lease, boolean provablyDead) {
            throw away();
        }

        @Override
        public Attempt attempt(String job, RunId runId) {
            throw away();
        }
    }

    @SuppressWarnings("NullAway") // it never comes so far that it would need the others
    private static JobLoop loop(Runnable look) {
        return new JobLoop(
                JOB,
                new Asked(look),
                null,
                null,
                null,
                Notices.NONE,
                new Places(0, new ManualTime(NOW)),
                new Owner("node"),
                new ManualTime(NOW),
                new AtOnce(),
                event -> {});
    }

    /** An order that comes while the store is just being read has to be read after it. */
    @Test
    void whatWasOrderedBeforeAWakeUpIsSeenByALookThatBeganAfterIt() {
        Lincheck.runConcurrentTest(INVOCATIONS, () -> {
            AtomicInteger orders = new AtomicInteger();
            AtomicInteger seen = new AtomicInteger();
            JobLoop loop = loop(() -> seen.set(orders.get()));
            loop.wakeIfDue(NOW, Long.MIN_VALUE);
            atOnce(new Ordering(loop, orders), new Ordering(loop, orders));
            assertEquals(2, seen.get(), "orders that the last look saw");
        });
    }

    private static final class Waiter implements Places.Guest {
        private final Places places;
        private final int count;
        private final AtomicInteger inside;
        private volatile boolean asksAgain;
        private volatile boolean wasIn;

        Waiter(Places places, int count, AtomicInteger inside) {
            this.places = places;
            this.count = count;
            this.inside = inside;
        }

        void ask() {
            asksAgain = false;
            if (places.take(this)) {
                assertTrue(inside.incrementAndGet() <= count, "more than there are places");
                inside.decrementAndGet();
                wasIn = true;
                places.giveBack();
            }
        }

        @Override
        public void placeIsFree() {
            asksAgain = true;
        }
    }

    @Test
    void nobodyWhoWaitsForAPlaceIsForgotten() {
        Lincheck.runConcurrentTest(INVOCATIONS, () -> {
            Places places = new Places(1, new ManualTime(NOW));
            List<Waiter> waiters = waiters(places, 1);
            atOnce(new Asking(waiters.get(0)), new Asking(waiters.get(1)));
            for (int i = 0; i < waiters.size(); i++) {
                waiters.stream()
                        .filter(waiter -> waiter.asksAgain && !waiter.wasIn)
                        .forEach(Waiter::ask);
            }
            assertTrue(waiters.stream().allMatch(waiter -> waiter.wasIn), "one waits for ever");
        });
    }

    @Test
    void noPlaceIsLostWhenSeveralAreGivenBackAtOnce() {
        Lincheck.runConcurrentTest(INVOCATIONS, () -> {
            Places places = new Places(2, new ManualTime(NOW));
            List<Waiter> waiters = waiters(places, 2);
            assertTrue(places.take(waiters.get(0)) && places.take(waiters.get(1)), "there are two");
            assertFalse(places.take(waiters.get(2)), "and no third");
            atOnce(new GivingBack(places), new GivingBack(places));
            assertTrue(waiters.get(2).asksAgain, "who waits is told");
            assertTrue(places.take(waiters.get(2)) && places.take(waiters.get(0)), "a place is lost");
            assertFalse(places.take(waiters.get(1)), "a place too many");
        });
    }

    /** One more than there are places. */
    private static List<Waiter> waiters(Places places, int count) {
        AtomicInteger inside = new AtomicInteger();
        return IntStream.rangeClosed(0, count)
                .mapToObj(i -> new Waiter(places, count, inside))
                .toList();
    }

    /** Threads of classes of their own: what only a lambda holds is taken for one thread's alone, and not interleaved. */
    private static final class Ordering extends Thread {
        private final JobLoop loop;
        private final AtomicInteger orders;

        Ordering(JobLoop loop, AtomicInteger orders) {
            this.loop = loop;
            this.orders = orders;
        }

        @Override
        public void run() {
            orders.incrementAndGet();
            loop.wakeNow();
        }
    }

    private static final class GivingBack extends Thread {
        private final Places places;

        GivingBack(Places places) {
            this.places = places;
        }

        @Override
        public void run() {
            places.giveBack();
        }
    }

    private static final class Asking extends Thread {
        private final Waiter waiter;

        Asking(Waiter waiter) {
            this.waiter = waiter;
        }

        @Override
        public void run() {
            waiter.ask();
        }
    }

    private static void atOnce(Thread one, Thread other) {
        one.start();
        other.start();
        join(one);
        join(other);
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
