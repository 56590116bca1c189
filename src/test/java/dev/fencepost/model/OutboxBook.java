package dev.fencepost.model;

import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.EffectView;
import dev.fencepost.effect.Outbox.Begun;
import dev.fencepost.effect.Outbox.DuePair;
import dev.fencepost.effect.Outbox.Order;
import dev.fencepost.effect.Pair;
import dev.fencepost.effect.Settlement;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.RunId;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Section 5 of the semantics, as far as a store holds it, on a map. */
final class OutboxBook {

    /** What a dead sender of a sink that nobody knows any more left is given to people after so long. */
    private static final Duration NOBODY_ADOPTS = Duration.ofHours(1);

    /** An effect. */
    static final class Entry {
        private final Announcement announced;
        private final String slotKey;
        private final Lease under;
        private final Pair pair;
        private final int number;
        private final Instant announcedAt;
        private Instant expiresAt;
        private EffectState state = EffectState.PENDING;
        private int tries;
        private int checks;
        private boolean mayBeSent;
        private boolean override;
        private boolean waits;
        private @Nullable Lease sender;
        private @Nullable Instant lastSentAt;
        private @Nullable Instant nextAt;
        private @Nullable String receipt;
        private Instant changedAt;

        private Entry(Announcement announced, String slotKey, Lease under, int number, Instant now) {
            this.announced = announced;
            this.slotKey = slotKey;
            this.under = under;
            this.pair = new Pair(announced.sink(), under.resource());
            this.number = number;
            this.announcedAt = now;
            this.expiresAt = now.plus(announced.maxAge());
            this.nextAt = now;
            this.changedAt = now;
        }

        String key() {
            return announced.key();
        }

        Pair pair() {
            return pair;
        }

        long fence() {
            return under.fence().value();
        }

        RunId runId() {
            return under.runId();
        }

        private boolean isTooOld(Instant now) {
            return !expiresAt.isAfter(now);
        }

        private boolean isOfSender(Lease lease) {
            return pair.leaseResource().equals(lease.resource())
                    && sender != null
                    && sender.runId().equals(lease.runId())
                    && sender.fence().equals(lease.fence());
        }

        private void become(EffectState newState, Instant now) {
            state = newState;
            changedAt = now;
        }
    }

    /** The highest token that was sent for a pair, and whose it was. */
    private record Highest(long fence, @Nullable RunId runId) {

        private static final Highest NONE = new Highest(0, null);

        boolean lets(Entry entry) {
            return entry.fence() > fence
                    || (entry.fence() == fence && entry.runId().equals(runId));
        }

        Highest after(Entry entry) {
            return entry.fence() > fence ? new Highest(entry.fence(), entry.runId()) : this;
        }
    }

    private record Delay(Instant from, Instant until) {
        boolean holds(Instant now) {
            return !from.isAfter(now) && until.isAfter(now);
        }
    }

    private final LeaseBook leases;
    private final EventBook events;
    private final Map<String, Entry> entries = new LinkedHashMap<>();
    private final Map<Pair, Highest> known = new HashMap<>();
    private final Map<Pair, Delay> delays = new HashMap<>();
    private int numbers;

    OutboxBook(LeaseBook leases, EventBook events) {
        this.leases = leases;
        this.events = events;
    }

    List<Entry> entries() {
        return List.copyOf(entries.values());
    }

    /** Whether one of these has a key that is announced with other content, before or among themselves. */
    boolean contradicts(List<Announcement> announcements) {
        Map<String, String> digests = new HashMap<>();
        entries.values().forEach(entry -> digests.put(entry.key(), entry.announced.digest()));
        for (Announcement each : announcements) {
            String before = digests.putIfAbsent(each.key(), each.digest());
            if (before != null && !before.equals(each.digest())) {
                return true;
            }
        }
        return false;
    }

    void announce(Lease lease, String slotKey, List<Announcement> announcements, Instant now) {
        for (Announcement each : announcements) {
            entries.computeIfAbsent(each.key(), key -> new Entry(each, slotKey, lease, numbers++, now));
        }
    }

    /** The open effect with the lowest token, of several the first announced. One that is too old has no turn, unless it is being sent. */
    private @Nullable Entry turn(Pair pair, Instant now) {
        return entries.values().stream()
                .filter(entry -> entry.pair.equals(pair) && entry.state.isOpen())
                .filter(entry -> entry.state == EffectState.SENDING || !entry.isTooOld(now))
                .min(Comparator.comparingLong(Entry::fence).thenComparingInt(entry -> entry.number))
                .orElse(null);
    }

    private boolean isDelayed(Entry entry, Instant now) {
        Delay delay = delays.get(entry.pair);
        return entry.state == EffectState.PENDING && delay != null && delay.holds(now);
    }

