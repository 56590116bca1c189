package dev.fencepost.edge.sink;

import dev.fencepost.edge.sink.FileFence.Placed;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.Delivery;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.ReadBack;
import dev.fencepost.effect.Sink;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.host.Time;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A folder whose files are placed atomically, and which keeps the fence itself, in {@code <root>/.fencepost/}.
 *
 * <p><b>Order.</b> Under the lock of the resource: the content goes to a temporary file beside the target and is made durable; the token is
 * advanced, durably, together with what is about to be placed; the file gets its name; the folder is made durable; key and receipt are
 * recorded. Whoever comes after a crash sees by the hash of the file whether it had got its name, and records that first. The lock is
 * held all the time, and the kernel gives it back when its holder dies: so no write of an older token can come late, and none can come
 * between.
 *
 * <p><b>Sent again.</b> A key that was recorded is answered with its first receipt and touches nothing. That, and the look at what a dead
 * writer was about to place, makes sending again harmless: the sink is idempotent, and needs no lock-delay.
 *
 * <p>The root has to exist: a root that is made could be the empty place where a disk should be. Processes that share it have to run on one
 * host, or on a file system that knows locks, and as users that may write each other's files.
 */
public final class FileSink implements Sink {

    private static final Duration LOCK_LIMIT = Duration.ofSeconds(10);
    private static final Duration LOCK_POLL = Duration.ofMillis(20);

    /** For 16 MiB and a dozen journal commits; a disk that is slower than that hangs, and nothing can end a call into it. */
    private static final Duration DISK_LIMIT = Duration.ofSeconds(50);

    private static final int MAX_FENCE_FILE_BYTES = 16 << 20;
    private static final int LONGEST_NAME = 120;

    /**
     * Kernel locks are the process's: a thread that opens and closes a lock file takes the lock away from its neighbour. So the threads of
     * this process, whatever sink they belong to, first agree among themselves. A few locks, by the hash of what is locked.
     */
    private static final List<ReentrantLock> OF_THIS_PROCESS =
            Stream.generate(ReentrantLock::new).limit(64).toList();

    /** The steps of a delivery, for tests that end it in the middle. */
    enum Step {
        WRITTEN,
        ADVANCED,
        RENAMED,
        RECORDED
    }

    /** Told of each step after it is done. */
    interface Steps {
        void done(Step step);
    }

    private final SinkDefinition.Files definition;
    private final Time time;
    private final Steps steps;

    public FileSink(SinkDefinition.Files definition, Time time) {
        this(definition, time, step -> {});
    }

    FileSink(SinkDefinition.Files definition, Time time, Steps steps) {
        this.definition = definition;
        this.time = time;
        this.steps = steps;
    }

    @Override
    public Duration timeLimit() {
        return LOCK_LIMIT.multipliedBy(2).plus(DISK_LIMIT); // threads first, then processes
    }

    @Override
    public Duration lockDelay() {
        return Duration.ZERO;
    }

    @Override
    public boolean isIdempotent() {
        return true;
    }

    /** Any number: a full disk is emptied some day. */
    @Override
    public int maxTries() {
        return 0;
    }

    @Override
    public Delivery deliver(Effect effect) throws InterruptedException {
        FileTarget target;
        try {
            target = FileTarget.of(effect.content().target());
        } catch (FileTarget.Refused e) {
            return new Delivery.Dead(String.valueOf(e.getMessage()), null);
        }
        try (Locked locked = lock(effect.pair().resource())) {
            if (locked == null) {
                return new Delivery.NotNow(
                        "another writer holds the lock of " + effect.pair().resource(), null);
            }
            return place(effect, target, locked);
        } catch (IOException e) {
            return new Delivery.NotNow(definition.root() + ": " + FileFailure.words(e), null);
        }
    }

