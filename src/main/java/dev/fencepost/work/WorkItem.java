package dev.fencepost.work;

import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An item as stored; instants are of the store's clock.
 *
 * @param state at the moment of the answer: a lease that is over makes it READY, or DEAD if its tries are used up
 * @param fence newest token, 0 if it was never claimed
 * @param owner and {@code runId}, {@code until}: of the live lease, else null
 * @param attempts how often it was claimed
 * @param reason of the last failure, or why it is dead
 */
public record WorkItem(
        String id,
        String queue,
        WorkState state,
        int priority,
        @Nullable Instant notBefore,
        int attempts,
        int maxAttempts,
        long fence,
        @Nullable Owner owner,
        @Nullable RunId runId,
        @Nullable Instant until,
        @Nullable Body payload,
        @Nullable Body result,
        @Nullable String reason,
        Instant enqueuedAt,
        @Nullable Instant endedAt) {

    public boolean isDone() {
        return state == WorkState.DONE;
    }
}
