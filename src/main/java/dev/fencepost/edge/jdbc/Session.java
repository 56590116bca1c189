package dev.fencepost.edge.jdbc;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Statements of one transaction on one connection. For one thread. */
final class Session {

    /** Statements made ready for a dialect; they are constants of the code, so there are few. */
    static final class Prepared {
        private final Dialect dialect;
        private final Map<Sql, List<Sql.Prepared>> cache = new ConcurrentHashMap<>();
        private final Map<Sql, Sql.Prepared> atOnce = new ConcurrentHashMap<>();

        Prepared(Dialect dialect) {
            this.dialect = dialect;
        }

        List<Sql.Prepared> of(Sql sql) {
            return cache.computeIfAbsent(sql, s -> s.prepare(dialect));
        }

        Sql.Prepared atOnce(Sql sql) {
            return atOnce.computeIfAbsent(sql, s -> s.prepareAtOnce(dialect));
        }

        /** After the dialect has learned something that changes its fragments. */
        void clear() {
            cache.clear();
            atOnce.clear();
        }
    }

    /** @param changed how many rows it wrote, where it returns none */
    record Answer(int changed, List<Row> rows) {

        @Nullable
        Row first() {
            return rows.isEmpty() ? null : rows.getFirst();
        }
    }

    private final Statements statements;
    private final Dialect dialect;
    private final Prepared prepared;
    private final Map<String, @Nullable Object> clocks;
    private boolean rollbackOnly;

    Session(Statements statements, Dialect dialect, Prepared prepared) {
        this.statements = statements;
        this.dialect = dialect;
        this.prepared = prepared;
        this.clocks = dialect.clocks();
    }

    /** Runs the statements in order and gives an answer for each. */
    List<Answer> run(Sql sql, Params params) throws SQLException {
        return answers(prepared.of(sql), params);
    }

    /** The same on a connection without a transaction: they are one of their own, which ends with them. */
    List<Answer> runAtOnce(Sql sql, Params params) throws SQLException {
        Sql.Prepared all = prepared.atOnce(sql);
        List<Answer> answers = answers(List.of(all), params);
        return all.statements() == 1 ? answers : answers.subList(1, answers.size() - 1);
    }

    private List<Answer> answers(List<Sql.Prepared> texts, Params params) throws SQLException {
        Map<String, @Nullable Object> values = new HashMap<>(clocks);
        values.putAll(params.values());
        List<Answer> answers = new ArrayList<>();
        for (Sql.Prepared each : texts) {
            statements.run(each.text(), statement -> {
                bind(statement, each.names(), values);
                boolean hasRows = statement.execute();
                for (int i = 0; i < each.statements(); i++) {
                    if (i > 0) {
                        hasRows = statement.getMoreResults();
                    }
                    answers.add(answer(statement, hasRows));
                }
            });
        }
        return answers;
    }

    /** The same for a single statement. */
    Answer one(Sql sql, Params params) throws SQLException {
        return run(sql, params).getFirst();
    }

    /** Nothing of this transaction is to stay. */
    void rollbackOnly() {
        rollbackOnly = true;
    }

    boolean isRollbackOnly() {
        return rollbackOnly;
    }

    private static Answer answer(PreparedStatement statement, boolean hasRows) throws SQLException {
        if (!hasRows) {
            return new Answer(statement.getUpdateCount(), List.of());
        }
        try (ResultSet results = statement.getResultSet()) {
            List<Row> rows = Row.all(results);
            return new Answer(rows.size(), rows);
        }
    }

    private void bind(PreparedStatement statement, List<String> names, Map<String, @Nullable Object> values)
            throws SQLException {
        for (int i = 0; i < names.size(); i++) {
            String name = names.get(i);
            if (!values.containsKey(name)) {
                throw new IllegalArgumentException("no value for :" + name);
            }
            switch (values.get(name)) {
                case null -> statement.setNull(i + 1, Types.NULL);
                case String text -> statement.setString(i + 1, text);
                case Integer number -> statement.setInt(i + 1, number);
                case Long number -> statement.setLong(i + 1, number);
                case Boolean truth -> statement.setBoolean(i + 1, truth);
                case byte[] bytes -> statement.setBytes(i + 1, bytes);
                case Instant instant -> dialect.bindInstant(statement, i + 1, instant);
                case Object other -> throw new IllegalArgumentException(":" + name + " is a " + other.getClass());
            }
        }
    }
}
