package dev.fencepost.edge.web.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.web.Token;
import dev.fencepost.edge.web.Tokens;
import dev.fencepost.host.ManualTime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@SuppressWarnings("NullAway.Init")
class SessionsTest {

    private static final Duration STEP = Duration.ofMillis(1);

    @TempDir
    Path folder;

    private final ManualTime time = new ManualTime(Instant.parse("2026-05-04T03:02:01Z"));
    private Tokens tokens;
    private Sessions sessions;

    @BeforeEach
    void open() throws IOException {
        write(OpenPage.LINES);
        tokens = Tokens.open(folder.resolve("tokens"), time, event -> {});
        sessions = new Sessions(tokens, time, new SystemEntropy());
    }

    private void write(String lines) throws IOException {
        Path file = folder.resolve("tokens");
        Files.writeString(file, lines);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    private Token token(String text) {
        return Objects.requireNonNull(tokens.find(text));
    }

    private String begun() {
        return sessions.begin(token(OpenPage.VIEWER));
    }

    @Test
    void anIdleOneEndsAndOneInUseDoesNot() {
        String idle = begun();
        String used = begun();
        time.pass(Sessions.IDLE);
        assertNotNull(sessions.find(used));
        time.pass(STEP);
        assertNull(sessions.find(idle));
        assertNull(sessions.find(idle), "for good");
        assertNotNull(sessions.find(used));
    }

    @Test
    void noneLivesLongerThanTheLongest() {
        String id = begun();
        for (Duration age = Duration.ZERO; age.compareTo(Sessions.LONGEST) < 0; age = age.plus(Sessions.IDLE)) {
            assertNotNull(sessions.find(id));
            time.pass(Sessions.IDLE);
        }
        assertNotNull(sessions.find(id));
        time.pass(STEP);
        assertNull(sessions.find(id));
    }

    @Test
    void aClockThatIsSetBackProlongsNothing() {
        String id = begun();
        time.pass(Sessions.IDLE.plus(STEP));
        time.setWallClock(Instant.parse("2020-01-01T00:00:00Z"));
        assertNull(sessions.find(id));
    }

    @Test
    void theScopesAreThoseOfTheFileNow() throws IOException {
        String id = sessions.begin(token(OpenPage.OPERATOR));
        write(OpenPage.LINES.replace("alice read,operate", "alice read"));
        time.pass(Duration.ofSeconds(3));
        assertEquals(
                1, Objects.requireNonNull(sessions.find(id)).token().scopes().size());
        write(OpenPage.LINES.replace(OpenPage.OPERATOR, "n".repeat(40)));
        time.pass(Duration.ofSeconds(3));
        assertNull(sessions.find(id));
    }

    @Test
    void idsAreNeverTheSameAndFormTokensAreOfOneSession() {
        Set<String> ids = new HashSet<>();
        Set<String> forms = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            String id = begun();
            ids.add(id);
            Session session = Objects.requireNonNull(sessions.find(id));
            forms.add(session.formToken("/a"));
            assertTrue(session.isFormToken("/a", session.formToken("/a")));
            assertFalse(session.isFormToken("/b", session.formToken("/a")));
            assertFalse(session.isFormToken("/a", null));
            assertFalse(session.isFormToken("/a", ""));
            assertNotEquals(id, session.formToken("/a"));
            assertEquals("bob", session.toString());
        }
        assertEquals(100, ids.size());
        assertEquals(100, forms.size());
    }

    @Test
    void theOneThatWasNotUsedForTheLongestTimeMakesRoom() {
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < Sessions.MOST; i++) {
            ids.add(begun());
        }
        assertNotNull(sessions.find(ids.getFirst()));
        begun();
        assertNotNull(sessions.find(ids.getFirst()));
        assertNull(sessions.find(ids.get(1)));
    }
}
