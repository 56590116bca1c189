package dev.fencepost.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.ManualTime;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.TestThreads;
import dev.fencepost.lease.StoreException.Kind;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class KeeperTest {

    private static final Duration TTL = Duration.ofSeconds(90); // renewed every 30 s, deadline 4.5 s before the end
    private static final Lease LEASE = new Lease(
            "r",
            new Owner("anna"),
            new FencingToken(3),
            new RunId(new UUID(1, 2)),
            null,
            Instant.EPOCH,
            Instant.EPOCH.plus(TTL));

    private final ManualTime time = new ManualTime(Instant.EPOCH);
    private final TestThreads threads = new TestThreads();
    private final Renewals renewals = new Renewals();
    private final Heard heard = new Heard();
    private Spawner.@Nullable Task task;

    /** Answers renewals as it was told to, in order; then always yes. */
    private final class Renewals implements Leases {
        final LinkedBlockingQueue<Supplier<Renewal>> answers = new LinkedBlockingQueue<>();
        final List<Long> sentAt = new CopyOnWriteArrayList<>();

        @Override
        public Renewal renew(Lease lease, Duration ttl) {
            sentAt.add(time.bootMillis());
            Supplier<Renewal> answer = answers.poll();
            return answer == null ? new Renewal.Renewed(lease) : answer.get();
        }

        @Override
        public Claim claim(String resource, Owner owner, RunId runId, Duration ttl) {
            throw new AssertionError("a keeper claims nothing");
        }

        @Override
        public Optional<Refusal> release(Lease lease) {
            throw new AssertionError("a keeper releases nothing");
        }

        @Override
        public @Nullable LeaseView inspect(String resource) {
            throw new AssertionError("a keeper asks nothing");
        }

        @Override
        public List<LeaseView> list(int limit) {
            throw new AssertionError("a keeper asks nothing");
        }

        @Override
        public @Nullable LeaseView breakLease(String resource, String reason) {
            throw new AssertionError("a keeper breaks nothing");
        }
    }

    private static final class Heard implements Keeper.Listener {
        final List<String> words = new CopyOnWriteArrayList<>();

        @Override
        public void renewed(Lease lease) {
            words.add("renewed");
        }

        @Override
        public void renewFailed(Lease lease, StoreException cause) {
            words.add("failed");
        }

        @Override
        public void lost(Lease lease, Term term, Refusal reason) {
            words.add("lost " + reason);
        }
    }

    @AfterEach
    void end() throws InterruptedException {
        if (task != null) {
            task.interrupt();
            assertTrue(task.join(Duration.ofSeconds(10)));
        }
        assertEquals(List.of(), threads.failures());
    }

    private Keeper started() throws InterruptedException {
        Keeper keeper = new Keeper(renewals, time, LEASE, TTL, time.bootMillis(), heard);
        task = threads.virtualThread("keeper", keeper);
        time.awaitSleepers(1);
        return keeper;
    }

    /** Time goes by, and the keeper has done what it wanted to do by then. */
    private void pass(Duration duration) throws InterruptedException {
        time.pass(duration);
        time.awaitSleepers(1);
    }

    /** One that waits for its next renewal has not. */
    private boolean hasEnded() throws InterruptedException {
        while (task != null && !task.join(Duration.ofMillis(10))) {
            if (time.hasSleepers()) {
                return false;
            }
        }
        return task != null;
    }

    private static Supplier<Renewal> failure(Kind kind) {
        return () -> {
            throw new StoreException(kind, "no answer", null);
        };
    }

    @Test
    void itRenewsEveryThirdOfTheTtlCountedFromWhenTheLastRequestWasSent() throws InterruptedException {
        long began = time.bootMillis();
        Keeper keeper = started();
        pass(Duration.ofMillis(29_999));
        assertEquals(List.of(), renewals.sentAt);

        time.pass(Duration.ofMillis(1));
        awaitWords(1);
        assertEquals(List.of(began + 30_000), renewals.sentAt);
        assertEquals(began + 30_000 + 90_000, keeper.term().endBootMillis());

        renewals.answers.add(() -> {
            time.pass(Duration.ofSeconds(2)); // the answer takes its time
            return new Renewal.Renewed(LEASE);
        });
        time.awaitSleepers(1);
        time.pass(Duration.ofSeconds(30));
        awaitWords(2);
        assertEquals(began + 60_000 + 90_000, keeper.term().endBootMillis(), "trust counts from before it was sent");
        time.awaitSleepers(1);
        time.pass(Duration.ofSeconds(28));
        awaitWords(3);
        assertEquals(List.of(began + 30_000, began + 60_000, began + 90_000), renewals.sentAt);
    }

    @Test
    void aRefusalIsTheEnd() throws InterruptedException {
        started();
        renewals.answers.add(() -> new Renewal.Lost(Refusal.STALE_TOKEN));
        time.pass(Duration.ofSeconds(30));
        assertTrue(hasEnded());
        assertEquals(List.of("lost STALE_TOKEN"), heard.words);
    }

    /** Neither lost nor held: tried again soon, and trusted no longer than before. */
    @Test
    void anErrorIsTriedAgainSoonAndNeverCountsAsHeld() throws InterruptedException {
        long began = time.bootMillis();
        Keeper keeper = started();
        renewals.answers.add(failure(Kind.UNAVAILABLE));
        renewals.answers.add(failure(Kind.AMBIGUOUS));
        renewals.answers.add(failure(Kind.BROKEN));
        time.pass(Duration.ofSeconds(30));
        awaitWords(1);
        for (long wait : List.of(100L, 200L, 400L)) {
            assertEquals(began + 90_000, keeper.term().endBootMillis());
            time.awaitSleepers(1);
            time.pass(Duration.ofMillis(wait));
        }
        awaitWords(4);
        assertEquals(List.of("failed", "failed", "failed", "renewed"), heard.words);
        assertEquals(List.of(began + 30_000, began + 30_100, began + 30_300, began + 30_700), renewals.sentAt);
        assertEquals(began + 30_700 + 90_000, keeper.term().endBootMillis());
    }

    /** A full heap passes too; the lease would be lost for it if the keeper ended. */
    @Test
    void anErrorOfOursIsTriedAgainLikeOneOfTheStores() throws InterruptedException {
        renewals.answers.add(() -> {
            throw new OutOfMemoryError("planted fault");
        });
        renewals.answers.add(() -> {
            throw new IllegalStateException("planted fault");
        });
        started();
        pass(Duration.ofSeconds(30));
        pass(Duration.ofMillis(100));
        pass(Duration.ofMillis(200));
        assertEquals(List.of("failed", "failed", "renewed"), heard.words);
    }

    @Test
    void onceTheTermIsOverNothingIsSentAnyMore() throws InterruptedException {
        started();
        time.pass(Duration.ofSeconds(90)); // frozen for the whole ttl
        assertTrue(hasEnded());
        assertEquals(List.of(), renewals.sentAt);
    }

    @Test
    void aClosedKeeperSendsNothingAndIsSilent() throws InterruptedException {
        Keeper keeper = started();
        keeper.close();
        time.pass(Duration.ofSeconds(30));
        assertTrue(hasEnded());
        assertEquals(List.of(), renewals.sentAt);
        assertEquals(List.of(), heard.words);
    }

    /** LEA-11: a renewal that lost the race with the completion of its run is nothing to speak of. */
    @Test
    void aRefusalAfterTheCloseIsNotReported() throws InterruptedException {
        Keeper keeper = started();
        renewals.answers.add(() -> {
            keeper.close();
            return new Renewal.Lost(Refusal.NOT_OWNER);
        });
        time.pass(Duration.ofSeconds(30));
        assertTrue(hasEnded());
        assertEquals(List.of(), heard.words);
    }

    @Test
    void anErrorAfterTheCloseIsNotReported() throws InterruptedException {
        Keeper keeper = started();
        renewals.answers.add(() -> {
            keeper.close();
            throw new StoreException(Kind.UNAVAILABLE, "gone", null);
        });
        time.pass(Duration.ofSeconds(30));
        assertTrue(hasEnded());
        assertFalse(heard.words.contains("failed"));
    }

    @Test
    void anInterruptEndsIt() throws InterruptedException {
        started();
        if (task != null) {
            task.interrupt();
        }
        assertTrue(hasEnded());
    }

    private void awaitWords(int count) throws InterruptedException {
        long giveUp = System.nanoTime() + Duration.ofSeconds(10).toNanos();
        while (heard.words.size() < count) {
            assertTrue(System.nanoTime() < giveUp, "heard " + heard.words);
            Thread.sleep(1); // the keeper's own thread has to get its turn
        }
    }
}
