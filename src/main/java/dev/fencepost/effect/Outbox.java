package dev.fencepost.effect;

import dev.fencepost.lease.Lease;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The effects of a store: a port. Semantics section 5 is its contract. Effects come in by
 * {@link dev.fencepost.effect the completion of a run} alone, and are found by their state, never by a position that was read up to.
 *
 * <p>The turn within a pair: the open effect with the lowest token, of several the first announced. An UNKNOWN one that is too old gives
 * up its turn and stays UNKNOWN. What is said of exceptions and threads in {@link dev.fencepost.lease.Leases} holds here too.
 */
public interface Outbox {

    /**
     * Pairs of these sinks whose first effect can be gone on with now: its time has come, or it is in SENDING under a lease that is over.
     * A pair in SENDING under a live lease is named too when that lease's holder may be dead: see {@link DuePair#heldBy}.
     */
    List<DuePair> duePairs(Collection<String> sinks, int limit);

    /** @param heldBy the live lease of whoever is sending, or null when it is free */
    record DuePair(Pair pair, @Nullable Lease heldBy) {}

    /**
     * Makes PENDING effects of any sink that are too old EXPIRED, and lets UNKNOWN ones that are too old wait for a person, among them
     * what a dead sender left in SENDING and nobody adopted, since no node knows the sink: a bounded number at a time. Gives those that
     * changed.
     */
    List<EffectView> expire();

    /**
     * Under a fresh lease of the pair: what an earlier sender left in SENDING becomes UNKNOWN, and, if there was any, what is PENDING
     * waits for the lock-delay.
     *
     * @param lease of {@link Pair#leaseResource}, live
     * @return what became UNKNOWN
     */
    List<EffectView> adopt(Lease lease, Pair pair, Duration lockDelay);

    /** The pair's first effect, if its time has come: PENDING or UNKNOWN. Null if there is none. */
    default @Nullable Effect next(Pair pair) {
        return next(pair, Content.MAX_BYTES);
    }

    /** The same, but null as well where its content has more than so many bytes: it is read into memory. No later one comes instead. */
    @Nullable
    Effect next(Pair pair, int mostBytes);

    /**
     * Writes down that this effect is being sent, before it is: SENDING, in a transaction that checks that the lease is live, that the
     * effect is still the pair's first and as it was read, and the highest token that the store knows for the pair. That token is
     * advanced here, so before the sink can accept it.
     */
    Begun begin(Lease lease, Effect effect);

    /** The answer to {@link #begin}. */
    sealed interface Begun {

        /** Send it now. */
        record Sending() implements Begun {}

        /** A newer token, or a twin's, was sent before: the effect is now REFUSED, with an event, and must not be sent. */
        record Refused(long newest) implements Begun {}

        /** Nothing changed: the lease is over, or the effect is no longer as it was read. */
        record Gone() implements Begun {}
    }

    /**
     * Stores what came of sending. Not bound to a live lease, since it is true whenever it comes: while this sender's try is the last one
     * begun (SENDING, or UNKNOWN since somebody else adopted it). CONFIRMED and REFUSED also write an event. May be repeated.
     *
     * @return whether it was stored, by this call or by one before
     */
    boolean sent(Lease lease, Effect effect, Settlement settlement);

    /** Stores what a read-back showed, while the lease is live and the effect still UNKNOWN. Counts the check. */
    boolean checked(Lease lease, Effect effect, Settlement settlement);

    /** Newest first, of all jobs and states, or of those named. */
    List<EffectView> effects(Filter filter, int limit);

    /**
     * @param job null for all
     * @param states empty for all
     * @param waitingOnly those that wait for a person
     */
    record Filter(@Nullable String job, Collection<EffectState> states, boolean waitingOnly) {
        public static final Filter ALL = new Filter(null, List.of(), false);
    }

    /** Those that the ticks of this slot announced, in that order. */
    List<EffectView> effectsOf(String job, String slotKey);

    @Nullable
    EffectView effect(String key);

    /** Open effects and those that wait for a person, by sink and state. */
    List<Tally> tallies();

    /**
     * @param waiting how many of them wait for a person
     * @param oldest when the oldest of them was announced
     */
    record Tally(String sink, EffectState state, long count, long waiting, Instant oldest) {}

    /** What a person knows, or wants, of an effect. */
    enum Order {
        /** It took place. From UNKNOWN, DEAD or EXPIRED to CONFIRMED. */
        CONFIRMED,
        /** It surely did not take place. From UNKNOWN to PENDING: it is sent again. */
        ABSENT,
        /** It is not wanted any more. From UNKNOWN, PENDING to DEAD; DEAD and EXPIRED stop waiting. */
        GIVE_UP,
        /** Send it again. From DEAD, REFUSED or EXPIRED to PENDING, with its age counted anew. */
        RETRY;

        /**
         * Whether this can be ordered for an effect.
         *
         * @param waits whether it waits for a person
         */
        public boolean suits(EffectState state, boolean waits) {
            return switch (this) {
                case CONFIRMED ->
                    state == EffectState.UNKNOWN || state == EffectState.DEAD || state == EffectState.EXPIRED;
                case ABSENT -> state == EffectState.UNKNOWN;
                case GIVE_UP ->
                    switch (state) {
                        case PENDING, UNKNOWN, DEAD, EXPIRED -> true;
                        case REFUSED -> waits;
                        case SENDING, CONFIRMED -> false;
                    };
                case RETRY -> state == EffectState.DEAD || state == EffectState.REFUSED || state == EffectState.EXPIRED;
            };
        }

        /** Whether it is then sent: only such an order may override a newer token. */
        public boolean sends() {
            return this == ABSENT || this == RETRY;
        }
    }

    /**
     * Carries out a person's order and writes an event of it.
     *
     * @param override to send although the store knows a newer token for the pair
     * @return empty when done, else why nothing changed, in words for a person
     */
    Optional<String> resolve(String key, Order order, String reason, boolean override);
}
