package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The API of a real service on a real store: restarts, stops, and tokens that change under it. */
@Tag("faults")
class WorkApiIT {

    private static final String TOKEN = "0123456789abcdef".repeat(3);
    private static final String NEW_TOKEN = "fedcba9876543210".repeat(3);
    private static final String BASE = "/api/v1/work";
    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path folder;

    private void tokens(String text) throws IOException {
        Path file = folder.resolve("tokens");
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    private Scene scene(String kind) throws IOException {
        tokens("boss read,work,operate " + TOKEN + "\n");
        Scene scene = Scene.of(kind, folder);
        scene.jobs("jobs: {}\napi: { token-file: " + folder.resolve("tokens") + " }\n");
        return scene;
    }

    private static HttpRequest.Builder request(ServeProcess service, String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + service.port() + BASE + path))
                .header("Authorization", "Bearer " + TOKEN)
                .timeout(Duration.ofSeconds(90));
    }

    private static HttpResponse<String> send(HttpRequest.Builder request) throws IOException {
        try {
            return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    /** @param json with ' in place of " */
    private static HttpResponse<String> post(ServeProcess service, String path, String json) throws IOException {
        return send(request(service, path)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(json.replace('\'', '"'))));
    }

    private static HttpResponse<String> upload(ServeProcess service, JsonNode item, String name, String body)
            throws IOException {
        return send(request(service, "/items/" + item.get("id").asText() + "/artifacts/" + name)
                .header("Fencepost-Owner", item.get("owner").asText())
                .header("Fencing-Token", item.get("fence").asText())
                .header("Fencepost-Run-Id", item.get("run_id").asText())
                .PUT(BodyPublishers.ofString(body)));
    }

    private static JsonNode json(HttpResponse<String> response) throws IOException {
        return JSON.readTree(response.body());
    }

    private static String grant(JsonNode item) {
        return "'owner':'" + item.get("owner").asText() + "','fence':" + item.get("fence") + ",'run_id':'"
                + item.get("run_id").asText() + "'";
    }

    private static void assertReason(HttpResponse<String> response, String reason) throws IOException {
        assertEquals(409, response.statusCode(), response::body);
        assertEquals(reason, json(response).path("reason").asText());
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgres"})
    void aWorkerThatIsLateChangesNothingAcrossARestart(String kind) throws IOException {
        try (Scene scene = scene(kind)) {
            ServeProcess service = scene.serve("a").awaitReady();
            assertEquals(
                    201, post(service, "/items", "{'id':'a','payload':'x'}").statusCode());
            assertEquals(
                    200, post(service, "/items", "{'id':'a','payload':'y'}").statusCode());
            JsonNode old = json(post(service, "/items/a/claim", "{'owner':'me','ttl':'1s'}"));
            assertEquals(201, upload(service, old, "log", "first").statusCode());
            service.signal("KILL");
            service.awaitExit(Duration.ofSeconds(15));

            ServeProcess next = scene.serve("a").awaitReady(); // takes longer than the ttl
            Wait.until(Duration.ofSeconds(10), () -> "expired", () -> {
                try {
                    return json(send(request(next, "/items/a").GET()))
                            .get("state")
                            .asText()
                            .equals("READY");
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
            assertReason(upload(next, old, "log", "late"), "EXPIRED");
            JsonNode now = json(post(next, "/items/a/claim", "{'owner':'you','ttl':'1m'}"));
            assertEquals(old.get("fence").asLong() + 1, now.get("fence").asLong());
            assertReason(upload(next, old, "log", "late"), "STALE_TOKEN");
            assertReason(post(next, "/items/a/complete", "{" + grant(old) + ",'result':'old'}"), "STALE_TOKEN");
            assertEquals(
                    200,
                    post(next, "/items/a/complete", "{" + grant(now) + ",'result':'new'}")
                            .statusCode());
            assertReason(post(next, "/items/a/complete", "{" + grant(now) + ",'result':'twice'}"), "ALREADY_DONE");
            assertEquals(
                    "new",
                    json(send(request(next, "/items/a").GET())).get("result").asText());
            assertEquals(
                    "first",
                    send(request(next, "/items/a/artifacts/" + old.get("fence") + "/log")
                                    .GET())
                            .body());
            try (Stream<Path> files = Files.walk(folder.resolve("a/artifacts"))) {
                assertEquals(1, files.filter(Files::isRegularFile).count());
            }
        }
    }

    @Test
    void aWaitingClaimIsAnsweredWhenTheServiceStops() throws Exception {
        try (Scene scene = scene("sqlite")) {
            ServeProcess service = scene.serve("a").awaitReady();
            CompletableFuture<HttpResponse<String>> waiting = CompletableFuture.supplyAsync(() -> {
                try {
                    return post(service, "/claims?wait=60s", "{'owner':'me','ttl':'10s'}");
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
            Thread.sleep(1_000); // so that it waits when the signal comes
            assertFalse(waiting.isDone());
            service.signal("TERM");
            HttpResponse<String> answer = waiting.get(10, TimeUnit.SECONDS);
            assertEquals(200, answer.statusCode());
            assertEquals(0, json(answer).get("items").size());
            assertEquals(0, service.awaitExit(Duration.ofSeconds(15)));
        }
    }

    @Test
    void tokensChangeWithoutARestartAndNeverReachTheLog() throws IOException {
        try (Scene scene = scene("sqlite")) {
            ServeProcess service = scene.serve("a").awaitReady();
            assertEquals(200, send(request(service, "/queues").GET()).statusCode());
            tokens("boss read,work,operate " + NEW_TOKEN + "\n");
            Wait.until(Duration.ofSeconds(10), () -> "the old token is refused", () -> {
                try {
                    return send(request(service, "/queues").GET()).statusCode() == 401;
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
            assertEquals(
                    200,
                    send(request(service, "/queues")
                                    .setHeader("Authorization", "Bearer " + NEW_TOKEN)
                                    .GET())
                            .statusCode());
            assertEquals(1, service.linesContaining("token file read again").size());
            for (String token : List.of(TOKEN, NEW_TOKEN)) {
                assertFalse(service.said().contains(token));
            }
        }
    }

    @Test
    void withoutTokensTheApiIsOff() throws IOException {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs("jobs: {}\n");
            ServeProcess service = scene.serve("a").awaitReady();
            HttpResponse<String> off = send(request(service, "/queues").GET());
            assertEquals(403, off.statusCode());
            assertTrue(off.body().contains("token-file"), off::body);
        }
    }
}
