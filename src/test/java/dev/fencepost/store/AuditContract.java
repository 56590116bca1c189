package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.jdbc.Audit;
import dev.fencepost.edge.jdbc.Audit.Fault;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.Outbox;
import dev.fencepost.effect.Pair;
import dev.fencepost.effect.Receipt;
import dev.fencepost.effect.Settlement;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.schedule.Slot;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Grant;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** {@code store check}: nothing is found in what the program writes, and each fault that is planted is. */
abstract class AuditContract extends Contract {
    /** Of a run that has ended; gives the key. */
    private String announced(Pair pair) {
        String key = newName();
        Lease run = running(job(pair.resource()), Slot.manual(store().now(), newName()), ANNA);
        stored(run, OutboxContract.announcing(OutboxContract.announcement("http", key, pair, "body of " + key)));
        return key;
    }

    private Audit.Findings findings() {
        return ((JdbcStore) store()).audit().read();
    }

    /** Tests share one database, and each leaves it without a fault. */
    @AfterEach
    void whatIsWrittenHasNoFault() {
        assertEquals(List.of(), findings().faults());
    }

    private Lease succeeded(Job job, int minute) {
        Lease run = running(job, slot(minute), ANNA);
        stored(run, success());
        return run;
    }

    /** Plants a fault, sees it found, and mends it. */
    private void finds(String rule, String resource, String slot, Long fence, String plant, String mend) {
        site().sql(plant);
        try {
            List<Fault> faults = findings().faults();
            assertTrue(
                    faults.stream()
                            .anyMatch(fault -> fault.rule().equals(rule)
                                    && fault.resource().equals(resource)
                                    && (slot == null || slot.equals(fault.slot()))
                                    && (fence == null || fence.equals(fault.fence()))),
                    () -> rule + " of " + resource + " is not among " + faults);
        } finally {
            site().sql(mend);
        }
    }

    private static String of(String table, String job) {
        return table + " where job = '" + job + "'";
    }

    @Test
    void everyKindOfRowIsRead() {
        Job job = registeredJob();
        succeeded(job, 0);
        Lease failed = running(job, slot(1), ANNA);
        stored(failed, failure("no"));
        running(job, slot(2), ANNA);
        announced(OutboxContract.newPair());
        long ticks = findings().checked().get("ticks");
        succeeded(registeredJob(), 0);
        assertEquals(ticks + 1, findings().checked().get("ticks"));
        assertEquals(
                List.of("leases", "ticks", "attempts", "effects", "items"),
                List.copyOf(findings().checked().keySet()));
    }

    @Test
    void aTokenAboveItsLease() {
        Job job = registeredJob();
        Lease run = succeeded(job, 0);
        finds(
                "ATTEMPT_AHEAD",
                job.id(),
                slot(0).key(),
                7L,
                "update attempt set fence = 7 where run_id = '" + run.runId() + "'",
                "update attempt set fence = 1 where run_id = '" + run.runId() + "'");
        finds(
                "EVENT_AHEAD",
                job.id(),
                null,
                8L,
                "update write_event set fence = 8 where run_id = '" + run.runId() + "'",
                "update write_event set fence = 1 where run_id = '" + run.runId() + "'");
    }

    @Test
    void aTokenOfTwoAttemptsAndTwoSuccesses() {
        Job job = registeredJob();
        succeeded(job, 0);
        Lease second = succeeded(job, 1);
        String run = "where run_id = '" + second.runId() + "'";
        finds(
                "TOKEN_TWICE",
                job.id(),
                null,
                1L,
                "update attempt set fence = 1 " + run,
                "update attempt set fence = 2 " + run);
        finds(
                "TWO_SUCCESSES",
                job.id(),
                slot(0).key(),
                2L,
                "update attempt set slot_key = '" + slot(0).key() + "', number = 2 " + run,
                "update attempt set slot_key = '" + slot(1).key() + "', number = 1 " + run);
    }

    @Test
    void outcomesThatContradictEachOther() {
        Job job = registeredJob();
        succeeded(job, 0);
        String key = slot(0).key();
        finds(
                "SUCCESS_NOT_STORED",
                job.id(),
                key,
                1L,
                "update tick set outcome = 'FAILED' where job = '" + job.id() + "'",
                "update tick set outcome = 'SUCCEEDED' where job = '" + job.id() + "'");
        finds(
                "SUCCESS_WITHOUT_ATTEMPT",
                job.id(),
                key,
                null,
                "update attempt set outcome = 'FAILED' where job = '" + job.id() + "'",
                "update attempt set outcome = 'SUCCEEDED' where job = '" + job.id() + "'");
        finds(
                "ATTEMPT_WITHOUT_SLOT",
                job.id(),
                "other",
                1L,
                "update attempt set slot_key = 'other', outcome = 'FAILED' where job = '" + job.id() + "'",
                "update attempt set slot_key = '" + key + "', outcome = 'SUCCEEDED' where job = '" + job.id() + "'");
        String end = site().value("select ended_at from " + of("tick", job.id()));
        finds(
                "HALF_ENDED",
                job.id(),
                key,
                null,
                "update tick set ended_at = null where job = '" + job.id() + "'",
                "update tick set ended_at = '" + end + "' where job = '" + job.id() + "'");
    }

