package dev.fencepost.edge.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.host.Event;
import dev.fencepost.host.ManualTime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@SuppressWarnings("NullAway.Init")
class TokensTest {

    private static final Instant NOW = Instant.parse("2026-03-01T00:00:00Z");
    private static final String A = "a".repeat(32);
    private static final String B = "b".repeat(40);

    @TempDir
    Path folder;

    private Path file;
    private final ManualTime time = new ManualTime(NOW);
    private final List<Event> events = new ArrayList<>();

    @BeforeEach
    void name() {
        file = folder.resolve("tokens");
    }

    private void write(String text, Instant modified) throws IOException {
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        Files.setLastModifiedTime(file, FileTime.from(modified));
    }

    private Tokens open() {
        return Tokens.open(file, time, events::add);
    }

    private String refusal(String text) throws IOException {
        write(text, NOW.minusSeconds(60));
        return Objects.requireNonNull(
                assertThrows(IllegalArgumentException.class, this::open).getMessage());
    }

    @Test
    void eachLineIsAToken() throws IOException {
        write(
                "# people\nboss read,work,operate " + A + "\n\n  viewer\tread  " + B + "  2026-04-01T00:00:00Z\r\n",
                NOW.minusSeconds(60));
        Tokens tokens = open();
        Token boss = Objects.requireNonNull(tokens.find(A));
        assertEquals("boss", boss.name());
        assertEquals(Set.of(Scope.READ, Scope.WORK, Scope.OPERATE), boss.scopes());
        Token viewer = Objects.requireNonNull(tokens.find(B));
        assertEquals(Set.of(Scope.READ), viewer.scopes());
        assertFalse(tokens.isExpired(viewer));
        time.setWallClock(Instant.parse("2026-04-01T00:00:00Z"));
        assertTrue(tokens.isExpired(viewer), "at its very end it is over");
        assertFalse(tokens.isExpired(boss));
        assertNull(tokens.find(A + "a"));
        assertNull(tokens.find(A.substring(1)));
        assertNull(tokens.find(""));
        assertNull(tokens.find("x".repeat(100_000)));
        assertFalse(boss.toString().contains(A));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "boss read",
                "boss read TOKEN 2026-04-01T00:00:00Z more",
                "boss read short",
                "boss read TOKENé",
                "boss read TOKEN tomorrow",
                "boss write TOKEN",
                "boss read,read TOKEN",
                "boss , TOKEN",
                "boss READ TOKEN",
                ".boss read TOKEN",
                "bo/ss read TOKEN",
            })
    void aBadLineIsNamedAndNotRepeated(String line) throws IOException {
        String secret = "s3cret".repeat(8);
        String why = refusal("# comment\n" + line.replace("TOKEN", secret) + "\n");
        assertTrue(why.contains("line 2"), why);
        assertFalse(why.contains("s3cret"), why);
    }

    @Test
    void theSameTokenTwiceIsRefused() throws IOException {
        String why = refusal("a read " + A + "\nb work " + A + "\n");
        assertTrue(why.contains("line 2") && why.contains("line 1") && !why.contains(A), why);
    }

    @ParameterizedTest
    @CsvSource({"rw-r-----", "rw----r--", "rw--w----", "rw-----w-", "rw---x---"})
    void aFileThatOthersMayUseIsRefused(String rights) throws IOException {
        write("boss read " + A, NOW);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(rights));
        String why = Objects.requireNonNull(Tokens.whyBad(file));
        assertTrue(why.contains("chmod 600"), why);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("r--------"));
        assertNull(Tokens.whyBad(file));
    }

    @Test
    void whatIsNoPlainFileIsRefused() throws IOException {
        assertTrue(Objects.requireNonNull(Tokens.whyBad(file)).contains("does not exist"));
        Files.createDirectory(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        assertTrue(Objects.requireNonNull(Tokens.whyBad(file)).contains("not a plain file"));
        Files.delete(file);
        Path target = folder.resolve("target");
        Files.writeString(target, "boss read " + A);
        Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rw-r--r--"));
        Files.createSymbolicLink(file, target);
        assertTrue(Objects.requireNonNull(Tokens.whyBad(file)).contains("chmod"), "the target's rights count");
        Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rw-------"));
        assertNull(Tokens.whyBad(file));
        Files.writeString(target, "x".repeat((256 << 10) + 1));
        assertTrue(Objects.requireNonNull(Tokens.whyBad(file)).contains("bytes"));
        Files.write(target, new byte[] {(byte) 0xff});
        assertTrue(Objects.requireNonNull(Tokens.whyBad(file)).contains("UTF-8"));
    }

    @Test
    void tokensComeAndGoWithinASecond() throws IOException {
        write("old read " + A, NOW.minusSeconds(60));
        Tokens tokens = open();
        write("old read " + A + "\nnew read " + B, NOW.minusSeconds(50));
        assertNull(tokens.find(B), "the file is looked at once a second");
        time.pass(Duration.ofSeconds(1));
        assertNotNull(tokens.find(B));
        assertNotNull(tokens.find(A));
        write("new read " + B, NOW.minusSeconds(40));
        time.pass(Duration.ofSeconds(1));
        assertNull(tokens.find(A));
        write("", NOW.minusSeconds(30));
        time.pass(Duration.ofSeconds(1));
        assertNull(tokens.find(B), "an empty file lets nobody in");
        assertEquals(3, events.size(), () -> "" + events);
    }

    @Test
    void aSecondChangeInTheSameInstantIsSeen() throws IOException {
        write("old read " + A, NOW);
        Tokens tokens = open();
        try (var channel = Files.newByteChannel(file, java.nio.file.StandardOpenOption.WRITE)) { // the same inode
            channel.write(java.nio.ByteBuffer.wrap(("old read " + B.substring(0, 32)).getBytes()));
        }
        Files.setLastModifiedTime(file, FileTime.from(NOW));
        time.pass(Duration.ofSeconds(1));
        assertNull(tokens.find(A));
        assertNotNull(tokens.find(B.substring(0, 32)));
    }

    @Test
    void aBrokenNewFileKeepsTheOldTokensAndIsToldOnce() throws IOException {
        write("boss read " + A, NOW.minusSeconds(60));
        Tokens tokens = open();
        write("boss read " + B.substring(0, 20), NOW.minusSeconds(50));
        for (int i = 0; i < 5; i++) {
            time.pass(Duration.ofSeconds(1));
            assertNotNull(tokens.find(A));
        }
        assertEquals(1, events.size(), () -> "" + events);
        assertTrue(events.getFirst() instanceof Event.Problem problem
                && problem.text().contains("line 1"));
        Files.delete(file);
        time.pass(Duration.ofSeconds(1));
        assertNotNull(tokens.find(A));
        assertEquals(2, events.size(), () -> "" + events);
        write("boss read " + B, NOW.minusSeconds(40));
        time.pass(Duration.ofSeconds(1));
        assertNotNull(tokens.find(B));
        assertNull(tokens.find(A));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        time.pass(Duration.ofSeconds(1));
        assertNotNull(tokens.find(B));
        assertTrue(events.getLast() instanceof Event.Problem problem
                && problem.text().contains("chmod"));
        assertTrue(events.stream().noneMatch(event -> event.toString().contains("bbbbb")), () -> "" + events);
    }

    @Test
    void aCredentialOfSystemdMayShowARightOfTheGroup() {
        Set<PosixFilePermission> shown = PosixFilePermissions.fromString("r--r-----");
        assertTrue(TokenFile.isForUsAlone(Path.of("/run/credentials/fencepost.service/api-tokens"), shown));
        assertFalse(TokenFile.isForUsAlone(Path.of("/etc/fencepost/api-tokens"), shown));
        assertFalse(TokenFile.isForUsAlone(
                Path.of("/run/credentials/x/api-tokens"), PosixFilePermissions.fromString("r--rw-r--")));
    }
}
