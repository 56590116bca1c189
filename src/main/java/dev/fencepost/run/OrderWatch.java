package dev.fencepost.run;

import dev.fencepost.host.Time;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Orders.JobEvent;
import dev.fencepost.run.Orders.JobEvent.Kind;
import dev.fencepost.run.Orders.Signal;
import dev.fencepost.run.Orders.Stop;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Notices what was ordered through the store: one read of one row a second, whatever the number of jobs, and more only when that row has
 * changed. For one thread at a time.
 *
 * <p>A store that does not answer is asked with growing distance; what was ordered meanwhile is noticed then.
 */
public final class OrderWatch {

    /** Told what has changed. Its calls return at once. */
    public interface Listener {

        /** A run of this owner is to stop. Told again at the next change, as long as it has no end. */
        void stop(Stop stop);

        /** @param jobs what was ordered is about these; null for any */
        void ordered(@Nullable Set<String> jobs);

        /** The jobs file is to be read anew. */
        void reload();
    }

    private static final Duration FIRST_BACKOFF = Duration.ofSeconds(1);
    private static final Duration MAX_BACKOFF = Duration.ofSeconds(15);

    /** So many orders at once are about any job. */
    private static final long MOST_EVENTS = 500;

    /** Events that are no orders may stand between those that are. */
    private static final int OTHER_EVENTS = 50;

    private static final Set<Kind> ORDERS =
            EnumSet.of(Kind.PAUSED, Kind.RESUMED, Kind.TRIGGERED, Kind.CANCELLED, Kind.SUPERSEDED, Kind.RELOADED);

    private final Orders orders;
    private final Owner owner;
    private final Time time;
    private final Listener listener;
    private @Nullable Signal seen;
    private Duration backoff = FIRST_BACKOFF;
    private long notBefore = Long.MIN_VALUE;

    public OrderWatch(Orders orders, Owner owner, Time time, Listener listener) {
        this.orders = orders;
        this.owner = owner;
        this.time = time;
        this.listener = listener;
    }

    /** Looks once, unless the store failed a moment ago. What is found at the first look was there before us. */
    public void look() {
        if (time.bootMillis() < notBefore) {
            return;
        }
        try {
            Signal now = orders.signal();
            Signal before = seen;
            if (before == null || now.revision() != before.revision()) {
                orders.stops(owner).forEach(listener::stop);
            }
            if (before != null && now.revision() != before.revision()) {
                listener.ordered(jobs(now.revision() - before.revision()));
            }
            if (before != null && now.reloads() != before.reloads()) {
                listener.reload();
            }
            seen = now;
            backoff = FIRST_BACKOFF;
        } catch (StoreException away) { // those who plan and run tell of it
            notBefore = time.bootMillis() + backoff.toMillis();
            Duration doubled = backoff.multipliedBy(2);
            backoff = doubled.compareTo(MAX_BACKOFF) > 0 ? MAX_BACKOFF : doubled;
        }
    }

    private @Nullable Set<String> jobs(long orderCount) {
        if (orderCount < 0 || orderCount > MOST_EVENTS) {
            return null;
        }
        List<JobEvent> ordered = orders.jobEvents(null, (int) orderCount + OTHER_EVENTS).stream()
                .filter(event -> ORDERS.contains(event.kind()))
                .toList();
        return ordered.size() < orderCount
                ? null // between so many others that some are not among the newest
                : ordered.stream().map(JobEvent::job).filter(Objects::nonNull).collect(Collectors.toSet());
    }
}
