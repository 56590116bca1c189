package dev.fencepost.edge.config;

import dev.fencepost.edge.config.Finding.Severity;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.Node;

/** Collects what is wrong with one jobs file, so that all of it is told at once. */
final class Findings {

    private static final Comparator<Finding> IN_ORDER = Comparator.comparing((Finding f) -> f.file())
            .thenComparingInt(Finding::line)
            .thenComparingInt(Finding::column)
            .thenComparing(Finding::path)
            .thenComparing(Finding::message);

    private final Path file;
    private final List<Finding> all = new ArrayList<>();

    Findings(Path file) {
        this.file = file;
    }

    Path file() {
        return file;
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
        Finding finding = new Finding(severity, other, line, column, path, message, hint);
        if (!all.contains(finding)) {
            all.add(finding);
        }
    }

    boolean hasErrors() {
        return all.stream().anyMatch(f -> f.severity() == Severity.ERROR);
    }

    List<Finding> errors() {
        return of(Severity.ERROR);
    }

    List<Finding> warnings() {
        return of(Severity.WARNING);
    }

    private List<Finding> of(Severity severity) {
        return all.stream()
                .filter(f -> f.severity() == severity)
                .sorted(IN_ORDER)
                .toList();
    }

    static int line(Node node) {
        return node.getStartMark().map(Mark::getLine).orElse(-1) + 1;
    }

    static int column(Node node) {
        return node.getStartMark().map(Mark::getColumn).orElse(-1) + 1;
    }
}
