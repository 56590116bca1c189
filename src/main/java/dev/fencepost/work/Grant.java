package dev.fencepost.work;

import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import org.jspecify.annotations.Nullable;

/**
 * What a worker shows in every call.
 *
 * @param runId null from those who know owner and token alone, on the command line; over HTTP it is always there
 */
public record Grant(
        String id,
        Owner owner,
        FencingToken fence,
        @Nullable RunId runId) {}
