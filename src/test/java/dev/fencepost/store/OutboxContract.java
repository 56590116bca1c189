package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.EffectView;
import dev.fencepost.effect.Outbox.Begun;
import dev.fencepost.effect.Outbox.DuePair;
import dev.fencepost.effect.Outbox.Filter;
import dev.fencepost.effect.Outbox.Order;
import dev.fencepost.effect.Outbox.Tally;
import dev.fencepost.effect.Pair;
import dev.fencepost.effect.Receipt;
import dev.fencepost.effect.Settlement;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.History.WriteEvent;
import dev.fencepost.run.Outcome;
import dev.fencepost.schedule.Slot;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** What every store has to hold of effects: section 5 of the semantics, as far as the store can. */
abstract class OutboxContract extends Contract {

    static final Duration DAY = Duration.ofDays(1);
    static final Duration NO_DELAY = Duration.ZERO;

    static Content text(String body) {
        return new Content("text/plain", null, body.getBytes(StandardCharsets.UTF_8));
    }

    static Announcement announcement(String name, String key, Pair pair, String body) {
        return announcement(name, key, pair, body, DAY);
    }

    static Announcement announcement(String name, String key, Pair pair, String body, Duration maxAge) {
        Content content = text(body);
        return new Announcement(name, key, pair.sink(), content, content.digest(pair.sink()), maxAge);
    }

