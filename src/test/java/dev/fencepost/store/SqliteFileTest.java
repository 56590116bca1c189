package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.host.ManualTime;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.TestThreads;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView.State;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.Backlog;
import dev.fencepost.schedule.Slot;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is peculiar to SQLite: the boot clock, and one writer among several processes. */
class SqliteFileTest {

    private static final Owner ANNA = new Owner("anna");
    private static final Owner BEN = new Owner("ben");
    private static final Duration TTL = Duration.ofMinutes(10);
    private static final Completion SUCCESS = new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null);

    @TempDir
    private Path folder;

    private SqliteSite site;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    @BeforeEach
    void open() {
        site = new SqliteSite(folder);
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
        threads.close();
        site.close();
    }

    private Lease granted(String resource) {
        return assertInstanceOf(Claim.Granted.class, site.store().claim(resource, ANNA, StoreContract.newRun(), TTL))
                .lease();
    }

    @Nested
    class BootClock {

        @Test
        void aFolderThatIsMadeForItIsItsOwnersAlone() throws Exception {
            Path made = folder.resolve("above/state");
            JdbcStore.sqlite(made.resolve("fencepost.db"), new ManualTime(Instant.EPOCH), new TestThreads())
                    .close();
            assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(made)));
        }

        @Test
        void aFileThatIsMadeIsForNobodyOutsideOwnerAndGroup() throws Exception {
            for (String name : List.of("open", "what?open")) {
                Path open = Files.createDirectory(folder.resolve(name));
                Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxr-xr-x"));
                Path file = open.resolve("f.db");
                JdbcStore store = JdbcStore.sqlite(file, new ManualTime(Instant.EPOCH), new TestThreads());
                store.prepare();
                for (String each : List.of("f.db", "f.db-wal", "f.db-shm")) {
                    String rights = PosixFilePermissions.toString(Files.getPosixFilePermissions(open.resolve(each)));
                    assertTrue(rights.startsWith("rw-") && rights.endsWith("---"), each + " " + rights);
                }
                store.close();
            }
        }

        @Test
        void afterARebootEveryEarlierLeaseIsDead() {
            Job job = StoreContract.job("j");
            site.store().register(List.of(job));
            Lease lease = granted("r");
            Lease run = assertInstanceOf(
                            Start.Started.class,
                            site.store().start(job, Slot.at(site.store().now()), ANNA, StoreContract.newRun(), false))
                    .lease();
            site.time.reboot("boot-2", 10); // far below the ends of both

            assertEquals(State.EXPIRED, site.store().inspect("r").state());
            assertEquals(new Renewal.Lost(Refusal.EXPIRED), site.store().renew(lease, TTL));
            assertEquals(new Completed.Refused(Refusal.EXPIRED), site.store().complete(run, SUCCESS));
            assertNull(site.store().situation("j").backlog().held());
            Claim.Granted next =
                    assertInstanceOf(Claim.Granted.class, site.store().claim("r", BEN, StoreContract.newRun(), TTL));
            assertEquals(2, next.lease().fence().value());
            assertEquals(List.of(Outcome.ABANDONED), outcomes(site.store().abandon(run, false)));
        }

        private List<Outcome> outcomes(List<Attempt> attempts) {
            return attempts.stream().map(Attempt::outcome).toList();
        }

        @Test
        void aWallClockThatIsSetHarmsNoLeaseAndRevivesNone() {
            Lease lease = granted("r");
            site.time.setWallClock(site.time.wallClock().plus(Duration.ofDays(1)));
            assertInstanceOf(Claim.Held.class, site.store().claim("r", BEN, StoreContract.newRun(), TTL));
            assertInstanceOf(Renewal.Renewed.class, site.store().renew(lease, TTL));
            assertEquals(
                    site.time.wallClock().plus(TTL), site.store().inspect("r").expiresAt());

            site.time.setWallClock(site.time.wallClock().minus(Duration.ofDays(2)));
            assertEquals(
                    site.time.wallClock().plus(TTL),
                    site.store().inspect("r").expiresAt(),
                    "people are shown how long it really lasts");
            site.pass(TTL);
            assertEquals(State.EXPIRED, site.store().inspect("r").state());
            assertEquals(new Renewal.Lost(Refusal.EXPIRED), site.store().renew(lease, TTL));
        }

        /** What came due since the grant is measured by the boot clock, whatever the wall clock was set to. */
        @Test
        void theGrantThatOverlapsAreMeasuredByMovesWithTheWallClock() {
            Job job = StoreContract.job("j");
            site.store().register(List.of(job));
            site.store().start(job, Slot.at(site.store().now()), ANNA, StoreContract.newRun(), false);
            site.pass(Duration.ofMinutes(3));
            site.time.setWallClock(site.time.wallClock().plus(Duration.ofHours(5)));
            Backlog backlog = site.store().situation("j").backlog();
            assertEquals(
                    backlog.now().minus(Duration.ofMinutes(3)), backlog.held().grantedAt());
        }
    }

    @Nested
    class Durability {

        @Test
        void theFileIsInWalMode() throws SQLException {
            try (Connection connection = site.connect()) {
                assertEquals(
                        "wal",
                        Site.rows(connection, "pragma journal_mode").getFirst().getFirst());
            }
        }

        /** FULL: with NORMAL, WAL may lose acknowledged commits at power loss, and a token would be granted twice. */
        @Test
        void grantsAreCommittedWithFullSync() {
            site.sql("create table setting (synchronous integer)");
            site.sql("create trigger note after update on lease begin"
                    + " insert into setting select synchronous from pragma_synchronous; end");
            granted("r");
            assertEquals(List.of(List.of("2")), site.rows("select distinct synchronous from setting"));
        }

        @Test
        void everythingIsReadFromTheFile() {
            Lease lease = granted("r");
            try (JdbcStore later = site.open()) {
                assertEquals(lease, later.inspect("r").lease());
                assertInstanceOf(Renewal.Renewed.class, later.renew(lease, TTL));
            }
        }

        @Test
        void aNewFileAndItsFolderAreMadeAndPreparingMayBeRepeated() {
            Path file = folder.resolve("new").resolve("fresh.db");
            try (JdbcStore first = JdbcStore.sqlite(file, site.time, new TestThreads());
                    JdbcStore second = JdbcStore.sqlite(file, site.time, new TestThreads())) {
                first.prepare();
                first.prepare();
                second.prepare();
                second.check();
            }
            assertTrue(Files.exists(file));
        }
    }

    /** Another process holds the write lock. */
    @Nested
    class BusyWriter {

        private Connection lock() throws SQLException {
            Connection connection = site.connect();
            try (Statement statement = connection.createStatement()) {
                statement.execute("begin immediate");
            }
            return connection;
        }

        private static void unlock(Connection connection) throws SQLException {
            try (connection;
                    Statement statement = connection.createStatement()) {
                statement.execute("rollback");
            }
        }

        @Test
        void aWriteWaitsForItsEnd() throws Exception {
            Lease lease = granted("r");
            Connection busy = lock();
            Future<Renewal> renewal = threads.submit(() -> site.store().renew(lease, TTL));
            assertThrows(TimeoutException.class, () -> renewal.get(400, TimeUnit.MILLISECONDS));
            unlock(busy);
            assertInstanceOf(Renewal.Renewed.class, renewal.get(5, TimeUnit.SECONDS));
        }

        /** S11: the clock is read once the lock is held, not before. */
        @Test
        void aRenewalThatWaitedPastTheEndIsRefused() throws Exception {
            Lease lease = granted("r");
            Connection busy = lock();
            Future<Renewal> renewal = threads.submit(() -> site.store().renew(lease, TTL));
            assertThrows(TimeoutException.class, () -> renewal.get(100, TimeUnit.MILLISECONDS));
            site.pass(TTL);
            unlock(busy);
            assertEquals(new Renewal.Lost(Refusal.EXPIRED), renewal.get(5, TimeUnit.SECONDS));
        }

        @Test
        void theEndOfAGrantCountsFromAfterTheWait() throws Exception {
            site.store().release(granted("r")); // so that a claim of it is one call
            Connection busy = lock();
            Future<Claim> claim = threads.submit(() -> site.store().claim("r", BEN, StoreContract.newRun(), TTL));
            assertThrows(TimeoutException.class, () -> claim.get(100, TimeUnit.MILLISECONDS));
            site.pass(TTL);
            unlock(busy);
            Lease lease = assertInstanceOf(Claim.Granted.class, claim.get(5, TimeUnit.SECONDS))
                    .lease();
            assertEquals(site.time.wallClock().plus(TTL), lease.expiresAt());
        }

        @Test
        void aRenewalGivesUpEarlyAndNothingIsWrittenLater() throws Exception {
            Lease lease = granted("r");
            String before = site.rows("select * from lease").toString();
            Connection busy = lock();
            long began = System.nanoTime();
            try {
                StoreException failure =
                        assertThrows(StoreException.class, () -> site.store().renew(lease, TTL));
                assertEquals(Kind.UNAVAILABLE, failure.kind());
                Duration took = Duration.ofNanos(System.nanoTime() - began);
                assertTrue(took.compareTo(Duration.ofMillis(2_500)) < 0, "took " + took);
            } finally {
                unlock(busy);
            }
            granted("another"); // through the same queue: what was given up before it would be written before it
            assertEquals(
                    before,
                    site.rows("select * from lease where resource = 'r'").toString());
            assertInstanceOf(Renewal.Renewed.class, site.store().renew(lease, TTL));
        }

        /** DBF-06, L2: reads go on, and no completion is lost. */
        @Test
        void readsGoOnMeanwhile() throws Exception {
            Lease lease = granted("r");
            Connection busy = lock();
            try {
                assertEquals(lease, site.store().inspect("r").lease());
                assertEquals(1, site.store().list(10).size());
            } finally {
                unlock(busy);
            }
        }

        /** L2: renewals and completions go first, whoever came before them. */
        @Test
        void renewalsAndCompletionsGoFirst() throws Exception {
            Job job = StoreContract.job("j");
            Lease run = assertInstanceOf(
                            Start.Started.class,
                            site.store().start(job, Slot.at(site.store().now()), ANNA, StoreContract.newRun(), false))
                    .lease();
            Lease lease = granted("r");
            List<String> others =
                    IntStream.range(0, 5).mapToObj(i -> "claim " + i).toList();
            others.forEach(resource -> site.store().release(granted(resource)));
            List<String> order = new CopyOnWriteArrayList<>();
            Connection busy = lock();
            List<Future<?>> waiting = new ArrayList<>();
            for (String resource : others) {
                waiting.add(threads.submit(() -> {
                    site.store().claim(resource, BEN, StoreContract.newRun(), TTL);
                }));
            }
            letThemQueue();
            waiting.add(threads.submit(() -> site.store().renew(lease, TTL)));
            letThemQueue();
            waiting.add(threads.submit(() -> site.store().complete(run, SUCCESS)));
            letThemQueue();
            try (Statement statement = busy.createStatement()) {
                statement.execute("create table written (id integer primary key, resource text)");
                statement.execute("create trigger note_insert after insert on lease begin"
                        + " insert into written (resource) values (new.resource); end");
                statement.execute("create trigger note_update after update on lease begin"
                        + " insert into written (resource) values (new.resource); end");
                statement.execute("commit"); // only now can the writer take its first turn
            } finally {
                busy.close();
            }
            for (Future<?> each : waiting) {
                each.get(10, TimeUnit.SECONDS);
            }
            site.rows("select resource from written order by id").forEach(row -> order.add(row.getFirst()));
            assertEquals(List.of("r", "j"), order.subList(0, 2));
        }

        private static void letThemQueue() throws InterruptedException {
            Thread.sleep(150); // nothing outside the store shows its queue; the calls only have to reach it
        }
    }

    @Test
    void aClosedStoreAnswersThatItIsUnavailable() {
        JdbcStore store = site.open();
        store.check();
        store.close();
        StoreException failure = assertThrows(StoreException.class, store::check);
        assertEquals(Kind.UNAVAILABLE, failure.kind());
    }

    /** A call that is waiting when its thread is interrupted ends at once, and says whether the write may come. */
    @Test
    void anInterruptedCallEndsAtOnce() throws Exception {
        Lease lease = granted("r");
        try (Connection busy = site.connect();
                Statement statement = busy.createStatement()) {
            statement.execute("begin immediate");
            List<StoreException> failures = new CopyOnWriteArrayList<>();
            Spawner.Task task = new TestThreads().virtualThread("caller", () -> {
                try {
                    site.store().renew(lease, TTL);
                } catch (StoreException e) {
                    failures.add(e);
                }
            });
            task.interrupt();
            assertTrue(task.join(Duration.ofSeconds(5)));
            assertEquals(Kind.UNAVAILABLE, failures.getFirst().kind());
            statement.execute("rollback");
        }
        assertEquals(lease, site.store().inspect("r").lease());
    }

    @Test
    void aFileThatCannotBeOpenedMakesTheStoreUnavailable() throws Exception {
        Path directory = Files.createDirectory(folder.resolve("not-a-file.db"));
        ManualTime time = site.time;
        try (JdbcStore store = JdbcStore.sqlite(directory, time, new TestThreads())) {
            StoreException failure = assertThrows(StoreException.class, store::check);
            assertEquals(Kind.UNAVAILABLE, failure.kind());
        }
    }

    @Test
    void aFailureDoesNotStopTheWriter() {
        site.sql("create trigger planted before update on lease when new.resource = 'bad' begin"
                + " select raise(abort, 'planted fault'); end");
        for (int i = 0; i < 3; i++) {
            assertThrows(StoreException.class, () -> site.store().claim("bad", BEN, StoreContract.newRun(), TTL));
        }
        assertFalse(
                site.store().list(10).stream().anyMatch(view -> view.resource().equals("bad")));
        granted("good");
    }
}
