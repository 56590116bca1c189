/**
 * THEN: what is done outside the store after a run, once, or with the admission that nobody knows.
 *
 * <p>In: announcements, stored by the transaction that accepts a run's completion. Out: deliveries to sinks, and a receipt, a refusal or an
 * {@code UNKNOWN} for each. The one invariant: an effect is sent only from {@code PENDING}, which means that it surely did not take place
 * yet, or, to a sink that is declared idempotent, again with the same key and the same bytes.
 */
@NullMarked
package dev.fencepost.effect;

import org.jspecify.annotations.NullMarked;
