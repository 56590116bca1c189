package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.Store;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.History.WriteEvent;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.ItemResult;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue;
import dev.fencepost.work.WorkQueue.QueueView;
import dev.fencepost.work.WorkState;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/**
 * What every store has to hold of items of work: section 4 of the semantics and the port's own words, boundary by boundary. The store's
 * clock stands still unless a test moves it. Tests share one database, so each takes items and queues of its own.
 */
abstract class WorkContract {

    static final Duration TTL = Duration.ofMinutes(10);
    static final Owner ANNA = new Owner("anna");
    static final Owner BEN = new Owner("ben");

    abstract Site site();

    final Store store() {
        return site().store();
    }

    final void pass(Duration time) {
        site().pass(time);
    }

    /** Moves the clock to this very instant. */
    final void passTo(Instant instant) {
        pass(Duration.between(store().now(), instant));
    }

    static RunId newRun() {
        return StoreContract.newRun();
    }

    static List<RunId> newRuns(int count) {
        return Stream.generate(StoreContract::newRun).limit(count).toList();
    }

    static String newName() {
        return "w" + StoreContract.newName();
    }

    static Body body(String text) {
        return new Body(text.getBytes(StandardCharsets.UTF_8), "text/plain");
    }

    static String text(Body body) {
        return new String(body.bytes(), StandardCharsets.UTF_8);
    }

    static NewItem newItem(String id, String queue) {
        return new NewItem(id, queue, body("do " + id), 0, null, 3);
    }

    final WorkItem enqueued(NewItem item) {
        WorkQueue.Enqueued answer = store().enqueue(item);
        assertTrue(answer.created(), item + " is new");
        return answer.item();
    }

    /** A new item in a queue of its own. */
    final String enqueued() {
        String id = newName();
        return enqueued(newItem(id, "q-" + id)).id();
    }

    final String enqueuedIn(String queue) {
        return enqueued(newItem(newName(), queue)).id();
    }

    final WorkItem item(String id) {
        WorkItem item = store().item(id);
        assertTrue(item != null, id + " is there");
        return item;
    }

    static WorkItem done(WorkAnswer answer) {
        return assertInstanceOf(WorkAnswer.Done.class, answer).item();
    }

    final WorkItem claimed(String id, Owner owner) {
        return done(store().claimItem(id, owner, newRun(), TTL));
    }

    final WorkItem claimed(String id) {
        return claimed(id, ANNA);
    }

    final Grant granted(String id) {
        return grant(claimed(id));
    }

    static Grant grant(WorkItem item) {
        return new Grant(item.id(), item.owner(), new FencingToken(item.fence()), item.runId());
    }

    final Refusal refused(WorkAnswer answer) {
        WorkAnswer.Refused refused = assertInstanceOf(WorkAnswer.Refused.class, answer);
        if (refused.reason() == Refusal.UNKNOWN) {
            assertNull(refused.item());
        } else {
            assertSame(item(refused.item().id()), refused.item());
        }
        return refused.reason();
    }

    /** Equal in all but the identity of the bytes. */
    static void assertSame(WorkItem expected, WorkItem actual) {
        assertEquals(expected.toString(), actual.toString());
        assertSame(expected.payload(), actual.payload());
        assertSame(expected.result(), actual.result());
    }

    static void assertSame(Body expected, Body actual) {
        if (expected == null || actual == null) {
            assertEquals(expected, actual);
        } else {
            assertArrayEquals(expected.bytes(), actual.bytes());
            assertEquals(expected.type(), actual.type());
        }
    }

    /** All that the store holds of an item, but for events. */
    final String everything(String id) {
        return site().rows("select * from work_item where id = '" + id + "'")
                + "\n" + site().rows("select * from work_artifact where item = '" + id + "' order by fence, name")
                + "\n" + site().rows("select * from work_fence where id = '" + id + "'");
    }

    final List<WriteEvent> events(String id) {
        return store().events(100_000).stream()
                .filter(event -> event.resource().equals("work:" + id))
                .toList();
    }

    static Grant with(Grant grant, Owner owner, long fence, RunId run) {
        return new Grant(grant.id(), owner, new FencingToken(fence), run);
    }

    /** The grant with each part of what it has to show changed in turn, and why each is refused. */
    static Map<Grant, Refusal> forged(Grant grant) {
        long fence = grant.fence().value();
        Map<Grant, Refusal> forged = new LinkedHashMap<>();
        forged.put(with(grant, new Owner(grant.owner() + "x"), fence, grant.runId()), Refusal.NOT_OWNER);
        forged.put(with(grant, grant.owner(), fence - 1, grant.runId()), Refusal.STALE_TOKEN);
        forged.put(with(grant, grant.owner(), fence - 1, null), Refusal.STALE_TOKEN);
        forged.put(with(grant, grant.owner(), fence + 1, grant.runId()), Refusal.NOT_OWNER);
        forged.put(with(grant, grant.owner(), fence, newRun()), Refusal.NOT_OWNER);
        forged.put(with(grant, new Owner("x"), fence, null), Refusal.NOT_OWNER);
        return forged;
    }

    /** Claimed a second time, so that a token one lower is one that was granted. */
    final Grant grantedTwice(String id) {
        store().release(granted(id));
        return granted(id);
    }

    static Artifact artifact(Grant grant, String name, String sha) {
        return new Artifact(
                grant.id(), grant.fence().value(), name, "text/plain", 12, sha, Instant.parse("2026-05-04T03:02:01Z"));
    }

    /** Every call under a grant that changes something. */
    final Map<String, Function<Grant, WorkAnswer>> writes() {
        Map<String, Function<Grant, WorkAnswer>> writes = new LinkedHashMap<>();
        writes.put("renew", grant -> store().renew(grant, TTL));
        writes.put("complete", grant -> store().complete(grant, body("late")));
        writes.put("fail", grant -> store().fail(grant, "late", Duration.ZERO));
        writes.put("give up", grant -> store().fail(grant, "late", null));
        writes.put("release", grant -> store().release(grant));
        writes.put("artifact", grant -> store().addArtifact(grant, artifact(grant, "late.txt", "00")));
        return writes;
    }

    /** Each of these calls is refused, changes nothing, and leaves the event that it has to leave. */
    final void assertRefused(Grant grant, Refusal reason, String... calls) {
        Set<String> wanted = calls.length == 0 ? writes().keySet() : Set.of(calls);
        for (String call : wanted) {
            String before = everything(grant.id());
            int eventsBefore = events(grant.id()).size();
            assertEquals(reason, refused(writes().get(call).apply(grant)), call);
            assertEquals(before, everything(grant.id()), call);
            boolean recorded = !call.equals("renew") || reason == Refusal.STALE_TOKEN;
            List<WriteEvent> events = events(grant.id());
            assertEquals(eventsBefore + (recorded ? 1 : 0), events.size(), call);
            if (recorded) {
                WorkItem now = store().item(grant.id());
                long fence = grant.fence().value();
                assertEquals(
                        new WriteEvent(
                                store().now(),
                                "work:" + grant.id(),
                                grant.owner().text(),
                                fence,
                                grant.runId() == null ? null : grant.runId().toString(),
                                false,
                                reason.name(),
                                null,
                                now != null && now.fence() > fence ? now.fence() : null),
                        events.getFirst(),
                        call);
            }
        }
        assertEquals(reason, store().check(grant).orElseThrow().reason());
    }

    @Nested
    class Enqueuing {

        @Test
        void aNewItemIsReadyAndHasNoToken() {
            String id = newName();
            assertNull(store().item(id));
            Instant notBefore = store().now().minusSeconds(1);
            WorkItem made = enqueued(new NewItem(id, "some", body("p"), 7, notBefore, 4));
            WorkItem expected = new WorkItem(
                    id,
                    "some",
                    WorkState.READY,
                    7,
                    notBefore,
                    0,
                    4,
                    0,
                    null,
                    null,
                    null,
                    body("p"),
                    null,
                    null,
                    store().now(),
                    null);
            assertSame(expected, made);
            assertSame(expected, item(id));
            assertSame(expected, site().otherNode().item(id));
        }

        @Test
        void nothingAndNoBytesAreTwoThings() {
            String none = newName();
            String empty = newName();
            String full = newName();
            byte[] bytes = new byte[Body.MAX_BYTES];
            java.util.Arrays.fill(bytes, (byte) 0x80);
            enqueued(new NewItem(none, "some", null, 0, null, 1));
            enqueued(new NewItem(empty, "some", new Body(new byte[0], null), 0, null, 1));
            enqueued(new NewItem(full, "some", new Body(bytes, "application/octet-stream"), 0, null, 1));
            assertNull(item(none).payload());
            assertSame(new Body(new byte[0], null), item(empty).payload());
            assertSame(new Body(bytes, "application/octet-stream"), item(full).payload());
            assertNull(done(store().complete(granted(none), null)).result());
            assertSame(
                    new Body(new byte[0], null),
                    done(store().complete(granted(empty), new Body(new byte[0], null)))
                            .result());
            assertSame(
                    new Body(bytes, null),
                    done(store().complete(granted(full), new Body(bytes, null))).result());
        }

