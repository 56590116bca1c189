package dev.fencepost.edge.web;

import dev.fencepost.lease.Leases;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue;
import dev.fencepost.work.WorkState;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The port by its documentation, in memory, under a clock that the test moves; and able to fail at the next write. */
final class MemoryQueue implements WorkQueue {

    private static final class Row {
        private final NewItem item;
        private final Instant enqueuedAt;
        private @Nullable Instant notBefore;
        private int attempts;
        private long fence;
        private @Nullable Owner owner;
        private @Nullable RunId runId;
        private @Nullable Instant until;
        private @Nullable Body result;
        private @Nullable String reason;
        private @Nullable WorkState ended;
        private @Nullable Instant endedAt;

        private Row(NewItem item, Instant enqueuedAt) {
            this.item = item;
            this.enqueuedAt = enqueuedAt;
            this.notBefore = item.notBefore();
        }
    }

    private final Map<String, Row> rows = new LinkedHashMap<>();
    private final List<Artifact> artifacts = new ArrayList<>();
    private final Map<String, Integer> capacities = new HashMap<>();
    private final Supplier<Instant> clock;
    private StoreException.@Nullable Kind failure;
    private boolean writesBeforeFailure;
    private boolean away;
    private @Nullable Runnable beforeArtifact;

    MemoryQueue(Supplier<Instant> clock) {
        this.clock = clock;
    }

    /** The next write fails so. @param writes whether it happens nevertheless */
    synchronized void failNext(StoreException.Kind kind, boolean writes) {
        failure = kind;
        writesBeforeFailure = writes;
    }

    /** Whether reads of artifacts fail. */
    synchronized void setAway(boolean isAway) {
        away = isAway;
    }

    /** Something that happens just before the next artifact goes on record. */
    synchronized void beforeNextArtifact(Runnable happens) {
        beforeArtifact = happens;
    }

    private <T> T write(Supplier<T> call) {
        StoreException.Kind kind = failure;
        failure = null;
        if (kind == null) {
            return call.get();
        }
        if (writesBeforeFailure) {
            T unsaid = call.get();
            assert unsaid != null;
        }
        throw new StoreException(kind, "secret text of the driver, class org.example.Driver", null);
    }

    @Override
    public synchronized Enqueued enqueue(NewItem item) {
        return write(() -> {
            Row known = rows.putIfAbsent(item.id(), new Row(item, clock.get()));
            return new Enqueued(known == null, view(rows.get(item.id())));
        });
    }

    @Override
    public synchronized @Nullable WorkItem item(String id) {
        Row row = rows.get(id);
        return row == null ? null : view(row);
    }

    private WorkState state(Row row) {
        if (row.ended != null) {
            return row.ended;
        }
        if (row.until != null && clock.get().isBefore(row.until)) {
            return WorkState.CLAIMED;
        }
        return row.attempts >= row.item.maxAttempts() ? WorkState.DEAD : WorkState.READY;
    }

    private WorkItem view(Row row) {
        WorkState state = state(row);
        boolean live = state == WorkState.CLAIMED;
        return new WorkItem(
                row.item.id(),
                row.item.queue(),
                state,
                row.item.priority(),
                row.notBefore,
                row.attempts,
                row.item.maxAttempts(),
                row.fence,
                live ? row.owner : null,
                live ? row.runId : null,
                live ? row.until : null,
                row.item.payload(),
                row.result,
                row.reason,
                row.enqueuedAt,
                row.endedAt);
    }

    @Override
    public synchronized List<WorkItem> items(@Nullable String queue, @Nullable WorkState state, int limit) {
        return rows.values().stream()
                .map(this::view)
                .filter(item -> queue == null || item.queue().equals(queue))
                .filter(item -> state == null || item.state() == state)
                .sorted(Comparator.comparing(WorkItem::enqueuedAt).reversed())
                .limit(limit)
                .toList();
    }

