package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.page.OutputLines.Line;
import dev.fencepost.edge.web.page.Outputs.Output;
import dev.fencepost.edge.web.page.Outputs.Source;
import dev.fencepost.host.Time;
import java.io.IOException;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/**
 * An output as HTML: its end at first, then what comes behind it. Whatever a run writes, no more is read and made than a page can bear;
 * what is left out is said, and stands in the whole text. For one thread.
 */
final class OutputText implements AutoCloseable {

    /** Of lines and of their characters, on a page that is loaded. */
    static final int MOST_LINES = 2_000;

    static final int MOST_CHARS = 512 * 1024;

    /** The same for what is added at once to a page that is live. */
    static final int MOST_MORE_LINES = 400;

    static final int MOST_MORE_CHARS = 96 * 1024;

    /** A run may write faster than anybody reads. */
    private static final long LONGEST_READ_MILLIS = 3_000;

    private static final long LONGEST_MORE_MILLIS = 200;
    private static final int LINES_BETWEEN_LOOKS = 256;
    private static final DateTimeFormatter CLOCK = DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT);

    private final Output output;
    private final OutputLines lines;
    private final ZoneId zone;
    private final String whole;
    private final Time time;
    private final Map<Source, Ansi> colours = new EnumMap<>(Source.class);

    /** @param whole address of the whole text */
    OutputText(Output output, ZoneId zone, String whole, Time time) {
        this.output = output;
        this.lines = new OutputLines(output);
        this.zone = zone;
        this.whole = whole;
        this.time = time;
    }

    /**
     * @param lines how many are in the HTML
     * @param left how many lines before them are left out
     */
    record Part(String html, int lines, long left) {}

    /**
     * What is there by now: its end.
     *
     * @param growing whether somebody may write to it as fast as it is read: then it is read for a limited time
     */
    Part end(boolean growing) throws IOException {
        return part(MOST_LINES, MOST_CHARS, growing ? LONGEST_READ_MILLIS : Long.MAX_VALUE);
    }

    /** What has come since; empty if nothing. */
    String more() throws IOException {
        Part part = part(MOST_MORE_LINES, MOST_MORE_CHARS, LONGEST_MORE_MILLIS);
        return part.left() == 0
                ? part.html()
                : "<p class=\"gap\"><b></b><span>… " + part.left() + (part.left() == 1 ? " line" : " lines")
                        + " left out here, they came too fast; <a href=\"" + Ansi.escaped(whole)
                        + "\">the whole text</a> has what was kept</span></p>" + part.html();
    }

    /** Whether all that is there was given. */
    boolean isExhausted() {
        return lines.isExhausted();
    }

    private Part part(int mostLines, int mostChars, long longestMillis) throws IOException {
        Deque<Line> kept = new ArrayDeque<>();
        long chars = 0;
        long left = 0;
        long began = time.bootMillis();
        int read = 0;
        for (Line line = lines.next(); line != null; line = lines.next()) {
            kept.addLast(line);
            chars += line.text().length();
            while (kept.size() > mostLines || (chars > mostChars && kept.size() > 1)) {
                chars -= kept.removeFirst().text().length();
                left++;
            }
            if (++read % LINES_BETWEEN_LOOKS == 0 && time.bootMillis() - began > longestMillis) {
                break;
            }
        }
        StringBuilder html = new StringBuilder();
        kept.forEach(line -> append(line, html));
        return new Part(html.toString(), kept.size(), left);
    }

    private void append(Line line, StringBuilder html) {
        String mark = switch (line.source()) {
            case STDOUT -> "";
            case STDERR -> "err";
            case REMARK -> "note";
        };
        html.append(mark.isEmpty() ? "<p>" : "<p class=\"" + mark + "\">");
        Instant at = line.at().truncatedTo(ChronoUnit.MILLIS);
        html.append("<time title=\"")
                .append(Times.local(at, zone))
                .append(", UTC ")
                .append(at)
                .append("\">")
                .append(CLOCK.format(at.atZone(zone)))
                .append("</time><b>")
                .append(line.goesOn() ? "↳" : "")
                .append(mark.equals("err") ? "! err" : mark)
                .append("</b><code>")
                .append(colours.computeIfAbsent(line.source(), source -> new Ansi())
                        .html(line.text()))
                .append("</code>");
        if (line.left() > 0) {
            html.append("<a class=\"cut\" href=\"")
                    .append(Ansi.escaped(whole))
                    .append("\">… ")
                    .append(line.left())
                    .append(" more characters</a>");
        }
        html.append("</p>");
    }

    /** The end of both streams as a store keeps it: nobody knows which line is of which, and when it came. */
    static Part ofTail(String tail) {
        Ansi colours = new Ansi();
        String[] all = tail.split("\n", -1);
        int count = all.length > 0 && all[all.length - 1].isEmpty() ? all.length - 1 : all.length;
        int first = Math.max(0, count - MOST_LINES);
        StringBuilder html = new StringBuilder();
        for (int i = first; i < count; i++) {
            String line = all[i].endsWith("\r") ? all[i].substring(0, all[i].length() - 1) : all[i];
            int shown = Math.min(line.length(), OutputLines.LONGEST);
            html.append("<p><code>")
                    .append(colours.html(line.substring(0, shown)))
                    .append("</code>");
            if (shown < line.length()) {
                html.append("<span class=\"cut\">… ")
                        .append(line.length() - shown)
                        .append(" more characters</span>");
            }
            html.append("</p>");
        }
        return new Part(html.toString(), count - first, first);
    }

    @Override
    public void close() {
        output.close();
    }
}
