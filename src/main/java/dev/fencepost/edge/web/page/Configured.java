package dev.fencepost.edge.web.page;

import dev.fencepost.run.Job;
import java.util.List;

/**
 * A job of the file with the story of its values, as {@code explain} tells it.
 *
 * @param place file and line of the job
 * @param values secrets are already masked
 */
public record Configured(Job job, String place, List<Value> values) {

    public Configured {
        values = List.copyOf(values);
    }

    /** @param origin for a person: {@code fencepost.yaml:12}, {@code built in: …} */
    public record Value(String key, String text, String origin) {}
}
