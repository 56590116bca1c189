package dev.fencepost.effect;

import java.time.Duration;

/**
 * A place that effects go to: a port. It has the last word: it shows the receiver key, token and run id, and where it can it holds the
 * highest token itself (semantics 5.5). Safe for use by many threads; one pair is used by one thread at a time on a node.
 */
public interface Sink {

    /** A delivery, or a read-back, has ended after so long, whatever happens. */
    Duration timeLimit();

    /** How long to wait after a sender died, since what it sent may still be on its way; zero where the sink checks key or token. */
    Duration lockDelay();

    /** Whether sending again with the same key and the same bytes does no harm: the receiver knows keys. */
    boolean isIdempotent();

    /** So many answers that are surely "no" end it as DEAD; 0 for any number, until it is too old. */
    int maxTries();

    /** Sends once. Whatever happens is an answer; an exception counts as {@link Delivery.Unknown}. */
    Delivery deliver(Effect effect) throws InterruptedException;

    /** Asks the sink whether the effect took place. An exception counts as {@link ReadBack.NoAnswer}. */
    ReadBack readBack(Effect effect) throws InterruptedException;
}
