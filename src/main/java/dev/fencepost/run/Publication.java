package dev.fencepost.run;

import dev.fencepost.effect.SinkDefinition;
import org.jspecify.annotations.Nullable;

/**
 * An entry of a job's {@code publish}: an effect that every successful run announces.
 *
 * @param name within the job: {@code git}, {@code http}, {@code file}, with {@code -2} and so on for further ones of a kind
 * @param body for HTTP and files: the text, in which {@code {job}}, {@code {slot}}, {@code {attempt}} and {@code {fence}} are filled in;
 *     null for the run's result
 * @param path for files: where below the root, filled in likewise
 */
public record Publication(
        String name,
        SinkDefinition sink,
        @Nullable String body,
        @Nullable String path) {}
