package dev.fencepost.edge.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.web.Artifacts.Received;
import dev.fencepost.host.Event;
import dev.fencepost.host.ManualTime;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Grant;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@SuppressWarnings("NullAway.Init")
class ArtifactsTest {

    private static final Intake LIMITS = new Intake(1_000, Duration.ofMinutes(1), Duration.ofSeconds(10), 10);
    private static final RunId RUN = new RunId(UUID.fromString("123e4567-e89b-42d3-a456-426614174000"));

    @TempDir
    Path folder;

    private final ManualTime time = new ManualTime(Instant.parse("2026-03-01T00:00:00Z"));
    private final FaultyQueue queue = new FaultyQueue(time::wallClock);
    private final List<Event> events = new ArrayList<>();
    private Artifacts artifacts;
    private Grant grant;

    @BeforeEach
    void open() throws IOException {
        artifacts = opened();
        queue.face().enqueue(new NewItem("a", "default", null, 0, null, 5));
        queue.face().claimItem("a", new Owner("me"), RUN, Duration.ofMinutes(1));
        grant = new Grant("a", new Owner("me"), new FencingToken(1), RUN);
    }

    private Artifacts opened() throws IOException {
        return Artifacts.open(folder.resolve("artifacts"), queue.face(), new SystemEntropy(), events::add);
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> all = Files.walk(folder.resolve("artifacts"))) {
            return all.filter(Files::isRegularFile)
                    .filter(each -> !each.endsWith("id"))
                    .toList();
        }
    }

    private Received received(String text) throws IOException {
        return artifacts.receive(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)), LIMITS, time);
    }

    private Artifact artifact(String name, Received received) {
        return new Artifact("a", 1, name, null, received.size(), received.sha256(), time.wallClock());
    }

    private WorkAnswer keep(String name, String text) throws IOException {
        Received received = received(text);
        return artifacts.keep(received, grant, artifact(name, received));
    }

    private String content(String name) throws IOException {
        try (InputStream in =
                Objects.requireNonNull(artifacts.read(Objects.requireNonNull(artifacts.find("a", 1, name))))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Test
    void onlyTheOwnerMayLookAtWhatIsKept() throws IOException {
        assertInstanceOf(WorkAnswer.Done.class, keep("x", "one"));
        try (Stream<Path> all = Files.walk(folder.resolve("artifacts"))) {
            for (Path each : all.toList()) {
                assertEquals(
                        Files.isDirectory(each) ? "rwx------" : "rw-------",
                        PosixFilePermissions.toString(Files.getPosixFilePermissions(each)),
                        each::toString);
            }
        }
    }

    @Test
    void namesThatBeginAlikeDoNotTouchEachOther() throws IOException {
        keep("x", "one");
        keep("x.y", "two");
        keep("x", "three");
        keep("x", "three");
        assertEquals("three", content("x"));
        assertEquals("two", content("x.y"));
        assertEquals(2, files().size(), () -> "" + folder);
    }

    @Test
    void aRefusedOneDoesNotReplaceAGoodOne() throws IOException {
        keep("x", "good");
        time.pass(Duration.ofMinutes(1));
        assertInstanceOf(WorkAnswer.Refused.class, keep("x", "late"));
        assertInstanceOf(WorkAnswer.Refused.class, keep("x", "good"));
        assertEquals("good", content("x"));
        assertEquals(1, files().size());
    }

    @Test
    void whatTheStoreDoesNotSayIsSettledLater() throws IOException {
        keep("x", "one");
        for (boolean written : List.of(true, false)) {
            Received received = received("two " + written);
            queue.failNext(Kind.AMBIGUOUS, written);
            queue.setAway(true);
            assertThrows(StoreException.class, () -> artifacts.keep(received, grant, artifact("x", received)));
            assertEquals(3, files().size(), "the old file, the new one and the note of it");
            assertEquals(1, artifacts.settle());
            queue.setAway(false);
            artifacts = opened(); // the process may have ended in between
            assertEquals(0, artifacts.settle());
            assertEquals("two true", content("x"));
            assertEquals(1, files().size());
        }
    }

    @Test
    void whatDidNotComeToItsEndIsSweptAtTheNextStart() throws IOException {
        keep("x", "one");
        received("half");
        Files.writeString(folder.resolve("artifacts/incoming/torn.note"), "a\n1\nna");
        assertEquals(3, files().size());
        artifacts = opened();
        assertEquals(0, artifacts.settle());
        assertEquals(1, files().size());
        assertEquals("one", content("x"));
    }

    @Test
    void aBodyThatIsTooLargeTooSlowOrTornLeavesNothing() throws IOException {
        assertEquals(413, refused(new ByteArrayInputStream(new byte[1_001])).status());
        assertEquals(
                1_000,
                artifacts
                        .receive(new ByteArrayInputStream(new byte[1_000]), LIMITS, time)
                        .size());
        artifacts = opened();
        assertEquals(408, refused(dripping(Duration.ofSeconds(1), 1)).status());
        assertEquals(408, refused(dripping(Duration.ofSeconds(1), 11)).status(), "fast enough, but too long");
        assertEquals(
                408,
                refused(new InputStream() {
                            @Override
                            public int read() throws IOException {
                                throw new IOException("connection reset");
                            }
                        })
                        .status());
        assertEquals(List.of(), files());
    }

    private Problem refused(InputStream body) {
        return assertThrows(Problem.class, () -> artifacts.receive(body, LIMITS, time));
    }

    /** Never ends; each read brings so many bytes after so long. */
    private InputStream dripping(Duration distance, int bytes) {
        return new InputStream() {
            @Override
            public int read() {
                throw new IllegalStateException("read in chunks");
            }

            @Override
            public int read(byte[] buffer, int offset, int length) {
                time.pass(distance);
                return bytes;
            }
        };
    }

    @Test
    void noSymbolicLinkIsFollowed() throws IOException {
        Path elsewhere = Files.createDirectory(folder.resolve("elsewhere"));
        keep("x", "one");
        Path kept = files().getFirst();
        Path fence = Objects.requireNonNull(kept.getParent());
        Path moved = folder.resolve("moved");
        Files.move(fence, moved);
        Files.createSymbolicLink(fence, elsewhere);
        Received received = received("two");
        assertThrows(IOException.class, () -> artifacts.keep(received, grant, artifact("y", received)));
        Artifact onRecord = Objects.requireNonNull(artifacts.find("a", 1, "x"));
        assertThrows(IOException.class, () -> artifacts.read(onRecord));
        Files.delete(fence);
        Files.move(moved, fence);
        Path secret = Files.writeString(folder.resolve("secret"), "one");
        Files.delete(kept);
        Files.createSymbolicLink(kept, secret);
        assertThrows(IOException.class, () -> artifacts.read(onRecord));
        try (Stream<Path> outside = Files.list(elsewhere)) {
            assertEquals(0, outside.count());
        }
        Path linked = folder.resolve("linked");
        Files.createSymbolicLink(linked, elsewhere);
        assertThrows(IOException.class, () -> Artifacts.open(linked, queue.face(), new SystemEntropy(), events::add));
    }

    @Test
    void aFileOfAnotherLengthThanRecordedIsNotHandedOut() throws IOException {
        keep("x", "one");
        Files.writeString(files().getFirst(), "more");
        Artifact onRecord = Objects.requireNonNull(artifacts.find("a", 1, "x"));
        assertTrue(Objects.requireNonNull(assertThrows(IOException.class, () -> artifacts.read(onRecord))
                        .getMessage())
                .contains("were recorded"));
    }

    @Test
    void prunedFilesGoWithTheirFolders() throws IOException {
        keep("x", "one");
        keep("y", "two");
        queue.face().complete(grant, null);
        time.pass(Duration.ofDays(1));
        Artifact x = Objects.requireNonNull(artifacts.find("a", 1, "x"));
        assertEquals(1, artifacts.prune(time.wallClock(), 10));
        assertEquals(List.of(), files());
        assertNull(artifacts.read(x));
        assertNoFolderIsLeft();
    }

    private void assertNoFolderIsLeft() throws IOException {
        try (Stream<Path> left = Files.list(folder.resolve("artifacts"))) {
            assertEquals(List.of(folder.resolve("artifacts/incoming")), left.toList());
        }
    }

    /** The item "a" has its result, and all that is of it may go. */
    private void end() {
        queue.face().complete(grant, null);
        time.pass(Duration.ofDays(1));
    }

    private void claimAnew() {
        queue.face().enqueue(new NewItem("a", "default", null, 0, null, 5));
        queue.face().claimItem("a", new Owner("me"), RUN, Duration.ofMinutes(1));
        grant = new Grant(
                "a",
                new Owner("me"),
                new FencingToken(Objects.requireNonNull(queue.face().item("a")).fence()),
                RUN);
    }

    private WorkAnswer keepAnew(String name, String text) throws IOException {
        Received received = received(text);
        return artifacts.keep(
                received,
                grant,
                new Artifact(
                        "a", grant.fence().value(), name, null, received.size(), received.sha256(), time.wallClock()));
    }

    @Test
    void aCrashBetweenRowsAndFilesLeavesNothingForEver() throws IOException {
        keep("x", "one");
        keep("y", "two");
        end();
        queue.face().prune(time.wallClock(), 10); // and the process ends
        assertEquals(2, files().size());
        artifacts = opened();
        assertEquals(2, artifacts.sweep());
        assertEquals(List.of(), files());
        assertNoFolderIsLeft();
        assertEquals(0, artifacts.sweep());
    }

    @Test
    void aPruneWithoutAnAnswerLeavesNothingForEver() throws IOException {
        keep("x", "one");
        end();
        queue.failNext(Kind.AMBIGUOUS, true);
        assertThrows(StoreException.class, () -> artifacts.prune(time.wallClock(), 10));
        assertEquals(1, files().size());
        assertEquals(1, artifacts.sweep());
        assertNoFolderIsLeft();
    }

    @Test
    void whatAnotherNodePrunedIsSweptWhereItLies() throws IOException {
        Artifacts other = Artifacts.open(folder.resolve("other"), queue.face(), new SystemEntropy(), events::add);
        keep("x", "here");
        end();
        assertEquals(1, other.prune(time.wallClock(), 10));
        assertEquals(0, other.sweep());
        assertEquals(1, files().size());
        assertEquals(1, artifacts.sweep());
        assertNoFolderIsLeft();
    }

    @Test
    void whatTheStoreNeverHeardOfStays() throws IOException {
        keep("x", "one");
        FaultyQueue otherStore = new FaultyQueue(time::wallClock);
        artifacts = Artifacts.open(folder.resolve("artifacts"), otherStore.face(), new SystemEntropy(), events::add);
        assertEquals(0, artifacts.sweep());
        // The same id there, pruned at a lower token than the file came under: an older backup, for instance.
        Files.move(
                Objects.requireNonNull(files().getFirst().getParent()),
                Objects.requireNonNull(files().getFirst().getParent()).resolveSibling("2"));
        otherStore.face().enqueue(new NewItem("a", "default", null, 0, null, 5));
        otherStore.face().claimItem("a", new Owner("me"), RUN, Duration.ofMinutes(1));
        otherStore.face().complete(grant, null);
        time.pass(Duration.ofDays(1));
        assertEquals(1, artifacts.prune(time.wallClock(), 10));
        assertEquals(0, artifacts.sweep());
        assertEquals(1, files().size());
    }

    @Test
    void aStoreThatIsAwayCostsNoFile() throws IOException {
        keep("x", "one");
        queue.setAway(true);
        assertThrows(StoreException.class, () -> artifacts.sweep());
        queue.setAway(false);
        assertEquals(0, artifacts.sweep(), "it is on record");
        assertEquals("one", content("x"));
    }

    @Test
    void anItemThatIsThereAnewKeepsItsFilesWhileTheOldOnesGo() throws IOException {
        keep("x", "old");
        end();
        queue.afterNext(
                "prune",
                () -> { // before the files of the old one are removed
                    claimAnew();
                    try {
                        assertInstanceOf(WorkAnswer.Done.class, keepAnew("x", "old"));
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
        assertEquals(1, artifacts.prune(time.wallClock(), 10));
        assertEquals(1, files().size());
        assertEquals(2, grant.fence().value());
        try (InputStream in =
                Objects.requireNonNull(artifacts.read(Objects.requireNonNull(artifacts.find("a", 2, "x"))))) {
            assertEquals("old", new String(in.readAllBytes(), StandardCharsets.UTF_8));
        }
        assertEquals(0, artifacts.sweep());
        assertEquals(1, files().size());
    }

    @Test
    void anUploadUnderWayIsNotSwept() throws IOException {
        keep("x", "old");
        end();
        queue.face().prune(time.wallClock(), 10);
        claimAnew();
        List<Integer> swept = new ArrayList<>();
        queue.beforeNext(
                "addArtifact",
                () -> { // it lies in its place, and is not on record yet
                    try {
                        swept.add(artifacts.sweep());
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
        assertInstanceOf(WorkAnswer.Done.class, keepAnew("x", "new"));
        assertEquals(List.of(1), swept, "the old one");
        assertEquals(1, files().size());
        assertEquals(0, artifacts.sweep());
    }

    @Test
    void anUploadForAnItemThatIsPrunedMeanwhileLeavesNothing() throws IOException {
        Received received = received("late");
        end();
        queue.beforeNext("addArtifact", () -> artifacts.prune(time.wallClock(), 10));
        WorkAnswer answer = artifacts.keep(received, grant, artifact("x", received));
        assertEquals(
                Refusal.UNKNOWN,
                assertInstanceOf(WorkAnswer.Refused.class, answer).reason());
        assertEquals(List.of(), files());
        assertNoFolderIsLeft();
    }

    @Test
    void aFolderThatACrashLeftWithoutItsIdGetsItOrGoes() throws IOException {
        keep("x", "one");
        Path item = Objects.requireNonNull(
                Objects.requireNonNull(files().getFirst().getParent()).getParent());
        Files.writeString(item.resolve("id"), "");
        assertEquals(0, artifacts.sweep());
        keep("y", "two");
        assertEquals("a", Files.readString(item.resolve("id")));
        Path empty = Files.createDirectory(folder.resolve("artifacts/" + "0".repeat(64)));
        Path stranger = Files.createDirectory(folder.resolve("artifacts/notes"));
        assertEquals(0, artifacts.sweep());
        assertFalse(Files.exists(empty));
        assertTrue(Files.exists(stranger), "none of ours");
        Files.delete(stranger);
    }

    @Test
    void oneFolderThatCannotBeSweptDoesNotKeepTheOthers() throws IOException {
        keep("x", "one");
        queue.face().enqueue(new NewItem("b", "default", null, 0, null, 5));
        RunId otherRun = new RunId(UUID.fromString("123e4567-e89b-42d3-a456-426614174001"));
        queue.face().claimItem("b", new Owner("me"), otherRun, Duration.ofMinutes(1));
        Grant other = new Grant("b", new Owner("me"), new FencingToken(1), otherRun);
        Received received = received("two");
        artifacts.keep(
                received, other, new Artifact("b", 1, "x", null, received.size(), received.sha256(), time.wallClock()));
        queue.face().complete(other, null);
        end();
        queue.face().prune(time.wallClock(), 10);
        Path blocked = files().stream()
                .filter(each -> each.getFileName().toString().endsWith(received.sha256()))
                .findFirst()
                .orElseThrow();
        Files.delete(blocked);
        Files.createDirectories(blocked.resolve("in the way"));
        assertEquals(1, artifacts.sweep());
        assertEquals(List.of(), files());
        assertEquals(1, events.stream().filter(Event.Problem.class::isInstance).count());
    }
}
