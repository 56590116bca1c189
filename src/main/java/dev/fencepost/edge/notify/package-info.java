/**
 * Tells people and monitors what becomes of the jobs: pings, webhooks, mails. In come the calls of {@code run/Notices} and two kinds of
 * events; out go requests and mails, from threads of their own. The one invariant: nothing here is ever waited for by a run.
 */
@NullMarked
package dev.fencepost.edge.notify;

import org.jspecify.annotations.NullMarked;
