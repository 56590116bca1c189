package dev.fencepost.binary;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.faults.Scene;
import dev.fencepost.faults.ServeProcess;
import dev.fencepost.faults.Wait;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each endpoint of the service. */
@Tag("binary")
class EndpointsIT {

    private static final String TOKEN = "0123456789abcdef".repeat(3);
    private static final Duration SOON = Duration.ofSeconds(30);
    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @TempDir
    static Path folder;

    private static Scene scene;
    private static ServeProcess service;
    private static String slot;
    private static String cookie;
    private static String asset;
    private static String runId = "none";

    @BeforeAll
    static void start() throws Exception {
        Path tokens = folder.resolve("tokens");
        Files.writeString(tokens, "boss read,work,operate " + TOKEN + "\n");
        Files.setPosixFilePermissions(tokens, PosixFilePermissions.fromString("rw-------"));
        scene = Scene.sqlite(folder);
        scene.jobs("""
                api: { token-file: tokens }
                jobs:
                  tick:
                %s
                    command: echo hello
                  slow: { cron: "0 0 1 1 *", command: [sleep, "60"] }
                """.formatted(Scene.oneSlot().stripTrailing()));
        service = scene.serve("a").awaitReady();
        Wait.until(
                SOON,
                () -> "the first tick; " + service.said(),
                () -> !scene.rows().ticks("tick", "SUCCEEDED").isEmpty());
        slot = scene.rows().ticks("tick").getFirst().key();
        HttpResponse<String> login = HTTP.send(
                request("/login")
                        .header("Content-Type", "application/x-www-form-urlencoded")
                        .POST(BodyPublishers.ofString("token=" + TOKEN + "&next=/"))
                        .build(),
                BodyHandlers.ofString());
        assertEquals(303, login.statusCode(), login::body);
        cookie = login.headers().firstValue("Set-Cookie").orElseThrow().split(";")[0];
        asset = found("script src=\"([^\"]+)\"", page("/"));
    }

    @AfterAll
    static void stop() {
        scene.close();
    }

    private static HttpRequest.Builder request(String address) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + service.port() + address))
                .timeout(SOON);
    }

    private static String page(String address) throws IOException, InterruptedException {
        return HTTP.send(request(address).header("Cookie", cookie).build(), BodyHandlers.ofString())
                .body();
    }

    private static String found(String pattern, String text) {
        Matcher matcher = Pattern.compile(pattern).matcher(text);
        assertTrue(matcher.find(), () -> pattern + " is not in " + text);
        return matcher.group(1);
    }

    static List<EndpointCases.Case> cases() {
        return EndpointCases.ALL;
    }

    @ParameterizedTest
    @MethodSource("cases")
    void answers(EndpointCases.Case each) throws Exception {
        String address = each.address().replace("SLOT", slot).replace("ASSET", asset);
        HttpRequest.Builder request = request(address);
        each.headers().forEach((name, value) -> request.header(name, value.replace("RUN", runId)));
        switch (each.as()) {
            case CLIENT -> request.header("Authorization", "Bearer " + TOKEN);
            case PERSON -> request.header("Cookie", cookie);
            case ANYBODY -> {}
        }
        if (each.as() == EndpointCases.As.CLIENT && each.body().startsWith("{")) {
            request.header("Content-Type", "application/json");
        }
        if (each.method().equals("POST") && each.as() != EndpointCases.As.CLIENT) {
            request.header("Content-Type", "application/x-www-form-urlencoded");
        }
        String body = each.as() == EndpointCases.As.PERSON && each.method().equals("POST")
                ? "form=" + formToken(address) + each.body()
                : each.body().replace('\'', '"').replace("RUN", runId);
        request.method(
                each.method(), each.method().equals("GET") ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
        HttpResponse<InputStream> response = HTTP.send(request.build(), BodyHandlers.ofInputStream());
        try (InputStream in = response.body()) {
            String text = each.isStream() ? firstEvent(in) : new String(in.readAllBytes(), StandardCharsets.UTF_8);
            assertEquals(each.status(), response.statusCode(), () -> text + service.said());
            assertTrue(text.contains(each.expected()), () -> each.expected() + " is not in " + text);
            Matcher claimed = Pattern.compile("\"run_id\":\"([^\"]+)\"").matcher(text);
            runId = claimed.find() ? claimed.group(1) : runId;
        }
        assertEquals(List.of(), service.linesContaining(" ERROR "));
    }

    /** The hidden token of the form that sends to this address; the page shows the form once the order before it is obeyed. */
    private static String formToken(String address) {
        if (address.equals("/waiting/resolve")) {
            return "none"; // nothing waits here, so there is no such form
        }
        String page = address.equals("/logout") ? "/" : address.substring(0, address.lastIndexOf('/'));
        Pattern form = Pattern.compile("action=\"" + address + "\">.*?name=\"form\" value=\"([^\"]+)\"");
        return Wait.forValue(SOON, "the form of " + address, () -> {
            Matcher matcher = form.matcher(page(page));
            return matcher.find() ? matcher.group(1) : null;
        });
    }

    private static String firstEvent(InputStream in) throws IOException {
        StringBuilder text = new StringBuilder();
        byte[] bytes = new byte[8192];
        int length;
        while (text.indexOf("data:") < 0 && (length = in.read(bytes)) > 0) {
            text.append(new String(bytes, 0, length, StandardCharsets.UTF_8));
        }
        return text.toString();
    }
}