    private boolean isDue(Entry entry, Instant now) {
        return entry.nextAt != null && !entry.nextAt.isAfter(now) && !isDelayed(entry, now);
    }

    @Nullable
    Entry next(Pair pair, Instant now) {
        Entry entry = turn(pair, now);
        return entry != null && entry.state != EffectState.SENDING && isDue(entry, now) ? entry : null;
    }

    Set<DuePair> duePairs(Collection<Pair> pairs, Instant now) {
        return pairs.stream()
                .filter(pair -> {
                    Entry entry = turn(pair, now);
                    return entry != null && (entry.state == EffectState.SENDING || isDue(entry, now));
                })
                .map(pair -> new DuePair(pair, leases.live(pair.leaseResource(), now)))
                .collect(Collectors.toSet());
    }

    /** Whether what was read of the effect is still so. */
    private static boolean isAsRead(Entry entry, Effect read) {
        return entry.state == read.state()
                && entry.tries == read.tries()
                && Objects.equals(entry.lastSentAt, read.lastSentAt());
    }

    Begun begin(Lease lease, Effect read, Instant now) {
        Entry entry = entries.get(read.key());
        if (entry == null
                || !entry.pair.leaseResource().equals(lease.resource())
                || !leases.isLive(lease, now)
                || (read.state() != EffectState.PENDING && read.state() != EffectState.UNKNOWN)
                || !isAsRead(entry, read)
                || turn(entry.pair, now) != entry) {
            return new Begun.Gone();
        }
        Highest before = known.getOrDefault(entry.pair, Highest.NONE);
        if (!entry.override && !before.lets(entry)) {
            entry.become(EffectState.REFUSED, now);
            entry.waits = entry.mayBeSent;
            entry.nextAt = null;
            events.ofEffect(entry, lease.owner().text(), now, false, "STALE_TOKEN");
            return new Begun.Refused(before.fence());
        }
        entry.become(EffectState.SENDING, now);
        entry.tries++;
        entry.sender = lease;
        entry.lastSentAt = now;
        entry.nextAt = null;
        known.put(entry.pair, before.after(entry));
        return new Begun.Sending();
    }

    boolean sent(Lease lease, String key, Settlement settlement, Instant now) {
        Entry entry = entries.get(key);
        if (entry == null || !entry.isOfSender(lease)) {
            return false;
        }
        boolean news = entry.state == EffectState.SENDING
                || (entry.state == EffectState.UNKNOWN && settlement.state() != EffectState.UNKNOWN);
        if (!news) {
            return entry.state == settlement.state();
        }
        entry.checks = 0;
        settle(entry, lease, settlement, now);
        return true;
    }

    boolean checked(Lease lease, String key, Settlement settlement, Instant now) {
        Entry entry = entries.get(key);
        if (entry == null
                || !entry.pair.leaseResource().equals(lease.resource())
                || entry.state != EffectState.UNKNOWN
                || !leases.isLive(lease, now)) {
            return false;
        }
        entry.checks++;
        settle(entry, lease, settlement, now);
        return true;
    }

    private void settle(Entry entry, Lease lease, Settlement settlement, Instant now) {
        if (entry.state != settlement.state()) {
            entry.become(settlement.state(), now);
        }
        entry.receipt = settlement.receipt() == null
                ? entry.receipt
                : settlement.receipt().text();
        entry.nextAt = settlement.nextIn() == null ? null : now.plus(settlement.nextIn());
        entry.mayBeSent = settlement.mayBeSent();
        entry.waits = settlement.waits();
        switch (settlement.state()) {
            case CONFIRMED -> events.ofEffect(entry, lease.owner().text(), now, true, "EFFECT");
            case REFUSED -> events.ofEffect(entry, lease.owner().text(), now, false, "STALE_TOKEN");
            default -> {}
        }
    }

    /** Keys of what became UNKNOWN. */
    Set<String> adopt(Lease lease, Pair pair, Duration lockDelay, Instant now) {
        Set<String> adopted = new TreeSet<>();
        if (!leases.isLive(lease, now)) {
            return adopted;
        }
        for (Entry entry : entries.values()) {
            if (entry.pair.equals(pair) && entry.state == EffectState.SENDING && !entry.isOfSender(lease)) {
                entry.become(EffectState.UNKNOWN, now);
                entry.mayBeSent = true;
                entry.checks = 0;
                entry.nextAt = now;
                adopted.add(entry.key());
            }
        }
        if (!adopted.isEmpty() && lockDelay.isPositive()) {
            delays.put(pair, new Delay(now, now.plus(lockDelay)));
        }
        return adopted;
    }

