/**
 * WHAT: one slot of one job is carried out under a lease, and its end is stored once.
 *
 * <p>In: an open tick. Out: an attempt with its outcome, and the tick's outcome, in one transaction that repeats the token. The one
 * invariant: of all attempts at a slot at most one completion is accepted, and the child of an attempt is dead before its lease ends.
 */
@NullMarked
package dev.fencepost.run;

import org.jspecify.annotations.NullMarked;
