package dev.fencepost.edge.remote;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BearerTokenTest {

    @TempDir
    private Path dir;

    private Path file(String content, String rights) throws IOException {
        Path file = dir.resolve("token");
        Files.writeString(file, content);
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(rights));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "s3cret-token-of-home",
                "  s3cret-token-of-home \r\n",
                "home work s3cret-token-of-home\n",
                "home work s3cret-token-of-home 2030-01-01T00:00:00Z\n",
                "# of the PC at home\n\nhome\tread,work   s3cret-token-of-home\n"
            })
    void aTokenAloneOrALineOfAServersFile(String content) throws IOException {
        BearerToken token = BearerToken.read(file(content, "rw-------"));
        assertEquals("s3cret-token-of-home", token.value());
        assertEquals("***", token.toString());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "# nothing\n",
                "two s3cret-tokens-of-home",
                "a b c d e",
                "one-token-of-home\nanother-token-of-home",
                "short",
                "tökens-are-ascii-only"
            })
    void anythingElseIsRefusedAndNotRepeated(String content) throws IOException {
        Path file = file(content, "rw-------");
        IOException e = assertThrows(IOException.class, () -> BearerToken.read(file));
        assertTrue(String.valueOf(e.getMessage()).startsWith("the token file " + file + " "), e.getMessage());
        for (String word : content.split("\\s+")) {
            assertFalse(word.length() > 4 && String.valueOf(e.getMessage()).contains(word), e.getMessage());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"rw-r-----", "rw----r--", "rw--w----", "rw-----w-"})
    void aFileOfOthersIsRefused(String rights) throws IOException {
        Path file = file("s3cret-token-of-home", rights);
        IOException e = assertThrows(IOException.class, () -> BearerToken.read(file));
        assertEquals("the token file " + file + " may be read or written by others; chmod 600 it", e.getMessage());
    }

    @Test
    void aFileThatIsNotThere() {
        IOException e = assertThrows(IOException.class, () -> BearerToken.read(dir.resolve("none")));
        assertEquals("the token file " + dir.resolve("none") + " does not exist, or may not be seen", e.getMessage());
        assertThrows(IOException.class, () -> BearerToken.read(dir));
    }
}
