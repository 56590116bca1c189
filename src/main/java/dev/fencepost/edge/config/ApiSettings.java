package dev.fencepost.edge.config;

import java.nio.file.Path;
import java.util.List;

/**
 * What {@code api:} says.
 *
 * @param maxArtifactBytes of one artifact
 * @param artifactTypes media types that are taken, such as {@code text/plain} or {@code image/*}; empty for all
 */
public record ApiSettings(Path tokenFile, long maxArtifactBytes, List<String> artifactTypes) {

    static final long DEFAULT_MAX_ARTIFACT_BYTES = 1L << 30;

    public ApiSettings {
        artifactTypes = List.copyOf(artifactTypes);
    }
}