    @Override
    public synchronized WorkAnswer claimItem(String id, Owner owner, RunId runId, Duration ttl) {
        Leases.checkTtl(ttl);
        return write(() -> {
            Row row = rows.get(id);
            if (row == null) {
                return new WorkAnswer.Refused(Refusal.UNKNOWN, null);
            }
            Refusal refusal = switch (state(row)) {
                case DONE -> Refusal.ALREADY_DONE;
                case DEAD -> Refusal.DEAD;
                case CLAIMED -> Refusal.HELD;
                case READY ->
                    row.notBefore != null && clock.get().isBefore(row.notBefore)
                            ? Refusal.NOT_YET
                            : isFull(row.item.queue()) ? Refusal.AT_CAPACITY : null;
            };
            if (refusal != null) {
                return new WorkAnswer.Refused(refusal, view(row));
            }
            return new WorkAnswer.Done(grant(row, owner, runId, ttl));
        });
    }

    private boolean isFull(String queue) {
        Integer capacity = capacities.get(queue);
        return capacity != null
                && rows.values().stream()
                                .filter(row -> row.item.queue().equals(queue) && state(row) == WorkState.CLAIMED)
                                .count()
                        >= capacity;
    }

    private WorkItem grant(Row row, Owner owner, RunId runId, Duration ttl) {
        row.fence++;
        row.attempts++;
        row.owner = owner;
        row.runId = runId;
        row.until = clock.get().plus(ttl);
        return view(row);
    }

    @Override
    public synchronized List<WorkItem> claimAny(String queue, Owner owner, List<RunId> runIds, Duration ttl) {
        Leases.checkTtl(ttl);
        return write(() -> {
            List<Row> ready = rows.values().stream()
                    .filter(row -> row.item.queue().equals(queue) && state(row) == WorkState.READY)
                    .filter(row -> row.notBefore == null || !clock.get().isBefore(row.notBefore))
                    .sorted(Comparator.comparing((Row row) -> -row.item.priority())
                            .thenComparing(row -> row.enqueuedAt))
                    .toList();
            List<WorkItem> claimed = new ArrayList<>();
            for (int i = 0; i < Math.min(ready.size(), runIds.size()) && !isFull(queue); i++) {
                claimed.add(grant(ready.get(i), owner, runIds.get(i), ttl));
            }
            return claimed;
        });
    }

    private @Nullable Refusal judge(@Nullable Row row, Grant grant) {
        if (row == null) {
            return Refusal.UNKNOWN;
        }
        if (row.ended != null) {
            return row.ended == WorkState.DONE ? Refusal.ALREADY_DONE : Refusal.DEAD;
        }
        if (grant.fence().value() < row.fence) {
            return Refusal.STALE_TOKEN;
        }
        boolean same = grant.fence().value() == row.fence
                && grant.owner().equals(row.owner)
                && (grant.runId() == null || grant.runId().equals(row.runId));
        if (!same || row.until == null) {
            return Refusal.NOT_OWNER;
        }
        return clock.get().isBefore(row.until) ? null : Refusal.EXPIRED;
    }

    private WorkAnswer underGrant(Grant grant, Consumer<Row> change) {
        return write(() -> {
            Row row = rows.get(grant.id());
            Refusal refusal = judge(row, grant);
            if (row == null || refusal != null) {
                return new WorkAnswer.Refused(
                        refusal == null ? Refusal.UNKNOWN : refusal, row == null ? null : view(row));
            }
            change.accept(row);
            return new WorkAnswer.Done(view(row));
        });
    }

    @Override
    public synchronized WorkAnswer renew(Grant grant, Duration ttl) {
        Leases.checkTtl(ttl);
        return underGrant(grant, row -> row.until = clock.get().plus(ttl));
    }

    @Override
    public synchronized WorkAnswer complete(Grant grant, @Nullable Body result) {
        return underGrant(grant, row -> {
            row.result = result;
            end(row, WorkState.DONE, null);
        });
    }

