package dev.fencepost.edge.jdbc;

import dev.fencepost.edge.jdbc.Database.Urgency;

/** What {@code bench} leaves in the store, and how it goes away. The rows of its leases stay, since a token must never fall. */
public final class BenchRows {

    private static final Sql DELETE = Sql.of(
            "delete from attempt where job = :job",
            "delete from tick where job = :job",
            "delete from write_event where resource = :job");

    private final Database database;

    BenchRows(Database database) {
        this.database = database;
    }

    /** Deletes ticks, attempts and events of a job. */
    public void delete(String job) {
        database.write("bench", Urgency.NORMAL, session -> session.run(DELETE, Params.of("job", job)));
    }
}
