package dev.fencepost.lease;

import dev.fencepost.host.Time;
import java.time.Duration;

/**
 * Renews one lease every third of its ttl, on a virtual thread of its own, until it is closed or the lease is lost.
 *
 * <p>"Lost" from the store ends it at once. An error does not: it tries again with a short backoff until the local deadline, which
 * {@link DeadlineWatch} watches from a platform thread; an error never counts as still held. No retry library and no circuit breaker
 * stands between it and the store (semantics 2.14).
 */
public final class Keeper implements Runnable {

    private static final long FIRST_BACKOFF_MILLIS = 100;
    private static final long MAX_BACKOFF_MILLIS = 2_000;

    /** What becomes of the lease, told to the run that stands under it. Must not block. */
    public interface Listener {
        void renewed(Lease lease);

        void renewFailed(Lease lease, StoreException cause);

        void lost(Lease lease, Term term, Refusal reason);
    }

    private final Renewals renewals;
    private final Time time;
    private final Listener listener;
    private final Lease lease;
    private final Duration ttl;
    private volatile Term term;
    private volatile boolean closed;

    public Keeper(
            Renewals renewals, Time time, Lease lease, Duration ttl, long claimSentBootMillis, Listener listener) {
        this.renewals = renewals;
        this.time = time;
        this.lease = lease;
        this.ttl = ttl;
        this.listener = listener;
        this.term = Term.of(claimSentBootMillis, ttl);
    }

    /** The trust that the last answered request gives. */
    public Term term() {
        return term;
    }

    /** No renewal is sent after the one that may be under way. */
    public void close() {
        closed = true;
    }

    @Override
    public void run() {
        long backoff = FIRST_BACKOFF_MILLIS;
        long wait = term.sentBootMillis() + term.renewIntervalMillis() - time.bootMillis();
        try {
            while (!closed) {
                time.sleep(Duration.ofMillis(wait));
                if (closed || time.bootMillis() >= term.endBootMillis()) {
                    return;
                }
                long sent = time.bootMillis();
                try {
                    switch (renewals.renew(lease, ttl)) {
                        case Renewal.Renewed renewed -> {
                            term = Term.of(sent, ttl);
                            backoff = FIRST_BACKOFF_MILLIS;
                            wait = term.renewIntervalMillis() - (time.bootMillis() - sent);
                            listener.renewed(renewed.lease());
                        }
                        case Renewal.Lost lost -> {
                            if (!closed) {
                                listener.lost(lease, term, lost.reason());
                            }
                            return;
                        }
                    }
                } catch (StoreException e) {
                    if (!closed) {
                        listener.renewFailed(lease, e);
                    }
                    wait = Math.min(backoff, term.renewIntervalMillis());
                    backoff = Math.min(backoff * 2, MAX_BACKOFF_MILLIS);
                } catch (RuntimeException | Error e) { // a full heap passes too, and is no reason to give the lease up
                    if (!closed) {
                        listener.renewFailed(lease, new StoreException(StoreException.Kind.AMBIGUOUS, e.toString(), e));
                    }
                    wait = Math.min(backoff, term.renewIntervalMillis());
                    backoff = Math.min(backoff * 2, MAX_BACKOFF_MILLIS);
                }
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }
}
