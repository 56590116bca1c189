package dev.fencepost.run;

import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * One try to carry out a tick's action, as stored.
 *
 * @param number from 1, within the tick
 * @param endedAt and {@code outcome}: null while it runs
 * @param classification the kind of its failure, or null where nothing told it
 */
public record Attempt(
        RunId runId,
        String job,
        String slotKey,
        int number,
        FencingToken fence,
        Owner owner,
        Instant startedAt,
        @Nullable Instant endedAt,
        @Nullable Outcome outcome,
        @Nullable Integer exitCode,
        @Nullable Integer signal,
        @Nullable String reason,
        @Nullable Classification classification) {

    /** Without a classification. */
    public Attempt(
            RunId runId,
            String job,
            String slotKey,
            int number,
            FencingToken fence,
            Owner owner,
            Instant startedAt,
            @Nullable Instant endedAt,
            @Nullable Outcome outcome,
            @Nullable Integer exitCode,
            @Nullable Integer signal,
            @Nullable String reason) {
        this(runId, job, slotKey, number, fence, owner, startedAt, endedAt, outcome, exitCode, signal, reason, null);
    }
}
