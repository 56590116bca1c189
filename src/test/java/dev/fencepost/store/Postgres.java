package dev.fencepost.store;

import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Databases of the {@link PostgresServer}; each test class makes its own. */
public final class Postgres {

    private Postgres() {}

    public static Database newDatabase() {
        return newDatabase("");
    }

    /** One whose texts are sorted as in a dictionary, not by their codes. */
    static Database newSortedDatabase() {
        return newDatabase(" template template0 locale_provider icu icu_locale 'en-US'");
    }

    private static Database newDatabase(String options) {
        String name = PostgresServer.newDatabase(options);
        return new Database(name, PostgresServer.url(name), PostgresServer.port());
    }

    /** The folder of the server's programs: as the running one shows it, since their packing is the library's own affair. */
    public static Path binaries() {
        try (Connection connection = DriverManager.getConnection(PostgresServer.url("postgres"))) {
            String pid =
                    Site.rows(connection, "select pg_backend_pid()").getFirst().getFirst();
            return Path.of("/proc", pid, "exe").toRealPath().getParent();
        } catch (SQLException | IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** An empty database. */
    public record Database(String name, String url, int port) {

        JdbcStore store(Journal journal) {
            return store(port, journal);
        }

        /** Through another port, behind which something stands between store and server. */
        JdbcStore store(int throughPort, Journal journal) {
            return JdbcStore.postgres(
                    "jdbc:postgresql://localhost:" + throughPort + "/" + name,
                    "postgres",
                    null,
                    "postgres " + name,
                    journal);
        }

        public Connection connect() throws SQLException {
            return DriverManager.getConnection(url);
        }

        public void sql(String... statements) {
            try (Connection connection = connect();
                    Statement statement = connection.createStatement()) {
                for (String each : statements) {
                    statement.execute(each);
                }
            } catch (SQLException e) {
                throw new IllegalStateException(e.getMessage(), e);
            }
        }

        public List<List<String>> rows(String query) {
            try (Connection connection = connect()) {
                return Site.rows(connection, query);
            } catch (SQLException e) {
                throw new IllegalStateException(e.getMessage(), e);
            }
        }

        /** Each takes some megabytes, and there may be many of them. */
        void drop() {
            PostgresServer.drop(name);
        }

        String value(String query) {
            List<List<String>> rows = rows(query);
            return rows.isEmpty() ? null : rows.getFirst().getFirst();
        }
    }

    /** Keeps what was recorded. */
    static final class Recorded implements Journal {
        final List<Event> events = new CopyOnWriteArrayList<>();

        @Override
        public void record(Event event) {
            events.add(event);
        }
    }
}
