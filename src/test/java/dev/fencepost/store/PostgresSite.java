package dev.fencepost.store;

import dev.fencepost.Store;
import dev.fencepost.edge.jdbc.JdbcStore;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * A PostgreSQL whose {@code clock_timestamp()} stands still until the test moves it: the database's search path puts a function of that
 * name before the built-in one. Like the built-in one it is volatile, and so asked again each time it is evaluated. Tests of waiting
 * and racing use the server's own clock instead.
 */
public final class PostgresSite implements Site {

    private final Postgres.Database database;
    private final Connection connection;
    private final JdbcStore store;
    private final JdbcStore otherNode;

    public PostgresSite() {
        this(Postgres.newDatabase());
    }

    PostgresSite(Postgres.Database database) {
        this.database = database;
        database.sql(
                "alter database " + database.name() + " set search_path = public, test, pg_catalog",
                "create schema test",
                "create table test.clock (at timestamptz not null)",
                "insert into test.clock values (date_trunc('milliseconds', pg_catalog.clock_timestamp()))",
                """
                create function test.clock_timestamp() returns timestamptz volatile language plpgsql as
                $$ begin return (select at from test.clock); end $$""");
        try {
            connection = database.connect();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        store = database.store(event -> {});
        otherNode = database.store(event -> {});
        store.prepare();
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
    public void pass(Duration time) {
        sql("update test.clock set at = at + interval '" + time.toNanos() / 1_000 + " microseconds'");
    }

    @Override
    public synchronized void sql(String text) {
        try (Statement statement = connection.createStatement()) {
            statement.execute(text);
        } catch (SQLException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    @Override
    public synchronized List<List<String>> rows(String query) {
        return Site.rows(connection, query);
    }

    @Override
    public void setBack(Duration time) {
        pass(time.negated());
    }

    @Override
    public String hex(String column) {
        return "encode(" + column + ", 'hex')";
    }

    @Override
    public String literal(Instant instant) {
        return "timestamptz '" + instant + "'";
    }

    @Override
    public void failInserts(String table) {
        sql("create or replace function planted() returns trigger language plpgsql as"
                + " $$ begin raise exception 'planted fault'; end $$");
        sql("create trigger planted before insert on " + table + " for each row execute function planted()");
    }

    @Override
    public void repair(String table) {
        sql("drop trigger planted on " + table);
    }

    @Override
    public Duration step() {
        return Duration.ofNanos(1_000);
    }

    @Override
    public void close() {
        store.close();
        otherNode.close();
        try {
            connection.close();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        database.drop();
    }
}
