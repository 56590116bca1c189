package dev.fencepost.edge.jdbc;

import dev.fencepost.edge.jdbc.Database.Urgency;
import dev.fencepost.lease.Owner;
import dev.fencepost.run.Nodes;
import java.util.List;

/** Starts of nodes. One that ended in order stays ended, should a sign of life come late. */
final class JdbcNodes implements Nodes {

    private static final Sql SEEN = Sql.of("""
            insert into node (owner, host, version, jobs_file, jobs_hash, file_error, started_at, seen_at)
            values (:owner, :host, :version, :jobs_file, :jobs_hash, :file_error, {now}, {now})
            on conflict (owner) do update set host = excluded.host, version = excluded.version,
                jobs_file = excluded.jobs_file, jobs_hash = excluded.jobs_hash, file_error = excluded.file_error,
                seen_at = excluded.seen_at
            where node.stopped_at is null""");

    private static final Sql STOPPED =
            Sql.of("update node set seen_at = {now}, stopped_at = {now} where owner = :owner and stopped_at is null");

    static final Sql NODES = Sql.of("""
            select owner, host, version, jobs_file, jobs_hash, file_error, started_at, seen_at, stopped_at from node
            order by started_at desc limit :limit""");

    private final Database database;

    JdbcNodes(Database database) {
        this.database = database;
    }

    @Override
    public void seen(Owner owner, State state) {
        Params params = Params.of("owner", owner.text())
                .and("host", state.host())
                .and("version", state.version())
                .and("jobs_file", state.jobsFile())
                .and("jobs_hash", state.jobsHash())
                .and("file_error", state.fileError());
        database.write(
                "sign of life",
                Urgency.NORMAL,
                session -> session.one(SEEN, params).changed());
    }

    @Override
    public void stopped(Owner owner) {
        Params params = Params.of("owner", owner.text());
        database.write(
                "end of the node",
                Urgency.NORMAL,
                session -> session.one(STOPPED, params).changed());
    }

    @Override
    public List<NodeView> nodes(int limit) {
        return database.read(
                "nodes",
                session -> session.one(NODES, Params.of("limit", limit)).rows().stream()
                        .map(row -> new NodeView(
                                new Owner(row.text("owner")),
                                new State(
                                        row.text("host"),
                                        row.text("version"),
                                        row.text("jobs_file"),
                                        row.text("jobs_hash"),
                                        row.optionalText("file_error")),
                                row.instant("started_at"),
                                row.instant("seen_at"),
                                row.optionalInstant("stopped_at")))
                        .toList());
    }
}
