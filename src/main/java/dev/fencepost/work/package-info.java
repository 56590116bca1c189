/**
 * QUEUE: items of work in a table, claimed by workers anywhere, with the same lease and token as jobs.
 *
 * <p>In: items with a payload. Out: one result for each, stored by the holder of the newest token alone. The one invariant: whoever shows
 * another owner, token or run id than the item's row changes nothing.
 */
@NullMarked
package dev.fencepost.work;

import org.jspecify.annotations.NullMarked;
