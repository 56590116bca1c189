package dev.fencepost.mutants;

import static dev.fencepost.mutants.Mutant.mutant;

import java.util.List;

/** The queue of work items. */
final class WorkMutants {

    private WorkMutants() {}

    private static final String SHOWN =
            "id = :id and owner = :owner and fence = :fence and coalesce(:run_id, run_id) = run_id";

    private static final String LISTED = "work_item.owner = listed.owner and work_item.fence = listed.fence"
            + " and coalesce(listed.run_id, work_item.run_id) = work_item.run_id and {live work_item}";

    private static final String GRANTED = "ended_at is null and (state <> 'CLAIMED' or {dead work_item}";

    static List<Mutant> all() {
        return List.of(
                // ---- enqueue, and what is not there
                mutant("enqueue overwrites an item of the same id: insert or replace")
                        .sqlOf(
                                "JdbcWork",
                                "{now}, :payload, :payload_type) on conflict (id) do nothing",
                                "{now}, :payload, :payload_type) on conflict (id) do update set payload = excluded.payload,"
                                        + " payload_type = excluded.payload_type")
                        .seenByContract("Work", "aKnownIdChangesNothingWhateverBecameOfTheItem"),
                mutant("enqueue makes an item of a known id ready again")
                        .sqlOf(
                                "JdbcWork",
                                "{now}, :payload, :payload_type) on conflict (id) do nothing",
                                "{now}, :payload, :payload_type) on conflict (id) do update set state = excluded.state,"
                                        + " ended_at = null, owner = null, run_id = null")
                        .seenByContract("Work", "aKnownIdChangesNothingWhateverBecameOfTheItem"),
                mutant("an unknown id is an empty item")
                        .java(
                                "edge/jdbc/JdbcWork",
                                "session.one(ITEM, Params.of(\"id\", id)).first()) .map(JdbcWorkRows::item)) .orElse(null);",
                                "session.one(ITEM, Params.of(\"id\", id)).first()) .map(JdbcWorkRows::item))"
                                        + ".orElse(new WorkItem(id, \"default\", WorkState.READY, 0, null, 0, 3, 0, null, null, null,"
                                        + " null, null, null, Instant.EPOCH, null));")
                        .seenByContract("Work", "anUnknownIdIsNoItem")
                        .seenBy("edge.cli.WorkCommandsTest", "whatIsNotThereIsUnknown"),
                mutant("a claim of an unknown id makes the item")
                        .java(
                                "edge/jdbc/JdbcWork",
                                "return new WorkAnswer.Refused(Refusal.UNKNOWN, null);",
                                "return new WorkAnswer.Done(new WorkItem(id, \"default\", WorkState.CLAIMED, 0, null, 1, 3, 1,"
                                        + " owner, runId, Instant.MAX, null, null, null, Instant.EPOCH, null));")
                        .seenByContract("Work", "whatIsNotThereOrHasEndedIsNotClaimed"),
                mutant("what is written under a grant of an unknown id is no error")
                        .java("edge/jdbc/JdbcWorkRows", "return Refusal.UNKNOWN;", "return null;")
                        .seenByContract("Work", "whatIsNotThereOrHasEndedIsToldSo"),

                // ---- claim
                mutant("a claim takes an item that is claimed")
                        .sqlOf(
                                "JdbcWork",
                                "(state <> 'CLAIMED' or {dead work_item} and attempts < max_attempts)",
                                "true")
                        .seenByContract("Work", "aLiveLeaseIsRefusedToEveryoneTheSameOwnerIncluded"),
                mutant("a claim takes an item that has ended")
                        .sqlOf("JdbcWork", GRANTED, GRANTED.replace("ended_at is null and ", ""))
                        .seenByContract("Work", "whatIsNotThereOrHasEndedIsNotClaimed"),
                mutant("a claim does not mind that the tries are used up: <= for <")
                        .sqlOf(
                                "JdbcWork",
                                "or {dead work_item} and attempts < max_attempts)",
                                "or {dead work_item} and attempts <= max_attempts)")
                        .seenByContract("Work", "anItemWhoseTriesAreUsedUpIsDeadThoughNobodyHasSeenItDie"),
                mutant("a claim does not wait for the item's time")
                        .sqlOf("JdbcWork", "coalesce(work_item.not_before > {now}, false)", "false")
                        .seenByContract("Work", "anItemIsNotClaimedBeforeItsTime"),
                mutant("one more is claimed than may be: < for <=")
                        .sqlOf("JdbcWork", "q.capacity <= ( select", "q.capacity < ( select")
                        .seenByContract("Work", "noMoreAreClaimedThanMayBe"),
                mutant("PostgreSQL: two claims at once count the same capacity")
                        .sqlOf(
                                "JdbcWork",
                                "from work_queue where queue = :queue {for_update}",
                                "from work_queue where queue = :queue")
                        .seenBy("store.PostgresWorkTrapsTest", "whoClaimsInAQueueWithACapacityWaitsForTheOthersWhoDo"),
                mutant("a run id may hold two items")
                        .sqlOf(
                                "JdbcWork",
                                "and not exists (select 1 from work_item o where o.run_id = :run_id and o.state = 'CLAIMED' and o.id <> :id)",
                                "")
                        .seenByContract("Work", "aRunIdHoldsOneItem"),
                mutant("a claim of many tries only the first item")
                        .java("edge/jdbc/JdbcWork", "claimFirst(\":count\")", "claimFirst(\"1\")")
                        .seenByContract("Work", "theHighestPriorityComesFirstAndOfTheSameTheOldest"),
                mutant("PostgreSQL: a claim of any waits for the first item, instead of taking the next")
                        .java("edge/jdbc/Dialect", "\"for update skip locked\"", "\"for update\"")
                        .seenBy("store.PostgresWorkTrapsTest", "aClaimOfAnySkipsWhatOthersAreJustChanging"),
                mutant("claim-many tries only the first owner")
                        .java(
                                "edge/cli/WorkClaimMany",
                                "answers.set(at, opened.queue().claimItem(id, claimants.get(at), runId, length));",
                                "answers.set(at, at == 0 ? opened.queue().claimItem(id, claimants.get(at), runId, length)"
                                        + " : new WorkAnswer.Refused(dev.fencepost.lease.Refusal.HELD, null));")
                        .seenBy("edge.cli.WorkCommandsTest", "oneOfManyOwnersGetsTheToken"),
                mutant("a second try of a claim is granted a second item")
                        .sqlOf(
                                "JdbcWork",
                                "where not exists (select 1 from work_item w where w.run_id = given.value and w.state = 'CLAIMED')",
                                "where true")
                        .seenByContract("Work", "aSecondTryFindsWhatTheFirstWasGranted"),

                // ---- under a grant
                mutant("nothing under a claim checks the token")
                        .sqlOf("JdbcWork", SHOWN, SHOWN.replace(" and fence = :fence", ""))
                        .seenByContract("Work", "eachPartOfWhatAGrantShowsCounts"),
                mutant("nothing under a claim checks the owner")
                        .sqlOf("JdbcWork", SHOWN, SHOWN.replace(" and owner = :owner", ""))
                        .seenByContract("Work", "eachPartOfWhatAGrantShowsCounts"),
                mutant("nothing under a claim checks the run")
                        .sqlOf("JdbcWork", SHOWN, SHOWN.replace(" and coalesce(:run_id, run_id) = run_id", ""))
                        .seenByContract("Work", "eachPartOfWhatAGrantShowsCounts"),
                mutant("what is written under a claim is taken after its end")
                        .sqlOf("JdbcWork", SHOWN + " and {live work_item}", SHOWN)
                        .seenByContract("Work", "atItsEndALeaseIsGoodForNothingButARelease"),
                mutant("a file is taken under an old token")
                        .sqlOf(
                                "JdbcWork",
                                "select :id, :fence, :name, :type, :size, :sha, :at from work_item where " + SHOWN
                                        + " and {live work_item}",
                                "select :id, :fence, :name, :type, :size, :sha, :at from work_item where id = :id")
                        .seenByContract("Work", "aFileUnderAnOldTokenIsRefusedAndTheOldOneStays"),
                mutant("a result, a failure that finds no row is taken for a success")
                        .java(
                                "edge/jdbc/JdbcWork",
                                "return Optional.of(refused(session, grant, true));",
                                "return Optional.of(new WorkAnswer.Done(JdbcWorkRows.item("
                                        + "session.one(ITEM, Params.of(\"id\", grant.id())).rows().getFirst())));")
                        .seenByContract("Work", "aLeaseTakenByAnotherIsStale"),
                mutant("a renewal of a claim that finds no row is taken for a success")
                        .java(
                                "edge/jdbc/JdbcWork",
                                "session -> refused(session, grant, false));",
                                "session -> new WorkAnswer.Done(JdbcWorkRows.item("
                                        + "session.one(ITEM, Params.of(\"id\", grant.id())).rows().getFirst())));")
                        .seenByContract("Work", "aLeaseTakenByAnotherIsStale"),
                mutant("a release resets the token of an item")
                        .sqlOf(
                                "JdbcWork",
                                "state = 'READY', attempts = attempts - 1,",
                                "state = 'READY', fence = 0, attempts = attempts - 1,")
                        .seenByContract("Work", "aReleaseKeepsTheTokenAndTheAttemptDoesNotCount"),
                mutant("a completion keeps the claim, and may come again")
                        .sqlOf(
                                "JdbcWork",
                                "result = :result, result_type = :result_type, owner = null, run_id = null, {set_over}",
                                "result = :result, result_type = :result_type")
                        .seenByContract("Work", "aSecondCompletionLeavesTheFirstResult"),
                mutant("an end leaves no event")
                        .sqlOf(
                                "JdbcWork",
                                "select {now}, 'work:' || id, owner, fence, run_id, true, :event from work_item where",
                                "select {now}, 'work:' || id, owner, fence, run_id, true, :event from work_item where false and")
                        .seenByContract("Work", "aCompletionStoresTheResultForGood"),
                mutant("a failure for good is tried again")
                        .sqlOf("JdbcWork", ":retry and attempts < max_attempts", "attempts < max_attempts")
                        .seenByContract("Work", "theLastFailureAndTheOneForGoodMakeItDead"),
                mutant("an item fails once more than it may: <= for <")
                        .sqlOf("JdbcWork", ":retry and attempts < max_attempts", ":retry and attempts <= max_attempts")
                        .seenByContract("Work", "theLastFailureAndTheOneForGoodMakeItDead"),

                // ---- results together
                mutant("results together do not check the token")
                        .java(
                                "edge/jdbc/JdbcWorkRows",
                                "return row.number(\"fence\") == grant.fence().value() &&",
                                "return")
                        .sqlOf("JdbcResults", LISTED, LISTED.replace("and work_item.fence = listed.fence ", ""))
                        .seenByContract("Work", "eachIsJudgedOnItsOwnAndAnsweredInTheOrderOfTheList"),
                mutant("results together are taken after the end")
                        .sqlOf("JdbcResults", LISTED, LISTED.replace(" and {live work_item}", ""))
                        .seenByContract("Work", "theInstantOfTheEndIsTooLateAndTheOneBeforeIsNot"),
                mutant("results together leave no events")
                        .java("edge/jdbc/JdbcResults", "session.one(TELL_ALL, Listed.params(events));", "")
                        .seenByContract("Work", "eachIsJudgedOnItsOwnAndAnsweredInTheOrderOfTheList"),

                // ---- clean-up
                mutant("clean-up forgets the token, and an id that comes back begins with 1")
                        .sqlOf(
                                "JdbcWork",
                                "select w.id, w.fence from {given} join work_item w on w.id = given.value where w.ended_at is not null",
                                "select w.id, w.fence from {given} join work_item w on w.id = given.value where false and w.ended_at is not null")
                        .seenByContract("Work", "whatEndedBeforeGoesAndItsTokenStays"),
                mutant("an id that comes back does not count on")
                        .sqlOf(
                                "JdbcWork",
                                "where work_item.id = :id and f.id = :id and work_item.fence < f.fence",
                                "where false and work_item.id = :id and f.id = :id and work_item.fence < f.fence")
                        .seenByContract("Work", "whatEndedBeforeGoesAndItsTokenStays"),
                mutant("clean-up lowers the token that it keeps")
                        .sqlOf(
                                "JdbcWork",
                                "set fence = excluded.fence where work_fence.fence < excluded.fence",
                                "set fence = 1")
                        .seenByContract("Work", "anItemThatIsPrunedAgainKeepsItsNewestToken"),
                mutant("clean-up takes what has not ended")
                        .sqlOf(
                                "JdbcWork",
                                "where ended_at is not null and ended_at < :before",
                                "where coalesce(ended_at, enqueued_at) < :before")
                        .sqlOf(
                                "JdbcWork",
                                "in (select given.value from {given}) and ended_at is not null",
                                "in (select given.value from {given})")
                        .seenByContract("Work", "whatEndedBeforeGoesAndItsTokenStays"),

                // ---- the worker
                mutant("a worker counts its trust in the lease from the answer of its claim")
                        .java(
                                "edge/cli/WorkLoop",
                                "items = queue.claimAny(settings.queue(), plan.owner(), wanted, plan.ttl(), poll);",
                                "items = queue.claimAny(settings.queue(), plan.owner(), wanted, plan.ttl(), poll);"
                                        + " sent = time.bootMillis();")
                        .seenBy("edge.cli.WorkLoopTest", "aClaimThatIsAnsweredAfterTheEndOfItsLeaseStartsNoChild"),
                mutant("a worker starts a child without a look at its lease")
                        .java(
                                "edge/cli/WorkItemRun",
                                "if (time.bootMillis() >= keeper.term().deadlineBootMillis()) {",
                                "if (false) {")
                        .seenBy("edge.cli.WorkItemRunTest", "noChildIsStartedUnderALeaseThatIsOver"));
    }
}
