package dev.fencepost.effect;

import dev.fencepost.effect.Outbox.Begun;
import dev.fencepost.effect.Outbox.DuePair;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Leases;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.Term;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Sends the effects of the outbox, one pair of sink and resource at a time and in order; read {@link #dispatch} from top to bottom.
 *
 * <p>lease of the pair → what a dead sender left becomes UNKNOWN → the first effect: written down as SENDING, sent, its answer stored; or,
 * if its outcome is unknown, read back → the next one. Other pairs go on meanwhile, each on a thread of its own; a sink that is slow, down
 * or broken holds back its own pairs alone.
 *
 * <p>What the lease does not prevent, the sink does: whoever was frozen between the check and the call shows an old token there.
 */
public final class Dispatcher {

    /** The lease outlives the longest call by more than its own margin. */
    private static final Duration LEASE_SLACK = Duration.ofSeconds(15);

    private static final int MOST_PAIRS_AT_ONCE = 32;

    /** So that one sink that is slow leaves room for the others. */
    private static final int MOST_PAIRS_OF_A_SINK = 8;

    private static final int MIB = 1 << 20;

    /** Contents above 1 MiB that are in memory together: more of them wait, since a small heap would not hold them. */
    private static final int ROOM_FOR_LARGE_ONES_MIB = Content.MAX_BYTES / MIB;

    private static final int MOST_PAIRS_A_LOOK = 256;
    private static final Duration LOOK_FOR_OLD_ONES = Duration.ofSeconds(10);
    private static final Duration LOOK_AGAIN = Duration.ofMillis(200);

    /** How long an answer of a sink is kept in hand while the store does not take it; after that it is lost, and read back. */
    private static final Duration SETTLE_PATIENCE = Duration.ofMinutes(10);

    private static final Duration FIRST_SETTLE_BACKOFF = Duration.ofMillis(200);
    private static final Duration MAX_SETTLE_BACKOFF = Duration.ofSeconds(5);

    private final Outbox outbox;
    private final Leases leases;
    private volatile Map<String, Sink> sinks;
    private final Owner owner;
    private final Predicate<Owner> provablyDead;
    private final Time time;
    private final Spawner spawner;
    private final Entropy entropy;
    private final Journal journal;
    private final Judge judge;

    private final AtomicBoolean looking = new AtomicBoolean();
    private final Map<Pair, Spawner.Task> underWay = new ConcurrentHashMap<>();
    private final Set<RunId> turns = ConcurrentHashMap.newKeySet();
    private final Semaphore roomMib = new Semaphore(ROOM_FOR_LARGE_ONES_MIB);
    private volatile boolean stopping;
    private volatile boolean failing;
    private volatile long lookingSince;
    private volatile long oldOnesAgainAt = Long.MIN_VALUE;

    /**
     * @param sinks by name, all that this node knows; effects to others are left to nodes that know them
     * @param provablyDead whether this owner surely is no more, see {@code Children.provablyDead}
     */
    public Dispatcher(
            Outbox outbox,
            Leases leases,
            Map<String, Sink> sinks,
            Owner owner,
            Predicate<Owner> provablyDead,
            Time time,
            Spawner spawner,
            Entropy entropy,
            Journal journal) {
        this.outbox = outbox;
        this.leases = leases;
        this.sinks = Map.copyOf(sinks);
        this.owner = owner;
        this.provablyDead = provablyDead;
        this.time = time;
        this.spawner = spawner;
        this.entropy = entropy;
        this.journal = journal;
        this.judge = new Judge(entropy);
    }

    /** From now on these are the sinks that this node knows; what is being sent goes on with the sink that it was begun with. */
    public void use(Map<String, Sink> others) {
        sinks = Map.copyOf(others);
    }

    /** To be called about once a second, once the store is prepared; returns at once. */
    public void wake() {
        if (stopping || !looking.compareAndSet(false, true)) {
            return;
        }
        boolean begun = false;
        try {
            lookingSince = time.bootMillis();
            spawner.virtualThread("outbox", () -> {
                try {
                    look();
                } finally {
                    lookingSince = 0;
                    looking.set(false);
                }
            });
            begun = true;
        } finally {
            if (!begun) {
                lookingSince = 0;
                looking.set(false);
            }
        }
    }

    /** How long the look at the outbox that is under way has taken, or null if there is none. */
    public @Nullable Duration lookingFor() {
        long since = lookingSince;
        return since == 0 ? null : Duration.ofMillis(time.bootMillis() - since);
    }

    private void look() {
        try {
            if (time.bootMillis() >= oldOnesAgainAt) {
                outbox.expire().forEach(this::tell);
                oldOnesAgainAt = time.bootMillis() + LOOK_FOR_OLD_ONES.toMillis();
            }
            Set<String> free = sinks.keySet().stream().filter(this::hasRoom).collect(Collectors.toSet());
            if (!free.isEmpty()) {
                for (DuePair due : outbox.duePairs(free, MOST_PAIRS_A_LOOK)) {
                    if (due.heldBy() == null || isDead(due.heldBy())) {
                        start(due.pair());
                    }
                }
            }
            if (failing) {
                failing = false;
                journal.record(new Event.StoreAvailable(true, null));
            }
        } catch (StoreException e) {
            if (!failing) {
                failing = true;
                journal.record(new Event.StoreAvailable(false, e.getMessage()));
            }
        } catch (RuntimeException | Error e) {
            journal.record(new Event.Problem("outbox", null, null, null, "it is looked at again later", e));
        }
    }

    /** A lease of ours that no turn of ours knows was granted without our hearing of it. */
    private boolean isDead(Lease lease) {
        return lease.owner().equals(owner) ? !turns.contains(lease.runId()) : provablyDead.test(lease.owner());
    }

    private boolean hasRoom(String sink) {
        return underWay.keySet().stream()
                        .filter(pair -> pair.sink().equals(sink))
                        .count()
                < MOST_PAIRS_OF_A_SINK;
    }

    private void start(Pair pair) {
        if (stopping || underWay.size() >= MOST_PAIRS_AT_ONCE || !hasRoom(pair.sink())) {
            return;
        }
        // Only looks start turns, and one look runs at a time: nobody else puts this pair here meanwhile.
        if (underWay.containsKey(pair)) {
            return;
        }
        AtomicBoolean over = new AtomicBoolean();
        Spawner.Task task = spawner.virtualThread("dispatch-" + pair.sink(), () -> {
            try {
                dispatch(pair);
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            } catch (StoreException e) {
                if (e.kind() == StoreException.Kind.BROKEN) {
                    journal.record(new Event.Problem("dispatch", pair.resource(), null, null, "effects to " + pair, e));
                } // else looked at again in a second; a store that stays away is told by the look
            } catch (RuntimeException | Error e) {
                journal.record(new Event.Problem("dispatch", pair.resource(), null, null, "effects to " + pair, e));
            } finally {
                over.set(true);
                underWay.remove(pair);
            }
        });
        underWay.put(pair, task);
        if (over.get()) {
            underWay.remove(pair);
        }
    }

    /**
     * Sends what can be sent of one pair now, on this thread.
     *
     * @throws StoreException if the store gave no answer; what was sent before it is in the store, or will be found UNKNOWN
     */
    public void dispatch(Pair pair) throws InterruptedException {
        Sink sink = sinks.get(pair.sink());
        if (sink == null) {
            return;
        }
        Turn turn = claim(pair, sink);
        if (turn == null) {
            return;
        }
        try {
            outbox.adopt(turn.lease, pair, sink.lockDelay()).forEach(this::tell);
            boolean goOn = true;
            while (goOn && !stopping) {
                goOn = goOn(turn, pair, sink);
            }
        } finally {
            turns.remove(turn.lease.runId());
            release(turn.lease);
        }
    }

    /** Goes on with the pair's first effect, if it is due and there is room for its content. Returns whether to go on after it. */
    private boolean goOn(Turn turn, Pair pair, Sink sink) throws InterruptedException {
        Effect small = outbox.next(pair, MIB);
        if (small != null) {
            return goOn(turn, sink, small);
        }
        int room = roomMib.drainPermits();
        try {
            Effect large = room == 0 ? null : outbox.next(pair, room * MIB);
            if (large == null) {
                return false;
            }
            int needed = Math.min(room, 1 + large.content().bytes().length / MIB);
            roomMib.release(room - needed);
            room = needed;
            return goOn(turn, sink, large);
        } finally {
            roomMib.release(room);
        }
    }

    private boolean goOn(Turn turn, Sink sink, Effect effect) throws InterruptedException {
        return turn.covers(sink) && advance(turn, sink, effect);
    }

    /** The lease of a pair, as long as it is this thread's turn. */
    private final class Turn {
        private final Duration ttl;
        private Lease lease;
        private Term term;

        Turn(Lease lease, Term term, Duration ttl) {
            this.lease = lease;
            this.term = term;
            this.ttl = ttl;
        }

        /** Whether the lease surely outlives one more call of the sink, renewed if need be. */
        boolean covers(Sink sink) {
            if (lasts(sink.timeLimit())) {
                return true;
            }
            long sent = time.bootMillis();
            return switch (leases.renew(lease, ttl)) {
                case Renewal.Renewed renewed -> {
                    lease = renewed.lease();
                    term = Term.of(sent, ttl);
                    yield lasts(sink.timeLimit());
                }
                case Renewal.Lost lost -> false;
            };
        }

        boolean lasts(Duration needed) {
            return time.bootMillis() + needed.toMillis() <= term.deadlineBootMillis();
        }
    }

    private @Nullable Turn claim(Pair pair, Sink sink) {
        Duration ttl = sink.timeLimit().multipliedBy(5).dividedBy(4).plus(LEASE_SLACK);
        RunId runId = new RunId(entropy.uuid());
        turns.add(runId);
        boolean granted = false;
        try {
            for (int claims = 0; claims < 2; claims++) {
                long sent = time.bootMillis();
                switch (leases.claim(pair.leaseResource(), owner, runId, ttl)) {
                    case Claim.Granted now -> {
                        granted = true;
                        return new Turn(now.lease(), Term.of(sent, ttl), ttl);
                    }
                    case Claim.Held held -> {
                        if (!isDead(held.by()) || leases.release(held.by()).isPresent()) {
                            return null;
                        }
                    }
                }
            }
            return null;
        } finally {
            if (!granted) {
                turns.remove(runId);
            }
        }
    }

    /** Best effort: a lease that stays is taken over as one of ours that no turn knows, or ends by itself. */
    private void release(Lease lease) {
        try {
            leases.release(lease);
        } catch (StoreException leftToItsEnd) {
            // see above; the look tells that the store is away
        }
    }

    /** Sends or reads back. Returns whether to go on with the pair. */
    private boolean advance(Turn turn, Sink sink, Effect effect) throws InterruptedException {
        if (effect.state() == EffectState.PENDING) {
            return send(turn, sink, effect);
        }
        ReadBack seen = readBack(sink, effect);
        if (seen instanceof ReadBack.CannotTell && sink.isIdempotent() && !Judge.isUsedUp(sink, effect.tries())) {
            return turn.covers(sink) && send(turn, sink, effect); // the read-back may have taken long
        }
        Settlement settlement = judge.seen(sink, effect, seen);
        if (!outbox.checked(turn.lease, effect, settlement)) {
            return false;
        }
        tell(effect, settlement);
        return !settlement.state().isOpen() || settlement.state() == EffectState.PENDING;
    }

    /** A beginning without an answer is taken back as far as it took place: nothing was sent under it. */
    private Begun begin(Turn turn, Effect effect) {
        try {
            return outbox.begin(turn.lease, effect);
        } catch (StoreException e) {
            if (e.kind() == StoreException.Kind.AMBIGUOUS) {
                outbox.sent(
                        turn.lease,
                        effect,
                        judge.notSent(effect, effect.tries(), "the store gave no answer before it was sent", null));
            }
            throw e;
        }
    }

    private boolean send(Turn turn, Sink sink, Effect effect) throws InterruptedException {
        switch (begin(turn, effect)) {
            case Begun.Gone gone -> {
                return false;
            }
            case Begun.Refused refused -> {
                String reason = "token " + refused.newest() + " of another run was sent before it";
                record(effect, EffectState.REFUSED, reason, refused.newest(), effect.mayBeSent());
                return true;
            }
            case Begun.Sending sending -> {}
        }
        // The store's answer may have been long on its way, or we may have been frozen.
        Settlement settlement = turn.lasts(sink.timeLimit())
                ? judged(sink, effect, deliver(sink, effect))
                : judge.notSent(effect, effect.tries(), "the sender's lease was about to end", Duration.ZERO);
        return settle(turn.lease, effect, settlement) && !settlement.state().isOpen();
    }

    /** After a "no" the sink is asked where an earlier try may have arrived. */
    private Settlement judged(Sink sink, Effect effect, Delivery delivery) throws InterruptedException {
        Settlement settlement = judge.sent(sink, effect, delivery);
        return effect.mayBeSent() && Judge.isNo(settlement)
                ? Judge.afterNo(settlement, readBack(sink, effect))
                : settlement;
    }

    private Delivery deliver(Sink sink, Effect effect) throws InterruptedException {
        try {
            return sink.deliver(effect);
        } catch (RuntimeException | Error e) {
            problem(effect, "the sink broke off; the outcome is unknown", e);
            return new Delivery.Unknown("the sink broke off: " + e.getClass().getSimpleName());
        }
    }

    private ReadBack readBack(Sink sink, Effect effect) throws InterruptedException {
        try {
            return sink.readBack(effect);
        } catch (RuntimeException | Error e) {
            problem(effect, "the sink broke off while it was asked", e);
            return new ReadBack.NoAnswer("the sink broke off: " + e.getClass().getSimpleName());
        }
    }

    /** Keeps the answer in hand until the store has it. Returns whether it has. */
    private boolean settle(Lease lease, Effect effect, Settlement settlement) throws InterruptedException {
        long giveUp = time.bootMillis() + SETTLE_PATIENCE.toMillis();
        Duration backoff = FIRST_SETTLE_BACKOFF;
        while (true) {
            try {
                if (outbox.sent(lease, effect, settlement)) {
                    tell(effect, settlement);
                    return true;
                }
                journal.record(new Event.Note(
                        effect.job(),
                        "effect " + effect.key() + " was taken over by another sender before its answer was stored: "
                                + settlement.state()));
                return false;
            } catch (StoreException e) {
                if (stopping || time.bootMillis() >= giveUp || e.kind() == StoreException.Kind.BROKEN) {
                    problem(effect, "the answer of the sink could not be stored; it will be read back", e);
                    return false;
                }
                time.sleep(backoff);
                Duration doubled = backoff.multipliedBy(2);
                backoff = doubled.compareTo(MAX_SETTLE_BACKOFF) > 0 ? MAX_SETTLE_BACKOFF : doubled;
            }
        }
    }

    private void tell(Effect effect, Settlement settlement) {
        record(effect, settlement.state(), settlement.reason(), settlement.newest(), settlement.waits());
    }

    private void record(
            Effect effect, EffectState state, @Nullable String reason, @Nullable Long newest, boolean waits) {
        journal.record(new Event.EffectChanged(
                effect.job(),
                effect.slotKey(),
                effect.fence().value(),
                effect.pair().sink(),
                effect.key(),
                state.name(),
                reason,
                newest,
                waits));
    }

    private void tell(EffectView view) {
        journal.record(new Event.EffectChanged(
                view.job(),
                view.slotKey(),
                view.fence(),
                view.pair().sink(),
                view.key(),
                view.state().name(),
                view.reason(),
                null,
                view.waits()));
    }

    private void problem(Effect effect, String text, Throwable cause) {
        journal.record(new Event.Problem(
                "effect " + effect.key(),
                effect.job(),
                effect.slotKey(),
                effect.fence().value(),
                text,
                cause));
    }

    /**
     * Sends these effects on this thread until each is settled or waits for a person, for a command that ends after it.
     *
     * @return how they stand, in the order of the keys
     */
    public List<EffectView> dispatchAll(List<String> keys, Duration patience) throws InterruptedException {
        long end = time.bootMillis() + patience.toMillis();
        while (true) {
            List<EffectView> views =
                    keys.stream().map(outbox::effect).filter(Objects::nonNull).toList();
            Set<Pair> open = views.stream()
                    .filter(view -> view.state().isOpen() && !view.waits())
                    .map(EffectView::pair)
                    .collect(Collectors.toSet());
            if (open.isEmpty() || time.bootMillis() >= end || stopping) {
                return views;
            }
            for (Pair pair : open) {
                dispatch(pair);
            }
            time.sleep(LOOK_AGAIN);
        }
    }

    /**
     * No turn is begun after this, and none goes on to another effect.
     *
     * @param patience how long calls that are under way are waited for; what then goes on ends with the process and is read back later
     * @return whether none is left
     */
    public boolean stop(Duration patience) throws InterruptedException {
        stopping = true;
        long end = time.bootMillis() + patience.toMillis();
        boolean all = true;
        for (Spawner.Task task : underWay.values()) {
            all &= task.join(Duration.ofMillis(Math.max(0, end - time.bootMillis())));
        }
        return all;
    }
}
