package dev.fencepost.effect;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.effect.Outbox.Begun;
import dev.fencepost.effect.Outbox.Order;
import dev.fencepost.host.Event;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.History.WriteEvent;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Rig;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.Slot;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With a real SQLite store and sinks that answer as they are told. */
class DispatcherTest {

    private static final Duration MAX_AGE = Duration.ofHours(24);
    private static final Owner OTHER = new Owner("other");

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @SuppressWarnings("NullAway.Init")
    private Rig rig;

    private final Job a = Rig.job("a");
    private final Job b = Rig.job("b");
    private int announced;
    private @Nullable Announcement large;

    @BeforeEach
    void open() {
        rig = new Rig(folder);
        rig.real.register(List.of(a, b));
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private static Announcement to(String sink, String key) {
        Content content = new Content("text/plain", null, ("body of " + key).getBytes(StandardCharsets.UTF_8));
        return new Announcement("note", key, sink, content, content.digest(sink), MAX_AGE);
    }

    /** A run that succeeds and announces these to the sink {@code announce}. Returns its token. */
    private long announce(Job job, String... keys) {
        return announceTo("announce", job, keys);
    }

    private long announceTo(String sink, Job job, String... keys) {
        Slot slot = new Slot("s" + ++announced, rig.time.wallClock());
        Start.Started run = assertInstanceOf(
                Start.Started.class, rig.real.start(job, slot, rig.owner, new RunId(new UUID(3, announced)), false));
        List<Announcement> effects = List.of(keys).stream()
                .map(key -> large == null ? to(sink, key) : large)
                .toList();
        Completion done = new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, new byte[0], null, effects);
        assertInstanceOf(Completed.Stored.class, rig.real.complete(run.lease(), done));
        return run.lease().fence().value();
    }

    private void dispatch() {
        rig.dispatcher.wake();
        rig.spawner.runAll();
    }

    private EffectView view(String key) {
        return Objects.requireNonNull(rig.real.effect(key), key);
    }

    private EffectState state(String key) {
        return view(key).state();
    }

    private List<WriteEvent> writeEvents(String key) {
        return rig.real.events(100).stream()
                .filter(event -> key.equals(event.effect()))
                .toList();
    }

    @Test
    void anEffectIsSentOnceAndItsReceiptStored() {
        long fence = announce(a, "k1");
        dispatch();
        dispatch();
        assertEquals(List.of("k1"), rig.sink.sentKeys());
        assertEquals(fence, rig.sink.sent.getFirst().fence().value());
        assertArrayEquals(
                "body of k1".getBytes(StandardCharsets.UTF_8),
                rig.sink.sent.getFirst().content().bytes());
        assertEquals(EffectState.CONFIRMED, state("k1"));
        assertEquals("receipt of k1", view("k1").receipt());
        WriteEvent event = writeEvents("k1").getFirst();
        assertTrue(event.accepted());
        assertEquals("a", event.resource());
        assertEquals(fence, event.fence());
        assertEquals(
                List.of("CONFIRMED"),
                rig.events(Event.EffectChanged.class).stream()
                        .map(Event.EffectChanged::state)
                        .toList());
    }

    @Test
    void effectsOfAPairGoOutInTheOrderOfTheirTokens() {
        announce(a, "k1", "k2");
        announce(a, "k3");
        dispatch();
        assertEquals(List.of("k1", "k2", "k3"), rig.sink.sentKeys());
    }

    @Test
    void aSinkThatIsDownHoldsBackItsOwnPairsAlone() {
        announce(a, "k1", "k2");
        announceTo("site", b, "k3");
        rig.sink.deliveries.add(new Delivery.NotNow("connection refused", null));
        dispatch();
        assertEquals(List.of("k1"), rig.sink.sentKeys());
        assertEquals(EffectState.PENDING, state("k1"));
        assertEquals("connection refused", view("k1").reason());
        assertEquals(EffectState.CONFIRMED, state("k3"));
    }

    @Test
    void aTryThatSurelyFailedIsMadeAgainLaterWithTheSameKeyAndBytes() {
        announce(a, "k1", "k2");
        rig.sink.deliveries.add(new Delivery.NotNow("503", null));
        dispatch();
        dispatch();
        assertEquals(1, rig.sink.sent.size());
        rig.time.pass(Duration.ofSeconds(1));
        dispatch();
        assertEquals(List.of("k1", "k1", "k2"), rig.sink.sentKeys());
        assertArrayEquals(
                rig.sink.sent.get(0).content().bytes(),
                rig.sink.sent.get(1).content().bytes());
        assertEquals(2, view("k1").tries());
    }

