package dev.fencepost.edge.jdbc;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * One or more statements as they stand in the code: values as {@code :name}, fragments of the dialect as {@code {name}} or
 * {@code {name alias}}.
 */
final class Sql {

    private static final Pattern FRAGMENT = Pattern.compile("\\{(\\w+)(?: (\\w+))?}");

    /** A named value that is no cast ({@code ::text}) and does not stand in a quoted text. */
    private static final Pattern VALUE = Pattern.compile("'[^']*'|::|:([a-z_]+)");

    private static final Prepared BEGIN = new Prepared("begin", List.of(), 1);
    private static final Prepared COMMIT = new Prepared("commit", List.of(), 1);

    private final List<String> statements;

    private Sql(List<String> statements) {
        this.statements = statements;
    }

    static Sql of(String... statements) {
        return new Sql(List.of(statements));
    }

    /** The statements as the driver takes them. */
    List<Prepared> prepare(Dialect dialect) {
        List<Prepared> prepared = prepareEach(dialect);
        return dialect.sendsManyAtOnce() ? List.of(together(prepared)) : prepared;
    }

    /** The statements as the driver takes them, with their transaction around them. A single one is a transaction by itself. */
    Prepared prepareAtOnce(Dialect dialect) {
        List<Prepared> prepared = prepareEach(dialect);
        if (prepared.size() > 1) {
            prepared.addFirst(BEGIN);
            prepared.addLast(COMMIT);
        }
        return together(prepared);
    }

    private List<Prepared> prepareEach(Dialect dialect) {
        List<Prepared> prepared = new ArrayList<>();
        for (String statement : statements) {
            prepared.add(prepare(statement, dialect));
        }
        return prepared;
    }

    private static Prepared together(List<Prepared> prepared) {
        return new Prepared(
                prepared.stream().map(Prepared::text).collect(Collectors.joining(";\n")),
                prepared.stream().flatMap(each -> each.names().stream()).toList(),
                prepared.size());
    }

    private static Prepared prepare(String statement, Dialect dialect) {
        String filled = FRAGMENT.matcher(statement)
                .replaceAll(m -> Matcher.quoteReplacement(
                        dialect.fragment(m.group(1), m.group(2) == null ? "" : m.group(2) + ".")));
        List<String> names = new ArrayList<>();
        String text = VALUE.matcher(filled).replaceAll(m -> {
            if (m.group(1) == null) {
                return Matcher.quoteReplacement(m.group());
            }
            names.add(m.group(1));
            return "?";
        });
        return new Prepared(text.strip(), names, 1);
    }

    /**
     * @param names of the values, in the order of the question marks
     * @param statements how many results it gives
     */
    record Prepared(String text, List<String> names, int statements) {}
}
