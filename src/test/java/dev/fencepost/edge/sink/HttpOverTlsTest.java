package dev.fencepost.edge.sink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.effect.Delivery;
import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.effect.TextOrFile;
import dev.fencepost.host.ManualTime;
import dev.fencepost.host.TestThreads;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server with a certificate of its own for 127.0.0.1. */
class HttpOverTlsTest {

    private static final char[] PASSWORD = "changeit".toCharArray();

    private final AtomicInteger requests = new AtomicInteger();
    private volatile String answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    private @Nullable SSLServerSocket server;
    private @Nullable SSLContext context;

    @BeforeEach
    void serve(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("keys.p12");
        Process keytool = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-genkeypair",
                        "-keyalg",
                        "EC",
                        "-alias",
                        "us",
                        "-dname",
                        "CN=us",
                        "-ext",
                        "san=ip:127.0.0.1",
                        "-storetype",
                        "PKCS12",
                        "-storepass",
                        new String(PASSWORD),
                        "-keystore",
                        file.toString())
                .redirectErrorStream(true)
                .start();
        String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, keytool.waitFor(), said);
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            keys.load(in, PASSWORD);
        }
        KeyManagerFactory ours = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        ours.init(keys, PASSWORD);
        TrustManagerFactory trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trusted.init(keys);
        SSLContext made = SSLContext.getInstance("TLS");
        made.init(ours.getKeyManagers(), trusted.getTrustManagers(), null);
        context = made;
        SSLServerSocket socket = (SSLServerSocket)
                made.getServerSocketFactory().createServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        server = socket;
        Thread.ofVirtual().start(() -> acceptAll(socket));
    }

    private void acceptAll(SSLServerSocket socket) {
        while (!socket.isClosed()) {
            try (SSLSocket accepted = (SSLSocket) socket.accept()) {
                if (accepted.getInputStream().read(new byte[10_000]) > 0) {
                    requests.incrementAndGet();
                    accepted.getOutputStream().write(answer.getBytes(StandardCharsets.UTF_8));
                }
            } catch (IOException handshakeRefusedOrClosed) {
                // the next one
            }
        }
    }

    @AfterEach
    void close() throws IOException {
        if (server != null) {
            server.close();
        }
    }

    @Test
    void aTrustedCertificateOfTheHostIsTalkedTo() throws Exception {
        assertInstanceOf(Delivery.Confirmed.class, deliver("127.0.0.1", context));
        assertEquals(1, requests.get());
    }

    @Test
    void anUntrustedCertificateAndOneOfAnotherHostGetNothing() throws Exception {
        for (Delivery delivery :
                new Delivery[] {deliver("127.0.0.1", null), deliver("localhost", context), deliver("localhost", null)
                }) {
            Delivery.NotNow notNow = assertInstanceOf(Delivery.NotNow.class, delivery, delivery::toString);
            assertTrue(notNow.reason().startsWith("no TLS connection to "), notNow::reason);
        }
        assertEquals(0, requests.get());
    }

    @Test
    void aCutAfterTheHandshakeLeavesItUnknown() throws Exception {
        answer = "";
        assertInstanceOf(Delivery.Unknown.class, deliver("127.0.0.1", context));
        assertEquals(1, requests.get());
    }

    private Delivery deliver(String host, @Nullable SSLContext trust) throws InterruptedException {
        int port = server == null ? 0 : server.getLocalPort();
        HttpEndpoint endpoint = new HttpEndpoint(
                "POST",
                new TextOrFile("https://" + host + ":" + port + "/", null),
                Map.of(),
                "text/plain",
                Duration.ofSeconds(10),
                Set.of(host),
                false,
                null);
        SinkDefinition.Http definition =
                new SinkDefinition.Http("s", Duration.ofHours(1), endpoint, false, false, Duration.ZERO, 0, null);
        return new HttpSink(definition, new ManualTime(Effects.NOW), new HttpTransport(new TestThreads(), trust))
                .deliver(Effects.http("k", "body"));
    }
}
