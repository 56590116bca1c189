package dev.fencepost.edge.jdbc;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.ManualTime;
import dev.fencepost.host.TestThreads;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is asked every second must not grow with the history of the job. */
class QueryPlanTest {

    @Test
    void openTicksAreFoundByTheirOwnIndex(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("store.db");
        ManualTime time = new ManualTime(Instant.parse("2026-03-01T12:00:00Z"));
        try (JdbcStore store = JdbcStore.sqlite(file, time, new TestThreads())) {
            store.prepare();
        }
        String openTicks =
                JdbcTicks.SITUATION.prepare(new Dialect.Sqlite(time)).getLast().text();
        List<String> plan = new ArrayList<>();
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                PreparedStatement statement = connection.prepareStatement("explain query plan " + openTicks);
                ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
                plan.add(rows.getString("detail"));
            }
        }
        assertTrue(plan.getFirst().contains("tick_open"), plan.toString());
    }
}
