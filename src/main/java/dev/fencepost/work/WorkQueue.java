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

    /** So many bytes have the results of one call together, at most: they have to fit into memory and into one request. */
    int MOST_RESULT_BYTES = Body.MAX_BYTES;

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
     * Completes several items in one durable transaction. Each is judged on its own, in the order of the list, as if {@link #complete} had
     * been called for one after the other: who is refused is recorded and told so, and takes none of the others down. The same item may
     * come more than once.
     *
     * <p>An exception is about all of them. After an unknown outcome the same call may be sent again: {@code ALREADY_DONE} with an item
     * whose token is one's own means that the result is stored.
     *
     * @param results 1 to {@value #MOST_AT_ONCE}, with up to {@value #MOST_RESULT_BYTES} bytes together
     * @return an answer to each, in their order; items come without payload and result
     * @throws IllegalArgumentException if there are none, too many, or too many bytes
     */
    List<WorkAnswer> completeAll(List<ItemResult> results);

    /** @throws IllegalArgumentException unless {@link #completeAll} takes so many and so large ones */
    static void checkResults(List<ItemResult> results) {
        if (results.isEmpty() || results.size() > MOST_AT_ONCE) {
            throw new IllegalArgumentException(
                    "from 1 to " + MOST_AT_ONCE + " items are completed at once, not " + results.size());
        }
        long bytes = results.stream()
                .map(ItemResult::result)
                .mapToLong(result -> result == null ? 0 : result.bytes().length)
                .sum();
        if (bytes > MOST_RESULT_BYTES) {
            throw new IllegalArgumentException("the results of one call have at most " + MOST_RESULT_BYTES
                    + " bytes together, these have " + bytes + "; complete fewer items at once");
        }
    }

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
