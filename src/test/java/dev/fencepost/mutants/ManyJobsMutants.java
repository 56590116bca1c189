package dev.fencepost.mutants;

import static dev.fencepost.mutants.Mutant.mutant;

import java.util.List;

/** What many jobs share: the statements that take several of them, and the looks that are spared. */
final class ManyJobsMutants {

    private ManyJobsMutants() {}

    private static final String BATCHES = "store.PostgresBatchesTest";
    private static final String WAITING = "NodeTest$JobsThatOnlyWait";

    static List<Mutant> all() {
        return List.of(
                // ---- claims
                mutant("a batch grants a lease that is held")
                        .sqlOf("TickBatches", "and l.owner is null for update", "for update")
                        .seenBy(BATCHES, "eachGetsItsOwnAnswerWhateverTheOthersGet"),
                mutant("a batch grants under the token of before")
                        .sqlOf("TickBatches", "1, {next_fence f}, f.owner", "1, f.fence, f.owner")
                        .seenBy(BATCHES, "manyTicksTakeAFewCalls"),
                mutant("a batch starts a tick that has an outcome")
                        .sqlOf("TickBatches", "where t.outcome is null and t.attempts = 0", "where t.attempts = 0")
                        .seenBy(BATCHES, "eachGetsItsOwnAnswerWhateverTheOthersGet"),
                mutant("a batch starts a tick before the time of its further try")
                        .sqlOf("TickBatches", "and t.not_before is null returning slot_at", "returning slot_at")
                        .seenBy(BATCHES, "aTickThatIsNotToBeTriedAgainYetIsNot"),
                mutant("a batch leaves the attempt of a dead holder without an end")
                        .sqlOf(
                                "TickBatches",
                                "where coalesce((select false from attempt a where a.job = f.job and a.ended_at is null limit 1), true)"
                                        + " and",
                                "where")
                        .seenBy(BATCHES, "eachGetsItsOwnAnswerWhateverTheOthersGet"),
                mutant("a batch gives the lease of one job to another")
                        .sqlOf(
                                "TickBatches",
                                "where l.resource = f.job returning",
                                "where l.resource <> f.job returning")
                        .seenBy(BATCHES, "manyTicksTakeAFewCalls"),
                mutant("one job that fails makes all of its batch fail")
                        .java("edge/jdbc/TickBatches", "if (e.kind() == Kind.BROKEN) {", "if (false) {")
                        .seenBy(BATCHES, "whatFailsForOneFailsForItAlone"),
                mutant("a batch waits for a tick that somebody has locked")
                        .sqlOf(
                                "TickBatches",
                                "t.slot_key = f.slot_key for update skip locked",
                                "t.slot_key = f.slot_key for update")
                        .seenBy(BATCHES, "aTickThatIsLockedMakesNobodyElseWait"),

                // ---- completions
                mutant("a batch completes after the end of the lease")
                        .sqlOf("TickBatches", "a.run_id = r.run_id and {live r}", "a.run_id = r.run_id")
                        .seenOnPostgres("Store", "itCountsUntilTheLastInstantOfTheLeaseAndNoLonger"),
                mutant("a batch completes whoever has the lease")
                        .sqlOf(
                                "TickBatches",
                                "and l.owner = w.owner and l.fence = w.fence and l.run_id = w.run_id for update",
                                "for update")
                        .seenOnPostgres("Store", "eachPartOfWhatTheStoreHasOfTheLeaseCounts"),
                mutant("a batch completes whatever token is shown")
                        .sqlOf(
                                "TickBatches",
                                "and l.owner = w.owner and l.fence = w.fence and l.run_id = w.run_id for update",
                                "and l.owner = w.owner and l.run_id = w.run_id for update")
                        .sqlOf("TickBatches", "and a.fence = o.fence and a.owner = o.owner", "and a.owner = o.owner")
                        .seenOnPostgres("Store", "eachPartOfWhatALeaseShowsCounts"),
                mutant("a batch ends an attempt that has an end")
                        .sqlOf(
                                "TickBatches",
                                "and a.owner = o.owner and a.ended_at is null for update",
                                "and a.owner = o.owner for update")
                        .seenOnPostgres("Store", "anAttemptWithAnEndIsNotEndedAgain"),
                mutant("a batch closes a tick that has an outcome")
                        .sqlOf("TickBatches", "and t.outcome is null for update", "for update")
                        .seenOnPostgres("Store", "aTickWithAnOutcomeIsNotClosedAgain"),
                mutant("a batch closes each tick, tries left or not")
                        .sqlOf("TickBatches", "t.run_id = r.run_id and r.closes)", "t.run_id = r.run_id)")
                        .seenBy(BATCHES, "eachCompletionIsJudgedByItself"),
                mutant("a batch leaves each tick open")
                        .sqlOf(
                                "TickBatches",
                                "t.run_id = r.run_id and r.closes)",
                                "t.run_id = r.run_id and not r.closes)")
                        .seenOnPostgres("Store", "aCompletionWritesAttemptTickAndEventAndGivesTheLeaseBack"),
                mutant("a batch gives back the leases of others")
                        .sqlOf(
                                "TickBatches",
                                "where l.resource = r.job returning e.ended",
                                "where true returning e.ended")
                        .seenBy(BATCHES, "eachCompletionIsJudgedByItself"),
                mutant("what a batch did not complete is told as stored")
                        .java("edge/jdbc/TickBatches", "&& stored.contains(each.lease().runId().toString())", "")
                        .seenBy(BATCHES, "eachCompletionIsJudgedByItself"),

                // ---- plans
                mutant("a batch opens ticks from an older cursor")
                        .sqlOf("TickBatches", "and j.cursor_at = w.seen for update", "for update")
                        .seenBy(BATCHES, "aCursorThatMovedMeanwhileOpensNothing"),
                mutant("a batch calls a tick opened that was there")
                        .sqlOf(
                                "TickBatches",
                                "exists (select 1 from opened o where o.job = m.id) as opened",
                                "true as opened")
                        .seenBy(BATCHES, "aTickThatIsThereIsNotInThePlanAsWritten"),
                mutant("a batch opens the first tick of a plan and forgets the rest")
                        .java(
                                "edge/jdbc/TickBatches",
                                "return plan.opened().size() == 1 &&",
                                "return !plan.opened().isEmpty() &&")
                        .seenBy(BATCHES, "aPlanOfSeveralTicksIsWrittenWhole"),

                // ---- who waits for whom
                mutant("a question is answered by the answer of its neighbour")
                        .java("edge/jdbc/Together", "answers.get(i)", "answers.get(i - 1)")
                        .seenBy("edge.jdbc.TogetherTest", "thoseWhoWaitGoTogetherInTheirOrder"),
                mutant("whoever ends a call wakes nobody")
                        .java("edge/jdbc/Together", "next.turn().complete(new Turn.Leads<>());", "lanes++;")
                        .seenBy("edge.jdbc.TogetherTest", "thoseWhoWaitGoTogetherInTheirOrder"),
                mutant("a question that was taken back is asked")
                        .java("edge/jdbc/Together", "return queue.remove(mine);", "return queue.contains(mine);")
                        .seenBy("edge.jdbc.TogetherTest", "whoIsInterruptedBeforeItsTurnHasAskedNothing"),
                mutant("a question that is in a call is said not to have been asked")
                        .java(
                                "edge/jdbc/Together",
                                "throw new StoreException(Kind.AMBIGUOUS, operation + \": interrupted",
                                "throw new StoreException(Kind.UNAVAILABLE, operation + \": interrupted")
                        .seenBy("edge.jdbc.TogetherTest", "whoIsInterruptedInTheCallOfAnotherDoesNotKnow"),

                // ---- looks that are spared
                mutant("the brakes are read at every look")
                        .java("run/JobLoop", "brakesKnow = ended;", "")
                        .seenBy("run.JobLoopPoliciesTest", "theBrakesAreReadWhenSomethingHasEndedAndNotAtEveryLook"),
                mutant("the brakes are read once for all")
                        .java(
                                "run/JobLoop",
                                "situation.pause() != null || ended.equals(brakesKnow)",
                                "situation.pause() != null || brakesKnow != null")
                        .seenBy("run.JobLoopPoliciesTest", "failuresInARowPauseTheJobAtOnceAndAreToldOnce"),
                mutant("a job with an open tick is spared its look")
                        .sqlOf(
                                "JdbcTicks",
                                "select job from tick where outcome is null union",
                                "select job from tick where false union")
                        .sqlOf("JdbcTicks", "from lease where owner is not null union", "from lease where false union")
                        .seenBy(WAITING, "areLookedAtWhenAnotherNodeLeftATickBehind"),
                mutant("a paused job is spared its look")
                        .java(
                                "run/JobLoop",
                                "if (waits || situation.pause() != null || isDeferred(situation)) {",
                                "if (waits) {")
                        .sqlOf(
                                "JdbcTicks",
                                "union select id from job where paused_at is not null or defer_until > {now}",
                                "")
                        .seenBy(WAITING, "pausedOnesAreLookedAt"),
                mutant("looks are spared though a clock was set")
                        .java("run/JobLoop", "idle == null || idle.wasClockSet(clockAhead)", "idle == null")
                        .seenBy(WAITING, "areLookedAtWhenTheClockWasSetBack"),
                mutant("looks are spared though the store is another one")
                        .java("Node", "registered >= 0 && restless.registered() != registered", "false")
                        .seenBy(WAITING, "areLookedAtWhenTheStoreIsAnotherOne"),
                mutant("all jobs are looked at at once")
                        .java("Node", "if (begun < MOST_LOOKS && loop", "if (loop")
                        .seenBy("NodeTest", "ofVeryManyJobsAFewThousandAreLookedAtByEachWakeUp"),
                mutant("a job rests on though something happened during the read for all")
                        .java("run/JobLoop", "rest.compareAndSet(before, restFrom(", "rest.set(restFrom(")
                        .seenBy(WAITING, "areLookedAtThoughSomethingHappenedDuringTheReadForAll"),
                mutant("a look that came too early is followed by none")
                        .java("run/JobLoop", "&& isToWait(horizonBootMillis));", "&& false);")
                        .seenBy("run.JobLoopTest", "aLookThatIsTooEarlyIsFollowedByOneInTime"),
                mutant("a job rests beyond its next slot")
                        .java(
                                "run/JobLoop",
                                "next == null ? LONGEST_REST : shorter(LONGEST_REST, Duration.between(now, next))",
                                "LONGEST_REST")
                        .seenBy(WAITING, "areNotLookedAtAndRunOnTime"));
    }
}
