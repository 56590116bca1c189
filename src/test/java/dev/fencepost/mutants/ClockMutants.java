package dev.fencepost.mutants;

import static dev.fencepost.mutants.Mutant.mutant;

import java.util.List;

/** Boundaries of a lease, the clock that they are compared with, waits, and what a COMMIT is worth. */
final class ClockMutants {

    private ClockMutants() {}

    private static final String LOCK = "select resource from lease where resource = :resource {for_update}";
    private static final String LOCK_ITEM = "select id from work_item where id = :id {for_update}";

    static List<Mutant> all() {
        return List.of(
                // ---- boundaries
                mutant("a lease that ends now is not free yet: < for <= at claims")
                        .sqlOf("Dialect", "expires_at <= :boot_now", "expires_at < :boot_now")
                        .sqlOf("Dialect", "expires_at <= clock_timestamp()", "expires_at < clock_timestamp()")
                        .seenByContract("Store", "theInstantOfTheEndIsReassignableAndTheOneBeforeIsNot")
                        .seenByContract("Work", "theInstantOfTheEndIsReassignableAndTheOneBeforeIsNot"),
                mutant("a lease is free an instant before its end: at claims")
                        .sqlOf("Dialect", "expires_at <= :boot_now", "expires_at <= :boot_now + 1")
                        .sqlOf(
                                "Dialect",
                                "expires_at <= clock_timestamp()",
                                "expires_at <= clock_timestamp() + interval '1 microsecond'")
                        .seenByContract("Store", "theInstantOfTheEndIsReassignableAndTheOneBeforeIsNot")
                        .seenByContract("Work", "theInstantOfTheEndIsReassignableAndTheOneBeforeIsNot"),
                mutant("a lease that ends now is still good: <= for < at renewals and completions")
                        .sqlOf("Dialect", "(:boot_now < ", "(:boot_now <= ")
                        .sqlOf("Dialect", "clock_timestamp() < ", "clock_timestamp() <= ")
                        .seenByContract(
                                "Store",
                                "atItsEndALeaseIsNotRenewedAlthoughNobodyTookIt",
                                "itCountsUntilTheLastInstantOfTheLeaseAndNoLonger")
                        .seenByContract(
                                "Work",
                                "atItsEndALeaseIsGoodForNothingButARelease",
                                "theInstantOfTheEndIsTooLateAndTheOneBeforeIsNot")
                        .seenByContract("Outbox", "itBeginsUntilTheLastInstantOfTheLeaseAndNoLonger"),

                // ---- whose clock
                mutant("expiry by the clock of the node that asks, not the database's")
                        .java(
                                "edge/jdbc/Dialect",
                                "public Map<String, @Nullable Object> clocks() { return Map.of();",
                                "public Map<String, @Nullable Object> clocks() {"
                                        + " return Map.of(\"wall_now\", Instant.now());")
                        .sqlOf("Dialect", "clock_timestamp()", ":wall_now")
                        .seenOnPostgres("Store", "theInstantOfTheEndIsReassignableAndTheOneBeforeIsNot")
                        .seenOnPostgres("Work", "theInstantOfTheEndIsReassignableAndTheOneBeforeIsNot"),
                mutant("SQLite: expiry by the wall clock, not the boot clock")
                        .java("edge/jdbc/Dialect", "time.bootMillis()", "time.wallClock().toEpochMilli()")
                        .seenBy("store.SqliteFileTest", "aWallClockThatIsSetHarmsNoLeaseAndRevivesNone")
                        .seenOnSqlite("Work", "aWallClockThatIsSetMovesNoEnd"),
                mutant("SQLite: a lease from before a reboot lives")
                        .java("edge/jdbc/Dialect", "time.bootId()", "\"one boot\"")
                        .seenBy("store.SqliteFileTest", "afterARebootEveryEarlierLeaseIsDead")
                        .seenOnSqlite("Work", "aLeaseFromBeforeAReboot"),

                // ---- after a wait (2.8 a and b, 3.13)
                mutant(
                                "PostgreSQL: the clock stands still in a transaction: now() for clock_timestamp() where a lease is live")
                        .sqlOf("Dialect", "clock_timestamp() < ", "now() < ")
                        .seenBy(
                                "store.PostgresTrapsTest",
                                "aRenewalThatWaitedPastTheEndIsRefused",
                                "aCompletionThatWaitedPastTheEndIsRefused"),
                mutant("PostgreSQL: the end counts from before the wait: now() for clock_timestamp() at grants")
                        .sqlOf("Dialect", "expires_at = clock_timestamp() + ", "expires_at = now() + ")
                        .seenBy("store.PostgresTrapsTest", "theEndOfAGrantCountsFromAfterTheWait")
                        .seenBy("store.PostgresWorkTrapsTest", "theEndOfAGrantCountsFromAfterTheWait"),
                mutant("PostgreSQL: a claim takes the end of its insert (2.8 b)")
                        .sqlOf(
                                "JdbcLeases",
                                "with locked as materialized ( select * from lease where resource = :resource {for_update})"
                                        + " update lease set owner = :owner, run_id = :run_id, slot_key = null,"
                                        + " fence = {next_fence lease}, {set_grant}, {set_expiry} from locked"
                                        + " where lease.resource = locked.resource and {dead locked}",
                                "insert into lease (resource, fence, owner, run_id, slot_key, granted_at, expires_at)"
                                        + " values (:resource, 0, :owner, :run_id, :slot_key, clock_timestamp(),"
                                        + " clock_timestamp() + :ttl * interval '1 millisecond') on conflict (resource)"
                                        + " do update set owner = excluded.owner, run_id = excluded.run_id,"
                                        + " granted_at = excluded.granted_at, expires_at = excluded.expires_at,"
                                        + " fence = lease.fence + 1 where lease.expires_at <= clock_timestamp()")
                        .seenBy("store.PostgresTrapsTest", "theEndOfAGrantCountsFromAfterTheWait"),
                mutant("PostgreSQL: a claim does not lock the row before it looks (2.8 a)")
                        .sqlOf(
                                "JdbcLeases",
                                "where resource = :resource {for_update}) update lease set owner",
                                "where resource = :resource) update lease set owner")
                        .seenBy("store.PostgresTrapsTest", "theEndOfAGrantCountsFromAfterTheWait"),
                mutant("PostgreSQL: a renewal does not lock the row before it looks (2.8 a)")
                        .sql(
                                "where resource = :resource {for_update}) update lease",
                                "where resource = :resource) update lease")
                        .seenBy("store.PostgresTrapsTest", "aRenewalThatWaitedPastTheEndIsRefused"),
                mutant("PostgreSQL: claims and completions do not lock the row before they look (2.8 a)")
                        .sql(LOCK, "select resource from lease where resource = :resource")
                        .seenBy("store.PostgresTrapsTest", "aCompletionThatWaitedPastTheEndIsRefused"),
                mutant("PostgreSQL: an unknown outcome is read back without a lock")
                        .sqlOf("JdbcTicks", LOCK, "select resource from lease where resource = :resource")
                        .seenBy("store.PostgresTrapsTest", "theReadBackOfAnAttemptWaitsForTheOneWhoWritesIt"),
                mutant("PostgreSQL: work is not locked before it is looked at")
                        .sql(LOCK_ITEM, "select id from work_item where id = :id")
                        .seenBy("store.PostgresWorkTrapsTest", "whatWaitedForTheRowPastTheEndIsRefused"),
                mutant("PostgreSQL: results together do not lock their items")
                        .sql("order by work_item.id {for_update}", "order by work_item.id")
                        .seenBy("store.PostgresWorkTrapsTest", "ofResultsTogetherThoseThatAreInTimeAreStored"),
                mutant("SQLite: the clock is read when a call comes, not when it has the lock")
                        .java(
                                "edge/jdbc/SqliteDatabase",
                                "final Work<T> work;",
                                "final Work<T> work; java.util.Map<String, Object> clocks = java.util.Map.of();")
                        .java(
                                "edge/jdbc/SqliteDatabase",
                                "queue.add(turn); Duration wait",
                                "turn.clocks = new java.util.HashMap<>(dialect.clocks()); queue.add(turn); Duration wait")
                        .java(
                                "edge/jdbc/SqliteDatabase",
                                "new Session(open.statements, dialect, prepared)",
                                "new Session(open.statements, dialect, prepared, turn.clocks)")
                        .java(
                                "edge/jdbc/Session",
                                "Session(Statements statements, Dialect dialect, Prepared prepared) {",
                                "Session(Statements statements, Dialect dialect, Prepared prepared, Map<String, Object> clocks) {"
                                        + " this.statements = statements; this.dialect = dialect; this.prepared = prepared;"
                                        + " this.clocks = clocks; }"
                                        + " Session(Statements statements, Dialect dialect, Prepared prepared) {")
                        .seenBy(
                                "store.SqliteFileTest",
                                "aRenewalThatWaitedPastTheEndIsRefused",
                                "theEndOfAGrantCountsFromAfterTheWait"),
                mutant("SQLite: a transaction takes the lock when it first writes: deferred for immediate")
                        .java("edge/jdbc/SqliteDatabase", "open.run(\"begin immediate\")", "open.run(\"begin\")")
                        .seenBy("store.SqliteFileTest", "aRenewalThatWaitedPastTheEndIsRefused"),

                // ---- durability and tokens across a failover
                mutant("SQLite: synchronous=NORMAL, a commit may be lost at power loss")
                        .java("edge/jdbc/SqliteDatabase", "\"synchronous\", \"FULL\"", "\"synchronous\", \"NORMAL\"")
                        .seenBy("store.SqliteFileTest", "grantsAreCommittedWithFullSync"),
                mutant("SQLite: somebody is answered before the commit")
                        .java("edge/jdbc/SqliteDatabase", "carryOut(turn, open);", "carryOut(turn, open); turn.tell();")
                        .seenBy("edge.jdbc.SqliteWriterTest", "nobodyIsAnsweredBeforeTheCommit"),
                mutant("PostgreSQL: synchronous_commit is what the server's default says")
                        .sqlOf("PostgresDatabase", "set synchronous_commit to on; ", "")
                        .seenBy("store.PostgresTrapsTest", "grantsAreCommittedDurablyWhateverTheDefault")
                        .seenBy("store.PostgresWorkTrapsTest", "grantsAreCommittedDurablyWhateverTheDefault"),
                mutant("PostgreSQL: a connection that died at COMMIT is taken for a rollback")
                        .java(
                                "edge/jdbc/PostgresDatabase",
                                "return committing ? Kind.AMBIGUOUS : Kind.UNAVAILABLE;",
                                "return Kind.UNAVAILABLE;")
                        .seenBy("store.PostgresTrapsTest", "aConnectionThatDiesAtTheCommitLeavesTheOutcomeUnknown"),
                mutant("PostgreSQL: after a promotion tokens go on from what the standby had")
                        .java(
                                "edge/jdbc/Dialect",
                                "timelineKnown ? FENCE_BY_TIMELINE.formatted(alias) : alias",
                                "alias")
                        .seenBy("store.PostgresTrapsTest", "aNewTimelineBeginsWhereItsPredecessorNeverWas")
                        .seenBy("store.PostgresWorkTrapsTest", "aNewTimelineBeginsWhereItsPredecessorNeverWas"),
                mutant("PostgreSQL: a token follows the timeline even where that falls")
                        .sqlOf("Dialect", "greatest(%sfence + 1, ((('x'", "greatest(0, ((('x'")
                        .seenBy("store.PostgresTrapsTest", "aNewTimelineBeginsWhereItsPredecessorNeverWas"),
                mutant("PostgreSQL: renewals wait in the pool of everything else")
                        .java("edge/jdbc/PostgresDatabase", "urgency == Urgency.URGENT ? urgent : normal", "normal")
                        .seenBy("store.PostgresTrapsTest", "aRenewalAndACompletionNeedNoConnectionOfTheOtherPool"),
                mutant("SQLite: renewals wait behind everything else")
                        .java(
                                "edge/jdbc/SqliteDatabase",
                                "Comparator.<Turn<?>, Urgency>comparing(turn -> turn.urgency).thenComparing(turn -> turn.number)",
                                "Comparator.<Turn<?>, Long>comparing(turn -> turn.number)")
                        .seenBy("store.SqliteFileTest", "renewalsAndCompletionsGoFirst"));
    }
}
