package dev.fencepost.edge.cli;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;

/**
 * The certificates that HTTPS trusts where {@code SSL_CERT_FILE} names a file of them, as curl and openssl have it, or else where the
 * launcher of a package names those of the host: they take the place of those that came with the program. The file is read when a server
 * shows its certificate, since most commands speak to none.
 */
final class TrustedRoots extends X509ExtendedTrustManager {

    private static final String VARIABLE = "SSL_CERT_FILE";

    /** Set by the launcher: the host's, taken where they are there. */
    private static final String OF_THE_HOST = "fencepost.roots";

    /** The JVM's own property; whoever sets it has chosen. */
    private static final String CHOSEN = "javax.net.ssl.trustStore";

    private final Path file;
    private @Nullable X509ExtendedTrustManager loaded;

    private TrustedRoots(Path file) {
        this.file = file;
    }

    /** For the rest of the process. */
    static void apply(Map<String, String> environment, Path workingDir) {
        Path file = file(environment, workingDir, System::getProperty);
        if (file == null) {
            return;
        }
        try {
            SSLContext.setDefault(context(file));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this JVM knows no TLS", e);
        }
    }

    /** Null for those that came with the program. A file that a person names is not looked for yet, and missed aloud later. */
    static @Nullable Path file(
            Map<String, String> environment, Path workingDir, Function<String, @Nullable String> properties) {
        String written = environment.getOrDefault(VARIABLE, "");
        if (!written.isEmpty()) {
            return workingDir.resolve(written);
        }
        String ofTheHost = properties.apply(OF_THE_HOST);
        return ofTheHost != null && properties.apply(CHOSEN) == null && Files.isReadable(Path.of(ofTheHost))
                ? Path.of(ofTheHost)
                : null;
    }

    static SSLContext context(Path file) throws GeneralSecurityException {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {new TrustedRoots(file)}, null);
        return context;
    }

    private synchronized X509ExtendedTrustManager roots() throws CertificateException {
        X509ExtendedTrustManager roots = loaded;
        if (roots != null) {
            return roots;
        }
        try (InputStream in = Files.newInputStream(file)) {
            Collection<? extends Certificate> certificates =
                    CertificateFactory.getInstance("X.509").generateCertificates(in);
            if (certificates.isEmpty()) {
                throw new CertificateException(VARIABLE + ": there is no certificate in " + file);
            }
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            for (Certificate certificate : certificates) {
                store.setCertificateEntry(String.valueOf(store.size()), certificate);
            }
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(store);
            roots = Stream.of(factory.getTrustManagers())
                    .filter(X509ExtendedTrustManager.class::isInstance)
                    .map(X509ExtendedTrustManager.class::cast)
                    .findFirst()
                    .orElseThrow();
            loaded = roots;
            return roots;
        } catch (IOException | GeneralSecurityException e) {
            throw e instanceof CertificateException told
                            && String.valueOf(told.getMessage()).startsWith(VARIABLE)
                    ? told
                    : new CertificateException(VARIABLE + ": " + file + " cannot be read: " + e, e);
        }
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
            throws CertificateException {
        roots().checkServerTrusted(chain, authType, engine);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, Socket socket)
            throws CertificateException {
        roots().checkServerTrusted(chain, authType, socket);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType) throws CertificateException {
        roots().checkServerTrusted(chain, authType);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
            throws CertificateException {
        roots().checkClientTrusted(chain, authType, engine);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, Socket socket)
            throws CertificateException {
        roots().checkClientTrusted(chain, authType, socket);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType) throws CertificateException {
        roots().checkClientTrusted(chain, authType);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        return new X509Certificate[0]; // asked by servers of their clients alone
    }
}
