package dev.fencepost.edge.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import org.jspecify.annotations.Nullable;

/**
 * Reads the log of a run, record by record, from its beginning; also while it is written, by this process or another one. For one
 * thread.
 *
 * <p>A log that has outgrown half of its limit goes on in {@code <file>.tail}, which becomes {@code <file>.tail.old} when it is full
 * (see {@link OutputLog}). The reader keeps the file that it reads open, so that it loses nothing when that file is renamed or deleted
 * meanwhile, and then looks for the one that follows. Where the writer was faster than the reader, a part is missing, and a remark says
 * so.
 */
public final class OutputLogReader implements AutoCloseable {

    private static final int STAMP_LENGTH = 24;
    private static final int TEXT_OFFSET = STAMP_LENGTH + 3;

    /** Longer than any record that the writer makes; a longer line is of another kind of file, and is given in pieces. */
    private static final int BUFFER_BYTES = 64 * 1024;

    /** Who said it. */
    public enum Source {
        STDOUT,
        STDERR,
        /** Fencepost itself. */
        REMARK
    }

    /**
     * A piece of the output. Its text holds no newline and no NUL, but perhaps other control characters.
     *
     * @param at when it was read from the child
     * @param endsLine whether a newline follows
     */
    public record Entry(Instant at, Source source, String text, boolean endsLine) {}

