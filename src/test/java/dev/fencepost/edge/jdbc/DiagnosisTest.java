package dev.fencepost.edge.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.jdbc.Diagnosis.SinkAhead;
import dev.fencepost.host.ManualTime;
import dev.fencepost.host.TestThreads;
import dev.fencepost.run.Pause;
import dev.fencepost.store.Postgres;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The facts that a store tells of itself, on both databases. */
class DiagnosisTest {

    private static final Instant NOW = Instant.parse("2026-03-01T12:00:00Z");

    /** @param truth and {@code instant}: as this database writes them */
    private static void plant(Statement statement, String truth, String instant) throws SQLException {
        for (String sql : List.of(
                "insert into lease (resource, fence) values ('even', 5), ('behind', 3), ('told', 7)",
                "insert into sink_fence (pair, sink, resource, fence, run_id) values ('p1', 's', 'even', 5, 'r'),"
                        + " ('p2', 's', 'behind', 4, 'r'), ('p3', 's', 'never', 1, 'r')",
                // What a sink said when it refused; of two the higher one.
                "insert into write_event (at, resource, owner, fence, accepted, reason, effect, newest_fence) values"
                        + " (" + instant + ", 'told', 'o', 7, not " + truth + ", 'STALE_TOKEN', 'k', 8),"
                        + " (" + instant + ", 'told', 'o', 7, not " + truth + ", 'STALE_TOKEN', 'k', 11),"
                        + " (" + instant + ", 'even', 'o', 4, not " + truth + ", 'STALE_TOKEN', 'k', 5),"
                        // A refusal by the store itself is none of a sink.
                        + " (" + instant + ", 'behind', 'o', 4, not " + truth + ", 'STALE_TOKEN', null, 9)",
                "insert into job (id, schedule_text, since, cursor_at, paused_at, pause_cause, pause_reason, paused_by,"
                        + " retired_at) values ('a', 't', " + instant + ", " + instant + ", " + instant
                        + ", 'AUTH', 'login expired', 'fencepost', null), ('b', 't', " + instant + ", " + instant
                        + ", null, null, null, null, null), ('gone', 't', " + instant + ", " + instant + ", " + instant
                        + ", 'PERSON', null, 'me@host', " + instant + ")")) {
            statement.execute(sql);
        }
    }

    private static void assertPlanted(Diagnosis diagnosis) {
        assertTrue(diagnosis.isPrepared());
        assertEquals(diagnosis.wantedSchema(), diagnosis.schema());
        assertEquals(
                List.of(
                        new SinkAhead("s", "behind", 4, 3),
                        new SinkAhead("s", "never", 1, 0),
                        new SinkAhead(null, "told", 11, 7)),
                diagnosis.ahead());
        assertEquals(
                List.of(new Diagnosis.PausedJob(
                        "a", new Pause(NOW, null, Pause.Cause.AUTH, "login expired", "fencepost"))),
                diagnosis.paused());
    }

    @Test
    void ofSqlite(@TempDir Path dir) throws Exception {
        Path file = dir.resolve("store.db");
        try (JdbcStore store = JdbcStore.sqlite(file, new ManualTime(NOW), new TestThreads())) {
            Diagnosis bare = store.diagnosis();
            assertNull(bare.schema());
            assertFalse(bare.isPrepared());
            store.prepare();
            try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                    Statement statement = connection.createStatement()) {
                plant(statement, "1", String.valueOf(NOW.toEpochMilli()));
            }
            Diagnosis diagnosis = store.diagnosis();
            assertPlanted(diagnosis);
            Diagnosis.Sqlite sqlite = assertInstanceOf(Diagnosis.Sqlite.class, diagnosis.engine());
            assertEquals("wal", sqlite.journalMode());
            assertEquals(2, sqlite.synchronous());
            assertTrue(sqlite.bytes() > 50_000, sqlite.toString());
            assertEquals(List.of(), store.damage());
        }
    }

    @Test
    void anEmptyWriteReachesTheLogOfSqlite(@TempDir Path dir) throws Exception {
        Path file = dir.resolve("store.db");
        Path log = dir.resolve("store.db-wal");
        try (JdbcStore store = JdbcStore.sqlite(file, new ManualTime(NOW), new TestThreads())) {
            store.prepare();
            long before = Files.size(log);
            store.check();
            assertEquals(before, Files.size(log), "a check writes nothing, so its time tells nothing");
            store.writeNothing();
            assertTrue(Files.size(log) > before);
        }
    }

    @Test
    void ofPostgres() throws Exception {
        Postgres.Database database = Postgres.newDatabase();
        try (JdbcStore store = JdbcStore.postgres(database.url(), "postgres", null, "it", event -> {})) {
            Diagnosis bare = store.diagnosis();
            assertNull(bare.schema());
            store.prepare();
            database.sql("alter database " + database.name() + " set synchronous_commit = off");
            try (Connection connection = database.connect();
                    Statement statement = connection.createStatement()) {
                plant(statement, "true", "timestamptz '" + NOW + "'");
            }
        }
        try (JdbcStore store = JdbcStore.postgres(database.url(), "postgres", null, "it", event -> {})) {
            Diagnosis diagnosis = store.diagnosis();
            assertPlanted(diagnosis);
            Diagnosis.Postgres server = assertInstanceOf(Diagnosis.Postgres.class, diagnosis.engine());
            assertTrue(server.versionNumber() >= 150_000, server.toString());
            assertFalse(server.fsync(), "the tests' server runs without it");
            assertTrue(server.fullPageWrites());
            assertEquals("off", server.synchronousCommit());
            assertFalse(server.standby());
            assertNull(server.timelineRefusal());
            assertEquals(List.of(), store.damage());
            String before = database.rows("select pg_current_wal_insert_lsn()").toString();
            store.writeNothing();
            assertFalse(before.equals(
                    database.rows("select pg_current_wal_insert_lsn()").toString()));
        }
    }

    @Test
    void aServerThatDoesNotTellItsTimelineSaysSo() throws Exception {
        Postgres.Database database = Postgres.newDatabase();
        database.sql(
                "create schema hosted",
                "create function hosted.pg_walfile_name(pg_lsn) returns text language plpgsql as"
                        + " $$ begin raise insufficient_privilege using message = 'not on this host'; end $$",
                "alter database " + database.name() + " set search_path = public, hosted, pg_catalog");
        try (JdbcStore store = JdbcStore.postgres(database.url(), "postgres", null, "it", event -> {})) {
            Diagnosis.Postgres server =
                    assertInstanceOf(Diagnosis.Postgres.class, store.diagnosis().engine());
            assertNotNull(server.timelineRefusal());
            assertTrue(server.timelineRefusal().contains("not on this host"), server.toString());
        }
    }
}
