package dev.fencepost.model;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.Store;
import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.EffectView;
import dev.fencepost.effect.Outbox.Order;
import dev.fencepost.effect.Pair;
import dev.fencepost.effect.Receipt;
import dev.fencepost.effect.Settlement;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.model.Step.Verb;
import dev.fencepost.run.Action;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.History.Entry;
import dev.fencepost.run.Job;
import dev.fencepost.run.Orders.Answer;
import dev.fencepost.run.Orders.JobEvent;
import dev.fencepost.run.Orders.Stop;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Start;
import dev.fencepost.run.Ticks.Situation;
import dev.fencepost.schedule.Backlog;
import dev.fencepost.schedule.Backlog.Held;
import dev.fencepost.schedule.Backlog.OpenTick;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Plan.NewTick;
import dev.fencepost.schedule.Plan.SlotRange;
import dev.fencepost.schedule.Plan.TakeOver;
import dev.fencepost.schedule.Slot;
import dev.fencepost.store.Site;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Leases, ticks, orders and effects: three owners on two nodes, two jobs, two sinks. */
final class TicksPlay implements Explorer.Play {

    static final Map<Verb, Integer> WEIGHTS = Map.ofEntries(
            entry(Verb.PASS, 10),
            entry(Verb.CLAIM, 5),
            entry(Verb.CLAIM_AGAIN, 2),
            entry(Verb.RENEW, 6),
            entry(Verb.RELEASE, 4),
            entry(Verb.BREAK, 2),
            entry(Verb.REGISTER, 2),
            entry(Verb.PLAN, 6),
            entry(Verb.START, 12),
            entry(Verb.START_AGAIN, 2),
            entry(Verb.COMPLETE, 12),
            entry(Verb.END_AS_LOST, 3),
            entry(Verb.ABANDON, 3),
            entry(Verb.TRIGGER, 3),
            entry(Verb.CANCEL, 2),
            entry(Verb.PAUSE, 2),
            entry(Verb.RESUME, 2),
            entry(Verb.END_PAUSE, 1),
            entry(Verb.CLAIM_PAIR, 5),
            entry(Verb.ADOPT, 3),
            entry(Verb.BEGIN, 6),
            entry(Verb.SENT, 5),
            entry(Verb.CHECKED, 3),
            entry(Verb.EXPIRE, 2),
            entry(Verb.RESOLVE, 3));

    private static final Duration JOB_TTL = Duration.ofSeconds(30);
    private static final List<Duration> TTLS = List.of(
            Duration.ofSeconds(10),
            Duration.ofMinutes(1),
            Duration.ofMillis(1),
            Duration.ofDays(30),
            Duration.ZERO,
            Duration.ofDays(30).plusMillis(1),
            Duration.ofMillis(-1));

    private final Site site;
    private final String name;
    private final long number;
    private final Clockwork clock;
    private final LeaseBook leases = new LeaseBook();
    private final EventBook events = new EventBook();
    private final OutboxBook outbox = new OutboxBook(leases, events);
    private final TickBook ticks = new TickBook(leases, outbox, events);
    private final List<Pair> pairs;
    private final List<String> resources;
    private final long revisionBefore;

    /** All that were ever granted, newest first; who holds one may have lost it long ago. */
    private final List<Lease> granted = new ArrayList<>();

    private final List<Started> starts = new ArrayList<>();
    private final List<Backlog> backlogs = new ArrayList<>();
    private final List<Effect> read = new ArrayList<>();
    private final List<Sending> sendings = new ArrayList<>();
    private long runs;

    private record Started(Job job, Slot slot, Owner owner, RunId runId) {}

    private record Sending(Lease lease, Effect effect) {}

    /** @param number of the play at this site, from which its names come */
    TicksPlay(Site site, long number) {
        this.site = site;
        this.number = number;
        this.name = "p" + number;
        this.clock = new Clockwork(site);
        this.pairs = List.of(
                new Pair(name + "-s0", name + "-j0"),
                new Pair(name + "-s0", name + "-j1"),
                new Pair(name + "-s1", name + "-j0"),
                new Pair(name + "-s1", name + "-j1"));
        this.resources = Stream.concat(
                        Stream.of(name + "-j0", name + "-j1", name + "-r"),
                        pairs.stream().map(Pair::leaseResource))
                .toList();
        this.revisionBefore = site.store().signal().revision();
    }

