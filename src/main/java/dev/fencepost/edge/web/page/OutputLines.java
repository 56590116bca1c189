package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.page.Outputs.Output;
import dev.fencepost.edge.web.page.Outputs.Piece;
import dev.fencepost.edge.web.page.Outputs.Source;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Puts the pieces of an output together to lines, of which no more is kept than can be shown. For one thread. */
final class OutputLines {

    /** In characters. */
    static final int LONGEST = 4_000;

    /** One that does not end within so many characters goes on in a line of its own: somebody waits for it. */
    private static final int LONGEST_READ = 1 << 20;

    private final Output output;
    private final Map<Source, Begun> begun = new EnumMap<>(Source.class);
    private final Deque<Line> unfinished = new ArrayDeque<>();
    private boolean exhausted;

    OutputLines(Output output) {
        this.output = output;
    }

    /**
     * @param text at most {@link #LONGEST} characters
     * @param left how many characters of it are not in the text
     * @param goesOn whether the line before it, of the same source, had no end yet
     */
    record Line(Instant at, Source source, String text, long left, boolean goesOn) {}

    private static final class Begun {
        private final Instant at;
        private final Source source;
        private final boolean goesOn;
        private final StringBuilder text = new StringBuilder();
        private long length;

        Begun(Instant at, Source source, boolean goesOn) {
            this.at = at;
            this.source = source;
            this.goesOn = goesOn;
        }

        void add(String more) {
            length += more.length();
            if (text.length() >= LONGEST) {
                return;
            }
            int end = Math.min(more.length(), LONGEST - text.length());
            if (end < more.length() && end > 0 && Character.isHighSurrogate(more.charAt(end - 1))) {
                end--;
            }
            text.append(more, 0, end);
        }

        Line line() {
            boolean carriageReturn =
                    !text.isEmpty() && length == text.length() && text.charAt(text.length() - 1) == '\r';
            String shown = carriageReturn ? text.substring(0, text.length() - 1) : text.toString();
            return new Line(at, source, shown, length - text.length(), goesOn);
        }
    }

    /** The next line. When the output has no more by now, the lines without an end as they are, and then null. */
    @Nullable
    Line next() throws IOException {
        while (unfinished.isEmpty()) {
            Piece piece = output.next();
            if (piece == null) {
                begun.values().stream()
                        .filter(each -> each.length > 0)
                        .map(Begun::line)
                        .forEach(unfinished::add);
                begun.replaceAll((source, old) -> new Begun(old.at, source, old.goesOn || old.length > 0));
                exhausted = unfinished.isEmpty();
                if (exhausted) {
                    return null;
                }
                break;
            }
            exhausted = false;
            Begun line = begun.get(piece.source());
            if (line == null || line.length == 0) {
                line = new Begun(piece.at(), piece.source(), line != null && line.goesOn);
                begun.put(piece.source(), line);
            }
            line.add(piece.text());
            if (piece.endsLine()) {
                begun.remove(piece.source());
                if (!line.goesOn || line.length > 0) {
                    return line.line();
                }
            } else if (line.length >= LONGEST_READ) {
                begun.put(piece.source(), new Begun(piece.at(), piece.source(), true));
                return line.line();
            }
        }
        return unfinished.removeFirst();
    }

    /** Whether nothing more was there at the last call. */
    boolean isExhausted() {
        return exhausted;
    }
}
