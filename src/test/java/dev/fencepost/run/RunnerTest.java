package dev.fencepost.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.EffectView;
import dev.fencepost.host.Event;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.run.History.WriteEvent;
import dev.fencepost.run.Publications.Announced;
import dev.fencepost.run.Runner.Result;
import dev.fencepost.run.StopRequest.Reason;
import dev.fencepost.schedule.Overlap;
import dev.fencepost.schedule.Slot;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunnerTest {

    private static final Duration TTL = Duration.ofSeconds(60); // deadline 3 s before the end

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @SuppressWarnings("NullAway.Init")
    private Rig rig;

    private final StopRequest stop = new StopRequest();
    private final Job job = Rig.job("a");

    @BeforeEach
    void open() {
        rig = new Rig(folder);
        rig.real.register(List.of(job));
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private Result run(Job what) throws InterruptedException {
        return rig.runner.run(what, rig.slot(), rig.runner.newRunId(), stop, false, files -> {});
    }

    private Result.Ended ended() throws InterruptedException {
        return assertInstanceOf(Result.Ended.class, run(job));
    }

    private Attempt attempt() {
        return rig.attempts("a").getFirst();
    }

    private void assertReleased() {
        assertNull(Objects.requireNonNull(rig.real.inspect("a")).owner());
    }

    @Test
    void aCommandThatEndsWithZeroSucceedsAndTheLeaseIsGivenBack() throws Exception {
        Result.Ended end = ended();
        assertEquals(Outcome.SUCCEEDED, end.outcome());
        assertEquals(Outcome.SUCCEEDED, attempt().outcome());
        assertReleased();
        assertEquals(1, rig.events(Event.Executed.class).size());
    }

    @Test
    void anotherCodeIsAFailureWithTheCodeAsReason() throws Exception {
        rig.children.life = child -> child.code = 3;
        assertEquals("exit code 3", ended().reason());
        assertEquals(Outcome.FAILED, attempt().outcome());
        assertReleased();
    }

    @Test
    void aCommandThatCannotBeStartedIsAFailedAttempt() throws Exception {
        rig.children.refusal = "no such file: x";
        Result.Ended end = ended();
        assertEquals(Outcome.FAILED, end.outcome());
        assertEquals("could not be started: no such file: x", attempt().reason());
    }

    @Test
    void theTimeoutStopsTheChildWithItsGrace() throws Exception {
        rig.children.life = child -> child.hangs = true;
        Job limited = Rig.job("a", TTL, 2, Duration.ofSeconds(20));
        assertEquals(
                Outcome.TIMED_OUT,
                assertInstanceOf(Result.Ended.class, run(limited)).outcome());
        assertEquals(List.of(Duration.ofSeconds(5)), rig.children.started.getFirst().stops);
        assertEquals(Outcome.TIMED_OUT, attempt().outcome());
    }

    @Test
    void aRefusedRenewalStopsTheChildAndTheAttemptIsLost() throws Exception {
        rig.children.life = child -> {
            rig.real.breakLease("a", "test");
            rig.spawner.keeper();
        };
        assertEquals(Outcome.LEASE_LOST, ended().outcome());
        assertEquals(1, rig.children.started.getFirst().stops.size());
        assertEquals(1, rig.events(Event.LeaseLost.class).size());
        assertEquals(Outcome.CANCELLED, attempt().outcome()); // written by the break, and written once
    }

    @Test
    void aDeadlineThatPassesStopsTheChildAndTheAttemptIsLost() throws Exception {
        rig.children.life = child -> {
            rig.time.pass(TTL.minusSeconds(2));
            rig.lookAtDeadlines();
        };
        assertEquals(Outcome.LEASE_LOST, ended().outcome());
        assertEquals(Outcome.LEASE_LOST, attempt().outcome());
        Duration grace = rig.children.started.getFirst().stops.getFirst();
        assertTrue(grace.compareTo(Duration.ofMillis(1_500)) <= 0, "the grace fits in the margin: " + grace);
        assertReleased();
    }

    /** The store counts from the grant, the holder from before it asked. */
    @Test
    void aClaimThatIsAnsweredLateIsTrustedNoLonger() throws Exception {
        rig.faults.meanwhile("start", () -> rig.time.pass(TTL.minusSeconds(2)));
        assertEquals(Outcome.LEASE_LOST, ended().outcome());
        assertEquals(List.of(), rig.children.started);
    }

    @Test
    void aChildIsNotStartedAfterTheDeadlineOfItsLease() throws Exception {
        rig.folders.preparing = () -> rig.time.pass(TTL); // frozen between the claim and the start
        assertEquals(Outcome.LEASE_LOST, ended().outcome());
        assertEquals(List.of(), rig.children.started);
        assertEquals(Outcome.LEASE_LOST, attempt().outcome());
    }

    @Test
    void aCompletionThatComesTooLateIsRefusedAndTold() throws Exception {
        rig.children.life = child -> rig.time.pass(TTL);
        Result.Ended end = ended();
        assertEquals(Refusal.EXPIRED, end.refused());
        assertEquals(Outcome.LEASE_LOST, end.outcome());
        assertEquals(Outcome.LEASE_LOST, attempt().outcome());
        assertEquals(1, rig.events(Event.StaleTokenRejected.class).size());
        assertEquals(false, rig.real.events(1).getFirst().accepted());
    }

    @Test
    void aCompletionWhoseAnswerWasLostIsReadBackAndCounts() throws Exception {
        rig.faults.after("complete", new StoreException(Kind.AMBIGUOUS, "cut", null));
        Result.Ended end = ended();
        assertNull(end.refused());
        assertEquals(Outcome.SUCCEEDED, end.outcome());
        assertEquals(1, rig.faults.calls("complete"));
        assertEquals(List.of(), rig.events(Event.StaleTokenRejected.class));
    }

    @Test
    void aCompletionThatNeverArrivedIsSentAgain() throws Exception {
        rig.faults.insteadOf("complete", new StoreException(Kind.AMBIGUOUS, "cut", null));
        assertEquals(Outcome.SUCCEEDED, ended().outcome());
        assertEquals(2, rig.faults.calls("complete"));
        assertEquals(Outcome.SUCCEEDED, attempt().outcome());
    }

    /** The completion did not arrive, and when it is looked for the run has been given up for dead. */
    @Test
    void anEndThatSomebodyElseHasWrittenMeanwhileIsNotTakenForOurs() throws Exception {
        rig.faults.insteadOf("complete", new StoreException(Kind.AMBIGUOUS, "cut", null));
        rig.faults.first(
                "attempt",
                () -> rig.real.abandon(
                        Objects.requireNonNull(
                                Objects.requireNonNull(rig.real.inspect("a")).lease()),
                        true));
        assertEquals(Outcome.LEASE_LOST, ended().outcome());
        assertEquals(Outcome.ABANDONED, attempt().outcome());
        assertEquals(Outcome.LEASE_LOST, rig.notices.ended.getLast().outcome(), "what notifiers are told");
    }

    @Test
    void aCompletionThatIsNeverAnsweredDoesNotHoldTheJobForEver() throws Exception {
        for (int i = 0; i < 1_000; i++) {
            rig.faults.insteadOf("complete", new StoreException(Kind.UNAVAILABLE, "too slow", null));
        }
        rig.time.beforeSleep = rig::renewOnce; // for renewals go through, and so the end of the lease moves on and on
        assertEquals(Outcome.LEASE_LOST, ended().outcome());
        assertTrue(rig.faults.calls("renew") > 0);
        assertReleased();
    }

    @Test
    void aClaimWhoseAnswerWasLostIsFoundByItsRunIdAndNotDoubled() throws Exception {
        rig.faults.after("start", new StoreException(Kind.AMBIGUOUS, "cut", null));
        assertEquals(Outcome.SUCCEEDED, ended().outcome());
        assertEquals(1, rig.attempts("a").size());
        assertEquals(1, attempt().fence().value());
    }

    @Test
    void aClaimThatIsNeverAnsweredStartsNothing() throws Exception {
        for (int i = 0; i < 1_000; i++) {
            rig.faults.insteadOf("start", new StoreException(Kind.UNAVAILABLE, "away", null));
        }
        assertInstanceOf(Result.NoAnswer.class, run(job));
        assertEquals(List.of(), rig.children.started);
        assertTrue(rig.faults.calls("start") < 30, "no hot loop");
    }

    @Test
    void aShutdownEndsTheWaitForAClaim() throws Exception {
        for (int i = 0; i < 1_000; i++) {
            rig.faults.insteadOf("start", new StoreException(Kind.UNAVAILABLE, "away", null));
        }
        stop.request(Reason.SHUTDOWN, "shutdown", Duration.ZERO);
        assertInstanceOf(Result.NoAnswer.class, run(job));
        assertEquals(1, rig.faults.calls("start"));
    }

    @Test
    void aShutdownStillLooksForAClaimThatMayHaveBeenGranted() throws Exception {
        rig.faults.after("start", new StoreException(Kind.AMBIGUOUS, "cut", null));
        stop.request(Reason.SHUTDOWN, "shutdown", Duration.ZERO);
        assertEquals(Outcome.ABANDONED, ended().outcome());
        assertReleased();
        assertEquals(List.of(), rig.children.started);
    }

    @Test
    void aShutdownLeavesTheTickOpenAndDoesNotCount() throws Exception {
        for (int i = 0; i < 5; i++) { // more often than max-attempts
            StopRequest each = new StopRequest();
            rig.children.life = child -> each.request(Reason.SHUTDOWN, "shutdown", Duration.ofSeconds(5));
            Result result = rig.runner.run(job, rig.slot(), rig.runner.newRunId(), each, false, files -> {});
            assertEquals(
                    Outcome.ABANDONED,
                    assertInstanceOf(Result.Ended.class, result).outcome());
        }
        assertReleased();
        rig.children.life = child -> {};
        assertEquals(Outcome.SUCCEEDED, ended().outcome());
        assertEquals(6, attempt().number());
    }

    @Test
    void aRunThatIsStoppedBeforeItsClaimWasAnsweredStartsNoChild() throws Exception {
        stop.request(Reason.CANCEL, "Ctrl-C", Duration.ZERO);
        assertEquals(Outcome.CANCELLED, ended().outcome());
        assertEquals(List.of(), rig.children.started);
        assertReleased();
    }

    @Test
    void aJobThatIsHeldIsLeftAlone() throws Exception {
        rig.real.start(job, rig.slot(), new Owner("other"), new RunId(new UUID(9, 9)), false);
        assertEquals(
                new Owner("other"),
                assertInstanceOf(Result.Held.class, run(job)).by().owner());
        assertEquals(List.of(), rig.children.started);
    }

    @Test
    void anErrorOfOursLeavesNoChildAlive() {
        assertThrows(
                IllegalStateException.class,
                () -> rig.runner.run(job, rig.slot(), rig.runner.newRunId(), stop, false, files -> {
                    throw new IllegalStateException("ours");
                }));
        assertEquals(List.of(Duration.ZERO), rig.children.started.getFirst().stops);
    }

    private static Announcement announcement(String body) {
        Content content = new Content("text/plain", null, body.getBytes(StandardCharsets.UTF_8));
        return new Announcement(
                "note", "a@1/note", "announce", content, content.digest("announce"), Duration.ofHours(24));
    }

    @Test
    void whatASuccessAnnouncesIsInTheOutboxWithIt() throws Exception {
        rig.publications.announced = new Announced(List.of(announcement("x")), false);
        assertEquals(List.of("a@1/note"), ended().effects());
        EffectView stored = Objects.requireNonNull(rig.real.effect("a@1/note"));
        assertEquals(EffectState.PENDING, stored.state());
        assertEquals(attempt().fence().value(), stored.fence());
        assertEquals("PENDING", rig.events(Event.EffectChanged.class).getFirst().state());
        assertEquals(List.of(false), rig.publications.kept);
    }

    @Test
    void aFailureAnnouncesNothingAndItsWorkIsKept() throws Exception {
        rig.children.life = child -> child.code = 1;
        rig.publications.announced = new Announced(List.of(announcement("x")), false);
        assertEquals(List.of(), ended().effects());
        assertNull(rig.real.effect("a@1/note"));
        assertEquals(List.of(true), rig.publications.kept);
    }

    @Test
    void whatCannotBeAnnouncedFailsTheRunWithTheReason() throws Exception {
        rig.publications.unpublishable = new Publications.Unpublishable("line 3: no such sink", null);
        Result.Ended end = ended();
        assertEquals(Outcome.FAILED, end.outcome());
        assertEquals("line 3: no such sink", end.reason());
        assertEquals(Outcome.FAILED, attempt().outcome());
    }

    @Test
    void nothingToPublishIsASuccessUnlessFilesMustChange() throws Exception {
        rig.publications.announced = new Announced(List.of(), true);
        Result.Ended end = ended();
        assertEquals(Outcome.SUCCEEDED, end.outcome());
        assertEquals(Runner.NOTHING_TO_PUBLISH, end.reason());
        Job strict = new Job(
                "b",
                job.schedule(),
                job.zone(),
                job.action(),
                job.secrets(),
                job.ttl(),
                job.timeout(),
                job.grace(),
                job.catchUp(),
                job.startFrom(),
                job.maxAttempts(),
                job.freshAfter(),
                List.of(),
                new Policies(
                        Overlap.SKIP,
                        Duration.ZERO,
                        Duration.ZERO,
                        null,
                        Policies.Retry.NONE,
                        new Policies.SucceedIf(null, null, false, true),
                        List.of(),
                        Policies.Brakes.NONE),
                List.of());
        rig.real.register(List.of(job, strict));
        Result.Ended failed = assertInstanceOf(Result.Ended.class, run(strict));
        assertEquals(Outcome.FAILED, failed.outcome());
        assertEquals(Runner.NOTHING_TO_PUBLISH, failed.reason());
    }

    @Test
    void aKeyWithOtherContentFailsTheRunAndNamesBoth() throws Exception {
        rig.publications.announced = new Announced(List.of(announcement("x")), false);
        ended();
        rig.publications.announced = new Announced(List.of(announcement("y")), false);
        rig.time.pass(Duration.ofSeconds(10));
        Result.Ended end = assertInstanceOf(
                Result.Ended.class,
                rig.runner.run(
                        job,
                        Slot.at(rig.time.wallClock()),
                        rig.runner.newRunId(),
                        new StopRequest(),
                        false,
                        files -> {}));
        assertEquals(Outcome.FAILED, end.outcome());
        String reason = String.valueOf(end.reason());
        assertTrue(reason.contains("a@1/note") && reason.contains(rig.slot().key()), reason);
        assertEquals(List.of(), end.effects());
        assertReleased();
    }

    @Test
    void theEffectsOfARefusedCompletionAreRecordedWithBothTokens() throws Exception {
        rig.publications.announced = new Announced(List.of(announcement("x")), false);
        rig.children.life = child -> {
            rig.real.breakLease("a", "a person");
            child.code = 0;
        };
        assertInstanceOf(Result.Ended.class, run(job));
        assertNull(rig.real.effect("a@1/note"));
        WriteEvent refused = rig.real.events(10).stream()
                .filter(event -> "a@1/note".equals(event.effect()))
                .findFirst()
                .orElseThrow();
        assertEquals(1, refused.fence());
        assertEquals(2L, refused.newestFence());
        assertEquals(List.of(true), rig.publications.kept);
    }

    @Test
    void theEffectsOfALostRunAreRecordedToo() throws Exception {
        rig.publications.keys = List.of("a@1/git");
        rig.children.life = child -> {
            rig.time.pass(TTL.minusSeconds(2));
            rig.lookAtDeadlines();
        };
        Result.Ended end = ended();
        assertEquals(Outcome.LEASE_LOST, end.outcome());
        assertEquals(
                List.of("a@1/git"),
                rig.real.events(10).stream()
                        .map(WriteEvent::effect)
                        .filter(Objects::nonNull)
                        .toList());
    }
}
