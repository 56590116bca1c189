package dev.fencepost.model;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.fencepost.Store;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.model.Step.Verb;
import dev.fencepost.store.Site;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.ItemResult;
import dev.fencepost.work.MemoryWorkQueue;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue;
import dev.fencepost.work.WorkQueue.Pruned;
import dev.fencepost.work.WorkQueue.QueueView;
import dev.fencepost.work.WorkState;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The queue of work: three workers on two nodes, five items in two queues. */
final class WorkPlay implements Explorer.Play {

    static final Map<Verb, Integer> WEIGHTS = Map.ofEntries(
            entry(Verb.PASS, 10),
            entry(Verb.ENQUEUE, 12),
            entry(Verb.CLAIM_ITEM, 10),
            entry(Verb.CLAIM_ITEM_AGAIN, 3),
            entry(Verb.CLAIM_ANY, 8),
            entry(Verb.RENEW_ITEM, 5),
            entry(Verb.COMPLETE_ITEM, 5),
            entry(Verb.COMPLETE_ITEMS, 4),
            entry(Verb.FAIL_ITEM, 6),
            entry(Verb.RELEASE_ITEM, 4),
            entry(Verb.CHECK_ITEM, 2),
            entry(Verb.ADD_ARTIFACT, 3),
            entry(Verb.SET_CAPACITY, 2),
            entry(Verb.PRUNE, 2));

    private static final int ITEMS = 5;
    private static final List<Duration> TTLS = List.of(
            Duration.ofSeconds(10),
            Duration.ofMinutes(1),
            Duration.ofMillis(1),
            Duration.ofDays(30),
            Duration.ZERO,
            Duration.ofDays(30).plusMillis(1));

    private final Site site;
    private final String name;
    private final long number;
    private final Clockwork clock;
    private final MemoryWorkQueue model;
    private final EventBook events = new EventBook();
    private final List<Grant> grants = new ArrayList<>();
    private final List<Claimed> claims = new ArrayList<>();

    /** Of claims, by the model and the store in turn. */
    private final List<Refusal> refusals = new ArrayList<>();

    private long runs;

    private record Claimed(String queue, @Nullable String id, Owner owner, List<RunId> runIds) {}

    /** @param number of the play at this site, from which its names come */
    WorkPlay(Site site, long number) {
        this.site = site;
        this.number = number;
        this.name = "w" + number;
        this.clock = new Clockwork(site);
        this.model = new MemoryWorkQueue(clock::now);
    }

    @Override
    public void take(Step step) {
        int a = step.a();
        int b = step.b();
        int c = step.c();
        switch (step.verb()) {
            case PASS -> clock.pass(step, instants());
            case ENQUEUE -> enqueue(a, b, c);
            case CLAIM_ITEM -> claim(new Claimed("", id(a), owner(b), List.of(newRun())), TTLS.get(c % TTLS.size()), b);
            case CLAIM_ANY -> claim(new Claimed(queue(a), null, owner(b), newRuns(b)), TTLS.get(c % TTLS.size()), b);
            case CLAIM_ITEM_AGAIN -> claimAgain(a, b);
            case RENEW_ITEM -> renew(a, b, TTLS.get(c % TTLS.size()));
            case COMPLETE_ITEM -> {
                Body result = c == 11 ? null : body("result " + c);
                changed(a, b, "DONE", true, (queue, grant) -> queue.complete(grant, result));
            }
            case COMPLETE_ITEMS -> completeAll(a, b, c);
            case FAIL_ITEM -> fail(a, b, c);
            case RELEASE_ITEM -> changed(a, b, null, true, (queue, grant) -> queue.release(grant));
            case CHECK_ITEM -> check(a, b);
            case ADD_ARTIFACT -> addArtifact(a, b, c);
            case SET_CAPACITY -> {
                Integer capacity = a < 3 ? null : (Integer) (a - 3);
                model.setCapacity(queue(b), capacity);
                node(c).setCapacity(queue(b), capacity);
            }
            case PRUNE -> prune(a, b);
            default -> throw new IllegalArgumentException(step + " is no step of this play");
        }
        compare(node(a));
    }

