package dev.fencepost.mutants;

import static dev.fencepost.mutants.Mutant.mutant;

import java.util.List;

/** Claim, renewal and release as the store does them. */
final class LeaseMutants {

    private LeaseMutants() {}

    private static final String RENEWED =
            "l.owner = :owner and l.fence = :fence and l.run_id = :run_id and {live l} returning";

    private static final String RELEASED =
            "where resource = :resource and owner = :owner and fence = :fence and run_id = :run_id returning resource";

    static List<Mutant> all() {
        return List.of(
                // ---- claim
                mutant("a claim takes a lease that is live")
                        .sql("where resource = :resource and {dead}", "where resource = :resource")
                        .seenBySimulation(1)
                        .seenByContract("Store", "aLiveLeaseIsRefusedToEveryoneTheSameOwnerIncluded"),
                mutant("a claim by one statement takes a lease that is live")
                        .sqlOf(
                                "JdbcLeases",
                                "lease.resource = locked.resource and {dead locked}",
                                "lease.resource = locked.resource")
                        .seenByContract("Store", "aLiveLeaseIsRefusedToEveryoneTheSameOwnerIncluded"),
                mutant("a claim by one statement takes every lease")
                        .sqlOf("JdbcLeases", "lease.resource = locked.resource and {dead locked}", "{dead locked}")
                        .seenByContract("Bystanders", "ofALease"),
                mutant("a claim takes a live lease of the same owner")
                        .sql(
                                "where resource = :resource and {dead}",
                                "where resource = :resource and ({dead} or owner = :owner)")
                        .seenBySimulation(2)
                        .seenByContract("Store", "aLiveLeaseIsRefusedToEveryoneTheSameOwnerIncluded"),
                mutant("a claim that finds the same owner takes that grant for its own")
                        .java(
                                "edge/jdbc/JdbcLeases",
                                "lease.owner().equals(owner) && lease.runId().equals(runId)",
                                "lease.owner().equals(owner)")
                        .seenByContract("Store", "aLiveLeaseIsRefusedToEveryoneTheSameOwnerIncluded"),
                mutant("a claim that finds the same run id takes that grant for its own")
                        .java(
                                "edge/jdbc/JdbcLeases",
                                "lease.owner().equals(owner) && lease.runId().equals(runId)",
                                "lease.runId().equals(runId)")
                        .seenByContract("Store", "aClaimUnderTheRunIdOfSomebodyElsesGrantIsRefused"),
                mutant("a grant does not raise the token")
                        .sqlOf("Dialect", "fence + 1", "fence * 0 + 1")
                        .seenBySimulation(1)
                        .seenByContract("Store", "theTokenRisesWithEveryGrantWhateverCameBetween")
                        .seenByContract("Work", "theTokenRisesWithEveryGrantWhateverCameBetween"),
                mutant("a break does not raise the token")
                        .sql("{set_released}, fence = {next_fence}", "{set_released}")
                        .seenByContract("Store", "aBreakClearsTheOwnerAndRaisesTheToken"),
                mutant("the row of a lease is made anew at each claim")
                        .sql(
                                "insert into lease (resource, fence) values (:resource, 0) on conflict (resource) do nothing",
                                "insert into lease (resource, fence) values (:resource, 0) on conflict (resource)"
                                        + " do update set fence = case when lease.owner is null then 0 else lease.fence end")
                        .seenBySimulation(1),
                mutant("a second try of a claim whose grant is over is granted anew")
                        .sqlOf(
                                "JdbcTicks",
                                "and {dead} and not exists (select 1 from attempt a where a.run_id = :run_id)",
                                "and {dead}")
                        .seenByContract("Store", "aSecondTryAfterTheEndOfTheGrantGrantsNothing"),

                // ---- renewal
                mutant("a renewal checks neither owner, token nor run")
                        .sql(RENEWED, "{live l} returning")
                        .seenBySimulation(2)
                        .seenByContract("Store", "eachPartOfWhatALeaseShowsCounts"),
                mutant("a renewal does not check the token")
                        .sql(RENEWED, "l.owner = :owner and l.run_id = :run_id and {live l} returning")
                        .seenByContract("Store", "eachPartOfWhatALeaseShowsCounts"),
                mutant("a renewal does not check the run")
                        .sql(RENEWED, "l.owner = :owner and l.fence = :fence and {live l} returning")
                        .seenByContract("Store", "eachPartOfWhatALeaseShowsCounts"),
                mutant("a renewal does not check the owner")
                        .sql(RENEWED, "l.fence = :fence and l.run_id = :run_id and {live l} returning")
                        .seenByContract("Store", "eachPartOfWhatALeaseShowsCounts"),
                mutant("a renewal revives a lease that is over")
                        .sql(RENEWED, "l.owner = :owner and l.fence = :fence and l.run_id = :run_id returning")
                        .seenBySimulation(19)
                        .seenByContract("Store", "atItsEndALeaseIsNotRenewedAlthoughNobodyTookIt"),
                mutant("a renewal renews every lease")
                        .sqlOf("JdbcLeases", "where lease.resource = l.resource and l.owner", "where l.owner")
                        .seenBy("store.SqliteBystandersTest", "ofALease")
                        .seenBy("store.PostgresBatchesTest", "aLeaseThatIsLockedMakesNobodyElseWaitForItsRenewal"),
                mutant("a break breaks every lease")
                        .sqlOf(
                                "JdbcLeases",
                                "fence = {next_fence} where resource = :resource and fence > 0",
                                "fence = {next_fence} where fence > 0")
                        .seenByContract("Bystanders", "ofALease"),
                mutant("a row that was never granted is a lease")
                        .sqlOf(
                                "JdbcLeases",
                                "where l.resource = :resource and l.fence > 0",
                                "where l.resource = :resource")
                        .seenByContract("Store", "aRowThatWasNeverGrantedIsNoLease"),
                mutant("a renewal that finds no row is taken for a success")
                        .java(
                                "edge/jdbc/JdbcLeases",
                                "return new Renewal.Lost(whyRefused(operation, Urgency.URGENT, lease));",
                                "return new Renewal.Renewed(lease);")
                        .seenBySimulation(1)
                        .seenByContract("Store", "aLeaseTakenByAnotherIsStale"),

                // ---- release
                mutant("a release resets the token")
                        .sqlOf(
                                "Dialect",
                                "owner = null, run_id = null, slot_key = null,",
                                "fence = 0, owner = null, run_id = null, slot_key = null,")
                        .seenBySimulation(1)
                        .seenByContract("Store", "aReleaseKeepsTheTokenAndFreesTheResourceAtOnce"),
                mutant("a release does not check the token")
                        .sql(
                                RELEASED,
                                "where resource = :resource and owner = :owner and run_id = :run_id returning resource")
                        .seenByContract("Store", "eachPartOfWhatALeaseShowsCounts"),
                mutant("a release does not check the run")
                        .sql(
                                RELEASED,
                                "where resource = :resource and owner = :owner and fence = :fence returning resource")
                        .seenByContract("Store", "eachPartOfWhatALeaseShowsCounts"),
                mutant("a release does not check the owner")
                        .sql(
                                RELEASED,
                                "where resource = :resource and fence = :fence and run_id = :run_id returning resource")
                        .seenByContract("Store", "eachPartOfWhatALeaseShowsCounts"),
                mutant("a release checks neither owner, token nor run")
                        .sql(RELEASED, "where resource = :resource returning resource")
                        .seenByContract("Store", "theReleaseOfAnOldHolderLeavesTheNewOneAlone"),
                mutant("a release that finds no row is taken for a success")
                        .java(
                                "edge/jdbc/JdbcLeases",
                                "return Optional.of(whyRefused(operation, Urgency.NORMAL, lease));",
                                "return Optional.empty();")
                        .seenByContract("Store", "aSecondReleaseSaysThatNothingChanged"),
                mutant("a released lease has no end, which is never over (2.8 c)")
                        .sqlOf(
                                "Dialect",
                                "slot_key = null, expires_at = '-infinity'",
                                "slot_key = null, expires_at = null")
                        .sqlOf("Dialect", "slot_key = null, expires_at = 0", "slot_key = null, expires_at = null")
                        .seenByContract("Store", "theEndOfAReleasedLeaseIsNeverNull"));
    }
}
