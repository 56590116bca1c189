package dev.fencepost.edge.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.jdbc.Database.Urgency;
import dev.fencepost.edge.jdbc.Database.Work;
import dev.fencepost.host.ManualTime;
import dev.fencepost.host.TestThreads;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Writes that wait at the same time share a COMMIT, and know nothing of it. */
@SuppressWarnings("NullAway.Init")
class SqliteWriterTest {

    private static final Sql INSERT = Sql.of("insert into t (name) values (:name)");
    private static final Sql INSERT_CHILD = Sql.of("insert into child (parent) values (:name)");

    /** Whose conflict makes SQLite itself take back the whole transaction, as a full disk does. */
    private static final Sql INSERT_OR_ROLLBACK = Sql.of("insert or rollback into t (name) values (:name)");

    private static final Sql COUNT = Sql.of("select count(*) as rows from t");

    @TempDir
    private Path folder;

    private final ManualTime time = new ManualTime(Instant.parse("2026-03-01T12:00:00Z"));
    private Connection other;
    private SqliteDatabase database;

    @BeforeEach
    void open() throws SQLException {
        Path file = folder.resolve("store.db");
        database = new SqliteDatabase(file, time, new TestThreads());
        other = DriverManager.getConnection("jdbc:sqlite:" + file + "?journal_mode=WAL");
        try (Statement statement = other.createStatement()) {
            statement.execute("create table t (name text primary key)");
            statement.execute("create table child (parent text references t (name) deferrable initially deferred)");
        }
    }

    @AfterEach
    void close() throws SQLException {
        other.close();
        database.close();
    }

    /** As anybody else sees it. */
    private List<String> stored() throws SQLException {
        List<String> names = new ArrayList<>();
        try (Statement statement = other.createStatement();
                ResultSet rows = statement.executeQuery("select name from t order by name")) {
            while (rows.next()) {
                names.add(rows.getString(1));
            }
        }
        return names;
    }

    /** A call that waits for the writer, or for the end of its own work, when this returns. */
    private <T> FutureTask<T> called(Urgency urgency, Work<T> work) {
        FutureTask<T> task = new FutureTask<>(() -> database.write("write", urgency, work));
        Thread thread = Thread.ofPlatform().daemon().start(task);
        long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (thread.getState() != Thread.State.TIMED_WAITING) {
            assertTrue(System.nanoTime() < giveUp && thread.isAlive(), "it does not wait");
            Thread.onSpinWait();
        }
        return task;
    }

    private FutureTask<String> inserted(String name) {
        return called(Urgency.NORMAL, insert(name));
    }

    private static Work<String> insert(String name) {
        return session -> {
            session.one(INSERT, Params.of("name", name));
            return name;
        };
    }

    /** A write whose work stands still until it is let go; what is called meanwhile waits behind it. */
    private final class Gate {
        private final CountDownLatch begun = new CountDownLatch(1);
        private final CountDownLatch open = new CountDownLatch(1);
        final Future<String> answer;

        Gate(String name) {
            answer = called(Urgency.NORMAL, session -> {
                begun.countDown();
                try {
                    assertTrue(open.await(4, TimeUnit.SECONDS));
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                return insert(name).run(session);
            });
        }

        Gate begun() throws InterruptedException {
            assertTrue(begun.await(4, TimeUnit.SECONDS));
            return this;
        }

        void letGo() {
            open.countDown();
        }
    }

    private static <T> T answer(Future<T> future) throws Exception {
        return future.get(10, TimeUnit.SECONDS);
    }

    private static Throwable failure(Future<?> future) {
        return Objects.requireNonNull(assertThrows(ExecutionException.class, () -> future.get(10, TimeUnit.SECONDS))
                .getCause());
    }

    private static Kind kind(Future<?> future) {
        return assertInstanceOf(StoreException.class, failure(future)).kind();
    }

    @Test
    void nobodyIsAnsweredBeforeTheCommit() throws Exception {
        Gate first = new Gate("a").begun();
        FutureTask<Long> looking = called(
                Urgency.NORMAL,
                session -> session.one(COUNT, Params.none()).rows().getFirst().number("rows"));
        FutureTask<Long> refused = called(Urgency.NORMAL, session -> {
            session.rollbackOnly();
            return session.one(COUNT, Params.none()).rows().getFirst().number("rows");
        });
        FutureTask<String> failing = called(Urgency.NORMAL, session -> {
            throw new IllegalStateException("planted");
        });
        Gate last = new Gate("b");
        first.letGo();
        last.begun();
        for (Future<?> each : List.of(first.answer, looking, refused, failing)) {
            assertFalse(each.isDone(), "it has seen what is not stored");
        }
        assertEquals(List.of(), stored());
        last.letGo();
        assertEquals("a", answer(first.answer));
        assertEquals("b", answer(last.answer));
        assertEquals(1, answer(looking));
        assertEquals(1, answer(refused));
        assertTrue(String.valueOf(failure(failing).getMessage()).endsWith("planted"));
        assertEquals(List.of("a", "b"), stored());
    }

