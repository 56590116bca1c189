package dev.fencepost.lease;

import org.jspecify.annotations.Nullable;

/** The store gave no answer that can be relied on. A "no" is not an exception but a {@link Refusal}. */
public class StoreException extends RuntimeException {

    /** What may have happened. */
    public enum Kind {
        /** Nothing was written; trying again later may help. */
        UNAVAILABLE,
        /** The connection died while the write was under way: it may have happened. Read back before you try again. */
        AMBIGUOUS,
        /** A fault of ours or of the store's content; nothing was written and trying again will not help. */
        BROKEN
    }

    private final Kind kind;

    public StoreException(Kind kind, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.kind = kind;
    }

    public Kind kind() {
        return kind;
    }
}
