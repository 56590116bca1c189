package dev.fencepost.edge.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.ManualTime;
import dev.fencepost.host.TestThreads;
import dev.fencepost.lease.StoreException;
import dev.fencepost.store.Postgres;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** ADR 31: which programs may work on a store. */
class SchemaRangeTest {

    private static final Instant NOW = Instant.parse("2026-03-01T12:00:00Z");
    private static final int NEWEST = Integer.parseInt(Migrations.NEWEST);

    private interface Database {
        Connection connect() throws SQLException;
    }

    private static void run(Database database, String... statements) {
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            for (String each : statements) {
                statement.execute(each);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void newerSchemas(JdbcStore store, Database database) {
        assertFalse(store.isPrepared());
        store.prepare();
        run(
                database,
                "alter table lease add column later text",
                "alter table job add column later text",
                "insert into fencepost_schema_history (installed_rank, version, description, type, script, installed_by,"
                        + " execution_time, success) select 100, '%03d', 'later', 'SQL', 'V.sql', 'me', 1, success"
                                .formatted(NEWEST + 1)
                        + " from fencepost_schema_history where version = '" + Migrations.NEWEST + "'",
                "update store_floor set least_known = " + NEWEST);
        store.prepare();
        assertTrue(store.isPrepared(), "a newer one that is for us too");
        assertFalse(store.diagnosis().isTooNew());
        assertEquals("%03d".formatted(NEWEST + 1), store.diagnosis().schema());

        run(database, "update store_floor set least_known = " + (NEWEST + 1));
        for (Runnable call : new Runnable[] {store::prepare, store::isPrepared}) {
            SchemaTooNewException refusal = assertThrows(SchemaTooNewException.class, call::run);
            assertEquals(StoreException.Kind.BROKEN, refusal.kind());
            assertTrue(
                    String.valueOf(refusal.getMessage())
                            .contains("it wants one that knows version %03d, this one knows %s"
                                    .formatted(NEWEST + 1, Migrations.NEWEST)),
                    refusal.getMessage());
        }
        assertTrue(store.diagnosis().isTooNew());
    }

    @Test
    void ofSqlite(@TempDir Path dir) {
        Path file = dir.resolve("store.db");
        try (JdbcStore store = JdbcStore.sqlite(file, new ManualTime(NOW), new TestThreads())) {
            newerSchemas(store, () -> DriverManager.getConnection("jdbc:sqlite:" + file));
        }
    }

    @Test
    void ofPostgres() {
        Postgres.Database database = Postgres.newDatabase();
        try (JdbcStore store = JdbcStore.postgres(database.url(), "postgres", null, "it", event -> {})) {
            newerSchemas(store, database::connect);
        }
    }

    @Test
    void whoMigratesASqliteFileIsWaitedForAndNotWithoutEnd(@TempDir Path dir) throws Exception {
        Path file = dir.resolve("store.db");
        ManualTime time = new ManualTime(NOW);
        try (JdbcStore store = JdbcStore.sqlite(file, time, new TestThreads());
                ExecutorService threads = Executors.newSingleThreadExecutor();
                FileChannel channel = FileChannel.open(
                        dir.resolve("store.db.migrate.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            Future<?> late;
            try (var held = channel.lock()) {
                assertTrue(held.isValid());
                Future<?> stuck = threads.submit(store::prepare);
                for (int i = 0; i < 300; i++) {
                    time.awaitSleepers(1);
                    time.pass(Duration.ofMillis(100));
                }
                ExecutionException failure = assertThrows(ExecutionException.class, stuck::get);
                StoreException reason = assertInstanceOf(StoreException.class, failure.getCause());
                assertEquals(StoreException.Kind.UNAVAILABLE, reason.kind());
                assertTrue(
                        String.valueOf(reason.getMessage()).contains("store.db.migrate.lock for more than 30 s"),
                        reason::toString);
                late = threads.submit(store::prepare);
                time.awaitSleepers(1);
            }
            time.pass(Duration.ofSeconds(1));
            late.get();
            assertTrue(store.isPrepared());
        }
    }
}
