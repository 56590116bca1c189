package dev.fencepost.history;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes what stands in a store into a history, row by row, with JDBC alone. */
public final class StoreDump {

    private static final List<String> TABLES = List.of(
            "lease", "job", "tick", "attempt", "write_event", "effect", "sink_fence", "work_item", "work_artifact");

    private StoreDump() {}

    /** @param store what the rows are said to be of: {@code main} for the store that the world ended with */
    public static void write(Connection connection, String store, HistoryFile file) throws SQLException {
        for (String table : TABLES) {
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("select * from " + table)) {
                ResultSetMetaData columns = rows.getMetaData();
                while (rows.next()) {
                    Map<String, @Nullable Object> line = new LinkedHashMap<>();
                    line.put("store", store);
                    line.put("table", table);
                    for (int i = 1; i <= columns.getColumnCount(); i++) {
                        line.put(columns.getColumnLabel(i), value(rows.getObject(i)));
                    }
                    file.write("row", line);
                }
            }
        }
    }

    private static @Nullable Object value(@Nullable Object value) {
        return switch (value) {
            case Timestamp timestamp -> timestamp.getTime();
            case byte[] bytes -> bytes.length + " bytes";
            case null -> null;
            default -> value;
        };
    }
}
