package dev.fencepost.edge.process;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Time;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.SequenceInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * What a child wrote, as one bounded file and as a tail in memory. Safe for use by many threads.
 *
 * <p><b>The file.</b> UTF-8, one record a line: an instant (UTC, milliseconds, when the text was read), a blank, one letter, a blank,
 * the text:
 *
 * <pre>
 * 2026-03-29T01:00:00.123Z O a line of standard output
 * 2026-03-29T01:00:00.124Z E a line of standard error
 * 2026-03-29T01:00:00.125Z o beginning of a line of standard output that goes on in the next O or o
 * 2026-03-29T01:00:00.126Z ! a remark of Fencepost, which the child has not written
 * </pre>
 *
 * A capital letter stands for the text and a newline, a small one for the text alone. So the texts of all {@code O} and {@code o} give
 * the child's clean standard output exactly. Texts hold no newline and no NUL, but whatever else the child wrote: a viewer must escape
 * control characters.
 *
 * <p><b>The bound.</b> When half of the limit is full, what follows goes to {@code <file>.tail} and {@code <file>.tail.old}, which take
 * turns; at the end the last half is put behind the first, with a remark of how much was cut between. The tail is called
 * {@code <file>.tail.last} from then on until it is there, so that a reader can tell a complete head from a growing one (see
 * {@link OutputLogReader}). While the child runs, the files may together take one and a half times the limit.
 *
 * <p><b>A full disk</b> is recorded once in the journal and ends the file, never the run: the tail in memory goes on.
 */
final class OutputLog implements AutoCloseable {

    /** Where a text comes from; the letter of its records. */
    enum Source {
        STDOUT('O', 'o'),
        STDERR('E', 'e');

        private final byte whole;
        private final byte piece;

        Source(char whole, char piece) {
            this.whole = (byte) whole;
            this.piece = (byte) piece;
        }
    }

    private static final int LONGEST_TEXT = 8 * 1024;
    private static final int STAMP_LENGTH = 24;
    private static final int FRAME_LENGTH = STAMP_LENGTH + 4;
    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

    private final Path path;
    private final Path tailPath;
    private final Path oldTailPath;
    private final Path lastTailPath;
    private final long limit;
    private final int longestText;
    private final Time time;
    private final Journal journal;
    private final Channel stdout;
    private final Channel stderr;
    private final OutputTail tail = new OutputTail();

    private final byte[] buffer = new byte[4 * LONGEST_TEXT];
    private int buffered;
    private @Nullable OutputStream file;
    private long roomInFile;
    private long headBytes;
    private long tailBytes;
    private boolean inTail;
    private boolean truncated;
    private boolean closed;
    private long totalBytes;

    private byte[] stamp = {};
    private long stampMillis = Long.MIN_VALUE;

    /** Opens the file, which is emptied if it exists. A file that cannot be written is recorded in the journal; the capture goes on. */
    OutputLog(Path path, long limit, Collection<String> secrets, Time time, Journal journal) {
        this.path = path;
        this.tailPath = tailOf(path);
        this.oldTailPath = oldTailOf(path);
        this.lastTailPath = lastTailOf(path);
        this.limit = Math.max(limit, 2 * FRAME_LENGTH);
        this.longestText = (int) Math.clamp(this.limit / 8 - FRAME_LENGTH, 4, LONGEST_TEXT);
        this.time = time;
        this.journal = journal;
        this.stdout = new Channel(new Scrubber(secrets));
        this.stderr = new Channel(new Scrubber(secrets));
        this.roomInFile = this.limit / 2;
        try {
            this.file = Files.newOutputStream(path);
        } catch (IOException e) {
            giveUpFile(e);
        }
    }

    static Path tailOf(Path log) {
        return log.resolveSibling(log.getFileName() + ".tail");
    }

    static Path oldTailOf(Path log) {
        return log.resolveSibling(log.getFileName() + ".tail.old");
    }

    static Path lastTailOf(Path log) {
        return log.resolveSibling(log.getFileName() + ".tail.last");
    }

    /**
     * Takes the next bytes of one stream.
     *
     * @param moreIsSure whether the next bytes are there already, so that an open line may wait for them
     */
    synchronized void write(Source source, byte[] bytes, int length, boolean moreIsSure) {
        if (closed) {
            return;
        }
        totalBytes += length;
        Channel channel = channel(source);
        take(source, channel, channel.scrubber.next(bytes, length), moreIsSure);
    }

    /** Takes what was kept back of one stream, at its end. */
    synchronized void end(Source source) {
        Channel channel = channel(source);
        if (closed || channel.ended) {
            return;
        }
        channel.ended = true;
        take(source, channel, channel.scrubber.end(), false);
    }

    /** Adds a remark of ours, to the file and as a line of its own to the tail. */
    synchronized void remark(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        lookAtTheClock();
        record((byte) '!', bytes, 0, Math.min(bytes.length, longestText));
        flush();
        tail.add(("[fencepost] " + text + "\n").getBytes(StandardCharsets.UTF_8));
    }

    /** What the child wrote in all, before anything was replaced or cut. */
    synchronized long totalBytes() {
        return totalBytes;
    }

    /** Whether the file lacks a part: cut for the limit, or lost because the disk refused it. Final after {@link #close}. */
    synchronized boolean truncated() {
        return truncated;
    }

    /** The end of the text, both streams in the order in which they were read, without time stamps; at most 64 KiB of UTF-8. */
    synchronized String tail() {
        return tail.text();
    }