    @Override
    public void take(Step step) {
        int a = step.a();
        int b = step.b();
        int c = step.c();
        switch (step.verb()) {
            case PASS ->
                clock.pass(
                        step,
                        Stream.of(leases.instants(), ticks.instants(), outbox.instants())
                                .flatMap(each -> each));
            case CLAIM -> claim(resources.get(a % 3), b, TTLS.get(c % TTLS.size()));
            case CLAIM_PAIR -> claim(pairs.get(a % 4).leaseResource(), b, TTLS.get(c % 2));
            case CLAIM_AGAIN -> claimAgain(a, b);
            case RENEW -> renew(a, b, TTLS.get(c % TTLS.size()));
            case RELEASE -> release(a, b);
            case BREAK -> breakLease(resources.get(a % resources.size()), b);
            case REGISTER -> register(a, b);
            case PLAN -> plan(a, b, c);
            case START -> start(a, b, c);
            case START_AGAIN -> startAgain(a, b);
            case COMPLETE -> complete(a, b, c);
            case END_AS_LOST -> endAsLost(a, b, c);
            case ABANDON -> abandon(a, b, c % 2 == 1);
            case TRIGGER -> trigger(a, b, c);
            case CANCEL -> cancel(a, b);
            case PAUSE -> pause(a, b, c);
            case RESUME -> resume(a, b);
            case END_PAUSE -> assertEquals(ticks.endPause(jobId(a), now()), node(b).endPause(jobId(a)), "end of pause");
            case ADOPT -> adopt(a, b, c);
            case BEGIN -> begin(a, b, c);
            case SENT -> sent(a, b, c);
            case CHECKED -> checked(a, b, c);
            case EXPIRE -> expire(a);
            case RESOLVE -> resolve(a, b, c);
            default -> throw new IllegalArgumentException(step + " is no step of this play");
        }
        compare(node(a));
    }

    private Instant now() {
        return clock.now();
    }

    private static Owner owner(int number) {
        return new Owner("owner-" + number % 3);
    }

    /** The store as an owner's node sees it. */
    private Store node(int owner) {
        return owner % 3 == 0 ? site.store() : site.otherNode();
    }

    private RunId newRun() {
        return new RunId(new UUID(number, ++runs));
    }

    private String jobId(int which) {
        return name + "-j" + which % 2;
    }

    private Job job(int which) {
        return job(jobId(which), 0);
    }

    private static Job job(String id, int schedule) {
        return new Job(
                id,
                new Every(Duration.ofMinutes(1 + schedule % 2)),
                ZoneOffset.UTC,
                new Action.Command(List.of("true"), null, Map.of(), null, null),
                Set.of(),
                JOB_TTL,
                null,
                Duration.ofSeconds(1),
                CatchUp.DEFAULT,
                null,
                2,
                null,
                List.of());
    }

    /** One of these, the newest first; null if there is none. */
    private static <T> @Nullable T chosen(List<T> newestLast, int which) {
        return newestLast.isEmpty() ? null : newestLast.get(newestLast.size() - 1 - which % newestLast.size());
    }

    /** What a holder shows: in most cases its own lease, else one in which one part is another's. */
    private @Nullable Lease shown(int which, int forged) {
        Lease lease = chosen(granted, which);
        if (lease == null) {
            return null;
        }
        String resource = lease.resource();
        Owner owner = lease.owner();
        long fence = lease.fence().value();
        RunId run = lease.runId();
        String slot = lease.slotKey();
        switch (forged) {
            case 5 -> resource = resources.get((resources.indexOf(resource) + 1) % resources.size());
            case 6 -> owner = new Owner(owner.text() + "x");
            case 7 -> fence = Math.max(1, fence - 1);
            case 8 -> fence++;
            case 9 -> run = newRun();
            case 10 -> slot = slot == null ? null : "2020-01-01T00:00:00Z";
            default -> {}
        }
        return new Lease(resource, owner, new FencingToken(fence), run, slot, lease.grantedAt(), lease.expiresAt());
    }

    private static boolean isTtl(Duration ttl) {
        return ttl.isPositive() && ttl.compareTo(Duration.ofDays(30)) <= 0;
    }

    private void claim(String resource, int who, Duration ttl) {
        RunId run = newRun();
        if (!isTtl(ttl)) {
            assertThrows(IllegalArgumentException.class, () -> node(who).claim(resource, owner(who), run, ttl));
            return;
        }
        claimed(resource, owner(who), run, ttl, who);
    }

