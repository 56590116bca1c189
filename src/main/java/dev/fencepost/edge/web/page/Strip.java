package dev.fencepost.edge.web.page;

import dev.fencepost.run.History.Mark;
import dev.fencepost.run.Outcome;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The newest ticks of a job as a row of bars, the newest at the right. A bar's shape tells its outcome as well as its colour does; bars of
 * one shape are one path, and neighbours one line of it, which the stylesheet cuts into dashes.
 *
 * @param text what it shows, in words
 */
public record Strip(List<Path> paths, String text) {

    static final int TICKS = 96;

    /** From the left of a bar to the left of the next one. */
    private static final int STEP = 3;

    static final Strip EMPTY = of(List.of());

    /** @param style of {@link Label}, which the stylesheet knows; @param line the path's data */
    public record Path(String style, String line) {}

    /** @param marks newest first, {@value #TICKS} at most */
    static Strip of(List<Mark> marks) {
        Map<String, StringBuilder> lines = new TreeMap<>();
        int from = 0;
        while (from < marks.size()) {
            String style = style(marks.get(from));
            int end = from + 1;
            while (end < marks.size() && style(marks.get(end)).equals(style)) {
                end++;
            }
            StringBuilder line = lines.computeIfAbsent(style, none -> new StringBuilder());
            for (int height : heights(style)) {
                line.append('M').append((TICKS - end) * STEP).append(' ').append(height);
                line.append('h').append((end - from) * STEP);
            }
            from = end;
        }
        List<Path> paths = new ArrayList<>();
        lines.forEach((style, line) -> paths.add(new Path(style, line.toString())));
        return new Strip(List.copyOf(paths), words(marks));
    }

    private static String style(Mark mark) {
        return Label.of(mark.outcome()).style();
    }

    /** Where the middle of the line is; its thickness is the stylesheet's. A failure has two, and a gap between them. */
    private static int[] heights(String style) {
        return switch (style) {
            case "good" -> new int[] {8};
            case "bad" -> new int[] {3, 13};
            case "warn" -> new int[] {4};
            case "live" -> new int[] {12};
            default -> new int[] {14};
        };
    }

    /** Successes, then failures, then what is none of both. */
    private static String words(List<Mark> marks) {
        if (marks.isEmpty()) {
            return "no ticks yet";
        }
        Map<Outcome, long[]> counted = new EnumMap<>(Outcome.class);
        long open = 0;
        for (Mark mark : marks) {
            if (mark.outcome() == null) {
                open++;
            } else {
                long[] counts = counted.computeIfAbsent(mark.outcome(), none -> new long[2]);
                counts[0]++;
                counts[1] += mark.count();
            }
        }
        Map<String, String> groups = new LinkedHashMap<>();
        counted.forEach((outcome, counts) -> groups.merge(
                outcome.isSuccess() ? "good" : outcome.isFailure() ? "failure" : "other",
                counts[0] + " " + Label.of(outcome).word()
                        + (counts[1] > counts[0] ? " (" + counts[1] + " slots)" : ""),
                (one, other) -> one + ", " + other));
        List<String> parts = new ArrayList<>();
        for (String group : List.of("good", "failure", "other")) {
            add(parts, groups.get(group));
        }
        add(parts, open == 0 ? null : open + " " + Label.OPEN.word());
        return (marks.size() == 1 ? "the only tick: " : "of the last " + marks.size() + ": ")
                + String.join("; ", parts);
    }

    private static void add(List<String> parts, @Nullable String part) {
        if (part != null) {
            parts.add(part);
        }
    }
}
