/**
 * A Fencepost server far away, as a worker sees it: the work queue over HTTP.
 *
 * <p>In: the calls of {@link dev.fencepost.work.WorkQueue}. Out: the server's answers, or a
 * {@link dev.fencepost.lease.StoreException} that says whether the call may have had its effect. The one invariant: a call that changes
 * something under a lease is sent once; whether it is sent again is for the caller to say, who knows its deadline (semantics 2.14).
 */
@NullMarked
package dev.fencepost.edge.remote;

import org.jspecify.annotations.NullMarked;