    private void claimed(String resource, Owner owner, RunId run, Duration ttl, int who) {
        Claim expected = leases.claim(resource, owner, run, ttl, now());
        assertEquals(expected, node(who).claim(resource, owner, run, ttl), "claim of " + resource);
        if (expected instanceof Claim.Granted grant) {
            granted.add(grant.lease());
        }
    }

    /** The same claim again, as after an unknown outcome; or somebody else claims under the same run id. */
    private void claimAgain(int which, int other) {
        Lease lease = chosen(granted, which);
        if (lease != null && lease.slotKey() == null) {
            Owner owner = other < 6 ? lease.owner() : owner(other);
            claimed(lease.resource(), owner, lease.runId(), Duration.ofSeconds(10), other);
        }
    }

    private void renew(int which, int forged, Duration ttl) {
        Lease lease = shown(which, forged % 10); // the slot is no part of what a renewal has to show
        if (lease == null) {
            return;
        }
        if (!isTtl(ttl)) {
            assertThrows(IllegalArgumentException.class, () -> node(which).renew(lease, ttl));
            return;
        }
        assertEquals(leases.renew(lease, ttl, now()), node(which).renew(lease, ttl), "renewal of " + lease);
    }

    private void release(int which, int forged) {
        Lease lease = shown(which, forged);
        if (lease != null) {
            assertEquals(leases.release(lease), node(which).release(lease), "release of " + lease);
        }
    }

    private void breakLease(String resource, int who) {
        assertEquals(
                ticks.breakLease(resource, "told", now()),
                node(who).breakLease(resource, "told"),
                "break of " + resource);
    }

    private void register(int which, int schedule) {
        List<Job> jobs = IntStream.of(0, 1)
                .filter(each -> which % 4 != 1 + each)
                .mapToObj(each -> job(jobId(each), schedule / 6))
                .toList();
        ticks.register(jobs, now());
        node(which).register(jobs);
    }

    private void plan(int which, int kind, int stale) {
        Job job = job(which);
        Situation situation = node(which).situation(job.id());
        if (situation == null) {
            return; // that it should be there is compared after each step
        }
        Backlog seen = situation.backlog();
        backlogs.add(seen);
        if (stale >= 8) {
            Backlog older = chosen(backlogs, stale);
            seen = older == null ? seen : older;
        }
        Plan plan = plan(job, seen, kind);
        Set<String> taken = ticks.apply(job, seen.cursor(), plan, now());
        Plan written = node(which).apply(job, seen, plan);
        if (taken == null) {
            assertNull(written, "plan by a cursor that was moved");
        } else {
            assertNotNull(written, "plan by a cursor that was not moved");
            assertEquals(plan.without(taken), written, "plan");
        }
    }

    private static Plan plan(Job job, Backlog seen, int kind) {
        List<Slot> ahead = new ArrayList<>();
        Instant at = seen.cursor();
        for (int i = 0; i < 3; i++) {
            Instant next = job.schedule().next(at);
            at = next == null ? at : next;
            ahead.add(Slot.at(at));
        }
        List<OpenTick> waiting =
                seen.open().stream().filter(tick -> !tick.running()).toList();
        List<NewTick> opened = new ArrayList<>();
        List<Slot> skipped = new ArrayList<>();
        List<OpenTick> closed = new ArrayList<>();
        List<OpenTick> displaced = new ArrayList<>();
        SlotRange dropped = null;
        TakeOver takeOver = null;
        Instant cursor = ahead.getFirst().at();
        opened.add(new NewTick(ahead.getFirst(), kind % 2 == 0));
        switch (kind) {
            case 1 -> {
                skipped.add(ahead.get(1));
                cursor = ahead.get(1).at();
            }
            case 2 -> {
                dropped = new SlotRange(2, ahead.get(1).at(), ahead.get(2).at());
                cursor = ahead.get(2).at();
            }
            case 3, 4 -> closed.addAll(waiting);
            case 5 -> displaced.addAll(waiting);
            case 6, 7 -> {
                Held held = seen.held();
                takeOver = held == null ? null : new TakeOver(held.fence(), ahead.getFirst());
            }
            case 8 -> opened.add(new NewTick(ahead.get(2), true)); // and the one between is left out
            default -> {}
        }
        List<Slot> due = opened.stream().map(NewTick::slot).toList();
        return new Plan(cursor, null, dropped, null, skipped, opened, closed, 0, due, displaced, takeOver, null);
    }