    @Test
    void oneThatFailsTakesBackWhatIsItsOwnAlone() throws Exception {
        Gate first = new Gate("a").begun();
        FutureTask<String> twice = called(Urgency.NORMAL, session -> {
            session.one(INSERT, Params.of("name", "b"));
            return insert("a").run(session);
        });
        FutureTask<String> broken = called(Urgency.NORMAL, session -> {
            session.one(INSERT, Params.of("name", "c"));
            throw new IllegalStateException("planted");
        });
        FutureTask<String> unwanted = called(Urgency.NORMAL, session -> {
            session.rollbackOnly();
            return insert("d").run(session);
        });
        FutureTask<String> last = inserted("e");
        first.letGo();
        assertEquals("a", answer(first.answer));
        assertEquals(Kind.BROKEN, kind(twice));
        assertTrue(String.valueOf(failure(broken).getMessage()).endsWith("planted"));
        assertEquals("d", answer(unwanted));
        assertEquals("e", answer(last));
        assertEquals(List.of("a", "e"), stored());
    }

    @Test
    void aCommitThatFailsFailsAll() throws Exception {
        Gate first = new Gate("a").begun();
        FutureTask<String> orphan = called(Urgency.NORMAL, session -> {
            session.one(INSERT_CHILD, Params.of("name", "nobody"));
            return "orphan";
        });
        FutureTask<String> broken = called(Urgency.NORMAL, session -> {
            throw new IllegalStateException("planted");
        });
        FutureTask<String> last = inserted("b");
        first.letGo();
        for (Future<?> each : List.of(first.answer, orphan, last)) {
            assertEquals(Kind.BROKEN, kind(each), "a violated constraint");
        }
        assertTrue(String.valueOf(failure(broken).getMessage()).endsWith("planted"));
        assertEquals(List.of(), stored());
        assertEquals("c", answer(inserted("c")));
        assertEquals(List.of("c"), stored());
    }

    @Test
    void whoLosesTheWholeTransactionFailsThoseBeforeAndNotThoseAfter() throws Exception {
        Gate first = new Gate("a").begun();
        FutureTask<String> second = inserted("b");
        FutureTask<String> fatal = called(Urgency.NORMAL, session -> {
            session.one(INSERT_OR_ROLLBACK, Params.of("name", "a"));
            return "a";
        });
        FutureTask<String> last = inserted("c");
        first.letGo();
        for (Future<?> each : List.of(first.answer, second, fatal)) {
            StoreException failure = assertInstanceOf(StoreException.class, failure(each));
            assertTrue(String.valueOf(failure.getMessage()).contains("UNIQUE"), failure::getMessage);
        }
        assertEquals("c", answer(last));
        assertEquals(List.of("c"), stored());
    }

    @Test
    void theirNumberIsBounded() throws Exception {
        Gate first = new Gate("a").begun();
        List<FutureTask<String>> those = new ArrayList<>();
        for (int i = 2; i <= SqliteDatabase.MOST_TOGETHER; i++) {
            those.add(inserted("n" + i));
        }
        Gate next = new Gate("z");
        first.letGo();
        next.begun();
        for (Future<String> each : those) {
            answer(each);
        }
        assertEquals(SqliteDatabase.MOST_TOGETHER, stored().size());
        next.letGo();
        answer(next.answer);
    }

    @Test
    void soIsTheTimeForWhichTheLockIsKept() throws Exception {
        Gate first = new Gate("a").begun();
        FutureTask<String> slow = called(Urgency.NORMAL, session -> {
            time.pass(Duration.ofMillis(SqliteDatabase.LONGEST_TOGETHER_MILLIS));
            return insert("b").run(session);
        });
        Gate next = new Gate("z");
        first.letGo();
        next.begun();
        answer(slow);
        assertEquals(List.of("a", "b"), stored());
        next.letGo();
        answer(next.answer);
    }

    @Test
    void whoIsUrgentGoesFirstAndWaitsForNobodyWhoIsNot() throws Exception {
        Gate first = new Gate("a").begun();
        Gate ordinary = new Gate("z");
        List<FutureTask<String>> urgent =
                List.of(called(Urgency.URGENT, insert("u1")), called(Urgency.URGENT, insert("u2")));
        first.letGo();
        ordinary.begun();
        for (Future<String> each : urgent) {
            answer(each);
        }
        assertEquals(List.of("a", "u1", "u2"), stored());
        ordinary.letGo();
        answer(ordinary.answer);
    }
}
