package dev.fencepost.edge.config;

import org.jspecify.annotations.Nullable;

/** A value together with where it comes from. */
record Given<T>(T value, Origin origin) {

    static <T> Given<T> builtIn(T value, String why) {
        return new Given<>(value, Origin.builtIn(why));
    }

    /** What is written, else the built-in value. */
    static <T> Given<T> or(@Nullable Given<T> written, T value, String why) {
        return written != null ? written : builtIn(value, why);
    }
}
