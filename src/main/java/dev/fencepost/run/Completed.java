package dev.fencepost.run;

import dev.fencepost.lease.Refusal;

/** The answer to a completion. */
public sealed interface Completed {

    /** All of it is stored durably, and the lease is released. */
    record Stored() implements Completed {}

    /**
     * Nothing of it is stored: it announces a key that is in the store with other content. The lease is as it was.
     *
     * @param text names the key, who announced it before, and both digests
     */
    record Conflict(String text) implements Completed {}

    /** Nothing of it is stored but the event of its refusal, and one for each effect that it announced. */
    record Refused(Refusal reason) implements Completed {}
}