    private Slot slot(Job job, int which) {
        List<Slot> known = ticks.ticks(job.id()).stream()
                .filter(tick -> tick.range() == null)
                .map(TickBook.Tick::slot)
                .toList();
        return switch (which) {
            case 0, 1, 2, 3, 4, 5 -> known.isEmpty() ? Slot.at(now()) : known.get(which % known.size());
            case 6 -> Slot.manual(now(), "m" + runs);
            case 7 -> Slot.once(now(), "m" + runs);
            default -> Slot.at(now().plusSeconds(which));
        };
    }

    /** Nobody but the caller knows its command: it is tried once, and nobody can order it again. */
    private static boolean isOnce(@Nullable String slotKey) {
        return slotKey != null && slotKey.contains("/exec-");
    }

    private void start(int which, int slot, int how) {
        Job job = job(which);
        Slot of = slot(job, slot);
        started(new Started(job, of, owner(which / 2), newRun()), how >= 6 && !isOnce(of.key()));
    }

    /** The same start again, as after an unknown outcome; or somebody else starts under the same run id. */
    private void startAgain(int which, int other) {
        Started start = chosen(starts, which);
        if (start != null) {
            Owner owner = other < 6 ? start.owner() : owner(other);
            started(new Started(start.job(), start.slot(), owner, start.runId()), false);
        }
    }

    private void started(Started start, boolean reopen) {
        TickBook.Started expected = ticks.start(start.job(), start.slot(), start.owner(), start.runId(), reopen, now());
        Start answer = site.store().start(start.job(), start.slot(), start.owner(), start.runId(), reopen);
        switch (expected) {
            case TickBook.Started.Granted wanted -> {
                assertTrue(answer instanceof Start.Started, () -> wanted + " expected, is " + answer);
                Start.Started got = (Start.Started) answer;
                Set<RunId> abandoned =
                        got.abandoned().stream().map(Attempt::runId).collect(Collectors.toSet());
                assertEquals(
                        wanted,
                        new TickBook.Started.Granted(
                                got.lease(), got.attempt(), abandoned, got.spent(), got.withoutEffects()));
                granted.add(wanted.lease());
                starts.add(start);
            }
            case TickBook.Started.Held held -> assertEquals(new Start.Held(held.by()), answer);
            case TickBook.Started.Closed closed ->
                assertTrue(
                        answer instanceof Start.Closed told && closed.reasons().contains(told.reason()),
                        () -> closed + " expected, is " + answer);
        }
    }

    private Announcement announcement(String key, int sink, String body) {
        Content content = new Content("text/plain", null, body.getBytes(StandardCharsets.UTF_8));
        String sinkName = name + "-s" + sink;
        Duration maxAge = sink == 0 ? Duration.ofHours(1) : Duration.ofMinutes(1);
        return new Announcement("e" + sink, key, sinkName, content, content.digest(sinkName), maxAge);
    }

    private Completion completion(Lease lease, int kind) {
        String own = Announcement.keyOf(lease.resource() + "@" + lease.slotKey(), "");
        Announcement first = announcement(own + "e0", 0, "one");
        return switch (kind) {
            case 1 -> ended(Outcome.SUCCEEDED, true, true, List.of(first));
            case 2 -> ended(Outcome.FAILED, true, true, List.of());
            case 3 -> further(Outcome.FAILED, new Completion.Further(null, Duration.ofSeconds(20), null));
            case 4 -> ended(Outcome.SUCCEEDED, true, true, List.of(first, announcement(own + "e1", 1, "two")));
            case 5 -> ended(Outcome.SUCCEEDED, true, true, List.of(announcement(name + "-shared", 0, "one")));
            case 6 -> ended(Outcome.SUCCEEDED, true, true, List.of(first, announcement(name + "-shared", 0, "two")));
            case 7 -> ended(Outcome.ABANDONED, false, false, List.of());
            case 8 ->
                further(
                        Outcome.FAILED,
                        new Completion.Further(
                                null, null, new Completion.Deferral(now().plusSeconds(90), Duration.ofMinutes(5))));
            case 9 -> ended(Outcome.CANCELLED, true, true, List.of());
            case 10 -> ended(Outcome.TIMED_OUT, false, true, List.of());
            case 11 -> ended(Outcome.SUCCEEDED, true, true, List.of(first, announcement(own + "e0", 0, "two")));
            default -> ended(Outcome.SUCCEEDED, true, true, List.of());
        };
    }

