package dev.fencepost.edge.jdbc;

import dev.fencepost.edge.jdbc.Database.Urgency;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Refusal;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Rows with and without protection by a token, for {@code demo fencing}: the same write twice, once as people write it who trust that
 * they still hold their lock, and once as this program does.
 */
public final class DemoResults {

    private static final Sql CREATE = Sql.of("""
            insert into demo_result (id, result, completed_by) values (:resource, null, null)
            on conflict (id) do update set result = null, completed_by = null""");

    private static final Sql WRITE_UNFENCED =
            Sql.of("update demo_result set result = :result, completed_by = :owner where id = :resource returning id");

    private static final Sql WRITE_FENCED =
            Sql.of("select resource from lease where resource = :resource {for_update}", """
            update demo_result set result = :result, completed_by = :owner
            where id = :resource and exists (select 1 from lease l where l.resource = :resource and l.owner = :owner
                and l.fence = :fence and l.run_id = :run_id and {live l})
            returning id""");

    private static final Sql EVENT = Sql.of("""
            insert into write_event (at, resource, owner, fence, run_id, accepted, reason)
            values ({now}, :resource, :owner, :fence, :run_id, :accepted, :reason)""");

    private static final Sql READ = Sql.of("select result, completed_by from demo_result where id = :resource");

    private static final Sql DELETE = Sql.of("delete from demo_result where id = :resource");

    private final Database database;

    DemoResults(Database database) {
        this.database = database;
    }

    /** What stands in a row at the end. */
    public record Final(@Nullable String result, @Nullable String completedBy) {}

    /** Makes the row, empty. */
    public void create(String id) {
        database.write("demo", Urgency.NORMAL, session -> session.one(CREATE, Params.of("resource", id)));
    }

    /** Returns whether the write was accepted: always, since nothing is asked. */
    public boolean writeUnfenced(Lease lease, String result) {
        return database.write(
                "demo",
                Urgency.NORMAL,
                session ->
                        session.one(WRITE_UNFENCED, JdbcLeases.identity(lease).and("result", result))
                                        .first()
                                != null);
    }

    /**
     * Accepted only if owner, token and run are those of the lease, and it is live. The answer is recorded as an event, in the same
     * transaction.
     *
     * @return empty when accepted, else why nothing was written
     */
    public Optional<Refusal> writeFenced(Lease lease, String result) {
        return database.write("demo", Urgency.NORMAL, session -> {
            Params identity = JdbcLeases.identity(lease);
            boolean accepted = session.run(WRITE_FENCED, identity.and("result", result))
                            .get(1)
                            .first()
                    != null;
            Optional<Refusal> refusal = accepted ? Optional.empty() : Optional.of(JdbcLeases.reason(session, lease));
            session.one(
                    EVENT,
                    JdbcLeases.identity(lease)
                            .and("accepted", accepted)
                            .and("reason", refusal.map(Enum::name).orElse(null)));
            return refusal;
        });
    }

    /** @throws java.util.NoSuchElementException if there is no such row */
    public Final read(String id) {
        return database.read("demo", session -> {
            Row row = session.one(READ, Params.of("resource", id)).rows().getFirst();
            return new Final(row.optionalText("result"), row.optionalText("completed_by"));
        });
    }

    public void delete(String id) {
        database.write("demo", Urgency.NORMAL, session -> session.one(DELETE, Params.of("resource", id)));
    }
}