    private final Path path;
    private final Path tailPath;
    private final Path oldTailPath;
    private final Path lastTailPath;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES).flip();
    private SeekableByteChannel file;
    /** Which tail it is; null while it is the head. */
    private @Nullable Object tailKey;

    private boolean ended;
    private Entry last = new Entry(Instant.EPOCH, Source.REMARK, "", true);
    private @Nullable Entry remark;

    private OutputLogReader(Path path) throws IOException {
        this.path = path;
        this.tailPath = OutputLog.tailOf(path);
        this.oldTailPath = OutputLog.oldTailOf(path);
        this.lastTailPath = OutputLog.lastTailOf(path);
        this.file = Files.newByteChannel(path);
    }

    /** @throws NoSuchFileException if there is no log, or none yet */
    public static OutputLogReader open(Path log) throws IOException {
        return new OutputLogReader(log);
    }

    /** The next record, or null when no more is there by now; a later call may find more. */
    public @Nullable Entry next() throws IOException {
        while (true) {
            Entry entry = fromBuffer();
            if (entry != null) {
                last = entry;
                return entry;
            }
            if (remark != null) {
                Entry said = remark;
                remark = null;
                return said;
            }
            if (!fill() && !follow()) {
                return null;
            }
        }
    }

    /** Whether something was read. */
    private boolean fill() throws IOException {
        buffer.compact();
        try {
            return file.read(buffer) > 0;
        } finally {
            buffer.flip();
        }
    }

    private @Nullable Entry fromBuffer() {
        int start = buffer.position();
        for (int at = start; at < buffer.limit(); at++) {
            if (buffer.get(at) == '\n') {
                buffer.position(at + 1);
                return entry(start, at);
            }
        }
        if (buffer.remaining() == BUFFER_BYTES) {
            buffer.position(buffer.limit());
            return new Entry(last.at, Source.REMARK, text(start, buffer.limit()), false);
        }
        return null;
    }

    private Entry entry(int from, int to) {
        if (to - from >= TEXT_OFFSET && buffer.get(from + STAMP_LENGTH) == ' ') {
            try {
                Instant at = Instant.parse(text(from, from + STAMP_LENGTH));
                byte letter = buffer.get(from + STAMP_LENGTH + 1);
                String text = text(from + TEXT_OFFSET, to);
                switch (letter) {
                    case 'O', 'o' -> {
                        return new Entry(at, Source.STDOUT, text, letter == 'O');
                    }
                    case 'E', 'e' -> {
                        return new Entry(at, Source.STDERR, text, letter == 'E');
                    }
                    case '!' -> {
                        return new Entry(at, Source.REMARK, text, true);
                    }
                    default -> {}
                }
            } catch (DateTimeParseException noRecord) {
                // shown as it is
            }
        }
        return new Entry(last.at, Source.REMARK, text(from, to), true);
    }

    private String text(int from, int to) {
        return new String(buffer.array(), from, to - from, StandardCharsets.UTF_8);
    }

    /** At the end of a file: whether there is more after all, in it or in the one that follows, which is now open. */
    private boolean follow() throws IOException {
        if (ended) {
            return false;
        }
        return tailKey == null ? followHead() : followTail(tailKey);
    }

    /**
     * The head is complete once there is a tail. When the log is closed the tail is first given another name and then put behind the
     * head: so a tail that has its name still, after the end of the head was seen, begins there.
     */
    private boolean followHead() throws IOException {
        Object key = key(tailPath);
        SeekableByteChannel tail = key == null ? null : openAs(tailPath, key);
        if (key == null || tail == null) {
            return false;
        }
        Object oldKey = key(oldTailPath);
        SeekableByteChannel old = oldKey == null ? null : openAs(oldTailPath, oldKey);
        boolean headHasGrown = fill();
        if (headHasGrown || key(tailPath) == null) {
            tail.close();
            if (old != null) {
                old.close();
            }
            return headHasGrown;
        }
        if (old == null || oldKey == null) {
            use(tail, key);
        } else {
            tail.close();
            use(old, oldKey);
            saySomethingMayBeMissing();
        }
        return true;
    }

    private boolean followTail(Object ours) throws IOException {
        boolean closing = key(tailPath) == null;
        Path newestPath = closing ? lastTailPath : tailPath;
        Object newest = key(newestPath);
        Object old = key(oldTailPath);
        if (fill()) {
            return true; // written between our last look and this one
        }
        if (newest == null) {
            ended = old == null;
            if (ended && !isLastOfLog()) {
                saySomethingMayBeMissing();
                return true;
            }
            return false; // between two names, or closed
        }
        if (newest.equals(ours)) {
            return false;
        }
        boolean oneStep = old == null || old.equals(ours);
        Path following = oneStep ? newestPath : oldTailPath;
        Object followingKey = oneStep || old == null ? newest : old;
        SeekableByteChannel opened = openAs(following, followingKey);
        if (opened == null) {
            return false; // renamed meanwhile; the next look finds out
        }
        use(opened, followingKey);
        if (!oneStep) {
            saySomethingMayBeMissing();
        }
        return true;
    }

    /** Whether what was read last is also the last record of the closed log. */
    private boolean isLastOfLog() throws IOException {
        try (OutputLogReader whole = open(path)) {
            whole.file.position(Math.max(0, whole.file.size() - BUFFER_BYTES));
            Entry end = null;
            for (Entry entry = whole.next(); entry != null; entry = whole.next()) {
                end = entry;
            }
            return last.equals(end);
        } catch (NoSuchFileException removed) {
            return true;
        }
    }

    private void saySomethingMayBeMissing() {
        remark = new Entry(
                last.at, Source.REMARK, "output came faster than it was read, so a part may be missing here", true);
    }

    private void use(SeekableByteChannel next, Object key) throws IOException {
        file.close();
        file = next;
        tailKey = key;
        buffer.clear().flip();
    }

    /** Null if there is no such file any more, or another one under its name. */
    private static @Nullable SeekableByteChannel openAs(Path path, Object key) throws IOException {
        SeekableByteChannel opened;
        try {
            opened = Files.newByteChannel(path);
        } catch (NoSuchFileException gone) {
            return null;
        }
        if (!key.equals(key(path))) {
            opened.close();
            return null;
        }
        return opened;
    }

    /** What tells a file from another one of the same name, or null if there is none. */
    private static @Nullable Object key(Path path) throws IOException {
        try {
            return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
        } catch (NoSuchFileException none) {
            return null;
        }
    }

    @Override
    public void close() {
        try {
            file.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