    private void end(Row row, WorkState state, @Nullable String reason) {
        row.ended = state;
        row.endedAt = clock.get();
        row.reason = reason;
        row.until = null;
    }

    @Override
    public synchronized WorkAnswer fail(Grant grant, String reason, @Nullable Duration again) {
        return underGrant(grant, row -> {
            if (again == null || row.attempts >= row.item.maxAttempts()) {
                end(row, WorkState.DEAD, reason);
            } else {
                row.reason = reason;
                row.until = null;
                row.notBefore = clock.get().plus(again);
            }
        });
    }

    @Override
    public synchronized WorkAnswer release(Grant grant) {
        return write(() -> {
            Row row = rows.get(grant.id());
            Refusal refusal = judge(row, grant);
            if (row == null || (refusal != null && refusal != Refusal.EXPIRED)) {
                return new WorkAnswer.Refused(
                        refusal == null ? Refusal.UNKNOWN : refusal, row == null ? null : view(row));
            }
            row.until = null;
            row.attempts--;
            return new WorkAnswer.Done(view(row));
        });
    }

    @Override
    public synchronized Optional<WorkAnswer.Refused> check(Grant grant) {
        Row row = rows.get(grant.id());
        return Optional.ofNullable(judge(row, grant))
                .map(refusal -> new WorkAnswer.Refused(refusal, row == null ? null : view(row)));
    }

    @Override
    public synchronized WorkAnswer addArtifact(Grant grant, Artifact artifact) {
        Runnable happens = beforeArtifact;
        beforeArtifact = null;
        if (happens != null) {
            happens.run();
        }
        return underGrant(grant, row -> {
            artifacts.removeIf(each -> each.item().equals(artifact.item())
                    && each.fence() == artifact.fence()
                    && each.name().equals(artifact.name()));
            artifacts.add(artifact);
        });
    }

    @Override
    public synchronized List<Artifact> artifacts(String id) {
        if (away) {
            throw new StoreException(StoreException.Kind.UNAVAILABLE, "away", null);
        }
        return artifacts.stream().filter(each -> each.item().equals(id)).toList();
    }

    @Override
    public synchronized void setCapacity(String queue, @Nullable Integer capacity) {
        write(() -> {
            capacities.remove(queue);
            if (capacity != null) {
                capacities.put(queue, capacity);
            }
            return true;
        });
    }

    @Override
    public synchronized List<QueueView> queues() {
        Map<String, List<WorkItem>> byQueue =
                rows.values().stream().map(this::view).collect(Collectors.groupingBy(WorkItem::queue));
        return byQueue.entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .map(entry -> new QueueView(
                        entry.getKey(),
                        count(entry.getValue(), WorkState.READY),
                        count(entry.getValue(), WorkState.CLAIMED),
                        count(entry.getValue(), WorkState.DONE),
                        count(entry.getValue(), WorkState.DEAD),
                        capacities.get(entry.getKey()),
                        entry.getValue().stream()
                                .filter(item -> item.state() == WorkState.READY)
                                .map(WorkItem::enqueuedAt)
                                .min(Comparator.naturalOrder())
                                .orElse(null)))
                .toList();
    }

    private static long count(Collection<WorkItem> items, WorkState state) {
        return items.stream().filter(item -> item.state() == state).count();
    }

    @Override
    public synchronized Pruned prune(Instant endedBefore, int limit) {
        List<String> ids = rows.values().stream()
                .filter(row -> row.endedAt != null && row.endedAt.isBefore(endedBefore))
                .map(row -> row.item.id())
                .limit(limit)
                .toList();
        List<Artifact> gone =
                artifacts.stream().filter(each -> ids.contains(each.item())).toList();
        artifacts.removeAll(gone);
        ids.forEach(rows::remove);
        return new Pruned(ids.size(), gone);
    }
}
