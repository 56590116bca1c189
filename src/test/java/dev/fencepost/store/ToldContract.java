package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.lease.Lease;
import dev.fencepost.run.Classification;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Told.Change;
import dev.fencepost.run.Told.Last;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What every store has to hold of what notifiers were told: each change once. */
abstract class ToldContract extends Contract {

    /** The end of one more tick. */
    private Lease tick(Job job, Completion completion) {
        pass(Duration.ofSeconds(1));
        Lease lease = running(job, Slot.manual(store().now(), newName()), ANNA);
        stored(lease, completion);
        return lease;
    }

    private Change change(Job job) {
        return store().change(job.id());
    }

    @Test
    void aJobThatNeverFailedHasNothingToTell() {
        Job job = registeredJob();
        assertEquals(Change.NONE, change(job));
        tick(job, success());
        assertEquals(Change.NONE, change(job));
        assertEquals(Change.NONE, store().change("no-such-job"));
    }

    @Test
    void aFailureIsToldOnceAndSoIsTheRecovery() {
        Job job = registeredJob();
        tick(job, success());
        Lease failed = tick(job, failure("exit code 1"));
        Change change = change(job);
        assertEquals(0, change.before());
        assertEquals(1, change.now());
        assertEquals(new Last(failed.slotKey(), Outcome.FAILED, store().now(), 1, null, "exit code 1"), change.last());
        assertEquals(Change.NONE, change(job));
        assertEquals(Change.NONE, site().otherNode().change(job.id()));
        Lease well = tick(job, success());
        Change recovery = change(job);
        assertEquals(1, recovery.before());
        assertEquals(0, recovery.now());
        assertEquals(well.slotKey(), assertNotNull(recovery.last()).slotKey());
        assertEquals(Outcome.SUCCEEDED, assertNotNull(recovery.last()).outcome());
        assertEquals(Change.NONE, change(job));
    }

    @Test
    void failuresInARowAreCountedWhateverLiesBetweenThem() {
        Job job = registeredJob();
        tick(job, failure("one"));
        tick(job, new Completion(Outcome.CANCELLED, true, true, null, null, "by a person", null, null));
        tick(job, new Completion(Outcome.TIMED_OUT, true, true, null, null, "two", null, null));
        assertEquals(2, change(job).now());
        tick(job, failure("three"));
        Change change = change(job);
        assertEquals(2, change.before());
        assertEquals(3, change.now());
        assertFalse(change.isFailureAfter(2));
        assertTrue(change.isFailureAfter(3));
        assertFalse(change.isFailureAfter(4));
        tick(job, success());
        Change recovery = change(job);
        assertTrue(recovery.isRecoveryAfter(3));
        assertFalse(recovery.isRecoveryAfter(4), "who was told of no failure hears of no recovery");
    }

    @Test
    void anAttemptAfterWhichTheSlotIsTriedAgainIsNoFailure() {
        Job job = registeredJob();
        tick(job, notTheLast(Outcome.FAILED));
        assertEquals(Change.NONE, change(job));
    }

    @Test
    void aSlotThatNewerOnesClosedWhileAUsageLimitHeldIsNoFailure() {
        Job job = registeredJob();
        Lease lease = tick(job, failure("usage limit"));
        site().sql("update attempt set classification = 'LIMIT' where run_id = '" + lease.runId() + "'");
        assertEquals(Change.NONE, change(job));
        tick(job, failure("exit code 1"));
        assertEquals(1, change(job).now());
    }

    @Test
    void aNewRowOfFailuresIsToldAlthoughNobodySawTheSuccessBeforeIt() {
        Job job = registeredJob();
        tick(job, failure("one"));
        tick(job, failure("two"));
        assertEquals(2, change(job).now());
        tick(job, success());
        tick(job, failure("again"));
        Change change = change(job);
        assertEquals(0, change.before());
        assertEquals(1, change.now());
    }

    @Test
    void theKindOfTheFailureIsKnown() {
        Job job = registeredJob();
        Lease lease = tick(job, failure("login expired"));
        site().sql("update attempt set classification = 'AUTH' where run_id = '" + lease.runId() + "'");
        assertEquals(Classification.AUTH, assertNotNull(change(job).last()).classification());
    }

    @Test
    void aTickWithoutAnAttemptHasNoNumber() {
        Job job = registeredJob();
        Lease lease = tick(job, failure("x"));
        site().sql("delete from attempt where run_id = '" + lease.runId() + "'");
        Last last = assertNotNull(change(job).last());
        assertEquals(0, last.attempt());
        assertNull(last.classification());
    }

    @Test
    void ofManyWhoLookAtOnceOneTells() throws Exception {
        Job job = registeredJob();
        tick(job, failure("x"));
        List<Change> changes = atOnce(Stream.of(store(), site().otherNode(), store(), site().otherNode())
                .map(each -> (Callable<Change>) () -> each.change(job.id()))
                .toList());
        assertEquals(1, changes.stream().filter(each -> each.now() == 1).count(), changes::toString);
        assertEquals(3, changes.stream().filter(Change.NONE::equals).count(), changes::toString);
    }
}