    private Delivery place(Effect effect, FileTarget target, Locked locked) throws IOException {
        FileFence fence = locked.fence();
        Placed before = fence.of(effect);
        if (before != null) {
            return new Delivery.Confirmed(before.receipt());
        }
        if (!fence.highest().lets(effect.fence(), effect.runId()) && !effect.override()) {
            long newest = fence.highest().fence();
            String why = newest == effect.fence().value()
                    ? "token " + newest + " was accepted from another run"
                    : "token " + newest + " was accepted before";
            return new Delivery.Refused(why, newest);
        }
        try (FileFolder folder = folder(locked.root, target, true)) {
            BasicFileAttributes there = folder.attributes(target.name());
            if (there != null && !there.isRegularFile()) {
                return new Delivery.Dead(target.text() + " is " + kind(there) + ", no plain file", null);
            }
            Set<PosixFilePermission> mode = there == null ? null : folder.mode(target.name());
            byte[] bytes = effect.content().bytes();
            Placed placed = Placed.of(effect, target, sha256(bytes));
            String temporary = locked.temporaryName();
            folder.deleteIfExists(temporary); // of a writer that died: it held this lock
            try {
                folder.write(temporary, bytes, mode);
                steps.done(Step.WRITTEN);
                locked.store(fence.about(placed));
                steps.done(Step.ADVANCED);
            } catch (IOException e) {
                giveUp(folder, temporary, e);
                throw e;
            }
            try {
                folder.rename(temporary, target.name());
                folder.force();
                steps.done(Step.RENAMED);
                locked.store(fence.about(placed).done(placed));
                steps.done(Step.RECORDED);
            } catch (IOException e) {
                return new Delivery.Unknown(
                        target.text() + " may have been placed, but not surely: " + FileFailure.words(e));
            }
            return new Delivery.Confirmed(placed.receipt());
        } catch (LinkInTheWay e) {
            return new Delivery.Dead(String.valueOf(e.getMessage()), null);
        }
    }

    private static void giveUp(FileFolder folder, String temporary, IOException cause) {
        try {
            folder.deleteIfExists(temporary);
        } catch (IOException stays) { // until the next one
            cause.addSuppressed(stays);
        }
    }

    @Override
    public ReadBack readBack(Effect effect) throws InterruptedException {
        FileTarget target;
        try {
            target = FileTarget.of(effect.content().target());
        } catch (FileTarget.Refused e) {
            return new ReadBack.Absent(String.valueOf(e.getMessage()));
        }
        try (Locked locked = lock(effect.pair().resource())) {
            if (locked == null) {
                return new ReadBack.NoAnswer(
                        "another writer holds the lock of " + effect.pair().resource());
            }
            Placed before = locked.fence().of(effect);
            if (before != null) {
                return new ReadBack.Found(before.receipt());
            }
            Placed wanted = Placed.of(effect, target, sha256(effect.content().bytes()));
            return isThere(locked.root, wanted)
                    ? new ReadBack.Found(wanted.receipt())
                    : new ReadBack.Absent(target.text() + " does not hold the content, and its key is not recorded");
        } catch (IOException e) {
            return new ReadBack.NoAnswer(definition.root() + ": " + FileFailure.words(e));
        }
    }

    /** Whether the file has this content now; if so, its name is made durable. */
    private static boolean isThere(FileFolder root, Placed placed) throws IOException {
        FileTarget target;
        try {
            target = FileTarget.of(placed.path());
        } catch (FileTarget.Refused e) {
            return false;
        }
        FileFolder folder;
        try {
            folder = folder(root, target, false);
        } catch (LinkInTheWay | NoSuchFileException noFolder) {
            return false;
        }
        try (folder) {
            BasicFileAttributes there = folder.attributes(target.name());
            if (there == null || !there.isRegularFile() || there.size() != placed.bytes()) {
                return false;
            }
            boolean isSame =
                    sha256(folder.read(target.name(), Content.MAX_BYTES)).equals(placed.sha256());
            if (isSame) {
                folder.force();
            }
            return isSame;
        }
    }

    /** Something on the way to the target is no folder. */
    private static final class LinkInTheWay extends IOException {
        LinkInTheWay(String message) {
            super(message);
        }
    }

    private static FileFolder folder(FileFolder root, FileTarget target, boolean make) throws IOException {
        FileFolder at = root.sub(".", false);
        try {
            for (String part : target.folders()) {
                BasicFileAttributes there = at.attributes(part);
                if (there != null && !there.isDirectory()) {
                    throw new LinkInTheWay(part + " in " + target.text() + " is " + kind(there) + ", no folder");
                }
                FileFolder next = at.sub(part, make);
                at.close();
                at = next;
            }
            return at;
        } catch (IOException e) {
            at.close();
            throw e;
        }
    }

