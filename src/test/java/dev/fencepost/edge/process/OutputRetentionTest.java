package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.process.OutputRetention.Limits;
import dev.fencepost.edge.process.OutputRetention.Removed;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Outcome;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OutputRetentionTest {

    private static final Instant NOW = Instant.parse("2026-03-29T01:00:00Z");
    private static final Limits LIMITS = new Limits(Duration.ofDays(30), 2, 1_000_000);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path dir;

    @SuppressWarnings("NullAway.Init")
    private RunFolders folders;

    private final List<Attempt> stored = new ArrayList<>();

    @BeforeEach
    void setUp() {
        folders = new RunFolders(dir);
    }

    /** A run that ended so many days ago, or never where the outcome is null. */
    private Path ran(String job, int daysAgo, @Nullable Outcome outcome, int bytes) throws IOException {
        return ran(job, daysAgo, outcome, bytes, new RunId(UUID.randomUUID()));
    }

    private Path ran(String job, int daysAgo, @Nullable Outcome outcome, int bytes, RunId runId) throws IOException {
        Instant at = NOW.minus(Duration.ofDays(daysAgo));
        Slot slot = Slot.at(at);
        Path log = folders.prepare(job, slot, 1, runId).log();
        Files.write(log, new byte[bytes]);
        stored.add(new Attempt(
                runId,
                job,
                slot.key(),
                1,
                new FencingToken(1),
                new Owner("anna"),
                at,
                outcome == null ? null : at,
                outcome,
                0,
                null,
                null));
        Path folder = log.getParent();
        assertTrue(folder != null);
        return folder;
    }

    /** Of a run that the store has forgotten. */
    private Path forgotten(String job, int daysAgo, int bytes) throws IOException {
        Path folder = ran(job, daysAgo, Outcome.SUCCEEDED, bytes);
        stored.removeLast();
        FileTime then = FileTime.from(NOW.minus(Duration.ofDays(daysAgo)));
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.toList()) {
                Files.setLastModifiedTime(file, then);
            }
        }
        return folder;
    }

    private OutputRetention retention(Limits limits, OutputRetention.Attempts attempts) {
        SystemTime time = new SystemTime();
        return new OutputRetention(
                dir, limits, attempts, new OsPrograms(time, new SystemThreads(event -> {})), InstantSource.fixed(NOW));
    }

    private Removed remove(Limits limits, int most) throws IOException, InterruptedException {
        return retention(
                        limits,
                        job -> stored.stream()
                                .filter(attempt -> attempt.job().equals(job))
                                .toList())
                .removeBatch(most);
    }

    private Removed remove() throws IOException, InterruptedException {
        return remove(LIMITS, 1_000);
    }

    @Test
    void whatIsOldGoesButForTheNewestOfEachJob() throws Exception {
        Path oldest = ran("a", 100, Outcome.SUCCEEDED, 10);
        Path old = ran("a", 31, Outcome.FAILED, 20);
        Path second = ran("a", 31, Outcome.FAILED, 30).getParent();
        Path young = ran("a", 29, Outcome.SUCCEEDED, 40);
        Path only = ran("b", 500, Outcome.SUCCEEDED, 50);
        Removed removed = remove(new Limits(Duration.ofDays(30), 1, 1_000_000), 1_000);
        assertEquals(new Removed(3, 60, true, List.of()), removed);
        assertFalse(Files.exists(oldest.getParent()), "the slot's folder goes with its last attempt");
        assertFalse(Files.exists(old));
        assertFalse(Files.exists(second));
        assertTrue(Files.exists(young));
        assertTrue(Files.exists(only));
        assertEquals(new Removed(0, 0, true, List.of()), remove());
    }

    @Test
    void batchesAreSmallAndOldestFirst() throws Exception {
        Path first = ran("a", 100, Outcome.SUCCEEDED, 1);
        Path second = ran("b", 99, Outcome.SUCCEEDED, 1);
        Limits none = new Limits(Duration.ofDays(30), 0, 1_000_000);
        assertEquals(new Removed(1, 1, false, List.of()), remove(none, 1));
        assertFalse(Files.exists(first));
        assertTrue(Files.exists(second));
        assertEquals(new Removed(1, 1, true, List.of()), remove(none, 1));
    }

    @Test
    void roomIsMadeFromTheOldestOnButTheNewestOfAJobStays() throws Exception {
        Path flood = ran("flood", 1, Outcome.SUCCEEDED, 900_000);
        Path older = ran("a", 5, Outcome.SUCCEEDED, 90_000);
        Path newer = ran("a", 4, Outcome.FAILED, 90_000);
        Path newest = ran("a", 3, Outcome.TIMED_OUT, 10_000);
        assertEquals(new Removed(1, 90_000, true, List.of()), remove());
        assertFalse(Files.exists(older));
        assertTrue(Files.exists(newer));
        remove(new Limits(Duration.ofDays(30), 20, 0), 1_000);
        assertFalse(Files.exists(newer));
        assertTrue(Files.exists(newest));
        assertTrue(Files.exists(flood));
    }

    @Test
    void whatWasRefusedStaysUntilItIsOld() throws Exception {
        Path lost = ran("a", 29, Outcome.LEASE_LOST, 10);
        Path dead = ran("a", 28, Outcome.ABANDONED, 10);
        Path cancelled = ran("a", 27, Outcome.CANCELLED, 10);
        Path oldLost = ran("a", 31, Outcome.LEASE_LOST, 10);
        ran("a", 1, Outcome.SUCCEEDED, 10);
        assertEquals(1, remove(new Limits(Duration.ofDays(30), 0, 0), 1_000).folders());
        assertFalse(Files.exists(oldLost));
        assertTrue(Files.exists(lost) && Files.exists(dead) && Files.exists(cancelled));
    }

    @Test
    void whatRunsOrHoldsAWorktreeStays() throws Exception {
        Limits nothing = new Limits(Duration.ZERO, 0, 0);
        Path open = ran("a", 400, null, 10);
        Path worktree = ran("a", 300, Outcome.SUCCEEDED, 10);
        Files.createDirectory(worktree.resolve("worktree"));
        RunId runId = new RunId(UUID.randomUUID());
        Path live = ran("a", 200, Outcome.SUCCEEDED, 10, runId);
        ProcessBuilder builder = new ProcessBuilder("/bin/sleep", "60");
        builder.environment().put(ProcessTable.TAG, runId.toString());
        Process process = builder.start();
        try {
            assertTrue(Bench.eventually(() -> runId.toString().equals(ProcessTable.tag(process.pid()))));
            assertEquals(new Removed(0, 0, true, List.of()), remove(nothing, 1_000));
        } finally {
            process.destroyForcibly().waitFor();
        }
        assertEquals(1, remove(nothing, 1_000).folders());
        assertFalse(Files.exists(live));
        assertTrue(Files.exists(open) && Files.exists(worktree));
    }

    @Test
    void whatTheStoreDoesNotKnowGoesByItsFiles() throws Exception {
        Path old = forgotten("a", 40, 10);
        Path recent = forgotten("a", 2, 10);
        Path fresh = forgotten("a", 0, 10);
        assertEquals(2, remove(new Limits(Duration.ofDays(30), 0, 0), 1_000).folders());
        assertFalse(Files.exists(old));
        assertFalse(Files.exists(recent), "to make room");
        assertTrue(Files.exists(fresh), "it may run, under another store");
    }

    @Test
    void noLinkIsFollowedAndNothingElseIsTouched() throws Exception {
        Path away = dir.resolveSibling(dir.getFileName() + "-outside");
        Path outside = Files.createDirectories(away.resolve("2020/1-0a1b2c3d"));
        Files.writeString(outside.resolve("output.log"), "precious");
        Path old = ran("a", 100, Outcome.SUCCEEDED, 10);
        Files.createSymbolicLink(old.resolve("output/out"), outside);
        Files.createSymbolicLink(dir.resolve("linked"), away);
        Files.createSymbolicLink(old.resolveSibling("1-0a1b2c3d"), outside);
        Path other = Files.createDirectories(dir.resolve("a/2020-01-01T000000Z/notes"));
        Path closed = old.resolve("output/closed");
        Files.createDirectories(closed.resolve("in"));
        closed.toFile().setWritable(false);
        try {
            assertEquals(1, remove(new Limits(Duration.ofDays(30), 0, 0), 1_000).folders());
            assertFalse(Files.exists(old));
            assertEquals("precious", Files.readString(outside.resolve("output.log")));
            assertTrue(Files.exists(other));
        } finally {
            Files.delete(outside.resolve("output.log"));
            Files.delete(outside);
            Files.delete(away.resolve("2020"));
            Files.delete(away);
        }
    }

    @Test
    void aStoreThatDoesNotAnswerCostsNothing() throws Exception {
        Path old = ran("a", 400, Outcome.SUCCEEDED, 10);
        assertThrows(
                StoreException.class,
                () -> retention(LIMITS, job -> {
                            throw new StoreException(StoreException.Kind.UNAVAILABLE, "away", null);
                        })
                        .removeBatch(1_000));
        assertTrue(Files.exists(old));
        assertEquals(
                new Removed(0, 0, true, List.of()),
                new OutputRetention(
                                dir.resolve("nothing"),
                                LIMITS,
                                job -> List.of(),
                                new OsPrograms(new SystemTime(), new SystemThreads(event -> {})),
                                InstantSource.fixed(NOW))
                        .removeBatch(10));
    }

    /** A sparse file of many gigabytes counts with its size. */
    @Test
    void aFloodIsCounted() throws Exception {
        Path flood = ran("a", 2, Outcome.SUCCEEDED, 1);
        try (RandomAccessFile file =
                new RandomAccessFile(flood.resolve("output/big").toFile(), "rw")) {
            file.setLength(8L << 30);
        }
        ran("a", 1, Outcome.SUCCEEDED, 1);
        assertEquals((8L << 30) + 1, remove().bytes());
    }
}
