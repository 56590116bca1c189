/**
 * Tells systemd how the service is, by its program {@code systemd-notify}. In come the state of the {@link dev.fencepost.Node} and what is
 * begun and ended; out go short messages. The one invariant: nobody waits for a message but the thread that sends it, and whatever becomes
 * of it, jobs run.
 */
@NullMarked
package dev.fencepost.edge.systemd;

import org.jspecify.annotations.NullMarked;
