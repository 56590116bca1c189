package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.jdbc.Tokens;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.Pair;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Refusal;
import dev.fencepost.run.Job;
import dev.fencepost.run.Orders.JobEvent;
import dev.fencepost.run.Outcome;
import dev.fencepost.schedule.Slot;
import dev.fencepost.work.Grant;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkState;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@code store bump}: semantics 1 (fencing token) and 2.9. */
abstract class TokensContract extends Contract {
    /** Of a run that has ended; gives the key. */
    private String announced(Pair pair) {
        String key = newName();
        Lease run = running(job(pair.resource()), Slot.manual(store().now(), newName()), ANNA);
        stored(run, OutboxContract.announcing(OutboxContract.announcement("http", key, pair, "body of " + key)));
        return key;
    }

    private Tokens tokens() {
        return ((JdbcStore) store()).tokens();
    }

    private Tokens.Raised bumped() {
        return tokens().raise(tokens().known().highest() + 1_000, "put back", "me@host");
    }

    private WorkItem claimed(String id) {
        return assertInstanceOf(WorkAnswer.Done.class, store().claimItem(id, ANNA, newRun(), TTL))
                .item();
    }

    private String newItem() {
        String id = newName();
        store().enqueue(new NewItem(id, id, null, 0, null, 5));
        return id;
    }

    private static Grant grant(WorkItem item) {
        return new Grant(item.id(), item.owner(), new FencingToken(item.fence()), item.runId());
    }

    @Test
    void whoHoldsALeaseIsRefusedAndTheNextTokenLiesAbove() {
        Lease held = granted(newName(), ANNA);
        Tokens.Raised raised = bumped();
        assertTrue(raised.leases() > 0);
        assertEquals(Refusal.STALE_TOKEN, lost(held));
        assertEquals(LeaseView.State.RELEASED, view(held.resource()).state());
        assertEquals(raised.fence(), view(held.resource()).fence());
        assertEquals(raised.fence() + 1, granted(held.resource(), BEN).fence().value());
    }

    @Test
    void aRunIsRefusedItsCompletionAndItsSlotIsTriedAgain() {
        Job job = registeredJob();
        Lease run = running(job, slot(0), ANNA);
        bumped();
        assertEquals(Refusal.STALE_TOKEN, refused(run, success()));
        Lease second = running(job, slot(0), BEN);
        assertEquals(Outcome.ABANDONED, attempt(run).outcome());
        stored(second, success());
        assertEquals(Outcome.SUCCEEDED, outcome(job, slot(0)));
    }

    /** The store that is lost may have known it, and its sinks still do. */
    @Test
    void whatIsNewBeginsAboveTheFloor() {
        long fence = bumped().fence();
        assertEquals(fence + 1, granted(newName(), ANNA).fence().value());
        assertEquals(fence + 1, claimed(newItem()).fence());
    }

    @Test
    void anItemIsTakenFromItsHolderAndMayBeClaimedAtOnce() {
        WorkItem held = claimed(newItem());
        long fence = bumped().fence();
        WorkAnswer late = store().complete(grant(held), null);
        assertEquals(
                Refusal.STALE_TOKEN,
                assertInstanceOf(WorkAnswer.Refused.class, late).reason());
        assertEquals(fence + 1, claimed(held.id()).fence());
    }

    @Test
    void anItemThatHasEndedKeepsItsTokenAndComesBackAboveTheFloor() {
        WorkItem done = claimed(newItem());
        store().complete(grant(done), null);
        long fence = bumped().fence();
        assertEquals(WorkState.DONE, store().item(done.id()).state());
        pass(Duration.ofDays(1));
        store().prune(store().now(), 1_000);
        store().enqueue(new NewItem(done.id(), done.id(), null, 0, null, 5));
        assertEquals(fence + 1, claimed(done.id()).fence());
    }

    @Test
    void whatWasToBeSentMayHaveBeenSent() {
        Pair pair = OutboxContract.newPair();
        String key = announced(pair);
        int effects = bumped().effects();
        assertTrue(effects > 0);
        assertEquals(EffectState.UNKNOWN, store().effect(key).state());
        assertEquals(store().now(), store().next(pair).lastSentAt());
    }

    /** What a sink has said when it refused counts too. */
    @Test
    void theHighestTokenKnownIsThatOfSinksToo() {
        Pair pair = OutboxContract.newPair();
        String key = announced(pair);
        long before = tokens().known().highest();
        site().sql(
                        "insert into write_event (at, resource, owner, fence, accepted, reason, effect, newest_fence) values ("
                                + site().literal(store().now()) + ", '" + pair.resource() + "', 'o', 1, not "
                                + site().value("select 1 = 1").replace("t", "true") + ", 'STALE_TOKEN', '" + key + "', "
                                + (before + 70) + ")");
        assertEquals(before + 70, tokens().known().highest());
    }

    @Test
    void oneEventTellsOfIt() {
        long fence = bumped().fence();
        JobEvent event = store().jobEvents(null, 1).getFirst();
        assertEquals(
                List.of(JobEvent.Kind.BUMPED, fence, "put back", "me@host"),
                List.of(event.kind(), event.fence(), event.reason(), event.by()));
    }

    @Test
    void tokensNeverFall() {
        Lease held = granted(newName(), ANNA);
        long highest = tokens().known().highest();
        for (long fence : new long[] {0, 1, highest, Tokens.HIGHEST + 1}) {
            assertThrows(IllegalArgumentException.class, () -> tokens().raise(fence, "no", "me"));
        }
        assertInstanceOf(Claim.Held.class, store().claim(held.resource(), BEN, newRun(), TTL));
        assertEquals(highest, tokens().known().highest());
    }

    @Test
    void whatOnlyANewerProgramKnowsIsShownAsThat() {
        site().sql("insert into job_event (at, kind, ordered_by) values (" + site().literal(store().now())
                + ", 'TELEPORTED', 'me')");
        assertEquals(JobEvent.Kind.OTHER, store().jobEvents(null, 1).getFirst().kind());
    }
}
