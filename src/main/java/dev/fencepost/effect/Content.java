package dev.fencepost.effect;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * What is sent: everything that another node would need to send the same again.
 *
 * @param type media type of an HTTP body, or null for the sink's own
 * @param target where in the sink: for a file its path below the root, for git the commit; null for HTTP
 * @param bytes HTTP body, content of the file, bundle of the commit; at most {@value #MAX_BYTES}
 */
public record Content(@Nullable String type, @Nullable String target, byte[] bytes) {

    public static final int MAX_BYTES = 16 << 20;

    /** SHA-256 over the sink, the type, the target and the bytes, as hexadecimal text. */
    public String digest(String sink) {
        return digest(sink, type == null ? "" : type, target == null ? "" : target, bytes);
    }

    /** The same where the bytes may differ although the meaning does not: a bundle of the same commit is packed now so, now so. */
    public String digestWithoutBytes(String sink) {
        return digest(sink, type == null ? "" : type, target == null ? "" : target, new byte[0]);
    }

    private static String digest(String sink, String type, String target, byte[] bytes) {
        try {
            MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
            for (byte[] part : new byte[][] {
                sink.getBytes(StandardCharsets.UTF_8),
                type.getBytes(StandardCharsets.UTF_8),
                target.getBytes(StandardCharsets.UTF_8),
                bytes
            }) {
                sha256.update(ByteBuffer.allocate(4).putInt(part.length).flip());
                sha256.update(part);
            }
            return HexFormat.of().formatHex(sha256.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }

    /** Its size alone: the rest is payload. */
    @Override
    public String toString() {
        return bytes.length + " bytes";
    }
}
