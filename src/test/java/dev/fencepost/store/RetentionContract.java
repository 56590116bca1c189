package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Nodes.State;
import dev.fencepost.run.Orders.Answer;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause.Cause;
import dev.fencepost.run.Retention;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

/** Clean-up of what is long past. */
abstract class RetentionContract extends Contract {

    private static final int MANY = Retention.MOST_AT_ONCE;
    private static final Duration LONG = Duration.ofDays(90);

    private Instant longAgo() {
        return store().now().minus(LONG);
    }

    /** So many slots of the calendar, a minute apart, each ended so at its own instant; oldest first. */
    private List<Slot> ended(Job job, int count, Outcome outcome) {
        List<Slot> slots = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            pass(Duration.ofMinutes(1));
            Slot slot = slot(0);
            stored(running(job, slot, ANNA), new Completion(outcome, true, true, 1, null, null, null, null));
            slots.add(slot);
        }
        return slots;
    }

    private List<String> keys(Job job) {
        return site()
                .rows("select slot_key from tick where job = '" + job.id() + "' order by slot_at, slot_key")
                .stream()
                .map(List::getFirst)
                .toList();
    }

    private int attempts(Job job) {
        return site().count("attempt where job = '" + job.id() + "'");
    }

    private static List<String> keysOf(List<Slot> slots) {
        return slots.stream().map(Slot::key).toList();
    }

    @Test
    void whatEndedBeforeGoesOldestFirstWithItsAttempts() {
        Job job = registeredJob();
        List<Slot> slots = ended(job, 5, Outcome.FAILED);
        Instant third = store().now().minus(Duration.ofMinutes(2));
        assertEquals(1, store().pruneTicks(job.id(), third, MANY, 1));
        assertEquals(keysOf(slots.subList(1, 5)), keys(job));
        assertEquals(1, store().pruneTicks(job.id(), third, MANY, MANY), "the third ended at that instant and stays");
        assertEquals(keysOf(slots.subList(2, 5)), keys(job));
        assertEquals(3, attempts(job));
        assertEquals(0, store().pruneTicks(job.id(), third, MANY, MANY));
    }

    @Test
    void whatIsBeyondTheNewestSoManyGoes() {
        Job job = registeredJob();
        List<Slot> slots = ended(job, 6, Outcome.FAILED);
        assertEquals(2, store().pruneTicks(job.id(), longAgo(), 3, 2));
        assertEquals(1, store().pruneTicks(job.id(), longAgo(), 3, 2));
        assertEquals(keysOf(slots.subList(3, 6)), keys(job));
        assertEquals(0, store().pruneTicks(job.id(), longAgo(), 3, 2));
    }

    @Test
    void theLaterOfTheTwoLimitsCounts() {
        Job job = registeredJob();
        List<Slot> slots = ended(job, 6, Outcome.FAILED);
        assertEquals(5, store().pruneTicks(job.id(), store().now(), 5, MANY));
        assertEquals(keysOf(slots.subList(5, 6)), keys(job));
    }

    @Test
    void ticksThatEndedTogetherAreCountedOneByOne() {
        Job job = registeredJob();
        List<Slot> slots = List.of(slot(-3), slot(-2), slot(-1));
        slots.forEach(slot -> stored(running(job, slot, ANNA), failure("x")));
        assertEquals(1, store().pruneTicks(job.id(), longAgo(), 2, MANY));
        assertEquals(keysOf(slots.subList(1, 3)), keys(job));
    }

    @Test
    void theNewestTickAndTheNewestSuccessStay() {
        Job job = registeredJob();
        List<Slot> slots = new ArrayList<>(ended(job, 1, Outcome.FAILED));
        slots.addAll(ended(job, 2, Outcome.SUCCEEDED));
        slots.addAll(ended(job, 3, Outcome.FAILED));
        pass(LONG.multipliedBy(2));
        assertEquals(4, store().pruneTicks(job.id(), store().now(), MANY, MANY));
        assertEquals(List.of(slots.get(2).key(), slots.get(5).key()), keys(job));
    }

    @Test
    void anOlderSlotThatSucceededLastStaysToo() {
        Job job = registeredJob();
        List<Slot> slots = new ArrayList<>(ended(job, 1, Outcome.FAILED));
        slots.addAll(ended(job, 1, Outcome.SUCCEEDED));
        slots.addAll(ended(job, 1, Outcome.FAILED));
        store().trigger(job.id(), slots.subList(0, 1), false, null, "me@here");
        stored(running(job, slots.getFirst(), ANNA), success());
        pass(LONG.multipliedBy(2));
        assertEquals(0, store().pruneTicks(job.id(), store().now(), MANY, MANY));
        assertEquals(keysOf(slots), keys(job));
    }

    @Test
    void whatIsOpenOrRunsStays() {
        Job job = registeredJob();
        Slot waiting = slot(-9);
        applied(job, opening(store().now(), waiting));
        Slot dead = slot(-8);
        Lease lease = running(job, dead, ANNA);
        passToTheEndOf(lease);
        store().cancel(job.id(), null, "me@here"); // ends both ticks, the attempt of the dead one has no end
        assertEquals(Outcome.CANCELLED, outcome(job, dead));
        assertEquals(List.of(Answer.DONE), store().trigger(job.id(), List.of(waiting), false, null, "me@here"));
        ended(job, 1, Outcome.SUCCEEDED); // which writes the end of that attempt
        Slot running = slot(1);
        running(job, running, BEN);
        site().sql("update tick set outcome = 'CANCELLED', ended_at = opened_at where job = '" + job.id()
                + "' and slot_key = '" + running.key() + "'");
        ended(registeredJob(), 1, Outcome.FAILED);
        pass(LONG);
        site().sql("insert into tick (job, slot_key, slot_at, on_time, opened_at) select job, 'manual:x', "
                + site().literal(store().now()) + ", on_time, opened_at from tick where job = '" + job.id()
                + "' and slot_key = '" + running.key() + "'");

        assertEquals(1, store().pruneTicks(job.id(), store().now(), 1, MANY));

        assertEquals(4, keys(job).size(), keys(job).toString());
        assertNull(outcome(job, waiting));
        assertEquals(Outcome.CANCELLED, outcome(job, running));
    }

    @Test
    void leasesAndCursorsStay() {
        Job job = registeredJob();
        ended(job, 3, Outcome.FAILED);
        pass(LONG);
        String lease = site().rows("select * from lease where resource = '" + job.id() + "'")
                .toString();
        Instant cursor = cursor(job);
        assertEquals(2, store().pruneTicks(job.id(), store().now(), 1, MANY));
        assertEquals(
                lease,
                site().rows("select * from lease where resource = '" + job.id() + "'")
                        .toString());
        assertEquals(cursor, cursor(job));
        assertEquals(4, running(job, slot(0), ANNA).fence().value());
    }

    private void effect(Job job, Slot slot, String key, String settledAt, boolean waits) {
        site().sql(
                        "insert into effect (key, job, slot_key, name, sink, resource, pair, fence, run_id, digest, announced_at,"
                                + " expires_at, max_age_ms, state, waits, changed_at, written_at, settled_at, size) select '"
                                + key + "', '"
                                + job.id() + "', '" + slot.key() + "', 'e', 's', '" + job.id() + "', 'sink:s:"
                                + job.id()
                                + "', 1, 'r', 'd', at, at, 1, 'PENDING', " + (waits ? "true" : "false") + ", at, at, "
                                + settledAt
                                + ", 1 from (select " + site().literal(store().now()) + " as at) x");
        site().sql("insert into effect_content (key, content) select '" + key + "', content from (select "
                + "result as content from attempt where result is not null union all select cast('x' as "
                + (site() instanceof PostgresSite ? "bytea" : "blob") + ")) y limit 1");
        site().sql("insert into sink_fence (pair, sink, resource, fence, run_id) values ('sink:s:" + job.id()
                + "', 's', '" + job.id() + "', 1, 'r') on conflict do nothing");
    }

    @Test
    void aTickWithAnUnsettledEffectStays() {
        Job job = registeredJob();
        List<Slot> slots = ended(job, 5, Outcome.FAILED);
        String settled = site().literal(store().now());
        effect(job, slots.get(0), newName(), "null", false);
        effect(job, slots.get(1), newName(), settled, true);
        effect(job, slots.get(2), newName(), settled, false);
        pass(LONG);
        assertEquals(2, store().pruneTicks(job.id(), store().now(), 1, MANY));
        assertEquals(keysOf(List.of(slots.get(0), slots.get(1), slots.get(4))), keys(job));
    }

    @Test
    void settledEffectsGoWithTheirContent() {
        Job job = registeredJob();
        List<Slot> slots = ended(job, 1, Outcome.SUCCEEDED);
        // Behind those of other tests.
        while (store().pruneEffects(store().now().plusSeconds(1), MANY) == MANY) {}
        String settled = site().literal(store().now());
        String[] keys = {"it's, \"quoted\"".replace("'", "''") + newName(), newName(), newName(), newName()};
        effect(job, slots.getFirst(), keys[0], settled, false);
        effect(job, slots.getFirst(), keys[1], settled, false);
        effect(job, slots.getFirst(), keys[2], "null", false);
        effect(job, slots.getFirst(), keys[3], settled, true);
        assertEquals(0, store().pruneEffects(store().now(), MANY), "settled at that very instant");
        pass(Duration.ofSeconds(1));
        assertEquals(1, store().pruneEffects(store().now(), 1));
        assertEquals(1, store().pruneEffects(store().now(), MANY));
        assertEquals(0, store().pruneEffects(store().now(), MANY));
        assertEquals(2, site().count("effect where job = '" + job.id() + "'"));
        assertEquals(
                2,
                site().count("effect_content c where exists (select 1 from effect e where e.key = c.key and e.job = '"
                        + job.id() + "')"));
        assertEquals(0, site().count("effect_content where key like 'it''s%'"));
        assertEquals(1, site().count("sink_fence where resource = '" + job.id() + "'"));
    }

    @Test
    void oldEventsAndDeadNodesGo() {
        while (store().pruneEvents(store().now().plusSeconds(1), MANY) == MANY) {}
        Job job = registeredJob();
        ended(job, 2, Outcome.SUCCEEDED);
        State state = new State("h", "1", "f", "x", null);
        Owner dead = new Owner(newName());
        Owner stopped = new Owner(newName());
        Owner living = new Owner(newName());
        store().seen(dead, state);
        store().seen(stopped, state);
        store().stopped(stopped);
        store().seen(living, state);
        store().pause(job.id(), null, Cause.PERSON, null, "me@here");
        pass(LONG);
        store().seen(living, state);
        store().resume(job.id(), null, "me@here");
        // 2 writes, and the jobs' registration, and the pause; the two nodes that are gone.
        int registered = site().count("job_event where kind in ('REGISTERED', 'RETIRED')");
        assertEquals(2, store().pruneEvents(store().now(), 2));
        assertEquals(registered + 3, store().pruneEvents(store().now(), MANY));
        assertEquals(0, store().pruneEvents(store().now(), MANY));
        assertEquals(0, site().count("write_event"));
        assertEquals(1, store().jobEvents(null, MANY).size());
        assertEquals(
                List.of(living),
                store().nodes(10).stream().map(node -> node.owner()).toList());
        pass(Duration.ofSeconds(40));
        store().pruneEvents(store().now(), MANY);
        assertEquals(1, store().nodes(10).size(), "it may be alive");
    }

    @Test
    void limitsAreChecked() {
        Job job = registeredJob();
        Instant now = store().now();
        for (int limit : new int[] {0, -1, MANY + 1}) {
            assertThrows(IllegalArgumentException.class, () -> store().pruneTicks(job.id(), now, 1, limit));
            assertThrows(IllegalArgumentException.class, () -> store().pruneEvents(now, limit));
            assertThrows(IllegalArgumentException.class, () -> store().pruneEffects(now, limit));
        }
        assertThrows(IllegalArgumentException.class, () -> store().pruneTicks(job.id(), now, 0, 1));
    }

    /** A slot that a person has opened again keeps its row, or gets a new one; it is never opened and gone. */
    @Test
    void aSlotThatIsOpenedAgainIsNotLost() throws Exception {
        for (int round = 0; round < 10; round++) {
            Job job = registeredJob();
            List<Slot> slots = ended(job, 20, Outcome.FAILED);
            List<Slot> again = slots.subList(0, 10);
            Instant now = store().now();
            List<Callable<Object>> calls = List.of(
                    () -> store().pruneTicks(job.id(), now, 1, MANY),
                    () -> site().otherNode().trigger(job.id(), again, false, null, "me@here"));
            atOnce(calls);
            for (Slot slot : again) {
                assertNull(outcome(job, slot));
            }
        }
    }
}
