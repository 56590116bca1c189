package dev.fencepost.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.host.Event;
import dev.fencepost.lease.Refusal;
import dev.fencepost.run.Policies.Retry;
import dev.fencepost.run.Policies.SucceedIf;
import dev.fencepost.run.Publications.Announced;
import dev.fencepost.run.Runner.Result;
import dev.fencepost.run.StopRequest.Reason;
import dev.fencepost.schedule.Backlog.OpenTick;
import dev.fencepost.schedule.Slot;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the policies of a job make of one run: silence, succeed-if, classify, retry. */
class RunnerPoliciesTest {

    private static final Duration MINUTE = Duration.ofMinutes(1);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @SuppressWarnings("NullAway.Init")
    private Rig rig;

    private final Job plain = Rig.job("a");

    @BeforeEach
    void open() {
        rig = new Rig(folder);
        rig.real.register(List.of(plain));
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private Result.Ended run(Policies policies) throws InterruptedException {
        return run(policies, rig.slot());
    }

    private Result.Ended run(Policies policies, Slot slot) throws InterruptedException {
        Result result = rig.runner.run(
                Rig.with(plain, policies), slot, rig.runner.newRunId(), new StopRequest(), false, files -> {});
        return assertInstanceOf(Result.Ended.class, result, result.toString());
    }

    private Attempt attempt() {
        return rig.attempts("a").getFirst();
    }

    private List<OpenTick> openTicks() {
        return Objects.requireNonNull(rig.real.situation("a")).backlog().open();
    }

    private void exits(int code) {
        rig.children.life = child -> child.code = code;
    }

    private static Retry retry(int max) {
        return new Retry(max, MINUTE, Set.of(), false);
    }

    // silence

    @Test
    void aCommandThatSaysNothingForTooLongIsStopped() throws Exception {
        rig.children.life = child -> child.hangs = true;
        Result.Ended end = run(PolicyKit.silence(Duration.ofSeconds(50)));
        assertEquals(Outcome.TIMED_OUT, end.outcome());
        assertEquals("no output for 50s", end.reason());
        assertEquals(List.of(Duration.ofSeconds(5)), rig.children.started.getFirst().stops);
    }

    @Test
    void silenceIsCountedFromTheLastOutput() throws Exception {
        Duration silence = Duration.ofSeconds(20);
        rig.children.life = child -> {
            child.hangs = true;
            child.talks = true;
            rig.time.beforeSleep = () -> {};
        };
        Job job = new Job(
                "a",
                plain.schedule(),
                plain.zone(),
                plain.action(),
                Set.of(),
                Duration.ofHours(1),
                Duration.ofSeconds(90),
                plain.grace(),
                plain.catchUp(),
                null,
                2,
                null,
                List.of(),
                PolicyKit.silence(silence),
                List.of());
        Result result = rig.runner.run(job, rig.slot(), rig.runner.newRunId(), new StopRequest(), false, files -> {});
        assertEquals(
                "timeout of 1m30s passed",
                assertInstanceOf(Result.Ended.class, result).reason(),
                "it was never silent, so only the timeout ends it");
    }

    // succeed-if

    @Test
    void aLineThatMustNotBeThereFailsTheRunAndIsNamed() throws Exception {
        rig.folders.output = List.of("hello", "Please run /login to go on", "bye");
        rig.publications.announced = new Announced(List.of(announcement()), false);
        SucceedIf rules = new SucceedIf(null, new Expression("(?i)please run /login"), false, false);
        Result.Ended end = run(PolicyKit.succeedIf(rules));
        assertEquals(Outcome.FAILED, end.outcome());
        assertEquals(
                "succeed-if: output-not-matches \"(?i)please run /login\" is in the output:"
                        + " \"Please run /login to go on\"",
                end.reason());
        assertEquals(List.of(), end.effects());
        assertNull(rig.real.effect("a@1/note"));
        assertEquals(0, Objects.requireNonNull(end.exit()).code());
    }

    @Test
    void theLineInAReasonIsShortAndHarmless() throws Exception {
        rig.folders.output = List.of("\u001b]0;title\u0007 bad " + "x".repeat(184) + "\ud83d\ude00 and so on");
        SucceedIf rules = new SucceedIf(null, new Expression("bad"), false, false);
        String reason = String.valueOf(run(PolicyKit.succeedIf(rules)).reason());
        assertTrue(reason.contains("\ufffd]0;title\ufffd bad"), reason);
        assertTrue(reason.chars().noneMatch(c -> c < ' ' || Character.isSurrogate((char) c)), reason);
        assertTrue(reason.endsWith("x…\""), reason);
    }

    @Test
    void aLineThatMustBeThere() throws Exception {
        SucceedIf rules = new SucceedIf(new Expression("^published \\d+$"), null, false, false);
        rig.folders.output = List.of("published nothing");
        Result.Ended end = run(PolicyKit.succeedIf(rules));
        assertEquals(Outcome.FAILED, end.outcome());
        assertTrue(String.valueOf(end.reason()).contains("output-matches \"^published"), end.reason());
        rig.folders.output = List.of("x", "published 3");
        rig.time.pass(Duration.ofSeconds(10));
        assertEquals(
                Outcome.SUCCEEDED,
                run(PolicyKit.succeedIf(rules), Slot.at(rig.time.wallClock())).outcome());
    }

    @Test
    void aResultOfWhiteSpaceIsNoResult() throws Exception {
        SucceedIf rules = new SucceedIf(null, null, true, false);
        rig.folders.result = " \n\t\n".getBytes(StandardCharsets.UTF_8);
        assertEquals(
                "succeed-if: the result is empty",
                run(PolicyKit.succeedIf(rules)).reason());
        rig.time.pass(Duration.ofSeconds(10));
        rig.folders.result = "x".getBytes(StandardCharsets.UTF_8);
        assertEquals(
                Outcome.SUCCEEDED,
                run(PolicyKit.succeedIf(rules), Slot.at(rig.time.wallClock())).outcome());
    }

    @Test
    void aFailureByExitCodeKeepsItsOwnReason() throws Exception {
        exits(3);
        assertEquals(
                "exit code 3",
                run(PolicyKit.succeedIf(new SucceedIf(null, null, true, false))).reason());
    }

    private static Announcement announcement() {
        Content content = new Content("text/plain", null, "x".getBytes(StandardCharsets.UTF_8));
        return new Announcement(
                "note", "a@1/note", "announce", content, content.digest("announce"), Duration.ofHours(24));
    }

    // retry

    @Test
    void aFailureWithTriesLeftLeavesTheTickOpenUntilItsTime() throws Exception {
        exits(1);
        Result.Ended end = run(PolicyKit.retry(retry(3)));
        assertEquals(Outcome.FAILED, end.outcome());
        Instant then = Rig.START.plus(MINUTE);
        assertEquals("exit code 1; try 2 of 4 at 2026-03-01T12:01:00Z", end.reason());
        assertEquals(List.of(new OpenTick(rig.slot(), false, 1, 1, false, then, false)), openTicks());
        Result early = rig.runner.run(
                Rig.with(plain, PolicyKit.retry(retry(3))),
                rig.slot(),
                rig.runner.newRunId(),
                new StopRequest(),
                false,
                files -> {});
        assertEquals(new Result.Closed(Refusal.ALREADY_DONE), early, "not before its time");
        assertEquals(1, rig.children.started.size());
    }

    @Test
    void theDistanceOfTriesDoublesAndTheLastOneIsTheOutcome() throws Exception {
        exits(1);
        for (Duration wait : List.of(MINUTE, MINUTE.multipliedBy(2), MINUTE.multipliedBy(4))) {
            run(PolicyKit.retry(retry(3)));
            assertEquals(rig.time.wallClock().plus(wait), openTicks().getFirst().notBefore());
            rig.time.pass(wait);
        }
        assertEquals("exit code 1", run(PolicyKit.retry(retry(3))).reason());
        assertEquals(List.of(), openTicks());
        assertEquals(4, attempt().number());
    }

    @Test
    void aTimeOutIsTriedAgainToo() throws Exception {
        rig.children.life = child -> child.hangs = true;
        Job limited =
                Rig.with(Rig.job("a", Duration.ofSeconds(60), 2, Duration.ofSeconds(20)), PolicyKit.retry(retry(1)));
        rig.runner.run(limited, rig.slot(), rig.runner.newRunId(), new StopRequest(), false, files -> {});
        assertEquals(1, openTicks().size());
        assertEquals(Outcome.TIMED_OUT, attempt().outcome());
    }

    @Test
    void onlyTheNamedExitCodesAreTriedAgain() throws Exception {
        Policies policies = PolicyKit.retry(new Retry(2, MINUTE, Set.of(75), false));
        exits(1);
        run(policies);
        assertEquals(List.of(), openTicks());
        rig.time.pass(Duration.ofSeconds(10));
        exits(75);
        run(policies, Slot.at(rig.time.wallClock()));
        assertEquals(1, openTicks().size());
    }

    @Test
    void onlyWhatIsTransientIsTriedAgainWhereTheJobSaysSo() throws Exception {
        Policies policies = PolicyKit.retry(
                new Retry(2, MINUTE, Set.of(), true), PolicyKit.rule(Classification.TRANSIENT, "overloaded"));
        exits(1);
        run(policies);
        assertEquals(List.of(), openTicks());
        rig.time.pass(Duration.ofSeconds(10));
        rig.folders.output = List.of("529 overloaded");
        Result.Ended end = run(policies, Slot.at(rig.time.wallClock()));
        assertEquals(1, openTicks().size());
        assertEquals(Classification.TRANSIENT, attempt().classification());
        assertTrue(
                String.valueOf(end.reason()).startsWith("exit code 1: \"529 overloaded\"; try 2 of 3"), end.reason());
    }

    @Test
    void forAPersonWhoWaitsThereIsNoFurtherTry() throws Exception {
        exits(1);
        Result result = rig.runner.runOnce(
                Rig.with(plain, PolicyKit.retry(retry(3))),
                rig.slot(),
                rig.runner.newRunId(),
                new StopRequest(),
                false,
                files -> {});
        assertEquals("exit code 1", assertInstanceOf(Result.Ended.class, result).reason());
        assertEquals(List.of(), openTicks());
    }

    @Test
    void aRunThatCouldNotBeStartedIsTriedAgain() throws Exception {
        rig.children.refusal = "no more processes";
        run(PolicyKit.retry(retry(1)));
        assertEquals(1, openTicks().size());
    }

    // classify

    @Test
    void theFirstRuleThatFitsDecides() throws Exception {
        exits(9);
        rig.folders.output = List.of("rate limit", "login expired");
        run(PolicyKit.retry(
                retry(3),
                PolicyKit.rule(Classification.AUTH, "login expired"),
                PolicyKit.rule(Classification.LIMIT, "rate limit")));
        assertEquals(Classification.AUTH, attempt().classification());
        assertEquals("exit code 9: \"login expired\"", attempt().reason());
        assertEquals(List.of(), openTicks(), "no further run can succeed");
    }

    @Test
    void aSuccessIsNeverClassified() throws Exception {
        rig.folders.output = List.of("login expired");
        run(PolicyKit.retry(Retry.NONE, PolicyKit.rule(Classification.AUTH, "login expired")));
        assertEquals(Outcome.SUCCEEDED, attempt().outcome());
        assertNull(attempt().classification());
    }

    @Test
    void anExitCodeTellsTheKindWithoutOutput() throws Exception {
        exits(77);
        run(PolicyKit.retry(Retry.NONE, PolicyKit.rule(Classification.AUTH, 77)));
        assertEquals(Classification.AUTH, attempt().classification());
        assertEquals("exit code 77", attempt().reason());
    }

    @Test
    void aUsageLimitDefersTheJobAndCountsForNothing() throws Exception {
        exits(1);
        rig.folders.output = List.of("limit reached, resets at 2026-03-01T15:00:00Z", "limit reached, resets at soon");
        Policies policies = PolicyKit.retry(
                retry(1), PolicyKit.rule(Classification.LIMIT, "limit reached, resets at (?<until>\\S+)"));
        for (int i = 0; i < 4; i++) { // more often than max-attempts
            run(policies);
        }
        assertEquals(List.of(new OpenTick(rig.slot(), false, 4, 0, false)), openTicks());
        assertEquals(Classification.LIMIT, attempt().classification());
        assertEquals(Outcome.FAILED, attempt().outcome());
        Ticks.Situation situation = Objects.requireNonNull(rig.real.situation("a"));
        assertEquals(Rig.START.plus(Duration.ofHours(1)), situation.deferUntil(), "the last line tells no time");
        assertEquals("DEFERRED", rig.events(Event.Executed.class).getFirst().outcome());
        assertTrue(rig.events(Event.Executed.class).stream().noneMatch(Event.Executed::failure));
        assertEquals(4, rig.events(Event.JobDeferred.class).size());
        assertTrue(rig.notices.ended.stream().allMatch(Completion::isDeferred));
    }

    @Test
    void theTimeThatTheOutputTellsIsTaken() throws Exception {
        exits(1);
        Policies policies =
                PolicyKit.retry(Retry.NONE, PolicyKit.rule(Classification.LIMIT, "resets at (?<until>\\S+)"));
        List<List<String>> told = List.of(
                List.of("2026-03-01T15:00:00Z", "2026-03-01T15:00:00Z"),
                List.of("2026-03-01T16:00:00+01:00", "2026-03-01T15:00:00Z"),
                List.of("1772377200", "2026-03-01T15:00:00Z"),
                List.of("2026-03-01T11:00:00Z", "2026-03-01T13:00:00.500Z"), // past
                List.of("2036-03-01T11:00:00Z", "2026-03-01T13:00:00.500Z"), // a misreading
                List.of("99999999999999999", "2026-03-01T13:00:00.500Z"));
        for (List<String> each : told) {
            rig.folders.output = List.of("resets at " + each.getFirst());
            run(policies);
            assertEquals(
                    Instant.parse(each.getLast()),
                    Objects.requireNonNull(rig.real.situation("a")).deferUntil(),
                    each.getFirst());
        }
    }

    @Test
    void anOrderedRunThatMeetsALimitWaitsForItsEnd() throws Exception {
        exits(1);
        rig.folders.output = List.of("limit");
        Slot manual = Slot.manual(Rig.START, "x");
        rig.real.trigger("a", List.of(manual), false, null, "ann");
        run(PolicyKit.retry(Retry.NONE, PolicyKit.rule(Classification.LIMIT, "limit")), manual);
        assertEquals(Rig.START.plus(Duration.ofHours(1)), openTicks().getFirst().notBefore());
    }

    // effects and notices

    @Test
    void anOrderWithoutEffectsAnnouncesNothing() throws Exception {
        rig.publications.announced = new Announced(List.of(announcement()), false);
        Slot manual = Slot.manual(Rig.START, "x");
        rig.real.trigger("a", List.of(manual), true, null, "ann");
        Result.Ended end = run(Policies.DEFAULT, manual);
        assertEquals(Outcome.SUCCEEDED, end.outcome());
        assertEquals("1 effects are thrown away, as ordered", end.reason());
        assertNull(rig.real.effect("a@1/note"));
    }

    @Test
    void notifiersAreToldOfStartAndStoredEnd() throws Exception {
        run(Policies.DEFAULT);
        assertEquals(List.of("2026-03-01T12:00:00Z 1"), rig.notices.started);
        assertEquals(Outcome.SUCCEEDED, rig.notices.ended.getFirst().outcome());
    }

    @Test
    void anEndThatTheStoreRefusesIsToldAsALostLease() throws Exception {
        rig.children.life = child -> rig.time.pass(Duration.ofSeconds(60));
        run(Policies.DEFAULT);
        assertEquals(1, rig.notices.ended.size());
        assertEquals(Outcome.LEASE_LOST, rig.notices.ended.getFirst().outcome());
    }

    // stopped by others

    @Test
    void aSupersededRunEndsCancelledAndCountsForNothing() throws Exception {
        StopRequest stop = new StopRequest();
        rig.children.life = child ->
                stop.request(Reason.SUPERSEDED, "superseded by slot 2026-03-01T12:00:10Z", Duration.ofSeconds(5));
        Result result = rig.runner.run(plain, rig.slot(), rig.runner.newRunId(), stop, false, files -> {});
        assertEquals(
                Outcome.CANCELLED, assertInstanceOf(Result.Ended.class, result).outcome());
        assertEquals("superseded by slot 2026-03-01T12:00:10Z", attempt().reason());
        assertEquals(List.of(), openTicks(), "not due again");
        assertNotNull(rig.real.inspect("a"));
        assertNull(Objects.requireNonNull(rig.real.inspect("a")).owner(), "released");
    }
}
