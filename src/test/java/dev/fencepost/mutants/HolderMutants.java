package dev.fencepost.mutants;

import static dev.fencepost.mutants.Mutant.mutant;

import java.util.List;

/** Whoever holds a lease: how long it trusts it, who it is, what it does with the answers of the store; and when it plans what. */
final class HolderMutants {

    private HolderMutants() {}

    static List<Mutant> all() {
        return List.of(
                // ---- the term
                mutant("the term counts from the answer to the claim, not from before it was sent")
                        .java(
                                "run/Runner",
                                "long sent = time.bootMillis(); Start start; try { start = claim(job, slot, runId, reopen, stop);",
                                "long sent; Start start; try { start = claim(job, slot, runId, reopen, stop); sent = time.bootMillis();")
                        .seenBy("run.RunnerTest", "aClaimThatIsAnsweredLateIsTrustedNoLonger"),
                mutant("the term counts from the answer to the renewal, not from before it was sent")
                        .java("lease/Keeper", "term = Term.of(sent, ttl);", "term = Term.of(time.bootMillis(), ttl);")
                        .seenBy("lease.KeeperTest", "itRenewsEveryThirdOfTheTtlCountedFromWhenTheLastRequestWasSent"),
                mutant("the holder trusts its lease to the very end: no margin")
                        .java("lease/Term", "return endBootMillis() - marginMillis();", "return endBootMillis();")
                        .seenBy("lease.TermTest", "theMarginIsFivePercentWithinItsBounds"),
                mutant("the holder measures its term by its wall clock")
                        .java("run/Runner", "time.bootMillis()", "time.wallClock().toEpochMilli()")
                        .java("lease/Keeper", "time.bootMillis()", "time.wallClock().toEpochMilli()")
                        .java("lease/DeadlineWatch", "time.bootMillis()", "time.wallClock().toEpochMilli()")
                        .seenBySimulation(4),
                mutant("an error of the store counts as still held")
                        .java(
                                "lease/Keeper",
                                "} catch (StoreException e) { if (!closed) {",
                                "} catch (StoreException e) { term = Term.of(sent, ttl); if (!closed) {")
                        .seenBySimulation(5)
                        .seenBy("lease.KeeperTest", "anErrorIsTriedAgainSoonAndNeverCountsAsHeld"),
                mutant("a refused renewal counts as still held")
                        .java(
                                "lease/Keeper",
                                "listener.lost(lease, term, lost.reason()); } return;",
                                "} term = Term.of(sent, ttl); wait = term.renewIntervalMillis();")
                        .seenBy("lease.KeeperTest", "aRefusalIsTheEnd"),
                mutant("the keeper goes on after its term")
                        .java(
                                "lease/Keeper",
                                "if (closed || time.bootMillis() >= term.endBootMillis()) {",
                                "if (closed) {")
                        .seenBy("lease.KeeperTest", "onceTheTermIsOverNothingIsSentAnyMore"),
                mutant("the keeper renews too seldom: once a ttl")
                        .java("lease/Term", "return Math.max(1, ttlMillis / 3);", "return Math.max(1, ttlMillis);")
                        .seenBy("lease.TermTest", "renewalsAreAThirdOfTheTtlApart"),
                mutant("nobody watches the deadline")
                        .java("lease/DeadlineWatch", "if (now >= deadline) {", "if (false) {")
                        .seenBySimulation(2)
                        .seenBy("lease.DeadlineWatchTest", "afterAFreezeTheAlarmComesAtOnce"),
                mutant("an alarm that failed is not tried again")
                        .java(
                                "lease/DeadlineWatch",
                                "return false; // the other leases",
                                "return true; // the other leases")
                        .seenBy("lease.DeadlineWatchTest", "anAlarmThatFailsStopsNoOtherAndIsTriedAgain"),
                mutant("the grace of a run outlives its lease")
                        .java(
                                "lease/Term",
                                "return wanted.toMillis() < room ? wanted : Duration.ofMillis(room);",
                                "return wanted;")
                        .seenBySimulation(11)
                        .seenBy("lease.TermTest", "theGraceFitsIntoHalfOfTheMargin"),
                mutant("a child is started under a lease that is over")
                        .java(
                                "run/Runner",
                                "if (time.bootMillis() >= keeper.term().deadlineBootMillis()) { stopAtDeadline(job, slot, granted.lease(), keeper, stop);",
                                "if (false) { stopAtDeadline(job, slot, granted.lease(), keeper, stop);")
                        .seenBy("run.RunnerTest", "aChildIsNotStartedAfterTheDeadlineOfItsLease"),
                mutant("a lost lease does not stop the child")
                        .java("run/Runner", "stop.request(StopRequest.Reason.LEASE_LOST, why, grace);", "")
                        .seenBySimulation(5)
                        .seenBy("run.RunnerTest", "aDeadlineThatPassesStopsTheChildAndTheAttemptIsLost"),

                // ---- unknown outcomes
                mutant("a completion without an answer is taken for stored")
                        .java(
                                "run/Runner",
                                "if (mayBeStored && isStored(lease, completion)) { return new Stored(completion, null); } switch",
                                "if (mayBeStored) { return new Stored(completion, null); } switch")
                        .seenBy("run.RunnerTest", "aCompletionThatNeverArrivedIsSentAgain"),
                mutant("a completion whose answer was lost is taken for refused")
                        .java(
                                "run/Runner",
                                "Attempt attempt = ticks.attempt(lease.resource(), lease.runId()); return attempt != null && attempt.outcome() == completion.outcome();",
                                "return false;")
                        .seenBy("run.RunnerTest", "aCompletionWhoseAnswerWasLostIsReadBackAndCounts"),
                mutant("an end that somebody else has written is taken for ours")
                        .java(
                                "run/Runner",
                                "return attempt != null && attempt.outcome() == completion.outcome();",
                                "return attempt != null && attempt.endedAt() != null;")
                        .seenBy("run.RunnerTest", "anEndThatSomebodyElseHasWrittenMeanwhileIsNotTakenForOurs"),
                mutant("each try of a claim has a run id of its own")
                        .java(
                                "run/Runner",
                                "return ticks.start(job, slot, owner, runId, reopen);",
                                "return ticks.start(job, slot, owner, newRunId(), reopen);")
                        .seenBy("run.RunnerTest", "aClaimWhoseAnswerWasLostIsFoundByItsRunIdAndNotDoubled"),
                mutant("a claim that was granted without our hearing of it blocks the job")
                        .java(
                                "run/JobLoop",
                                "boolean dead = ours || children.provablyDead(lease.owner());",
                                "boolean dead = children.provablyDead(lease.owner());")
                        .seenBy("run.JobLoopTest", "aClaimOfOursThatArrivedLateIsGivenBack"),
                mutant("whoever holds a lease is called dead")
                        .java("run/JobLoop", "if (view.isLive() && !dead) {", "if (false) {")
                        .java("run/JobLoop", "ticks.abandon(lease, dead);", "ticks.abandon(lease, true);")
                        .seenBySimulation(1)
                        .seenBy("run.JobLoopTest", "aLivingHolderIsLeftAlone"),
                mutant("a lost lease does not outdo another reason to stop")
                        .java(
                                "run/StopRequest",
                                "boolean first = reason == null || (why == Reason.LEASE_LOST && reason != Reason.LEASE_LOST);",
                                "boolean first = reason == null;")
                        .seenBy("run.StopRequestTest", "aLostLeaseOutdoesEveryOtherReasonAndOnlyOnce"),
                mutant("a run of ours is taken for one that we never heard of")
                        .java("run/JobLoop", "if (ours && isRunning(lease.runId())) {", "if (false) {")
                        .seenBySimulation(2)
                        .seenBy("run.JobLoopTest", "aSlotThatComesDueDuringTheRunIsSkippedAndTold"),
                mutant("the store's answer to a late completion is not told as a lost lease")
                        .java(
                                "run/Runner",
                                "Outcome outcome = refused == null ? completion.outcome() : Outcome.LEASE_LOST;",
                                "Outcome outcome = completion.outcome();")
                        .seenBy("run.RunnerTest", "aCompletionThatComesTooLateIsRefusedAndTold"),
                mutant("renewals go through the breaker and are tried again")
                        .java(
                                "edge/quarkus/GuardedStore",
                                "return timed(\"renew\", () -> store.renew(lease, ttl));",
                                "return guarded(\"renew\", () -> store.renew(lease, ttl));")
                        .seenBy("edge.quarkus.GuardedStoreTest", "noBreakerAndNoRetryStandsBeforeACallUnderALease"),
                mutant("completions go through the breaker and are tried again")
                        .java(
                                "edge/quarkus/GuardedStore",
                                "return timed(\"complete\", () -> store.complete(lease, completion));",
                                "return guarded(\"complete\", () -> store.complete(lease, completion));")
                        .seenBy("edge.quarkus.GuardedStoreTest", "noBreakerAndNoRetryStandsBeforeACallUnderALease"),

                // ---- orders, and the ends of other leases
                mutant("an order that could not be read is taken for seen")
                        .java("run/OrderWatch", "Signal before = seen;", "Signal before = seen; seen = now;")
                        .seenBy("NodeTest", "aCancelThatCouldNotBeReadAtFirstIsReadAgain"),
                mutant("nobody looks at a job when the lease of its holder ends")
                        .java(
                                "run/JobLoop",
                                "if (lease != null && lease.isLive() && lease.expiresAt() != null) {",
                                "if (lease != null && lease.isLive() && lease.expiresAt() == null) {")
                        .seenBy("run.JobLoopTest", "aLeaseThatNobodyRenewsIsTakenSoonAfterItsEnd"),

                // ---- who somebody is
                mutant("an owner is a host, not one start of a program")
                        .java(
                                "lease/Incarnation",
                                "return new Owner(nodeId + \"/\" + bootId + \"/\" + pidNamespace + \"/\" + pid + \"/\" + startTicks + \"/\" + nonce);",
                                "return new Owner(nodeId);")
                        .seenBy("edge.process.OsChildrenTest", "incarnationTellsThisProcess"),
                mutant("two starts within one tick of the clock are one owner")
                        .java("edge/process/OsChildren", "entropy.uuid().toString().substring(0, 8)", "\"00000000\"")
                        .seenBy("edge.process.OsChildrenTest", "twoStartsWithinOneTickOfTheClockAreTwoOwners"),
                mutant("whoever has the pid of a holder is the holder, whenever it was started")
                        .java(
                                "edge/process/OsChildren",
                                "return !process.isAlive() || process.startTicks() != other.startTicks();",
                                "return !process.isAlive();")
                        .seenBy("edge.process.OsChildrenTest", "ownerIsDeadOnlyWhenItSurelyIs"),
                mutant("a holder in another pid namespace is called dead")
                        .java(
                                "edge/process/OsChildren",
                                "if (other.pidNamespace() == 0 || other.pidNamespace() != self.pidNamespace()) {",
                                "if (false) {")
                        .seenBy("edge.process.OsChildrenTest", "ownerIsDeadOnlyWhenItSurelyIs"),
                mutant("a holder on another node is called dead")
                        .java(
                                "edge/process/OsChildren",
                                "if (other == null || !other.nodeId().equals(self.nodeId())) {",
                                "if (other == null) {")
                        .seenBy("edge.process.OsChildrenTest", "ownerIsDeadOnlyWhenItSurelyIs"),

                // ---- slots
                mutant("a slot is planned twice: [cursor, now] for (cursor, now]")
                        .java(
                                "schedule/Planner",
                                "&& at.isAfter(cursor) && !at.isBefore(planningSince)",
                                "&& !at.isBefore(cursor) && !at.isBefore(planningSince)")
                        .seenBy("schedule.PlannerTest", "aSlotIsDueAtItsInstantAndNotBefore"),
                mutant("a slot is not due at its instant: [cursor, now) for (cursor, now]")
                        .java(
                                "schedule/Planner",
                                "Instant at = schedule.latest(lastFree);",
                                "Instant at = schedule.latest(lastFree.minusNanos(1));")
                        .seenBy("schedule.PlannerTest", "aSlotIsDueAtItsInstantAndNotBefore"),
                mutant("a slot is late an instant early: < for <=")
                        .java(
                                "schedule/Planner",
                                "return Duration.between(slot, now).compareTo(allowed) <= 0;",
                                "return Duration.between(slot, now).compareTo(allowed) < 0;")
                        .seenBy("schedule.PlannerTest", "aSlotIsOnTimeForAsLongAsItsGapWithinTwoAndSixtySeconds"),
                mutant("the slot of the grant itself is an overlap: < for <=")
                        .java(
                                "schedule/Planner",
                                "Instant lastFree = held != null && held.grantedAt().isBefore(now) ? held.grantedAt() : now;",
                                "Instant lastFree = held != null && held.grantedAt().isBefore(now) ? held.grantedAt().minusSeconds(1) : now;")
                        .seenBy("schedule.PlannerTest", "theSlotOfTheGrantItselfIsNoOverlap"),
                mutant("a clock that was set back leaves the cursor ahead")
                        .java(
                                "schedule/Planner",
                                "Instant cursor = setBack ? now : backlog.cursor();",
                                "Instant cursor = backlog.cursor();")
                        .seenBy("schedule.PlannerTest", "aClockSetBackMovesTheCursorBackAndNothingIsStuck"),
                mutant("one more is caught up than may be")
                        .java("schedule/Planner", "while (room > 0 && at != null", "while (room >= 0 && at != null")
                        .seenBy("schedule.PlannerTest", "monthsOfMissedSlotsAreOneRangeAndTheNewestRunOldestFirst"),
                mutant("what is left of a catch-up is not dropped but forgotten")
                        .java(
                                "schedule/Planner",
                                "SlotRange dropped = at != null && at.isAfter(cursor) ? range(schedule, cursor, at) : null;",
                                "SlotRange dropped = null;")
                        .seenBy("schedule.PlannerTest", "runsSkipsAndDropsMakeUpAllSlots"),
                mutant("a tick whose attempts are used up is due")
                        .java(
                                "schedule/Planner",
                                "if (tick.spent() >= rules.maxAttempts()) {",
                                "if (tick.spent() > rules.maxAttempts()) {")
                        .seenBy("schedule.PlannerTest", "aTickWhoseAttemptsAreUsedUpIsClosedWhateverItIs"));
    }
}
