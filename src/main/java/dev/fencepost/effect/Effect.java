package dev.fencepost.effect;

import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.RunId;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An effect as stored, with all that is needed to send it.
 *
 * @param fence and {@code runId}: of the grant under which it was announced; the sink is shown these, never those of the sender
 * @param state at the moment it was read
 * @param tries how often it was sent
 * @param mayBeSent whether an earlier try may have arrived: then a "no" of the sink is not yet an end
 * @param override whether a person wants it sent although a newer token was accepted (semantics 5.7)
 * @param checks how often it was read back since its outcome became unknown
 * @param lastSentAt by the store's clock, null if never
 * @param now by the store's clock, when it was read
 */
public record Effect(
        String key,
        String job,
        String slotKey,
        String name,
        Pair pair,
        FencingToken fence,
        RunId runId,
        Content content,
        Instant announcedAt,
        Instant expiresAt,
        EffectState state,
        int tries,
        boolean mayBeSent,
        boolean override,
        int checks,
        @Nullable Instant lastSentAt,
        Instant now) {

    @Override
    public String toString() {
        return "effect " + key;
    }
}
