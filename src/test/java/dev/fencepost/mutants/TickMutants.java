package dev.fencepost.mutants;

import static dev.fencepost.mutants.Mutant.mutant;

import java.util.List;

/** Slots, ticks, attempts and completions as the store writes them, and what is cleaned up of them. */
final class TickMutants {

    private TickMutants() {}

    private static final String ATTEMPT_OF_THE_HOLDER =
            "slot_key = :slot_key and run_id = :run_id and fence = :fence and owner = :owner and ended_at is null"
                    + " and exists (select 1 from lease l where l.resource = :resource and l.owner = :owner"
                    + " and l.fence = :fence and l.run_id = :run_id and {live l})";

    private static final String OPENED =
            "values (:job, :slot_key, :slot_at, :on_time, {now}) on conflict (job, slot_key) do nothing";

    private static final String FREED_AS_LOST =
            "update lease set {set_released} where resource = :resource and owner = :owner and fence = :fence and run_id = :run_id";

    static List<Mutant> all() {
        return List.of(
                // ---- completion
                mutant("a completion is taken after the end of the lease")
                        .sqlOf("JdbcTicks", ATTEMPT_OF_THE_HOLDER, ATTEMPT_OF_THE_HOLDER.replace(" and {live l}", ""))
                        .seenBySimulation(39)
                        .seenByContract("Store", "itCountsUntilTheLastInstantOfTheLeaseAndNoLonger"),
                mutant("a completion does not check the token")
                        .sqlOf(
                                "JdbcTicks",
                                ATTEMPT_OF_THE_HOLDER,
                                ATTEMPT_OF_THE_HOLDER
                                        .replace(" and fence = :fence", "")
                                        .replace(" and l.fence = :fence", ""))
                        .seenByContract("Store", "eachPartOfWhatALeaseShowsCounts"),
                mutant("a completion does not check the owner")
                        .sqlOf(
                                "JdbcTicks",
                                ATTEMPT_OF_THE_HOLDER,
                                ATTEMPT_OF_THE_HOLDER
                                        .replace(" and owner = :owner", "")
                                        .replace(" and l.owner = :owner", ""))
                        .seenByContract("Store", "eachPartOfWhatALeaseShowsCounts"),
                mutant("a completion does not check the lease's run")
                        .sqlOf(
                                "JdbcTicks",
                                ATTEMPT_OF_THE_HOLDER,
                                ATTEMPT_OF_THE_HOLDER.replace(" and l.run_id = :run_id", ""))
                        .seenByContract("Store", "eachPartOfWhatTheStoreHasOfTheLeaseCounts"),
                mutant("a completion does not check the lease's owner")
                        .sqlOf(
                                "JdbcTicks",
                                ATTEMPT_OF_THE_HOLDER,
                                ATTEMPT_OF_THE_HOLDER.replace(" and l.owner = :owner", ""))
                        .seenByContract("Store", "eachPartOfWhatTheStoreHasOfTheLeaseCounts"),
                mutant("a completion does not check the lease's token")
                        .sqlOf(
                                "JdbcTicks",
                                ATTEMPT_OF_THE_HOLDER,
                                ATTEMPT_OF_THE_HOLDER.replace(" and l.fence = :fence", ""))
                        .seenByContract("Store", "eachPartOfWhatTheStoreHasOfTheLeaseCounts"),
                mutant("a completion looks at the attempt alone, not at the lease")
                        .sqlOf(
                                "JdbcTicks",
                                ATTEMPT_OF_THE_HOLDER,
                                "slot_key = :slot_key and run_id = :run_id and fence = :fence and owner = :owner and ended_at is null")
                        .seenBySimulation(39)
                        .seenByContract("Store", "eachPartOfWhatTheStoreHasOfTheLeaseCounts"),
                mutant("a completion does not ask whether the attempt has ended")
                        .sqlOf(
                                "JdbcTicks",
                                ATTEMPT_OF_THE_HOLDER,
                                ATTEMPT_OF_THE_HOLDER.replace(" and ended_at is null", ""))
                        .seenByContract("Store", "anAttemptWithAnEndIsNotEndedAgain"),
                mutant("a completion does not ask whether the tick has an outcome")
                        .sqlOf(
                                "JdbcTicks",
                                "where t.job = :resource and t.slot_key = :slot_key and t.outcome is null) returning 1 as ended",
                                "where t.job = :resource and t.slot_key = :slot_key) returning 1 as ended")
                        .seenByContract("Store", "aTickWithAnOutcomeIsNotClosedAgain"),
                mutant("a completion asks whether any tick of the job is open")
                        .sqlOf(
                                "JdbcTicks",
                                "where t.job = :resource and t.slot_key = :slot_key and t.outcome is null) returning 1 as ended",
                                "where t.job = :resource and t.outcome is null) returning 1 as ended")
                        .seenByContract("Store", "aTickWithAnOutcomeIsNotClosedAgain"),
                mutant("a completion may be of another slot")
                        .sqlOf(
                                "JdbcTicks",
                                ATTEMPT_OF_THE_HOLDER,
                                ATTEMPT_OF_THE_HOLDER.replace("slot_key = :slot_key and ", ""))
                        .seenByContract("Store", "anotherSlotThanItsOwnIsNotCompleted"),
                mutant("a completion that finds no row is taken for a success")
                        .java(
                                "edge/jdbc/JdbcTicks",
                                "if (session.run(COMPLETE, params).get(1).first() != null) {",
                                "session.run(COMPLETE, params); if (true) {")
                        .seenBySimulation(2)
                        .seenByContract("Store", "aSecondCompletionChangesNothing"),
                mutant("a completion that nothing follows is stored without a look at what it found")
                        .java("edge/jdbc/JdbcTicks", "return answers.get(1).first() != null;", "return true;")
                        .seenBySimulation(9)
                        .seenOnSqlite("Store", "aSecondCompletionChangesNothing"),
                mutant("an accepted completion leaves no event")
                        .sqlOf(
                                "JdbcTicks",
                                "true, :outcome from lease l where l.resource = :resource",
                                "true, :outcome from lease l where false and l.resource = :resource")
                        .sqlOf(
                                "TickBatches",
                                "true, e.outcome from ended e)",
                                "true, e.outcome from ended e where false)")
                        .seenByContract("Store", "aCompletionWritesAttemptTickAndEventAndGivesTheLeaseBack"),
                mutant("a refused completion leaves no event")
                        .java("edge/jdbc/JdbcTicks", "refusedEvent(session, lease, reason.name(), newest);", "")
                        .seenByContract("Store", "eachRefusalLeavesAnEventWithTheTokenThatWasShown"),
                mutant("a completion keeps the lease")
                        .sqlOf(
                                "JdbcTicks",
                                "update lease set {set_released} where resource = :resource and owner = :owner and fence = :fence"
                                        + " and run_id = :run_id and exists",
                                "update lease set {set_released} where false and resource = :resource and owner = :owner"
                                        + " and fence = :fence and run_id = :run_id and exists")
                        .sqlOf(
                                "TickBatches",
                                "update lease l set {set_released} from",
                                "update lease l set run_id = l.run_id from")
                        .seenBySimulation(3)
                        .seenByContract("Store", "aCompletionWritesAttemptTickAndEventAndGivesTheLeaseBack"),
                mutant("a completion forgets what it announces")
                        .java(
                                "edge/jdbc/JdbcTicks",
                                "String conflict = JdbcOutbox.announce(session, lease, completion.effects());",
                                "String conflict = null;")
                        .seenBySimulation(1)
                        .seenByContract("Outbox", "anEffectIsStoredWithAllThatIsNeededToSendIt"),
                mutant("a completion that contradicts an earlier one is stored but for its effect")
                        .java(
                                "edge/jdbc/JdbcTicks",
                                "session.rollbackOnly(); return new Completed.Conflict(conflict);",
                                "return new Completed.Conflict(conflict);")
                        .seenByContract("Outbox", "aKeyThatIsThereWithOtherContentStopsTheWholeCompletion"),
                mutant("what a completion announces is stored in a transaction of its own")
                        .java(
                                "edge/jdbc/JdbcTicks",
                                "return database.write(\"complete \" + lease.resource(), urgency, session -> {"
                                        + " if (session.run(COMPLETE, params).get(1).first() != null) {",
                                "if (!completion.effects().isEmpty()) { database.write(\"announce\", urgency, session -> {"
                                        + " return Optional.ofNullable(JdbcOutbox.announce(session, lease,"
                                        + " completion.effects())); }); }"
                                        + " return database.write(\"complete \" + lease.resource(), urgency, session -> {"
                                        + " if (session.run(COMPLETE, params).get(1).first() != null) {")
                        .seenBySimulation(2)
                        .seenByContract("Outbox", "aRefusedCompletionAnnouncesNothingAndLeavesAnEventForEachEffect"),

                // ---- start
                mutant("a start gives an attempt to a tick that has an outcome")
                        .sqlOf("JdbcTicks", "and outcome is null and (:reopen or", "and (:reopen or")
                        .seenByContract("Store", "aClosedTickGetsNoAttemptAndTheLeaseIsGivenBack"),
                mutant("a start reopens what it finds closed: a tick is made without \"if it is not there\"")
                        .sqlOf(
                                "JdbcTicks",
                                "where l.resource = :resource and l.run_id = :run_id on conflict (job, slot_key) do nothing",
                                "where l.resource = :resource and l.run_id = :run_id on conflict (job, slot_key)"
                                        + " do update set outcome = null, ended_at = null")
                        .seenByContract("Store", "aClosedTickGetsNoAttemptAndTheLeaseIsGivenBack"),
                mutant("a tick has one attempt more than it may: <= for <")
                        .sqlOf("JdbcTicks", "- attempts_before < :max_attempts", "- attempts_before <= :max_attempts")
                        .seenByContract("Store", "aTickWhoseAttemptsAreUsedUpGetsNoFurther"),
                mutant("a start without an attempt keeps the lease")
                        .sqlOf(
                                "JdbcTicks",
                                "and run_id = :run_id and not exists (select 1 from attempt a where a.run_id = :run_id)",
                                "and run_id = :run_id and false and not exists (select 1 from attempt a where a.run_id = :run_id)")
                        .seenByContract("Store", "aClosedTickGetsNoAttemptAndTheLeaseIsGivenBack"),
                mutant("a start leaves the attempt of a dead holder without an end")
                        .sqlOf(
                                "JdbcTicks",
                                "where job = :resource and ended_at is null and run_id <> :run_id and",
                                "where false and job = :resource and ended_at is null and run_id <> :run_id and")
                        .seenByContract("Store", "theAttemptOfADeadHolderIsAbandonedAndReported"),
                mutant("a start ends the attempt of the holder that refused it")
                        .sqlOf(
                                "JdbcTicks",
                                "where job = :resource and ended_at is null and run_id <> :run_id and exists (select 1 from lease"
                                        + " l where l.resource = :resource and l.run_id = :run_id)",
                                "where job = :resource and ended_at is null and run_id <> :run_id")
                        .seenBySimulation(1)
                        .seenByContract("Store", "whileTheLeaseIsLiveNothingChanges"),
                mutant("a person reopens what has succeeded")
                        .sqlOf("JdbcTicks", ":reopen and outcome <> 'SUCCEEDED' and", ":reopen and")
                        .seenByContract("Store", "aPersonReopensWhatDidNotSucceed"),
                mutant("a claim that is refused reopens the slot")
                        .sqlOf(
                                "JdbcTicks",
                                ":reopen and outcome <> 'SUCCEEDED' and exists (select 1 from lease l where l.resource ="
                                        + " :resource and l.run_id = :run_id)",
                                ":reopen and outcome <> 'SUCCEEDED'")
                        .seenByContract("Store", "whileAnotherSlotRunsNothingIsReopened"),
                mutant("a further try does not wait for its time")
                        .sqlOf("JdbcTicks", "((not_before is null or not_before <= {now}) and", "(")
                        .seenByContract("Policies", "aTickWaitsForItsNextTryAndIsNotStartedBefore"),

                // ---- plan
                mutant("a plan does not ask whether the cursor is where it was read")
                        .sqlOf("JdbcTicks", "where id = :job and cursor_at = :seen", "where id = :job")
                        .seenByContract(
                                "Store",
                                "aPlanFromAnOlderCursorWritesNothing",
                                "ofTwoPlansFromTheSameCursorOneIsWritten"),
                mutant("the cursor moves in a transaction before that of the plan")
                        .java(
                                "edge/jdbc/JdbcTicks",
                                "return database.<Optional<Plan>>write(\"plan \" + job.id(), Urgency.NORMAL, session -> {",
                                "Params early = Params.of(\"job\", job.id()).and(\"cursor\", plan.cursor())"
                                        + ".and(\"seen\", seen.cursor());"
                                        + " boolean moved = database.write(\"cursor\", Urgency.NORMAL,"
                                        + " session -> session.one(MOVE_CURSOR, early).first() != null);"
                                        + " return database.<Optional<Plan>>write(\"plan \" + job.id(), Urgency.NORMAL, session -> {")
                        .java(
                                "edge/jdbc/JdbcTicks",
                                "if (session.one(MOVE_CURSOR, cursor).first() == null) {",
                                "if (!moved) {")
                        .seenByContract("Store", "aPlanThatFailsHalfwayLeavesNothing"),
                mutant("a plan moves every cursor that stands there")
                        .sqlOf("JdbcTicks", "where id = :job and cursor_at = :seen", "where cursor_at = :seen")
                        .seenByContract("Bystanders", "ofAPlan"),
                mutant("a plan opens what has a row: a tick is made without \"if it is not there\"")
                        .sqlOf(
                                "JdbcTicks",
                                OPENED,
                                OPENED.replace(
                                        "do nothing", "do update set outcome = null, opened_at = excluded.opened_at"))
                        .seenByContract("Store", "aSlotThatHasARowAlreadyIsLeftOutOfThePlan"),
                mutant("a plan skips or drops what has a row")
                        .sqlOf(
                                "JdbcTicks",
                                "{now}, :range_count, :range_first) on conflict (job, slot_key) do nothing",
                                "{now}, :range_count, :range_first) on conflict (job, slot_key)"
                                        + " do update set outcome = excluded.outcome, ended_at = excluded.ended_at")
                        .seenByContract("Store", "aSlotThatHasARowAlreadyIsLeftOutOfThePlan"),
                mutant("a plan closes a tick that was started since it was made")
                        .sqlOf("JdbcTicks", "outcome is null and attempts = :attempts and", "outcome is null and")
                        .seenByContract("Store", "aTickThatWasTriedSinceThePlanWasMadeIsNotClosed"),
                mutant("a plan closes a tick that has an outcome")
                        .sqlOf("JdbcTicks", "outcome is null and attempts = :attempts and", "attempts = :attempts and")
                        .seenByContract("Store", "aTickThatWasCancelledSinceThePlanWasMadeKeepsItsOutcome"),
                mutant("a plan closes a tick whose attempt has no end")
                        .sqlOf(
                                "JdbcTicks",
                                "and not exists ( select 1 from attempt a where a.job = :job and a.slot_key = :slot_key"
                                        + " and a.ended_at is null) returning slot_key",
                                "returning slot_key")
                        .seenByContract("Store", "aTickWhoseAttemptHasNoEndIsNotClosed"),
                mutant("a plan closes a tick by the tries at other slots")
                        .sqlOf(
                                "JdbcTicks",
                                "a.slot_key = :slot_key and a.counted and a.ended_at is not null) - attempts_before >= :spent",
                                "a.counted and a.ended_at is not null) - attempts_before >= :spent")
                        .seenByContract("Bystanders", "ofASlot"),
                mutant("a plan closes the same slot of every job")
                        .sqlOf(
                                "JdbcTicks",
                                "where job = :job and slot_key = :slot_key and outcome is null and attempts = :attempts",
                                "where slot_key = :slot_key and outcome is null and attempts = :attempts")
                        .seenByContract("Bystanders", "ofAPlan"),
                mutant("a plan closes a tick that was ordered since it was made")
                        .sqlOf("JdbcTicks", "attempts = :attempts and ordered = :ordered", "attempts = :attempts")
                        .seenByContract("Orders", "aPlanThatWasMadeBeforeTheOrderDoesNotCloseTheTick"),
                mutant("a newer slot displaces one that has been started")
                        .sqlOf(
                                "JdbcTicks",
                                "outcome is null and attempts = 0 and not ordered",
                                "outcome is null and not ordered")
                        .seenByContract("Policies", "oneThatWasStartedMeanwhileIsLeftAlone"),
                mutant("a newer slot displaces one that a person has ordered")
                        .sqlOf(
                                "JdbcTicks",
                                "outcome is null and attempts = 0 and not ordered",
                                "outcome is null and attempts = 0")
                        .seenByContract("Policies", "oneThatWasOrderedMeanwhileIsLeftAlone"),
                mutant("a newer slot displaces one that was cancelled")
                        .sqlOf(
                                "JdbcTicks",
                                "outcome is null and attempts = 0 and not ordered",
                                "attempts = 0 and not ordered")
                        .seenByContract("Policies", "oneThatWasCancelledMeanwhileKeepsItsOutcome"),
                mutant("a take-over stops whoever has ended")
                        .sqlOf(
                                "JdbcTicks",
                                "and fence = :fence and ended_at is null and stop_kind is null",
                                "and fence = :fence and stop_kind is null")
                        .seenByContract("Policies", "whoFollowedTheHolderIsNotAskedToStop"),
                mutant("a take-over stops whoever runs now")
                        .sqlOf(
                                "JdbcTicks",
                                "where job = :job and fence = :fence and ended_at is null and stop_kind is null",
                                "where job = :job and ended_at is null and stop_kind is null")
                        .seenByContract("Policies", "whoFollowedTheHolderIsNotAskedToStop"),

                // ---- registration
                mutant("a job that is registered again starts now: it is made without \"if it is not there\"")
                        .sqlOf(
                                "JdbcTicks",
                                "where job.schedule_text <> :schedule or job.retired_at is not null returning id",
                                "returning id")
                        .seenBy("store.PostgresTrapsTest", "aJobThatAnotherNodeRegistersAtTheSameTimeKeepsItsCursor"),
                mutant("every registration of a job is taken for a change")
                        .sqlOf(
                                "JdbcTicks",
                                "where job.schedule_text <> :schedule or job.retired_at is not null returning id",
                                "returning id")
                        .java("edge/jdbc/JdbcTicks", "!isRegistered(job, known.get(job.id()))", "true")
                        .seenByContract("Store", "anUnchangedJobKeepsItsCursor"),
                mutant("a changed schedule misses what lies behind it")
                        .sqlOf(
                                "JdbcTicks",
                                "cursor_at = case when :start > {now} then :start else {now} end where",
                                "cursor_at = job.cursor_at where")
                        .seenByContract("Store", "anotherScheduleStartsNowWhateverWasMissed"),

                // ---- ends without a lease
                mutant("a late LEASE_LOST overwrites the end of the attempt")
                        .sqlOf(
                                "JdbcTicks",
                                "outcome = 'LEASE_LOST', reason = :reason where job = :resource and run_id = :run_id"
                                        + " and fence = :fence and owner = :owner and ended_at is null",
                                "outcome = 'LEASE_LOST', reason = :reason where job = :resource and run_id = :run_id"
                                        + " and fence = :fence and owner = :owner")
                        .seenByContract("Store", "whoComesSecondChangesNothing"),
                mutant("a lost run frees the lease of its successor")
                        .sqlOf("JdbcTicks", FREED_AS_LOST, "update lease set {set_released} where resource = :resource")
                        .seenByContract("Store", "itEndsUnderANewHolderToo"),
                mutant("a living holder is abandoned")
                        .sqlOf("JdbcTicks", "and (:dead or {dead l})) returning", ") returning")
                        .sqlOf("JdbcTicks", "and run_id = :run_id and (:dead or {dead})", "and run_id = :run_id")
                        .seenByContract("Store", "aRenewedLeaseIsNotAbandonedByOneWhoSawItExpired"),
                mutant("a break leaves the run under it open")
                        .sqlOf(
                                "JdbcLeases",
                                "set ended_at = {now}, outcome = 'CANCELLED', reason = :reason where job = :resource",
                                "set ended_at = {now}, outcome = 'CANCELLED', reason = :reason where false and job = :resource")
                        .seenByContract("Store", "theRunUnderItEndsCancelledAndItsLateCompletionIsRefused"),
                mutant("a break ends the runs of every job")
                        .sqlOf(
                                "JdbcLeases",
                                "outcome = 'CANCELLED', reason = :reason where job = :resource and ended_at is null",
                                "outcome = 'CANCELLED', reason = :reason where ended_at is null")
                        .seenByContract("Bystanders", "ofARun"),
                mutant("a break ends what had ended")
                        .sqlOf(
                                "JdbcLeases",
                                "outcome = 'CANCELLED', reason = :reason where job = :resource and ended_at is null",
                                "outcome = 'CANCELLED', reason = :reason where job = :resource")
                        .seenByContract("Store", "whatHadEndedStaysAsItIs"),

                // ---- orders
                mutant("a trigger opens what has succeeded")
                        .sqlOf("JdbcOrders", "(tick.outcome is null or tick.outcome <> 'SUCCEEDED') and not", "not")
                        .seenByContract("Orders", "whatHasSucceededAndWhatRunsIsLeftAlone"),
                mutant("a trigger opens what runs")
                        .sqlOf(
                                "JdbcOrders",
                                "(tick.outcome is null or tick.outcome <> 'SUCCEEDED') and not exists",
                                "(tick.outcome is null or tick.outcome <> 'SUCCEEDED') and true or exists")
                        .seenByContract("Orders", "whatHasSucceededAndWhatRunsIsLeftAlone"),
                mutant("a cancel closes the tick of a run that goes on")
                        .sqlOf(
                                "JdbcOrders",
                                "where job = :job and outcome is null and not exists",
                                "where job = :job and outcome is null and true or exists")
                        .seenByContract("Orders", "whatRunsIsAskedToStop"),
                mutant("a pause ends an instant late: < for <=")
                        .sqlOf("JdbcOrders", "paused_until <= {now}", "paused_until < {now}")
                        .seenByContract("Orders", "aPauseEndsAtItsEndAndNotBefore"),
                mutant("the slots of a pause that has passed are missed")
                        .sqlOf(
                                "JdbcOrders",
                                "cursor_at = case when cursor_at < paused_until then paused_until else cursor_at end,",
                                "")
                        .seenByContract("Orders", "slotsInsideAPauseAreNotMissedAndThoseAfterItAre"),
                mutant("the end of a pause pulls the cursor back")
                        .sqlOf(
                                "JdbcOrders",
                                "cursor_at = case when cursor_at < paused_until then paused_until else cursor_at end,",
                                "cursor_at = paused_until,")
                        .seenByContract("Orders", "theCursorOnlyRises"),

                // ---- clean-up
                mutant("clean-up takes a tick whose effect is not settled")
                        .sqlOf(
                                "JdbcRetention",
                                "and t.slot_key not in (select e.slot_key from effect e where e.job = :job"
                                        + " and (e.settled_at is null or e.waits))",
                                "")
                        .seenByContract("Retention", "aTickWithAnUnsettledEffectStays"),
                mutant("clean-up takes a tick whose attempt has no end")
                        .sqlOf(
                                "JdbcRetention",
                                "and t.slot_key not in (select a.slot_key from attempt a where a.job = :job and a.ended_at is null)",
                                "")
                        .seenByContract("Retention", "whatIsOpenOrRunsStays"),
                mutant("PostgreSQL: clean-up takes a tick that was opened again meanwhile")
                        .sqlOf(
                                "JdbcRetention",
                                "where job = :job and outcome is not null and slot_key",
                                "where job = :job and slot_key")
                        .seenBy("store.PostgresTrapsTest", "aSlotThatIsOpenedAgainWhileItIsCleanedUpStays"),
                mutant("clean-up takes the newest tick")
                        .sqlOf(
                                "JdbcRetention",
                                "and t.slot_key <> (select n.slot_key from tick n where n.job = :job"
                                        + " order by n.slot_at desc, n.slot_key desc limit 1)",
                                "")
                        .seenByContract("Retention", "theNewestTickAndTheNewestSuccessStay"),
                mutant("clean-up takes an effect that waits for a person")
                        .sqlOf("JdbcRetention", "settled_at < :before and not waits", "settled_at < :before")
                        .seenByContract("Retention", "settledEffectsGoWithTheirContent"));
    }
}