        @Test
        void aKnownIdChangesNothingWhateverBecameOfTheItem() {
            Map<String, Consumer<String>> lives = new LinkedHashMap<>();
            lives.put("ready", id -> {});
            lives.put("claimed", id -> granted(id));
            lives.put("run out", id -> passTo(claimed(id).until()));
            lives.put("done", id -> store().complete(granted(id), body("the result")));
            lives.put("dead", id -> store().fail(granted(id), "no", null));
            lives.forEach((life, live) -> {
                String id = enqueued();
                live.accept(id);
                String before = everything(id);
                WorkItem item = item(id);
                for (Store node : List.of(store(), site().otherNode())) {
                    WorkQueue.Enqueued again =
                            node.enqueue(new NewItem(id, "another", body("other"), 9, store().now(), 1));
                    assertFalse(again.created(), life);
                    assertSame(item, again.item());
                }
                assertEquals(before, everything(id), life);
            });
        }

        @Test
        void ofManyWhoPutTheSameIdOneMakesIt() throws Exception {
            String id = newName();
            List<Callable<WorkQueue.Enqueued>> calls = new ArrayList<>();
            for (int i = 0; i < 16; i++) {
                NewItem mine = new NewItem(id, "some", body("of " + i), 0, null, 1);
                Store node = i % 2 == 0 ? store() : site().otherNode();
                calls.add(() -> node.enqueue(mine));
            }
            List<WorkQueue.Enqueued> answers = StoreContract.atOnce(calls);
            assertEquals(1, answers.stream().filter(WorkQueue.Enqueued::created).count());
            answers.forEach(answer -> assertSame(item(id), answer.item()));
        }
    }

    @Nested
    class Claiming {

        @Test
        void aFreeItemIsGrantedWithTheFirstToken() {
            String id = enqueued();
            RunId run = newRun();
            WorkItem before = item(id);
            WorkItem item = done(store().claimItem(id, ANNA, run, TTL));
            assertSame(
                    new WorkItem(
                            id,
                            before.queue(),
                            WorkState.CLAIMED,
                            0,
                            null,
                            1,
                            3,
                            1,
                            ANNA,
                            run,
                            store().now().plus(TTL),
                            before.payload(),
                            null,
                            null,
                            before.enqueuedAt(),
                            null),
                    item);
            assertSame(item, item(id));
            assertEquals(Optional.empty(), store().check(grant(item)));
            assertEquals(List.of(), events(id));
        }

        @Test
        void aTtlOutsideItsBoundsIsAnErrorAndChangesNothing() {
            String id = enqueued();
            String held = enqueued();
            Grant grant = granted(held);
            String before = everything(id) + everything(held);
            for (Duration ttl : List.of(
                    Duration.ZERO,
                    Duration.ofMillis(-1),
                    Duration.ofDays(30).plusMillis(1),
                    Duration.ofSeconds(Long.MAX_VALUE))) {
                assertThrows(IllegalArgumentException.class, () -> store().claimItem(id, ANNA, newRun(), ttl));
                assertThrows(
                        IllegalArgumentException.class,
                        () -> store().claimAny("q-" + id, ANNA, List.of(newRun()), ttl));
                assertThrows(IllegalArgumentException.class, () -> store().renew(grant, ttl));
            }
            assertEquals(before, everything(id) + everything(held));
            for (Duration ttl : List.of(Duration.ofMillis(1), Duration.ofDays(30))) {
                assertEquals(
                        store().now().plus(ttl), done(store().renew(grant, ttl)).until());
            }
        }

        @Test
        void aLiveLeaseIsRefusedToEveryoneTheSameOwnerIncluded() {
            String id = enqueued();
            claimed(id);
            String before = everything(id);
            assertEquals(Refusal.HELD, refused(store().claimItem(id, BEN, newRun(), TTL)));
            assertEquals(Refusal.HELD, refused(store().claimItem(id, ANNA, newRun(), TTL)));
            assertEquals(Refusal.HELD, refused(site().otherNode().claimItem(id, ANNA, newRun(), TTL)));
            assertEquals(List.of(), store().claimAny("q-" + id, ANNA, List.of(newRun()), TTL));
            assertEquals(before, everything(id));
        }

        @Test
        void aSecondTryOfTheSameClaimFindsItsGrant() {
            String id = enqueued();
            RunId run = newRun();
            WorkItem first = done(store().claimItem(id, ANNA, run, TTL));
            String before = everything(id);
            pass(Duration.ofSeconds(1));
            assertSame(first, done(store().claimItem(id, ANNA, run, TTL)));
            assertEquals(Refusal.HELD, refused(store().claimItem(id, BEN, run, TTL)), "the run id alone is not enough");
            assertEquals(before, everything(id));
            WorkItem renewed = done(store().renew(grant(first), TTL));
            assertSame(renewed, done(store().claimItem(id, ANNA, run, TTL)));
        }

        @Test
        void aSecondTryAfterTheEndOfItsGrantIsANewGrant() {
            String id = enqueued();
            RunId run = newRun();
            WorkItem first = done(store().claimItem(id, ANNA, run, TTL));
            passTo(first.until());
            WorkItem second = done(store().claimItem(id, ANNA, run, TTL));
            assertEquals(2, second.fence());
            assertEquals(2, second.attempts());
            assertRefused(grant(first), Refusal.STALE_TOKEN);
        }

        @Test
        void aRunIdHoldsOneItem() {
            String id = enqueued();
            String other = enqueued();
            RunId run = newRun();
            done(store().claimItem(id, ANNA, run, TTL));
            String before = everything(id) + everything(other);
            assertEquals(Refusal.HELD, refused(store().claimItem(other, ANNA, run, TTL)));
            assertEquals(List.of(), store().claimAny("q-" + other, ANNA, List.of(run), TTL));
            assertEquals(before, everything(id) + everything(other));
        }

        @Test
        void theInstantOfTheEndIsReassignableAndTheOneBeforeIsNot() {
            String id = enqueued();
            WorkItem old = claimed(id);
            passTo(old.until());
            pass(site().step().negated());
            assertEquals(Refusal.HELD, refused(store().claimItem(id, BEN, newRun(), TTL)));
            assertEquals(List.of(), store().claimAny(old.queue(), BEN, List.of(newRun()), TTL));
            assertEquals(WorkState.CLAIMED, item(id).state());

            pass(site().step());

            WorkItem free = item(id);
            assertEquals(WorkState.READY, free.state());
            assertNull(free.owner());
            assertNull(free.runId());
            assertNull(free.until());
            WorkItem next = claimed(id, BEN);
            assertEquals(2, next.fence());
            assertEquals(store().now().plus(TTL), next.until());
        }

        @Test
        void whatIsNotThereOrHasEndedIsNotClaimed() {
            assertEquals(Refusal.UNKNOWN, refused(store().claimItem(newName(), ANNA, newRun(), TTL)));
            String done = enqueued();
            store().complete(granted(done), body("r"));
            String dead = enqueued();
            store().fail(granted(dead), "no", null);
            String before = everything(done) + everything(dead);
            assertEquals(Refusal.ALREADY_DONE, refused(store().claimItem(done, ANNA, newRun(), TTL)));
            assertEquals(Refusal.DEAD, refused(store().claimItem(dead, ANNA, newRun(), TTL)));
            assertEquals(List.of(), store().claimAny("q-" + done, ANNA, newRuns(2), TTL));
            assertEquals(List.of(), store().claimAny("q-" + dead, ANNA, newRuns(2), TTL));
            assertEquals(before, everything(done) + everything(dead));
        }

        @Test
        void theTokenRisesWithEveryGrantWhateverCameBetween() {
            String id = newName();
            NewItem likeNew = new NewItem(id, "q-" + id, null, 0, null, 100);
            enqueued(likeNew);
            List<Consumer<WorkItem>> between = List.of(
                    item -> done(store().release(grant(item))),
                    item -> done(store().fail(grant(item), "no", Duration.ZERO)),
                    item -> passTo(item.until()),
                    item -> {
                        passTo(item.until());
                        done(store().release(grant(item)));
                    },
                    item -> {
                        done(store().complete(grant(item), null));
                        pass(Duration.ofSeconds(1));
                        store().prune(store().now(), 10_000);
                        assertNull(store().item(id));
                        enqueued(likeNew);
                    });
            long last = 0;
            for (Consumer<WorkItem> step : between) {
                WorkItem item = claimed(id);
                assertEquals(last + 1, item.fence());
                last = item.fence();
                step.accept(item);
                assertEquals(last, item(id).fence());
                item = store().claimAny("q-" + id, BEN, List.of(newRun()), TTL).getFirst();
                assertEquals(last + 1, item.fence());
                last = item.fence();
                step.accept(item);
            }
        }

