package dev.fencepost.edge.sink;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An open folder. Whatever is done in it is done relative to the folder that was opened, and follows no link: so nobody can put another
 * folder, or a link to one, in its place between a look and a write. For one thread.
 */
final class FileFolder implements AutoCloseable {

    private final Path path;
    private final SecureDirectoryStream<Path> open;

    private FileFolder(Path path, DirectoryStream<Path> open) throws IOException {
        this.path = path;
        if (!(open instanceof SecureDirectoryStream<Path> secure)) {
            open.close();
            throw new IOException("this system cannot open files relative to a folder");
        }
        this.open = secure;
    }

    /** Opens a folder by its path, links in it followed. */
    static FileFolder open(Path path) throws IOException {
        return new FileFolder(path, Files.newDirectoryStream(path));
    }

    /**
     * Opens a folder in this one. It is no link.
     *
     * @param make whether it is made, durably, if it is not there
     */
    FileFolder sub(String name, boolean make) throws IOException {
        Path file = Path.of(name);
        if (make && attributes(name) == null) {
            try {
                // By its path, since there is no other way; if somebody puts a link there now, an empty folder is made
                // elsewhere, and the
                // opening below fails.
                Files.createDirectory(path.resolve(file));
            } catch (FileAlreadyExistsException anotherWasFaster) {
                // as good
            }
            force();
        }
        return new FileFolder(path.resolve(file), open.newDirectoryStream(file, LinkOption.NOFOLLOW_LINKS));
    }

    /** Of the thing itself, not of what it links to; null if there is none. */
    @Nullable
    BasicFileAttributes attributes(String name) throws IOException {
        try {
            return open.getFileAttributeView(Path.of(name), BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                    .readAttributes();
        } catch (NoSuchFileException none) {
            return null;
        }
    }

    /**
     * Writes a new file, whose bytes are durable then; its name is so only after {@link #force}.
     *
     * @param mode of the file, or null for that of a new one: 0644 without what the umask takes
     */
    void write(String name, byte[] bytes, @Nullable Set<PosixFilePermission> mode) throws IOException {
        FileAttribute<?> usual = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-r--r--"));
        try (FileChannel file = channel(
                name,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS),
                usual)) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            while (buffer.hasRemaining()) {
                file.write(buffer);
            }
            if (mode != null) {
                permissions(name).setPermissions(mode);
            }
            file.force(true);
        }
    }

    /** @throws IOException also if it is larger than the limit */
    byte[] read(String name, int limit) throws IOException {
        try (FileChannel file = channel(name, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS))) {
            if (file.size() > limit) {
                throw new IOException("it is larger than " + limit + " bytes");
            }
            ByteBuffer buffer = ByteBuffer.allocate((int) file.size());
            while (buffer.hasRemaining() && file.read(buffer) >= 0) {
                // goes on
            }
            byte[] bytes = new byte[buffer.position()];
            buffer.flip().get(bytes);
            return bytes;
        }
    }

    /** A file to lock, made if it is not there. */
    FileChannel lockFile(String name) throws IOException {
        return channel(name, Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS));
    }

    Set<PosixFilePermission> mode(String name) throws IOException {
        return permissions(name).readAttributes().permissions();
    }

    /** Gives the file another name in this folder at once, in the place of what had that name. */
    void rename(String from, String to) throws IOException {
        open.move(Path.of(from), open, Path.of(to));
    }

    void deleteIfExists(String name) throws IOException {
        try {
            open.deleteFile(Path.of(name));
        } catch (NoSuchFileException none) {
            // as wanted
        }
    }

    /** Makes the names in this folder durable. */
    void force() throws IOException {
        try (FileChannel self = channel(".", Set.of(StandardOpenOption.READ))) {
            self.force(true);
        }
    }

    @Override
    public void close() throws IOException {
        open.close();
    }

    private PosixFileAttributeView permissions(String name) {
        return open.getFileAttributeView(Path.of(name), PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
    }

    private FileChannel channel(String name, Set<? extends OpenOption> how, FileAttribute<?>... attributes)
            throws IOException {
        SeekableByteChannel opened = open.newByteChannel(Path.of(name), how, attributes);
        if (opened instanceof FileChannel file) {
            return file;
        }
        opened.close();
        throw new IOException("this system cannot make files durable");
    }
}
