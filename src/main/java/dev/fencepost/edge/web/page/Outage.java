package dev.fencepost.edge.web.page;

import dev.fencepost.host.Event;
import dev.fencepost.lease.StoreException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Since when the store has given no answer, by this host's wall clock. A page then goes on with what it knew, so nobody else would hear of
 * an error of ours: it is told the journal, once an outage. That the store is away is told by whoever counts that. Not safe for use by many
 * threads.
 */
final class Outage {

    private final Page.Parts parts;
    private @Nullable Instant since;
    private boolean told;

    Outage(Page.Parts parts) {
        this.parts = parts;
    }

    /** There was no answer, perhaps not for the first time. */
    Instant goesOn() {
        Instant begun = since;
        if (begun == null) {
            begun = parts.time().wallClock();
            since = begun;
        }
        return begun;
    }

    /** The same, with the reason. @param job that was asked for, or null */
    Instant goesOn(StoreException e, @Nullable String job) {
        if (e.kind() == StoreException.Kind.BROKEN && !told) {
            told = true;
            parts.journal().record(new Event.Problem("page", job, null, null, "the store cannot be read", e));
        }
        return goesOn();
    }

    /** There was an answer. */
    void end() {
        since = null;
        told = false;
    }
}
