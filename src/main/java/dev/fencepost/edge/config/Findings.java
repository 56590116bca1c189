package dev.fencepost.edge.config;

import dev.fencepost.edge.config.Finding.Severity;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.Node;

/** Collects what is wrong with one jobs file, so that all of it is told at once; of a thousand mistakes the first thousand. */
final class Findings {

    private static final Comparator<Finding> IN_ORDER = Comparator.comparing((Finding f) -> f.file())
            .thenComparingInt(Finding::line)
            .thenComparingInt(Finding::column)
            .thenComparing(Finding::path)
            .thenComparing(Finding::message);

    /** Of each severity: nobody reads more, and a file may be wrong in each of a million lines. */
    private static final int MOST = 1_000;

    /** Of all expressions of a file: some 100 MB. */
    private static final int MOST_FOR_EXPRESSIONS = 1_000_000;

    private final Path file;
    private int forExpressions;
    private final Set<Finding> errors = new LinkedHashSet<>();
    private final Set<Finding> warnings = new LinkedHashSet<>();

    Findings(Path file) {
        this.file = file;
    }

    Path file() {
        return file;
    }

    /** Whether a regular expression of this cost fits into the room that those of one file have together; it is taken from it. */
    boolean hasRoomFor(int cost) {
        forExpressions = Math.min(MOST_FOR_EXPRESSIONS + 1, forExpressions + cost);
        return forExpressions <= MOST_FOR_EXPRESSIONS;
    }

    void error(Node at, String path, String message, String hint) {
        add(Severity.ERROR, file, line(at), column(at), path, message, hint);
    }

    void warning(Node at, String path, String message, String hint) {
        add(Severity.WARNING, file, line(at), column(at), path, message, hint);
    }

    void error(int line, int column, String message, String hint) {
        add(Severity.ERROR, file, line, column, "", message, hint);
    }

    /** For a place in another file that the jobs file names. */
    void add(Severity severity, Path other, int line, int column, String path, String message, String hint) {
        Set<Finding> all = severity == Severity.ERROR ? errors : warnings;
        if (all.size() < MOST) {
            all.add(new Finding(severity, other, line, column, path, message, hint));
        }
    }

    boolean hasErrors() {
        return !errors.isEmpty();
    }

    List<Finding> errors() {
        return errors.stream().sorted(IN_ORDER).toList();
    }

    List<Finding> warnings() {
        return warnings.stream().sorted(IN_ORDER).toList();
    }

    static int line(Node node) {
        return node.getStartMark().map(Mark::getLine).orElse(-1) + 1;
    }

    static int column(Node node) {
        return node.getStartMark().map(Mark::getColumn).orElse(-1) + 1;
    }
}