    @Test
    void aSlotThatIsClosedWhileItRuns() {
        Job job = registeredJob();
        Lease run = running(job, slot(0), ANNA);
        String now = site().literal(store().now());
        finds(
                "CLOSED_WHILE_IT_RUNS",
                job.id(),
                slot(0).key(),
                1L,
                "update tick set outcome = 'FAILED', ended_at = " + now + " where job = '" + job.id() + "'",
                "update tick set outcome = null, ended_at = null where job = '" + job.id() + "'");
        stored(run, success());
    }

    @Test
    void aLeaseThatIsHalfHeldAndACursorInTheFuture() {
        Job job = registeredJob();
        Lease run = running(job, slot(0), ANNA);
        finds(
                "HALF_HELD",
                job.id(),
                null,
                1L,
                "update lease set run_id = null where resource = '" + job.id() + "'",
                "update lease set run_id = '" + run.runId() + "' where resource = '" + job.id() + "'");
        String cursor = site().literal(cursor(job));
        finds(
                "CURSOR_AHEAD",
                job.id(),
                null,
                null,
                "update job set cursor_at = " + site().literal(store().now().plus(Duration.ofHours(1)))
                        + " where id = '" + job.id() + "'",
                "update job set cursor_at = " + cursor + " where id = '" + job.id() + "'");
    }

    @Test
    void effectsThatDoNotFit() {
        Pair pair = OutboxContract.newPair();
        String key = announced(pair);
        Lease lease = granted(pair.leaseResource(), BEN);
        Effect effect = assertNotNull(store().next(pair));
        assertEquals(new Outbox.Begun.Sending(), store().begin(lease, effect));
        String where = " where key = '" + key + "'";
        finds(
                "EFFECT_PAST_ITS_SINK",
                pair.resource(),
                key,
                1L,
                "update sink_fence set fence = 0 where pair = '" + pair.leaseResource() + "'",
                "update sink_fence set fence = 1 where pair = '" + pair.leaseResource() + "'");
        finds(
                "SINK_AHEAD",
                pair.resource(),
                null,
                5L,
                "update sink_fence set fence = 5 where pair = '" + pair.leaseResource() + "'",
                "update sink_fence set fence = 1 where pair = '" + pair.leaseResource() + "'");
        finds(
                "EFFECT_AHEAD",
                pair.resource(),
                key,
                9L,
                "update effect set fence = 9" + where,
                "update effect set fence = 1" + where);
        finds(
                "EFFECT_STATE",
                pair.resource(),
                key,
                1L,
                "update effect set state = 'CONFIRMED', receipt = 'r'" + where,
                "update effect set state = 'SENDING', receipt = null" + where);
        finds(
                "EFFECT_WITHOUT_CONTENT",
                pair.resource(),
                key,
                1L,
                "update effect_content set key = 'elsewhere'" + where,
                "update effect_content set key = '" + key + "' where key = 'elsewhere'");
        Settlement confirmed =
                new Settlement(EffectState.CONFIRMED, new Receipt("201"), "taken", null, false, false, null);
        assertTrue(store().sent(lease, effect, confirmed));
        finds(
                "EFFECT_WITHOUT_RECEIPT",
                pair.resource(),
                key,
                1L,
                "update effect set receipt = null" + where,
                "update effect set receipt = '201'" + where);
        String run = site().value("select run_id from effect" + where);
        String end = site().value("select ended_at from attempt where run_id = '" + run + "'");
        finds(
                "EFFECT_BEFORE_ITS_RUN",
                pair.resource(),
                key,
                1L,
                "update attempt set ended_at = null where run_id = '" + run + "'",
                "update attempt set ended_at = '" + end + "' where run_id = '" + run + "'");
    }

    @Test
    void itemsThatDoNotFit() {
        String id = newName();
        store().enqueue(new NewItem(id, id, null, 0, null, 5));
        WorkItem item = assertInstanceOf(WorkAnswer.Done.class, store().claimItem(id, ANNA, newRun(), TTL))
                .item();
        Grant grant = new Grant(id, ANNA, new FencingToken(item.fence()), item.runId());
        store().addArtifact(grant, new Artifact(id, item.fence(), "shot.png", "image/png", 3, "ab", store().now()));
        finds(
                "ARTIFACT_AHEAD",
                "work:" + id,
                null,
                4L,
                "update work_artifact set fence = 4 where item = '" + id + "'",
                "update work_artifact set fence = 1 where item = '" + id + "'");
        finds(
                "ITEM_STATE",
                "work:" + id,
                null,
                1L,
                "update work_item set owner = null where id = '" + id + "'",
                "update work_item set owner = 'anna' where id = '" + id + "'");
        store().complete(grant, null);
        finds(
                "EVENT_AHEAD",
                "work:" + id,
                null,
                3L,
                "update write_event set fence = 3 where resource = 'work:" + id + "'",
                "update write_event set fence = 1 where resource = 'work:" + id + "'");
    }

    @Test
    void aTokenBelowTheFloor() {
        Lease held = granted(newName(), ANNA);
        finds(
                "BELOW_FLOOR",
                held.resource(),
                null,
                1L,
                "update store_floor set fence = 2",
                "update store_floor set fence = 0");
    }

    @Test
    void aRangeAFailureAndADeadHolderAreNoFaults() {
        Job job = registeredJob();
        Lease dead = running(job, slot(0), ANNA);
        passToTheEndOf(dead);
        Lease second = running(job, slot(0), BEN);
        assertEquals(Outcome.ABANDONED, attempt(dead).outcome());
        stored(second, failure("no"));
        store().cancel(job.id(), "enough", "me");
        assertEquals(List.of(), findings().faults());
    }
}
