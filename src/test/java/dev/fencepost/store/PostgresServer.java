package dev.fencepost.store;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One real PostgreSQL for all tests of this JVM, started when it is first asked for. Knows nothing of the program, so that programs that
 * are loaded beside one another share it.
 */
public final class PostgresServer {

    private static final AtomicInteger DATABASES = new AtomicInteger();

    private PostgresServer() {}

    private static final class Server {
        static final EmbeddedPostgres RUNNING = start();

        private static EmbeddedPostgres start() {
            try {
                return EmbeddedPostgres.builder()
                        .setServerConfig("fsync", "off")
                        .setServerConfig("max_connections", "100")
                        .setServerConfig("timezone", "Asia/Tokyo") // instants must not care
                        .start();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    public static int port() {
        return Server.RUNNING.getPort();
    }

    public static String url(String database) {
        return Server.RUNNING.getJdbcUrl("postgres", database);
    }

    /**
     * Makes an empty database.
     *
     * @param options what follows in the statement that makes it
     * @return its name
     */
    public static String newDatabase(String options) {
        String name = "contract_" + DATABASES.incrementAndGet();
        run("create database " + name + options);
        return name;
    }

    /** Ends whoever is connected to it. */
    public static void drop(String database) {
        run("drop database " + database + " with (force)");
    }

    private static void run(String sql) {
        try (Connection connection = DriverManager.getConnection(url("postgres"));
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }
}
