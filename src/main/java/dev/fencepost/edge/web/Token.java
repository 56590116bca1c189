package dev.fencepost.edge.web;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A bearer token as it is kept: its text is not.
 *
 * @param name stands in the log; several tokens may have one name, so that a new one can come before the old one goes
 * @param digest SHA-256 of its text
 * @param expires from this instant of the wall clock on it is no good; null for never
 */
public record Token(
        String name,
        Set<Scope> scopes,
        byte[] digest,
        @Nullable Instant expires) {

    public Token {
        scopes = Set.copyOf(scopes);
    }

    /** Takes as long for a wrong text as for the right one. */
    boolean hasDigest(byte[] other) {
        return MessageDigest.isEqual(digest, other);
    }

    boolean isExpiredAt(Instant now) {
        return expires != null && !now.isBefore(expires);
    }

    static byte[] digestOf(String text) {
        return sha256().digest(text.getBytes(StandardCharsets.UTF_8));
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }

    /** Its name alone. */
    @Override
    public String toString() {
        return name;
    }
}