    @Test
    void theSinksOwnWishForALaterTimeIsHonoured() {
        announce(a, "k1");
        rig.sink.deliveries.add(new Delivery.NotNow("429", Duration.ofMinutes(5)));
        dispatch();
        rig.time.pass(Duration.ofSeconds(299));
        dispatch();
        assertEquals(1, rig.sink.sent.size());
        rig.time.pass(Duration.ofSeconds(1));
        dispatch();
        assertEquals(EffectState.CONFIRMED, state("k1"));
    }

    @Test
    void anUnknownOutcomeThatIsFoundAtTheSinkIsConfirmedAndNotSentAgain() {
        announce(a, "k1");
        rig.sink.deliveries.add(new Delivery.Unknown("time-out"));
        rig.sink.readBacks.add(new ReadBack.Found(new Receipt("seen there")));
        dispatch();
        assertEquals(EffectState.UNKNOWN, state("k1"));
        rig.time.pass(Duration.ofSeconds(1));
        dispatch();
        assertEquals(EffectState.CONFIRMED, state("k1"));
        assertEquals("seen there", view("k1").receipt());
        assertEquals(1, rig.sink.sent.size());
    }

    @Test
    void anUnknownOutcomeThatIsSurelyAbsentIsSentAgain() {
        announce(a, "k1");
        rig.sink.deliveries.add(new Delivery.Unknown("reset"));
        rig.sink.readBacks.add(new ReadBack.Absent("not there"));
        dispatch();
        rig.time.pass(Duration.ofSeconds(1));
        dispatch();
        assertEquals(EffectState.PENDING, state("k1"));
        rig.time.pass(Duration.ofSeconds(1));
        dispatch();
        assertEquals(EffectState.CONFIRMED, state("k1"));
        assertEquals(2, rig.sink.sent.size());
        assertArrayEquals(
                rig.sink.sent.get(0).content().bytes(),
                rig.sink.sent.get(1).content().bytes());
    }

    @Test
    void whatIsAbsentAfterEachTryIsSentAgainMoreAndMoreSeldom() {
        announce(a, "k1");
        for (int i = 0; i < 1_000; i++) {
            rig.sink.deliveries.add(new Delivery.Unknown("cut"));
            rig.sink.readBacks.add(new ReadBack.Absent("not there"));
        }
        for (int second = 0; second < 600; second++) {
            dispatch();
            rig.time.pass(Duration.ofSeconds(1));
        }
        assertTrue(rig.sink.sent.size() > 5, "" + rig.sink.sent.size());
        assertTrue(rig.sink.sent.size() < 15, "" + rig.sink.sent.size());
    }

    @Test
    void aReadBackThatTakesLongLeavesTimeToSendAgain() {
        announce(a, "k1");
        rig.sink.idempotent = true;
        rig.sink.deliveries.add(new Delivery.Unknown("time-out"));
        rig.sink.whileReadingBack = () -> rig.time.pass(Duration.ofSeconds(29));
        for (int i = 0; i < 5; i++) {
            dispatch();
            rig.time.pass(Duration.ofSeconds(10));
        }
        assertEquals(EffectState.CONFIRMED, state("k1"));
        assertEquals(2, view("k1").tries());
    }

    @Test
    void aSlowSinkWithManyPairsLeavesRoomForOthers() {
        for (int i = 0; i < 40; i++) {
            Job job = Rig.job("slow" + i);
            rig.real.register(List.of(a, b, job));
            announceTo("announce", job, "slow" + i);
        }
        announceTo("site", a, "quick");
        rig.dispatcher.wake();
        rig.spawner.runOne(); // the look, which starts what there is room for
        assertEquals(8 + 1, rig.spawner.waiting());
        rig.spawner.runAll();
        assertEquals(EffectState.CONFIRMED, state("quick"));
    }