    private Stream<Instant> instants() {
        return IntStream.range(0, ITEMS)
                .mapToObj(which -> model.item(id(which)))
                .filter(Objects::nonNull)
                .flatMap(item -> Stream.of(item.until(), item.notBefore()))
                .filter(Objects::nonNull);
    }

    private static Owner owner(int which) {
        return new Owner("worker-" + which % 3);
    }

    private Store node(int owner) {
        return owner % 3 == 0 ? site.store() : site.otherNode();
    }

    private String id(int which) {
        return name + "-i" + which % ITEMS;
    }

    private String queue(int which) {
        return name + "-q" + which % 2;
    }

    private RunId newRun() {
        return new RunId(new UUID(number | 1L << 40, ++runs));
    }

    private List<RunId> newRuns(int howMany) {
        return IntStream.rangeClosed(0, howMany / 3).mapToObj(each -> newRun()).toList();
    }

    private static Body body(String text) {
        return new Body(text.getBytes(StandardCharsets.UTF_8), text.length() % 2 == 0 ? null : "text/plain");
    }

    private void enqueue(int which, int how, int attempts) {
        NewItem item = new NewItem(
                id(which),
                queue(which),
                how % 4 == 3 ? null : body("payload " + how),
                how % 3,
                how < 8 ? null : clock.now().plusSeconds(5L * (how - 9)),
                1 + attempts % 3);
        WorkQueue.Enqueued expected = model.enqueue(item);
        WorkQueue.Enqueued answer = node(how).enqueue(item);
        assertEquals(expected.created(), answer.created(), "whether " + item.id() + " is new");
        assertEquals(shown(expected.item()), shown(answer.item()), "the item that is there");
    }

    private void claim(Claimed claim, Duration ttl, int who) {
        if (!ttl.isPositive() || ttl.compareTo(Duration.ofDays(30)) > 0) {
            assertThrows(IllegalArgumentException.class, () -> claimed(node(who), claim, ttl));
            return;
        }
        claims.add(claim);
        List<WorkItem> granted = claimed(model, claim, ttl);
        List<WorkItem> answer = claimed(node(who), claim, ttl);
        assertEquals(shown(granted), shown(answer), "what is claimed by " + claim);
        for (WorkItem item : granted) {
            if (item.state() == WorkState.CLAIMED && claim.owner().equals(item.owner())) {
                grants.add(new Grant(
                        item.id(),
                        claim.owner(),
                        new FencingToken(item.fence()),
                        Objects.requireNonNull(item.runId())));
            }
        }
    }

    /** What came of it: the items, or one item and why not. */
    private List<WorkItem> claimed(WorkQueue queue, Claimed claim, Duration ttl) {
        if (claim.id() == null) {
            return queue.claimAny(claim.queue(), claim.owner(), claim.runIds(), ttl);
        }
        return switch (queue.claimItem(claim.id(), claim.owner(), claim.runIds().getFirst(), ttl)) {
            case WorkAnswer.Done done -> List.of(done.item());
            case WorkAnswer.Refused refused -> {
                WorkItem item = refused.item();
                refusals.add(refused.reason());
                yield item == null || claim.owner().equals(item.owner()) ? List.of() : List.of(item);
            }
        };
    }

    /** The same claim again, as after an unknown outcome; or of another item under a run id that may still hold one. */
    private void claimAgain(int which, int other) {
        if (claims.isEmpty()) {
            return;
        }
        Claimed claim = claims.get(claims.size() - 1 - which % claims.size());
        String id = claim.id();
        boolean holds = id != null
                && model.item(id) instanceof WorkItem item
                && claim.runIds().getFirst().equals(item.runId());
        claim(
                other >= 7 && holds ? new Claimed(claim.queue(), id(other), claim.owner(), claim.runIds()) : claim,
                Duration.ofSeconds(10),
                other);
    }