    private static String kind(BasicFileAttributes there) {
        if (there.isSymbolicLink()) {
            return "a link";
        }
        return there.isDirectory() ? "a folder" : there.isRegularFile() ? "a file" : "a device, pipe or socket";
    }

    private static String sha256(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }

    /** Null if somebody else holds it for too long. */
    private @Nullable Locked lock(String resource) throws IOException, InterruptedException {
        Path root = definition.root().toRealPath(); // the root itself may be a link
        String name = nameOf(resource);
        ReentrantLock threads =
                OF_THIS_PROCESS.get(Math.floorMod(root.resolve(name).hashCode(), OF_THIS_PROCESS.size()));
        if (!threads.tryLock(LOCK_LIMIT.toNanos(), TimeUnit.NANOSECONDS)) {
            return null;
        }
        Locked locked = null;
        try {
            locked = lockFile(root, name, threads);
        } finally {
            if (locked == null) {
                threads.unlock();
            }
        }
        return locked;
    }

    private @Nullable Locked lockFile(Path rootPath, String name, ReentrantLock threads)
            throws IOException, InterruptedException {
        FileFolder root = FileFolder.open(rootPath);
        FileFolder own = null;
        FileChannel file = null;
        boolean isLocked = false;
        try {
            own = root.sub(FileTarget.OWN, true);
            file = own.lockFile(name + ".lock");
            long giveUp = time.bootMillis() + LOCK_LIMIT.toMillis();
            FileLock lock = file.tryLock();
            while (lock == null && time.bootMillis() < giveUp) {
                time.sleep(LOCK_POLL);
                lock = file.tryLock();
            }
            isLocked = lock != null;
            return isLocked ? new Locked(threads, root, own, file, name) : null;
        } finally {
            if (!isLocked) {
                closeAll(file, own, root);
            }
        }
    }

    private static void closeAll(@Nullable AutoCloseable... all) {
        for (AutoCloseable one : all) {
            try {
                if (one != null) {
                    one.close();
                }
            } catch (Exception e) {
                // nothing was written through it that is not durable already
            }
        }
    }

    /** The resource as the name of a file: readable where it fits, else its hash. */
    private static String nameOf(String resource) {
        String readable = HttpText.forUrl(resource);
        return readable.length() <= LONGEST_NAME && !readable.startsWith(".")
                ? readable
                : "sha256-" + sha256(resource.getBytes(StandardCharsets.UTF_8));
    }

    /** The lock of a resource, and what lies under it. */
    private static final class Locked implements AutoCloseable {
        private final ReentrantLock threads;
        private final FileFolder root;
        private final FileFolder own;
        private final FileChannel file;
        private final String name;

        Locked(ReentrantLock threads, FileFolder root, FileFolder own, FileChannel file, String name) {
            this.threads = threads;
            this.root = root;
            this.own = own;
            this.file = file;
            this.name = name;
        }

        /** One a resource, so that what a dead writer left is found by its name. */
        String temporaryName() {
            return FileTarget.OWN + "-"
                    + sha256(name.getBytes(StandardCharsets.UTF_8)).substring(0, 16) + ".tmp";
        }

        /** As stored, with what a dead writer was about to place settled. */
        FileFence fence() throws IOException {
            FileFence fence = FileFence.NONE;
            if (own.attributes(fenceFile()) != null) {
                try {
                    fence = FileFence.parse(own.read(fenceFile(), MAX_FENCE_FILE_BYTES));
                } catch (IOException e) {
                    throw new IOException(
                            "the fence file " + FileTarget.OWN + "/" + fenceFile() + " cannot be used: "
                                    + FileFailure.words(e),
                            e);
                }
            }
            Placed placing = fence.placing();
            if (placing != null) {
                fence = isThere(root, placing) ? fence.done(placing) : fence.withoutPlacing();
                store(fence);
            }
            return fence;
        }

        void store(FileFence fence) throws IOException {
            String fresh = fenceFile() + ".new";
            own.deleteIfExists(fresh);
            own.write(fresh, fence.bytes(), null);
            own.rename(fresh, fenceFile());
            own.force();
        }

        private String fenceFile() {
            return name + ".fence";
        }

        @Override
        public void close() {
            closeAll(file, own, root);
            threads.unlock();
        }
    }
}
