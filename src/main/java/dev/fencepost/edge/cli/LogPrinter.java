package dev.fencepost.edge.cli;

import dev.fencepost.edge.process.OutputLogReader.Entry;
import dev.fencepost.edge.process.OutputLogReader.Source;
import dev.fencepost.host.Printable;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import org.jspecify.annotations.Nullable;

/**
 * Prints the records of a log, the newest lines of it or all. A line begins anew where the other stream speaks. Holds no line in memory,
 * however long it is. For one thread.
 */
final class LogPrinter {

    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

    /** Which of a run's streams. */
    enum Stream {
        OUT,
        ERR,
        BOTH;

        boolean has(@Nullable Source source) {
            return this == BOTH
                    || source == null
                    || source == Source.REMARK
                    || (source == Source.STDOUT) == (this == OUT);
        }
    }

    /** How it is shown: as text with or without stamps, as it was written, or as JSON. */
    enum Form {
        TEXT,
        STAMPED,
        RAW,
        JSON
    }

    /** Tells which line each record belongs to, from 1. */
    static final class Lines {
        private long number;
        private boolean open;
        private @Nullable Source last;

        long of(@Nullable Source source, boolean endsLine) {
            if (begins(source)) {
                number++;
            }
            open = !endsLine;
            last = source;
            return number;
        }

        private boolean begins(@Nullable Source source) {
            return !open || source != last;
        }
    }

    private final PrintWriter out;
    private final PrintWriter err;
    private final Stream stream;
    private final Form form;
    private final long skipped;
    private final Lines lines = new Lines();
    private boolean open;

    /** @param skipped so many lines at the beginning are not shown */
    LogPrinter(PrintWriter out, PrintWriter err, Stream stream, Form form, long skipped) {
        this.out = out;
        this.err = err;
        this.stream = stream;
        this.form = form;
        this.skipped = skipped;
    }

    void print(Entry entry) {
        print(entry.at(), entry.source(), entry.text(), entry.endsLine());
    }

    /**
     * @param at when it was read, or null where that is not known
     * @param source null where both streams are mixed
     */
    void print(@Nullable Instant at, @Nullable Source source, String text, boolean endsLine) {
        if (!stream.has(source)) {
            return;
        }
        boolean begins = lines.begins(source);
        if (lines.of(source, endsLine) <= skipped) {
            return;
        }
        if (form == Form.JSON) {
            Json.print(out, Json.object("at", at, "stream", word(source), "text", text, "newline", endsLine));
            return;
        }
        if (form == Form.RAW && source == Source.REMARK) {
            err.println("fencepost: " + Printable.text(text)); // where bytes are wanted it would be one of them
            return;
        }
        if (open && begins) {
            out.print('\n');
        }
        if (begins && form == Form.STAMPED) {
            out.print((at == null ? "-" : STAMP.format(at)) + " " + word(source) + " ");
        }
        if (source == Source.REMARK && form == Form.TEXT) {
            out.print("[fencepost] ");
        }
        out.print(form == Form.RAW ? text : Printable.text(text));
        if (endsLine) {
            out.print('\n');
        }
        open = !endsLine;
    }

    private static String word(@Nullable Source source) {
        return switch (source) {
            case null -> "both";
            case STDOUT -> "out";
            case STDERR -> "err";
            case REMARK -> "fencepost";
        };
    }

    /** Ends a line that is open, for whatever comes next. */
    void end() {
        if (open && form != Form.RAW) {
            out.print('\n');
        }
        open = false;
        out.flush();
    }
}
