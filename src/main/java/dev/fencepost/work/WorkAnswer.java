package dev.fencepost.work;

import dev.fencepost.lease.Refusal;
import org.jspecify.annotations.Nullable;

/** The answer to a call about one item. A "no" is an answer, and surely changed nothing but the event of it. */
public sealed interface WorkAnswer {

    /** @param item as it is now */
    record Done(WorkItem item) implements WorkAnswer {}

    /** @param item as it is, null if there is none with this id */
    record Refused(Refusal reason, @Nullable WorkItem item) implements WorkAnswer {}
}