    private @Nullable Grant shown(int which, int forged) {
        if (grants.isEmpty()) {
            return null;
        }
        Grant grant = grants.get(grants.size() - 1 - which % grants.size());
        long fence = grant.fence().value();
        return switch (forged) {
            case 4 -> new Grant(grant.id(), grant.owner(), grant.fence(), null);
            case 5 -> new Grant(id(which + 1), grant.owner(), grant.fence(), grant.runId());
            case 6 -> new Grant(grant.id(), new Owner(grant.owner().text() + "x"), grant.fence(), grant.runId());
            case 7 -> new Grant(grant.id(), grant.owner(), new FencingToken(Math.max(1, fence - 1)), grant.runId());
            case 8 -> new Grant(grant.id(), grant.owner(), new FencingToken(fence + 1), grant.runId());
            case 9 -> new Grant(grant.id(), grant.owner(), grant.fence(), newRun());
            case 10 -> new Grant(name + "-nobody", grant.owner(), grant.fence(), grant.runId());
            default -> grant;
        };
    }

    private interface Change {
        WorkAnswer make(WorkQueue queue, Grant grant);
    }

    /**
     * @param accepted what goes on record when it is done, or null for nothing
     * @param recorded whether every refusal goes on record, and not only that of a late holder
     */
    private void changed(int which, int forged, @Nullable String accepted, boolean recorded, Change change) {
        Grant grant = shown(which, forged);
        if (grant == null) {
            return;
        }
        RunId run = heldUnder(grant);
        WorkAnswer expected = change.make(model, grant);
        WorkAnswer answer = change.make(node(which), grant);
        assertEquals(shown(expected), shown(answer), "answer to " + grant);
        record(grant, run, expected, accepted, recorded);
    }

    /** What is shown may leave the run id out; on record of what was done it stands all the same. */
    private @Nullable RunId heldUnder(Grant grant) {
        WorkItem item = model.item(grant.id());
        return item == null ? null : item.runId();
    }

    private void record(
            Grant grant, @Nullable RunId run, WorkAnswer answer, @Nullable String accepted, boolean recorded) {
        switch (answer) {
            case WorkAnswer.Done done -> {
                if (accepted != null) {
                    events.ofWork(grant, run, clock.now(), true, accepted);
                }
            }
            case WorkAnswer.Refused refused -> {
                if (recorded || refused.reason() == Refusal.STALE_TOKEN) {
                    events.ofWork(
                            grant,
                            grant.runId(),
                            clock.now(),
                            false,
                            refused.reason().name());
                }
            }
        }
    }

    private void renew(int which, int forged, Duration ttl) {
        Grant grant = shown(which, forged);
        if (grant != null && (!ttl.isPositive() || ttl.compareTo(Duration.ofDays(30)) > 0)) {
            assertThrows(IllegalArgumentException.class, () -> node(which).renew(grant, ttl));
            return;
        }
        changed(which, forged, null, false, (queue, shown) -> queue.renew(shown, ttl));
    }

    private void completeAll(int which, int forged, int count) {
        List<ItemResult> results = new ArrayList<>();
        List<@Nullable RunId> held = new ArrayList<>();
        for (int i = 0; i <= count / 2; i++) {
            Grant grant = shown(which + i, i == 0 ? forged : 0);
            if (grant != null) {
                results.add(new ItemResult(grant, i % 3 == 2 ? null : body("result " + i)));
                held.add(heldUnder(grant));
            }
        }
        if (results.isEmpty()) {
            assertThrows(IllegalArgumentException.class, () -> node(which).completeAll(results));
            return;
        }
        List<WorkAnswer> expected = model.completeAll(results);
        List<WorkAnswer> answer = node(which).completeAll(results);
        assertEquals(
                expected.stream().map(WorkPlay::shownOfSeveral).toList(),
                answer.stream().map(WorkPlay::shownOfSeveral).toList(),
                "answers to " + results);
        for (int i = 0; i < results.size(); i++) {
            record(results.get(i).grant(), held.get(i), expected.get(i), "DONE", true);
        }
    }

    private void fail(int which, int forged, int how) {
        if (how == 11) {
            Grant grant = shown(which, forged);
            if (grant != null) {
                assertThrows(
                        IllegalArgumentException.class,
                        () -> node(which)
                                .fail(grant, "told", Duration.ofDays(366).plusMillis(1)));
            }
            return;
        }
        Duration again = how < 3 ? null : Duration.ofSeconds(5L * (how - 3));
        changed(which, forged, "FAILED", true, (queue, grant) -> queue.fail(grant, "told", again));
    }

