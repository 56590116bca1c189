package dev.fencepost.edge.jdbc;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One or more statements as they stand in the code: values as {@code :name}, fragments of the dialect as {@code {name}} or
 * {@code {name alias}}.
 */
final class Sql {

    private static final Pattern FRAGMENT = Pattern.compile("\\{(\\w+)(?: (\\w+))?}");

    /** A named value that is no cast ({@code ::text}) and does not stand in a quoted text. */
    private static final Pattern VALUE = Pattern.compile("'[^']*'|::|:([a-z_]+)");

    private final List<String> statements;

    private Sql(List<String> statements) {
        this.statements = statements;
    }

    static Sql of(String... statements) {
        return new Sql(List.of(statements));
    }

    /** The statements as the driver takes them. */
    List<Prepared> prepare(Dialect dialect) {
        List<Prepared> prepared = new ArrayList<>();
        for (String statement : statements) {
            prepared.add(prepare(statement, dialect));
        }
        if (!dialect.sendsManyAtOnce() || prepared.size() == 1) {
            return prepared;
        }
        StringBuilder text = new StringBuilder();
        List<String> names = new ArrayList<>();
        for (Prepared each : prepared) {
            text.append(text.isEmpty() ? "" : ";\n").append(each.text());
            names.addAll(each.names());
        }
        return List.of(new Prepared(text.toString(), names, prepared.size()));
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
