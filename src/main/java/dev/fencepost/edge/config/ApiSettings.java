package dev.fencepost.edge.config;

import dev.fencepost.host.AddressRange;
import java.nio.file.Path;
import java.util.List;

/**
 * What {@code api:} says.
 *
 * @param trustedProxies whose word on the address of a client is taken
 * @param maxArtifactBytes of one artifact
 * @param artifactTypes media types that are taken, such as {@code text/plain} or {@code image/*}; empty for all
 */
public record ApiSettings(
        Path tokenFile, List<AddressRange> trustedProxies, long maxArtifactBytes, List<String> artifactTypes) {

    static final long DEFAULT_MAX_ARTIFACT_BYTES = 1L << 30;

    public ApiSettings {
        trustedProxies = List.copyOf(trustedProxies);
        artifactTypes = List.copyOf(artifactTypes);
    }
}
