package dev.fencepost.edge.sink;

import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.host.Programs;
import dev.fencepost.host.Time;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

/**
 * The runner's own bare repositories, one for each remote, in {@code <state directory>/git}. Safe for use by many threads; one object is
 * to be shared by all of a process, since the lock of a file belongs to the whole process.
 *
 * <p>A repository is used by one thread at a time, also across processes. So a lock file of git that is found in it is a left-over, but for
 * one case: a git whose runner was killed and which has not ended yet.
 */
public final class GitRepositories {

    private static final Duration BETWEEN_TRIES = Duration.ofMillis(50);

    private final Path folder;
    private final Programs programs;
    private final Map<String, String> runnerEnvironment;
    private final Time time;
    private final Map<Path, ReentrantLock> locks = new ConcurrentHashMap<>();

    /** @param runnerEnvironment of which git is given what it needs to reach a remote */
    public GitRepositories(Path stateDir, Programs programs, Map<String, String> runnerEnvironment, Time time) {
        this.folder = stateDir.toAbsolutePath().resolve("git");
        this.programs = programs;
        this.runnerEnvironment = Map.copyOf(runnerEnvironment);
        this.time = time;
    }

    /**
     * The repository for the sink's remote, for this thread alone until it is closed.
     *
     * @param limit of everything that is done with it
     * @throws IOException if the sink's remote is not known, or the repository is in use for longer than the limit, or cannot be made
     */
    GitRepository open(SinkDefinition.Git sink, Duration limit) throws IOException, InterruptedException {
        Git git = new Git(programs, runnerEnvironment, time, limit);
        GitRemote remote = GitRemote.of(sink, git);
        Files.createDirectories(
                folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        String name = hash(remote.url());
        Path path = folder.resolve(name + ".git");
        AutoCloseable lock = lock(folder.resolve(name + ".lock"), git);
        try {
            removeStaleLocks(path);
            if (!Files.exists(path.resolve("HEAD"))) {
                GitRepository.succeeded(git.local(
                        List.of("init", "--quiet", "--bare", "--template=", path.toString()), Map.of(), new byte[0]));
            }
            return new GitRepository(path, git, sink, remote, lock);
        } catch (IOException | InterruptedException | RuntimeException e) {
            close(lock);
            throw e;
        }
    }

    static void close(AutoCloseable lock) {
        try {
            lock.close();
        } catch (Exception e) {
            throw new IllegalStateException("a lock cannot be given back", e);
        }
    }

    private AutoCloseable lock(Path file, Git git) throws IOException, InterruptedException {
        ReentrantLock own = locks.computeIfAbsent(file, none -> new ReentrantLock());
        if (!own.tryLock(git.left().toMillis(), TimeUnit.MILLISECONDS)) {
            throw new IOException("the repository of this remote is in use by another delivery or run");
        }
        FileChannel channel = null;
        FileLock lock = null;
        try {
            channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            FileChannel opened = channel;
            for (lock = channel.tryLock(); lock == null; lock = channel.tryLock()) {
                if (git.left().isZero()) {
                    throw new IOException("the repository of this remote is in use by another process");
                }
                time.sleep(BETWEEN_TRIES);
            }
            return () -> {
                try {
                    opened.close();
                } finally {
                    own.unlock();
                }
            };
        } finally {
            if (lock == null) {
                own.unlock();
                if (channel != null) {
                    channel.close();
                }
            }
        }
    }

    /** Called under the lock. */
    private static void removeStaleLocks(Path repository) throws IOException {
        List<Path> stale = new ArrayList<>();
        for (String place : List.of("", "refs", "objects/info", "logs")) {
            Path start = repository.resolve(place);
            if (Files.isDirectory(start)) {
                int depth = place.isEmpty() || place.startsWith("objects") ? 1 : Integer.MAX_VALUE;
                try (Stream<Path> files = Files.walk(start, depth)) {
                    files.filter(file -> file.getFileName().toString().endsWith(".lock"))
                            .filter(Files::isRegularFile)
                            .forEach(stale::add);
                } catch (UncheckedIOException e) {
                    throw e.getCause();
                }
            }
        }
        if (!stale.isEmpty() && !isInUse(repository)) {
            for (Path file : stale) {
                Files.deleteIfExists(file);
            }
        }
    }

    /** Whether a process works in this repository, so one whose runner is dead. */
    private static boolean isInUse(Path repository) throws IOException {
        String mark = "\0GIT_DIR=" + repository + "\0";
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : processes) {
                try {
                    byte[] environment = Files.readAllBytes(process.resolve("environ"));
                    if (("\0" + new String(environment, StandardCharsets.UTF_8) + "\0").contains(mark)) {
                        return true;
                    }
                } catch (IOException endedOrNotOurs) {
                    // then it does not work here
                }
            }
        }
        return false;
    }

    private static String hash(String url) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(url.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest, 0, 12);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }
}
