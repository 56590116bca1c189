package dev.fencepost.edge.web;

import dev.fencepost.host.Entropy;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Time;
import dev.fencepost.lease.StoreException;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Grant;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkQueue;
import dev.fencepost.work.WorkQueue.Pruned;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The files that workers hand in, in the state directory of this node. A file lies at {@code ITEM/FENCE/NAME.SHA256}, where ITEM is the
 * SHA-256 of the item's id: so nothing in a path was chosen freely by anybody, and a file never replaces one of another content. The id
 * itself stands in the file {@code ITEM/id}.
 *
 * <p>The order, which leaves neither a record without its file nor a file without its record:
 *
 * <ol>
 *   <li>The body goes to {@code incoming/}, with its length and hash counted, and to the disk for good.
 *   <li>A note of what is about to happen is written beside it; then the file is moved to its place, where nothing points to it yet.
 *   <li>{@link WorkQueue#addArtifact} checks the grant and records name and hash, in one transaction of the store.
 *   <li>Of the files with this name under this token only the one that the store has on record is left; the note goes.
 * </ol>
 *
 * A crash, or a store that does not say what it did, leaves the note: {@link #settle} takes it up later and does the last step. What a
 * body left that did not come to its end is deleted at the next start.
 *
 * <p>Of what the store prunes the rows go first, then the files ({@link #prune}). Files that a crash left behind, or that lie here while
 * another node or a command pruned, are found by {@link #sweep}: it deletes what the store says it has pruned, by the token, and nothing
 * that the store only does not know. Tokens never fall, so that a file of an id that was used anew has a higher one.
 *
 * <p>No symbolic link is followed below the directory. One process at a time uses it, which is the one that holds the lock of the state
 * directory. Safe for use by many threads.
 */
public final class Artifacts {

    private static final int LOCKS = 32;
    private static final int MOST_NOTE_BYTES = 4 << 10;
    private static final String PART = ".part";
    private static final String NOTE = ".note";
    private static final String ID = "id";
    private static final Pattern ITEM_FOLDER = Pattern.compile("[0-9a-f]{64}");
    private static final Pattern FENCE_FOLDER = Pattern.compile("[1-9][0-9]{0,17}");
    private static final int SWEPT_AT_ONCE = 500;
    private static final FileAttribute<Set<PosixFilePermission>> OWNERS_FOLDER =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    private static final FileAttribute<Set<PosixFilePermission>> OWNERS_FILE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private final Path root;
    private final Path incoming;
    private final WorkQueue work;
    private final Entropy entropy;
    private final Journal journal;
    private final List<ReentrantLock> locks = new ArrayList<>();

    private Artifacts(Path root, WorkQueue work, Entropy entropy, Journal journal) {
        this.root = root;
        this.incoming = root.resolve("incoming");
        this.work = work;
        this.entropy = entropy;
        this.journal = journal;
        for (int i = 0; i < LOCKS; i++) {
            locks.add(new ReentrantLock());
        }
    }

    /**
     * Makes the directory if it is not there, and deletes what is left of bodies that did not come to their end.
     *
     * @throws IOException if it cannot be used, for instance since it is a symbolic link
     */
    public static Artifacts open(Path directory, WorkQueue work, Entropy entropy, Journal journal) throws IOException {
        Artifacts artifacts = new Artifacts(directory, work, entropy, journal);
        folder(directory);
        folder(artifacts.incoming);
        for (Path left : artifacts.listed(artifacts.incoming, PART)) {
            Files.deleteIfExists(left);
        }
        return artifacts;
    }

    /** A body that came whole, on its way. */
    record Received(Path part, long size, String sha256) {}

    /**
     * Takes in a body. Whatever is thrown, nothing of it is left.
     *
     * @throws IOException of this host's disk
     */
    Received receive(InputStream body, Intake limits, Time time) throws IOException {
        Path part = incoming.resolve(entropy.uuid() + PART);
        boolean whole = false;
        try (FileChannel file =
                FileChannel.open(part, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), OWNERS_FILE)) {
            MessageDigest digest = Token.sha256();
            long size = limits.pass(body, time, (buffer, length) -> {
                digest.update(buffer, 0, length);
                ByteBuffer bytes = ByteBuffer.wrap(buffer, 0, length);
                while (bytes.hasRemaining()) {
                    file.write(bytes);
                }
            });
            file.force(true);
            whole = true;
            return new Received(part, size, HexFormat.of().formatHex(digest.digest()));
        } finally {
            if (!whole) {
                Files.deleteIfExists(part);
            }
        }
    }

    /** Throws away what was received. */
    void discard(Received received) {
        try {
            Files.deleteIfExists(received.part());
        } catch (IOException e) {
            journal.record(new Event.Problem("artifacts", null, null, null, "a file of incoming/ is left over", e));
        }
    }

    /**
     * Puts what was received into its place and on record, if the grant still holds at that moment. If it does not, or the store does not
     * answer, nothing is kept; what the store leaves unsaid is settled later.
     *
     * @throws StoreException as {@link WorkQueue#addArtifact}
     * @throws IOException of this host's disk; nothing is on record then
     */
    WorkAnswer keep(Received received, Grant grant, Artifact artifact) throws IOException {
        ReentrantLock lock = lock(artifact.item());
        lock.lock();
        try {
            Path note = place(received, artifact);
            try {
                WorkAnswer answer = work.addArtifact(grant, artifact);
                if (answer instanceof WorkAnswer.Done) {
                    leaveOnly(artifact.sha256(), artifact.item(), artifact.fence(), artifact.name());
                    Files.deleteIfExists(note);
                } else {
                    settleQuietly(note);
                }
                return answer;
            } catch (StoreException e) {
                settleQuietly(note);
                throw e;
            }
        } finally {
            lock.unlock();
            discard(received); // not there any more if it came to its place
        }
    }

    private Path place(Received received, Artifact artifact) throws IOException {
        Path note = incoming.resolve(entropy.uuid() + NOTE);
        Path item = root.resolve(hash(artifact.item()));
        Path folder = item.resolve(Long.toString(artifact.fence()));
        boolean placed = false;
        try {
            folder(item);
            writeId(item, artifact.item());
            folder(folder);
            writeNote(note, artifact);
            Files.move(
                    received.part(),
                    folder.resolve(fileName(artifact.name(), artifact.sha256())),
                    StandardCopyOption.ATOMIC_MOVE);
            sync(folder);
            sync(item);
            sync(root);
            placed = true;
            return note;
        } finally {
            if (!placed) {
                settleQuietly(note);
            }
        }
    }

    /** Before anything else comes into the folder, since nobody can tell the id from its hash. A torn one is written again. */
    private static void writeId(Path folder, String item) throws IOException {
        if (item.equals(idOf(folder))) {
            return;
        }
        Path id = folder.resolve(ID);
        Files.deleteIfExists(id);
        try (FileChannel file =
                FileChannel.open(id, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), OWNERS_FILE)) {
            file.write(ByteBuffer.wrap(item.getBytes(StandardCharsets.UTF_8)));
            file.force(true);
        }
    }

    /** The id of the item with this folder; null if it is not told there, or not as a whole. */
    private static @Nullable String idOf(Path folder) throws IOException {
        String text;
        try (InputStream in = Files.newInputStream(folder.resolve(ID), LinkOption.NOFOLLOW_LINKS)) {
            text = new String(in.readNBytes(MOST_NOTE_BYTES), StandardCharsets.UTF_8);
        } catch (NoSuchFileException none) {
            return null;
        }
        return folder.getFileName().toString().equals(hash(text)) ? text : null;
    }

    private void writeNote(Path note, Artifact artifact) throws IOException {
        String text = artifact.item() + "\n" + artifact.fence() + "\n" + artifact.name() + "\n";
        try (FileChannel file =
                FileChannel.open(note, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), OWNERS_FILE)) {
            file.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
            file.force(true);
        }
        sync(incoming);
    }

    /**
     * Takes up what crashes and silent stores left open: to be called every now and then.
     *
     * @return how much is still open
     */
    int settle() throws IOException {
        int open = 0;
        for (Path note : listed(incoming, NOTE)) {
            open += settleQuietly(note) ? 0 : 1;
        }
        return open;
    }

    /** @return whether it is settled */
    private boolean settleQuietly(Path note) {
        try {
            return settle(note);
        } catch (StoreException later) {
            return false; // the store is away: told by those who need it
        } catch (IOException e) {
            journal.record(
                    new Event.Problem("artifacts", null, null, null, "a file may be left over; tried again later", e));
            return false;
        }
    }

    private boolean settle(Path note) throws IOException {
        String text;
        try (InputStream in = Files.newInputStream(note, LinkOption.NOFOLLOW_LINKS)) {
            text = new String(in.readNBytes(MOST_NOTE_BYTES), StandardCharsets.UTF_8);
        } catch (NoSuchFileException settled) {
            return true;
        }
        List<String> lines = text.lines().toList();
        if (lines.size() != 3 || !text.endsWith("\n")) { // a crash came before its end, so before anything moved
            Files.deleteIfExists(note);
            return true;
        }
        String item = lines.get(0);
        long fence = Long.parseLong(lines.get(1));
        String name = lines.get(2);
        ReentrantLock lock = lock(item);
        lock.lock();
        try {
            if (Files.exists(note, LinkOption.NOFOLLOW_LINKS)) { // else another thread was here
                Artifact recorded = find(item, fence, name);
                leaveOnly(recorded == null ? null : recorded.sha256(), item, fence, name);
                Files.deleteIfExists(note);
            }
        } finally {
            lock.unlock();
        }
        return true;
    }

    /** What the store has on record; null if nothing. */
    @Nullable
    Artifact find(String item, long fence, String name) {
        return work.artifacts(item).stream()
                .filter(each -> each.fence() == fence && each.name().equals(name))
                .findFirst()
                .orElse(null);
    }

    /**
     * The bytes of a file on record.
     *
     * @return null if this node does not have them: another one took them in
     * @throws IOException if what lies there is not what was recorded
     */
    @Nullable
    InputStream read(Artifact artifact) throws IOException {
        Path file = path(artifact);
        FileChannel channel;
        try {
            channel = FileChannel.open(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
        } catch (NoSuchFileException elsewhere) {
            return null;
        }
        boolean good = false;
        try {
            if (channel.size() != artifact.size()) {
                throw new IOException("an artifact of item " + artifact.item() + " has " + channel.size()
                        + " bytes, but " + artifact.size() + " were recorded");
            }
            good = true;
            return Channels.newInputStream(channel);
        } finally {
            if (!good) {
                channel.close();
            }
        }
    }

    /**
     * Lets the store prune once, and deletes the files of it that lie here. What a crash or a bad disk leaves of them is swept later.
     *
     * @return how many items went
     * @throws StoreException as {@link WorkQueue#prune}
     */
    public int prune(Instant endedBefore, int limit) {
        Pruned pruned = work.prune(endedBefore, limit);
        remove(pruned.artifacts());
        return pruned.items();
    }

    /** A file that is not here is none of ours. */
    private void remove(List<Artifact> pruned) {
        List<IOException> failures = new ArrayList<>();
        for (Artifact artifact : pruned) {
            ReentrantLock lock = lock(artifact.item());
            lock.lock();
            try {
                Path file = path(artifact);
                Files.deleteIfExists(file);
                deleteIfEmpty(file.getParent());
                deleteIfEmptyItem(root.resolve(hash(artifact.item())));
            } catch (IOException e) {
                failures.add(e);
            } finally {
                lock.unlock();
            }
        }
        if (!failures.isEmpty()) {
            leftOver(failures.getFirst());
        }
    }

    private void leftOver(IOException failure) {
        journal.record(new Event.Problem(
                "artifacts", null, null, null, "files of pruned items are left over; tried again later", failure));
    }

    /**
     * Deletes files whose items the store has pruned. One folder that cannot be swept does not keep the others.
     *
     * @return how many files went
     * @throws StoreException as {@link WorkQueue#prunedTokens}; what was not looked at by then stays
     */
    int sweep() throws IOException {
        int gone = 0;
        List<IOException> failures = new ArrayList<>();
        List<Path> batch = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(root, Artifacts::isItemFolder)) {
            Iterator<Path> folders = all.iterator();
            while (folders.hasNext()) {
                batch.add(folders.next());
                if (batch.size() == SWEPT_AT_ONCE || !folders.hasNext()) {
                    gone += sweep(batch, failures);
                    batch.clear();
                }
            }
        }
        if (!failures.isEmpty()) {
            leftOver(failures.getFirst());
        }
        return gone;
    }

    private static boolean isItemFolder(Path path) {
        return ITEM_FOLDER.matcher(path.getFileName().toString()).matches()
                && Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
    }

    private int sweep(List<Path> folders, List<IOException> failures) {
        List<String> items = new ArrayList<>();
        for (Path folder : folders) {
            try {
                String item = idOf(folder);
                if (item == null) {
                    deleteEmpty(folder);
                } else {
                    items.add(item);
                }
            } catch (IOException e) {
                failures.add(e);
            }
        }
        int gone = 0;
        for (Map.Entry<String, Long> pruned : work.prunedTokens(items).entrySet()) {
            try {
                gone += sweep(pruned.getKey(), pruned.getValue());
            } catch (IOException e) {
                failures.add(e);
            }
        }
        return gone;
    }

    /** A crash left it before its id was written. */
    private void deleteEmpty(Path folder) throws IOException {
        ReentrantLock lock = lockOf(folder.getFileName().toString());
        lock.lock();
        try {
            deleteIfEmpty(folder);
        } finally {
            lock.unlock();
        }
    }

    private int sweep(String item, long prunedToken) throws IOException {
        Path folder = root.resolve(hash(item));
        int gone = 0;
        ReentrantLock lock = lock(item);
        lock.lock();
        try {
            if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
                return 0; // another thread was here
            }
            Set<Path> onRecord = new HashSet<>();
            for (Artifact artifact : work.artifacts(item)) {
                onRecord.add(path(artifact));
            }
            for (Path fence : listed(folder, "")) {
                String number = fence.getFileName().toString();
                if (FENCE_FOLDER.matcher(number).matches()
                        && Long.parseLong(number) <= prunedToken
                        && Files.isDirectory(fence, LinkOption.NOFOLLOW_LINKS)) {
                    for (Path file : listed(fence, "")) {
                        if (!onRecord.contains(file)) {
                            Files.deleteIfExists(file);
                            gone++;
                        }
                    }
                    deleteIfEmpty(fence);
                }
            }
            deleteIfEmptyItem(folder);
        } finally {
            lock.unlock();
        }
        return gone;
    }

    /** Of the files with this name, under the item's lock. @param sha256 of the one that stays, null for none */
    private void leaveOnly(@Nullable String sha256, String item, long fence, String name) throws IOException {
        Path folder = root.resolve(hash(item)).resolve(Long.toString(fence));
        if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        String kept = sha256 == null ? "" : fileName(name, sha256);
        int length = fileName(name, hash("")).length();
        for (Path file : listed(folder, "")) {
            String each = file.getFileName().toString();
            if (each.startsWith(name + ".") && each.length() == length && !each.equals(kept)) {
                Files.deleteIfExists(file);
            }
        }
        deleteIfEmpty(folder);
        deleteIfEmptyItem(root.resolve(hash(item)));
    }

    /** An item's folder in which nothing is left but the id. */
    private void deleteIfEmptyItem(Path folder) throws IOException {
        if (Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)
                && listed(folder, "").stream()
                        .allMatch(each -> each.getFileName().toString().equals(ID))) {
            Files.deleteIfExists(folder.resolve(ID));
            deleteIfEmpty(folder);
        }
    }

    private static void deleteIfEmpty(@Nullable Path folder) throws IOException {
        if (folder == null) {
            return;
        }
        try {
            Files.deleteIfExists(folder);
        } catch (DirectoryNotEmptyException stays) {
            // other files lie there
        }
    }

    private Path path(Artifact artifact) throws IOException {
        Path folder = root.resolve(hash(artifact.item())).resolve(Long.toString(artifact.fence()));
        for (Path each : List.of(folder.getParent(), folder)) {
            if (Files.isSymbolicLink(each)) {
                throw new IOException(each + " is a symbolic link, which is not followed");
            }
        }
        return folder.resolve(fileName(artifact.name(), artifact.sha256()));
    }

    private static String fileName(String name, String sha256) {
        return name + "." + sha256;
    }

    private static String hash(String item) {
        return HexFormat.of().formatHex(Token.digestOf(item));
    }

    private ReentrantLock lock(String item) {
        return lockOf(hash(item));
    }

    private ReentrantLock lockOf(String folder) {
        return locks.get(Math.floorMod(folder.hashCode(), LOCKS));
    }

    private List<Path> listed(Path folder, String end) throws IOException {
        List<Path> files = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(
                folder, each -> each.getFileName().toString().endsWith(end))) {
            all.forEach(files::add);
        }
        return files;
    }

    private static void folder(Path path) throws IOException {
        try {
            Files.createDirectory(path, OWNERS_FOLDER);
        } catch (FileAlreadyExistsException there) {
            if (!Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
                throw new IOException(path + " is not a directory (a symbolic link is not followed)", there);
            }
        }
    }

    private static void sync(Path folder) throws IOException {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
