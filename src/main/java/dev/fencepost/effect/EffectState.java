package dev.fencepost.effect;

/** Where an effect stands (semantics 5.2). */
public enum EffectState {
    /** It surely did not take place yet, and is sent when its turn comes. */
    PENDING,
    /** Somebody has written down that it is sending. If it died since, the next one makes it {@link #UNKNOWN}. */
    SENDING,
    /** It took place; there is a receipt. */
    CONFIRMED,
    /** The sink, or what the store knows of it, has seen a newer token. Nothing took place. */
    REFUSED,
    /** The sink said no for good, or a person gave it up. */
    DEAD,
    /** It may have taken place. */
    UNKNOWN,
    /** It grew too old before it could be sent. Nothing took place. */
    EXPIRED;

    /** Whether it may still change by itself. */
    public boolean isOpen() {
        return this == PENDING || this == SENDING || this == UNKNOWN;
    }
}
