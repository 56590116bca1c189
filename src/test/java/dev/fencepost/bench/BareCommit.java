package dev.fencepost.bench;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/** One row written in one durable commit by the driver alone: the least that anything stored can cost. */
final class BareCommit implements AutoCloseable {

    private final Connection connection;
    private final PreparedStatement write;

    private BareCommit(Connection connection, String write) throws SQLException {
        this.connection = connection;
        Script.run(
                connection,
                "create table bare (id text primary key, fence integer, text text)",
                "insert into bare values ('row', 1, 'x')");
        this.write = connection.prepareStatement(write);
    }

    static BareCommit sqlite(Path file) throws SQLException {
        return new BareCommit(
                DriverManager.getConnection(
                        "jdbc:sqlite:" + file + "?journal_mode=WAL&synchronous=FULL&busy_timeout=20000"),
                "insert into bare values ('row', 1, 'x')"
                        + " on conflict (id) do update set fence = fence + 1, text = excluded.text");
    }

    static BareCommit postgres(DurablePostgres server) throws SQLException {
        return new BareCommit(
                server.connect(DurablePostgres.DATABASE), "update bare set fence = fence + 1 where id = 'row'");
    }

    void run() throws SQLException {
        if (write.executeUpdate() != 1) {
            throw new IllegalStateException("nothing was written");
        }
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
