package dev.fencepost.edge.config;

import dev.fencepost.run.Job;
import java.util.List;

/**
 * A job of the file with the story of its values.
 *
 * @param job ready to run: all defaults are filled in
 * @param line of the job's id in the file
 * @param values each effective value in the order in which people read them; secrets are already masked
 */
public record Definition(Job job, int line, List<Value> values) {

    public Definition {
        values = List.copyOf(values);
    }

    /**
     * One effective value.
     *
     * @param key as in the file, nested keys with a dot: {@code lease.ttl}
     * @param text the value in the form that the file would have it
     */
    public record Value(String key, String text, Origin origin) {}
}