        @Test
        void ofManySimultaneousClaimsExactlyOneIsGranted() throws Exception {
            for (int round = 1; round <= 3; round++) {
                String id = enqueued();
                List<Callable<WorkAnswer>> claims = new ArrayList<>();
                for (int i = 0; i < 64; i++) {
                    Store node = i % 2 == 0 ? store() : site().otherNode();
                    Owner owner = new Owner("owner-" + i);
                    claims.add(() -> node.claimItem(id, owner, newRun(), TTL));
                }
                List<WorkAnswer> answers = StoreContract.atOnce(claims);
                WorkItem held = item(id);
                assertEquals(1, held.fence());
                assertEquals(1, held.attempts());
                int granted = 0;
                for (int i = 0; i < answers.size(); i++) {
                    if (answers.get(i) instanceof WorkAnswer.Done done) {
                        granted++;
                        assertEquals("owner-" + i, held.owner().text());
                        assertSame(held, done.item());
                    } else {
                        assertEquals(Refusal.HELD, refused(answers.get(i)));
                    }
                }
                assertEquals(1, granted);
            }
        }

        @Test
        void anItemIsNotClaimedBeforeItsTime() {
            String id = newName();
            Instant notBefore = store().now().plusSeconds(60);
            enqueued(new NewItem(id, "q-" + id, null, 0, notBefore, 3));
            String before = everything(id);
            assertEquals(WorkState.READY, item(id).state());
            passTo(notBefore);
            pass(site().step().negated());
            assertEquals(Refusal.NOT_YET, refused(store().claimItem(id, ANNA, newRun(), TTL)));
            assertEquals(List.of(), store().claimAny("q-" + id, ANNA, newRuns(2), TTL));
            assertEquals(before, everything(id));
            pass(site().step());
            assertEquals(1, claimed(id).fence());
        }

        @Test
        void anItemWhoseTriesAreUsedUpIsDeadThoughNobodyHasSeenItDie() {
            String id = enqueued(newItem(newName(), newName())).id();
            for (int attempt = 1; attempt <= 3; attempt++) {
                WorkItem item = claimed(id);
                assertEquals(attempt, item.attempts());
                passTo(item.until());
                pass(Duration.ofSeconds(5));
            }
            WorkItem dead = item(id);
            assertEquals(WorkState.DEAD, dead.state());
            assertEquals(store().now().minusSeconds(5), dead.endedAt());
            assertEquals("the lease of its last attempt ran out", dead.reason());
            assertNull(dead.owner());
            assertEquals(Refusal.DEAD, refused(store().claimItem(id, ANNA, newRun(), TTL)));
            assertSame(dead, item(id));
            assertEquals("DEAD", site().value("select state from work_item where id = '" + id + "'"));
        }
    }

    @Nested
    class ClaimingAny {

        private static List<String> ids(List<WorkItem> items) {
            return items.stream().map(WorkItem::id).toList();
        }

        private String ready(String queue, int priority) {
            return enqueued(new NewItem(newName(), queue, null, priority, null, 3))
                    .id();
        }

        @Test
        void aClaimOfManyStopsWhenTheirPayloadsAreEnough() {
            String queue = "big-" + newName();
            Body half = new Body(new byte[WorkQueue.ENOUGH_BYTES / 2], null);
            List<String> ids = new ArrayList<>();
            for (Body payload : Arrays.asList(null, half, half, half, null)) {
                ids.add(enqueued(new NewItem(newName(), queue, payload, 0, null, 3))
                        .id());
            }
            assertEquals(ids.subList(0, 3), ids(store().claimAny(queue, ANNA, newRuns(9), TTL)));
            assertEquals(ids.subList(3, 5), ids(store().claimAny(queue, ANNA, newRuns(9), TTL)));
        }

        @Test
        void theHighestPriorityComesFirstAndOfTheSameTheOldest() {
            String queue = newName();
            String low = ready(queue, -1);
            String first = ready(queue, 5);
            String middle = ready(queue, 0);
            String second = ready(queue, 5);
            ready(newName(), 9);
            List<RunId> runs = newRuns(3);

            List<WorkItem> claimed = store().claimAny(queue, ANNA, runs, TTL);

            assertEquals(List.of(first, second, middle), ids(claimed));
            assertEquals(
                    runs, claimed.stream().map(WorkItem::runId).toList(), "the run ids go to the items in their order");
            for (WorkItem item : claimed) {
                assertSame(item(item.id()), item);
                assertEquals(WorkState.CLAIMED, item.state());
                assertEquals(ANNA, item.owner());
                assertEquals(1, item.fence());
                assertEquals(1, item.attempts());
                assertEquals(store().now().plus(TTL), item.until());
            }
            assertEquals(List.of(low), ids(store().claimAny(queue, BEN, newRuns(3), TTL)));
            assertEquals(List.of(), store().claimAny(queue, BEN, newRuns(3), TTL));
        }

        @Test
        void whatWasHeldWaitedOrFailedIsClaimedInItsOldOrder() {
            String queue = newName();
            String ranOut = ready(queue, 0);
            String released = ready(queue, 0);
            String failed = ready(queue, 0);
            String delayed = enqueued(
                            new NewItem(newName(), queue, null, 0, store().now().plus(TTL), 3))
                    .id();
            String urgent = enqueued(
                            new NewItem(newName(), queue, null, 1, store().now().plus(TTL), 3))
                    .id();
            WorkItem first = claimed(ranOut);
            store().release(granted(released));
            store().fail(granted(failed), "once more", TTL);
            passTo(first.until());

            List<WorkItem> claimed = store().claimAny(queue, BEN, newRuns(10), TTL);

            assertEquals(List.of(urgent, ranOut, released, failed, delayed), ids(claimed));
            assertEquals(
                    List.of(1L, 2L, 2L, 2L, 1L),
                    claimed.stream().map(WorkItem::fence).toList());
            assertEquals(
                    List.of(1, 2, 1, 2, 1),
                    claimed.stream().map(WorkItem::attempts).toList());
            assertRefused(grant(first), Refusal.STALE_TOKEN);
        }

        @Test
        void anItemWhoseTriesAreUsedUpDiesInsteadAndMakesRoomForTheNext() {
            String queue = newName();
            String last =
                    enqueued(new NewItem(newName(), queue, null, 9, null, 1)).id();
            String next = ready(queue, 0);
            WorkItem item = claimed(last);
            passTo(item.until());
            assertEquals(List.of(next), ids(store().claimAny(queue, ANNA, newRuns(1), TTL)));
            assertEquals("DEAD", site().value("select state from work_item where id = '" + last + "'"));
            WorkItem dead = item(last);
            assertEquals(item.until(), dead.endedAt());
            assertEquals("the lease of its last attempt ran out", dead.reason());
            assertRefused(grant(item), Refusal.DEAD);
        }

        @Test
        void aSecondTryFindsWhatTheFirstWasGranted() {
            String queue = newName();
            for (int i = 0; i < 6; i++) {
                ready(queue, 0);
            }
            List<RunId> runs = newRuns(3);
            List<WorkItem> first = store().claimAny(queue, ANNA, runs, TTL);
            pass(Duration.ofSeconds(1));
            String before =
                    first.stream().map(item -> everything(item.id())).toList().toString();
            assertEquals(
                    first.toString(), store().claimAny(queue, ANNA, runs, TTL).toString());
            assertEquals(
                    first.toString(),
                    site().otherNode()
                            .claimAny(queue, ANNA, runs.reversed(), TTL)
                            .toString());
            assertEquals(
                    before,
                    first.stream().map(item -> everything(item.id())).toList().toString());
            assertEquals(List.of(), store().claimAny(queue, BEN, runs, TTL), "the run ids alone are not enough");

            List<RunId> more = new ArrayList<>(runs.subList(1, 3));
            more.addAll(newRuns(1));
            List<WorkItem> second = store().claimAny(queue, ANNA, more, TTL);
            assertEquals(more, second.stream().map(WorkItem::runId).toList());
            assertEquals(ids(first).subList(1, 3), ids(second).subList(0, 2));
            assertEquals(store().now().plus(TTL), second.get(2).until());
            assertEquals(2, store().claimAny(queue, ANNA, newRuns(9), TTL).size());
        }

        @Test
        void anArgumentThatMakesNoSenseIsAnError() {
            String queue = newName();
            ready(queue, 0);
            RunId run = newRun();
            assertThrows(
                    IllegalArgumentException.class,
                    () -> store().claimAny(queue, ANNA, newRuns(WorkQueue.MOST_AT_ONCE + 1), TTL));
            assertThrows(IllegalArgumentException.class, () -> store().claimAny(queue, ANNA, List.of(run, run), TTL));
            assertThrows(IllegalArgumentException.class, () -> store().claimAny("No Queue", ANNA, newRuns(1), TTL));
            assertEquals(List.of(), store().claimAny(queue, ANNA, List.of(), TTL));
            assertEquals(
                    1,
                    store().claimAny(queue, ANNA, newRuns(WorkQueue.MOST_AT_ONCE), TTL)
                            .size());
        }

