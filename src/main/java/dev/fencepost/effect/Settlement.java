package dev.fencepost.effect;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What is stored after a delivery or a read-back.
 *
 * @param nextIn when to go on with it by itself, from the store's now; null for never
 * @param mayBeSent see {@link Effect#mayBeSent}
 * @param waits whether a person has to look
 * @param newest the higher token that the sink knows, where it was refused
 */
public record Settlement(
        EffectState state,
        @Nullable Receipt receipt,
        @Nullable String reason,
        @Nullable Duration nextIn,
        boolean mayBeSent,
        boolean waits,
        @Nullable Long newest) {}
