package dev.fencepost.effect;

import dev.fencepost.host.Entropy;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What follows from an answer of a sink: state, reason, and when to go on. Pure but for the dice of the backoff. */
final class Judge {

    /** So many read-backs without an answer are told to a person. */
    private static final int PATIENT_CHECKS = 5;

    /** A sink that can be asked is asked soon after an unclear try. */
    private static final Duration ASK_SOON = Duration.ofMillis(200);

    private final Entropy entropy;

    Judge(Entropy entropy) {
        this.entropy = entropy;
    }

    static boolean isUsedUp(Sink sink, int tries) {
        return sink.maxTries() > 0 && tries >= sink.maxTries();
    }

    /** After a read-back. */
    Settlement seen(Sink sink, Effect effect, ReadBack seen) {
        return switch (seen) {
            case ReadBack.Found found -> confirmed(found.receipt());
            case ReadBack.Absent absent ->
                new Settlement(EffectState.PENDING, null, absent.reason(), backoff(effect.tries()), false, false, null);
            case ReadBack.NoAnswer none ->
                unknown(none.reason(), backoff(effect.checks() + 1), effect.checks() + 1 >= PATIENT_CHECKS);
            case ReadBack.CannotTell blind ->
                unknown(
                        isUsedUp(sink, effect.tries()) && sink.isIdempotent()
                                ? blind.reason() + "; its tries are used up"
                                : blind.reason(),
                        blind.later() ? backoff(effect.checks() + 1) : null,
                        true);
        };
    }

    /** After a delivery, as far as this try alone goes: see {@link #afterNo}. */
    Settlement sent(Sink sink, Effect effect, Delivery delivery) {
        int tries = effect.tries() + 1;
        return switch (delivery) {
            case Delivery.Confirmed confirmed -> confirmed(confirmed.receipt());
            case Delivery.Refused no ->
                new Settlement(EffectState.REFUSED, null, no.reason(), null, false, false, no.newest());
            case Delivery.Dead no -> new Settlement(EffectState.DEAD, no.kept(), no.reason(), null, false, true, null);
            case Delivery.NotNow later -> {
                if (isUsedUp(sink, tries)) {
                    String reason = "its " + tries + " tries are used up: " + later.reason();
                    yield effect.mayBeSent()
                            ? unknown(reason, null, true)
                            : new Settlement(EffectState.DEAD, null, reason, null, false, true, null);
                }
                yield notSent(effect, tries, later.reason(), later.after());
            }
            case Delivery.Unknown lost ->
                unknown(lost.reason(), sink.isIdempotent() ? backoff(tries) : ASK_SOON, false);
        };
    }

    /** Whether the sink said no for good. */
    static boolean isNo(Settlement settlement) {
        return settlement.state() == EffectState.REFUSED || settlement.state() == EffectState.DEAD;
    }

    /**
     * A "no" is the end of the last try alone. Where an earlier one may have arrived and the sink cannot tell, the effect stays UNKNOWN:
     * to call it refused might be a lie (semantics 5.3).
     */
    static Settlement afterNo(Settlement no, ReadBack seen) {
        return switch (seen) {
            case ReadBack.Found found -> confirmed(found.receipt());
            case ReadBack.Absent absent -> no;
            case ReadBack.NoAnswer none -> unsureAfter(no);
            case ReadBack.CannotTell blind -> unsureAfter(no);
        };
    }

    private static Settlement unsureAfter(Settlement no) {
        return unknown("an earlier try may have arrived; the last one did not: " + no.reason(), null, true);
    }

    /** Surely not sent by this try. @param wanted the sink's own wish, which counts where it is later than ours */
    Settlement notSent(Effect effect, int tries, String reason, @Nullable Duration wanted) {
        Duration backoff = backoff(Math.max(1, tries));
        Duration nextIn = wanted == null || wanted.compareTo(backoff) < 0 ? backoff : wanted;
        return effect.mayBeSent()
                ? unknown(reason, nextIn, false)
                : new Settlement(EffectState.PENDING, null, reason, nextIn, false, false, null);
    }

    private static Settlement confirmed(Receipt receipt) {
        return new Settlement(EffectState.CONFIRMED, receipt, null, null, false, false, null);
    }

    private static Settlement unknown(String reason, @Nullable Duration nextIn, boolean waits) {
        return new Settlement(EffectState.UNKNOWN, null, reason, nextIn, true, waits, null);
    }

    private Duration backoff(int tries) {
        return Backoff.after(tries, entropy.fraction());
    }
}
