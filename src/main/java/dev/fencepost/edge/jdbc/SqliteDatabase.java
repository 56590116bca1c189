package dev.fencepost.edge.jdbc;

import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import io.agroal.api.AgroalDataSource;
import io.agroal.api.configuration.supplier.AgroalDataSourceConfigurationSupplier;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.flywaydb.core.api.FlywayException;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteConnection;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/**
 * SQLite in one file of this host. All writes go through one platform thread, since native calls pin their carrier: renewals and
 * completions first, and never longer than {@value #BUSY_MILLIS} ms in native code while another process has the write lock.
 *
 * <p>The write lock is taken (BEGIN IMMEDIATE) <em>before</em> the next piece of work is chosen and before the clock is read, so that
 * nothing is decided by a time from before the wait.
 *
 * <p>Pieces of work that wait at the same time share a COMMIT, since that is what takes long: each runs in a savepoint of its own, so
 * that one which fails takes back what is its own alone, and none is answered before the COMMIT, not even with a "no": it may have seen
 * what its neighbours have not stored yet. If the COMMIT fails, all of them have failed.
 */
final class SqliteDatabase implements Database {

    private static final int BUSY_MILLIS = 250;
    private static final int MAX_READERS = 4;
    private static final Duration URGENT_WAIT = Duration.ofMillis(1_500);
    private static final Duration NORMAL_WAIT = Duration.ofSeconds(10);

    /** How long another process may take to bring the schema up to date. */
    private static final Duration MIGRATION_WAIT = Duration.ofSeconds(30);

    private static final Duration MIGRATION_LOOK = Duration.ofMillis(100);

    /** With less than this the next transactions fail. */
    private static final long LEAST_FREE_BYTES = 256 << 10;

    /** How many pieces of work share a COMMIT at most, and how long the lock is kept for further ones: other processes wait for it. */
    static final int MOST_TOGETHER = 16;

    static final long LONGEST_TOGETHER_MILLIS = 20;

    /** How long a piece of work that has begun is waited for, beyond its turn. */
    private static final Duration LONGEST_WORK = Duration.ofSeconds(5);

    private final Path file;
    private final Time time;
    private final Dialect dialect;
    private final Session.Prepared prepared;
    private final AgroalDataSource writer;
    private final AgroalDataSource readers;

    /** By the driver's own connection, since the pool gives out a new cover of it each time. They end with it. */
    private final Map<Connection, Statements.Kept> readStatements = new ConcurrentHashMap<>();

    private final PriorityBlockingQueue<Turn<?>> queue = new PriorityBlockingQueue<>(
            16, Comparator.<Turn<?>, Urgency>comparing(turn -> turn.urgency).thenComparing(turn -> turn.number));
    private final AtomicLong numbers = new AtomicLong();
    private final Spawner.Task writing;
    private volatile boolean closed;

    SqliteDatabase(Path file, Time time, Spawner spawner) {
        this.file = file;
        this.time = time;
        this.dialect = new Dialect.Sqlite(time);
        this.prepared = new Session.Prepared(dialect);
        try {
            makeFolder(file.toAbsolutePath().getParent());
            makeFile(file);
            writer = pool(file, 1);
            readers = pool(file, MAX_READERS);
        } catch (IOException | SQLException e) {
            throw new StoreException(Kind.BROKEN, describe() + ": " + e, e);
        }
        this.writing = spawner.platformThread("sqlite-writer", this::writeLoop);
    }

