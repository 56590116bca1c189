package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.fencepost.history.HistoryFile;
import dev.fencepost.history.StoreDump;
import dev.fencepost.store.Postgres;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** What stands in a database, read with JDBC alone: the program's own code has no part in it. */
public final class Rows {

    /** Opens a connection of its own for each look. */
    private interface Source {
        Connection connect() throws SQLException;
    }

    private interface Reader<T> {
        T read(ResultSet row) throws SQLException;
    }

    private final Source source;

    private Rows(Source source) {
        this.source = source;
    }

    public static Rows of(Postgres.Database database) {
        return new Rows(database::connect);
    }

    /** By an address of the driver, which may name several servers. */
    public static Rows at(String url) {
        return new Rows(() -> DriverManager.getConnection(url));
    }

    public static Rows of(Path sqliteFile) {
        return new Rows(() -> DriverManager.getConnection("jdbc:sqlite:" + sqliteFile + "?busy_timeout=5000"));
    }

    /** @param count and {@code first}: of a range of slots, else 1 and the slot itself */
    public record Tick(
            String job,
            String key,
            Instant at,
            int attempts,
            String outcome,
            String reason,
            boolean range,
            long count,
            Instant first,
            String runId) {}

    public record Attempt(
            String runId,
            String job,
            String key,
            int number,
            long fence,
            String owner,
            Instant startedAt,
            Instant endedAt,
            String outcome,
            boolean counted,
            Integer exitCode,
            Integer signal,
            String reason,
            String result) {

        boolean isOpen() {
            return endedAt == null;
        }

        /** The process id of the runner that made it. */
        long ownerPid() {
            return Long.parseLong(owner.split("/")[3]);
        }
    }

    public record WriteEvent(long fence, String runId, boolean accepted, String reason) {}

    public record LeaseRow(String resource, long fence, String owner, String runId) {}

