/**
 * WHAT HAPPENED, AND WHETHER IT MAY: files of history that every process of a test writes while faults befall it, and a checker that reads
 * all of them afterwards and believes none of the program's own code. It shares nothing with the stores: the final rows reach it through
 * {@link dev.fencepost.history.StoreDump}, by plain JDBC, as lines like any others.
 *
 * <p>A file holds one JSON object a line, and belongs to one process (a receiver inside of a test has one of its own too). Each line is
 * written by one call, so that a kill tears the last line of a file at most. Every line has {@code up}, the milliseconds of the boot clock,
 * which is the same for all processes of a host and which nothing sets, and {@code what}:
 *
 * <pre>
 * driver    clock      wall                                     the wall clock at this moment
 *           job        job, ttl, interval, from                 what is due, from this slot on (ms)
 *           sink       sink, checks                             whether this receiver compares keys and tokens
 *           node       node, pid                                a service was started
 *           kill, stop, cont, end   pid                         signals, and an end by itself
 *           database   state                                    "down" or "up"
 *           promoted                                            a standby that may lack what was acknowledged is the primary now
 *           seen       store, job, slot, outcome                a tick was seen closed
 *           left       pid, run, words                          a process of a run that is over was still there
 *           settled    until                                    all slots up to here have to have come to their ends (ms, wall)
 * child     start      job, slot, attempt, token, run, owner, key
 *           stamp      job, token, run                          alive
 *           done       job, token, run, effects                 about to end well, having announced effects of these names
 * worker    granted    resource, token, run, owner, sent        the answer to a claim that was sent at {@code sent}
 *           try        operation, resource, token, run          about to ask
 *           answer     operation, resource, token, run, accepted, reason
 * receiver  request    sink, checks, key, resource, token, run, body, answer (taken | again | refused)
 * dump      row        store, table, and the columns            instants as milliseconds
 * </pre>
 */
@NullMarked
package dev.fencepost.history;

import org.jspecify.annotations.NullMarked;
