package dev.fencepost.edge.jdbc;

import dev.fencepost.lease.StoreException;
import java.sql.SQLException;
import java.util.List;

/**
 * Connections to one database, and transactions on them. Every wait is bounded: for a connection, a lock, a statement, an answer.
 * Failures come out as {@link StoreException}, whose kind says whether the write may have happened. Safe for use by many threads.
 */
interface Database extends AutoCloseable {

    /** Whose turn it is where only one can write, and which connections may be used where there are several. */
    enum Urgency {
        /** Renewals and completions: must not wait behind anything else. */
        URGENT,
        NORMAL
    }

    /** Statements of one transaction. May be run again only by the caller's own decision. */
    @FunctionalInterface
    interface Work<T> {
        T run(Session session) throws SQLException;
    }

    /** Reads in one transaction. */
    <T> T read(String operation, Work<T> work);

    /**
     * Reads by these statements alone, so that one call of the server is enough for it.
     *
     * @return an answer for each statement
     */
    List<Session.Answer> readAtOnce(String operation, Sql sql, Params params);

    /** Reads and writes in one durable transaction, which is committed when the work returns, unless it asked for a rollback. */
    <T> T write(String operation, Urgency urgency, Work<T> work);

    /** Reads of whole tables, by a person's order: they may take minutes, and hold no writer up. */
    <T> T readPatiently(String operation, Work<T> work);

    /**
     * A durable transaction that changes whole tables, by a person's order: it may take minutes, and what it has locked
     * stays locked so long.
     */
    <T> T writePatiently(String operation, Work<T> work);

    /**
     * A durable transaction that is decided by its statements alone, so that one call of the server is enough for it. What cannot be
     * decided before its answers are read belongs into {@link #write}. When a connection is lost, whether it was written is unknown.
     *
     * @return an answer for each statement
     */
    List<Session.Answer> writeAtOnce(String operation, Urgency urgency, Sql sql, Params params);

    /**
     * Asks what a write that changes nothing cannot tell: whether there is room for one that does.
     *
     * @throws StoreException if there is none
     */
    void checkRoom();

    /** Applies the migrations that are missing. */
    void migrate();

    /** Kind and place, without a password. */
    String describe();

    @Override
    void close();
}
