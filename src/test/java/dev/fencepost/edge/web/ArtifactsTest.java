package dev.fencepost.edge.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
            return all.filter(Files::isRegularFile).toList();
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
        artifacts.remove(queue.face().prune(time.wallClock(), 10).artifacts());
        assertEquals(List.of(), files());
        assertNull(artifacts.read(x));
        try (Stream<Path> left = Files.list(folder.resolve("artifacts"))) {
            assertEquals(List.of(folder.resolve("artifacts/incoming")), left.toList());
        }
    }
}
