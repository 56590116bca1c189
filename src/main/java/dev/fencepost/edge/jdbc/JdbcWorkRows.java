package dev.fencepost.edge.jdbc;

import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkState;
import org.jspecify.annotations.Nullable;

/** What a row of {@code work_item} says at the moment of the answer, whatever state was stored when it was last written. */
final class JdbcWorkRows {

    /** Nobody needs to have seen an item die for it to be dead. */
    static final String DIED = "the lease of its last attempt ran out";

    /** Of a row whose lease ran out at its last try, and nobody has written that down yet. */
    static final String DIED_UNSEEN =
            "work_item.state = 'CLAIMED' and work_item.attempts >= work_item.max_attempts and {dead work_item}";

    private static final String STATE = """
            case when work_item.ended_at is not null then work_item.state
                when work_item.state = 'CLAIMED' and {live work_item} then 'CLAIMED'
                when work_item.state = 'CLAIMED' and work_item.attempts >= work_item.max_attempts then 'DEAD'
                else 'READY' end""";

    /** All that an item is, but for its payload and result. */
    static final String WITHOUT_BODIES = """
            work_item.id, work_item.number, work_item.queue, work_item.state as stored, work_item.priority, work_item.not_before,
            work_item.attempts, work_item.max_attempts, work_item.fence, work_item.owner, work_item.run_id,
            {expires work_item} as expires, work_item.enqueued_at, work_item.ended_at, work_item.reason,\s""" + STATE + " as state";

    static final String COLUMNS =
            WITHOUT_BODIES + ", work_item.payload, work_item.payload_type, work_item.result, work_item.result_type";

    private JdbcWorkRows() {}

    static WorkItem item(Row row) {
        return item(row, state(row));
    }

    /** Of a lease that was granted or renewed just now, although a short one may have ended before the row was read. */
    static WorkItem held(Row row) {
        return item(row, WorkState.CLAIMED);
    }

    private static WorkItem item(Row row, WorkState state) {
        boolean live = state == WorkState.CLAIMED;
        boolean diedUnseen = state == WorkState.DEAD && row.text("stored").equals("CLAIMED");
        return new WorkItem(
                row.text("id"),
                row.text("queue"),
                state,
                row.integer("priority"),
                row.optionalInstant("not_before"),
                row.integer("attempts"),
                row.integer("max_attempts"),
                row.number("fence"),
                live ? new Owner(row.text("owner")) : null,
                live ? RunId.parse(row.text("run_id")) : null,
                live ? row.instant("expires") : null,
                body(row, "payload"),
                body(row, "result"),
                diedUnseen ? DIED : row.optionalText("reason"),
                row.instant("enqueued_at"),
                diedUnseen ? row.instant("expires") : row.optionalInstant("ended_at"));
    }

    static WorkState state(Row row) {
        return WorkState.valueOf(row.text("state"));
    }

    private static @Nullable Body body(Row row, String column) {
        byte[] bytes = row.has(column) ? row.optionalBytes(column) : null;
        return bytes == null ? null : new Body(bytes, row.optionalText(column + "_type"));
    }

    static Artifact artifact(Row row) {
        return new Artifact(
                row.text("item"),
                row.number("fence"),
                row.text("name"),
                row.optionalText("type"),
                row.number("size"),
                row.text("sha256"),
                row.instant("at"));
    }

    /** Whether the row is of the very grant that is shown, live or not. */
    static boolean isOf(Row row, Grant grant) {
        return row.number("fence") == grant.fence().value()
                && grant.owner().text().equals(row.optionalText("owner"))
                && (grant.runId() == null || grant.runId().toString().equals(row.optionalText("run_id")));
    }

    /** The token of the row, if it is a newer one than is shown. */
    static @Nullable Long newerThan(@Nullable Row row, Grant grant) {
        return row == null || row.number("fence") <= grant.fence().value() ? null : (Long) row.number("fence");
    }

    /** Why this grant may hand nothing in; null if it may. */
    static @Nullable Refusal refusal(@Nullable Row row, Grant grant) {
        if (row == null) {
            return Refusal.UNKNOWN;
        }
        return switch (state(row)) {
            case DONE -> Refusal.ALREADY_DONE;
            case DEAD -> Refusal.DEAD;
            case READY, CLAIMED -> {
                if (row.number("fence") > grant.fence().value()) {
                    yield Refusal.STALE_TOKEN;
                }
                if (!isOf(row, grant)) {
                    yield Refusal.NOT_OWNER;
                }
                yield state(row) == WorkState.CLAIMED ? null : Refusal.EXPIRED;
            }
        };
    }
}
