package dev.fencepost.run;

import dev.fencepost.lease.Refusal;

/** The answer to a completion. */
public sealed interface Completed {

    /** All of it is stored durably, and the lease is released. */
    record Stored() implements Completed {}

    /** Nothing of it is stored but the event of its refusal. */
    record Refused(Refusal reason) implements Completed {}
}
