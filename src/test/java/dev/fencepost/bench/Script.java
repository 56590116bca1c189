package dev.fencepost.bench;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Statements by which a bench fills a database and looks at it, beside what is measured. */
final class Script {

    private Script() {}

    static void run(Connection connection, String... statements) {
        try (Statement statement = connection.createStatement()) {
            for (String each : statements) {
                statement.execute(each);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    static long count(Connection connection, String query) {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }
}
