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
import java.util.ArrayList;
import java.util.List;
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
    void noFileIsNoResult() throws IOException {
        assertNull(folders.result(files));
    }

    @Test
    void aResultOfTheLimitIsReadAndOneByteMoreIsRefused() throws IOException {
        Files.write(files.result(), new byte[Completion.MAX_RESULT_BYTES]);
        assertArrayEquals(new byte[Completion.MAX_RESULT_BYTES], folders.result(files));
        Files.write(files.result(), new byte[Completion.MAX_RESULT_BYTES + 1]);
        IOException refused = assertThrows(IOException.class, () -> folders.result(files));
        assertTrue(String.valueOf(refused.getMessage()).contains("1048577 bytes"));
    }

    /** Several gigabytes must not cost memory: the file is sparse, the heap of the tests smaller. */
    @Test
    void aFloodCostsNoMemory() throws IOException {
        try (RandomAccessFile flood = new RandomAccessFile(files.result().toFile(), "rw")) {
            flood.setLength(8L << 30);
        }
        assertThrows(IOException.class, () -> folders.result(files));
    }

    private List<String> output() throws IOException {
        List<String> lines = new ArrayList<>();
        folders.output(files, lines::add);
        return lines;
    }

    @Test
    void theOutputIsGivenLineByLineWithoutStampsAndRemarks() throws IOException {
        assertEquals(List.of(), output());
        Files.writeString(files.log(), """
                2026-03-29T01:00:00.123Z O first
                2026-03-29T01:00:00.123Z o begun,\s
                2026-03-29T01:00:00.124Z E an error
                2026-03-29T01:00:00.125Z ! 7 bytes of this log are cut out here
                2026-03-29T01:00:00.125Z O and ended
                2026-03-29T01:00:00.125Z e without a newline
                """);
        assertEquals(List.of("first", "an error", "begun, and ended", "without a newline"), output());
    }

    @Test
    void aLineWithoutEndIsGivenInPieces() throws IOException {
        String piece = "2026-03-29T01:00:00.123Z o " + "x".repeat(8_000) + "\n";
        Files.writeString(files.log(), piece.repeat(100));
        List<String> lines = output();
        assertEquals(800_000, lines.stream().mapToInt(String::length).sum());
        assertTrue(lines.stream().allMatch(line -> line.length() <= 80_000));
    }

    @Test
    void aLinkIsNoResult() throws IOException {
        Files.createSymbolicLink(files.result(), Path.of("/etc/hostname"));
        assertThrows(IOException.class, () -> folders.result(files));
    }
}
