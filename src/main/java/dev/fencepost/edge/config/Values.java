package dev.fencepost.edge.config;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Collects effective values with their origins, in the order in which people read them. */
final class Values {

    /** Stands for a secret. */
    static final String MASK = "***";

    private static final int LONGEST_SHOWN = 200;

    private final List<Definition.Value> all;
    private final String prefix;

    Values() {
        this(new ArrayList<>(), "");
    }

    private Values(List<Definition.Value> all, String prefix) {
        this.all = all;
        this.prefix = prefix;
    }

    /** The same collection, for keys below this one. */
    Values under(String key) {
        return new Values(all, prefix + key + ".");
    }

    void add(String key, String text, Origin origin) {
        all.add(new Definition.Value(prefix + key, text, origin));
    }

    <T> void add(String key, Given<T> given, Function<T, String> text) {
        add(key, text.apply(given.value()), given.origin());
    }

    /** @param whyNone what it means that the value is not there */
    <T> void add(String key, @Nullable Given<T> given, Function<T, String> text, String whyNone) {
        if (given == null) {
            add(key, "none", Origin.builtIn(whyNone));
        } else {
            add(key, given, text);
        }
    }

    void addAll(Values others) {
        all.addAll(others.all);
    }

    List<Definition.Value> all() {
        return all;
    }

    /** A text of the file in one line of readable length. */
    static String shown(String text) {
        String cut = text.length() <= LONGEST_SHOWN ? text : text.substring(0, LONGEST_SHOWN) + "…";
        return Finding.quotable(cut);
    }
}
