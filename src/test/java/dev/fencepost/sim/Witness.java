package dev.fencepost.sim;

import dev.fencepost.Store;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.EffectView;
import dev.fencepost.effect.Outbox.Filter;
import dev.fencepost.effect.Pair;
import dev.fencepost.host.Event;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.History.Entry;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Sees every call that reaches the store, with its answer, every child and every effect at a sink, and says when something does not hold.
 * It keeps books of its own and believes nobody: not the store's rows, not the nodes.
 */
final class Witness {

    /** After a freeze the deadline is looked at among the first things, and killing takes no time here. */
    private static final long THAW_MILLIS = 20;

    /** What came due, or was announced, so long before the end has to have come to its own end. */
    private static final long SETTLED_MILLIS = 120_000;

    private static final Set<String> TOLD =
            Set.of("start", "claim", "renew", "complete", "release", "abandon", "endAsLost");

    private final World world;
    private final Map<String, Grant> newest = new HashMap<>();
    private final Map<RunId, Grant> byRun = new HashMap<>();
    private final Map<String, Outcome> closed = new LinkedHashMap<>();
    private final Map<String, Grant> succeeded = new LinkedHashMap<>();
    private final Set<RunId> completed = new HashSet<>();
    private final Map<String, Long> sinkTokens = new HashMap<>();
    private final Map<Host, Long> thawedAt = new HashMap<>();
    private final Map<String, Instant> registeredAt = new HashMap<>();
    private final Map<String, String> keyOfSlot = new HashMap<>();
    private final Map<String, String> slotOfKey = new HashMap<>();
    private long refusals;
    private @Nullable AssertionError failure;

    Witness(World world) {
        this.world = world;
    }

    /** A lease as it was granted, with the latest end that the store has promised. */
    private static final class Grant {
        private final String resource;
        private final long fence;
        private final RunId run;
        private final Owner owner;
        private long expires;
        private boolean over;

        Grant(Lease lease, long expires) {
            this.resource = lease.resource();
            this.fence = lease.fence().value();
            this.run = lease.runId();
            this.owner = lease.owner();
            this.expires = expires;
        }

        boolean isLive(long now) {
            return !over && now < expires;
        }

        @Override
        public String toString() {
            return resource + " token " + fence + " run " + run + " of " + owner;
        }
    }

    private long now() {
        return world.scheduler().now();
    }