    private void check(int which, int forged) {
        Grant grant = shown(which, forged);
        if (grant != null) {
            Function<Optional<WorkAnswer.Refused>, String> told =
                    answer -> answer.<String>map(WorkPlay::shown).orElse("may hand in");
            assertEquals(told.apply(model.check(grant)), told.apply(node(which).check(grant)), "check of " + grant);
        }
    }

    private void addArtifact(int which, int forged, int file) {
        changed(
                which,
                forged,
                null,
                true,
                (queue, grant) -> queue.addArtifact(
                        grant,
                        new Artifact(
                                grant.id(),
                                grant.fence().value(),
                                "file-" + file % 3,
                                file % 2 == 0 ? null : "text/plain",
                                file,
                                "00" + file,
                                clock.now())));
    }

    private void prune(int ago, int who) {
        Instant before = clock.now().minusSeconds(5L * ago).plusMillis(ago % 2);
        Pruned expected = model.prune(before, 10_000);
        Pruned answer = node(who).prune(before, 10_000);
        assertEquals(
                expected.artifacts().stream().map(Artifact::toString).sorted().toList(),
                answer.artifacts().stream()
                        .filter(each -> each.item().startsWith(name + "-"))
                        .map(Artifact::toString)
                        .sorted()
                        .toList(),
                "artifacts that may go");
    }

    private static String shown(List<WorkItem> items) {
        return String.join("\n", items.stream().map(WorkPlay::shown).toList());
    }

    private static String shown(WorkAnswer answer) {
        return switch (answer) {
            case WorkAnswer.Done done -> "done: " + shown(done.item());
            case WorkAnswer.Refused refused -> "refused, " + refused.reason() + ": " + shown(refused.item());
        };
    }

    /** Whoever is refused may be shown the item as it was before, or after, the others had their turn. */
    private static String shownOfSeveral(WorkAnswer answer) {
        return answer instanceof WorkAnswer.Refused refused
                ? "refused, " + refused.reason() + ": "
                        + (refused.item() == null ? null : refused.item().id())
                : shown(answer);
    }

    /** With the content of payload and result. */
    private static String shown(@Nullable WorkItem item) {
        return item == null ? "no item" : item + " " + text(item.payload()) + " " + text(item.result());
    }

    private static String text(@Nullable Body body) {
        return body == null ? "none" : body.type() + ":" + new String(body.bytes(), StandardCharsets.UTF_8);
    }

    /** All that can be seen of the queues. */
    private void compare(Store store) {
        for (int i = 0; i + 1 < refusals.size(); i += 2) {
            assertEquals(refusals.get(i), refusals.get(i + 1), "why a claim is refused");
        }
        assertEquals(0, refusals.size() % 2, "one of the two has refused a claim");
        refusals.clear();
        for (int i = 0; i < ITEMS; i++) {
            String id = id(i);
            assertEquals(shown(model.item(id)), shown(store.item(id)), id);
            assertEquals(sorted(model.artifacts(id)), sorted(store.artifacts(id)), "artifacts of " + id);
            assertNull(events.difference("work:" + id, store.eventsOf("work:" + id, 1_000)), "events of " + id);
        }
        List<String> ids = IntStream.range(0, ITEMS).mapToObj(this::id).toList();
        assertEquals(model.prunedTokens(ids), store.prunedTokens(ids), "tokens of what was pruned");
        for (int i = 0; i < 2; i++) {
            String queue = queue(i);
            assertEquals(ids(model.items(queue, null, 100)), ids(store.items(queue, null, 100)), "items of " + queue);
            for (WorkState state : WorkState.values()) {
                assertEquals(
                        ids(model.items(queue, state, 100)),
                        ids(store.items(queue, state, 100)),
                        state + " items of " + queue);
            }
        }
        Set<String> queues = Set.of(queue(0), queue(1));
        assertEquals(
                model.queues(),
                store.queues().stream()
                        .filter(view -> queues.contains(view.queue()))
                        .sorted(Comparator.comparing(QueueView::queue))
                        .toList(),
                "queues");
    }

    private static List<String> sorted(List<Artifact> artifacts) {
        return artifacts.stream().map(Artifact::toString).sorted().toList();
    }

    private static List<String> ids(List<WorkItem> items) {
        return items.stream().map(WorkItem::id).toList();
    }
}
