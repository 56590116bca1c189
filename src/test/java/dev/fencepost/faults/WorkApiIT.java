package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
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
                assertEquals(
                        1,
                        files.filter(Files::isRegularFile)
                                .filter(each -> !each.endsWith("id"))
                                .count());
            }
        }
    }

    /** By the service itself, which looks at its start; by hand over the API; and by the command, with the files swept at the next start. */
    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgres"})
    void whatEndedLongAgoGoesWithItsFilesAndKeepsItsToken(String kind) throws IOException {
        try (Scene scene = scene(kind)) {
            ServeProcess service = scene.serve("a").awaitReady();
            for (String id : List.of("old", "young")) {
                done(service, id);
            }
            assertEquals(2, artifacts());
            service.signal("TERM");
            assertEquals(0, service.awaitExit(Duration.ofSeconds(15)));
            scene.rows().makeOlder("old", Duration.ofDays(31));
            scene.rows().makeOlder("young", Duration.ofDays(29));

            ServeProcess next = scene.serve("a").awaitReady();
            Wait.until(Duration.ofSeconds(20), next::said, () -> artifacts() == 1);
            assertEquals(List.of("young"), scene.rows().texts("select id from work_item"));
            assertEquals(List.of("young"), scene.rows().texts("select item from work_artifact"));
            assertEquals(List.of("old"), scene.rows().texts("select id from work_fence where fence = 1"));
            assertEquals(1, next.linesContaining("1 items of work pruned").size(), next::said);
            assertEquals(404, send(request(next, "/items/old").GET()).statusCode());
            assertEquals(
                    404, send(request(next, "/items/old/artifacts/1/log").GET()).statusCode());
            assertEquals(
                    "log of young",
                    send(request(next, "/items/young/artifacts/1/log").GET()).body());

            HttpResponse<String> byHand = post(next, "/prune", "{'older_than':'7d'}");
            assertEquals("{\"items\":1,\"more\":false}", byHand.body());
            assertEquals(0, artifacts());

            post(next, "/items", "{'id':'old'}");
            JsonNode anew = json(post(next, "/items/old/claim", "{'owner':'me','ttl':'1m'}"));
            assertEquals(2, anew.get("fence").asLong(), "the token counts on");
            assertEquals(201, upload(next, anew, "log", "second life").statusCode());
            assertEquals(
                    200,
                    post(next, "/items/old/complete", "{" + grant(anew) + "}").statusCode());

            ServeProcess prune =
                    scene.command("work", "prune", "--older-than", "0s", "--json", "--store", scene.storeOf("a"));
            assertEquals(0, prune.awaitExit(Duration.ofSeconds(15)), prune::said);
            assertEquals(List.of("{\"ok\":true,\"reason\":null,\"pruned\":1}"), prune.lines());
            assertEquals(List.of(), scene.rows().texts("select id from work_item"));
            assertEquals(1, artifacts(), "a command does not touch the files of a service");
            next.signal("KILL");
            next.awaitExit(Duration.ofSeconds(15));
            ServeProcess last = scene.serve("a").awaitReady();
            Wait.until(Duration.ofSeconds(80), last::said, () -> artifacts() == 0);
            Wait.until(
                    Duration.ofSeconds(5),
                    last::said,
                    () -> last.linesContaining("1 files of pruned items swept").size() == 1);
        }
    }

    private void done(ServeProcess service, String id) throws IOException {
        post(service, "/items", "{'id':'" + id + "'}");
        JsonNode item = json(post(service, "/items/" + id + "/claim", "{'owner':'me','ttl':'1m'}"));
        assertEquals(201, upload(service, item, "log", "log of " + id).statusCode());
        assertEquals(
                200,
                post(service, "/items/" + id + "/complete", "{" + grant(item) + "}")
                        .statusCode());
    }

    private long artifacts() {
        try (Stream<Path> files = Files.walk(folder.resolve("a/artifacts"))) {
            return files.filter(Files::isRegularFile)
                    .filter(each -> !each.endsWith("id"))
                    .count();
        } catch (IOException | UncheckedIOException changedUnderWay) {
            return -1;
        }
    }

    /** One name with one set of labels for jobs and queues, as Prometheus wants it; read as Prometheus reads it. */
    @Test
    void staleCallsOfWorkersAreCountedByQueue() throws IOException {
        try (Scene scene = scene("sqlite")) {
            scene.jobs("jobs: { tick: { every: 1h, command: 'true' } }\napi: { token-file: " + folder.resolve("tokens")
                    + " }\n");
            ServeProcess service = scene.serve("a").awaitReady();
            for (String id : List.of("a", "b")) {
                post(service, "/items", "{'id':'" + id + "','queue':'pages'}");
            }
            JsonNode old = json(post(service, "/items/a/claim", "{'owner':'me','ttl':'1ms'}"));
            // The boot clock goes in steps of 10 ms, so the first lease may live that long.
            HttpResponse<String> claimed = Wait.forValue(Duration.ofSeconds(5), "the end of the first lease", () -> {
                HttpResponse<String> answer = post(service, "/items/a/claim", "{'owner':'me','ttl':'1m'}");
                return answer.statusCode() == 200 ? answer : null;
            });
            JsonNode now = json(claimed);
            assertReason(post(service, "/items/a/complete", "{" + grant(old) + "}"), "STALE_TOKEN");
            assertReason(post(service, "/items/a/renew", "{" + grant(old) + ",'ttl':'1m'}"), "STALE_TOKEN");
            assertReason(post(service, "/items/a/fail", "{" + grant(old) + ",'reason':'x'}"), "STALE_TOKEN");
            assertReason(upload(service, old, "log", "late"), "STALE_TOKEN");
            post(service, "/items/a/complete", "{" + grant(now) + "}");
            assertReason(post(service, "/items/a/complete", "{" + grant(now) + "}"), "ALREADY_DONE");
            JsonNode short1 = json(post(service, "/items/b/claim", "{'owner':'me','ttl':'1ms'}"));
            Wait.sleep(Duration.ofMillis(30));
            assertReason(post(service, "/items/b/complete", "{" + grant(short1) + "}"), "EXPIRED");
            assertReason(post(service, "/items/a/claim", "{'owner':'you','ttl':'1m'}"), "ALREADY_DONE");
            assertEquals(
                    404,
                    post(service, "/items/none/release", "{" + grant(old) + "}").statusCode());

            assertEquals(6, service.metric("stale_token_rejected_total", "queue=\"pages\"", "job=\"\""));
            assertEquals(0, service.metric("stale_token_rejected_total", "job=\"tick\""));
            List<String> series = service.get("/q/metrics")
                    .body()
                    .lines()
                    .filter(line -> line.startsWith("stale_token_rejected_total{"))
                    .toList();
            assertEquals(2, series.size(), series::toString);
            assertTrue(
                    series.stream().allMatch(line -> line.contains("job=") && line.contains("queue=")),
                    series::toString);
            assertEquals(
                    1,
                    service.get("/q/metrics")
                            .body()
                            .lines()
                            .filter(line -> line.matches("# TYPE stale_token_rejected(_total)? counter"))
                            .count());
            assertEquals(0, service.metric("problems_total"), service::said);
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
