/**
 * Fencepost: runs unattended jobs on a schedule, each slot once, under a lease with a fencing token.
 *
 * <p>The protocol of the store on one page. A job's row holds its cursor, the newest planned slot. A plan moves it and, in the same
 * transaction, opens ticks for the slots that are to run and closes the others at once. A tick without an outcome is run under the job's
 * lease: the claim raises the fence, stores owner, run id, slot and end, and inserts the attempt. Renewals move the end and nothing else.
 * The completion locks the lease, compares owner, fence, run id and end with what its holder shows, and only then writes the end of the
 * attempt, the outcome of the tick and an event, and gives the lease back. Whoever shows an old token changes nothing; the refusal is
 * recorded. A holder that dies is followed by the next claimant after the end of the lease, or at once where its host knows it dead.
 *
 * <p>What a run announces is stored by its completion, in the same transaction, and sent after it: by one sender at a time for each sink
 * and resource, who holds a lease on that pair, writes down that it sends before it does, and stores what came of it. What nobody can
 * know is UNKNOWN until the sink or a person tells. Items of work have leases and tokens of the same kind in rows of their own.
 *
 * <p>A tick's way through the code: {@link dev.fencepost.Node} wakes, {@link dev.fencepost.schedule.Planner} decides,
 * {@link dev.fencepost.run.JobLoop} writes the plan, {@link dev.fencepost.run.Runner} carries out one slot, with a
 * {@link dev.fencepost.lease.Keeper} beside it, and {@link dev.fencepost.effect.Dispatcher} sends what it announced.
 */
@NullMarked
package dev.fencepost;

import org.jspecify.annotations.NullMarked;