        @Test
        void ofManySimultaneousClaimsEachItemIsInOne() throws Exception {
            String queue = newName();
            Set<String> all = new HashSet<>();
            for (int i = 0; i < 200; i++) {
                all.add(ready(queue, i % 3));
            }
            Set<String> seen = Collections.synchronizedSet(new HashSet<>());
            List<Callable<Integer>> workers = new ArrayList<>();
            for (int i = 0; i < 16; i++) {
                Store node = i % 2 == 0 ? store() : site().otherNode();
                Owner owner = new Owner("owner-" + i);
                workers.add(() -> {
                    int mine = 0;
                    while (seen.size() < 200) {
                        for (WorkItem item : node.claimAny(queue, owner, newRuns(7), TTL)) {
                            assertTrue(seen.add(item.id()), item.id() + " was granted twice");
                            assertEquals(owner, item.owner());
                            assertEquals(1, item.fence());
                            mine++;
                        }
                    }
                    return mine;
                });
            }
            List<Integer> counts = StoreContract.atOnce(workers);
            assertEquals(200, counts.stream().mapToInt(each -> each).sum());
            assertEquals(all, seen);
        }

        /** More than one claim puts right. */
        @Test
        void thousandsWhoseTimeComesAtOnceAreAllClaimed() {
            String queue = newName();
            Instant soon = store().now().plusSeconds(1);
            site().sql("insert into work_item (id, queue, state, priority, not_before, max_attempts, enqueued_at)"
                    + " with recursive n (i) as (select 1 union all select i + 1 from n where i < 2500)"
                    + " select '" + queue + "-' || i, '" + queue + "', 'DELAYED', 0, " + site().literal(soon)
                    + ", 1, " + site().literal(store().now()) + " from n");
            assertEquals(List.of(), store().claimAny(queue, ANNA, newRuns(1), TTL));
            passTo(soon);
            Set<String> claimed = new HashSet<>();
            while (claimed.addAll(ids(store().claimAny(queue, ANNA, newRuns(1000), TTL)))) {
                assertTrue(claimed.size() <= 2500);
            }
            assertEquals(2500, claimed.size());
            pass(TTL);
            assertEquals(List.of(), store().claimAny(queue, ANNA, newRuns(1000), TTL));
            assertEquals(
                    List.of(new QueueView(queue, 0, 0, 0, 2500, null, null)),
                    store().queues().stream()
                            .filter(view -> view.queue().equals(queue))
                            .toList());
        }
    }

    @Nested
    class UnderAGrant {

        @Test
        void aRenewalMovesTheEndAndNothingElse() {
            String id = enqueued();
            WorkItem item = claimed(id);
            String rest = "select id, queue, state, priority, not_before, attempts, max_attempts, fence, owner, run_id,"
                    + " enqueued_at, ended_at, reason, payload_type, result_type, " + site().hex("payload") + ", "
                    + site().hex("result") + " from work_item where id = '" + id + "'";
            List<List<String>> before = site().rows(rest);
            pass(TTL.minus(site().step()));
            WorkItem renewed = done(store().renew(grant(item), Duration.ofMinutes(3)));
            assertEquals(store().now().plus(Duration.ofMinutes(3)), renewed.until());
            assertEquals(before, site().rows(rest));
            assertSame(renewed, item(id));
            passTo(renewed.until());
            assertEquals(WorkState.READY, item(id).state());
            assertEquals(List.of(), events(id));
        }

        @Test
        void atItsEndALeaseIsGoodForNothingButARelease() {
            for (String putRight : List.of("not yet", "by a claim of any")) {
                String id = enqueued();
                WorkItem item = claimed(id);
                passTo(item.until());
                if (!putRight.equals("not yet")) {
                    store().setCapacity(item.queue(), 0);
                    assertEquals(List.of(), store().claimAny(item.queue(), BEN, newRuns(1), TTL));
                    assertEquals("READY", site().value("select state from work_item where id = '" + id + "'"));
                }
                assertRefused(grant(item), Refusal.EXPIRED, "renew", "complete", "fail", "give up", "artifact");
                WorkItem released = done(store().release(grant(item)));
                assertEquals(WorkState.READY, released.state());
                assertEquals(0, released.attempts());
                assertEquals(1, released.fence());
                assertRefused(grant(item), Refusal.NOT_OWNER);
            }
        }

        @Test
        void theInstantBeforeTheEndIsGoodForEverything() {
            for (String call : writes().keySet()) {
                String id = enqueued();
                WorkItem item = claimed(id);
                passTo(item.until());
                pass(site().step().negated());
                assertInstanceOf(WorkAnswer.Done.class, writes().get(call).apply(grant(item)), call);
            }
        }

        @Test
        void aLeaseTakenByAnotherIsStale() {
            String id = enqueued();
            WorkItem old = claimed(id);
            passTo(old.until());
            Grant next = grant(claimed(id, BEN));
            assertRefused(grant(old), Refusal.STALE_TOKEN);
            assertEquals(Optional.empty(), store().check(next));
            assertInstanceOf(WorkAnswer.Done.class, store().complete(next, body("r")));
        }

        @Test
        void eachPartOfWhatAGrantShowsCounts() {
            Grant grant = grantedTwice(enqueued());
            forged(grant).forEach((forgery, reason) -> assertRefused(forgery, reason));
            Grant elsewhere = granted(enqueued());
            Grant mixed = new Grant(grant.id(), elsewhere.owner(), elsewhere.fence(), elsewhere.runId());
            assertRefused(mixed, Refusal.STALE_TOKEN);
            assertRefused(new Grant(elsewhere.id(), grant.owner(), grant.fence(), grant.runId()), Refusal.NOT_OWNER);
            assertEquals(Optional.empty(), store().check(grant));
        }

        @Test
        void anUnknownIdIsNoItem() {
            String unknown = newName();
            assertNull(store().item(unknown));
            assertEquals(List.of(), store().artifacts(unknown));
            assertEquals(List.of(), store().items(unknown, null, 10));
        }

        @Test
        void whatIsNotThereOrHasEndedIsToldSo() {
            assertRefused(new Grant(newName(), ANNA, new FencingToken(1), newRun()), Refusal.UNKNOWN);
            Grant done = grantedTwice(enqueued());
            store().complete(done, body("r"));
            assertRefused(done, Refusal.ALREADY_DONE);
            forged(done).keySet().forEach(forgery -> assertRefused(forgery, Refusal.ALREADY_DONE));
            Grant dead = grantedTwice(enqueued());
            store().fail(dead, "no", null);
            assertRefused(dead, Refusal.DEAD);
            forged(dead).keySet().forEach(forgery -> assertRefused(forgery, Refusal.DEAD));
            Grant ready = granted(enqueued());
            store().release(ready);
            assertRefused(ready, Refusal.NOT_OWNER);
            String never = enqueued();
            assertRefused(new Grant(never, ANNA, new FencingToken(1), newRun()), Refusal.NOT_OWNER);
            assertRefused(new Grant(never, ANNA, new FencingToken(1), null), Refusal.NOT_OWNER);
        }

        @Test
        void whoseLastLeaseRanOutIsDead() {
            String id = enqueued(new NewItem(newName(), newName(), null, 0, null, 1))
                    .id();
            WorkItem item = claimed(id);
            passTo(item.until());
            assertRefused(grant(item), Refusal.DEAD);
            assertEquals(WorkState.DEAD, item(id).state());
        }

        /** On the command line. */
        @Test
        void ownerAndTokenDoWithoutTheRunId() {
            for (String call : writes().keySet()) {
                Grant full = granted(enqueued());
                Grant grant = with(full, full.owner(), full.fence().value(), null);
                assertEquals(Optional.empty(), store().check(grant));
                assertInstanceOf(WorkAnswer.Done.class, writes().get(call).apply(grant), call);
            }
        }

        @Test
        void aCheckChangesNothing() {
            Grant grant = grantedTwice(enqueued());
            String before = everything(grant.id());
            store().check(grant);
            forged(grant).keySet().forEach(store()::check);
            assertEquals(before, everything(grant.id()));
            assertEquals(List.of(), events(grant.id()));
        }
    }

    @Nested
    class Ends {

