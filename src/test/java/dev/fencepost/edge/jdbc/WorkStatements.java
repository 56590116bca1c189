package dev.fencepost.edge.jdbc;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/** The statements of the work queue as PostgreSQL gets them, with their values as {@code :name}, for another client. */
public final class WorkStatements {

    private WorkStatements() {}

    public static List<String> enqueue() {
        return named(JdbcWork.ENQUEUE);
    }

    public static List<String> claimAny(int count) {
        return named(count == 1 ? JdbcWork.CLAIM_ONE_OF : JdbcWork.CLAIM_ANY);
    }

    public static List<String> complete() {
        return named(JdbcWork.COMPLETE);
    }

    static List<String> named(Sql sql) {
        List<String> statements = new ArrayList<>();
        for (Sql.Prepared prepared : sql.prepare(new Dialect.Postgres())) {
            Iterator<String> names = prepared.names().iterator();
            StringBuilder text = new StringBuilder();
            for (char c : prepared.text().toCharArray()) {
                text.append(c == '?' ? ":" + names.next() : String.valueOf(c));
            }
            statements.addAll(List.of(text.toString().split(";\n")));
        }
        return statements;
    }
}
