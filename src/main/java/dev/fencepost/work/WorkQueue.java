package dev.fencepost.work;

import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Items of work of a store: a port. Semantics section 4 is its contract; expiry is judged by the store's clock, {@code now == until} is
 * over. What is said of exceptions and threads in {@link dev.fencepost.lease.Leases} holds here too.
 */
public interface WorkQueue {

    int MOST_AT_ONCE = 1_000;

    /** A claim of several items takes no further one when their payloads have so many bytes: they have to fit into memory together. */
    int ENOUGH_BYTES = 2 << 20;

    /** Puts a new item into its queue. One with this id that is there already stays as it is, in every respect. */
    Enqueued enqueue(NewItem item);

    /** @param created whether this call made it */
    record Enqueued(boolean created, WorkItem item) {}

    /** Read from the store, never from memory; null if unknown. */
    @Nullable
    WorkItem item(String id);

    /** Newest first, without payloads and results. @param queue null for all; {@code state} null for all */
    List<WorkItem> items(@Nullable String queue, @Nullable WorkState state, int limit);

    /**
     * Claims one item by its id. Refused: {@code UNKNOWN}, {@code ALREADY_DONE}, {@code DEAD}, {@code HELD} (a live lease, the same
     * owner's included; also if the run id holds another item), {@code NOT_YET}, {@code AT_CAPACITY}. A claim raises the token by one, as
     * grants do, and counts an attempt; an item whose tries are used up becomes DEAD instead.
     *
     * <p>After an unknown outcome it may be repeated with the same owner and run id: while its own grant is live it finds that again.
     *
     * @throws IllegalArgumentException unless {@code 0 < ttl <= 30 days}
     */
    WorkAnswer claimItem(String id, Owner owner, RunId runId, Duration ttl);

    /**
     * Claims up to as many items of a queue as there are run ids, in one statement (one transaction in SQLite): the highest priority
     * first, of the same the oldest. Skips what others are just claiming. What it costs depends neither on the length of the queue nor on
     * what is done. Where thousands of leases or waits have ended since the last claim, the order is kept among those that it got to.
     *
     * <p>Run ids that hold an item of this owner and queue already get no other: a claim may be repeated, as above.
     *
     * @param runIds up to {@value #MOST_AT_ONCE}, each of them once
     * @return the items with their leases, in that order; fewer, or none, if there are not so many, the queue is at its
     *     capacity, or their payloads have {@value #ENOUGH_BYTES} bytes
     */
    List<WorkItem> claimAny(String queue, Owner owner, List<RunId> runIds, Duration ttl);

    /** Moves the end of a live lease to {@code now + ttl}. Refused: UNKNOWN, ALREADY_DONE, STALE_TOKEN, NOT_OWNER, EXPIRED, DEAD. */
    WorkAnswer renew(Grant grant, Duration ttl);

    /** Stores the result, for good, while the lease is live. A refusal is recorded as an event and leaves the old result. */
    WorkAnswer complete(Grant grant, @Nullable Body result);

    /**
     * Gives the item back as not done, while the lease is live.
     *
     * @param reason its first 2000 characters are kept
     * @param again whether it may be claimed again, if it has tries left, and after how long, up to 366 days; null makes it DEAD at once
     */
    WorkAnswer fail(Grant grant, String reason, @Nullable Duration again);

    /**
     * Gives the lease back and keeps the token; the attempt does not count. Needs owner, token and run id, not a live lease; but an item
     * whose last lease ran out is DEAD, and stays so.
     */
    WorkAnswer release(Grant grant);

    /** Whether this grant may still hand something in: empty if so, else why not. Changes nothing. */
    Optional<WorkAnswer.Refused> check(Grant grant);

    /** Records a file that lies in its place already, while the lease is live. The same name under the same token replaces. */
    WorkAnswer addArtifact(Grant grant, Artifact artifact);

    /** By token and name. */
    List<Artifact> artifacts(String id);

    /** How many items of a queue may be claimed at the same time; null for any number. It holds for the claims that begin after it. */
    void setCapacity(String queue, @Nullable Integer capacity);

    List<QueueView> queues();

    /** @param oldestReady when the oldest item that could be claimed now was enqueued */
    record QueueView(
            String queue,
            long ready,
            long claimed,
            long done,
            long dead,
            @Nullable Integer capacity,
            @Nullable Instant oldestReady) {}

    /**
     * Deletes items that were DONE or DEAD before this instant, with the record of their artifacts, a bounded number at a time. Their
     * tokens stay (semantics 1: a fence never falls, not by clean-up either): an id that is used anew counts on from its old token.
     *
     * @param limit 1 to 10 000
     * @return the artifacts whose files may go now, and how many items went
     */
    Pruned prune(Instant endedBefore, int limit);

    record Pruned(int items, List<Artifact> artifacts) {}

    /**
     * Of these ids those that were pruned at least once, with the newest token that they had then. Whatever was handed in under that token
     * or an older one is off the record for good. An id that is missing here proves nothing: the store may never have heard of it.
     *
     * @param ids at most {@value #MOST_AT_ONCE}
     */
    Map<String, Long> prunedTokens(Collection<String> ids);
}
