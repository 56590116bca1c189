package dev.fencepost.run;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A job that is kept from running by its schedule. A run that is under way goes on; a person's order is carried out all the same.
 *
 * @param since by the store's clock
 * @param until when it ends by itself, or null for only by {@code resume}
 * @param by a person ({@code user@host}), or {@code fencepost} for a brake
 */
public record Pause(
        Instant since,
        @Nullable Instant until,
        Cause cause,
        @Nullable String reason,
        String by) {

    public static final String BY_A_BRAKE = "fencepost";

    /** What paused it. */
    public enum Cause {
        PERSON,
        /** {@code pause-after-failures} */
        FAILURES,
        /** An attempt was classified as {@link Classification#AUTH}. */
        AUTH
    }

    /** Whether it holds at this instant; the end itself is outside. */
    public boolean isInForce(Instant now) {
        return until == null || now.isBefore(until);
    }
}
