package dev.fencepost.lease;

/** The answer to a renewal. No answer at all is a {@code StoreException}, and means neither. */
public sealed interface Renewal {

    /** The lease now ends at its new {@code expiresAt}; nothing else changed. */
    record Renewed(Lease lease) implements Renewal {}

    /** The lease is gone for good; nothing changed. */
    record Lost(Refusal reason) implements Renewal {}
}
