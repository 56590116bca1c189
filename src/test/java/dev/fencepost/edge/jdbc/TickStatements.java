package dev.fencepost.edge.jdbc;

import java.util.List;

/** The statements of one run as PostgreSQL gets them, with their values as {@code :name}, for another client. */
public final class TickStatements {

    private TickStatements() {}

    /** The usual one, of one job; its values are arrays, and so are those of the others. */
    public static List<String> start() {
        return WorkStatements.named(TickBatches.START.ofOne());
    }

    public static List<String> renew() {
        return WorkStatements.named(TickBatches.RENEW.ofOne());
    }

    public static List<String> complete() {
        return WorkStatements.named(TickBatches.COMPLETE.ofOne());
    }
}
