package dev.fencepost.edge.sink;

import dev.fencepost.host.Time;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/**
 * The log of a run that is a call, in the form of the logs of commands, so that whoever shows one can show the other: an instant, a blank,
 * one letter, a blank, the text. {@code O} is a line of the answer, {@code o} the beginning of a long one, {@code !} a remark of ours. An
 * answer is bounded, so the log is; for one thread.
 */
final class HttpCallLog {

    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

    /** Of one record, in characters: at most 8 KiB of UTF-8, which every reader of these logs takes. */
    private static final int LONGEST_PIECE = 2_000;

    private final Path path;
    private final Time time;

    private HttpCallLog(Path path, Time time) {
        this.path = path;
        this.time = time;
    }

    /** An empty one, in the place of what was there. */
    static HttpCallLog open(Path path, Time time) throws IOException {
        Files.write(path, new byte[0]);
        return new HttpCallLog(path, time);
    }

    void remark(String text) throws IOException {
        write(stamp() + " ! " + text.replace('\n', ' ') + "\n");
    }

    /** A whole answer, its secrets masked and its NULs replaced. */
    void output(String text) throws IOException {
        String stamp = stamp();
        StringBuilder records = new StringBuilder(text.length() + 1024);
        int from = 0;
        while (from < text.length()) {
            int newline = text.indexOf('\n', from);
            int end = newline < 0 ? text.length() : newline;
            while (end - from > LONGEST_PIECE) {
                int cut = from + LONGEST_PIECE;
                cut -= Character.isHighSurrogate(text.charAt(cut - 1)) ? 1 : 0;
                record(records, stamp, 'o', text.substring(from, cut));
                from = cut;
            }
            record(records, stamp, newline < 0 ? 'o' : 'O', text.substring(from, end));
            from = newline < 0 ? end : newline + 1;
        }
        write(records.toString());
    }

    private static void record(StringBuilder records, String stamp, char letter, String text) {
        records.append(stamp)
                .append(' ')
                .append(letter)
                .append(' ')
                .append(text)
                .append('\n');
    }

    private String stamp() {
        return STAMP.format(time.wallClock());
    }

    private void write(String records) throws IOException {
        Files.write(path, records.getBytes(StandardCharsets.UTF_8), StandardOpenOption.APPEND);
    }
}
