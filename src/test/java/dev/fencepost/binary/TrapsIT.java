package dev.fencepost.binary;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.fencepost.faults.Git;
import dev.fencepost.faults.Rows;
import dev.fencepost.faults.Scene;
import dev.fencepost.faults.ServeProcess;
import dev.fencepost.faults.Wait;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What works in a JVM and breaks first in a native image: TLS both ways, signals, git, the jobs file read anew. */
@Tag("binary")
class TrapsIT {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final String PASSWORD = "of the test";

    @TempDir
    Path folder;

    private Path certificate;
    private Path key;

    /** One certificate of its own for both servers, which is its own root. */
    @BeforeEach
    void makeCertificate() throws Exception {
        certificate = folder.resolve("server.crt");
        key = folder.resolve("server.key");
        assumeTrue(hasOpenssl(), "skipped: no program openssl, which makes the certificate");
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost")
                .with("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
                .with("-keyout", key.toString(), "-out", certificate.toString())
                .go();
        run("openssl", "pkcs12", "-export", "-inkey", key.toString(), "-in", certificate.toString())
                .with("-out", folder.resolve("server.p12").toString(), "-passout", "pass:" + PASSWORD)
                .go();
    }

    @Test
    void servesOnPostgresqlByTlsAndPublishesByHttpsAndGitAndObeysSignals() throws Exception {
        Git git = Git.in(folder);
        List<String> received = new CopyOnWriteArrayList<>();
        HttpsServer receiver = receiver(received);
        try (EmbeddedPostgres server = EmbeddedPostgres.builder()
                        .setServerConfig("fsync", "off")
                        .setServerConfig("ssl", "on")
                        .setServerConfig("ssl_cert_file", certificate.toString())
                        .setServerConfig("ssl_key_file", key.toString())
                        .start();
                Scene scene = Scene.on(
                        folder,
                        Rows.at(server.getJdbcUrl("postgres", "postgres")),
                        "postgresql://postgres@localhost:" + server.getPort()
                                + "/postgres?sslmode=verify-full&sslrootcert=" + certificate)) {
            String first = """
                    jobs:
                      article:
                    %s
                        working-dir: %s
                        command: echo new >content/article.md
                        publish:
                          - git: { repo: %s, paths: [content], message: "article {slot}" }
                          - http: { url: "https://127.0.0.1:%d/", allow-hosts: [127.0.0.1], body: "by {fence}" }
                    """.formatted(
                            Scene.oneSlot().stripTrailing(),
                            git.blog(),
                            git.blog(),
                            receiver.getAddress().getPort());
            scene.jobs(first);
            scene.variable("SSL_CERT_FILE", certificate.toString());
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    SOON,
                    () -> "both effects are confirmed; " + service.said(),
                    () -> scene.rows()
                                    .texts("select key from effect where state = 'CONFIRMED'")
                                    .size()
                            == 2);
            assertEquals(List.of("by 1"), received);
            assertEquals(
                    "article " + scene.rows().ticks("article").getFirst().key(),
                    git.log("main").getFirst());
            assertTrue(
                    scene.rows()
                                    .texts(
                                            "select s.version from pg_stat_ssl s join pg_stat_activity a on a.pid = s.pid"
                                                    + " where s.ssl and a.application_name = 'fencepost'")
                                    .size()
                            >= 1,
                    service::said);

            scene.jobs(first + "  second:\n" + Scene.oneSlot() + "    command: [\"true\"]\n");
            service.signal("HUP");
            Wait.until(
                    SOON,
                    () -> "the job of the new file has run; " + service.said(),
                    () -> !scene.rows().ticks("second", "SUCCEEDED").isEmpty());

            service.signal("TERM");
            assertEquals(0, service.awaitExit(SOON));
            assertEquals(List.of(), service.linesContaining(" ERROR "));
        } finally {
            receiver.stop(0);
        }
    }

    @Test
    void aServerThatIsNotTrustedIsToldAsThatAndSoIsAFileThatIsNotThere() throws Exception {
        HttpsServer receiver = receiver(new CopyOnWriteArrayList<>());
        String url = "https://127.0.0.1:" + receiver.getAddress().getPort();
        try (Scene scene = Scene.sqlite(folder)) {
            ServeProcess unknown = scene.command("health", "--url", url);
            assertEquals(69, unknown.awaitExit(SOON), unknown::said);
            assertTrue(unknown.said().contains("certification path"), unknown::said);
            scene.variable("SSL_CERT_FILE", folder.resolve("none.pem").toString());
            ServeProcess missing = scene.command("health", "--url", url);
            assertEquals(69, missing.awaitExit(SOON), missing::said);
            assertTrue(missing.said().contains("SSL_CERT_FILE"), missing::said);
            scene.variable("SSL_CERT_FILE", certificate.toString());
            ServeProcess trusted = scene.command("health", "--url", url);
            assertEquals(69, trusted.awaitExit(SOON), trusted::said);
            assertTrue(trusted.said().contains("is no health check: status 202"), trusted::said);
        } finally {
            receiver.stop(0);
        }
    }

