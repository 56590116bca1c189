package dev.fencepost.effect;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP receiver as configured.
 *
 * @param url absolute, http or https, without user and password in it
 * @param contentType of the body, where the effect names none
 * @param timeLimit of one request, from the first byte of the connection to the end of the answer
 * @param allowHosts hosts, as written in the URL, that may be called; empty for the URL's own host alone
 * @param allowPrivate whether its host may have a private, loopback or link-local address. A host that is itself written as such an
 *     address, or as localhost, may if it stands in {@code allowHosts}
 */
public record HttpEndpoint(
        String method,
        TextOrFile url,
        Map<String, TextOrFile> headers,
        String contentType,
        Duration timeLimit,
        Set<String> allowHosts,
        boolean allowPrivate,
        @Nullable Signature signature) {

    public HttpEndpoint {
        headers = Map.copyOf(headers);
        allowHosts = Set.copyOf(allowHosts);
    }

    /** HMAC-SHA-256 with this secret, over time stamp and body, in this header. */
    public record Signature(Path secretFile, String header) {}

    @Override
    public String toString() {
        return method + " to " + url;
    }
}
