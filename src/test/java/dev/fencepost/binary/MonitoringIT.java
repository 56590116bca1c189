package dev.fencepost.binary;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.fencepost.faults.Scene;
import dev.fencepost.faults.ServeProcess;
import dev.fencepost.faults.Wait;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A service with what stands around it: Prometheus' names, and the proxies that show the outside nothing but health. */
@Tag("binary")
class MonitoringIT {

    private static final Duration SOON = Duration.ofSeconds(30);
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    /** They appear with the first event of their kind, and while there are effects that are open. */
    private static final Set<String> LATER =
            Set.of("notifications_total", "effects_open", "effects_waiting", "effects_oldest_seconds");

    @TempDir
    Path folder;

    private Scene scene;
    private ServeProcess service;

    @BeforeEach
    void start() throws IOException {
        Files.createDirectory(folder.resolve("out"));
        scene = Scene.sqlite(folder);
        scene.jobs("jobs:\n  tick:\n" + Scene.oneSlot() + "    command: [echo, hello]\n"
                + "    publish: [ { file: { root: out, path: x } } ]\n");
        service = scene.serve("a").awaitReady();
    }

    @AfterEach
    void stop() {
        scene.close();
    }

    @Test
    void eachMetricOfRulesAndDashboardIsThere() throws IOException {
        Set<String> missing = new TreeSet<>();
        Set<String> named = MonitoringTest.metrics();
        named.removeAll(LATER);
        Wait.until(SOON, () -> missing + " in " + service.get("/q/metrics").body(), () -> {
            String metrics = service.get("/q/metrics").body();
            missing.clear();
            missing.addAll(named);
            missing.removeIf(name ->
                    Pattern.compile("(?m)^" + name + "[ {]").matcher(metrics).find());
            return missing.isEmpty();
        });
    }

    @Test
    void nginxShowsNothingButHealth() throws Exception {
        assumeTrue(MonitoringTest.exists("nginx"), "skipped: no program nginx (Debian's package nginx-light)");
        int port = ServeProcess.freePort();
        Path file = folder.resolve("nginx.conf");
        Files.writeString(
                file,
                Files.readString(Path.of("deploy/proxy/nginx.conf"))
                        .replace("127.0.0.1:8787", "127.0.0.1:" + service.port())
                        .replace("127.0.0.1:8080", "127.0.0.1:" + port)
                        .replace("/tmp/fencepost-nginx", folder.resolve("nginx").toString()));
        String nginx = Files.isExecutable(Path.of("/usr/sbin/nginx")) ? "/usr/sbin/nginx" : "nginx";
        assertShowsHealthAlone(port, nginx, "-c", file.toString(), "-g", "daemon off;");
    }

    @Test
    void caddyShowsNothingButHealth() throws Exception {
        assumeTrue(MonitoringTest.exists("caddy"), "skipped: no program caddy (Debian's package caddy)");
        int port = ServeProcess.freePort();
        Path file = folder.resolve("Caddyfile");
        Files.writeString(
                file,
                "{\n\tadmin off\n}\n"
                        + Files.readString(Path.of("deploy/proxy/Caddyfile"))
                                .replace("127.0.0.1:8787", "127.0.0.1:" + service.port())
                                .replace("status.example.org", "http://127.0.0.1:" + port));
        assertShowsHealthAlone(port, "caddy", "run", "--adapter", "caddyfile", "--config", file.toString());
    }

    private void assertShowsHealthAlone(int port, String... words) throws Exception {
        Path log = folder.resolve("proxy.log");
        ProcessBuilder builder =
                new ProcessBuilder(words).redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment().put("HOME", folder.toString());
        Process proxy = builder.start();
        try {
            Wait.until(
                    SOON,
                    () -> "the proxy lets /q/health through; " + read(log),
                    () -> send(port, "GET", "/q/health/ready").statusCode() == 200);
            for (String path : List.of("/q/health", "/q/health/live", "/q/health/ready")) {
                HttpResponse<String> answer = send(port, "GET", path);
                assertEquals(200, answer.statusCode(), path);
                assertEquals("UP", answer.body().strip(), path);
                assertEquals(200, send(port, "HEAD", path).statusCode(), path);
            }
            Wait.until(
                    SOON,
                    "fresh after the first tick",
                    () -> send(port, "GET", "/q/health/group/fresh").statusCode() == 200);
            for (String path : List.of(
                    "/",
                    "/q/metrics",
                    "/q/openapi",
                    "/q/health/well",
                    "/q/health/",
                    "/q/health%0a",
                    "/q/health/ready%0a",
                    "/Q/HEALTH",
                    "/q/health;x",
                    "/q/health/../metrics",
                    "/q/health/..;/metrics",
                    "/q/health%2f..%2fmetrics",
                    "/asked/q/metrics",
                    "/jobs/tick",
                    "/login",
                    "/live",
                    "/api/v1/work/items")) {
                assertEquals(404, send(port, "GET", path).statusCode(), path);
            }
            assertEquals(404, send(port, "POST", "/q/health").statusCode(), "POST");

            service.signal("KILL");
            Wait.until(
                    SOON,
                    "DOWN when the service is away",
                    () -> send(port, "GET", "/q/health").statusCode() == 503);
            assertEquals("DOWN", send(port, "GET", "/q/health").body().strip());
        } finally {
            proxy.destroy();
            proxy.waitFor();
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return e.toString();
        }
    }

    private static HttpResponse<String> send(int port, String method, String path)
            throws IOException, InterruptedException {
        return HTTP.send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                        .method(method, HttpRequest.BodyPublishers.noBody())
                        .timeout(Duration.ofSeconds(10))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }
}
