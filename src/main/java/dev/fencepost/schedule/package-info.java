/**
 * WHEN: which slots does a job have, and what becomes of those that are due.
 *
 * <p>In: a schedule, the job's cursor, the store's time. Out: slots to run, to skip, to drop, and the new cursor. Everything here is
 * a pure function: no clock is read, no zone of the host is used. The one invariant: a schedule's slots are one strictly rising
 * series of instants, and every question (next, previous, count) is answered from that same series.
 */
@NullMarked
package dev.fencepost.schedule;

import org.jspecify.annotations.NullMarked;
