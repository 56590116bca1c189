package dev.fencepost.edge.cli;

import dev.fencepost.host.Printable;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Rows under headings, in columns as wide as their widest cell. Two blanks between columns, none at a line's end. */
final class TextTable {

    private final String[] headings;
    private final boolean[] right;
    private final List<String[]> rows = new ArrayList<>();

    /** @param headings of the columns; one that begins with {@code >} stands, with its cells, at the right */
    TextTable(String... headings) {
        this.headings = new String[headings.length];
        this.right = new boolean[headings.length];
        for (int i = 0; i < headings.length; i++) {
            right[i] = headings[i].startsWith(">");
            this.headings[i] = right[i] ? headings[i].substring(1) : headings[i];
        }
    }

    /** Adds a row: a text for each column. Control characters in it are shown, not sent. */
    void row(String... cells) {
        if (cells.length != headings.length) {
            throw new IllegalArgumentException(cells.length + " cells for " + headings.length + " columns");
        }
        rows.add(Arrays.stream(cells).map(Printable::text).toArray(String[]::new));
    }

    void print(PrintWriter out) {
        int[] widths = new int[headings.length];
        measure(headings, widths);
        rows.forEach(row -> measure(row, widths));
        print(out, headings, widths);
        rows.forEach(row -> print(out, row, widths));
    }

    private static void measure(String[] cells, int[] widths) {
        for (int i = 0; i < cells.length; i++) {
            widths[i] = Math.max(widths[i], length(cells[i]));
        }
    }

    private void print(PrintWriter out, String[] cells, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < cells.length; i++) {
            String blanks = " ".repeat(widths[i] - length(cells[i]));
            line.append(i == 0 ? "" : "  ");
            line.append(right[i] ? blanks + cells[i] : cells[i] + blanks);
        }
        out.println(line.toString().stripTrailing());
    }

    private static int length(String text) {
        return text.codePointCount(0, text.length());
    }
}
