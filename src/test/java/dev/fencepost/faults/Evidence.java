package dev.fencepost.faults;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/** What is left behind for people: {@code target/chaos} has a table of each kind of trouble, and a folder with its histories. */
final class Evidence {

    private static final Path ROOT = Path.of("target/chaos").toAbsolutePath();

    private Evidence() {}

    /** An empty folder of this kind, with a folder {@code histories} in it. */
    static Path newFolder(String kind) {
        Path folder = ROOT.resolve(kind);
        try {
            deleteTree(folder);
            Files.createDirectories(folder.resolve("histories"));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        return folder;
    }

    /** Keeps and prints it. */
    static void table(String kind, String page) {
        try {
            Files.writeString(ROOT.resolve(kind + ".md"), page);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        System.out.println(page);
    }

    private static void deleteTree(Path root) throws IOException {
        if (!Files.exists(root)) {
            return;
        }
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, IOException failure) throws IOException {
                Files.delete(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
