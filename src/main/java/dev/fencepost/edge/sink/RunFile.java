package dev.fencepost.edge.sink;

import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads a file that a run names. It may name links, but only such as stay within the run's own folders; and what was looked at is what is
 * read, though somebody of the run's user may still move things about.
 */
final class RunFile {

    private RunFile() {}

    /**
     * The content of a file.
     *
     * @param name absolute, or relative to the first of the folders
     * @param folders in which it has to lie; null ones count for nothing
     * @param limit of its size in bytes
     * @throws IOException if it is not there, no plain file, elsewhere or too big; the message goes on after the file's name
     */
    static byte[] read(String name, List<@Nullable Path> folders, int limit) throws IOException {
        try {
            Path first = folders.getFirst();
            Path real = (first == null ? Path.of(name) : first.resolve(name)).toRealPath();
            for (Path folder : folders) {
                if (folder != null && Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
                    Path top = folder.toRealPath();
                    if (real.startsWith(top) && !real.equals(top)) {
                        return read(top, top.relativize(real), limit);
                    }
                }
            }
        } catch (NoSuchFileException e) {
            throw new IOException("does not exist; write it before the run ends", e);
        } catch (InvalidPathException e) {
            throw new IOException("is no name of a file", e);
        }
        throw new IOException("lies outside of $FENCEPOST_OUTPUT_DIR and the worktree; write it there");
    }

    private static byte[] read(Path top, Path below, int limit) throws IOException {
        Path parent = below.getParent();
        try (DirectoryStream<Path> opened = Files.newDirectoryStream(top)) {
            return in(opened, parent, below.getFileName(), limit);
        }
    }

    private static byte[] in(DirectoryStream<Path> folder, @Nullable Path way, Path name, int limit)
            throws IOException {
        if (!(folder instanceof SecureDirectoryStream<Path> secure)) {
            throw new IOException("cannot be read safely on this system");
        }
        if (way != null) {
            Path rest = way.getNameCount() == 1 ? null : way.subpath(1, way.getNameCount());
            try (SecureDirectoryStream<Path> next =
                    secure.newDirectoryStream(way.getName(0), LinkOption.NOFOLLOW_LINKS)) {
                return in(next, rest, name, limit);
            }
        }
        if (!secure.getFileAttributeView(name, BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                .readAttributes()
                .isRegularFile()) {
            throw new IOException("is not a plain file");
        }
        try (SeekableByteChannel channel =
                        secure.newByteChannel(name, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));
                InputStream in = Channels.newInputStream(channel)) {
            byte[] content = in.readNBytes(limit + 1);
            if (content.length > limit) {
                throw new IOException("has " + channel.size() + " bytes, the limit is " + limit);
            }
            return content;
        }
    }
}
