package dev.fencepost.edge.cli;

import dev.fencepost.host.Time;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The files of a worker's runs that a person may want to look at: of those that were not done, and of all with {@code --keep}. They stay for
 * a bounded time, and the newest ones only.
 *
 * <p>Several workers may use one directory. A run that goes on holds the lock of the file {@code running} in its folder, which ends with the
 * process, however that ends; such a folder is left alone. Safe for use by many threads.
 */
final class KeptFiles implements Runnable {

    /** Runs, the newest ones. */
    static final int MOST = 1_000;

    /** Below the root: queue, item, run. */
    private static final int LEVELS = 3;

    private static final String RUNNING = "running";
    private static final Duration INTERVAL = Duration.ofMinutes(10);

    private final Path root;
    private final Duration keepFor;
    private final int most;
    private final Time time;
    private final Consumer<String> say;

    /** Whoever closed a second channel of such a file would give up the lock of the first. */
    private final Set<Path> held = ConcurrentHashMap.newKeySet();

    private @Nullable String told;

    KeptFiles(Path root, Duration keepFor, int most, Time time, Consumer<String> say) {
        this.root = root;
        this.keepFor = keepFor;
        this.most = most;
        this.time = time;
        this.say = say;
    }

    /** The folder of a run that goes on. Closing it ends that; the folder may be gone by then. */
    interface Held extends AutoCloseable {
        @Override
        void close();
    }

    Held hold(Path folder) throws IOException {
        held.add(folder);
        FileChannel channel = null;
        boolean locked = false;
        try {
            channel = opened(folder);
            if (channel.tryLock() == null) {
                throw new IOException("another worker uses " + folder);
            }
            locked = true;
        } finally {
            if (!locked) {
                held.remove(folder);
                if (channel != null) {
                    channel.close();
                }
            }
        }
        FileChannel open = channel;
        return () -> {
            try (open) {
                Files.deleteIfExists(folder.resolve(RUNNING));
            } catch (IOException e) {
                say.accept("left over in " + folder + ": " + e.getMessage());
            } finally {
                held.remove(folder);
            }
        };
    }

    private static FileChannel opened(Path folder) throws IOException {
        return FileChannel.open(
                folder.resolve(RUNNING),
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE,
                LinkOption.NOFOLLOW_LINKS);
    }

    /** Sweeps every now and then, until the thread is interrupted. */
    @Override
    public void run() {
        try {
            while (true) {
                time.sleep(INTERVAL);
                sweep();
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    private record Kept(Path folder, Instant changed) {}

    /** Deletes what is too old or too much, the oldest first. What cannot be deleted is told once, and stays. */
    synchronized void sweep() {
        String failure = null;
        try {
            List<Kept> all = new ArrayList<>();
            for (Path folder : folders()) {
                all.add(new Kept(folder, changed(folder)));
            }
            all.sort(Comparator.comparing(Kept::changed));
            Instant oldest = time.wallClock().minus(keepFor);
            int tooMany = all.size() - most;
            for (int i = 0; i < all.size(); i++) {
                if (i < tooMany || all.get(i).changed().isBefore(oldest)) {
                    try {
                        delete(all.get(i).folder());
                    } catch (IOException e) {
                        failure = all.get(i).folder() + ": " + e.getMessage();
                    }
                }
            }
        } catch (IOException e) {
            failure = root + ": " + e.getMessage();
        }
        if (failure != null && !failure.equals(told)) {
            say.accept("old files stay in " + failure);
        }
        told = failure;
    }

    private List<Path> folders() throws IOException {
        if (!Files.isDirectory(root)) {
            return List.of();
        }
        try (Stream<Path> found = Files.walk(root, LEVELS)) {
            return found.filter(each -> root.relativize(each).getNameCount() == LEVELS)
                    .filter(each -> Files.isDirectory(each, LinkOption.NOFOLLOW_LINKS))
                    .toList();
        } catch (UncheckedIOException e) { // another worker deletes at the same time
            throw Objects.requireNonNull(e.getCause());
        }
    }

    /** When something was written there last, as far as can be told without reading everything. */
    private static Instant changed(Path folder) throws IOException {
        Instant newest = Instant.EPOCH;
        try (Stream<Path> files = Files.walk(folder, 1)) {
            for (Path each : files.toList()) {
                Instant at = Files.getLastModifiedTime(each, LinkOption.NOFOLLOW_LINKS)
                        .toInstant();
                newest = at.isAfter(newest) ? at : newest;
            }
        } catch (NoSuchFileException | UncheckedIOException goesJustNow) {
            return newest;
        }
        return newest;
    }

    private void delete(Path folder) throws IOException {
        if (held.contains(folder)) {
            return;
        }
        try (FileChannel channel = opened(folder)) {
            FileLock lock = channel.tryLock();
            if (lock != null) {
                deleteTree(folder);
            }
        } catch (NoSuchFileException gone) {
            // another worker was here
        }
    }

    /** With the folder of its item, unless other attempts have left something there. */
    static void deleteTree(Path folder) throws IOException {
        try (Stream<Path> found = Files.walk(folder)) {
            for (Path each : found.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(each);
            }
            Files.deleteIfExists(folder.getParent());
        } catch (DirectoryNotEmptyException othersAreThere) {
            // as it should be
        } catch (UncheckedIOException e) {
            throw Objects.requireNonNull(e.getCause());
        }
    }
}