    /** Ends both streams and the file: head, remark of the cut, tail. Never throws. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        end(Source.STDOUT);
        end(Source.STDERR);
        flush();
        closed = true;
        try {
            if (file != null) {
                file.close();
                if (inTail) {
                    Files.move(tailPath, lastTailPath, StandardCopyOption.REPLACE_EXISTING);
                    appendTail();
                }
            }
        } catch (IOException e) {
            giveUpFile(e);
        }
        try {
            Files.deleteIfExists(tailPath);
            Files.deleteIfExists(oldTailPath);
            Files.deleteIfExists(lastTailPath);
        } catch (IOException e) {
            giveUpFile(e);
        }
    }

    private Channel channel(Source source) {
        return source == Source.STDOUT ? stdout : stderr;
    }

    private void take(Source source, Channel channel, byte[] clean, boolean moreIsSure) {
        lookAtTheClock();
        tail.add(clean);
        byte[] text = channel.withOpenLine(clean);
        int from = 0;
        for (int at = from; at < text.length; at++) {
            if (text[at] == '\n') {
                record(source.whole, text, pieces(source, text, from, at), at);
                from = at + 1;
            }
        }
        if (from < text.length) {
            int rest = pieces(source, text, from, text.length);
            if (moreIsSure) {
                channel.openLine = Arrays.copyOfRange(text, rest, text.length);
            } else {
                record(source.piece, text, rest, text.length);
            }
        }
        flush();
    }

    /** Records the pieces of a text that is too long for one record, and returns where the rest begins. */
    private int pieces(Source source, byte[] text, int from, int to) {
        int at = from;
        while (to - at > longestText) {
            int end = at + longestText;
            while (OutputTail.isInsideCharacter(text[end])) {
                end--;
            }
            record(source.piece, text, at, end);
            at = end;
        }
        return at;
    }

    private void record(byte letter, byte[] text, int from, int to) {
        if (file == null) {
            return;
        }
        int size = FRAME_LENGTH + to - from;
        if (size > roomInFile) {
            nextFile();
        }
        if (size > buffer.length - buffered) {
            flush();
        }
        System.arraycopy(stamp, 0, buffer, buffered, STAMP_LENGTH);
        int at = buffered + STAMP_LENGTH;
        buffer[at] = ' ';
        buffer[at + 1] = letter;
        buffer[at + 2] = ' ';
        System.arraycopy(text, from, buffer, at + 3, to - from);
        buffer[buffered + size - 1] = '\n';
        buffered += size;
        roomInFile -= size;
        if (inTail) {
            tailBytes += size;
        } else {
            headBytes += size;
        }
    }

    /** Once for each block that was read. */
    private void lookAtTheClock() {
        long now = time.wallClock().toEpochMilli();
        if (now != stampMillis) {
            stampMillis = now;
            stamp = STAMP.format(Instant.ofEpochMilli(now)).getBytes(StandardCharsets.US_ASCII);
        }
    }

    private void flush() {
        try {
            if (file != null) {
                file.write(buffer, 0, buffered);
            }
        } catch (IOException e) {
            giveUpFile(e);
        }
        buffered = 0;
    }

    private void nextFile() {
        flush();
        try {
            if (file != null) {
                file.close();
                if (inTail) {
                    Files.move(tailPath, oldTailPath, StandardCopyOption.REPLACE_EXISTING);
                }
                file = Files.newOutputStream(tailPath);
            }
        } catch (IOException e) {
            giveUpFile(e);
        }
        inTail = true;
        roomInFile = keptOfTail();
    }

    private long keptOfTail() {
        return limit - headBytes;
    }

    private void appendTail() throws IOException {
        long there = Files.size(lastTailPath) + (Files.exists(oldTailPath) ? Files.size(oldTailPath) : 0);
        try (InputStream in = new BufferedInputStream(
                        Files.exists(oldTailPath)
                                ? new SequenceInputStream(
                                        Files.newInputStream(oldTailPath), Files.newInputStream(lastTailPath))
                                : Files.newInputStream(lastTailPath));
                OutputStream out = Files.newOutputStream(path, StandardOpenOption.APPEND)) {
            if (tailBytes > keptOfTail()) {
                long skipped = Math.max(0, there - keptOfTail());
                in.skipNBytes(skipped);
                for (int b = skipped == 0 ? '\n' : 0; b != '\n' && b != -1; skipped++) {
                    b = in.read();
                }
                truncated = true;
                long cut = tailBytes - there + skipped;
                String remark = " ! " + cut + " bytes of this log are cut out here, its limit is " + limit + "\n";
                out.write(stamp);
                out.write(remark.getBytes(StandardCharsets.US_ASCII));
            }
            in.transferTo(out);
        }
    }

    private void giveUpFile(IOException cause) {
        truncated = true;
        if (file != null) {
            try {
                file.close();
            } catch (IOException alsoRefused) {
                cause.addSuppressed(alsoRefused);
            }
            file = null;
        }
        journal.record(new Event.Problem(
                "output log",
                null,
                null,
                null,
                "the log " + path + " cannot be written, the run goes on and only the end of its output is kept: "
                        + cause,
                cause));
    }

    /** The state of one stream. */
    private static final class Channel {
        private final Scrubber scrubber;
        private byte[] openLine = {};
        private boolean ended;

        Channel(Scrubber scrubber) {
            this.scrubber = scrubber;
        }

        byte[] withOpenLine(byte[] next) {
            if (openLine.length == 0) {
                return next;
            }
            byte[] all = Arrays.copyOf(openLine, openLine.length + next.length);
            System.arraycopy(next, 0, all, openLine.length, next.length);
            openLine = new byte[0];
            return all;
        }
    }
}
