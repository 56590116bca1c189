/**
 * WHO: permission, with an end, to act on a resource, and the fencing token that makes every later write refusable.
 *
 * <p>In: a resource and an owner. Out: a {@link dev.fencepost.lease.Lease}, or the reason why not. The one invariant: a resource's
 * token rises at each grant and never falls, and a write counts only while its token is the newest and its lease has not ended by the
 * store's clock. {@link dev.fencepost.lease.Term} is the holder's own, shorter trust in it.
 */
@NullMarked
package dev.fencepost.lease;

import org.jspecify.annotations.NullMarked;
