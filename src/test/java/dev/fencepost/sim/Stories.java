package dev.fencepost.sim;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** Where the stores of stories lie. */
final class Stories {

    private Stories() {}

    /** In memory where there is such a place: nothing here is about the disk. */
    static Path newFolder() throws IOException {
        Path shm = Path.of("/dev/shm");
        Path parent = Files.isWritable(shm) ? shm : Path.of(System.getProperty("java.io.tmpdir"));
        return Files.createTempDirectory(parent, "fencepost-sim");
    }

    static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
