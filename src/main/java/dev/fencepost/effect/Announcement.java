package dev.fencepost.effect;

import java.time.Duration;

/**
 * An effect as a run announces it. It becomes an {@link Effect} by the transaction that accepts the run's completion, and not before.
 *
 * @param name within the run: {@code git}, or what the run called it
 * @param key unique in the store: {@code job@slot/name}, or one given by the run; the same for every attempt at a slot
 * @param sink name of the sink
 * @param digest tells the same content from another: a key that is announced twice has to have the same
 * @param maxAge after which it is not sent any more
 */
public record Announcement(String name, String key, String sink, Content content, String digest, Duration maxAge) {

    public static final int MAX_KEY_LENGTH = 255;

    public Announcement {
        if (key.isBlank() || key.length() > MAX_KEY_LENGTH) {
            throw new IllegalArgumentException("the key of an effect has 1 to " + MAX_KEY_LENGTH + " characters");
        }
        if (content.bytes().length > Content.MAX_BYTES) {
            throw new IllegalArgumentException(
                    "effect " + key + " has " + content.bytes().length + " bytes, the limit is " + Content.MAX_BYTES);
        }
    }

    /** The key of an effect that was given none. */
    public static String keyOf(String idempotencyKey, String name) {
        return idempotencyKey + "/" + name;
    }
}