    static Completion announcing(Announcement... effects) {
        return new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null, List.of(effects));
    }

    /** A sink of the test's own, and a job. */
    static Pair newPair() {
        return new Pair(newName(), newName());
    }

    final Lease run(Pair pair) {
        return running(job(pair.resource()), Slot.manual(store().now(), newName()), ANNA);
    }

    /** Announces one effect under a grant of its own. */
    final String announced(Pair pair) {
        return announced(pair, DAY);
    }

    final String announced(Pair pair, Duration maxAge) {
        String key = newName();
        stored(run(pair), announcing(announcement("http", key, pair, "body of " + key, maxAge)));
        return key;
    }

    final Lease sender(Pair pair) {
        return granted(pair.leaseResource(), BEN);
    }

    /** Not the first, so that there is an older token. */
    final Lease laterSender(Pair pair) {
        store().release(sender(pair));
        return sender(pair);
    }

    final Effect next(Pair pair) {
        return assertNotNull(store().next(pair));
    }

    /** The key of what is due in a pair, or null. */
    final String due(Pair pair) {
        Effect effect = store().next(pair);
        List<DuePair> pairs = store().duePairs(List.of(pair.sink()), 100);
        assertEquals(effect != null, pairs.stream().anyMatch(each -> each.pair().equals(pair)), pairs::toString);
        return effect == null ? null : effect.key();
    }

    final Effect begun(Lease lease, Effect effect) {
        assertEquals(new Begun.Sending(), store().begin(lease, effect));
        return effect;
    }

    final Effect begun(Lease lease, Pair pair) {
        return begun(lease, next(pair));
    }

    final EffectView shown(String key) {
        return assertNotNull(store().effect(key));
    }

    final EffectState state(String key) {
        return shown(key).state();
    }

    static Settlement settlement(EffectState state) {
        return switch (state) {
            case PENDING -> notNow(Duration.ofSeconds(30));
            case CONFIRMED -> new Settlement(state, new Receipt("201"), null, null, false, false, null);
            case REFUSED -> new Settlement(state, null, "409", null, false, false, 99L);
            case DEAD -> new Settlement(state, new Receipt("kept"), "400", null, false, true, null);
            case UNKNOWN -> unknown(Duration.ofSeconds(30));
            case EXPIRED, SENDING -> throw new IllegalArgumentException(state + " is no result of sending");
        };
    }

    static Settlement notNow(Duration nextIn) {
        return new Settlement(EffectState.PENDING, null, "503", nextIn, false, false, null);
    }

    static Settlement unknown(Duration nextIn) {
        return new Settlement(EffectState.UNKNOWN, null, "timed out", nextIn, true, nextIn == null, null);
    }

    /** Brings the pair's next effect into a state, and frees the pair. */
    final String bring(Pair pair, EffectState state) {
        Lease lease = sender(pair);
        Effect effect = next(pair);
        switch (state) {
            case PENDING -> {}
            case SENDING -> begun(lease, effect);
            case EXPIRED -> {
                pass(Duration.between(store().now(), effect.expiresAt()));
                assertTrue(store().expire().stream().anyMatch(view -> view.key().equals(effect.key())));
            }
            default -> {
                begun(lease, effect);
                assertTrue(store().sent(lease, effect, settlement(state)));
            }
        }
        store().release(lease);
        assertEquals(state, state(effect.key()));
        return effect.key();
    }

    final String in(EffectState state) {
        Pair pair = newPair();
        announced(pair);
        return bring(pair, state);
    }

    final String row(String key) {
        return site().rows("select * from effect where key = '" + key + "'").toString();
    }

    final List<WriteEvent> eventsOf(String key) {
        return store().events(10_000).stream()
                .filter(event -> key.equals(event.effect()))
                .toList();
    }

    final long knownFence(Pair pair) {
        return Long.parseLong(site().value("select fence from sink_fence where pair = '" + pair.leaseResource() + "'"));
    }

    /** The token that the store knows for the pair rises, as by an effect of a later grant. */
    final void plantKnown(Pair pair, long fence, RunId run) {
        site().sql("delete from sink_fence where pair = '" + pair.leaseResource() + "'");
        site().sql("insert into sink_fence (pair, sink, resource, fence, run_id) values ('" + pair.leaseResource()
                + "', '" + pair.sink() + "', '" + pair.resource() + "', " + fence + ", '" + run + "')");
    }

    @Nested
    class Announcing {

        @Test
        void anEffectIsStoredWithAllThatIsNeededToSendIt() {
            Pair pair = newPair();
            Lease lease = run(pair);
            byte[] bytes = {0, 1, -1, 'x'};
            Content content = new Content("application/x", "a/b", bytes);
            Instant now = store().now();

            stored(lease, announcing(new Announcement("http", "key of it", pair.sink(), content, "d1", DAY)));

            Effect effect = next(pair);
            assertArrayEquals(bytes, effect.content().bytes());
            assertEquals(
                    new Effect(
                            "key of it",
                            pair.resource(),
                            lease.slotKey(),
                            "http",
                            pair,
                            lease.fence(),
                            lease.runId(),
                            new Content("application/x", "a/b", effect.content().bytes()),
                            now,
                            now.plus(DAY),
                            EffectState.PENDING,
                            0,
                            false,
                            false,
                            0,
                            null,
                            now),
                    effect);
            assertEquals(
                    new EffectView(
                            "key of it",
                            pair.resource(),
                            lease.slotKey(),
                            "http",
                            pair,
                            EffectState.PENDING,
                            1,
                            lease.runId().toString(),
                            0,
                            false,
                            false,
                            4,
                            "d1",
                            null,
                            null,
                            now,
                            now.plus(DAY),
                            now,
                            now),
                    shown("key of it"));
            assertNull(store().effect("another key"));
        }

        @Test
        void contentWithoutTypeAndTargetUpToItsLimitIsStored() {
            Pair pair = newPair();
            byte[] bytes = new byte[Content.MAX_BYTES];
            new Random(7).nextBytes(bytes);
            Content content = new Content(null, null, bytes);
            stored(run(pair), announcing(new Announcement("file", newName(), pair.sink(), content, "d", DAY)));
            Content read = next(pair).content();
            assertTrue(Arrays.equals(bytes, read.bytes()));
            assertNull(read.type());
            assertNull(read.target());
        }

        @Test
        void aKeyThatIsThereWithTheSameContentStaysAsItIs() {
            Pair pair = newPair();
            String key = newName();
            Announcement effect = announcement("http", key, pair, "same");
            stored(run(pair), announcing(effect, effect));
            bring(pair, EffectState.CONFIRMED);
            String before = row(key);

            stored(run(pair), announcing(effect));

            assertEquals(before, row(key));
            assertNull(due(pair));
        }

        @Test
        void aKeyThatIsThereWithOtherContentStopsTheWholeCompletion() {
            Pair first = newPair();
            Lease before = run(first);
            String key = newName();
            stored(before, announcing(announcement("http", key, first, "one")));
            Pair second = new Pair(first.sink(), newName());
            Lease lease = run(second);
            String untouched = everything(first.resource()) + everything(second.resource());
            Announcement other = announcement("http", key, second, "two");

            Completed answer = store().complete(lease, announcing(announcement("a", newName(), second, "x"), other));

            String text = assertInstanceOf(Completed.Conflict.class, answer).text();
            String digest = text("one").digest(first.sink()).substring(0, 12);
            for (String part : List.of(
                    key,
                    first.resource(),
                    before.slotKey(),
                    digest,
                    other.digest().substring(0, 12))) {
                assertTrue(text.contains(part), text);
            }
            assertFalse(text.contains(other.digest()), text);
            assertEquals(untouched, everything(first.resource()) + everything(second.resource()));
            assertEquals(List.of(), events(second.resource()));
            assertTrue(view(second.resource()).isLive());
            stored(lease, failure(text));
        }

        @Test
        void aCompletionThatContradictsItselfIsNotStored() {
            Pair pair = newPair();
            Lease lease = run(pair);
            String key = newName();
            String before = everything(pair.resource());
            Completed answer = store().complete(
                            lease,
                            announcing(announcement("a", key, pair, "one"), announcement("b", key, pair, "two")));
            assertInstanceOf(Completed.Conflict.class, answer);
            assertEquals(before, everything(pair.resource()));
        }

        @Test
        void ofTwoRunsThatAnnounceAKeyAtOnceOneMeetsTheOther() throws Exception {
            for (int round = 0; round < 20; round++) {
                Pair a = newPair();
                Pair b = new Pair(a.sink(), newName());
                Lease leaseOfA = run(a);
                Lease leaseOfB = run(b);
                String key = newName();
                boolean same = round % 2 == 0;
                List<Completed> answers = atOnce(List.of(
                        () -> store().complete(leaseOfA, announcing(announcement("x", key, a, "one"))),
                        () -> site().otherNode()
                                .complete(leaseOfB, announcing(announcement("x", key, b, same ? "one" : "two")))));
                long stored = answers.stream()
                        .filter(Completed.Stored.class::isInstance)
                        .count();
                long conflicts = answers.stream()
                        .filter(Completed.Conflict.class::isInstance)
                        .count();
                assertEquals(same ? List.of(2L, 0L) : List.of(1L, 1L), List.of(stored, conflicts), answers::toString);
                assertEquals(1, site().count("effect where key = '" + key + "'"));
                assertEquals(
                        stored,
                        site().count("attempt where outcome = 'SUCCEEDED' and job in ('" + a.resource() + "', '"
                                + b.resource() + "')"));
            }
        }

        @Test
        void aRefusedCompletionAnnouncesNothingAndLeavesAnEventForEachEffect() {
            Pair pair = newPair();
            Lease old = run(pair);
            passToTheEndOf(old);
            Lease next = run(pair);

            Refusal reason = refused(
                    old,
                    announcing(announcement("a", "late-a", pair, "secret-1"), announcement("b", "late-b", pair, "y")));

            assertEquals(Refusal.STALE_TOKEN, reason);
            assertEquals(0, site().count("effect where job = '" + pair.resource() + "'"));
            List<WriteEvent> expected = new ArrayList<>();
            for (String key : Arrays.asList("late-b", "late-a", null)) {
                expected.add(new WriteEvent(
                        store().now(),
                        pair.resource(),
                        ANNA.text(),
                        1,
                        old.runId().toString(),
                        false,
                        "STALE_TOKEN",
                        key,
                        2L));
            }
            assertEquals(expected, events(pair.resource()));
            assertFalse(site().rows("select * from write_event").toString().contains("secret-1"));
            stored(next, announcing(announcement("a", "late-a", pair, "z")));
        }

        @Test
        void aRefusalWithoutANewerTokenTellsTheSameTokenForItsEffects() {
            Pair pair = newPair();
            Lease lease = run(pair);
            passToTheEndOf(lease);
            assertEquals(Refusal.EXPIRED, refused(lease, announcing(announcement("a", "k-" + pair, pair, "x"))));
            List<WriteEvent> events = events(pair.resource());
            assertEquals(2, events.size());
            assertEquals(1L, events.getFirst().newestFence());
            assertEquals("EXPIRED", events.getFirst().reason());
            assertNull(events.getLast().effect());
            assertNull(events.getLast().newestFence());
        }

        @Test
        void aRunThatLostItsLeaseLeavesAnEventForEachEffect() {
            Pair pair = newPair();
            Lease old = run(pair);
            passToTheEndOf(old);
            granted(pair.resource(), BEN); // without an attempt, so that the old one has no end yet

            assertTrue(store().endAsLost(old, "lost", List.of("lost-a", "lost-b")));
            assertFalse(store().endAsLost(old, "lost", List.of("lost-c")));

            assertEquals(0, site().count("effect where job = '" + pair.resource() + "'"));
            List<WriteEvent> events = events(pair.resource());
            assertEquals(
                    Arrays.asList("lost-c", null, "lost-b", "lost-a"),
                    events.stream().map(WriteEvent::effect).toList());
            for (WriteEvent event : events) {
                assertEquals(2L, event.newestFence());
                assertFalse(event.accepted());
            }
            assertEquals("LEASE_LOST", events.getLast().reason());
            assertEquals("STALE_TOKEN", events.getFirst().reason());
        }

        @Test
        void aCompletionWhoseEffectsCannotBeStoredLeavesNothing() {
            Pair pair = newPair();
            Lease lease = run(pair);
            String before = everything(pair.resource());
            Completion completion = announcing(announcement("a", newName(), pair, "x"));
            site().failInserts("effect");
            try {
                assertThrows(StoreException.class, () -> store().complete(lease, completion));
            } finally {
                site().repair("effect");
            }
            assertEquals(before, everything(pair.resource()));
            assertEquals(List.of(), events(pair.resource()));
            stored(lease, completion);
            assertTrue(due(pair) != null);
        }
    }

    @Nested
    class Turns {

        @Test
        void aPairGoesInTheOrderOfTokensThenOfAnnouncement() {
            Pair pair = newPair();
            stored(
                    run(pair),
                    announcing(announcement("z", "z-" + pair, pair, "1"), announcement("a", "a-" + pair, pair, "2")));
            String third = announced(pair);
            // However it came to be, the token goes before the order of the rows.
            String fourth = announced(pair);
            site().sql("update effect set fence = 9 where key = '" + third + "'");
            List<String> order = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                order.add(bring(pair, EffectState.CONFIRMED));
            }
            assertEquals(List.of("z-" + pair, "a-" + pair, fourth, third), order);
            assertNull(due(pair));
        }

        @Test
        void onlyTheFirstOfAPairCanBegin() {
            Pair pair = newPair();
            announced(pair);
            Lease lease = sender(pair);
            Effect first = next(pair);
            String second = announced(pair);
            Effect behind = new Effect(
                    second,
                    first.job(),
                    first.slotKey(),
                    first.name(),
                    pair,
                    first.fence(),
                    first.runId(),
                    first.content(),
                    first.announcedAt(),
                    first.expiresAt(),
                    EffectState.PENDING,
                    0,
                    false,
                    false,
                    0,
                    null,
                    first.now());
            String before = everything(pair.resource());
            assertEquals(new Begun.Gone(), store().begin(lease, behind));
            assertEquals(before, everything(pair.resource()));
            begun(lease, first);
            assertEquals(new Begun.Gone(), store().begin(lease, behind));
            store().sent(lease, first, settlement(EffectState.CONFIRMED));
            begun(lease, behind);
        }

        @Test
        void whatIsOpenHoldsBackItsOwnPairAloneAndOnlyUntilItsMaxAge() {
            for (EffectState state : List.of(EffectState.PENDING, EffectState.UNKNOWN)) {
                Pair pair = newPair();
                String first = announced(pair, Duration.ofHours(1));
                String second = announced(pair);
                Pair other = new Pair(pair.sink(), newName());
                String elsewhere = announced(other);
                Lease lease = sender(pair);
                Effect effect = begun(lease, pair);
                assertTrue(store().sent(lease, effect, state == EffectState.PENDING ? notNow(DAY) : unknown(DAY)));
                assertNull(due(pair), "" + state);
                assertEquals(elsewhere, due(other));

                pass(Duration.between(store().now(), effect.expiresAt()).minus(site().step()));
                assertNull(due(pair), "" + state);
                assertFalse(shown(first).waits());
                pass(site().step());

                assertEquals(second, due(pair), "" + state);
                assertEquals(state, state(first));
                begun(sender(pair), pair);
                assertEquals(state == EffectState.UNKNOWN, shown(first).waits());
                if (state == EffectState.UNKNOWN) {
                    assertNull(shown(first).nextAt());
                    store().expire();
                    assertEquals(state, state(first));
                }
            }
        }

        @Test
        void whatIsBeingSentHoldsBackItsPairEvenIfItIsTooOld() {
            Pair pair = newPair();
            String first = announced(pair, Duration.ofMinutes(1));
            announced(pair);
            begun(sender(pair), pair);
            pass(Duration.ofMinutes(2));
            assertNull(store().next(pair));
            assertEquals(EffectState.SENDING, state(first));
        }

        @Test
        void everyOtherStateHoldsBackNothing() {
            for (EffectState state :
                    List.of(EffectState.CONFIRMED, EffectState.REFUSED, EffectState.DEAD, EffectState.EXPIRED)) {
                Pair pair = newPair();
                announced(pair, Duration.ofHours(1));
                String second = announced(pair);
                bring(pair, state);
                assertEquals(second, due(pair), "" + state);
            }
        }

        @Test
        void anEffectIsDueAtItsVeryInstant() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            Effect effect = begun(lease, pair);
            store().sent(lease, effect, notNow(Duration.ofSeconds(30)));
            assertEquals(store().now().plusSeconds(30), shown(key).nextAt());
            pass(Duration.ofSeconds(30).minus(site().step()));
            assertNull(due(pair));
            pass(site().step());
            assertEquals(key, due(pair));
        }

        @Test
        void whatWaitsForAPersonIsNotDueByItself() {
            Pair pair = newPair();
            announced(pair);
            Lease lease = sender(pair);
            store().sent(lease, begun(lease, pair), unknown(null));
            pass(Duration.ofHours(1));
            assertNull(due(pair));
            site().setBack(Duration.ofHours(3));
            assertNull(due(pair));
        }

        @Test
        void afterTheClockWasSetBackAnEffectIsDueOnceAndThenByItsTimeAgain() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            store().sent(lease, begun(lease, pair), notNow(Duration.ofSeconds(30)));
            site().setBack(Duration.ofDays(300));
            assertEquals(key, due(pair));
            Lease again = renewed(lease, DAY);
            store().sent(again, begun(again, pair), notNow(Duration.ofSeconds(30)));
            assertNull(due(pair), "the backoff counts, though it was announced in what is the future now");
            pass(Duration.ofSeconds(30));
            assertEquals(key, due(pair));
        }
    }

    @Nested
    class DuePairs {

        @Test
        void onlyPairsOfTheGivenSinksAreNamedAndAtMostSoMany() {
            String sink = newName();
            List<Pair> pairs = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                Pair pair = new Pair(sink, newName());
                pairs.add(pair);
                announced(pair);
                announced(pair);
                pass(site().step());
            }
            Pair longer = new Pair(sink + "x", newName());
            announced(longer);

            assertEquals(pairs, named(List.of(sink), 10));
            assertEquals(pairs.subList(0, 2), named(List.of(sink), 2));
            assertEquals(4, named(List.of(sink, "nothing", longer.sink()), 10).size());
            assertEquals(List.of(longer), named(List.of(longer.sink()), 10));
            assertEquals(List.of(), named(List.of(), 10));
            assertEquals(List.of(), named(List.of(sink.substring(0, 1)), 10));
        }

        private List<Pair> named(Collection<String> sinks, int limit) {
            return store().duePairs(sinks, limit).stream().map(DuePair::pair).toList();
        }

        @Test
        void aPairIsNamedWithTheLiveLeaseOfItsSender() {
            Pair pair = newPair();
            announced(pair);
            assertEquals(List.of(new DuePair(pair, null)), store().duePairs(List.of(pair.sink()), 10));
            Lease lease = sender(pair);
            begun(lease, pair);
            assertEquals(List.of(new DuePair(pair, lease)), store().duePairs(List.of(pair.sink()), 10));
            passToTheEndOf(lease);
            pass(site().step().negated());
            assertEquals(List.of(new DuePair(pair, lease)), store().duePairs(List.of(pair.sink()), 10));
            pass(site().step());
            assertEquals(List.of(new DuePair(pair, null)), store().duePairs(List.of(pair.sink()), 10));
        }

        @Test
        void aReleasedLeaseMakesTheSendersEffectFree() {
            Pair pair = newPair();
            announced(pair);
            Lease lease = sender(pair);
            begun(lease, pair);
            store().release(lease);
            assertEquals(List.of(new DuePair(pair, null)), store().duePairs(List.of(pair.sink()), 10));
        }

        @Test
        void pairsThatAreHeldDoNotFillTheList() {
            String sink = newName();
            for (int i = 0; i < 3; i++) {
                Pair held = new Pair(sink, newName());
                announced(held);
                begun(sender(held), held);
                pass(site().step());
            }
            Pair free = new Pair(sink, newName());
            announced(free);
            assertEquals(List.of(new DuePair(free, null)), store().duePairs(List.of(sink), 1));
        }
    }

    @Nested
    class Beginning {

        @Test
        void itIsWrittenDownBeforeItIsSent() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            Effect effect = next(pair);
            pass(Duration.ofSeconds(1));

            begun(lease, effect);

            EffectView view = shown(key);
            assertEquals(EffectState.SENDING, view.state());
            assertEquals(1, view.tries());
            assertNull(view.nextAt());
            assertEquals(store().now(), view.changedAt());
            assertEquals(effect.fence().value(), knownFence(pair));
            assertNull(store().next(pair));
            store().sent(lease, effect, notNow(Duration.ZERO));
            assertEquals(store().now(), next(pair).lastSentAt());
            assertEquals(1, next(pair).tries());
        }

        @Test
        void nothingBeginsWithoutEachPartOfTheLease() {
            Pair pair = newPair();
            announced(pair);
            Lease lease = laterSender(pair);
            Effect effect = next(pair);
            Lease another = granted(newName(), BEN);
            String before = everything(pair.resource()) + everything(lease.resource());
            forged(lease, another.resource())
                    .forEach((part, forged) ->
                            assertEquals(new Begun.Gone(), store().begin(forged, effect), part + " changed"));
            assertEquals(new Begun.Gone(), store().begin(another, effect));
            assertEquals(before, everything(pair.resource()) + everything(lease.resource()));
            begun(lease, effect);
        }

        @Test
        void itBeginsUntilTheLastInstantOfTheLeaseAndNoLonger() {
            Pair pair = newPair();
            announced(pair);
            Lease late = sender(pair);
            Effect effect = next(pair);
            passToTheEndOf(late);
            String before = everything(pair.resource());
            assertEquals(new Begun.Gone(), store().begin(late, effect));
            assertEquals(before, everything(pair.resource()));
            Lease lease = sender(pair);
            assertEquals(new Begun.Gone(), store().begin(late, effect));
            passToTheEndOf(lease);
            pass(site().step().negated());
            begun(lease, effect);
        }

        @Test
        void anEffectThatIsNoLongerAsItWasReadDoesNotBegin() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            Effect asRead = next(pair);
            begun(lease, asRead);
            assertEquals(new Begun.Gone(), store().begin(lease, asRead), "being sent");
            store().sent(lease, asRead, notNow(Duration.ZERO));
            assertEquals(new Begun.Gone(), store().begin(lease, asRead), "tried once more");
            Effect second = next(pair);
            begun(lease, second);
            store().sent(lease, second, unknown(Duration.ZERO));
            assertEquals(new Begun.Gone(), store().begin(lease, second), "unknown since");
            store().sent(lease, second, settlement(EffectState.CONFIRMED));
            assertEquals(new Begun.Gone(), store().begin(lease, second), "settled");
            assertEquals(EffectState.CONFIRMED, state(key));
            assertEquals(2, shown(key).tries());
        }

        @Test
        void whatIsTooOldDoesNotBegin() {
            Pair pair = newPair();
            String key = announced(pair, Duration.ofMinutes(1));
            Lease lease = sender(pair);
            Effect effect = next(pair);
            pass(Duration.ofMinutes(1));
            assertEquals(new Begun.Gone(), store().begin(lease, effect));
            assertEquals(EffectState.PENDING, state(key));
            pass(site().step().negated());
            begun(lease, effect);
        }

        @Test
        void anUnknownOneMayBeSentAgain() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            store().sent(lease, begun(lease, pair), unknown(Duration.ZERO));
            Effect unknown = next(pair);
            assertTrue(unknown.mayBeSent());
            begun(lease, unknown);
            assertEquals(2, shown(key).tries());
            assertEquals(EffectState.SENDING, state(key));
        }

        @Test
        void ofManySendersAtOnceOneBegins() throws Exception {
            for (int round = 0; round < 30; round++) {
                Pair pair = newPair();
                announced(pair);
                Lease late = sender(pair);
                passToTheEndOf(late);
                Lease lease = sender(pair);
                Effect effect = next(pair);
                List<Begun> answers = atOnce(List.of(
                        () -> store().begin(lease, effect),
                        () -> site().otherNode().begin(lease, effect),
                        () -> store().begin(late, effect),
                        () -> site().otherNode().begin(late, effect)));
                assertEquals(
                        1,
                        answers.stream().filter(Begun.Sending.class::isInstance).count(),
                        answers::toString);
                assertEquals(1, shown(effect.key()).tries());
            }
        }

        @Test
        void anOlderTokenThanWasSentIsRefusedWithBothTokens() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            Effect effect = next(pair);
            plantKnown(pair, 7, newRun());

            assertEquals(new Begun.Refused(7), store().begin(lease, effect));

            EffectView view = shown(key);
            assertEquals(EffectState.REFUSED, view.state());
            assertEquals(0, view.tries());
            assertFalse(view.waits());
            assertNull(view.nextAt());
            assertTrue(view.reason().contains("token 1 ") && view.reason().contains(" 7,"), view.reason());
            assertEquals(
                    List.of(new WriteEvent(
                            store().now(),
                            pair.resource(),
                            BEN.text(),
                            1,
                            effect.runId().toString(),
                            false,
                            "STALE_TOKEN",
                            key,
                            7L)),
                    eventsOf(key));
            assertEquals(7, knownFence(pair));
            assertEquals(new Begun.Gone(), store().begin(lease, effect));
            assertEquals(1, eventsOf(key).size());
        }

        @Test
        void aRefusalNeedsTheLeaseToo() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = laterSender(pair);
            Effect effect = next(pair);
            plantKnown(pair, 7, newRun());
            forged(lease, newName())
                    .forEach((part, forged) ->
                            assertEquals(new Begun.Gone(), store().begin(forged, effect), part + " changed"));
            passToTheEndOf(lease);
            assertEquals(new Begun.Gone(), store().begin(lease, effect));
            assertEquals(EffectState.PENDING, state(key));
            assertEquals(List.of(), eventsOf(key));
        }

        @Test
        void aTwinWithTheSameTokenIsRefusedAndTheSameRunPasses() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            Effect effect = next(pair);
            plantKnown(pair, effect.fence().value(), newRun());
            assertEquals(new Begun.Refused(1), store().begin(lease, effect));
            assertEquals(EffectState.REFUSED, state(key));

            Pair fine = newPair();
            announced(fine);
            Effect own = next(fine);
            plantKnown(fine, own.fence().value(), own.runId());
            begun(sender(fine), own);
        }

        @Test
        void aRefusedEffectThatMayHaveArrivedWaitsForAPerson() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            store().sent(lease, begun(lease, pair), unknown(Duration.ZERO));
            plantKnown(pair, 7, newRun());
            assertEquals(new Begun.Refused(7), store().begin(lease, next(pair)));
            assertTrue(shown(key).waits());
            assertEquals(Optional.empty(), store().resolve(key, Order.GIVE_UP, "seen", false));
            assertFalse(shown(key).waits());
        }

        @Test
        void tokensOfOtherPairsDoNotMatter() {
            Pair pair = newPair();
            announced(pair);
            plantKnown(new Pair(pair.sink(), newName()), 9, newRun());
            plantKnown(new Pair(newName(), pair.resource()), 9, newRun());
            begun(sender(pair), pair);
            assertEquals(1, knownFence(pair));
        }
    }

    @Nested
    class Sent {

        @Test
        void whatCameOfItIsStored() {
            for (EffectState state : List.of(
                    EffectState.PENDING,
                    EffectState.UNKNOWN,
                    EffectState.CONFIRMED,
                    EffectState.REFUSED,
                    EffectState.DEAD)) {
                Pair pair = newPair();
                String key = announced(pair);
                Lease lease = sender(pair);
                Effect effect = begun(lease, pair);
                pass(Duration.ofSeconds(1));
                Settlement settlement = settlement(state);

                assertTrue(store().sent(lease, effect, settlement));

                EffectView view = shown(key);
                assertEquals(state, view.state());
                assertEquals(settlement.reason(), view.reason());
                assertEquals(
                        settlement.receipt() == null
                                ? null
                                : settlement.receipt().text(),
                        view.receipt());
                assertEquals(settlement.waits(), view.waits());
                assertEquals(
                        settlement.nextIn() == null ? null : store().now().plus(settlement.nextIn()), view.nextAt());
                assertEquals(store().now(), view.changedAt());
                assertEquals(
                        state.isOpen() ? 1 : 0,
                        site().count("effect where key = '" + key + "' and settled_at is null"));
                List<WriteEvent> expected = switch (state) {
                    case CONFIRMED -> List.of(event(effect, true, "EFFECT", null));
                    case REFUSED -> List.of(event(effect, false, "STALE_TOKEN", 99L));
                    default -> List.of();
                };
                assertEquals(expected, eventsOf(key));

                String before = row(key);
                assertTrue(store().sent(lease, effect, settlement), "repeated: " + state);
                assertEquals(before, row(key));
                assertEquals(expected, eventsOf(key));
            }
        }

        private WriteEvent event(Effect effect, boolean accepted, String reason, Long newest) {
            return new WriteEvent(
                    store().now(),
                    effect.job(),
                    BEN.text(),
                    effect.fence().value(),
                    effect.runId().toString(),
                    accepted,
                    reason,
                    effect.key(),
                    newest);
        }

        @Test
        void itIsTrueWheneverItComes() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            Effect effect = begun(lease, pair);
            passToTheEndOf(lease);
            assertTrue(store().sent(lease, effect, settlement(EffectState.CONFIRMED)));
            assertEquals(EffectState.CONFIRMED, state(key));
        }

        @Test
        void itIsTrueAfterAnotherHasAdoptedTheEffectButNotAfterItBegan() {
            for (boolean begins : new boolean[] {false, true}) {
                Pair pair = newPair();
                String key = announced(pair);
                Lease lease = sender(pair);
                Effect effect = begun(lease, pair);
                passToTheEndOf(lease);
                Lease next = sender(pair);
                store().adopt(next, pair, NO_DELAY);
                if (begins) {
                    begun(next, pair);
                }
                String before = row(key);
                assertEquals(!begins, store().sent(lease, effect, settlement(EffectState.CONFIRMED)));
                assertEquals(begins ? EffectState.SENDING : EffectState.CONFIRMED, state(key));
                if (begins) {
                    assertEquals(before, row(key));
                    assertEquals(List.of(), eventsOf(key));
                }
            }
        }

        @Test
        void aSenderThatKnowsNoMoreThanItsSuccessorChangesNothing() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            Effect effect = begun(lease, pair);
            passToTheEndOf(lease);
            store().adopt(sender(pair), pair, NO_DELAY);
            String before = row(key);
            assertTrue(store().sent(lease, effect, unknown(null)));
            assertEquals(before, row(key));
        }

        @Test
        void anotherThanTheSenderStoresNothing() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = laterSender(pair);
            Effect effect = begun(lease, pair);
            String before = row(key);
            forged(lease, newName()).forEach((part, forged) -> {
                if (!part.equals("owner")) { // the run id is one grant's, and so one owner's
                    assertFalse(store().sent(forged, effect, settlement(EffectState.CONFIRMED)), part + " changed");
                }
            });
            assertEquals(before, row(key));
            assertEquals(List.of(), eventsOf(key));
        }

        @Test
        void itIsNotStoredWhereNothingBegan() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            Effect effect = next(pair);
            for (EffectState state : List.of(EffectState.PENDING, EffectState.CONFIRMED)) {
                assertFalse(store().sent(lease, effect, settlement(state)));
            }
            assertEquals(EffectState.PENDING, state(key));
        }

        @Test
        void anEndIsNotChangedByALaterOne() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            Effect effect = begun(lease, pair);
            store().sent(lease, effect, settlement(EffectState.CONFIRMED));
            String before = row(key);
            for (EffectState state : List.of(EffectState.UNKNOWN, EffectState.PENDING, EffectState.DEAD)) {
                assertFalse(store().sent(lease, effect, settlement(state)), "" + state);
            }
            assertEquals(before, row(key));
        }

        @Test
        void anEndWhoseEventCannotBeStoredIsNotStored() {
            Pair pair = newPair();
            announced(pair);
            Lease lease = sender(pair);
            Effect effect = begun(lease, pair);
            String before = row(effect.key());
            site().failInserts("write_event");
            try {
                assertThrows(
                        StoreException.class, () -> store().sent(lease, effect, settlement(EffectState.CONFIRMED)));
            } finally {
                site().repair("write_event");
            }
            assertEquals(before, row(effect.key()));
        }
    }

    @Nested
    class Adopting {

        @Test
        void whatADeadSenderLeftBecomesUnknown() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            begun(lease, pair);
            assertEquals(List.of(), store().adopt(lease, pair, DAY), "its own");
            assertEquals(EffectState.SENDING, state(key));
            passToTheEndOf(lease);
            Lease next = sender(pair);

            List<EffectView> adopted = store().adopt(next, pair, NO_DELAY);

            assertEquals(List.of(shown(key)), adopted);
            EffectView view = adopted.getFirst();
            assertEquals(EffectState.UNKNOWN, view.state());
            assertEquals("its sender died", view.reason());
            assertEquals(store().now(), view.nextAt());
            assertEquals(store().now(), view.changedAt());
            assertFalse(view.waits());
            assertEquals(key, due(pair));
            assertTrue(next(pair).mayBeSent());
            assertEquals(List.of(), store().adopt(next, pair, NO_DELAY));
        }

        @Test
        void itNeedsEachPartOfALiveLease() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease first = sender(pair);
            begun(first, pair);
            passToTheEndOf(first);
            Lease lease = sender(pair);
            String before = everything(pair.resource());
            forged(lease, lease.resource()).forEach((part, forged) -> {
                if (!part.equals("resource")) {
                    assertEquals(List.of(), store().adopt(forged, pair, DAY), part + " changed");
                }
            });
            Pair other = newPair();
            assertThrows(IllegalArgumentException.class, () -> store().adopt(lease, other, DAY));
            passToTheEndOf(lease);
            assertEquals(List.of(), store().adopt(lease, pair, DAY));
            assertEquals(before, everything(pair.resource()));
            assertEquals(EffectState.SENDING, state(key));
        }

        @Test
        void itTouchesNoOtherPair() {
            Pair pair = newPair();
            announced(pair);
            Pair other = new Pair(pair.sink(), newName());
            String key = announced(other);
            begun(sender(other), other);
            store().adopt(sender(pair), pair, DAY);
            assertEquals(EffectState.SENDING, state(key));
        }

        @Test
        void whatIsPendingWaitsForTheLockDelayAndWhatIsUnknownDoesNot() {
            Pair pair = newPair();
            String first = announced(pair);
            String second = announced(pair);
            Lease dead = sender(pair);
            begun(dead, pair);
            passToTheEndOf(dead);
            Lease lease = granted(pair.leaseResource(), BEN, DAY);
            Instant end = store().now().plusSeconds(60);
            store().adopt(lease, pair, Duration.ofSeconds(60));
            assertEquals(first, due(pair));
            assertEquals(end, shown(second).nextAt());
            store().checked(lease, next(pair), settlement(EffectState.CONFIRMED));
            assertNull(due(pair));

            pass(Duration.ofSeconds(30));
            // Announced meanwhile, and just as much behind what may still be on its way.
            String third = announced(pair);
            assertEquals(end, shown(third).nextAt());
            pass(Duration.ofSeconds(30).minus(site().step()));
            assertNull(due(pair));
            pass(site().step());
            assertEquals(second, due(pair));
        }

        @Test
        void whatIsToBeSentLaterStillIs() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease dead = sender(pair);
            begun(dead, pair);
            passToTheEndOf(dead);
            Lease lease = granted(pair.leaseResource(), BEN, DAY);
            store().adopt(lease, pair, Duration.ofSeconds(60));
            store().checked(lease, next(pair), notNow(Duration.ofMinutes(5)));
            assertEquals(store().now().plusSeconds(300), shown(key).nextAt());
            pass(Duration.ofSeconds(60));
            assertNull(due(pair));
            pass(Duration.ofMinutes(4));
            assertEquals(key, due(pair));
        }

        @Test
        void withoutADeadSenderNothingIsDelayed() {
            Pair pair = newPair();
            String key = announced(pair);
            store().adopt(sender(pair), pair, DAY);
            assertEquals(key, due(pair));
        }

        @Test
        void aDelayEndsWhenTheClockIsSetBack() {
            Pair pair = newPair();
            announced(pair);
            announced(pair);
            Lease dead = sender(pair);
            begun(dead, pair);
            passToTheEndOf(dead);
            Lease lease = granted(pair.leaseResource(), BEN, DAY);
            store().adopt(lease, pair, Duration.ofSeconds(60));
            store().checked(lease, next(pair), settlement(EffectState.CONFIRMED));
            assertNull(due(pair));
            site().setBack(Duration.ofDays(300));
            assertTrue(due(pair) != null);
        }
    }

    @Nested
    class Checking {

        private Lease unknown(Pair pair) {
            announced(pair);
            Lease lease = laterSender(pair);
            assertTrue(store().sent(lease, begun(lease, pair), OutboxContract.unknown(Duration.ZERO)));
            return lease;
        }

        @Test
        void whatAReadBackShowedIsStoredAndCounted() {
            for (EffectState state :
                    List.of(EffectState.UNKNOWN, EffectState.PENDING, EffectState.CONFIRMED, EffectState.DEAD)) {
                Pair pair = newPair();
                Lease lease = unknown(pair);
                Effect effect = next(pair);
                Instant since = shown(effect.key()).changedAt();
                pass(Duration.ofSeconds(1));
                Settlement settlement = settlement(state);

                assertTrue(store().checked(lease, effect, settlement));

                EffectView view = shown(effect.key());
                assertEquals(state, view.state());
                assertEquals(state == EffectState.UNKNOWN ? since : store().now(), view.changedAt());
                assertEquals(settlement.waits(), view.waits());
                assertEquals(
                        state == EffectState.CONFIRMED ? 1 : 0,
                        eventsOf(effect.key()).size());
                assertEquals("1", site().value("select checks from effect where key = '" + effect.key() + "'"));
                assertEquals(state == EffectState.UNKNOWN, store().checked(lease, effect, settlement));
            }
        }

        @Test
        void checksAreCountedSinceItsOutcomeBecameUnknown() {
            Pair pair = newPair();
            Lease lease = unknown(pair);
            for (int i = 0; i < 3; i++) {
                assertEquals(i, next(pair).checks());
                store().checked(lease, next(pair), OutboxContract.unknown(Duration.ZERO));
            }
            store().sent(lease, begun(lease, pair), OutboxContract.unknown(Duration.ZERO));
            assertEquals(0, next(pair).checks());
        }

        @Test
        void itNeedsEachPartOfALiveLease() {
            Pair pair = newPair();
            Lease lease = unknown(pair);
            Effect effect = next(pair);
            String before = row(effect.key());
            forged(lease, granted(newName(), BEN).resource())
                    .forEach((part, forged) -> assertFalse(
                            store().checked(forged, effect, settlement(EffectState.CONFIRMED)), part + " changed"));
            passToTheEndOf(lease);
            assertFalse(store().checked(lease, effect, settlement(EffectState.CONFIRMED)));
            assertEquals(before, row(effect.key()));
            pass(site().step().negated());
            assertTrue(store().checked(lease, effect, settlement(EffectState.CONFIRMED)));
        }

        @Test
        void itIsNotStoredOnceTheOutcomeIsKnown() {
            Pair pair = newPair();
            Lease lease = unknown(pair);
            Effect effect = next(pair);
            store().resolve(effect.key(), Order.GIVE_UP, "never mind", false);
            String before = row(effect.key());
            assertFalse(store().checked(lease, effect, settlement(EffectState.CONFIRMED)));
            assertEquals(before, row(effect.key()));
        }
    }

    @Nested
    class Expiring {

        @Test
        void whatIsPendingAndTooOldExpiresAtThatInstantAndWaitsForAPerson() {
            Pair pair = newPair();
            String key = announced(pair, Duration.ofMinutes(1));
            pass(Duration.ofMinutes(1).minus(site().step()));
            assertFalse(expired().contains(key));
            pass(site().step());

            List<EffectView> gone = store().expire().stream()
                    .filter(view -> view.key().equals(key))
                    .toList();

            assertEquals(List.of(shown(key)), gone);
            EffectView view = shown(key);
            assertEquals(EffectState.EXPIRED, view.state());
            assertEquals("older than its max-age", view.reason());
            assertTrue(view.waits());
            assertNull(view.nextAt());
            assertEquals(store().now(), view.changedAt());
            assertFalse(expired().contains(key));
        }

        private List<String> expired() {
            return store().expire().stream().map(EffectView::key).toList();
        }

        @Test
        void noOtherStateExpires() {
            for (EffectState state : EffectState.values()) {
                if (!List.of(EffectState.PENDING, EffectState.EXPIRED, EffectState.SENDING)
                        .contains(state)) {
                    String key = in(state);
                    pass(DAY.multipliedBy(2));
                    assertFalse(expired().contains(key));
                    assertEquals(state, state(key));
                }
            }
        }

        /** Nobody who does not know the sink adopts it, and nobody who knows it may be left. */
        @Test
        void whatADeadSenderLeftWaitsForAPersonWhenNobodyKnowsItsSinkAnyMore() {
            Pair pair = newPair();
            String key = announced(pair, Duration.ofHours(2));
            String later = announced(pair);
            Lease lease = sender(pair);
            begun(lease, pair);
            pass(Duration.ofHours(2).minus(site().step()));
            assertFalse(expired().contains(key));
            pass(site().step());

            assertTrue(expired().contains(key));

            EffectView view = shown(key);
            assertEquals(EffectState.UNKNOWN, view.state());
            assertTrue(view.waits());
            assertNull(view.nextAt());
            assertFalse(expired().contains(key));
            assertEquals(later, due(pair));
        }

        @Test
        void whatIsJustBeingSentIsNotTakenForADeadSendersWork() {
            Pair pair = newPair();
            String key = announced(pair, Duration.ofHours(2));
            begun(granted(pair.leaseResource(), BEN, Duration.ofHours(3)), pair);
            pass(Duration.ofHours(2));
            assertFalse(expired().contains(key));
            assertEquals(EffectState.SENDING, state(key));
            pass(Duration.ofHours(1));
            assertTrue(expired().contains(key));
        }

        @Test
        void whatWasSentALittleWhileAgoIsLeftToTheLockDelay() {
            Pair pair = newPair();
            String key = announced(pair, Duration.ofHours(2));
            pass(Duration.ofHours(1).plusMinutes(50));
            begun(sender(pair), pair);
            pass(Duration.ofMinutes(30));
            assertFalse(expired().contains(key));
            pass(Duration.ofMinutes(30));
            assertTrue(expired().contains(key));
        }

        @Test
        void aBoundedNumberExpiresAtATime() {
            Pair pair = newPair();
            for (int i = 0; i < 2; i++) {
                stored(
                        run(pair),
                        announcing(IntStream.range(0, 300)
                                .mapToObj(n -> announcement("e", newName(), pair, "x", Duration.ofSeconds(1)))
                                .toArray(Announcement[]::new)));
            }
            pass(Duration.ofSeconds(1));
            assertEquals(500, store().expire().size());
            assertTrue(store().expire().size() >= 100);
            assertEquals(List.of(), store().expire());
        }

        @Test
        void ofTwoThatExpireAndOneThatBeginsNoneContradictsAnother() throws Exception {
            for (int round = 0; round < 20; round++) {
                Pair pair = newPair();
                String key = announced(pair, Duration.ofMinutes(1));
                Lease lease = sender(pair);
                Effect effect = next(pair);
                pass(Duration.ofMinutes(1).minus(site().step()));
                List<Object> answers = atOnce(List.of(
                        () -> store().begin(lease, effect),
                        () -> site().otherNode().expire(),
                        () -> store().expire(),
                        () -> {
                            pass(site().step());
                            return "";
                        }));
                boolean began = answers.getFirst() instanceof Begun.Sending;
                store().expire();
                assertEquals(began ? EffectState.SENDING : EffectState.EXPIRED, state(key));
            }
        }
    }

    @Nested
    class Showing {

        @Test
        void effectsComeNewestFirstByJobStateAndWaiting() {
            Pair pair = newPair();
            String confirmed = announced(pair);
            bring(pair, EffectState.CONFIRMED);
            String dead = announced(pair);
            bring(pair, EffectState.DEAD);
            String unknown = announced(pair);
            Lease lease = sender(pair);
            store().sent(lease, begun(lease, pair), unknown(null));
            String pending = announced(pair);
            String elsewhere = announced(newPair());

            assertEquals(List.of(pending, unknown, dead, confirmed), listed(pair.resource(), List.of(), false, 10));
            assertEquals(List.of(pending, unknown), listed(pair.resource(), List.of(), false, 2));
            assertEquals(
                    List.of(dead, confirmed),
                    listed(pair.resource(), List.of(EffectState.DEAD, EffectState.CONFIRMED), false, 10));
            assertEquals(List.of(pending), listed(pair.resource(), List.of(EffectState.PENDING), false, 10));
            assertEquals(List.of(unknown, dead), listed(pair.resource(), List.of(), true, 10));
            assertEquals(List.of(dead), listed(pair.resource(), List.of(EffectState.DEAD), true, 10));
            assertEquals(List.of(elsewhere, pending, unknown), listed(null, List.of(), false, 3));
            assertEquals(List.of(elsewhere), listed(null, List.of(EffectState.PENDING), false, 1));
            assertEquals(List.of(unknown), listed(null, List.of(EffectState.UNKNOWN), false, 1));
            assertEquals(List.of(unknown), listed(null, List.of(), true, 1));
            assertEquals(List.of(), listed(newName(), List.of(), false, 10));
            assertEquals(store().effects(Filter.ALL, 1), List.of(shown(elsewhere)));
        }

        private List<String> listed(String job, Collection<EffectState> states, boolean waiting, int limit) {
            return store().effects(new Filter(job, states, waiting), limit).stream()
                    .map(EffectView::key)
                    .toList();
        }

        @Test
        void talliesCountWhatIsOpenOrWaits() {
            Pair pair = newPair();
            announced(pair);
            bring(pair, EffectState.CONFIRMED);
            announced(pair);
            bring(pair, EffectState.REFUSED);
            Instant first = store().now();
            announced(pair);
            bring(pair, EffectState.DEAD);
            pass(Duration.ofSeconds(5));
            announced(pair);
            bring(pair, EffectState.DEAD);
            Instant second = store().now();
            announced(pair, Duration.ofHours(1));
            bring(pair, EffectState.UNKNOWN);
            announced(pair);
            announced(pair);

            assertEquals(
                    List.of(
                            new Tally(pair.sink(), EffectState.DEAD, 2, 2, first),
                            new Tally(pair.sink(), EffectState.PENDING, 2, 0, second),
                            new Tally(pair.sink(), EffectState.UNKNOWN, 1, 0, second)),
                    tallies(pair));
            pass(Duration.ofHours(1));
            assertEquals(
                    new Tally(pair.sink(), EffectState.UNKNOWN, 1, 1, second),
                    tallies(pair).getLast());
        }

        private List<Tally> tallies(Pair pair) {
            return store().tallies().stream()
                    .filter(tally -> tally.sink().equals(pair.sink()))
                    .toList();
        }
    }

    @Nested
    class Resolving {

        private static final Map<Order, List<EffectState>> ALLOWED = Map.of(
                Order.CONFIRMED, List.of(EffectState.UNKNOWN, EffectState.DEAD, EffectState.EXPIRED),
                Order.ABSENT, List.of(EffectState.UNKNOWN),
                Order.GIVE_UP, List.of(EffectState.UNKNOWN, EffectState.PENDING, EffectState.DEAD, EffectState.EXPIRED),
                Order.RETRY, List.of(EffectState.DEAD, EffectState.REFUSED, EffectState.EXPIRED));

        @Test
        void eachOrderFitsItsStatesAndNoOther() {
            for (Order order : Order.values()) {
                for (EffectState state : EffectState.values()) {
                    String key = in(state);
                    String before = row(key);
                    int events = eventsOf(key).size();

                    Optional<String> answer = store().resolve(key, order, "I looked", false);

                    if (assertNotNull(ALLOWED.get(order)).contains(state)) {
                        assertEquals(Optional.empty(), answer, order + " of " + state);
                        EffectState then = switch (order) {
                            case CONFIRMED -> EffectState.CONFIRMED;
                            case ABSENT, RETRY -> EffectState.PENDING;
                            case GIVE_UP -> state.isOpen() ? EffectState.DEAD : state;
                        };
                        EffectView view = shown(key);
                        assertEquals(then, view.state(), order + " of " + state);
                        assertFalse(view.waits());
                        assertEquals(then == EffectState.PENDING ? store().now() : null, view.nextAt());
                        assertEquals(
                                then.isOpen() ? 1 : 0,
                                site().count("effect where key = '" + key + "' and settled_at is null"));
                        WriteEvent event = eventsOf(key).getFirst();
                        assertEquals("RESOLVED " + order + ": I looked", event.reason());
                        assertEquals("person", event.owner());
                        assertTrue(event.accepted());
                        assertEquals(view.job(), event.resource());
                        assertEquals(view.fence(), event.fence());
                        assertEquals(view.runId(), event.runId());
                        assertEquals(events + 1, eventsOf(key).size());
                    } else {
                        String words = answer.orElseThrow(() -> new AssertionError(order + " of " + state));
                        assertTrue(words.contains(key) && words.contains(state.name()), words);
                        assertEquals(before, row(key));
                        assertEquals(events, eventsOf(key).size());
                    }
                }
            }
        }

        @Test
        void anUnknownKeyIsTold() {
            String key = newName();
            assertTrue(
                    store().resolve(key, Order.RETRY, "x", true).orElseThrow().contains(key));
        }

        @Test
        void whatAPersonConfirmedHasTheirWordsForAReceipt() {
            String key = in(EffectState.UNKNOWN);
            store().resolve(key, Order.CONFIRMED, "it is in the list", false);
            assertTrue(shown(key).receipt().contains("it is in the list"));
        }

        @Test
        void aRetryBeginsAnew() {
            Pair pair = newPair();
            String key = announced(pair, Duration.ofHours(1));
            Instant announcedAt = shown(key).announcedAt();
            bring(pair, EffectState.DEAD);
            pass(Duration.ofHours(3));
            assertEquals(Optional.empty(), store().resolve(key, Order.RETRY, "again", false));
            EffectView view = shown(key);
            assertEquals(announcedAt, view.announcedAt());
            assertEquals(store().now().plus(Duration.ofHours(1)), view.expiresAt());
            assertEquals(0, view.tries());
            assertFalse(view.override());
            assertEquals(key, due(pair));
            begun(sender(pair), pair);
            assertEquals(1, shown(key).tries());
        }

        @Test
        void whatSurelyDidNotTakePlaceIsSentAgainWithinItsAge() {
            Pair pair = newPair();
            String key = announced(pair, Duration.ofHours(1));
            bring(pair, EffectState.UNKNOWN);
            Instant end = shown(key).expiresAt();
            assertEquals(Optional.empty(), store().resolve(key, Order.ABSENT, "not there", false));
            assertEquals(end, shown(key).expiresAt());
            assertFalse(next(pair).mayBeSent());
            assertEquals(0, next(pair).tries());

            Pair old = newPair();
            String late = announced(old, Duration.ofHours(1));
            bring(old, EffectState.UNKNOWN);
            pass(Duration.ofHours(5));
            assertEquals(Optional.empty(), store().resolve(late, Order.ABSENT, "not there", false));
            assertEquals(late, due(old), "too old by now, but a person wants it sent");
        }

        @Test
        void aRetryKeepsThatAnEarlierTryMayHaveArrived() {
            Pair pair = newPair();
            String key = announced(pair);
            Lease lease = sender(pair);
            store().sent(lease, begun(lease, pair), unknown(null));
            store().resolve(key, Order.GIVE_UP, "x", false);
            store().resolve(key, Order.RETRY, "after all", false);
            assertTrue(next(pair).mayBeSent());
        }

        @Test
        void aNewerTokenNeedsAnOverrideWhichIsRecorded() {
            for (Order order : List.of(Order.RETRY, Order.ABSENT)) {
                Pair pair = newPair();
                String key = announced(pair);
                bring(pair, order == Order.RETRY ? EffectState.DEAD : EffectState.UNKNOWN);
                plantKnown(pair, 5, newRun());
                String before = row(key);

                String words = store().resolve(key, order, "please", false).orElseThrow();

                assertTrue(words.contains("token 1 ") && words.contains(" 5,") && words.contains("override"), words);
                assertEquals(before, row(key));
                assertEquals(List.of(), eventsOf(key));

                assertEquals(Optional.empty(), store().resolve(key, order, "please", true));

                assertTrue(shown(key).override());
                List<WriteEvent> events = eventsOf(key);
                assertEquals(
                        List.of("OVERRIDE", "RESOLVED " + order + ": please"),
                        events.stream().map(WriteEvent::reason).toList());
                assertEquals(5L, events.getFirst().newestFence());
                Effect effect = next(pair);
                assertTrue(effect.override());
                Lease lease = sender(pair);
                begun(lease, effect);
                assertEquals(5, knownFence(pair), "an override lowers no token");
                assertTrue(store().sent(lease, effect, settlement(EffectState.CONFIRMED)));
            }
        }

        @Test
        void aTwinsTokenNeedsAnOverrideToo() {
            Pair pair = newPair();
            String key = announced(pair);
            bring(pair, EffectState.DEAD);
            plantKnown(pair, 1, newRun());
            assertTrue(store().resolve(key, Order.RETRY, "please", false).isPresent());
            assertEquals(Optional.empty(), store().resolve(key, Order.RETRY, "please", true));
        }

        @Test
        void anOverrideEndsWithTheRetryItWasGivenFor() {
            Pair pair = newPair();
            String key = announced(pair);
            bring(pair, EffectState.DEAD);
            store().resolve(key, Order.RETRY, "x", true);
            bring(pair, EffectState.DEAD);
            store().resolve(key, Order.RETRY, "x", false);
            assertFalse(shown(key).override());
        }

        @Test
        void ofAPersonWhoGivesUpAndASenderThatBeginsOneComesFirst() throws Exception {
            for (int round = 0; round < 20; round++) {
                Pair pair = newPair();
                String key = announced(pair);
                Lease lease = sender(pair);
                Effect effect = next(pair);
                List<Object> answers = atOnce(List.of(
                        () -> store().begin(lease, effect),
                        () -> site().otherNode().resolve(key, Order.GIVE_UP, "no", false)));
                boolean began = answers.getFirst() instanceof Begun.Sending;
                boolean givenUp = answers.getLast().equals(Optional.empty());
                assertNotEquals(began, givenUp, answers::toString);
                assertEquals(began ? EffectState.SENDING : EffectState.DEAD, state(key));
            }
        }
    }

    /** All that an attempt and its effects need to go on is in the store: another node sees the same. */
    @Nested
    class AnotherNode {

        @Test
        void sendsWhatTheFirstAnnounced() {
            Pair pair = newPair();
            Lease run = run(pair);
            String key = newName();
            stored(run, announcing(announcement("a", key, pair, "body")));
            Lease lease = sender(pair);
            Effect effect = assertNotNull(site().otherNode().next(pair));
            assertEquals(
                    HexFormat.of().formatHex("body".getBytes(StandardCharsets.UTF_8)),
                    HexFormat.of().formatHex(effect.content().bytes()));
            assertEquals(new Begun.Sending(), site().otherNode().begin(lease, effect));
            assertTrue(site().otherNode().sent(lease, effect, settlement(EffectState.CONFIRMED)));
            assertEquals(EffectState.CONFIRMED, state(key));
            Attempt attempt = attempt(run);
            assertEquals(Outcome.SUCCEEDED, attempt.outcome());
        }
    }
}
