/**
 * DETERMINISTIC SIMULATION: the production core with several nodes, in one process, under a clock of its own, out of one seed.
 *
 * <p>Every thread of the core is a {@link dev.fencepost.sim.Strand}; one of them runs at a time, chosen by the seed, until it waits: for the
 * clock, for a child, for the store, for a sink. Time moves when all of them wait. The store is the real one on SQLite, seen by every node
 * as a server that answers late, not at all, or after the write; its clock is the world's, and each node has clocks of its own. What must
 * hold is judged by {@link dev.fencepost.sim.Witness}, which sees calls and answers and shares nothing with the store.
 */
@NullMarked
package dev.fencepost.sim;

import org.jspecify.annotations.NullMarked;
