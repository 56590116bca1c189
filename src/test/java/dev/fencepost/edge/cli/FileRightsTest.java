package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileRightsTest {

    private static void mode(Path path, String mode) throws IOException {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(mode));
    }

    @Test
    void aClosedDirectoryAboveClosesTheFile(@TempDir Path dir) throws IOException {
        Path folder = Files.createDirectory(dir.resolve("state"));
        Path file = Files.writeString(folder.resolve("x"), "");
        mode(dir, "rwxr-xr-x");
        mode(file, "rw-rw-rw-");
        mode(folder, "rwx------");
        assertFalse(FileRights.isOpen(file));
        assertFalse(FileRights.isChangeable(file));
        mode(folder, "rwx--x--x");
        assertTrue(FileRights.isOpen(file));
        assertTrue(FileRights.isChangeable(file));
        mode(file, "rw-r--r--");
        assertTrue(FileRights.isOpen(file));
        assertFalse(FileRights.isChangeable(file));
        mode(file, "rw-r-----");
        assertFalse(FileRights.isOpen(file));
    }

    @Test
    void whoeverMayWriteTheDirectoryMayReplaceTheFile(@TempDir Path dir) throws IOException {
        Path folder = Files.createDirectory(dir.resolve("etc"));
        Path file = Files.writeString(folder.resolve("fencepost.yaml"), "");
        mode(dir, "rwxr-xr-x");
        mode(file, "rw-------");
        mode(folder, "rwxrwxrwx");
        assertTrue(FileRights.isChangeable(file));
        mode(folder, "rwxr-xr-x");
        assertFalse(FileRights.isChangeable(file));
    }

    @Test
    void ownFilesAreKnown(@TempDir Path dir) throws IOException {
        assertTrue(FileRights.isOurs(dir));
    }
}