    /** Each key of the jobs file once, read by the program itself. */
    @Test
    void readsEachKeyOfTheJobsFile() throws Exception {
        Git git = Git.in(folder);
        Files.writeString(folder.resolve("job.env"), "API_KEY=abcdef\n");
        Files.writeString(folder.resolve("hook.url"), "https://hooks.example/x\n");
        Files.writeString(folder.resolve("key"), "0123456789abcdef0123456789abcdef\n");
        Files.writeString(folder.resolve("tokens"), "boss read " + "0123456789abcdef".repeat(3) + "\n");
        for (String secret : List.of("job.env", "hook.url", "key", "tokens")) {
            run("chmod", "600", folder.resolve(secret).toString()).go();
        }
        Files.createDirectory(folder.resolve("out"));
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs("""
                    store: sqlite:x.db
                    max-parallel: 4
                    shutdown: { drain: 30s }
                    reload: { on-change: true }
                    work: { keep: 30d }
                    history: { keep: 90d, keep-ticks: 1000, keep-events: 30d, keep-effects: 30d, keep-outputs: 14d }
                    api:
                      token-file: tokens
                      trusted-proxies: [127.0.0.1, "::1", 10.0.0.0/8]
                      artifacts: { max-size: 10MiB, types: [text/plain, "image/*"] }
                    defaults: { timezone: Europe/Berlin, env: { LANG: C.UTF-8 } }
                    sinks:
                      announce:
                        http:
                          url-file: hook.url
                          method: PUT
                          content-type: text/plain
                          headers: { X-Kind: note }
                          timeout: 10s
                          sign: { secret-file: key }
                        max-age: 6h
                      notes: { file: { root: out } }
                    jobs:
                      article:
                        every: 45m
                        anchor: 2026-01-01T00:00:00Z
                        start-from: 2026-01-01T00:00:00Z
                        command: [sh, -c, date]
                        env: { A: b }
                        env-file: job.env
                        stdin: hello
                        timeout: 40m
                        grace: 5s
                        silence: 5m
                        lease: { ttl: 50m }
                        overlap: buffer-one
                        catch-up: { max: 2, window: 1d, stagger: 1m }
                        jitter: 1m
                        retry: { max: 2, backoff: 1m, on-exit-codes: [75], only: transient }
                        max-attempts: 5
                        pause-after-failures: 3
                        max-runs-per-day: 40
                        fresh-after: 1d
                        succeed-if: { output-matches: '^done$', output-not-matches: 'no', result-not-empty: true, files-changed: true }
                        classify:
                          auth: { output: 'login expired' }
                          limit: { output: 'until (?P<until>\\S+)', defer: 2h }
                          transient: [ { exit-codes: [75] } ]
                        notify:
                          - ping: "https://monitor.example/ping/abc"
                            on: [success, failure]
                          - webhook: { url-file: hook.url, timeout: 5s }
                            after: 3
                        publish:
                          - git: { repo: %s, branch: main, paths: [content], message: "x {slot}" }
                          - http: { url: "https://hooks.example/y", body: "{fence}" }
                            max-age: 2h
                          - file: { root: out, path: "x.md", body: "y" }
                      night:
                        cron: "15 3 * * MON-FRI"
                        dialect: unix
                        timezone: America/New_York
                        http: { get: "https://hooks.example/z" }
                      day: { cron: "@daily", working-dir: %s, command: echo hello }
                    """.formatted(git.blog(), folder));
            ServeProcess validate = scene.command("validate", "--json");
            assertEquals(0, validate.awaitExit(SOON), validate::said);
            ServeProcess explain = scene.command("explain", "article");
            assertEquals(0, explain.awaitExit(SOON), explain::said);
        }
    }

    private HttpsServer receiver(List<String> received) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(folder.resolve("server.p12"))) {
            store.load(in, PASSWORD.toCharArray());
        }
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, PASSWORD.toCharArray());
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        HttpsServer server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 10);
        server.setHttpsConfigurator(new HttpsConfigurator(context));
        server.createContext("/", exchange -> {
            received.add(new String(exchange.getRequestBody().readAllBytes()));
            exchange.sendResponseHeaders(202, -1);
            exchange.close();
        });
        server.start();
        return server;
    }

    private static boolean hasOpenssl() {
        try {
            return new ProcessBuilder("openssl", "version").start().waitFor() == 0;
        } catch (java.io.IOException none) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private static Program run(String... words) {
        return new Program(List.of(words));
    }

    private record Program(List<String> words) {

        Program with(String... more) {
            List<String> all = new java.util.ArrayList<>(words);
            all.addAll(List.of(more));
            return new Program(all);
        }

        void go() throws Exception {
            Process process =
                    new ProcessBuilder(words).redirectErrorStream(true).start();
            String said = new String(process.getInputStream().readAllBytes());
            assertEquals(0, process.waitFor(), said);
        }
    }
}
