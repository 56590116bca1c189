package dev.fencepost.mutants;

import static dev.fencepost.mutants.Mutant.mutant;

import java.util.List;

/** What many jobs share: the statements that take several of them, and the looks that are spared. */
final class ManyJobsMutants {

    private ManyJobsMutants() {}

    private static final String BATCHES = "store.PostgresBatchesTest";
    private static final String SNAPSHOT = "edge.jdbc.TickBatchesSnapshotTest";
    private static final String WAITING = "NodeTest$JobsThatOnlyWait";

    static List<Mutant> all() {
        return List.of(
                // ---- claims
                mutant("a batch grants a lease that is held")
                        .sqlOf("TickBatches", "and l.owner is null for update", "for update")
                        .seenBy(BATCHES, "eachGetsItsOwnAnswerWhateverTheOthersGet"),
                mutant("a batch grants under the token of before")
                        .sqlOf("TickBatches", "{next_fence f} as next", "f.fence as next")
                        .seenBy(BATCHES, "manyTicksTakeAFewCalls"),
                mutant("a batch starts a tick that has an outcome")
                        .sqlOf("TickBatches", "where t.outcome is null and t.attempts = 0", "where t.attempts = 0")
                        .seenBy(BATCHES, "eachGetsItsOwnAnswerWhateverTheOthersGet"),
                mutant("a batch starts a tick before the time of its further try")
                        .sqlOf("TickBatches", "and t.not_before is null returning run_id", "returning run_id")
                        .seenBy(BATCHES, "aTickThatIsNotToBeTriedAgainYetIsNot"),
                mutant("a batch leaves the attempt of a dead holder without an end")
                        .sqlOf(
                                "TickBatches",
                                "and coalesce((select false from attempt a where a.job = f.job and a.ended_at is null limit 1), true)",
                                "")
                        .seenBy(BATCHES, "eachGetsItsOwnAnswerWhateverTheOthersGet"),
                mutant("a batch gives the lease of one job to another")
                        .sqlOf(
                                "TickBatches",
                                "where l.resource = b.job returning",
                                "where l.resource <> b.job returning")
                        .seenBy(BATCHES, "manyTicksTakeAFewCalls"),
                mutant("a batch sees no attempt that began and was left behind since it began")
                        .sqlOf(
                                "TickBatches",
                                "f.fence = (select s.fence from lease s where s.resource = f.job)",
                                "true")
                        .seenBy(SNAPSHOT, "aClaimIsNotGrantedWhereSomebodyElseWasGrantedMeanwhile"),
                mutant("a batch starts two ticks of a job under one token")
                        .sqlOf("TickBatches", "select distinct on (job) * from", "select * from")
                        .seenBy(SNAPSHOT, "oneJobTwiceIsClaimedOnce"),
                mutant("the first tick of a job goes the long way")
                        .sqlOf("JdbcTicks", "select id, 0 from job where true", "select id, 0 from job where false")
                        .seenBy(BATCHES, "theVeryFirstTicksOfManyJobsTakeAFewCallsToo"),
                mutant("one job that fails makes all of its batch fail")
                        .java("edge/jdbc/TickBatches", "e.kind() == Kind.BROKEN || isCancelled(e)", "isCancelled(e)")
                        .seenBy(BATCHES, "whatFailsForOneFailsForItAlone"),
                mutant("a batch that took too long is sent again and again")
                        .java(
                                "edge/jdbc/TickBatches",
                                "e.kind() == Kind.BROKEN || isCancelled(e)",
                                "e.kind() == Kind.BROKEN")
                        .seenBy(BATCHES, "whatTakesTooLongTogetherIsDoneOneByOne"),
                mutant("a batch waits for a tick that somebody has locked")
                        .sqlOf(
                                "TickBatches",
                                "t.slot_key = f.slot_key for update skip locked",
                                "t.slot_key = f.slot_key for update")
                        .seenBy(BATCHES, "aTickThatIsLockedMakesNobodyElseWait"),

                // ---- renewals
                mutant("a batch renews after the end of the lease")
                        .sqlOf("TickBatches", "l.resource = h.resource and {live h}", "l.resource = h.resource")
                        .seenBy(BATCHES, "eachRenewalIsJudgedByItself"),
                mutant("a batch renews whoever has the lease")
                        .sqlOf(
                                "TickBatches",
                                "l.resource = w.resource and l.owner = w.owner and l.fence",
                                "l.resource = w.resource and l.fence")
                        .seenBy(BATCHES, "eachRenewalIsJudgedByItself"),
                mutant("a batch renews whatever token is shown")
                        .sqlOf(
                                "TickBatches",
                                "l.resource = w.resource and l.owner = w.owner and l.fence = w.fence",
                                "l.resource = w.resource and l.owner = w.owner")
                        .seenBy(BATCHES, "eachRenewalIsJudgedByItself"),
                mutant("a batch renews whatever run is shown")
                        .sqlOf(
                                "TickBatches",
                                "l.resource = w.resource and l.owner = w.owner and l.fence = w.fence and l.run_id = w.run_id",
                                "l.resource = w.resource and l.owner = w.owner and l.fence = w.fence")
                        .seenBy(BATCHES, "eachRenewalIsJudgedByItself"),
                mutant("a batch renews the leases of others")
                        .sqlOf("TickBatches", "where l.resource = h.resource and {live h}", "where {live h}")
                        .seenBy(BATCHES, "eachRenewalIsJudgedByItself"),
                mutant("a batch renews by the end that the lease had before")
                        .sqlOf("TickBatches", "and {live h} returning", "and {live l} returning")
                        .seenBy(SNAPSHOT, "aRenewalIsJudgedByTheLeaseAsItIsNow"),
                mutant("what a batch did not renew is told as renewed")
                        .java(
                                "edge/jdbc/TickBatches",
                                "end == null ? null : lease.until(end)",
                                "end == null ? lease : lease.until(end)")
                        .seenBy(BATCHES, "eachRenewalIsJudgedByItself"),
                mutant("a batch waits for a lease that somebody has locked")
                        .sqlOf(
                                "TickBatches",
                                "w.resource and l.owner = w.owner and l.fence = w.fence and l.run_id = w.run_id for update skip locked",
                                "w.resource and l.owner = w.owner and l.fence = w.fence and l.run_id = w.run_id for update")
                        .seenBy(BATCHES, "aLeaseThatIsLockedMakesNobodyElseWaitForItsRenewal"),

                // ---- completions
                mutant("a batch completes after the end of the lease")
                        .sqlOf("TickBatches", "a.run_id = r.run_id and {live r}", "a.run_id = r.run_id")
                        .seenOnPostgres("Store", "itCountsUntilTheLastInstantOfTheLeaseAndNoLonger"),
                mutant("a batch completes whoever has the lease")
                        .sqlOf(
                                "TickBatches",
                                "l.resource = w.job and l.owner = w.owner and l.fence = w.fence and l.run_id = w.run_id",
                                "l.resource = w.job")
                        .seenOnPostgres("Store", "eachPartOfWhatTheStoreHasOfTheLeaseCounts"),
                mutant("a batch completes whatever token is shown")
                        .sqlOf(
                                "TickBatches",
                                "l.resource = w.job and l.owner = w.owner and l.fence = w.fence",
                                "l.resource = w.job and l.owner = w.owner")
                        .sqlOf("TickBatches", "and a.fence = o.fence and a.owner = o.owner", "and a.owner = o.owner")
                        .seenOnPostgres("Store", "eachPartOfWhatALeaseShowsCounts"),
                mutant("a batch ends an attempt that has an end")
                        .sqlOf("TickBatches", "and a.owner = o.owner and a.ended_at is null)", "and a.owner = o.owner)")
                        .seenOnPostgres("Store", "anAttemptWithAnEndIsNotEndedAgain"),
                mutant("a batch closes a tick that has an outcome")
                        .sqlOf("TickBatches", "and t.outcome is null for update", "for update")
                        .seenOnPostgres("Store", "aTickWithAnOutcomeIsNotClosedAgain"),
                mutant("a batch closes each tick, tries left or not")
                        .sqlOf("TickBatches", "t.run_id = e.run_id and e.closes)", "t.run_id = e.run_id)")
                        .seenBy(BATCHES, "eachCompletionIsJudgedByItself"),
                mutant("a batch leaves each tick open")
                        .sqlOf(
                                "TickBatches",
                                "t.run_id = e.run_id and e.closes)",
                                "t.run_id = e.run_id and not e.closes)")
                        .seenOnPostgres("Store", "aCompletionWritesAttemptTickAndEventAndGivesTheLeaseBack"),
                mutant("a batch gives back the leases of others")
                        .sqlOf(
                                "TickBatches",
                                "where l.resource = e.job returning e.run_id as ended",
                                "where true returning e.run_id as ended")
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
                                "exists (select 1 from opened o where o.job = m.job) as opened",
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
                        .java("edge/jdbc/Together", "next.turn.complete(new Turn.Leads<>());", "calls--;")
                        .seenBy("edge.jdbc.TogetherTest", "thoseWhoWaitGoTogetherInTheirOrder"),
                mutant("a call that stands still holds up all")
                        .java("edge/jdbc/Together", "MOST_CALLS = 2", "MOST_CALLS = 1")
                        .seenBy("edge.jdbc.TogetherTest", "besideACallThatTakesLongASecondOneIsMadeAndNoThird"),
                mutant("whoever waits long makes another call")
                        .java("edge/jdbc/Together", "MOST_CALLS = 2", "MOST_CALLS = 200")
                        .seenBy("edge.jdbc.TogetherTest", "besideACallThatTakesLongASecondOneIsMadeAndNoThird"),
                mutant("whoever waits long waits for two calls that stand still")
                        .java("edge/jdbc/Together", "(calls == 1 || next.late)", "calls == 1")
                        .seenBy("edge.jdbc.TogetherTest", "besideACallThatTakesLongASecondOneIsMadeAndNoThird"),
                mutant("a second call is made for ever once there was one")
                        .java("edge/jdbc/Together", "(calls == 1 || next.late)", "true")
                        .seenBy("edge.jdbc.TogetherTest", "whoHasNotWaitedLongDoesNotTakeThePlaceOfOneOfTwo"),
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
