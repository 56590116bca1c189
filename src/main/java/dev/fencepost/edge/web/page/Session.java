package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Token;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * Somebody who has shown a token. Each form has a token of its own, made of the session's secret and the form's address, so that one that
 * leaks is of no use at another form or in another session.
 *
 * @param secret random; never leaves the server
 */
record Session(Token token, byte[] secret) {

    private static final String ALGORITHM = "HmacSHA256";

    /** What the form that is sent to this address has to show. */
    String formToken(String address) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(new SecretKeySpec(secret, ALGORITHM));
            return Base64.getUrlEncoder()
                    .withoutPadding()
                    .encodeToString(mac.doFinal(address.getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every JVM has " + ALGORITHM, e);
        }
    }

    /** Takes as long for a wrong one as for the right one. */
    boolean isFormToken(String address, @Nullable String shown) {
        return shown != null
                && MessageDigest.isEqual(
                        formToken(address).getBytes(StandardCharsets.UTF_8), shown.getBytes(StandardCharsets.UTF_8));
    }

    /** Its token's name alone. */
    @Override
    public String toString() {
        return token.name();
    }
}
