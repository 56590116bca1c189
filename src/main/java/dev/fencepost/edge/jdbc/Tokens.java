package dev.fencepost.edge.jdbc;

import java.time.Instant;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Raises all tokens at once, after a store was put back to an earlier state: what was granted after that state is not known here, and the
 * holders and sinks of that lost time have to be refused (semantics 2.9).
 */
public final class Tokens {

    /** Far above any number of grants, far below the end of 64 bits. */
    public static final long HIGHEST = 1L << 62;

    private static final Sql KNOWN = Sql.of("""
            select max(fence) as fence from (
                select max(fence) as fence from lease
                union all select max(fence) from attempt
                union all select max(fence) from work_item
                union all select max(fence) from work_fence
                union all select max(fence) from sink_fence
                union all select max(newest_fence) from write_event
                union all select max(fence) from store_floor) known""", """
            select max(at) as newest, {now} as now from (
                select max(at) as at from write_event
                union all select max(at) from job_event
                union all select max(started_at) from attempt
                union all select max(ended_at) from attempt
                union all select max(seen_at) from node) traces""");

    /** Before the highest is asked for: of two that raise at the same time, the second must not take back what the first did. */
    private static final Sql LOCK = Sql.of("select id from store_floor where id = 1 {for_update}");

    private static final Sql RAISE = Sql.of("update store_floor set fence = :fence where id = 1", """
            insert into job_event (at, job, kind, fence, reason, ordered_by)
            values ({now}, null, 'BUMPED', :fence, :reason, :by)""");

    /** A promotion may have made one leap further since it was asked for. */
    private static final String RAISED = "case when fence > :fence then fence else :fence end";

    /** Nobody holds anything any more. Attempts stay open: whoever claims next ends them, as those of a dead holder. */
    private static final Sql LEASES = Sql.of("update lease set {set_released}, fence = " + RAISED);

    /** Items that have ended keep theirs: one that is enqueued anew begins above the floor. */
    private static final Sql ITEMS = Sql.of("update work_item set fence = " + RAISED + " where ended_at is null");

    private static final Sql CLAIMED =
            Sql.of("update work_item set {set_expiry} where state = 'CLAIMED' and {live work_item}");

    /** Whether they were sent in the lost time is not known: they are read back, like those of a sender that died. */
    private static final Sql EFFECTS = Sql.of("""
            update effect set state = 'UNKNOWN', may_be_sent = true, checks = 0, next_at = {now}, changed_at = {now},
                written_at = {now}, last_sent_at = {now},
                reason = 'the store was put back to an earlier state: it may have been sent since'
            where settled_at is null and state in ('PENDING', 'SENDING')""");

    private static final Sql SIGNAL = Sql.of("update signal set revision = revision + 1 where id = 1");

    private final Database database;

    Tokens(Database database) {
        this.database = database;
    }

    /**
     * @param highest the highest token that is known here: granted, or named by a sink
     * @param newest the newest thing that is stored with its time, or null for none
     * @param now the store's clock
     */
    public record Known(long highest, @Nullable Instant newest, Instant now) {}

    /**
     * @param fence no token up to this one is granted any more
     * @param leases how many were raised and released
     * @param items of work, how many were raised
     * @param effects how many may have been sent in the lost time
     */
    public record Raised(long fence, int leases, int items, int effects) {}

    /** Looks into whole tables. */
    public Known known() {
        return database.readPatiently("tokens", session -> {
            List<Session.Answer> answers = session.run(KNOWN, Params.none());
            Row highest = Objects.requireNonNull(answers.getFirst().first());
            Row traces = Objects.requireNonNull(answers.getLast().first());
            Long fence = highest.optionalNumber("fence");
            return new Known(fence == null ? 0 : fence, traces.optionalInstant("newest"), traces.instant("now"));
        });
    }

    /**
     * Gives every lease, every item of work that has not ended, and whatever is new from now on, a token from this one upwards. Leases are
     * released, claims of items are over, and effects that were to be sent are of unknown outcome.
     *
     * @param fence above all that is known here
     * @throws IllegalArgumentException if it is not, and nothing was changed
     */
    public Raised raise(long fence, String reason, String by) {
        Params params =
                Params.of("fence", fence).and("reason", reason).and("by", by).and("ttl", 0L);
        return database.writePatiently("raise tokens", session -> {
            session.one(LOCK, Params.none());
            Long highest = Objects.requireNonNull(
                            session.run(KNOWN, Params.none()).getFirst().first())
                    .optionalNumber("fence");
            if (fence > HIGHEST || (highest != null && fence <= highest)) {
                throw new IllegalArgumentException(
                        "token " + fence + " is not above " + highest + ", or is above " + HIGHEST);
            }
            session.run(RAISE, params);
            int leases = session.one(LEASES, params).changed();
            session.one(CLAIMED, params);
            int items = session.one(ITEMS, params).changed();
            int effects = session.one(EFFECTS, params).changed();
            session.one(SIGNAL, params);
            return new Raised(fence, leases, items, effects);
        });
    }
}
