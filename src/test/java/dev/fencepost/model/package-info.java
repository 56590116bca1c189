/**
 * THE CONTRACT AS A MODEL: what the stores are compared with, step by step, over random scripts.
 *
 * <p>In: a seed. It becomes a {@link dev.fencepost.model.Script}, a list of {@link dev.fencepost.model.Step}s of plain numbers: claims,
 * renewals and completions of several owners, honest and forged, orders of people, senders of effects, workers of a queue, and time that
 * goes by to just before, at, and just after the instants that matter. Each step is taken by a real store and by the books of the model
 * ({@link dev.fencepost.model.LeaseBook}, {@link dev.fencepost.model.TickBook}, {@link dev.fencepost.model.OutboxBook}, and
 * {@link dev.fencepost.work.MemoryWorkQueue}), which are written after the semantics and know no SQL; then the answers are compared, and
 * all that can be seen of the store. Out: nothing, or the shortest script that shows a difference.
 */
@NullMarked
package dev.fencepost.model;

import org.jspecify.annotations.NullMarked;
