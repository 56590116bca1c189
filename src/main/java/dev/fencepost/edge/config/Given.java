package dev.fencepost.edge.config;

/** A value together with where it comes from. */
record Given<T>(T value, Origin origin) {

    static <T> Given<T> builtIn(T value, String why) {
        return new Given<>(value, Origin.builtIn(why));
    }
}