    /** Its owner's alone, as the state directory is, which it often becomes: the store holds what runs have said. */
    private static void makeFolder(@Nullable Path folder) throws IOException {
        if (folder == null || Files.isDirectory(folder)) {
            return;
        }
        if (folder.getParent() != null) {
            Files.createDirectories(folder.getParent());
        }
        try {
            Files.createDirectory(
                    folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (FileAlreadyExistsException anotherProcess) {
            // was faster; what it is shows when the file is opened
        }
    }

    /** For nobody outside owner and group, in a folder that everyone may look into too; the files beside it get the same rights from SQLite. */
    private static void makeFile(Path file) {
        if (Files.exists(file)) {
            return;
        }
        try {
            Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-rw----")));
        } catch (IOException e) {
            // another process was faster, or it cannot be made: then SQLite says so when it opens the file
        }
    }

    private static AgroalDataSource pool(Path file, int size) throws SQLException {
        // Not behind the file in its address, where a name with a question mark in it would be cut.
        return AgroalDataSource.from(new AgroalDataSourceConfigurationSupplier()
                .connectionPoolConfiguration(pool -> pool.maxSize(size)
                        .acquisitionTimeout(Duration.ofSeconds(5))
                        .connectionFactoryConfiguration(factory -> factory.jdbcUrl("jdbc:sqlite:" + file)
                                .connectionProviderClassName("org.sqlite.JDBC")
                                .jdbcProperty("journal_mode", "WAL")
                                .jdbcProperty("synchronous", "FULL")
                                .jdbcProperty("foreign_keys", "true")
                                .jdbcProperty("busy_timeout", String.valueOf(BUSY_MILLIS))
                                // Else the driver searches every statement for an insert, to answer a question that
                                // nobody asks.
                                .jdbcProperty("jdbc.get_generated_keys", "false")
                                .trackJdbcResources(false))));
    }

    /** One piece of work in the writer's queue. */
    private static final class Turn<T> {
        static final int WAITING = 0;
        static final int BEGUN = 1;
        static final int GIVEN_UP = 2;

        final String operation;
        final Urgency urgency;
        final long number;
        final Work<T> work;
        final CompletableFuture<T> result = new CompletableFuture<>();
        final AtomicInteger state = new AtomicInteger(WAITING);

        /** What is told after the COMMIT. */
        private Runnable answer = () -> {};

        private boolean failed;

        Turn(String operation, Urgency urgency, long number, Work<T> work) {
            this.operation = operation;
            this.urgency = urgency;
            this.number = number;
            this.work = work;
        }

        /** @return whether what it wrote is to stay */
        boolean run(Session session) throws SQLException {
            T done = work.run(session);
            answer = () -> result.complete(done);
            return !session.isRollbackOnly();
        }

        /** What is told first stays. */
        void fail(Throwable reason) {
            if (!failed) {
                failed = true;
                answer = () -> result.completeExceptionally(reason);
            }
        }

        void tell() {
            answer.run();
        }
    }

    /** The writer's connection, kept by its thread. */
    private static final class Writing implements AutoCloseable {
        final Connection connection;
        final Statements.Kept statements;

        Writing(Connection connection) {
            this.connection = connection;
            this.statements = new Statements.Kept(connection);
        }

        void run(String sql) throws SQLException {
            statements.run(sql, PreparedStatement::execute);
        }

        void rollback(Throwable reason) {
            try {
                run("rollback");
            } catch (SQLException alreadyRolledBack) {
                reason.addSuppressed(alreadyRolledBack);
            }
        }

        @Override
        public void close() throws SQLException {
            try (connection) {
                statements.close();
            }
        }
    }

    @Override
    public List<Session.Answer> readAtOnce(String operation, Sql sql, Params params) {
        return read(operation, session -> session.run(sql, params));
    }

    @Override
    public List<Session.Answer> writeAtOnce(String operation, Urgency urgency, Sql sql, Params params) {
        return write(operation, urgency, session -> session.run(sql, params));
    }

    @Override
    public <T> T write(String operation, Urgency urgency, Work<T> work) {
        if (closed) {
            throw new StoreException(Kind.UNAVAILABLE, operation + ": the store is closed", null);
        }
        Turn<T> turn = new Turn<>(operation, urgency, numbers.incrementAndGet(), work);
        queue.add(turn);
        Duration wait = urgency == Urgency.URGENT ? URGENT_WAIT : NORMAL_WAIT;
        try {
            try {
                return turn.result.get(wait.toMillis(), TimeUnit.MILLISECONDS);
            } catch (TimeoutException notYet) {
                if (turn.state.compareAndSet(Turn.WAITING, Turn.GIVEN_UP)) {
                    queue.remove(turn);
                    throw new StoreException(
                            Kind.UNAVAILABLE,
                            operation + ": " + describe() + " is locked by another process for more than " + wait,
                            null);
                }
                return turn.result.get(LONGEST_WORK.toMillis(), TimeUnit.MILLISECONDS);
            }
        } catch (TimeoutException hanging) {
            throw new StoreException(
                    Kind.AMBIGUOUS, operation + ": " + describe() + " did not end within " + LONGEST_WORK, hanging);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            boolean never = turn.state.compareAndSet(Turn.WAITING, Turn.GIVEN_UP);
            throw new StoreException(
                    never ? Kind.UNAVAILABLE : Kind.AMBIGUOUS, operation + ": interrupted while it waited", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof StoreException failure) {
                throw failure;
            }
            throw new StoreException(Kind.BROKEN, operation + ": " + e.getCause(), e.getCause());
        }
    }

    @Override
    public <T> T readPatiently(String operation, Work<T> work) {
        return read(operation, work);
    }

    /** On a connection of its own, with the write lock from the beginning: others wait for it, or give up by their own limits. */
    @Override
    public <T> T writePatiently(String operation, Work<T> work) {
        try (AgroalDataSource own = pool(file, 1);
                Writing whole = new Writing(own.getConnection())) {
            return alone(operation, work, whole);
        } catch (SQLException e) {
            throw failure(operation, e, false);
        }
    }

    private <T> T alone(String operation, Work<T> work, Writing whole) throws SQLException {
        begin(operation, whole);
        boolean committing = false;
        try {
            Session session = new Session(whole.statements, dialect, prepared);
            T result = work.run(session);
            committing = true;
            whole.run(session.isRollbackOnly() ? "rollback" : "commit");
            return result;
        } catch (SQLException e) {
            whole.rollback(e);
            throw failure(operation, e, committing);
        } catch (RuntimeException | Error e) {
            whole.rollback(e);
            throw e;
        }
    }

    private void begin(String operation, Writing whole) throws SQLException {
        long end = time.bootMillis() + NORMAL_WAIT.toMillis();
        while (true) {
            try {
                whole.run("begin immediate");
                return;
            } catch (SQLException e) {
                if (!isBusy(e) || time.bootMillis() >= end) {
                    throw failure(operation, e, false);
                }
            }
        }
    }

    /**
     * Copies what is committed at one moment, while others read and write.
     *
     * @param copy empty, or not there yet
     * @return what is damaged in the copy, in SQLite's words; empty for nothing
     */
    List<String> copyTo(Path copy) {
        String operation = "backup";
        try {
            try (Connection connection = readers.getConnection();
                    PreparedStatement statement = connection.prepareStatement("vacuum into ?")) {
                statement.setString(1, copy.toString());
                statement.execute();
            }
            try (AgroalDataSource own = pool(copy, 1); // sets WAL mode, in which every other command expects it
                    Connection connection = own.getConnection();
                    PreparedStatement statement = connection.prepareStatement("pragma integrity_check(10)");
                    ResultSet rows = statement.executeQuery()) {
                List<String> damage = new ArrayList<>();
                while (rows.next()) {
                    damage.add(rows.getString(1));
                }
                damage.remove("ok");
                return damage;
            }
        } catch (SQLException e) {
            throw failure(operation, e, false);
        }
    }

    private void writeLoop() {
        @Nullable Writing open = null;
        while (!closed) {
            try {
                Turn<?> first = queue.take();
                queue.add(first); // only to know that there is work; whose turn it is shows once the lock is held
                if (open == null) {
                    open = new Writing(writer.getConnection());
                }
                writeNext(open);
            } catch (InterruptedException e) {
                break;
            } catch (SQLException e) {
                failAll(e);
                close(open);
                open = null;
            } catch (RuntimeException
                    | Error e) { // a full heap, say: without this thread nothing would be written again
                failAll(new SQLException(e.toString(), e));
                close(open);
                open = null;
            }
        }
        close(open);
    }

    private void close(@Nullable Writing open) {
        try {
            if (open != null) {
                open.close();
            }
        } catch (SQLException e) {
            failAll(e);
        }
    }

    /** @throws SQLException if the database cannot be locked at all; nobody had a turn then */
    private void writeNext(Writing open) throws SQLException {
        try {
            open.run("begin immediate");
        } catch (SQLException e) {
            if (kind(e, false) == Kind.UNAVAILABLE && isBusy(e)) {
                return; // those who wait decide by their own time limits
            }
            throw e;
        }
        List<Turn<?>> together = new ArrayList<>();
        boolean committing = false;
        try {
            long end = time.bootMillis() + LONGEST_TOGETHER_MILLIS;
            Turn<?> turn = next(together);
            while (turn != null) {
                together.add(turn);
                carryOut(turn, open);
                boolean more = together.size() < MOST_TOGETHER && time.bootMillis() < end;
                turn = more ? next(together) : null;
            }
            committing = true;
            open.run("commit");
        } catch (SQLException e) {
            open.rollback(e);
            for (Turn<?> each : together) {
                each.fail(failure(each.operation, e, committing));
            }
        } catch (RuntimeException | Error e) {
            open.rollback(e);
            together.forEach(each -> each.fail(e));
        } finally {
            together.forEach(Turn::tell);
        }
    }

    /** Whose turn it is; null if nobody waits, or if somebody urgent would have to wait for somebody who is not. */
    private @Nullable Turn<?> next(List<Turn<?>> together) {
        boolean urgent = !together.isEmpty() && together.getLast().urgency == Urgency.URGENT;
        for (Turn<?> turn = queue.poll(); turn != null; turn = queue.poll()) {
            if (urgent && turn.urgency != Urgency.URGENT) {
                queue.add(turn);
                return null;
            }
            if (turn.state.compareAndSet(Turn.WAITING, Turn.BEGUN)) {
                return turn;
            }
        }
        return null;
    }

    /** @throws SQLException if more is lost than this piece of work: SQLite itself rolls back the whole on a full disk, say */
    private void carryOut(Turn<?> turn, Writing open) throws SQLException {
        open.run("savepoint turn");
        boolean stays = false;
        @Nullable SQLException reason = null;
        try {
            stays = turn.run(new Session(open.statements, dialect, prepared));
        } catch (SQLException e) {
            reason = e;
            turn.fail(failure(turn.operation, e, false));
        } catch (RuntimeException | Error e) {
            turn.fail(e);
        }
        try {
            if (!stays) {
                open.run("rollback to turn");
            }
            open.run("release turn");
        } catch (SQLException e) {
            if (reason == null) {
                throw e;
            }
            reason.addSuppressed(e);
            throw reason;
        }
    }

    /** The database cannot be opened or locked at all: everyone who waits is told, since trying on would keep the thread spinning. */
    private void failAll(SQLException e) {
        for (Turn<?> turn = queue.poll(); turn != null; turn = queue.poll()) {
            if (turn.state.compareAndSet(Turn.WAITING, Turn.BEGUN)) {
                turn.result.completeExceptionally(failure(turn.operation, e, false));
            }
        }
    }

    @Override
    public <T> T read(String operation, Work<T> work) {
        try (Connection connection = readers.getConnection()) {
            Statements statements =
                    readStatements.computeIfAbsent(connection.unwrap(SQLiteConnection.class), Statements.Kept::new);
            statements.run("begin", PreparedStatement::execute);
            try {
                return work.run(new Session(statements, dialect, prepared));
            } finally {
                statements.run("rollback", PreparedStatement::execute);
            }
        } catch (SQLException e) {
            throw failure(operation, e, false);
        }
    }

    private StoreException failure(String operation, SQLException e, boolean committing) {
        return new StoreException(kind(e, committing), operation + ": " + describe() + ": " + e.getMessage(), e);
    }

    private static Kind kind(SQLException e, boolean committing) {
        if (!(e instanceof SQLiteException sqlite)) {
            return Kind.UNAVAILABLE; // Agroal could not give a connection
        }
        String code = sqlite.getResultCode().name();
        if (code.startsWith("SQLITE_IOERR")) {
            return committing ? Kind.AMBIGUOUS : Kind.UNAVAILABLE;
        }
        boolean passing = code.startsWith("SQLITE_BUSY")
                || code.startsWith("SQLITE_LOCKED")
                || code.startsWith("SQLITE_CANTOPEN")
                || code.startsWith("SQLITE_READONLY")
                || code.equals("SQLITE_NOMEM")
                || code.equals("SQLITE_INTERRUPT")
                || code.equals("SQLITE_FULL");
        return passing ? Kind.UNAVAILABLE : Kind.BROKEN;
    }

    private static boolean isBusy(SQLException e) {
        return e instanceof SQLiteException sqlite
                && sqlite.getResultCode().name().startsWith(SQLiteErrorCode.SQLITE_BUSY.name());
    }

    /** Two processes may start at once on a new file; Flyway has no lock of its own for SQLite. */
    @Override
    public void migrate() {
        if (Migrations.areApplied(readers)) {
            return;
        }
        Path lockFile = file.resolveSibling(file.getFileName() + ".migrate.lock");
        try (FileChannel channel = FileChannel.open(lockFile, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock lock = lock(channel, lockFile)) {
            Migrations.apply(readers, "db/sqlite");
        } catch (IOException | FlywayException e) {
            throw new StoreException(Kind.UNAVAILABLE, "migration of " + describe() + ": " + Migrations.reason(e), e);
        }
    }

    private FileLock lock(FileChannel channel, Path lockFile) throws IOException {
        long end = time.bootMillis() + MIGRATION_WAIT.toMillis();
        while (true) {
            FileLock lock = tryLock(channel);
            if (lock != null) {
                return lock;
            }
            if (time.bootMillis() >= end) {
                throw new StoreException(
                        Kind.UNAVAILABLE,
                        "migration of " + describe() + ": another process has held " + lockFile + " for more than "
                                + MIGRATION_WAIT.toSeconds()
                                + " s. It brings the schema up to date, or it hangs; fuser "
                                + lockFile + " names it",
                        null);
            }
            try {
                time.sleep(MIGRATION_LOOK);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new StoreException(Kind.UNAVAILABLE, "migration of " + describe() + ": interrupted", e);
            }
        }
    }

    private static @Nullable FileLock tryLock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock();
        } catch (OverlappingFileLockException byThisProcess) {
            return null;
        }
    }

    @Override
    public void checkRoom() {
        Path folder = file.toAbsolutePath().resolveSibling("");
        if (!Files.isDirectory(folder)) {
            throw new StoreException(Kind.UNAVAILABLE, describe() + ": its folder is not there", null);
        }
        // Not by its FileStore, which looks for a mount point: in a plain chroot there may be none.
        long free = folder.toFile().getUsableSpace();
        if (free < LEAST_FREE_BYTES) {
            throw new StoreException(
                    Kind.UNAVAILABLE, describe() + ": the disk is full, " + free + " bytes are left", null);
        }
    }

    @Override
    public String describe() {
        return "sqlite:" + file;
    }

    @Override
    public void close() {
        closed = true;
        writing.interrupt();
        try {
            writing.join(LONGEST_WORK);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        writer.close();
        readers.close();
        @Nullable Turn<?> left = queue.poll();
        while (left != null) {
            left.result.completeExceptionally(
                    new StoreException(Kind.UNAVAILABLE, left.operation + ": the store is closed", null));
            left = queue.poll();
        }
    }
}