    /** Keys of what changed. */
    Set<String> expire(Instant now) {
        Set<String> changed = new TreeSet<>();
        for (Entry entry : entries.values()) {
            if (!entry.isTooOld(now)) {
                continue;
            }
            Instant sentAt = entry.lastSentAt;
            if (entry.state == EffectState.PENDING) {
                entry.become(EffectState.EXPIRED, now);
                entry.waits = true;
                entry.nextAt = null;
                changed.add(entry.key());
            } else if (entry.state == EffectState.SENDING
                    && sentAt != null
                    && !sentAt.plus(NOBODY_ADOPTS).isAfter(now)
                    && leases.live(entry.pair.leaseResource(), now) == null) {
                entry.become(EffectState.UNKNOWN, now);
                entry.mayBeSent = true;
                entry.checks = 0;
                entry.waits = true;
                entry.nextAt = null;
                changed.add(entry.key());
            }
        }
        return changed;
    }

    private static boolean suits(Order order, Entry entry) {
        Set<EffectState> from = switch (order) {
            case CONFIRMED -> Set.of(EffectState.UNKNOWN, EffectState.DEAD, EffectState.EXPIRED);
            case ABSENT -> Set.of(EffectState.UNKNOWN);
            case GIVE_UP ->
                entry.state == EffectState.REFUSED && entry.waits
                        ? Set.of(EffectState.REFUSED)
                        : Set.of(EffectState.UNKNOWN, EffectState.PENDING, EffectState.DEAD, EffectState.EXPIRED);
            case RETRY -> Set.of(EffectState.DEAD, EffectState.REFUSED, EffectState.EXPIRED);
        };
        return from.contains(entry.state);
    }

    /** Whether it is done. */
    boolean resolve(String key, Order order, boolean override, Instant now) {
        Entry entry = entries.get(key);
        if (entry == null || !suits(order, entry)) {
            return false;
        }
        boolean sends = order == Order.ABSENT || order == Order.RETRY;
        Highest newest = known.getOrDefault(entry.pair, Highest.NONE);
        if (sends && !override && !newest.lets(entry)) {
            return false;
        }
        switch (order) {
            case CONFIRMED -> {
                entry.become(EffectState.CONFIRMED, now);
                entry.receipt = entry.receipt == null ? "a person says so: told" : entry.receipt;
                entry.nextAt = null;
            }
            case GIVE_UP -> {
                if (entry.state.isOpen()) {
                    entry.become(EffectState.DEAD, now);
                    entry.nextAt = null;
                }
            }
            case ABSENT, RETRY -> {
                boolean keepsItsAge = order == Order.ABSENT && !entry.isTooOld(now);
                entry.become(EffectState.PENDING, now);
                entry.tries = 0;
                entry.checks = 0;
                entry.override = override;
                entry.mayBeSent = entry.mayBeSent && order == Order.RETRY;
                entry.nextAt = now;
                entry.expiresAt = keepsItsAge ? entry.expiresAt : now.plus(entry.announced.maxAge());
            }
        }
        entry.waits = false;
        events.ofEffect(entry, "person", now, true, "RESOLVED " + order + ": told");
        if (sends && override) {
            events.ofEffect(entry, "person", now, true, "OVERRIDE");
        }
        return true;
    }

    /** @param reason which is for people, and not foretold */
    EffectView view(Entry entry, @Nullable String reason, Instant now) {
        boolean leftToPeople = entry.state == EffectState.UNKNOWN && entry.isTooOld(now);
        Delay delay = delays.get(entry.pair);
        Instant nextAt = leftToPeople ? null : entry.nextAt;
        if (nextAt != null && delay != null && isDelayed(entry, now) && delay.until.isAfter(nextAt)) {
            nextAt = delay.until;
        }
        return new EffectView(
                entry.key(),
                entry.pair.resource(),
                entry.slotKey,
                entry.announced.name(),
                entry.pair,
                entry.state,
                entry.fence(),
                entry.runId().toString(),
                entry.tries,
                entry.waits || leftToPeople,
                entry.override,
                entry.announced.content().bytes().length,
                entry.announced.digest(),
                entry.receipt,
                reason,
                entry.announcedAt,
                entry.expiresAt,
                nextAt,
                entry.changedAt);
    }

    /** When something may be otherwise than a moment before. */
    Stream<Instant> instants() {
        Stream<Instant> ofEffects = entries.values().stream()
                .flatMap(entry -> Stream.of(
                                entry.expiresAt,
                                entry.nextAt,
                                entry.lastSentAt == null ? null : entry.lastSentAt.plus(NOBODY_ADOPTS))
                        .filter(Objects::nonNull));
        return Stream.concat(ofEffects, delays.values().stream().map(Delay::until));
    }
}
