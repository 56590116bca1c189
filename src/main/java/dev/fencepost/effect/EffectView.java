package dev.fencepost.effect;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An effect as people and monitors see it, without its content.
 *
 * @param waits whether it waits for a person
 * @param size of the content in bytes
 * @param receipt proof that it took place, or where its content was kept
 * @param reason why it is where it is
 * @param nextAt when it is sent, or read back, next; null when not by itself
 * @param changedAt when it came into its state
 */
public record EffectView(
        String key,
        String job,
        String slotKey,
        String name,
        Pair pair,
        EffectState state,
        long fence,
        String runId,
        int tries,
        boolean waits,
        boolean override,
        long size,
        String digest,
        @Nullable String receipt,
        @Nullable String reason,
        Instant announcedAt,
        Instant expiresAt,
        @Nullable Instant nextAt,
        Instant changedAt) {}
