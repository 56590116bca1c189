package dev.fencepost.work;

import dev.fencepost.lease.Leases;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The contract of the queue on a map, for tests of what talks to a queue, and as the model that the stores are compared with. One lock for
 * all.
 */
public final class MemoryWorkQueue implements WorkQueue {

    private static final class Row {
        private final NewItem item;
        private final long number;
        private final Instant enqueuedAt;
        private @Nullable Instant notBefore;
        private int attempts;
        private long fence;
        private @Nullable Holder holder;
        private boolean done;
        private boolean dead;
        private @Nullable Body result;
        private @Nullable String reason;
        private @Nullable Instant endedAt;

        Row(NewItem item, long number, Instant enqueuedAt, long fence) {
            this.item = item;
            this.number = number;
            this.enqueuedAt = enqueuedAt;
            this.notBefore = item.notBefore();
            this.fence = fence;
        }
    }

    private static final String LAST_LEASE_RAN_OUT = "the lease of its last attempt ran out";
    private static final int LONGEST_REASON = 2_000;
    private static final Duration LONGEST_WAIT = Duration.ofDays(366);

    private record Holder(Owner owner, RunId runId, Instant until) {}

    private final InstantSource clock;
    private final Map<String, Row> rows = new HashMap<>();
    private final Map<String, Long> oldTokens = new HashMap<>();
    private final Map<String, Integer> capacities = new TreeMap<>();
    private final List<Artifact> artifacts = new ArrayList<>();
    private long numbers;

    public MemoryWorkQueue(InstantSource clock) {
        this.clock = clock;
    }

    private static boolean isLive(Row row, Instant now) {
        return row.holder != null && now.isBefore(row.holder.until());
    }

    private static WorkState state(Row row, Instant now) {
        if (row.done) {
            return WorkState.DONE;
        }
        if (row.dead) {
            return WorkState.DEAD;
        }
        if (isLive(row, now)) {
            return WorkState.CLAIMED;
        }
        return row.attempts >= row.item.maxAttempts() ? WorkState.DEAD : WorkState.READY;
    }

    /** Since when it is done or dead; null while it is neither. */
    private static @Nullable Instant endedAt(Row row, Instant now) {
        return row.endedAt == null && row.holder != null && state(row, now) == WorkState.DEAD
                ? row.holder.until()
                : row.endedAt;
    }

    private static @Nullable String reason(Row row, Instant now) {
        return row.endedAt == null && state(row, now) == WorkState.DEAD ? LAST_LEASE_RAN_OUT : row.reason;
    }

    private static WorkItem view(Row row, Instant now) {
        Holder live = isLive(row, now) && !row.done && !row.dead ? row.holder : null;
        return new WorkItem(
                row.item.id(),
                row.item.queue(),
                state(row, now),
                row.item.priority(),
                row.notBefore,
                row.attempts,
                row.item.maxAttempts(),
                row.fence,
                live == null ? null : live.owner(),
                live == null ? null : live.runId(),
                live == null ? null : live.until(),
                row.item.payload(),
                row.result,
                reason(row, now),
                row.enqueuedAt,
                endedAt(row, now));
    }

    @Override
    public synchronized Enqueued enqueue(NewItem item) {
        Instant now = clock.instant();
        Row known = rows.get(item.id());
        if (known != null) {
            return new Enqueued(false, view(known, now));
        }
        Row row = new Row(item, numbers++, now, oldTokens.getOrDefault(item.id(), 0L));
        rows.put(item.id(), row);
        return new Enqueued(true, view(row, now));
    }

    @Override
    public synchronized @Nullable WorkItem item(String id) {
        Row row = rows.get(id);
        return row == null ? null : view(row, clock.instant());
    }

    @Override
    public synchronized List<WorkItem> items(@Nullable String queue, @Nullable WorkState state, int limit) {
        Instant now = clock.instant();
        return rows.values().stream()
                .filter(row -> queue == null || row.item.queue().equals(queue))
                .filter(row -> state == null || state(row, now) == state)
                .sorted(Comparator.comparingLong((Row row) -> row.number).reversed())
                .limit(limit)
                .map(row -> view(row, now))
                .toList();
    }

    private boolean isFull(String queue, Instant now) {
        Integer capacity = capacities.get(queue);
        return capacity != null
                && rows.values().stream()
                                .filter(row -> row.item.queue().equals(queue) && state(row, now) == WorkState.CLAIMED)
                                .count()
                        >= capacity;
    }

    private static WorkItem grant(Row row, Owner owner, RunId runId, Duration ttl, Instant now) {
        row.fence++;
        row.attempts++;
        row.holder = new Holder(owner, runId, now.plus(ttl));
        return view(row, now);
    }

