package dev.fencepost.edge.web;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What a bearer token allows. */
public enum Scope {
    /** To look. */
    READ,
    /** What producers and workers do: enqueue, claim, hand in. */
    WORK,
    /** What a person does to queues as a whole. */
    OPERATE;

    /** As it stands in the token file. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    static @Nullable Scope of(String word) {
        for (Scope scope : values()) {
            if (scope.word().equals(word)) {
                return scope;
            }
        }
        return null;
    }
}
