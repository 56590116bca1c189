package dev.fencepost.edge.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.lease.RunId;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Workspace.RunFiles;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunFoldersTest {

    private static final RunId RUN = RunId.parse("01234567-89ab-4cde-8fab-0123456789ab");

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path root;

    @SuppressWarnings("NullAway.Init")
    private RunFolders folders;

    @SuppressWarnings("NullAway.Init")
    private RunFiles files;

    @BeforeEach
    void prepare() throws IOException {
        folders = new RunFolders(root);
        files = folders.prepare("job", Slot.manual(Instant.EPOCH, "0000beef"), 1, RUN);
    }

    @Test
    void noFileIsNoResultAndNoEffect() throws IOException {
        assertNull(folders.result(files));
        assertEquals(0, folders.firstAnnouncedEffect(files));
    }

    @Test
    void aResultOfTheLimitIsReadAndOneByteMoreIsRefused() throws IOException {
        Files.write(files.result(), new byte[Completion.MAX_RESULT_BYTES]);
        assertArrayEquals(new byte[Completion.MAX_RESULT_BYTES], folders.result(files));
        Files.write(files.result(), new byte[Completion.MAX_RESULT_BYTES + 1]);
        IOException refused = assertThrows(IOException.class, () -> folders.result(files));
        assertTrue(String.valueOf(refused.getMessage()).contains("1048577 bytes"));
    }

    @Test
    void blankLinesAnnounceNothingAndTheFirstOtherLineIsNamed() throws IOException {
        Files.writeString(files.effects(), "\n \t\r\n\n");
        assertEquals(0, folders.firstAnnouncedEffect(files));
        Files.writeString(files.effects(), "\n \n{\"name\":\"a\"}\n");
        assertEquals(3, folders.firstAnnouncedEffect(files));
    }

    /** A line of several gigabytes without a newline must not cost memory: the file is sparse, the heap of the tests smaller. */
    @Test
    void aFloodWithoutNewlineCostsNoMemory() throws IOException {
        try (RandomAccessFile flood = new RandomAccessFile(files.effects().toFile(), "rw")) {
            flood.setLength(8L << 30);
        }
        assertEquals(1, folders.firstAnnouncedEffect(files));
        Files.move(files.effects(), files.result());
        assertThrows(IOException.class, () -> folders.result(files));
    }

    @Test
    void aLinkIsNeitherResultNorEffects() throws IOException {
        Files.createSymbolicLink(files.result(), Path.of("/etc/hostname"));
        Files.createSymbolicLink(files.effects(), Path.of("/etc/hostname"));
        assertThrows(IOException.class, () -> folders.result(files));
        assertThrows(IOException.class, () -> folders.firstAnnouncedEffect(files));
    }
}
