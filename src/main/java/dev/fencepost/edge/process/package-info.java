/**
 * Real child processes of this host: their start, their output, their end, and what is left of them.
 *
 * <p>In: a command with its environment ({@link dev.fencepost.run.Children.Spec}). Out: how it ended, a bounded log file of clean text,
 * and no process of it. The programs {@code sh} and {@code setsid} must be there; {@code unshare} and {@code setpriv} make the
 * {@link Guard}; {@code setpriv}, {@code getent} and {@code id} are needed for commands of another user.
 *
 * <p>The one invariant: nothing outside of a run's own tree is ever signalled, and nothing of the tree is left when
 * {@link dev.fencepost.run.ChildProcess#finish} has returned.
 */
@NullMarked
package dev.fencepost.edge.process;

import org.jspecify.annotations.NullMarked;
