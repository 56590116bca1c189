package dev.fencepost.store;

import dev.fencepost.Store;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.host.ManualTime;
import dev.fencepost.host.TestThreads;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** A SQLite file on a host whose clocks the test moves. */
public final class SqliteSite implements Site {

    final ManualTime time = new ManualTime(Instant.parse("2026-05-04T03:02:01.500Z"));
    final Path file;
    private final JdbcStore store;
    private final JdbcStore otherNode;

    public SqliteSite(Path folder) {
        file = folder.resolve("fencepost.db");
        store = open();
        otherNode = open();
        store.prepare();
    }

    JdbcStore open() {
        return JdbcStore.sqlite(file, time, new TestThreads());
    }

    Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:sqlite:" + file + "?busy_timeout=5000");
    }

    @Override
    public Store store() {
        return store;
    }

    @Override
    public Store otherNode() {
        return otherNode;
    }

    @Override
    public void pass(Duration duration) {
        time.pass(duration);
    }

    @Override
    public void sql(String text) {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute(text);
        } catch (SQLException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    @Override
    public List<List<String>> rows(String query) {
        try (Connection connection = connect()) {
            return Site.rows(connection, query);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void setBack(Duration by) {
        time.setWallClock(time.wallClock().minus(by));
    }

    @Override
    public String hex(String column) {
        return "lower(hex(" + column + "))";
    }

    @Override
    public String literal(Instant instant) {
        return String.valueOf(instant.toEpochMilli());
    }

    @Override
    public void failInserts(String table) {
        sql("create trigger planted before insert on " + table + " begin select raise(abort, 'planted fault'); end");
    }

    @Override
    public void repair(String table) {
        sql("drop trigger planted");
    }

    @Override
    public Duration step() {
        return Duration.ofMillis(1);
    }

    @Override
    public void close() {
        store.close();
        otherNode.close();
    }
}