    /** An item of work ended so much earlier than it did. */
    public void makeOlder(String item, Duration by) {
        try (Connection connection = source.connect();
                Statement statement = connection.createStatement()) {
            boolean postgres = connection.getMetaData().getDatabaseProductName().equals("PostgreSQL");
            assertEquals(
                    1,
                    statement.executeUpdate("update work_item set ended_at = ended_at - "
                            + (postgres ? "interval '" + by.toSeconds() + " seconds'" : by.toMillis())
                            + " where id = '" + item + "'"));
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The job's ticks, oldest slot first. */
    public List<Tick> ticks(String job) {
        return ticksOf("select * from tick where job = '" + job + "' order by slot_at");
    }

    /** Those with the newest slots, newest first. */
    public List<Tick> newestTicks(String job, int limit) {
        return ticksOf("select * from tick where job = '" + job + "' order by slot_at desc limit " + limit);
    }

    private List<Tick> ticksOf(String query) {
        return all(query, row -> {
            Instant at = instant(row, "slot_at");
            long count = row.getLong("range_count");
            boolean range = !row.wasNull();
            return new Tick(
                    row.getString("job"),
                    row.getString("slot_key"),
                    at,
                    row.getInt("attempts"),
                    row.getString("outcome"),
                    row.getString("reason"),
                    range,
                    range ? count : 1,
                    range ? instant(row, "range_first") : at,
                    row.getString("run_id"));
        });
    }

    public List<Tick> ticks(String job, String outcome) {
        return ticks(job).stream()
                .filter(tick -> outcome.equals(tick.outcome()))
                .toList();
    }

    /** The job's attempts, first one first. */
    /** How many slots after this instant have succeeded: whether a job goes on after what befell it. */
    public long successesAfter(String job, Instant instant) {
        return ticks(job, "SUCCEEDED").stream()
                .filter(tick -> tick.at().isAfter(instant))
                .count();
    }

    public List<Attempt> attempts(String job) {
        return all("select * from attempt where job = '" + job + "' order by fence", row -> {
            byte[] result = row.getBytes("result");
            return new Attempt(
                    row.getString("run_id"),
                    row.getString("job"),
                    row.getString("slot_key"),
                    row.getInt("number"),
                    row.getLong("fence"),
                    row.getString("owner"),
                    instant(row, "started_at"),
                    instant(row, "ended_at"),
                    row.getString("outcome"),
                    row.getBoolean("counted"),
                    integer(row, "exit_code"),
                    integer(row, "signal"),
                    row.getString("reason"),
                    result == null ? null : new String(result, StandardCharsets.UTF_8).strip());
        });
    }

    public List<Attempt> attempts(String job, String outcome) {
        return attempts(job).stream()
                .filter(attempt -> outcome.equals(attempt.outcome()))
                .toList();
    }

    /** The newest attempt without an end that this process made, or null. */
    public Attempt openOf(String job, long ownerPid) {
        return attempts(job).stream()
                .filter(attempt -> attempt.isOpen() && attempt.ownerPid() == ownerPid)
                .findFirst()
                .orElse(null);
    }

    public List<String> runIds(String job) {
        return attempts(job).stream().map(Attempt::runId).toList();
    }

    public List<String> allRunIds() {
        return all("select run_id from attempt", row -> row.getString(1));
    }

    public List<WriteEvent> events(String job) {
        return all(
                "select * from write_event where resource = '" + job + "' order by id",
                row -> new WriteEvent(
                        row.getLong("fence"),
                        row.getString("run_id"),
                        row.getBoolean("accepted"),
                        row.getString("reason")));
    }

    /** When the newest event of this kind was, in the log of orders. */
    public Instant eventAt(String job, String kind) {
        return all(
                        "select at from job_event where job = '" + job + "' and kind = '" + kind
                                + "' order by id desc limit 1",
                        row -> instant(row, "at"))
                .getFirst();
    }

    public LeaseRow lease(String job) {
        return all(
                        "select * from lease where resource = '" + job + "'",
                        row -> new LeaseRow(
                                row.getString("resource"),
                                row.getLong("fence"),
                                row.getString("owner"),
                                row.getString("run_id")))
                .getFirst();
    }

    /** When the lease of this grant ends, as people are shown it; null once somebody has given it back or has a newer one. */
    public Instant leaseEnd(String resource, long fence) {
        return all(
                        "select expires_at from lease where owner is not null and resource = '" + resource
                                + "' and fence = " + fence,
                        row -> instant(row, "expires_at"))
                .stream()
                .findFirst()
                .orElse(null);
    }

    public String value(String query) {
        return all(query, row -> row.getString(1)).getFirst();
    }

    /** The first column of each row. */
    public List<String> texts(String query) {
        return all(query, row -> row.getString(1));
    }

    public void sql(String text) {
        try (Connection connection = source.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(text);
        } catch (SQLException e) {
            throw new IllegalStateException(text + ": " + e.getMessage(), e);
        }
    }

    /** Writes all that stands in the store into a history. */
    public void dump(String store, HistoryFile file) {
        try (Connection connection = source.connect()) {
            StoreDump.write(connection, store, file);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private <T> List<T> all(String query, Reader<T> reader) {
        try (Connection connection = source.connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            List<T> read = new ArrayList<>();
            while (rows.next()) {
                read.add(reader.read(rows));
            }
            return read;
        } catch (SQLException e) {
            throw new IllegalStateException(query + ": " + e.getMessage(), e);
        }
    }

    private static Integer integer(ResultSet row, String column) throws SQLException {
        int value = row.getInt(column);
        return row.wasNull() ? null : value;
    }

    /** Milliseconds in SQLite, a type of its own in PostgreSQL. */
    private static Instant instant(ResultSet row, String column) throws SQLException {
        Object value = row.getObject(column);
        return switch (value) {
            case null -> null;
            case Timestamp timestamp -> timestamp.toInstant();
            case Number millis -> Instant.ofEpochMilli(millis.longValue());
            default -> throw new SQLException(column + " is a " + value.getClass());
        };
    }
}
