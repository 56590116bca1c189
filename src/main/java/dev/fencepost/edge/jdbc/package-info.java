/**
 * The store on SQLite and on PostgreSQL: the same statements, but for the clock, the way a transaction begins, and the classes of
 * errors, which a {@link dev.fencepost.edge.jdbc.Dialect} fills in.
 *
 * <p>In: calls of the ports {@code Leases}, {@code Ticks}, {@code Outbox} and {@code History}. Out: rows, refusals, and {@code StoreException}s that say
 * whether the write may have happened. The one invariant: every statement that writes under a lease repeats owner, fence and run id,
 * and compares the end of the lease with the store's clock while it holds the row's lock.
 */
@NullMarked
package dev.fencepost.edge.jdbc;

import org.jspecify.annotations.NullMarked;
