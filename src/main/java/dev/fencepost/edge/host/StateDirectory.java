package dev.fencepost.edge.host;

import dev.fencepost.host.Entropy;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a node keeps on its host: its id, the lock of its service, and the files of its runs.
 *
 * <p>The node id is random and stays for as long as the directory does. {@code serve} holds the directory's lock for as long as it
 * lives, so that two services cannot share one id; short commands share the id without the lock (semantics 2.15).
 */
public final class StateDirectory {

    private static final String NODE_ID = "node-id";
    private static final String LOCK = "serve.lock";
    private static final Pattern UUID_TEXT = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

    private final Path path;
    private final String nodeId;

    private StateDirectory(Path path, String nodeId) {
        this.path = path;
        this.nodeId = nodeId;
    }

    /**
     * Makes the directory and the id if they are not there.
     *
     * @throws IOException if that is not possible; the message names the directory and the cause
     */
    public static StateDirectory open(Path path, Entropy entropy) throws IOException {
        try {
            if (!Files.isDirectory(path)) {
                Path parent = path.toAbsolutePath().getParent();
                if (parent != null) {
                    Files.createDirectories(parent);
                }
                Files.createDirectory(
                        path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            }
        } catch (FileAlreadyExistsException e) {
            if (!Files.isDirectory(path)) {
                throw new IOException("state directory " + path + " is not a directory", e);
            }
        } catch (IOException e) {
            throw new IOException("state directory " + path + " cannot be made: " + cause(e), e);
        }
        return new StateDirectory(path, nodeId(path.resolve(NODE_ID), entropy));
    }

    /**
     * The id of the node whose state this directory holds, without making anything.
     *
     * @return null if it has none yet
     * @throws IOException if there is one that cannot be read
     */
    public static @Nullable String existingNodeId(Path path) throws IOException {
        Path file = path.resolve(NODE_ID);
        return Files.exists(file) ? read(file) : null;
    }

    private static String nodeId(Path file, Entropy entropy) throws IOException {
        try {
            if (!Files.exists(file)) {
                // Written aside and moved without replacing, so that two starts at once agree on the first one's id.
                Path fresh = Files.createTempFile(file.toAbsolutePath().getParent(), NODE_ID, ".new");
                Files.writeString(fresh, entropy.uuid() + "\n");
                try {
                    Files.createLink(file, fresh);
                } catch (FileAlreadyExistsException another) {
                    // the other one's counts
                } catch (UnsupportedOperationException | IOException noLinks) {
                    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
                }
                Files.deleteIfExists(fresh);
            }
            return read(file);
        } catch (NoSuchFileException e) {
            throw new IOException(file + " disappeared", e);
        }
    }

    private static String read(Path file) throws IOException {
        String id = Files.readString(file, StandardCharsets.US_ASCII).strip();
        if (!UUID_TEXT.matcher(id).matches()) {
            throw new IOException(file + " holds no node id; delete the file to be given a new one");
        }
        return id;
    }

    public Path path() {
        return path;
    }

    public String nodeId() {
        return nodeId;
    }

    /** Where the runs of this node have their files. */
    public Path runs() {
        return runsIn(path);
    }

    /** The same of a state directory that is only looked at. */
    public static Path runsIn(Path path) {
        return path.resolve("runs");
    }

    /**
     * Takes the service's lock, until it is closed or the process ends.
     *
     * @return null if another process has it
     */
    public @Nullable AutoCloseable lock() throws IOException {
        FileChannel channel = FileChannel.open(path.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock lock = null;
        try {
            lock = channel.tryLock();
        } catch (OverlappingFileLockException thisProcess) {
            // held by another part of this process: refused like any other
        } finally {
            if (lock == null) {
                channel.close();
            }
        }
        return lock == null ? null : channel;
    }

    private static String cause(IOException e) {
        return e.getClass().getSimpleName().replace("Exception", "") + " " + e.getMessage();
    }
}