        @Test
        void aCompletionStoresTheResultForGood() {
            String id = enqueued();
            WorkItem item = claimed(id);
            store().fail(grant(item), "at first", Duration.ZERO);
            item = claimed(id, BEN);
            pass(Duration.ofSeconds(1));
            WorkItem done = done(store().complete(grant(item), body("the result")));
            assertSame(
                    new WorkItem(
                            id,
                            item.queue(),
                            WorkState.DONE,
                            0,
                            item.notBefore(),
                            2,
                            3,
                            2,
                            null,
                            null,
                            null,
                            item.payload(),
                            body("the result"),
                            null,
                            item.enqueuedAt(),
                            store().now()),
                    done);
            assertSame(done, item(id));
            assertEquals(
                    new WriteEvent(
                            store().now(), "work:" + id, "ben", 2, item.runId().toString(), true, "DONE"),
                    events(id).getFirst());
            pass(TTL);
            assertSame(done, item(id));
        }

        @Test
        void theEventOfACompletionWithoutARunIdNamesTheRunAllTheSame() {
            Grant full = granted(enqueued());
            store().complete(with(full, full.owner(), full.fence().value(), null), null);
            assertEquals(full.runId().toString(), events(full.id()).getFirst().runId());
        }

        @Test
        void aSecondCompletionLeavesTheFirstResult() {
            Grant grant = granted(enqueued());
            WorkItem done = done(store().complete(grant, body("first")));
            String before = everything(grant.id());
            assertEquals(Refusal.ALREADY_DONE, refused(store().complete(grant, body("second"))));
            assertEquals(before, everything(grant.id()));
            assertEquals("first", text(item(grant.id()).result()));
            assertSame(done, item(grant.id()));
            assertEquals(
                    List.of("false ALREADY_DONE", "true DONE"),
                    events(grant.id()).stream()
                            .map(event -> event.accepted() + " " + event.reason())
                            .toList());
        }

        @Test
        void ofManySimultaneousCompletionsOneIsStored() throws Exception {
            Grant grant = granted(enqueued());
            List<Callable<WorkAnswer>> calls = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                Store node = i % 2 == 0 ? store() : site().otherNode();
                Body mine = body("of " + i);
                calls.add(() -> node.complete(grant, mine));
            }
            List<WorkAnswer> answers = StoreContract.atOnce(calls);
            List<WorkItem> stored = answers.stream()
                    .filter(WorkAnswer.Done.class::isInstance)
                    .map(WorkContract::done)
                    .toList();
            assertEquals(1, stored.size());
            assertEquals(text(stored.getFirst().result()), text(item(grant.id()).result()));
            assertEquals(
                    1, events(grant.id()).stream().filter(WriteEvent::accepted).count());
        }

        @Test
        void aFailureMakesTheItemReadyAgainAfterItsTime() {
            String id = enqueued();
            Grant grant = granted(id);
            WorkItem failed = done(store().fail(grant, "no network", Duration.ofMinutes(1)));
            assertEquals(WorkState.READY, failed.state());
            assertEquals("no network", failed.reason());
            assertEquals(store().now().plusSeconds(60), failed.notBefore());
            assertEquals(1, failed.attempts());
            assertEquals(1, failed.fence());
            assertNull(failed.endedAt());
            assertSame(failed, item(id));
            assertEquals(Refusal.NOT_YET, refused(store().claimItem(id, ANNA, newRun(), TTL)));
            passTo(failed.notBefore());
            assertEquals(2, claimed(id).fence());
            assertEquals(
                    new WriteEvent(
                            failed.notBefore().minusSeconds(60),
                            "work:" + id,
                            "anna",
                            1,
                            grant.runId().toString(),
                            true,
                            "FAILED"),
                    events(id).getFirst());
        }

        @Test
        void aFailureWithoutDelayIsClaimedAtOnce() {
            String id = enqueued();
            assertEquals(
                    WorkState.READY,
                    done(store().fail(granted(id), "no", Duration.ZERO)).state());
            assertEquals(2, claimed(id).fence());
        }

        @Test
        void theLastFailureAndTheOneForGoodMakeItDead() {
            String used = enqueued();
            for (int i = 0; i < 2; i++) {
                assertEquals(
                        WorkState.READY,
                        done(store().fail(granted(used), "no", Duration.ZERO)).state());
            }
            WorkItem dead = done(store().fail(granted(used), "no more", Duration.ZERO));
            assertEquals(WorkState.DEAD, dead.state());
            assertEquals("no more", dead.reason());
            assertEquals(store().now(), dead.endedAt());
            assertEquals(3, dead.fence());
            assertSame(dead, item(used));
            String given = enqueued();
            assertEquals(
                    WorkState.DEAD,
                    done(store().fail(granted(given), "never", null)).state());
            pass(Duration.ofDays(1));
            assertEquals(List.of(), store().claimAny("q-" + used, ANNA, newRuns(1), TTL));
            assertEquals(List.of(), store().claimAny("q-" + given, ANNA, newRuns(1), TTL));
        }

        @Test
        void anImpossibleDelayIsAnError() {
            Grant grant = granted(enqueued());
            String before = everything(grant.id());
            for (Duration delay :
                    List.of(Duration.ofMillis(-1), Duration.ofDays(367), Duration.ofSeconds(Long.MAX_VALUE))) {
                assertThrows(IllegalArgumentException.class, () -> store().fail(grant, "no", delay));
            }
            assertEquals(before, everything(grant.id()));
        }

        @Test
        void aLongReasonIsCutAndAnyCharacterIsTaken() {
            assertEquals(
                    "a\uFFFDb\u001b'\uD83D\uDE00",
                    done(store().fail(granted(enqueued()), "a\0b\u001b'\uD83D\uDE00", null))
                            .reason());
            Grant grant = granted(enqueued());
            assertEquals(
                    "x".repeat(2_000),
                    done(store().fail(grant, "x".repeat(3_000), null)).reason());
        }

        @Test
        void aReleaseKeepsTheTokenAndTheAttemptDoesNotCount() {
            String id = enqueued();
            for (int i = 1; i <= 5; i++) {
                WorkItem item = claimed(id);
                assertEquals(i, item.fence());
                WorkItem released = done(store().release(grant(item)));
                assertEquals(WorkState.READY, released.state());
                assertEquals(i, released.fence());
                assertEquals(0, released.attempts());
                assertSame(released, item(id));
            }
            assertEquals(List.of(), events(id));
        }

        @Test
        void eventsCarryNoPayload() {
            String id = newName();
            enqueued(new NewItem(id, "some", body("secret-payload"), 0, null, 3));
            Grant grant = granted(id);
            store().fail(grant, "secret-reason", Duration.ZERO);
            store().complete(grant, body("secret-result"));
            store().complete(granted(id), body("secret-result"));
            assertEquals(3, events(id).size());
            assertEquals(
                    List.of(),
                    site().rows("select * from write_event where resource = 'work:" + id + "'").stream()
                            .filter(row -> row.toString().contains("secret"))
                            .toList());
        }

