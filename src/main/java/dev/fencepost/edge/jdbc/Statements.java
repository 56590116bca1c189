package dev.fencepost.edge.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;

/** The statements of one connection. For one thread. */
sealed interface Statements {

    /** What is done with a statement; its rows are read to the end. */
    @FunctionalInterface
    interface Use {
        void with(PreparedStatement statement) throws SQLException;
    }

    void run(String text, Use use) throws SQLException;

    /** Each made anew, for a driver that remembers by itself what it has parsed, or a connection that is soon given back. */
    record Fresh(Connection connection) implements Statements {

        @Override
        public void run(String text, Use use) throws SQLException {
            try (PreparedStatement statement = connection.prepareStatement(text)) {
                use.with(statement);
            }
        }
    }

    /**
     * Each made once and kept: SQLite parses and plans a statement whenever it is made, which takes longer than to run it. Texts are
     * constants of the code, so there are few. One that failed is not used again.
     */
    final class Kept implements Statements, AutoCloseable {

        private final Connection connection;
        private final Map<String, PreparedStatement> kept = new HashMap<>();

        Kept(Connection connection) {
            this.connection = connection;
        }

        @Override
        public void run(String text, Use use) throws SQLException {
            PreparedStatement known = kept.remove(text);
            PreparedStatement statement = known == null ? connection.prepareStatement(text) : known;
            try {
                use.with(statement);
                statement.clearParameters(); // a payload would stay in memory
            } catch (SQLException | RuntimeException | Error e) {
                close(statement, e);
                throw e;
            }
            kept.put(text, statement);
        }

        private static void close(PreparedStatement statement, Throwable reason) {
            try {
                statement.close();
            } catch (SQLException e) {
                reason.addSuppressed(e);
            }
        }

        @Override
        public void close() throws SQLException {
            for (PreparedStatement statement : kept.values()) {
                statement.close();
            }
            kept.clear();
        }
    }
}