    private static Completion ended(Outcome outcome, boolean closes, boolean counted, List<Announcement> effects) {
        return new Completion(
                outcome, closes, counted, 0, null, "told", new byte[0], null, effects, Completion.Further.NOTHING);
    }

    private static Completion further(Outcome outcome, Completion.Further further) {
        return new Completion(outcome, false, true, 1, null, "told", new byte[0], null, List.of(), further);
    }

    private void complete(int which, int forged, int kind) {
        Lease lease = shown(which, forged);
        if (lease == null) {
            return;
        }
        boolean once = lease.slotKey() != null && lease.slotKey().contains("/exec-"); // nobody else can try it again
        Completion completion =
                completion(lease, once && (kind == 3 || kind == 7 || kind == 8 || kind == 10) ? 2 : kind);
        TickBook.Ended expected = ticks.complete(lease, completion, now());
        Completed answer = node(which).complete(lease, completion);
        assertTrue(expected.kind().isInstance(answer), () -> expected + " expected, is " + answer + " for " + lease);
        if (answer instanceof Completed.Refused refused) {
            assertTrue(
                    expected.reasons().contains(refused.reason()),
                    () -> expected + " expected, is " + answer + " for " + lease);
        }
    }

    private void endAsLost(int which, int forged, int effects) {
        Lease lease = shown(which, forged);
        if (lease != null) {
            List<String> keys = effects % 3 == 0 ? List.of() : List.of(name + "-lost");
            assertEquals(
                    ticks.endAsLost(lease, keys, now()),
                    node(which).endAsLost(lease, "told", keys),
                    "end as lost of " + lease);
        }
    }

    private void abandon(int which, int forged, boolean provablyDead) {
        Lease lease = shown(which, forged);
        if (lease != null) {
            assertEquals(
                    ticks.abandon(lease, provablyDead, now()),
                    node(which).abandon(lease, provablyDead).stream()
                            .map(Attempt::runId)
                            .collect(Collectors.toSet()),
                    "abandon of " + lease);
        }
    }

    private void trigger(int which, int slot, int how) {
        Job job = job(which);
        List<Slot> slots = new ArrayList<>(List.of(slot(job, slot)));
        if (how % 4 == 3) {
            slots.add(Slot.at(now().minusSeconds(60)));
        }
        List<Slot> each =
                slots.stream().filter(one -> !isOnce(one.key())).distinct().toList();
        if (each.isEmpty()) {
            return;
        }
        assertEquals(
                ticks.trigger(job.id(), each, how >= 6, now()),
                node(how).trigger(job.id(), each, how >= 6, "told", "a person"),
                "trigger of " + each);
    }

    private void cancel(int which, int who) {
        String job = jobId(which);
        assertEquals(ticks.cancel(job, now()), node(who).cancel(job, "told", "a person"), "cancel of " + job);
    }

    private void pause(int which, int how, int who) {
        String job = jobId(which);
        Instant until = how == 0 ? null : now().plusSeconds(how == 11 ? 0 : 30L * how);
        Pause.Cause cause = who < 6 ? Pause.Cause.PERSON : Pause.Cause.FAILURES;
        Answer expected = ticks.pause(job, until, cause, "somebody", "told", now());
        if (expected == null) {
            assertThrows(IllegalArgumentException.class, () -> node(who).pause(job, until, cause, "told", "somebody"));
        } else {
            assertEquals(expected, node(who).pause(job, until, cause, "told", "somebody"), "pause of " + job);
        }
    }

    private void resume(int which, int who) {
        String job = jobId(which);
        Answer answer = node(who).resume(job, "told", "a person");
        Set<Answer> expected = ticks.resume(job, now(), answer);
        assertTrue(expected.contains(answer), () -> "resume of " + job + ": " + expected + " expected, is " + answer);
    }

    /** A lease of a pair; as it was granted, or forged. */
    private @Nullable Lease sender(int which, int forged) {
        for (int i = 0; i < granted.size(); i++) {
            Lease lease = shown(which + i, forged);
            Lease honest = chosen(granted, which + i);
            if (lease != null && honest != null && pairOf(honest) != null) {
                return lease;
            }
        }
        return null;
    }