        @Test
        void anEndWithoutItsEventIsNone() {
            Grant grant = grantedTwice(enqueued());
            Grant stale = with(grant, grant.owner(), 1, grant.runId());
            String before = everything(grant.id());
            site().failInserts("write_event");
            try {
                for (String call : List.of("complete", "fail", "give up")) {
                    assertThrows(StoreException.class, () -> writes().get(call).apply(grant), call);
                }
                assertThrows(StoreException.class, () -> store().complete(stale, null));
            } finally {
                site().repair("write_event");
            }
            assertEquals(before, everything(grant.id()));
            assertInstanceOf(WorkAnswer.Done.class, store().complete(grant, null));
        }
    }

    /** Several results in one call. */
    @Nested
    class Together {

        private static ItemResult result(Grant grant, String text) {
            return new ItemResult(grant, body(text));
        }

        private List<WorkAnswer> completed(ItemResult... results) {
            return store().completeAll(List.of(results));
        }

        private static List<String> words(List<WorkAnswer> answers) {
            return answers.stream()
                    .map(answer -> switch (answer) {
                        case WorkAnswer.Done(WorkItem item) -> item.state().name();
                        case WorkAnswer.Refused refused -> refused.reason().name();
                    })
                    .toList();
        }

        /** Newest first. */
        private List<String> told(String id) {
            return events(id).stream()
                    .map(event -> event.accepted() + " " + event.reason() + " " + event.runId())
                    .toList();
        }

        @Test
        void eachIsJudgedOnItsOwnAndAnsweredInTheOrderOfTheList() {
            WorkItem expired = claimed(enqueued());
            WorkItem old = claimed(enqueued());
            WorkItem died = claimed(enqueued(new NewItem(newName(), newName(), null, 0, null, 1))
                    .id());
            passTo(old.until());
            Grant newer = grant(claimed(old.id(), BEN));
            Grant done = grantedTwice(enqueued());
            store().complete(done, body("first"));
            Grant dead = granted(enqueued());
            store().fail(dead, "no", null);
            Grant released = granted(enqueued());
            store().release(released);
            Grant twin = granted(enqueued());
            Grant early = granted(enqueued());
            Grant unknown = new Grant(newName(), ANNA, new FencingToken(1), newRun());
            Grant good = granted(enqueued());
            Grant last = granted(enqueued());
            Map<ItemResult, String> results = new LinkedHashMap<>();
            results.put(result(good, "one"), "DONE");
            results.put(result(grant(expired), "late"), "EXPIRED");
            results.put(result(grant(old), "late"), "STALE_TOKEN");
            results.put(result(grant(died), "late"), "DEAD");
            results.put(result(done, "second"), "ALREADY_DONE");
            results.put(result(dead, "late"), "DEAD");
            results.put(result(unknown, "late"), "UNKNOWN");
            results.put(result(released, "late"), "NOT_OWNER");
            results.put(result(with(twin, ANNA, 1, newRun()), "late"), "NOT_OWNER");
            results.put(result(with(early, ANNA, 2, early.runId()), "late"), "NOT_OWNER");
            results.put(result(with(last, ANNA, 1, null), "two"), "DONE");
            List<String> before = results.keySet().stream()
                    .map(each -> everything(each.grant().id()))
                    .toList();

            List<WorkAnswer> answers = store().completeAll(List.copyOf(results.keySet()));

            assertEquals(List.copyOf(results.values()), words(answers));
            int place = 0;
            for (Map.Entry<ItemResult, String> each : results.entrySet()) {
                Grant grant = each.getKey().grant();
                WorkItem stored = store().item(grant.id());
                long fence = grant.fence().value();
                boolean accepted = each.getValue().equals("DONE");
                String run = grant.runId() == null
                        ? last.runId().toString()
                        : grant.runId().toString();
                assertEquals(
                        new WriteEvent(
                                store().now(),
                                "work:" + grant.id(),
                                grant.owner().text(),
                                fence,
                                run,
                                accepted,
                                each.getValue(),
                                null,
                                stored != null && stored.fence() > fence ? stored.fence() : null),
                        events(grant.id()).getFirst());
                if (answers.get(place) instanceof WorkAnswer.Done(WorkItem item)) {
                    assertSame(each.getKey().result(), stored.result());
                    assertEquals(store().now(), stored.endedAt());
                    assertBrief(stored, item);
                } else {
                    assertEquals(before.get(place), everything(grant.id()), each.getValue());
                    assertBrief(stored, ((WorkAnswer.Refused) answers.get(place)).item());
                }
                place++;
            }
            assertEquals("first", text(item(done.id()).result()));
            assertEquals(Optional.empty(), store().check(newer));
            assertEquals(List.of("true DONE " + last.runId()), told(last.id()), "the event names the run all the same");
            assertEquals("DONE", words(completed(result(newer, "new"))).getFirst());
        }

        /** Payload and result are left out. */
        private static void assertBrief(WorkItem stored, WorkItem told) {
            if (stored == null) {
                assertNull(told);
                return;
            }
            assertNull(told.payload());
            assertNull(told.result());
            assertEquals(
                    stored.toString().replaceAll("(payload|result)=[^,]*", "$1=null"),
                    told.toString().replaceAll("(payload|result)=[^,]*", "$1=null"));
        }

        @Test
        void theInstantOfTheEndIsTooLateAndTheOneBeforeIsNot() {
            WorkItem item = claimed(enqueued());
            Duration more = Duration.ofMillis(1);
            Grant longer = granted(enqueued());
            Grant last = granted(enqueued());
            for (Grant each : List.of(longer, last)) {
                store().renew(each, TTL.plus(more));
            }
            passTo(item.until());
            assertEquals(List.of("EXPIRED", "DONE"), words(completed(result(grant(item), "a"), result(longer, "b"))));
            pass(more.minus(site().step()));
            assertEquals(List.of("DONE"), words(completed(result(last, "c"))));
        }

        @Test
        void anItemThatComesMoreThanOnceIsJudgedEachTime() {
            Grant good = grantedTwice(enqueued());
            Grant stale = with(good, ANNA, 1, good.runId());
            Grant twin = with(good, ANNA, 2, newRun());
            Grant other = granted(enqueued());
            List<WorkAnswer> answers = completed(
                    result(stale, "stale"),
                    result(twin, "twin"),
                    result(good, "good"),
                    result(other, "other"),
                    result(good, "again"),
                    result(stale, "stale"));
            assertEquals(
                    List.of("STALE_TOKEN", "NOT_OWNER", "DONE", "DONE", "ALREADY_DONE", "ALREADY_DONE"),
                    words(answers));
            assertEquals("good", text(item(good.id()).result()));
            assertEquals(
                    List.of(
                            "false ALREADY_DONE " + good.runId(),
                            "false ALREADY_DONE " + good.runId(),
                            "true DONE " + good.runId(),
                            "false NOT_OWNER " + twin.runId(),
                            "false STALE_TOKEN " + good.runId()),
                    told(good.id()));
            assertEquals(
                    List.of("ALREADY_DONE", "ALREADY_DONE"),
                    words(completed(result(good, "later"), result(other, "later"))),
                    "what is sent again after an unknown outcome is told that it is there");
            assertEquals(2, item(good.id()).fence());
        }

        @Test
        void resultsAreStoredByteForByte() {
            byte[] all = new byte[512];
            for (int i = 0; i < all.length; i++) {
                all[i] = (byte) i;
            }
            Owner odd = new Owner("o'\"\\,{}[]:x ü\uD83D\uDE00\n?");
            List<ItemResult> results = new ArrayList<>();
            for (Body each : Arrays.asList(
                    null, new Body(new byte[0], null), new Body(all, "a/b; c=\"d,e\""), body("ü\uD83D\uDE00\\\"'"))) {
                results.add(new ItemResult(grant(claimed(enqueued(), odd)), each));
            }
            assertEquals(List.of("DONE", "DONE", "DONE", "DONE"), words(store().completeAll(results)));
            for (ItemResult each : results) {
                WorkItem stored = item(each.grant().id());
                assertSame(each.result(), stored.result());
                assertEquals(odd.text(), events(stored.id()).getFirst().owner());
            }
        }

        @Test
        void tooManyOrTooLargeOnesAreAnErrorAndChangeNothing() {
            Grant grant = granted(enqueued());
            String before = everything(grant.id());
            ItemResult half = new ItemResult(grant, new Body(new byte[WorkQueue.MOST_RESULT_BYTES / 2 + 1], null));
            ItemResult small = new ItemResult(grant, null);
            for (List<ItemResult> bad : List.of(
                    List.<ItemResult>of(),
                    Collections.nCopies(WorkQueue.MOST_AT_ONCE + 1, small),
                    List.of(half, half))) {
                assertThrows(IllegalArgumentException.class, () -> store().completeAll(bad));
            }
            assertEquals(before, everything(grant.id()));
            assertEquals(List.of(), events(grant.id()));
            assertEquals("DONE", words(completed(half, small)).getFirst());
            assertEquals(
                    WorkQueue.MOST_RESULT_BYTES / 2 + 1,
                    item(grant.id()).result().bytes().length);
        }

        @Test
        void asManyAsMayBe() {
            String queue = newName();
            site().sql("insert into work_item (id, queue, state, priority, max_attempts, enqueued_at)"
                    + " with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000)"
                    + " select '" + queue + "-' || i, '" + queue + "', 'READY', 0, 1, "
                    + site().literal(store().now()) + " from n");
            List<ItemResult> results = new ArrayList<>();
            for (WorkItem item : store().claimAny(queue, ANNA, newRuns(1000), TTL)) {
                results.add(result(grant(item), "of " + item.id()));
            }
            Collections.shuffle(results, new Random(1));
            assertEquals(Collections.nCopies(1000, "DONE"), words(store().completeAll(results)));
            results.forEach(
                    each -> assertSame(each.result(), item(each.grant().id()).result()));
            assertEquals(
                    Collections.nCopies(1000, "ALREADY_DONE"),
                    words(site().otherNode().completeAll(results.reversed())));
        }

        /** Refusals too are stored with all or not at all. */
        @Test
        void withoutItsEventsNothingEnds() {
            Grant one = granted(enqueued());
            Grant two = granted(enqueued());
            Grant stale = with(grantedTwice(enqueued()), ANNA, 1, newRun());
            String before = everything(one.id()) + everything(two.id());
            site().failInserts("write_event");
            try {
                assertThrows(
                        StoreException.class, () -> completed(result(one, "a"), result(stale, "b"), result(two, "c")));
                assertThrows(StoreException.class, () -> completed(result(stale, "b")));
            } finally {
                site().repair("write_event");
            }
            assertEquals(before, everything(one.id()) + everything(two.id()));
            assertEquals(List.of(), events(one.id()));
            assertEquals(
                    List.of("DONE", "STALE_TOKEN", "DONE"),
                    words(completed(result(one, "a"), result(stale, "b"), result(two, "c"))));
        }

        @Test
        void ofManySimultaneousCallsInAnyOrderOneStoresEachItem() throws Exception {
            for (int round = 0; round < 5; round++) {
                String queue = newName();
                for (int i = 0; i < 40; i++) {
                    enqueuedIn(queue);
                }
                List<Grant> grants = store().claimAny(queue, ANNA, newRuns(40), TTL).stream()
                        .map(WorkContract::grant)
                        .toList();
                List<Callable<List<WorkAnswer>>> calls = new ArrayList<>();
                for (int i = 0; i < 6; i++) {
                    Store node = i % 2 == 0 ? store() : site().otherNode();
                    List<ItemResult> mine = new ArrayList<>();
                    for (Grant grant : grants) {
                        mine.add(result(grant, "of " + i));
                    }
                    Collections.shuffle(mine, new Random(31L * round + i));
                    calls.add(() -> node.completeAll(mine));
                }
                calls.add(() -> List.of(store().complete(grants.get(7), body("alone"))));
                List<String> all = StoreContract.atOnce(calls).stream()
                        .flatMap(answers -> words(answers).stream())
                        .toList();
                assertEquals(40, Collections.frequency(all, "DONE"));
                assertEquals(201, Collections.frequency(all, "ALREADY_DONE"));
                for (Grant grant : grants) {
                    assertEquals(
                            1,
                            events(grant.id()).stream()
                                    .filter(WriteEvent::accepted)
                                    .count());
                }
            }
        }
    }

    @Nested
    class Artifacts {

        @Test
        void aFileIsRecordedUnderItsTokenAndReplacedUnderTheSame() {
            String id = enqueued();
            assertEquals(List.of(), store().artifacts(id));
            Grant first = granted(id);
            Artifact log = artifact(first, "log.txt", "aa");
            Artifact bare = new Artifact(id, 1, "bare", null, 0, "ee", store().now());
            assertSame(item(id), done(store().addArtifact(first, log)));
            done(store().addArtifact(first, bare));
            store().fail(first, "no", Duration.ZERO);
            Grant second = granted(id);
            done(store().addArtifact(second, artifact(second, "log.txt", "bb")));
            Artifact replaced = new Artifact(id, 2, "log.txt", null, 99, "cc", store().now());
            done(store().addArtifact(second, replaced));
            assertEquals(List.of(bare, log, replaced), store().artifacts(id));
            store().complete(second, null);
            assertEquals(List.of(bare, log, replaced), site().otherNode().artifacts(id));
        }

        @Test
        void aFileUnderAnOldTokenIsRefusedAndTheOldOneStays() {
            String id = enqueued();
            WorkItem old = claimed(id);
            done(store().addArtifact(grant(old), artifact(grant(old), "log.txt", "aa")));
            passTo(old.until());
            assertRefused(grant(old), Refusal.EXPIRED, "artifact");
            claimed(id, BEN);
            String before = everything(id);
            assertEquals(
                    Refusal.STALE_TOKEN,
                    refused(store().addArtifact(grant(old), artifact(grant(old), "log.txt", "bb"))));
            assertEquals(before, everything(id));
            assertEquals("aa", store().artifacts(id).getFirst().sha256());
        }

        @Test
        void aFileOfAnotherItemOrTokenOrWithABadNameIsAnError() {
            Grant grant = granted(enqueued());
            Grant other = granted(enqueued());
            Artifact good = artifact(grant, "a", "aa");
            List<Artifact> bad = List.of(
                    artifact(other, "a", "aa"),
                    artifact(with(grant, ANNA, 2, null), "a", "aa"),
                    artifact(grant, "../a", "aa"),
                    artifact(grant, "", "aa"),
                    new Artifact(good.item(), good.fence(), "a", null, -1, "aa", good.at()));
            for (Artifact each : bad) {
                assertThrows(IllegalArgumentException.class, () -> store().addArtifact(grant, each));
            }
            assertEquals(List.of(), store().artifacts(grant.id()));
        }
    }

    @Nested
    class Capacities {

        private QueueView view(String queue) {
            return store().queues().stream()
                    .filter(each -> each.queue().equals(queue))
                    .findFirst()
                    .orElseThrow();
        }

        @Test
        void noMoreAreClaimedThanMayBe() {
            String queue = newName();
            List<String> ids =
                    IntStream.range(0, 5).mapToObj(i -> enqueuedIn(queue)).toList();
            store().setCapacity(queue, 2);
            assertEquals(2, view(queue).capacity());
            Grant first = granted(ids.get(4));
            List<WorkItem> any = store().claimAny(queue, ANNA, newRuns(5), TTL);
            assertEquals(List.of(ids.getFirst()), any.stream().map(WorkItem::id).toList());
            String before = everything(ids.get(2));
            assertEquals(Refusal.AT_CAPACITY, refused(store().claimItem(ids.get(2), ANNA, newRun(), TTL)));
            assertEquals(List.of(), store().claimAny(queue, ANNA, newRuns(5), TTL));
            assertEquals(before, everything(ids.get(2)));
            assertEquals(Refusal.HELD, refused(store().claimItem(ids.get(4), ANNA, newRun(), TTL)));
            assertSame(item(first.id()), done(store().claimItem(first.id(), ANNA, first.runId(), TTL)));

            store().setCapacity(queue, 1); // takes nothing away
            store().complete(first, null);
            assertEquals(Refusal.AT_CAPACITY, refused(store().claimItem(ids.get(2), ANNA, newRun(), TTL)));
            store().setCapacity(queue, null);
            assertNull(view(queue).capacity());
            assertEquals(3, store().claimAny(queue, ANNA, newRuns(5), TTL).size());
        }

        @Test
        void everyEndOfALeaseMakesRoom() {
            Map<String, Consumer<WorkItem>> ends = new LinkedHashMap<>();
            ends.put("complete", item -> store().complete(grant(item), null));
            ends.put("fail", item -> store().fail(grant(item), "no", Duration.ofHours(1)));
            ends.put("give up", item -> store().fail(grant(item), "no", null));
            ends.put("release", item -> store().release(grant(item)));
            ends.put("run out", item -> passTo(item.until()));
            ends.forEach((name, end) -> {
                String queue = newName();
                store().setCapacity(queue, 1);
                String one = enqueuedIn(queue);
                String two = enqueuedIn(queue);
                WorkItem item = claimed(one);
                assertEquals(Refusal.AT_CAPACITY, refused(store().claimItem(two, ANNA, newRun(), TTL)), name);
                end.accept(item);
                assertEquals(1, claimed(two).fence(), name);
            });
        }

        @Test
        void aCapacityOfNoneStopsTheQueueAndANegativeOneIsAnError() {
            String queue = newName();
            String id = enqueuedIn(queue);
            store().setCapacity(queue, 0);
            assertEquals(Refusal.AT_CAPACITY, refused(store().claimItem(id, ANNA, newRun(), TTL)));
            assertEquals(List.of(), store().claimAny(queue, ANNA, newRuns(1), TTL));
            assertThrows(IllegalArgumentException.class, () -> store().setCapacity(queue, -1));
            assertThrows(IllegalArgumentException.class, () -> store().setCapacity("No Queue", 1));
            assertEquals(0, view(queue).capacity());
        }

        @Test
        void ofManySimultaneousClaimsNoMoreAreGranted() throws Exception {
            for (int round = 0; round < 3; round++) {
                String queue = newName();
                List<String> ids =
                        IntStream.range(0, 24).mapToObj(i -> enqueuedIn(queue)).toList();
                store().setCapacity(queue, 5);
                List<Callable<Integer>> claims = new ArrayList<>();
                for (int i = 0; i < 24; i++) {
                    Store node = i % 2 == 0 ? store() : site().otherNode();
                    String id = ids.get(i);
                    claims.add(
                            i % 3 == 0
                                    ? () -> node.claimItem(id, ANNA, newRun(), TTL) instanceof WorkAnswer.Done ? 1 : 0
                                    : () -> node.claimAny(queue, BEN, newRuns(2), TTL)
                                            .size());
                }
                int granted = StoreContract.atOnce(claims).stream()
                        .mapToInt(each -> each)
                        .sum();
                assertEquals(5, granted);
                assertEquals(5, view(queue).claimed());
            }
        }
    }

    @Nested
    class Views {

        private final String queue = newName();
        private final List<String> ids = new ArrayList<>();

        private String add(NewItem item) {
            pass(Duration.ofSeconds(1));
            ids.addFirst(enqueued(item).id());
            return ids.getFirst();
        }

        private String add() {
            return add(newItem(newName(), queue));
        }

        private List<String> listed(WorkState state, int limit) {
            return store().items(queue, state, limit).stream().map(WorkItem::id).toList();
        }

        @Test
        void itemsAreListedNewestFirstByTheStateTheyAreInNow() {
            String ranOut = add();
            String died = add(new NewItem(newName(), queue, null, 0, null, 1));
            WorkItem last = claimed(ranOut);
            claimed(died);
            passTo(last.until());
            String done = add();
            store().complete(granted(done), body("r"));
            String dead = add();
            store().fail(granted(dead), "no", null);
            String delayed =
                    add(new NewItem(newName(), queue, null, 5, store().now().plus(TTL), 3));
            String held = add();
            claimed(held);
            String ready = add();

            assertEquals(ids, listed(null, 10));
            assertEquals(ids.subList(0, 3), listed(null, 3));
            assertEquals(List.of(ready, delayed, ranOut), listed(WorkState.READY, 10));
            assertEquals(List.of(ready), listed(WorkState.READY, 1));
            assertEquals(List.of(held), listed(WorkState.CLAIMED, 10));
            assertEquals(List.of(done), listed(WorkState.DONE, 10));
            assertEquals(List.of(dead, died), listed(WorkState.DEAD, 10));
            for (WorkState state : WorkState.values()) {
                List<WorkItem> ofAll = store().items(null, state, 10_000);
                assertEquals(
                        listed(state, 10),
                        ofAll.stream()
                                .filter(item -> item.queue().equals(queue))
                                .map(WorkItem::id)
                                .toList());
                ofAll.forEach(item -> assertEquals(state, item.state()));
            }
            assertEquals(
                    ids.subList(0, 2),
                    store().items(null, null, 2).stream().map(WorkItem::id).toList());
            for (WorkItem item : store().items(queue, null, 10)) {
                WorkItem whole = item(item.id());
                assertNull(item.payload());
                assertNull(item.result());
                assertEquals(whole.fence(), item.fence());
                assertEquals(whole.until(), item.until());
                assertEquals(whole.endedAt(), item.endedAt());
                assertEquals(whole.reason(), item.reason());
            }
        }

        @Test
        void aQueueTellsWhatIsInItNow() {
            Instant first = store().now().plusSeconds(1);
            String ranOut = add();
            String died = add(new NewItem(newName(), queue, null, 0, null, 1));
            WorkItem last = claimed(ranOut);
            claimed(died);
            store().complete(granted(add()), null);
            store().fail(granted(add()), "no", null);
            claimed(add());
            add(new NewItem(newName(), queue, null, 5, last.until(), 3));
            assertEquals(new QueueView(queue, 1, 3, 1, 1, null, null), view());
            Instant second = store().now().plusSeconds(1);
            add();
            assertEquals(new QueueView(queue, 2, 3, 1, 1, null, second), view());
            passTo(last.until());
            store().setCapacity(queue, 4);
            assertEquals(new QueueView(queue, 3, 1, 1, 2, 4, first), view());
            pass(TTL);
            assertEquals(new QueueView(queue, 4, 0, 1, 2, 4, first), view());
            String empty = newName();
            store().setCapacity(empty, 1);
            assertTrue(store().queues().contains(new QueueView(empty, 0, 0, 0, 0, 1, null)));
        }

        private QueueView view() {
            return store().queues().stream()
                    .filter(each -> each.queue().equals(queue))
                    .findFirst()
                    .orElseThrow();
        }
    }

    @Nested
    class Pruning {

        /** What earlier tests left. */
        private void clean() {
            while (store().prune(store().now().plus(Duration.ofDays(400)), 10_000)
                            .items()
                    > 0) {
                pass(site().step());
            }
        }

        @Test
        void whatEndedBeforeGoesAndItsTokenStays() {
            clean();
            String done = enqueued();
            String dead = enqueued();
            String died = enqueued(new NewItem(newName(), newName(), null, 0, null, 1))
                    .id();
            String ready = enqueued();
            String held = enqueued();
            Grant grant = grantedTwice(done);
            Artifact file = artifact(grant, "a.txt", "aa");
            store().addArtifact(grant, file);
            store().complete(grant, body("r"));
            store().fail(granted(dead), "no", null);
            WorkItem last = claimed(died);
            passTo(last.until());
            Grant live = granted(held);
            Artifact kept = artifact(live, "b.txt", "bb");
            store().addArtifact(live, kept);
            List<WriteEvent> events = events(done);

            List<String> ids = List.of(done, dead, died, ready, held);
            assertEquals(Map.of(), store().prunedTokens(ids));
            Instant end = last.until();
            assertEquals(new WorkQueue.Pruned(2, List.of(file)), store().prune(end, 10));
            assertEquals(WorkState.DEAD, item(died).state(), "not before its end, but at it");
            pass(site().step());
            assertEquals(new WorkQueue.Pruned(1, List.of()), store().prune(store().now(), 10));
            assertEquals(
                    new WorkQueue.Pruned(0, List.of()),
                    store().prune(store().now().plus(Duration.ofDays(1)), 10));
            assertEquals(Map.of(done, 2L, dead, 1L, died, 1L), store().prunedTokens(ids));
            for (String id : List.of(done, dead, died)) {
                assertNull(store().item(id));
                assertEquals(List.of(), store().artifacts(id));
            }
            assertEquals(WorkState.READY, item(ready).state());
            assertEquals(Optional.empty(), store().check(live));
            assertEquals(List.of(kept), store().artifacts(held));
            assertEquals(events, events(done));
            assertRefused(grant, Refusal.UNKNOWN);

            for (String id : List.of(done, dead, died)) {
                long before = id.equals(done) ? 2 : 1;
                WorkItem anew = enqueued(newItem(id, newName()));
                assertEquals(before, anew.fence());
                assertEquals(0, anew.attempts());
                assertEquals(before + 1, claimed(id).fence());
            }
            assertRefused(grant, Refusal.STALE_TOKEN);
            assertEquals(
                    Map.of(done, 2L), store().prunedTokens(List.of(done)), "it was pruned, though it is there anew");
            assertEquals(Map.of(), store().prunedTokens(List.of()));
            assertEquals(
                    Map.of(done, 2L), store().prunedTokens(List.of("x,y", "a\"b", done)), "what is no id is unknown");
            assertThrows(
                    IllegalArgumentException.class,
                    () -> store().prunedTokens(Collections.nCopies(WorkQueue.MOST_AT_ONCE + 1, done)));
        }

        @Test
        void aBoundedNumberGoesAtATimeTheOldestFirst() {
            clean();
            List<String> ids = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                String id = enqueued();
                ids.add(id);
                store().complete(granted(id), null);
                pass(Duration.ofSeconds(1));
            }
            assertEquals(2, store().prune(store().now(), 2).items());
            assertEquals(
                    ids.subList(2, 5),
                    ids.stream().filter(id -> store().item(id) != null).toList());
            assertEquals(3, store().prune(store().now(), 10).items());
            assertThrows(IllegalArgumentException.class, () -> store().prune(store().now(), 0));
            assertThrows(IllegalArgumentException.class, () -> store().prune(store().now(), 10_001));
        }

        @Test
        void anItemThatIsPrunedAgainKeepsItsNewestToken() {
            String id = newName();
            for (long fence = 1; fence <= 3; fence++) {
                enqueued(newItem(id, newName()));
                assertEquals(fence, claimed(id).fence());
                store().complete(grant(item(id)), null);
                pass(Duration.ofSeconds(1));
                while (store().prune(store().now(), 1_000).items() == 1_000) {
                    pass(site().step());
                }
                assertNull(store().item(id));
            }
        }

        /** A prune that fails halfway leaves the item or its token. */
        @Test
        void withoutItsTokenKeptNothingGoes() {
            Grant grant = granted(enqueued());
            store().addArtifact(grant, artifact(grant, "a", "aa"));
            store().complete(grant, body("r"));
            pass(Duration.ofSeconds(1));
            String before = everything(grant.id());
            site().failInserts("work_fence");
            try {
                assertThrows(StoreException.class, () -> store().prune(store().now(), 10_000));
            } finally {
                site().repair("work_fence");
            }
            assertEquals(before, everything(grant.id()));
        }

        @Test
        void anIdThatIsUsedAnewWhileItIsPrunedCountsOn() throws Exception {
            String id = newName();
            long fence = 0;
            enqueued(newItem(id, "q-" + id));
            for (int round = 0; round < 40; round++) {
                WorkItem item = claimed(id);
                assertNotEquals(fence, item.fence());
                assertEquals(fence + 1, item.fence());
                fence = item.fence();
                store().complete(grant(item), null);
                pass(Duration.ofSeconds(1));
                Instant now = store().now();
                List<Object> answers = StoreContract.atOnce(List.of(
                        () -> store().prune(now, 10_000),
                        () -> site().otherNode().enqueue(newItem(id, "q-" + id)),
                        () -> store().enqueue(newItem(id, "q-" + id))));
                boolean anew = answers.stream()
                        .anyMatch(answer -> answer instanceof WorkQueue.Enqueued enqueued && enqueued.created());
                if (!anew) { // all came before it was gone
                    enqueued(newItem(id, "q-" + id));
                }
                assertEquals(fence, item(id).fence());
            }
        }
    }
}