    @Override
    public synchronized WorkAnswer claimItem(String id, Owner owner, RunId runId, Duration ttl) {
        Leases.checkTtl(ttl);
        Instant now = clock.instant();
        Row row = rows.get(id);
        if (row == null) {
            return new WorkAnswer.Refused(Refusal.UNKNOWN, null);
        }
        if (isHeldBy(row, owner, runId, now)) {
            return new WorkAnswer.Done(view(row, now)); // a second try of the same claim
        }
        Refusal reason = switch (state(row, now)) {
            case DONE -> Refusal.ALREADY_DONE;
            case DEAD -> Refusal.DEAD;
            case CLAIMED -> Refusal.HELD;
            case READY -> whyNot(row, runId, now);
        };
        return reason != null
                ? new WorkAnswer.Refused(reason, view(row, now))
                : new WorkAnswer.Done(grant(row, owner, runId, ttl, now));
    }

    private @Nullable Refusal whyNot(Row row, RunId runId, Instant now) {
        if (row.notBefore != null && now.isBefore(row.notBefore)) {
            return Refusal.NOT_YET;
        }
        if (isFull(row.item.queue(), now)) {
            return Refusal.AT_CAPACITY;
        }
        return holdsOne(runId, now) ? Refusal.HELD : null;
    }

    private boolean holdsOne(RunId runId, Instant now) {
        return rows.values().stream()
                .anyMatch(row -> state(row, now) == WorkState.CLAIMED
                        && row.holder != null
                        && row.holder.runId().equals(runId));
    }

    private static boolean isHeldBy(Row row, Owner owner, RunId runId, Instant now) {
        return state(row, now) == WorkState.CLAIMED
                && row.holder != null
                && row.holder.owner().equals(owner)
                && row.holder.runId().equals(runId);
    }

    @Override
    public synchronized List<WorkItem> claimAny(String queue, Owner owner, List<RunId> runIds, Duration ttl) {
        Leases.checkTtl(ttl);
        Instant now = clock.instant();
        if (runIds.size() > MOST_AT_ONCE || Set.copyOf(runIds).size() < runIds.size()) {
            throw new IllegalArgumentException("a claim has up to " + MOST_AT_ONCE + " run ids, each of them once");
        }
        NewItem.checkQueue(queue);
        Comparator<Row> order =
                Comparator.comparingInt((Row row) -> -row.item.priority()).thenComparingLong(row -> row.number);
        List<RunId> free =
                runIds.stream().filter(runId -> !holdsOne(runId, now)).toList();
        List<Row> ready = rows.values().stream()
                .filter(row -> row.item.queue().equals(queue) && state(row, now) == WorkState.READY)
                .filter(row -> row.notBefore == null || !now.isBefore(row.notBefore))
                .sorted(order)
                .toList();
        long bytes = 0;
        int taken = 0;
        for (Row row : ready) {
            if (taken < free.size() && bytes < ENOUGH_BYTES && !isFull(queue, now)) {
                grant(row, owner, free.get(taken++), ttl, now);
                bytes += row.item.payload() == null ? 0 : row.item.payload().bytes().length;
            }
        }
        return rows.values().stream()
                .filter(row -> row.item.queue().equals(queue)
                        && runIds.stream().anyMatch(runId -> isHeldBy(row, owner, runId, now)))
                .sorted(order)
                .map(row -> view(row, now))
                .toList();
    }

    /** Why this grant may change nothing, or null. */
    private static @Nullable Refusal refusal(@Nullable Row row, Grant grant, boolean needsLive, Instant now) {
        if (row == null) {
            return Refusal.UNKNOWN;
        }
        if (row.done) {
            return Refusal.ALREADY_DONE;
        }
        if (state(row, now) == WorkState.DEAD) {
            return Refusal.DEAD;
        }
        if (grant.fence().value() < row.fence) {
            return Refusal.STALE_TOKEN;
        }
        if (grant.fence().value() != row.fence
                || row.holder == null
                || !grant.owner().equals(row.holder.owner())
                || (grant.runId() != null && !grant.runId().equals(row.holder.runId()))) {
            return Refusal.NOT_OWNER;
        }
        return needsLive && !isLive(row, now) ? Refusal.EXPIRED : null;
    }

    private interface Change {
        void make(Row row, Instant now);
    }

    private synchronized WorkAnswer change(Grant grant, boolean needsLive, Change change) {
        Instant now = clock.instant();
        Row row = rows.get(grant.id());
        Refusal reason = refusal(row, grant, needsLive, now);
        if (row == null || reason != null) {
            return new WorkAnswer.Refused(
                    reason == null ? Refusal.UNKNOWN : reason, row == null ? null : view(row, now));
        }
        change.make(row, now);
        return new WorkAnswer.Done(view(row, now));
    }

    @Override
    public WorkAnswer renew(Grant grant, Duration ttl) {
        Leases.checkTtl(ttl);
        return change(grant, true, (row, now) -> {
            Holder old = Objects.requireNonNull(row.holder);
            row.holder = new Holder(old.owner(), old.runId(), now.plus(ttl));
        });
    }

    @Override
    public WorkAnswer complete(Grant grant, @Nullable Body result) {
        return change(grant, true, (row, now) -> {
            row.done = true;
            row.reason = null;
            row.result = result;
            row.endedAt = now;
            row.holder = null;
        });
    }

    @Override
    public synchronized List<WorkAnswer> completeAll(List<ItemResult> results) {
        WorkQueue.checkResults(results);
        return results.stream()
                .map(each -> withoutBodies(complete(each.grant(), each.result())))
                .toList();
    }

