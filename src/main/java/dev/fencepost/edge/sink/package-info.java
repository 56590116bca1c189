/**
 * The sinks: git, HTTP and files, and what makes announcements of the work of a run.
 *
 * <p>In: effects that are ready to be sent, and folders that a run has worked in. Out: deliveries, receipts, announcements. The one
 * invariant: whatever a run left behind (its worktree's configuration and hooks, its links, its lines) decides nothing but content.
 */
@NullMarked
package dev.fencepost.edge.sink;

import org.jspecify.annotations.NullMarked;
