package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code serve} refuses before it starts anything. */
class ServeRefusalTest {

    private static final String TOKEN = "0123456789abcdef".repeat(3);

    @TempDir
    Path dir;

    private CommandRun serve(String top, String... more) throws IOException {
        Files.writeString(dir.resolve("fencepost.yaml"), "jobs: {}\n" + top + "\n");
        List<String> words = new ArrayList<>(List.of("serve"));
        words.addAll(List.of(more));
        return new Workplace(dir).run(words.toArray(String[]::new));
    }

    private void tokens(String rights) throws IOException {
        Path file = Files.writeString(dir.resolve("tokens"), "boss read " + TOKEN + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(rights));
    }

    private static void assertRefused(CommandRun run, int code, String... parts) {
        assertEquals(code, run.exitCode(), run::err);
        for (String part : parts) {
            assertTrue(run.err().contains(part), run::err);
        }
        assertFalse(run.err().contains("Exception") || run.err().contains(TOKEN), run::err);
    }

    @Test
    void anAddressThatOthersReachNeedsTokens() throws IOException {
        assertRefused(serve("", "--host", "0.0.0.0"), 78, "--host 0.0.0.0", "token-file");
        assertRefused(serve("", "--host", "::"), 78, "token-file");
        assertFalse(Files.exists(dir.resolve("state")), "nothing was made");
    }

    @Test
    void aTokenFileThatIsNoGoodIsRefused() throws IOException {
        String api = "api: { token-file: tokens }";
        assertRefused(serve(api), 78, "tokens does not exist");
        tokens("rw-r--r--");
        assertRefused(serve(api), 78, "chmod 600");
        tokens("rw-------");
        Files.writeString(dir.resolve("tokens"), "boss read,write " + TOKEN);
        assertRefused(serve(api), 78, "line 1", "scopes");
    }

    @Test
    void anAddressOfNobodyIsRefused() throws IOException {
        tokens("rw-------");
        assertRefused(serve("api: { token-file: tokens }", "--host", "no such host"), 2, "--host");
        assertRefused(serve("api: { token-file: tokens }", "--host", "192.0.2.1"), 1, "192.0.2.1");
    }
}