    @Test
    void largeContentsAreNotInMemoryTogether() {
        Rig.Scripted sink = rig.sink;
        announceLarge(a, "k1", 9 << 20);
        announceLarge(b, "k2", 9 << 20);
        sink.whileSending = () -> {
            sink.whileSending = () -> {};
            try { // what another thread would do meanwhile
                rig.dispatcher.dispatch(new Pair("announce", "b"));
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            assertEquals(EffectState.PENDING, state("k2"));
        };
        dispatch();
        dispatch();
        assertEquals(List.of("k1", "k2"), sink.sentKeys());
        assertEquals(EffectState.CONFIRMED, state("k2"));
    }

    private void announceLarge(Job job, String key, int bytes) {
        Content content = new Content("text/plain", null, new byte[bytes]);
        large = new Announcement("note", key, "announce", content, content.digest("announce"), MAX_AGE);
        announce(job, key);
        large = null;
    }

    @Test
    void anUnknownOutcomeThatNobodyCanTellWaitsForAPersonAndIsNeverSentAgain() {
        announce(a, "k1", "k2");
        announce(b, "k3");
        rig.sink.deliveries.add(new Delivery.Unknown("time-out"));
        dispatch();
        for (int i = 0; i < 20; i++) {
            rig.time.pass(Duration.ofMinutes(10));
            dispatch();
        }
        assertEquals(List.of("k1", "k3"), rig.sink.sentKeys());
        assertEquals(EffectState.UNKNOWN, state("k1"));
        assertTrue(view("k1").waits());
        assertEquals(EffectState.PENDING, state("k2")); // of the same pair: it would overtake
    }

    @Test
    void anUnknownOneThatIsTooOldGivesUpItsTurnAndStaysUnknown() {
        announce(a, "k1");
        rig.sink.deliveries.add(new Delivery.Unknown("time-out"));
        dispatch();
        rig.time.pass(MAX_AGE.minusSeconds(1));
        announce(a, "k2");
        dispatch();
        assertEquals(List.of("k1"), rig.sink.sentKeys());
        rig.time.pass(Duration.ofSeconds(11));
        dispatch();
        assertEquals(List.of("k1", "k2"), rig.sink.sentKeys());
        assertEquals(EffectState.UNKNOWN, state("k1"));
        assertTrue(view("k1").waits());
    }

    @Test
    void aSinkThatKnowsKeysIsSentTheSameAgain() {
        announce(a, "k1");
        rig.sink.idempotent = true;
        for (int i = 0; i < 3; i++) {
            rig.sink.deliveries.add(new Delivery.Unknown("time-out"));
        }
        for (int i = 0; i < 10; i++) {
            dispatch();
            rig.time.pass(Duration.ofSeconds(10));
        }
        assertEquals(List.of("k1", "k1", "k1", "k1"), rig.sink.sentKeys());
        assertEquals(EffectState.CONFIRMED, state("k1"));
        rig.sink.sent.forEach(each -> assertArrayEquals(
                rig.sink.sent.getFirst().content().bytes(), each.content().bytes()));
    }

    @Test
    void aReadBackWithoutAnAnswerIsRepeatedAndToldToAPersonInTheEnd() {
        announce(a, "k1");
        rig.sink.deliveries.add(new Delivery.Unknown("time-out"));
        for (int i = 0; i < 5; i++) {
            rig.sink.readBacks.add(new ReadBack.NoAnswer("connection refused"));
        }
        rig.sink.readBacks.add(new ReadBack.Found(new Receipt("seen there")));
        dispatch();
        for (int i = 0; i < 4; i++) {
            rig.time.pass(Duration.ofMinutes(10));
            dispatch();
            assertEquals(false, view("k1").waits());
        }
        rig.time.pass(Duration.ofMinutes(10));
        dispatch();
        assertTrue(view("k1").waits());
        rig.time.pass(Duration.ofMinutes(10));
        dispatch();
        assertEquals(EffectState.CONFIRMED, state("k1"));
        assertEquals(false, view("k1").waits());
    }

    /** Somebody else's turn, up to the moment at which it has written down that it sends. */
    private Lease sendingOf(Owner who, String resource, String key) {
        Pair pair = new Pair("announce", resource);
        Lease lease = assertInstanceOf(
                        Claim.Granted.class,
                        rig.real.claim(
                                pair.leaseResource(), who, new RunId(new UUID(4, ++announced)), Duration.ofSeconds(60)))
                .lease();
        Effect effect = Objects.requireNonNull(rig.real.next(pair));
        assertEquals(key, effect.key());
        assertInstanceOf(Begun.Sending.class, rig.real.begin(lease, effect));
        return lease;
    }

    @Test
    void whatADeadSenderOfThisHostLeftIsReadBackAtOnce() {
        announce(a, "k1");
        sendingOf(OTHER, "a", "k1");
        dispatch();
        assertEquals(EffectState.SENDING, state("k1")); // it may be alive
        rig.children.dead.add(OTHER);
        rig.sink.readBacks.add(new ReadBack.Found(new Receipt("it had arrived")));
        dispatch();
        assertEquals(EffectState.CONFIRMED, state("k1"));
        assertEquals(List.of(), rig.sink.sent);
    }

    @Test
    void whatADeadSenderElsewhereLeftIsReadBackWhenItsLeaseIsOver() {
        announce(a, "k1");
        sendingOf(OTHER, "a", "k1");
        rig.time.pass(Duration.ofMillis(59_990));
        dispatch();
        assertEquals(EffectState.SENDING, state("k1"));
        rig.time.pass(Duration.ofMillis(10));
        rig.sink.readBacks.add(new ReadBack.Absent("not there"));
        dispatch();
        assertEquals(EffectState.PENDING, state("k1"));
        rig.time.pass(Duration.ofSeconds(1));
        dispatch();
        assertEquals(EffectState.CONFIRMED, state("k1"));
        assertEquals(List.of("k1"), rig.sink.readBack);
        assertEquals(List.of("k1"), rig.sink.sentKeys());
    }

    @Test
    void aSinkThatChecksNothingIsLeftAloneForTheLockDelay() {
        announce(a, "k1", "k2");
        sendingOf(OTHER, "a", "k1");
        rig.children.dead.add(OTHER);
        rig.sink.lockDelay = Duration.ofSeconds(15);
        rig.sink.readBacks.add(new ReadBack.Found(new Receipt("it had arrived")));
        dispatch();
        assertEquals(EffectState.CONFIRMED, state("k1"));
        rig.time.pass(Duration.ofMillis(14_990));
        dispatch();
        assertEquals(List.of(), rig.sink.sent);
        rig.time.pass(Duration.ofMillis(10));
        dispatch();
        assertEquals(List.of("k2"), rig.sink.sentKeys());
    }

    /** A sender that was frozen while it sent comes back after another has taken its pair over: what it knows is true all the same. */
    @Test
    void aLateAnswerIsStoredWhileNobodyHasSentAgain() {
        announce(a, "k1");
        Pair pair = new Pair("announce", "a");
        rig.sink.whileSending = () -> {
            rig.time.pass(Duration.ofMinutes(2));
            Lease thief = assertInstanceOf(
                            Claim.Granted.class,
                            rig.real.claim(pair.leaseResource(), OTHER, new RunId(new UUID(5, 5)), MAX_AGE))
                    .lease();
            rig.real.adopt(thief, pair, Duration.ZERO);
            assertEquals(EffectState.UNKNOWN, state("k1"));
        };
        dispatch();
        assertEquals(EffectState.CONFIRMED, state("k1"));
        assertEquals("receipt of k1", view("k1").receipt());
    }

    @Test
    void aSenderThatWasFrozenAfterItsLastCheckSendsNothing() {
        announce(a, "k1");
        rig.faults.meanwhile("begin", () -> rig.time.pass(Duration.ofMinutes(5)));
        dispatch();
        assertEquals(List.of(), rig.sink.sent);
        assertEquals(EffectState.PENDING, state("k1"));
    }

    @Test
    void aBeginningWithoutAnAnswerIsTakenBackSinceNothingWasSent() {
        announce(a, "k1");
        rig.faults.after("begin", new StoreException(Kind.AMBIGUOUS, "cut", null));
        dispatch();
        assertEquals(EffectState.PENDING, state("k1"));
        assertEquals(List.of(), rig.sink.sent);
        rig.time.pass(Duration.ofSeconds(1));
        dispatch();
        assertEquals(EffectState.CONFIRMED, state("k1"));
        assertEquals(List.of(), rig.sink.readBack);
    }

    @Test
    void anOlderTokenIsNotSentAfterANewerOneUnlessAPersonInsists() {
        long old = announce(a, "k1");
        rig.sink.deliveries.add(new Delivery.Dead("404", null));
        dispatch();
        assertEquals(EffectState.DEAD, state("k1"));
        assertTrue(view("k1").waits());
        long newer = announce(a, "k2");
        dispatch();
        assertEquals(EffectState.CONFIRMED, state("k2"));
        Optional<String> refused = rig.real.resolve("k1", Order.RETRY, "try again", false);
        assertTrue(refused.orElse("").contains(String.valueOf(old)), refused::toString);
        assertTrue(refused.orElse("").contains(String.valueOf(newer)), refused::toString);
        dispatch();
        assertEquals(List.of("k1", "k2"), rig.sink.sentKeys());
        assertEquals(Optional.empty(), rig.real.resolve("k1", Order.RETRY, "I know", true));
        dispatch();
        assertEquals(List.of("k1", "k2", "k1"), rig.sink.sentKeys());
        assertTrue(rig.sink.sent.getLast().override());
        assertEquals(EffectState.CONFIRMED, state("k1"));
    }

    @Test
    void aRefusalByTheSinkIsRecordedWithBothTokens() {
        long fence = announce(a, "k1");
        rig.sink.deliveries.add(new Delivery.Refused("409", 7L));
        dispatch();
        assertEquals(EffectState.REFUSED, state("k1"));
        WriteEvent event = writeEvents("k1").getFirst();
        assertEquals(false, event.accepted());
        assertEquals(fence, event.fence());
        assertEquals(7L, event.newestFence());
        Event.EffectChanged told = rig.events(Event.EffectChanged.class).getLast();
        assertEquals(7L, told.newestFence());
    }

    /** The first try may have arrived: "refused" would be a lie if it did. */
    @Test
    void aNoAfterAnUnknownTryStaysUnknownUnlessTheSinkCanTell() {
        announce(a, "k1");
        announce(b, "k2");
        rig.sink.idempotent = true;
        rig.sink.deliveries.add(new Delivery.Unknown("time-out"));
        rig.sink.deliveries.add(new Delivery.Unknown("time-out"));
        dispatch();
        rig.time.pass(Duration.ofSeconds(2));
        rig.sink.deliveries.add(new Delivery.Refused("409", null));
        rig.sink.deliveries.add(new Delivery.Dead("410", null));
        rig.sink.readBacks.add(new ReadBack.CannotTell("no read-back", false));
        rig.sink.readBacks.add(new ReadBack.CannotTell("no read-back", false));
        rig.sink.readBacks.add(new ReadBack.CannotTell("no read-back", false));
        rig.sink.readBacks.add(new ReadBack.Absent("surely not"));
        dispatch();
        assertEquals(EffectState.UNKNOWN, state("k1"));
        assertTrue(view("k1").waits());
        assertEquals(EffectState.DEAD, state("k2"));
        for (int i = 0; i < 5; i++) {
            rig.time.pass(Duration.ofMinutes(10));
            dispatch();
        }
        assertEquals(4, rig.sink.sent.size());
    }

    /** Else it could end as REFUSED or EXPIRED, as if it had never been sent. */
    @Test
    void aTryThatSurelyFailedDoesNotMakeAnEarlierUnknownOneForgotten() {
        announce(a, "k1");
        rig.sink.idempotent = true;
        rig.sink.deliveries.add(new Delivery.Unknown("time-out"));
        rig.sink.deliveries.add(new Delivery.NotNow("503", null));
        dispatch();
        rig.time.pass(Duration.ofSeconds(2));
        dispatch();
        assertEquals(2, rig.sink.sent.size());
        assertEquals(EffectState.UNKNOWN, state("k1"));
        rig.time.pass(Duration.ofMinutes(1));
        dispatch();
        assertTrue(rig.sink.sent.getLast().mayBeSent());
        assertEquals(EffectState.CONFIRMED, state("k1"));
    }

    @Test
    void triesThatAreUsedUpAfterAnUnknownOneEndUnknownAndWaitForAPerson() {
        announce(a, "k1");
        rig.sink.idempotent = true;
        rig.sink.maxTries = 2;
        rig.sink.deliveries.add(new Delivery.Unknown("time-out"));
        rig.sink.deliveries.add(new Delivery.NotNow("503", null));
        for (int i = 0; i < 5; i++) {
            dispatch();
            rig.time.pass(Duration.ofMinutes(1));
        }
        assertEquals(2, rig.sink.sent.size());
        assertEquals(EffectState.UNKNOWN, state("k1"));
        assertTrue(view("k1").waits());
    }

    @Test
    void triesThatAreUsedUpOnSureNoesEndDead() {
        announce(a, "k1");
        rig.sink.maxTries = 3;
        for (int i = 0; i < 5; i++) {
            rig.sink.deliveries.add(new Delivery.NotNow("connection refused", null));
        }
        for (int i = 0; i < 10; i++) {
            dispatch();
            rig.time.pass(Duration.ofMinutes(1));
        }
        assertEquals(3, rig.sink.sent.size());
        assertEquals(EffectState.DEAD, state("k1"));
        assertTrue(view("k1").waits());
    }

    /** EFF-11. */
    @Test
    void aSinkThatIsDownForTwoDaysExpiresWhatIsTooOldAndGetsTheRestInOrder() {
        announce(a, "k1");
        for (int i = 0; i < 400; i++) {
            rig.sink.deliveries.add(new Delivery.NotNow("connection refused", null));
        }
        for (int hour = 0; hour < 47; hour++) {
            dispatch();
            rig.time.pass(Duration.ofHours(1));
        }
        announce(a, "k2");
        announce(a, "k3");
        dispatch();
        rig.sink.deliveries.clear();
        rig.sink.sent.clear();
        rig.time.pass(Duration.ofHours(1));
        dispatch();
        assertEquals(EffectState.EXPIRED, state("k1"));
        assertTrue(view("k1").waits());
        assertEquals(List.of("k2", "k3"), rig.sink.sentKeys());
        assertTrue(rig.events(Event.EffectChanged.class).stream()
                .anyMatch(event -> event.key().equals("k1") && event.state().equals("EXPIRED") && event.waits()));
        assertEquals(
                Outcome.SUCCEEDED, rig.real.history("a", 10).getLast().tickOutcome()); // the run's state is another
    }

    @Test
    void anAnswerThatTheStoreDidNotTakeIsKeptInHandAndNothingIsSentTwice() {
        announce(a, "k1");
        rig.faults.insteadOf("sent", new StoreException(Kind.UNAVAILABLE, "away", null));
        rig.faults.after("sent", new StoreException(Kind.AMBIGUOUS, "cut", null));
        dispatch();
        assertEquals(1, rig.sink.sent.size());
        assertEquals(3, rig.faults.calls("sent"));
        assertEquals(EffectState.CONFIRMED, state("k1"));
    }

    @Test
    void anErrorOfASinkIsAnUnknownOutcomeAndStopsNobodyElse() {
        announce(a, "k1");
        announceTo("site", b, "k2");
        rig.sink.whileSending = () -> {
            throw new StackOverflowError("poisoned");
        };
        dispatch();
        assertEquals(EffectState.UNKNOWN, state("k1"));
        assertEquals(EffectState.CONFIRMED, state("k2"));
        assertEquals(1, rig.events(Event.Problem.class).size());
    }

    @Test
    void aLeaseThatWasGrantedWithoutOurHearingOfItDoesNotBlockThePair() {
        announce(a, "k1");
        rig.faults.after("claim", new StoreException(Kind.AMBIGUOUS, "cut", null));
        dispatch();
        assertEquals(List.of(), rig.sink.sent);
        dispatch();
        assertEquals(EffectState.CONFIRMED, state("k1"));
    }

    @Test
    void aStoreThatIsAwayIsToldOnceAndLookedAtAgain() {
        announce(a, "k1");
        for (int i = 0; i < 3; i++) {
            rig.faults.insteadOf("duePairs", new StoreException(Kind.UNAVAILABLE, "away", null));
            dispatch();
        }
        assertEquals(1, rig.events(Event.StoreAvailable.class).size());
        dispatch();
        assertEquals(2, rig.events(Event.StoreAvailable.class).size());
        assertEquals(EffectState.CONFIRMED, state("k1"));
    }

    @Test
    void effectsToSinksThatThisNodeDoesNotKnowAreLeftAlone() {
        announceTo("elsewhere", a, "k1");
        dispatch();
        assertEquals(EffectState.PENDING, state("k1"));
        assertNull(view("k1").receipt());
    }

    @Test
    void afterAStopNothingIsBegun() throws Exception {
        announce(a, "k1");
        rig.dispatcher.stop(Duration.ZERO);
        dispatch();
        assertEquals(List.of(), rig.sink.sent);
    }

    @Test
    void aCommandSendsItsOwnEffectsAndSaysHowTheyStand() throws Exception {
        announce(a, "k0");
        announce(a, "k1");
        rig.sink.deliveries.add(new Delivery.NotNow("503", null));
        List<EffectView> views = rig.dispatcher.dispatchAll(List.of("k1"), Duration.ofMinutes(1));
        assertEquals(List.of("k0", "k0", "k1"), rig.sink.sentKeys());
        assertEquals(EffectState.CONFIRMED, views.getFirst().state());
        assertNotEquals(rig.sink.sent.get(0).tries(), rig.sink.sent.get(1).tries());
    }
}
