package dev.fencepost.work;

import org.jspecify.annotations.Nullable;

/**
 * Payload or result of an item.
 *
 * @param type media type, or null if nobody said
 * @param bytes at most {@value #MAX_BYTES}; bigger things are artifacts
 */
public record Body(byte[] bytes, @Nullable String type) {

    public static final int MAX_BYTES = 1 << 20;
    public static final int MAX_TYPE_LENGTH = 200;

    public Body {
        if (bytes.length > MAX_BYTES) {
            throw new IllegalArgumentException(
                    "payload and result have at most " + MAX_BYTES + " bytes, this one has " + bytes.length);
        }
        if (type != null && (type.isBlank() || type.length() > MAX_TYPE_LENGTH)) {
            throw new IllegalArgumentException("a media type has 1 to " + MAX_TYPE_LENGTH + " characters");
        }
    }

    /** Its size alone. */
    @Override
    public String toString() {
        return bytes.length + " bytes";
    }
}
