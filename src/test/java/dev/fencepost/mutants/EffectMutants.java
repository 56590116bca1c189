package dev.fencepost.mutants;

import static dev.fencepost.mutants.Mutant.mutant;

import java.util.List;

/** The outbox, who sends from it, and the sinks. */
final class EffectMutants {

    private EffectMutants() {}

    static List<Mutant> all() {
        return List.of(
                // ---- announcing
                mutant("an effect overwrites one of the same key: insert or replace")
                        .sqlOf(
                                "JdbcOutbox",
                                "{now}, {now}, {now}, :size) on conflict (key) do nothing",
                                "{now}, {now}, {now}, :size) on conflict (key) do update set digest = excluded.digest,"
                                        + " size = excluded.size")
                        .java(
                                "edge/jdbc/JdbcOutbox",
                                "session.one(STORE_CONTENT, params);",
                                "session.one(Sql.of(\"delete from effect_content where key = :key\"), params);"
                                        + " session.one(STORE_CONTENT, params);")
                        .seenByContract("Outbox", "aKeyThatIsThereWithOtherContentStopsTheWholeCompletion"),
                mutant("a key with other content is taken for the same effect")
                        .java(
                                "edge/jdbc/JdbcOutbox",
                                "if (!before.text(\"digest\").equals(effect.digest())) {",
                                "if (false) {")
                        .seenByContract("Outbox", "aKeyThatIsThereWithOtherContentStopsTheWholeCompletion"),
                mutant("the key of an effect is the attempt's, not the slot's")
                        .java(
                                "edge/sink/Publisher",
                                "return Announcement.keyOf(slot.idempotencyKey(job.id()), name);",
                                "return Announcement.keyOf(slot.idempotencyKey(job.id()) + \"#\" + attempt, name);")
                        .seenBy("edge.sink.EffectLinesTest", "linesBecomeAnnouncements"),
                mutant("the key of an effect is the time, not the slot's")
                        .java("schedule/Slot", "return job + \"@\" + key;", "return job + \"@\" + System.nanoTime();")
                        .seenBy("edge.sink.EffectLinesTest", "linesBecomeAnnouncements")
                        .seenBy("run.JobLoopPoliciesTest", "jitterPutsTheFirstTryOffByAPartThatIsAlwaysTheSame"),

                // ---- turns
                mutant("the outbox is read from where it was read up to: a cursor")
                        .sqlOf(
                                "JdbcOutbox",
                                "and t.settled_at is null and (t.state = 'SENDING'",
                                "and t.settled_at is null and t.id > (select coalesce(max(x.id), 0) from effect x"
                                        + " where x.settled_at is not null) and (t.state = 'SENDING'")
                        .seenBySimulation(1)
                        .seenOnPostgres("Outbox", "aSlowTransactionWithASmallerIdIsNotLost"),
                mutant("effects go out as they were announced, not in the order of their tokens")
                        .sqlOf("JdbcOutbox", "order by t.fence, t.id limit 1", "order by t.id limit 1")
                        .seenByContract("Outbox", "aPairGoesInTheOrderOfTokensThenOfAnnouncement"),
                mutant("what is unknown and too old holds back its pair")
                        .sqlOf("JdbcOutbox", "and (t.state = 'SENDING' or t.expires_at > (select {now}))", "")
                        .seenByContract("Outbox", "whatIsOpenHoldsBackItsOwnPairAloneAndOnlyUntilItsMaxAge"),
                mutant("an effect is due an instant late: < for <=")
                        .sqlOf("JdbcOutbox", "(next_at <= (select {now})", "(next_at < (select {now})")
                        .seenByContract("Outbox", "anEffectIsDueAtItsVeryInstant"),

                // ---- sending
                mutant("an effect begins without the lease of its pair")
                        .java(
                                "edge/jdbc/JdbcOutbox",
                                "turn(\":resource\") + \" and\" + LIVE + \" returning id\"",
                                "turn(\":resource\") + \" returning id\"")
                        .seenByContract("Outbox", "nothingBeginsWithoutEachPartOfTheLease"),
                mutant("an effect begins although somebody else has begun it")
                        .sqlOf(
                                "JdbcOutbox",
                                "where key = :key and pair = :resource and state = :state and tries = :tries and last_sent_at is not distinct from :last_sent_at",
                                "where key = :key and pair = :resource")
                        .seenByContract("Outbox", "anEffectThatIsNoLongerAsItWasReadDoesNotBegin"),
                mutant("an effect begins before its turn")
                        .java(
                                "edge/jdbc/JdbcOutbox",
                                "and id = \" + turn(\":resource\") + \" and\" + LIVE",
                                "and\" + LIVE")
                        .seenByContract("Outbox", "onlyTheFirstOfAPairCanBegin"),
                mutant("a beginning that finds no row is taken for a success")
                        .java(
                                "edge/jdbc/JdbcOutbox",
                                "if (session.one(BEGIN, params).first() == null) {",
                                "if (session.one(BEGIN, params).first() == null && false) {")
                        .seenByContract("Outbox", "nothingBeginsWithoutEachPartOfTheLease"),
                mutant("nobody writes down that an effect is being sent")
                        .java(
                                "effect/Dispatcher",
                                "switch (begin(turn, effect)) {",
                                "switch ((Begun) new Begun.Sending()) {")
                        .seenBySimulation(1)
                        .seenBy("effect.DispatcherTest", "anEffectIsSentOnceAndItsReceiptStored"),
                mutant("an older token is sent after a newer one")
                        .java(
                                "edge/jdbc/JdbcOutbox",
                                "if (!row.truth(\"override_fence\") && !known.lets(token(row), run(row))) {",
                                "if (false) {")
                        .seenByContract("Outbox", "anOlderTokenThanWasSentIsRefusedWithBothTokens"),
                mutant("a twin passes with the same token: >= for >")
                        .java("effect/Fence", "return token.value() > fence || (", "return token.value() >= fence || (")
                        .seenBy("effect.FenceTest", "theSameTokenPassesForItsOwnRunAlone")
                        .seenByContract("Outbox", "aTwinWithTheSameTokenIsRefusedAndTheSameRunPasses")
                        .seenBy("edge.sink.FileSinkTest", "theSameTokenPassesForItsRunAndNotForATwin"),
                mutant("a run's second effect does not pass")
                        .java("effect/Fence", "|| (token.value() == fence && run.equals(runId))", "")
                        .seenBy("effect.FenceTest", "theSameTokenPassesForItsOwnRunAlone"),
                mutant("the highest token sent falls")
                        .sqlOf(
                                "JdbcOutbox",
                                "set fence = excluded.fence, run_id = excluded.run_id where sink_fence.fence < excluded.fence",
                                "set fence = excluded.fence, run_id = excluded.run_id")
                        .seenByContract("Outbox", "aNewerTokenNeedsAnOverrideWhichIsRecorded"),
                mutant("the highest token sent is not written down")
                        .java("edge/jdbc/JdbcOutbox", "session.one(ADVANCE, params);", "")
                        .seenByContract("Outbox", "itIsWrittenDownBeforeItIsSent")
                        .seenBy("effect.DispatcherTest", "anOlderTokenIsNotSentAfterANewerOneUnlessAPersonInsists"),
                mutant("an effect is confirmed before it is sent")
                        .java(
                                "effect/Dispatcher",
                                "Settlement settlement = turn.lasts(sink.timeLimit()) ?",
                                "outbox.sent(turn.lease, effect, new Settlement(EffectState.CONFIRMED, new Receipt(\"sent\"),"
                                        + " null, null, false, false, null));"
                                        + " Settlement settlement = turn.lasts(sink.timeLimit()) ?")
                        .seenBySimulation(2)
                        .seenBy("effect.DispatcherTest", "anEffectIsSentOnceAndItsReceiptStored"),
                mutant("what is sent may be sent long after the lease was looked at")
                        .java(
                                "effect/Dispatcher",
                                "Settlement settlement = turn.lasts(sink.timeLimit()) ?",
                                "Settlement settlement = true ?")
                        .seenBy("effect.DispatcherTest", "aSenderThatWasFrozenAfterItsLastCheckSendsNothing"),
                mutant("whoever sends is called dead")
                        .java("effect/Dispatcher", ": provablyDead.test(lease.owner());", ": true;")
                        .seenBySimulation(1),

                // ---- what became of it
                mutant("what a dead sender left is sent again")
                        .sql("set state = 'UNKNOWN'", "set state = 'PENDING'")
                        .seenBySimulation(8)
                        .seenByContract("Outbox", "whatADeadSenderLeftBecomesUnknown"),
                mutant("what a living sender is sending is taken for a dead one's")
                        .sqlOf("JdbcOutbox", "and not (sender_run_id = :run_id and sender_fence = :fence) and", "and")
                        .seenByContract("Outbox", "whatADeadSenderLeftBecomesUnknown"),
                mutant("an unknown outcome is taken for \"not sent\"")
                        .java(
                                "effect/Judge",
                                "unknown(lost.reason(), sink.isIdempotent() ? backoff(tries) : ASK_SOON, false);",
                                "notSent(effect, tries, lost.reason(), null);")
                        .seenBySimulation(2)
                        .seenBy(
                                "effect.DispatcherTest",
                                "anUnknownOutcomeThatNobodyCanTellWaitsForAPersonAndIsNeverSentAgain"),
                mutant("\"cannot tell\" is taken for \"surely absent\"")
                        .java(
                                "effect/Dispatcher",
                                "if (seen instanceof ReadBack.CannotTell && sink.isIdempotent()",
                                "if (seen instanceof ReadBack.CannotTell")
                        .seenBy(
                                "effect.DispatcherTest",
                                "anUnknownOutcomeThatNobodyCanTellWaitsForAPersonAndIsNeverSentAgain"),
                mutant("a \"no\" to the last try is taken for a \"no\" to all")
                        .java(
                                "effect/Dispatcher",
                                "return effect.mayBeSent() && Judge.isNo(settlement)",
                                "return false && Judge.isNo(settlement)")
                        .seenBy("effect.DispatcherTest", "aNoAfterAnUnknownTryStaysUnknownUnlessTheSinkCanTell"),
                mutant("a try that surely failed makes an earlier unknown one forgotten")
                        .java(
                                "effect/Judge",
                                "return effect.mayBeSent() ? unknown(reason, nextIn, false)",
                                "return false ? unknown(reason, nextIn, false)")
                        .seenBy("effect.DispatcherTest", "aTryThatSurelyFailedDoesNotMakeAnEarlierUnknownOneForgotten"),
                mutant("what came of a try is stored by another sender's word")
                        .sqlOf(
                                "JdbcOutbox",
                                "where key = :key and pair = :resource and sender_run_id = :run_id and sender_fence = :fence and (state",
                                "where key = :key and pair = :resource and (state")
                        .seenByContract("Outbox", "anotherThanTheSenderStoresNothing"),
                mutant("what came of a try is taken for stored where no row was found")
                        .java(
                                "edge/jdbc/JdbcOutbox",
                                "return session.one(SENT_BEFORE, params).first() != null;",
                                "return true;")
                        .seenByContract("Outbox", "itIsNotStoredWhereNothingBegan"),
                mutant("an end is changed by a later one")
                        .sqlOf(
                                "JdbcOutbox",
                                "and sender_fence = :fence and (state = 'SENDING' or state = 'UNKNOWN' and :state <> 'UNKNOWN')",
                                "and sender_fence = :fence")
                        .seenByContract("Outbox", "anEndIsNotChangedByALaterOne"),
                mutant("a read-back is stored without the lease")
                        .sqlOf(
                                "JdbcOutbox",
                                "and state = 'UNKNOWN' and exists (select 1 from lease l where l.resource = :resource and l.owner = :owner and l.fence = :fence and l.run_id = :run_id and {live l}) returning id",
                                "and state = 'UNKNOWN' returning id")
                        .seenByContract("Outbox", "itNeedsEachPartOfALiveLease"),
                mutant("a sink that checks nothing gets no lock-delay")
                        .java(
                                "edge/jdbc/JdbcOutbox",
                                "if (!adopted.isEmpty() && lockDelay.isPositive()) {",
                                "if (false) {")
                        .seenByContract("Outbox", "whatIsPendingWaitsForTheLockDelayAndWhatIsUnknownDoesNot")
                        .seenBy("effect.DispatcherTest", "aSinkThatChecksNothingIsLeftAloneForTheLockDelay"),
                mutant("what is too old is sent all the same")
                        .sqlOf(
                                "JdbcOutbox",
                                "where state = 'PENDING' and expires_at <= (select {now})",
                                "where false and expires_at <= (select {now})")
                        .seenByContract("Outbox", "whatIsPendingAndTooOldExpiresAtThatInstantAndWaitsForAPerson"),
                mutant("what is being sent expires")
                        .sqlOf(
                                "JdbcOutbox",
                                "where state = 'PENDING' and expires_at <= (select {now})",
                                "where settled_at is null and expires_at <= (select {now})")
                        .sqlOf(
                                "JdbcOutbox",
                                "where state = 'PENDING' and id in (select id from chosen)",
                                "where id in (select id from chosen)")
                        .seenByContract("Outbox", "noOtherStateExpires"),
                mutant("a person sends an older token again without an override")
                        .java(
                                "edge/jdbc/JdbcOutbox",
                                "if (again && !override && !known.lets(token(row), run(row))) {",
                                "if (false) {")
                        .seenByContract("Outbox", "aNewerTokenNeedsAnOverrideWhichIsRecorded"),
                mutant("an override lasts")
                        .sqlOf(
                                "JdbcOutbox",
                                "override_fence = :override,",
                                "override_fence = (override_fence or :override),")
                        .seenByContract("Outbox", "anOverrideEndsWithTheRetryItWasGivenFor"),

                // ---- sinks
                mutant("the file sink does not look at the token")
                        .java(
                                "edge/sink/FileSink",
                                "if (!fence.highest().lets(effect.fence(), effect.runId()) && !effect.override()) {",
                                "if (false) {")
                        .seenBy("edge.sink.FileSinkTest", "aLowerTokenIsRefusedAndTheNewestNamed"),
                mutant("the file sink lowers its token when a person lets an older one pass")
                        .java(
                                "effect/Fence",
                                "return token.value() > fence ? new Fence(token.value(), run) : this;",
                                "return new Fence(token.value(), run);")
                        .seenBy("edge.sink.FileSinkTest", "aPersonsWordLetsALowerTokenPassAndDoesNotLowerTheFence")
                        .seenBy("effect.FenceTest", "aFenceNeverFalls"),
                mutant("the file sink advances its token after the file has its name")
                        .java("edge/sink/FileSink", "locked.store(fence.about(placed)); steps.done(Step.ADVANCED);", "")
                        .java(
                                "edge/sink/FileSink",
                                "steps.done(Step.RENAMED);",
                                "steps.done(Step.RENAMED); locked.store(fence.about(placed)); steps.done(Step.ADVANCED);")
                        .seenBy("edge.sink.FileSinkTest", "theStepsComeInTheOrderThatMakesEachDurableBeforeTheNext"),
                mutant("the file sink forgets the keys that it has seen")
                        .java(
                                "edge/sink/FileSink",
                                "if (before != null) { return new Delivery.Confirmed(before.receipt());",
                                "if (false) { return new Delivery.Confirmed(before.receipt());")
                        .seenBy("edge.sink.FileSinkTest", "aKeySeenBeforeGetsItsFirstReceiptAndTouchesNothing"),
                mutant("a torn fence file is taken for none")
                        .java(
                                "edge/sink/FileFence",
                                "throw new IOException(\"it is not a fence file, or not a whole one\");",
                                "return NONE;")
                        .seenBy("edge.sink.FileSinkTest", "aFenceFileThatCannotBeReadStopsEverything"),
                mutant("HTTP: 409 is taken for done")
                        .java("edge/sink/HttpSink", "case 409, 412 ->", "case 412 ->")
                        .java(
                                "edge/sink/HttpSink",
                                "case 2 -> new Delivery.Confirmed(",
                                "case 2, 4 -> new Delivery.Confirmed(")
                        .java("edge/sink/HttpSink", "case 3, 4 ->", "case 3 ->")
                        .seenBy("edge.sink.HttpSinkTest", "whatAnAnswerMeans"),
                mutant("HTTP: a broken connection is taken for \"not sent\"")
                        .java(
                                "edge/sink/HttpSink",
                                "case Outcome.Lost lost -> new Delivery.Unknown(lost.reason());",
                                "case Outcome.Lost lost -> new Delivery.NotNow(lost.reason(), null);")
                        .seenBy(
                                "edge.sink.HttpSinkTest",
                                "aConnectionThatBreaksBeforeTheStatusLeavesItUnknownAndIsNotTriedAgainByItself"),
                mutant("HTTP: 500 is taken for \"not done\"")
                        .java(
                                "edge/sink/HttpSink",
                                "default -> new Delivery.Unknown(words);",
                                "default -> new Delivery.NotNow(words, null);")
                        .seenBy("edge.sink.HttpSinkTest", "whatAnAnswerMeans"),
                mutant("HTTP: \"not found\" proves that it was never sent")
                        .java("edge/sink/HttpSink", "if (asked.absentAfter() == null) {", "if (false) {")
                        .java(
                                "edge/sink/HttpSink",
                                "if (effect.lastSentAt().plus(asked.absentAfter()).isAfter(effect.now())) {",
                                "if (false) {")
                        .seenBy("edge.sink.HttpSinkTest", "whatAReadBackMeans"),
                mutant("git: the branch is pushed whatever it was before")
                        .java(
                                "edge/sink/GitRepository",
                                "words.add(\"--force-with-lease=\" + update.ref() + \":\" + (update.old() == null ? \"\" : update.old()));",
                                "words.add(\"--force\");")
                        .seenBy("edge.sink.GitSinkTest", "aNewerTokenThatComesBetweenTheLookAndThePushWins"),
                mutant("git: branch and token are pushed apart")
                        .java("edge/sink/GitRepository", "\"--atomic\",", "")
                        .seenBy("edge.sink.GitSinkTest", "hiddenRefsAndMissingAtomicityAreSaid"),
                mutant("git: the token in the remote is not looked at")
                        .java(
                                "edge/sink/GitSink",
                                "if (!accepted.lets(effect.fence(), effect.runId()) && !effect.override()) {",
                                "if (false) {")
                        .seenBy("edge.sink.GitSinkTest", "anOldTokenIsRefusedByTheRemoteItself"),
                mutant("git: the tip alone is searched for the key")
                        .java(
                                "edge/sink/TokenChain",
                                "List.of(\"log\", \"-z\", \"--format=%B\")",
                                "List.of(\"log\", \"-z\", \"-1\", \"--format=%B\")")
                        .seenBy("edge.sink.GitSinkTest", "theWholeChainIsSearchedAndOnlyForTheExactKey"));
    }
}
