package dev.fencepost.store;

import dev.fencepost.Store;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** A database with a store on it, and what a test may do to both beside the store's own face. The store's clock is in the test's hand. */
public interface Site extends AutoCloseable {

    Store store();

    /** The same database as another node sees it. */
    Store otherNode();

    /** Moves the store's clock forward. */
    void pass(Duration time);

    /** Sets back the clock that slots are compared with. */
    void setBack(Duration time);

    /** Runs one statement behind the store's back. */
    void sql(String statement);

    /** Each row with its columns as text. */
    List<List<String>> rows(String query);

    /** The first column of the first row as text; null if there is no row, or no value. */
    default String value(String query) {
        List<List<String>> rows = rows(query);
        return rows.isEmpty() ? null : rows.getFirst().getFirst();
    }

    /** An instant as this database writes it. */
    String literal(Instant instant);

    /** From now on every insert into this table fails, until {@link #repair}. */
    void failInserts(String table);

    void repair(String table);

    /** SQL that gives the bytes of a column as hexadecimal text. */
    String hex(String column);

    /** The smallest step of the store's clock. */
    Duration step();

    @Override
    void close();

    /** How many rows. */
    default int count(String fromWhere) {
        return Integer.parseInt(value("select count(*) from " + fromWhere));
    }

    static List<List<String>> rows(Connection connection, String query) {
        try (Statement statement = connection.createStatement();
                ResultSet results = statement.executeQuery(query)) {
            List<List<String>> rows = new ArrayList<>();
            while (results.next()) {
                List<String> row = new ArrayList<>();
                for (int i = 1; i <= results.getMetaData().getColumnCount(); i++) {
                    row.add(results.getString(i));
                }
                rows.add(row);
            }
            return rows;
        } catch (SQLException e) {
            throw new IllegalStateException(query + ": " + e.getMessage(), e);
        }
    }
}
