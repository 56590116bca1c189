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
     * @param abandoned attempts of this job that were found without an end under an older token, and have now the end that is said of
     *     them in {@link Ticks#abandon}
     * @param spent how many attempts of the tick before this one count toward max-attempts
     * @param withoutEffects whether what the run announces is thrown away, as a person has ordered
     */
    record Started(Lease lease, int attempt, Duration lag, List<Attempt> abandoned, int spent, boolean withoutEffects)
            implements Start {

        /** The first try of a slot of the schedule. */
        public Started(Lease lease, int attempt, Duration lag, List<Attempt> abandoned) {
            this(lease, attempt, lag, abandoned, 0, false);
        }
    }

    /** Nothing changed: this lease is live. */
    record Held(Lease by) implements Start {}

    /**
     * Nothing but the token changed: the tick has an outcome, or its attempts are used up ({@code ALREADY_DONE}). Or nothing at all: an
     * earlier try with this run id was granted, and its lease is over ({@code EXPIRED}).
     */
    record Closed(Refusal reason) implements Start {}
}
