package dev.fencepost.edge.jdbc;

import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One row of an answer, read by column name, the same from both databases. */
record Row(Map<String, @Nullable Object> columns) {

    static List<Row> all(ResultSet results) throws SQLException {
        ResultSetMetaData meta = results.getMetaData();
        String[] names = new String[meta.getColumnCount()];
        for (int i = 0; i < names.length; i++) {
            names[i] = meta.getColumnLabel(i + 1).toLowerCase(Locale.ROOT);
        }
        List<Row> rows = new ArrayList<>();
        while (results.next()) {
            Map<String, @Nullable Object> columns = new HashMap<>();
            for (int i = 0; i < names.length; i++) {
                columns.put(names[i], results.getObject(i + 1));
            }
            rows.add(new Row(columns));
        }
        return rows;
    }

    boolean has(String column) {
        return columns.containsKey(column);
    }

    private @Nullable Object value(String column) {
        if (!columns.containsKey(column)) {
            throw new IllegalArgumentException("no column " + column + " among " + columns.keySet());
        }
        return columns.get(column);
    }

    @Nullable
    String optionalText(String column) {
        Object value = value(column);
        return value == null ? null : value.toString();
    }

    String text(String column) {
        return Objects.requireNonNull(optionalText(column), column);
    }

    @Nullable
    Long optionalNumber(String column) {
        return value(column) instanceof Number number ? (Long) number.longValue() : null;
    }

    long number(String column) {
        return Objects.requireNonNull(optionalNumber(column), column);
    }

    @Nullable
    Integer optionalInt(String column) {
        Long value = optionalNumber(column);
        return value == null ? null : (Integer) Math.toIntExact(value);
    }

    int integer(String column) {
        return Math.toIntExact(number(column));
    }

    boolean truth(String column) {
        Object value = Objects.requireNonNull(value(column), column);
        return value instanceof Boolean b ? b : ((Number) value).longValue() != 0;
    }

    @Nullable
    Instant optionalInstant(String column) {
        Object value = value(column);
        return switch (value) {
            case null -> null;
            case Timestamp timestamp -> timestamp.toInstant();
            case Number millis -> Instant.ofEpochMilli(millis.longValue());
            default -> throw new IllegalArgumentException("column " + column + " is no instant");
        };
    }

    byte @Nullable [] optionalBytes(String column) {
        return (byte[]) value(column);
    }

    byte[] bytes(String column) {
        return (byte[]) Objects.requireNonNull(value(column), column);
    }

    Instant instant(String column) {
        return Objects.requireNonNull(optionalInstant(column), column);
    }
}
