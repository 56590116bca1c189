package dev.fencepost.sim;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Stories with a place for their stores. */
public final class Stories {

    private Stories() {}

    /** The story of one seed. @return what did not hold, or null */
    public static @Nullable String tell(long seed) throws IOException {
        Path folder = newFolder();
        try (World world = new World(seed, folder)) {
            world.run();
            return null;
        } catch (AssertionError e) {
            return e.getMessage();
        } finally {
            delete(folder);
        }
    }

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
