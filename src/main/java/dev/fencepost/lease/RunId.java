package dev.fencepost.lease;

import java.util.UUID;

/**
 * The random name of one grant. It stands beside the token in every write, so that even a token issued twice (a lagging standby was
 * promoted) cannot let two runs in.
 */
public record RunId(UUID value) {

    /** @throws IllegalArgumentException if the text is no UUID */
    public static RunId parse(String text) {
        return new RunId(UUID.fromString(text));
    }

    @Override
    public String toString() {
        return value.toString();
    }
}
