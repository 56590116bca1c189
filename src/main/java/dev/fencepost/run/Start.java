package dev.fencepost.run;

import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Refusal;
import java.time.Duration;
import java.util.List;

/** The answer to the claim of a job's lease for one slot. */
public sealed interface Start {

    /**
     * The lease is granted and the attempt's row is there.
     *
     * @param attempt its number within the tick, from 1
     * @param lag from the slot to the grant, by the store's clock
     * @param abandoned attempts of this job that were found without an end under an older token, and are now written as ABANDONED
     */
    record Started(Lease lease, int attempt, Duration lag, List<Attempt> abandoned) implements Start {}

    /** Nothing changed: this lease is live. */
    record Held(Lease by) implements Start {}

    /**
     * Nothing but the token changed: the tick has an outcome, or its attempts are used up ({@code ALREADY_DONE}). Or nothing at all: an
     * earlier try with this run id was granted, and its lease is over ({@code EXPIRED}).
     */
    record Closed(Refusal reason) implements Start {}
}