    private static void hold(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    private static Grant known(@Nullable Grant grant, String what) {
        if (grant == null) {
            throw new AssertionError(what);
        }
        return grant;
    }

    // ---- calls of the store

    /** The first thing that did not hold; thrown outside of the core, which would make the best of it. */
    private void noting(Runnable check) {
        try {
            check.run();
        } catch (AssertionError e) {
            failure = failure == null ? e : failure;
        }
    }

    void saw(Host host, String call, Object[] arguments, @Nullable Object answer) {
        if (TOLD.contains(call)) {
            world.note(host.name() + " " + call + " " + arguments[0] + ": " + answer);
        }
        noting(() -> judge(host, call, arguments, answer));
    }

    private void judge(Host host, String call, Object[] arguments, @Nullable Object answer) {
        switch (call) {
            case "start" -> {
                if (answer instanceof Start.Started started) {
                    granted(started.lease(), ((Job) arguments[0]).ttl());
                } else if (answer instanceof Start.Held held) {
                    held(held.by());
                }
            }
            case "claim" -> {
                if (answer instanceof Claim.Granted granted) {
                    granted(granted.lease(), (Duration) arguments[3]);
                } else if (answer instanceof Claim.Held held) {
                    held(held.by());
                }
            }
            case "renew" -> renewed((Lease) arguments[0], (Duration) arguments[1], (Renewal) answer);
            case "complete" -> completed((Lease) arguments[0], (Completion) arguments[1], (Completed) answer);
            case "release" -> {
                if (answer instanceof Optional<?> refusal && refusal.isEmpty()) {
                    Lease lease = (Lease) arguments[0];
                    Grant last = newest.get(lease.resource());
                    hold(last == byRun.get(lease.runId()), "S2: a release was accepted of " + lease + ", not " + last);
                    over(lease, host);
                }
            }
            case "register" ->
                ((Collection<?>) arguments[0])
                        .forEach(job -> registeredAt.putIfAbsent(((Job) job).id(), Instant.ofEpochMilli(now())));
            case "endAsLost" -> {
                if (Boolean.TRUE.equals(answer)) {
                    over((Lease) arguments[0], host);
                }
            }
            case "abandon" -> abandoned((Lease) arguments[0], (Boolean) arguments[1], host);
            default -> {}
        }
    }

    private void granted(Lease lease, Duration ttl) {
        Grant last = newest.get(lease.resource());
        if (last != null && last.fence == lease.fence().value() && last.run.equals(lease.runId())) {
            hold(last.isLive(now()), "a claim that was asked again found a grant that is over: " + last);
            return;
        }
        Grant grant = new Grant(lease, now() + ttl.toMillis());
        if (last != null) {
            hold(grant.fence > last.fence, "S5: the token fell or stood still: " + grant + " after " + last);
            hold(!last.isLive(now()), "two live leases: " + grant + " while " + last + " lives until " + last.expires);
        }
        hold(!byRun.containsKey(grant.run), "S5: a run id was granted twice: " + grant);
        newest.put(lease.resource(), grant);
        byRun.put(grant.run, grant);
    }

    private void held(Lease by) {
        Grant last = known(newest.get(by.resource()), "held by a lease that was never granted: " + by);
        hold(last.run.equals(by.runId()), "held by another lease than the newest: " + by);
        hold(last.isLive(now()), "held by a lease that is over: " + last);
    }

    private void renewed(Lease lease, Duration ttl, @Nullable Renewal answer) {
        Grant grant = known(byRun.get(lease.runId()), "a renewal of a lease that was never granted: " + lease);
        Grant last = newest.get(lease.resource());
        boolean mayBe = grant == last && grant.isLive(now());
        if (answer instanceof Renewal.Renewed) {
            hold(mayBe, "S2: a renewal was accepted of " + grant + ", the newest is " + last);
            grant.expires = now() + ttl.toMillis();
        } else {
            world.happened("a renewal is refused");
            hold(!mayBe, "a renewal was refused of the live " + grant);
        }
    }

    private void completed(Lease lease, Completion completion, @Nullable Completed answer) {
        Grant grant = known(byRun.get(lease.runId()), "a completion of a lease that was never granted: " + lease);
        Grant last = newest.get(lease.resource());
        boolean mayBe = grant == last && grant.isLive(now());
        if (!(answer instanceof Completed.Stored)) {
            refusals++;
            world.happened("a completion is refused");
            hold(!mayBe || completed.contains(grant.run), "a completion was refused of the live " + grant);
            return;
        }
        hold(mayBe, "S2: a completion was accepted of " + grant + ", the newest is " + last);
        hold(completed.add(grant.run), "S1: two completions were accepted of " + grant);
        grant.over = true;
        if (completion.closesTick()) {
            String tick = lease.resource() + "@" + lease.slotKey();
            Outcome before = closed.put(tick, completion.outcome());
            hold(before == null, "S8: the outcome of " + tick + " was written twice: " + before);
            if (completion.outcome() == Outcome.SUCCEEDED) {
                succeeded.put(tick, grant);
            }
        }
    }

    /** Somebody gave a lease back: its holder, or one who knows that the holder is dead. */
    private void over(Lease lease, Host by) {
        Grant grant = byRun.get(lease.runId());
        Grant last = newest.get(lease.resource());
        if (grant == null || grant != last || grant.over) {
            return;
        }
        hold(
                grant.owner.equals(by.owner()) || isDead(grant.owner),
                "the lease of a living holder was given back by another: " + grant);
        grant.over = true;
    }

    private void abandoned(Lease lease, boolean provablyDead, Host by) {
        Grant grant = byRun.get(lease.runId());
        Grant last = newest.get(lease.resource());
        if (grant == null || grant != last) {
            return;
        }
        if (provablyDead) {
            // A grant that its own node never heard of is given up by that node itself.
            boolean unheard = grant.owner.equals(by.owner());
            hold(isDead(grant.owner) || unheard, "S6: a living holder was called dead: " + grant);
            grant.over = true;
        } else if (now() >= grant.expires) {
            grant.over = true;
        }
    }

    private boolean isDead(Owner owner) {
        Host host = world.hostOf(owner);
        return host != null && host.isDead();
    }

    // ---- children and effects

    void childStarted(Host host, RunId run, Map<String, String> environment) {
        noting(() -> {
            Grant grant = known(byRun.get(run), "a child runs without a lease: run " + run + " on " + host.name());
            hold(
                    String.valueOf(grant.fence).equals(environment.get("FENCEPOST_FENCE")),
                    "a child is told another token than that of " + grant);
            String slot = environment.get("FENCEPOST_JOB") + "@" + environment.get("FENCEPOST_SLOT");
            String key = String.valueOf(environment.get("FENCEPOST_IDEMPOTENCY_KEY"));
            String keyBefore = keyOfSlot.putIfAbsent(slot, key);
            hold(
                    keyBefore == null || keyBefore.equals(key),
                    "S17: two keys of " + slot + ": " + keyBefore + ", " + key);
            String slotBefore = slotOfKey.putIfAbsent(key, slot);
            hold(slotBefore == null || slotBefore.equals(slot), "S17: one key of two slots: " + key);
        });
    }

    void thawed(Host host) {
        thawedAt.put(host, now());
    }

    /** After each step of the world. */
    void look() {
        if (failure != null) {
            throw failure;
        }
        for (Host host : world.hosts()) {
            if (host.isDead()
                    || host.isFrozen()
                    || now() - thawedAt.getOrDefault(host, Long.MIN_VALUE / 2) < THAW_MILLIS) {
                continue;
            }
            for (RunId run : host.children().living()) {
                Grant grant = known(byRun.get(run), "S3: a child lives without a lease on " + host.name());
                hold(grant.isLive(now()), "S3: a child lives past its lease on " + host.name() + ": " + grant);
                hold(newest.get(grant.resource) == grant, "S3: a child lives beside a newer grant: " + grant);
            }
        }
    }

    void effectAccepted(String sink, boolean checks, Effect effect, int times) {
        noting(() -> judge(sink, checks, effect, times));
    }

    private void judge(String sink, boolean checks, Effect effect, int times) {
        String tick = effect.job() + "@" + effect.slotKey();
        Grant grant = known(succeeded.get(tick), "S9: an effect without a stored success: " + effect.key());
        hold(
                grant.run.equals(effect.runId())
                        && grant.fence == effect.fence().value(),
                "S9: an effect of another run than the one that succeeded: " + effect.key());
        hold(times == 1, "S15: accepted " + times + " times by " + sink + ": " + effect.key());
        if (checks) {
            long before = sinkTokens.getOrDefault(sink + "/" + effect.pair().resource(), 0L);
            hold(effect.fence().value() >= before, "S1: the token fell at " + sink + ": " + effect.key());
            sinkTokens.put(sink + "/" + effect.pair().resource(), effect.fence().value());
        }
    }

    /** What the store did not answer is nobody's error. */
    void told(Host host, Event event) {
        if (event instanceof Event.Executed end && end.outcome().equals(Outcome.SUCCEEDED.name())) {
            Grant grant = succeeded.get(end.job() + "@" + end.slot());
            noting(() -> hold(
                    grant != null && grant.fence == end.fence(),
                    "S10: " + host.name() + " tells of a success that is not stored: " + end));
        }
        if (event instanceof Event.Problem problem && !(problem.cause() instanceof StoreException) && failure == null) {
            failure = new AssertionError(
                    "an error of ours on " + host.name() + ": " + problem.where() + ": " + problem.text(),
                    problem.cause());
        }
    }

    // ---- the end

    /** What has to be true once the world has healed. */
    void judge(Store store, List<Job> jobs) {
        Instant settled = Instant.ofEpochMilli(now() - SETTLED_MILLIS);
        Map<String, Outcome> stored = new LinkedHashMap<>();
        List<String> unfinished = new ArrayList<>();
        for (Job job : jobs) {
            List<Entry> entries = store.history(job.id(), 100_000);
            judgeSlots(job, entries, settled);
            for (Entry entry : entries) {
                String tick = job.id() + "@" + entry.slotKey();
                Attempt attempt = entry.attempt();
                if (entry.tickOutcome() == Outcome.SUCCEEDED) {
                    stored.put(tick, Outcome.SUCCEEDED);
                }
                if (entry.tickOutcome() == null && last(entry).isBefore(settled)) {
                    unfinished.add("the tick " + tick);
                }
                if (attempt != null
                        && attempt.endedAt() == null
                        && attempt.startedAt().isBefore(settled)) {
                    unfinished.add("an attempt at " + tick);
                }
            }
            Instant lastDue = job.schedule().latest(settled);
            hold(
                    lastDue == null
                            || entries.stream().anyMatch(entry -> !last(entry).isBefore(lastDue)),
                    "L1: nothing of " + job.id() + " was planned for " + SETTLED_MILLIS + " ms");
        }
        hold(unfinished.isEmpty(), "L: came to no end: " + unfinished);
        hold(
                stored.keySet().equals(succeeded.keySet()),
                "S9: successes in the store and accepted ones differ: "
                        + difference(stored.keySet(), succeeded.keySet()));
        List<String> open = new ArrayList<>();
        Set<Pair> blocked = new HashSet<>(); // what waits for a person keeps its turn
        Map<String, Integer> effects = new HashMap<>();
        for (EffectView effect : store.effects(Filter.ALL, 1_000_000).reversed()) {
            effects.merge(effect.job() + "@" + effect.slotKey(), 1, Integer::sum);
            boolean reached = world.sink(effect.pair().sink()).accepted().containsKey(effect.key());
            switch (effect.state()) {
                case CONFIRMED -> hold(reached, "S15: confirmed, and the sink never saw it: " + effect.key());
                case REFUSED, DEAD, EXPIRED ->
                    hold(!reached, "S15: " + effect.state() + ", and the sink has it: " + effect.key());
                case PENDING, SENDING, UNKNOWN -> {
                    boolean parked = effect.state() == EffectState.UNKNOWN && effect.waits();
                    if (parked) {
                        world.happened("an effect waits for a person");
                        hold(
                                !world.sink(effect.pair().sink()).isIdempotent(),
                                "L: waits for a person, and could be sent again: " + effect.key());
                        blocked.add(effect.pair());
                    } else if (!blocked.contains(effect.pair())
                            && effect.announcedAt().isBefore(settled)) {
                        open.add(effect.key() + " " + effect.state() + " " + effect.reason());
                    }
                }
            }
        }
        hold(open.isEmpty(), "L: effects are stuck: " + open);
        succeeded
                .keySet()
                .forEach(tick -> hold(
                        effects.getOrDefault(tick, 0) == world.sinkNames().size(),
                        "S9: a success without its effects: " + tick));
    }

    /** The slot of an entry, or the last one of its range. */
    private static Instant last(Entry entry) {
        return entry.range() == null
                ? Instant.parse(entry.slotKey())
                : entry.range().last();
    }

    /** Each slot since the job was registered has one row, or is in one range. Counted here, not by the schedule. */
    private void judgeSlots(Job job, List<Entry> entries, Instant settled) {
        long gap = world.gapSeconds(job.id());
        Set<Long> rows = new HashSet<>();
        for (Entry entry : entries) {
            if (entry.range() == null) {
                rows.add(last(entry).getEpochSecond());
            }
        }
        for (Entry entry : entries) {
            if (entry.range() != null) {
                world.happened("slots are dropped");
                for (long at = entry.range().first().getEpochSecond();
                        at <= entry.range().last().getEpochSecond();
                        at += gap) {
                    hold(rows.add(at), "S8: a slot of a range has another row: " + entry);
                }
            }
        }
        long since = registeredAt.getOrDefault(job.id(), settled).getEpochSecond();
        for (long at = (since / gap + 1) * gap; at <= settled.getEpochSecond(); at += gap) {
            hold(rows.contains(at), "LOSS: no row for " + job.id() + "@" + Instant.ofEpochSecond(at));
        }
    }

    private static Set<String> difference(Set<String> a, Set<String> b) {
        Set<String> difference = new HashSet<>(a);
        difference.addAll(b);
        difference.removeIf(each -> a.contains(each) && b.contains(each));
        return difference;
    }

    /** What happened, so that one sees that something did. */
    String summary() {
        return succeeded.size() + " successes, " + closed.size() + " closed by completions, " + byRun.size()
                + " grants, " + refusals + " refused completions";
    }
}