    private static WorkAnswer withoutBodies(WorkAnswer answer) {
        return switch (answer) {
            case WorkAnswer.Done done -> new WorkAnswer.Done(Objects.requireNonNull(brief(done.item())));
            case WorkAnswer.Refused refused -> new WorkAnswer.Refused(refused.reason(), brief(refused.item()));
        };
    }

    private static @Nullable WorkItem brief(@Nullable WorkItem item) {
        return item == null
                ? null
                : new WorkItem(
                        item.id(),
                        item.queue(),
                        item.state(),
                        item.priority(),
                        item.notBefore(),
                        item.attempts(),
                        item.maxAttempts(),
                        item.fence(),
                        item.owner(),
                        item.runId(),
                        item.until(),
                        null,
                        null,
                        item.reason(),
                        item.enqueuedAt(),
                        item.endedAt());
    }

    @Override
    public WorkAnswer fail(Grant grant, String reason, @Nullable Duration again) {
        if (again != null && (again.isNegative() || again.compareTo(LONGEST_WAIT) > 0)) {
            throw new IllegalArgumentException("an item waits from 0 to " + LONGEST_WAIT + ", not " + again);
        }
        return change(grant, true, (row, now) -> {
            row.reason = reason.substring(0, Math.min(reason.length(), LONGEST_REASON));
            row.holder = null;
            if (again == null || row.attempts >= row.item.maxAttempts()) {
                row.dead = true;
                row.endedAt = now;
            } else {
                row.notBefore = now.plus(again);
            }
        });
    }

    @Override
    public WorkAnswer release(Grant grant) {
        return change(grant, false, (row, now) -> {
            row.attempts--;
            row.holder = null;
        });
    }

    @Override
    public synchronized Optional<WorkAnswer.Refused> check(Grant grant) {
        Instant now = clock.instant();
        Row row = rows.get(grant.id());
        Refusal reason = refusal(row, grant, true, now);
        return reason == null
                ? Optional.empty()
                : Optional.of(new WorkAnswer.Refused(reason, row == null ? null : view(row, now)));
    }

    @Override
    public synchronized WorkAnswer addArtifact(Grant grant, Artifact artifact) {
        return change(grant, true, (row, now) -> {
            artifacts.removeIf(old -> old.item().equals(artifact.item())
                    && old.fence() == artifact.fence()
                    && old.name().equals(artifact.name()));
            artifacts.add(artifact);
        });
    }

    @Override
    public synchronized List<Artifact> artifacts(String id) {
        return artifacts.stream().filter(each -> each.item().equals(id)).toList();
    }

    @Override
    public synchronized void setCapacity(String queue, @Nullable Integer capacity) {
        NewItem.checkQueue(queue);
        if (capacity != null && capacity < 0) {
            throw new IllegalArgumentException("a capacity is not negative");
        }
        if (capacity == null) {
            capacities.remove(queue);
        } else {
            capacities.put(queue, capacity);
        }
    }

    @Override
    public synchronized List<QueueView> queues() {
        Instant now = clock.instant();
        Map<String, List<Row>> byQueue = new TreeMap<>();
        capacities.keySet().forEach(queue -> byQueue.put(queue, new ArrayList<>()));
        rows.values()
                .forEach(row -> byQueue.computeIfAbsent(row.item.queue(), name -> new ArrayList<>())
                        .add(row));
        List<QueueView> views = new ArrayList<>();
        byQueue.forEach((queue, of) -> views.add(new QueueView(
                queue,
                count(of, WorkState.READY, now),
                count(of, WorkState.CLAIMED, now),
                count(of, WorkState.DONE, now),
                count(of, WorkState.DEAD, now),
                capacities.get(queue),
                of.stream()
                        .filter(row -> state(row, now) == WorkState.READY)
                        .filter(row -> row.notBefore == null || !now.isBefore(row.notBefore))
                        .map(row -> row.enqueuedAt)
                        .min(Comparator.naturalOrder())
                        .orElse(null))));
        return views;
    }

    private static long count(List<Row> rows, WorkState state, Instant now) {
        return rows.stream().filter(row -> state(row, now) == state).count();
    }

    @Override
    public synchronized Pruned prune(Instant endedBefore, int limit) {
        Instant now = clock.instant();
        List<Row> old = rows.values().stream()
                .filter(row -> {
                    Instant end = endedAt(row, now);
                    return end != null && end.isBefore(endedBefore);
                })
                .limit(limit)
                .toList();
        List<Artifact> gone = new ArrayList<>();
        for (Row row : old) {
            rows.remove(row.item.id());
            oldTokens.put(row.item.id(), row.fence);
            gone.addAll(artifacts(row.item.id()));
        }
        artifacts.removeAll(gone);
        return new Pruned(old.size(), Collections.unmodifiableList(gone));
    }

    @Override
    public synchronized Map<String, Long> prunedTokens(Collection<String> ids) {
        Map<String, Long> pruned = new HashMap<>(oldTokens);
        pruned.keySet().retainAll(ids);
        return pruned;
    }
}
