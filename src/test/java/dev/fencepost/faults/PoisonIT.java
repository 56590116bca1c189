package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** L8: what is poisoned stops nothing else: an effect that is never taken, a job that always fails, one whose program is gone. */
@Tag("faults")
class PoisonIT {

    private static final String JOBS = """
            sinks:
              announce: { http: { url: "%s", allow-hosts: [127.0.0.1], timeout: 2s, idempotent: true } }
            jobs:
              good:
                every: 1s
                command: |
                  printf '{"name":"it","sink":"announce","body":"good"}\\n' >>"$FENCEPOST_EFFECTS"
              unwanted:
                every: 1s
                command: |
                  printf '{"name":"it","sink":"announce","body":"unwanted"}\\n' >>"$FENCEPOST_EFFECTS"
              failing:
                every: 1s
                command: ["false"]
              missing:
                every: 1s
                command: [%s]
            """;

    private static final int SLOTS = 8;

    /** One more, and they would be paused. */
    private static final int FAILURES = 4;

    @TempDir
    Path folder;

    @Test
    void whatIsPoisonedStopsNothingElse() throws IOException {
        AtomicInteger refused = new AtomicInteger();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 10);
        try (Scene scene = Scene.sqlite(folder);
                ExecutorService threads = Executors.newCachedThreadPool()) {
            server.setExecutor(threads);
            server.createContext("/", exchange -> {
                exchange.getRequestBody().readAllBytes();
                boolean unwanted =
                        "unwanted".equals(exchange.getRequestHeaders().getFirst("Fencepost-Job"));
                if (unwanted) {
                    refused.incrementAndGet();
                }
                exchange.sendResponseHeaders(unwanted ? 503 : 200, -1);
                exchange.close();
            });
            server.start();
            Path program = Files.writeString(folder.resolve("program"), "#!/bin/sh\n");
            Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
            scene.jobs(JOBS.formatted("http://127.0.0.1:" + server.getAddress().getPort() + "/", program));
            Rows rows = scene.rows();
            ServeProcess service = scene.serve("a").awaitReady();
            Files.delete(program);
            Instant begin = Instant.now();
            Wait.until(
                    Duration.ofSeconds(40),
                    () -> "all of them go on; " + service.said(),
                    () -> rows.texts("select key from effect where job = 'good' and state = 'CONFIRMED'")
                                            .size()
                                    >= SLOTS
                            && rows.ticks("unwanted", "SUCCEEDED").size() >= SLOTS
                            && rows.ticks("failing", "FAILED").size() >= FAILURES
                            && rows.ticks("missing", "FAILED").size() >= FAILURES);
            long seconds = Duration.between(begin, Instant.now()).toSeconds();
            assertTrue(seconds < 30, () -> "held up: " + seconds + " s");
            assertEquals(
                    0,
                    rows.texts("select key from effect where job = 'unwanted' and state = 'CONFIRMED'")
                            .size());
            assertTrue(
                    refused.get() >= 2 && refused.get() <= 8,
                    () -> "the first of its effects is tried again, ever more seldom: " + refused);
            assertTrue(service.get("/q/health/live").isUp(), service::said);
        } finally {
            server.stop(0);
        }
    }
}
