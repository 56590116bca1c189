package dev.fencepost.edge.jdbc;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Named values of a statement: texts, numbers, truth values, bytes and instants. */
final class Params {

    private final Map<String, @Nullable Object> values = new HashMap<>();

    static Params of(String name, @Nullable Object value) {
        return new Params().and(name, value);
    }

    static Params none() {
        return new Params();
    }

    Params and(String name, @Nullable Object value) {
        values.put(name, value);
        return this;
    }

    Map<String, @Nullable Object> values() {
        return values;
    }
}
