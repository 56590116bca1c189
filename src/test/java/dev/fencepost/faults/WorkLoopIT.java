package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Semantics 4: three workers on one server, 500 items, and kill -9 of workers and of the server at random. */
@Tag("faults")
class WorkLoopIT {

    private static final int ITEMS = 500;
    private static final int WORKERS = 3;
    private static final String TOKEN = "0123456789abcdef".repeat(3);
    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Its artifact is random, and its result tells the artifact's hash and the payload. */
    private static final String COMMAND = """
            head -c 3000 /dev/urandom >"$FENCEPOST_OUTPUT_DIR/data.bin"
            echo "$(sha256sum <"$FENCEPOST_OUTPUT_DIR/data.bin" | cut -c 1-64) $(cat "$FENCEPOST_PAYLOAD")" >"$FENCEPOST_RESULT"
            """;

    @TempDir
    Path folder;

    private int port;

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgresql"})
    void everyItemIsDoneOnceWhoeverIsKilled(String kind) throws Exception {
        Files.writeString(folder.resolve("tokens"), "all read,work,operate " + TOKEN + "\n");
        Files.setPosixFilePermissions(folder.resolve("tokens"), PosixFilePermissions.fromString("rw-------"));
        Random random = new Random(7);
        try (Scene scene = Scene.of(kind, folder)) {
            scene.jobs("jobs: {}\napi: { token-file: " + folder.resolve("tokens") + " }\n");
            port = ServeProcess.freePort();
            ServeProcess server = scene.serve("a", port).awaitReady();
            for (int i = 0; i < ITEMS; i++) {
                int status = send(
                                "POST",
                                "/items",
                                "{\"id\":\"item-" + i + "\",\"payload\":\"p" + i + "\",\"max_attempts\":100}")
                        .code();
                assertEquals(201, status);
            }
            List<ServeProcess> workers = new ArrayList<>();
            for (int i = 0; i < WORKERS; i++) {
                workers.add(worker(scene, i));
            }
            int kills = 0;
            long end = System.nanoTime() + Duration.ofMinutes(6).toNanos();
            while (done(scene) < ITEMS && System.nanoTime() < end) {
                Wait.sleep(Duration.ofMillis(700 + random.nextInt(1_500)));
                int victim = random.nextInt(WORKERS + 1);
                kills++;
                if (victim == WORKERS) {
                    server.signal("KILL");
                    server.awaitExit(Duration.ofSeconds(10));
                    server = scene.serve("a", port).awaitReady();
                } else {
                    workers.get(victim).signal("KILL");
                    workers.get(victim).awaitExit(Duration.ofSeconds(10));
                    workers.set(victim, worker(scene, victim));
                }
            }
            assertEquals(
                    ITEMS,
                    done(scene),
                    "done after " + kills + " kills; " + workers.getFirst().said());
            int survived = kills;
            assertTrue(kills >= 5, () -> "only " + survived + " kills");
            assertEquals(
                    List.of(),
                    scene.rows()
                            .texts("select resource from write_event where accepted and reason = 'DONE'"
                                    + " group by resource having count(*) <> 1"));
            assertEquals(
                    String.valueOf(ITEMS),
                    scene.rows().value("select count(*) from write_event where accepted and reason = 'DONE'"));
            for (int i = 0; i < ITEMS; i++) {
                check(i);
            }
        }
    }

    private ServeProcess worker(Scene scene, int number) {
        return scene.command(
                "work",
                "loop",
                "--server",
                "http://127.0.0.1:" + port,
                "--token-file",
                folder.resolve("tokens").toString(),
                "--state-dir",
                folder.resolve("worker-" + number).toString(),
                "--ttl",
                "5s",
                "--parallel",
                "3",
                "--",
                "sh",
                "-c",
                COMMAND);
    }

    private static long done(Scene scene) {
        return Long.parseLong(scene.rows().value("select count(*) from work_item where state = 'DONE'"));
    }

    /** The result names the payload, and the hash of the artifact that came under the same token and is there to be fetched. */
    private void check(int number) throws Exception {
        JsonNode item = JSON.readTree(send("GET", "/items/item-" + number, null).body());
        assertEquals("DONE", item.get("state").asText());
        String[] result = item.get("result").asText().strip().split(" ");
        assertEquals("p" + number, result[1]);
        byte[] artifact = HTTP.send(
                        request("/items/item-" + number + "/artifacts/" + item.get("fence") + "/data.bin")
                                .GET()
                                .build(),
                        BodyHandlers.ofByteArray())
                .body();
        assertEquals(
                result[0],
                HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(artifact)),
                "artifact of item " + number);
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/api/v1/work" + path))
                .header("Authorization", "Bearer " + TOKEN)
                .timeout(Duration.ofSeconds(20));
    }

    private ServeProcess.Answer send(String method, String path, String body) throws IOException {
        try {
            HttpRequest.BodyPublisher publisher =
                    body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body);
            var response = HTTP.send(
                    request(path)
                            .header("Content-Type", "application/json")
                            .method(method, publisher)
                            .build(),
                    BodyHandlers.ofString());
            return new ServeProcess.Answer(response.statusCode(), response.body());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}