    private @Nullable Pair pairOf(Lease lease) {
        return pairs.stream()
                .filter(pair -> pair.leaseResource().equals(lease.resource()))
                .findFirst()
                .orElse(null);
    }

    private void adopt(int which, int forged, int delay) {
        Lease lease = sender(which, forged);
        Pair pair = lease == null ? null : pairOf(lease);
        if (lease == null || pair == null) {
            return;
        }
        Duration lockDelay = delay % 3 == 0 ? Duration.ZERO : Duration.ofSeconds(10);
        assertEquals(
                outbox.adopt(lease, pair, lockDelay, now()),
                keys(node(which).adopt(lease, pair, lockDelay)),
                "adopted under " + lease);
    }

    private Set<String> keys(List<EffectView> views) {
        return views.stream()
                .map(EffectView::key)
                .filter(key -> key.startsWith(name + "-"))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private void begin(int which, int forged, int stale) {
        Lease lease = sender(which, forged);
        Pair pair = lease == null ? null : pairOf(lease);
        if (lease == null || pair == null) {
            return;
        }
        Effect next = node(which).next(pair);
        if (next != null) {
            read.add(next);
        }
        Effect effect = next == null || stale >= 8 ? chosen(read, stale) : next;
        if (effect == null) {
            return;
        }
        var expected = outbox.begin(lease, effect, now());
        assertEquals(expected, node(which).begin(lease, effect), "begin of " + effect + " under " + lease);
        if (expected instanceof dev.fencepost.effect.Outbox.Begun.Sending) {
            sendings.add(new Sending(lease, effect));
        }
    }

    private static Settlement settlement(int kind) {
        Duration soon = Duration.ofSeconds(15);
        return switch (kind % 6) {
            case 1 -> new Settlement(EffectState.UNKNOWN, null, "told", soon, true, false, null);
            case 2 -> new Settlement(EffectState.PENDING, null, "told", soon, false, false, null);
            case 3 -> new Settlement(EffectState.DEAD, new Receipt("kept"), "told", null, false, true, null);
            case 4 -> new Settlement(EffectState.REFUSED, null, "told", null, false, false, 99L);
            case 5 -> new Settlement(EffectState.UNKNOWN, null, "told", null, true, true, null);
            default -> new Settlement(EffectState.CONFIRMED, new Receipt("201"), null, null, false, false, null);
        };
    }

    /** The owner is no part of what names a try: token and run are its sender's alone. */
    private void sent(int which, int kind, int forged) {
        Sending sending = chosen(sendings, which);
        if (sending == null) {
            return;
        }
        Lease honest = sending.lease();
        Lease lease = new Lease(
                forged == 5 ? resources.getFirst() : honest.resource(),
                honest.owner(),
                forged == 8 ? new FencingToken(honest.fence().value() + 1) : honest.fence(),
                forged == 9 ? newRun() : honest.runId(),
                null,
                honest.grantedAt(),
                honest.expiresAt());
        assertEquals(
                outbox.sent(lease, sending.effect().key(), settlement(kind), now()),
                node(which).sent(lease, sending.effect(), settlement(kind)),
                "sent " + sending.effect() + " under " + lease);
    }

    private void checked(int which, int kind, int forged) {
        Lease lease = sender(which, forged);
        Pair pair = lease == null ? null : pairOf(lease);
        Effect next = pair == null ? null : node(which).next(pair);
        Effect effect = next == null ? chosen(read, kind) : next;
        if (lease == null || effect == null) {
            return;
        }
        assertEquals(
                outbox.checked(lease, effect.key(), settlement(kind), now()),
                node(which).checked(lease, effect, settlement(kind)),
                "check of " + effect + " under " + lease);
    }

    private void expire(int who) {
        assertEquals(outbox.expire(now()), keys(node(who).expire()), "what is too old");
    }

    private void resolve(int which, int order, int override) {
        OutboxBook.Entry entry = chosen(outbox.entries(), which);
        if (entry == null) {
            return;
        }
        Order wanted = Order.values()[order % Order.values().length];
        boolean done = outbox.resolve(entry.key(), wanted, override >= 4, now());
        var answer = node(which).resolve(entry.key(), wanted, "told", override >= 4);
        assertEquals(done, answer.isEmpty(), () -> wanted + " for " + entry.key() + ": " + answer);
    }

    /** All that can be seen of the store. */
    private void compare(Store store) {
        for (String resource : resources) {
            assertEquals(leases.view(resource, now()), store.inspect(resource), "lease of " + resource);
            assertNull(events.difference(resource, store.eventsOf(resource, 1_000)), "events of " + resource);
        }
        for (int i = 0; i < 2; i++) {
            compareJob(store, jobId(i));
        }
        for (int i = 0; i < 3; i++) {
            Owner owner = owner(i);
            Set<RunId> stops = store.stops(owner).stream()
                    .map(Stop::runId)
                    .filter(run -> run.value().getMostSignificantBits() == number)
                    .collect(Collectors.toSet());
            assertEquals(ticks.stops(owner), stops, "stops of " + owner);
        }
        assertEquals(revisionBefore + ticks.revision(), store.signal().revision(), "revision of orders");
        for (OutboxBook.Entry entry : outbox.entries()) {
            EffectView shown = store.effect(entry.key());
            assertNotNull(shown, entry.key());
            assertEquals(outbox.view(entry, shown.reason(), now()), shown);
        }
        assertEquals(
                outbox.duePairs(pairs, now()),
                new HashSet<>(store.duePairs(List.of(name + "-s0", name + "-s1"), 100)),
                "pairs that are due");
        for (Pair pair : pairs) {
            OutboxBook.Entry wanted = outbox.next(pair, now());
            Effect next = store.next(pair);
            assertEquals(wanted == null ? null : wanted.key(), next == null ? null : next.key(), "next of " + pair);
        }
    }

    private void compareJob(Store store, String job) {
        TickBook.Row row = ticks.job(job);
        Situation situation = store.situation(job);
        if (row == null || situation == null) {
            assertEquals(row == null, situation == null, "whether " + job + " is known");
        } else {
            Backlog backlog = situation.backlog();
            Map<String, OpenTick> open = new TreeMap<>();
            backlog.open().forEach(tick -> open.put(tick.slot().key(), tick));
            assertEquals(now(), backlog.now(), "the store's clock");
            assertEquals(row.cursor(), backlog.cursor(), "cursor of " + job);
            assertEquals(ticks.openTicks(job, now()), open, "open ticks of " + job);
            Lease live = leases.live(job, now());
            Held held = backlog.held();
            assertEquals(live == null, held == null, "whether " + job + " is held");
            if (live != null && held != null) {
                OpenTick tick = live.slotKey() == null ? null : open.get(live.slotKey());
                assertEquals(
                        new Held(
                                live.grantedAt(),
                                live.fence().value(),
                                tick != null && (tick.ordered() || tick.slot().isManual())),
                        held,
                        "who holds " + job);
            }
            assertEquals(leases.view(job, now()), situation.lease(), "lease of " + job + " as it is planned by");
            assertEquals(row.pause(), situation.pause(), "pause of " + job);
            assertEquals(row.deferUntil(), situation.deferUntil(), "until when " + job + " is deferred");
            assertEquals(row.brakesSince(), situation.brakesSince(), "since when the brakes of " + job + " count");
        }
        Map<String, List<String>> entries = new HashMap<>();
        for (Entry entry : store.history(job, 10_000)) {
            entries.computeIfAbsent(
                            entry.slotKey() + " " + entry.tickOutcome() + " " + entry.tickEndedAt() + " "
                                    + entry.range(),
                            key -> new ArrayList<>())
                    .add(entry.attempt() == null ? "none" : TickBook.Try.shown(entry.attempt()));
        }
        entries.values().forEach(each -> each.sort(null));
        assertEquals(history(job), entries, "history of " + job);
        assertEquals(
                ticks.kinds(job),
                store.jobEvents(job, 1_000).reversed().stream()
                        .map(JobEvent::kind)
                        .toList(),
                "what happened to " + job);
    }

    private Map<String, List<String>> history(String job) {
        Map<String, List<String>> entries = new HashMap<>();
        for (TickBook.Tick tick : ticks.ticks(job)) {
            var range = tick.range() == null
                    ? null
                    : new dev.fencepost.run.History.Range(
                            tick.range().count(),
                            tick.range().first(),
                            tick.range().last());
            List<String> tries = ticks.triesAt(tick).stream()
                    .map(TickBook.Try::shown)
                    .sorted()
                    .toList();
            entries.put(
                    tick.slot().key() + " " + tick.outcome() + " " + tick.endedAt() + " " + range,
                    tries.isEmpty() ? List.of("none") : tries);
        }
        return entries;
    }
}
