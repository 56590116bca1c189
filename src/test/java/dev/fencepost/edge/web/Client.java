package dev.fencepost.edge.web;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Speaks to the API as a worker does, and to the socket where a library would not say such a thing. */
final class Client {

    static final String PATH = "/api/v1/work";

    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final ObjectMapper JSON = new ObjectMapper();

    private final URI base;
    private final String token;

    /** @param token empty for none */
    Client(URI base, String token) {
        this.base = base;
        this.token = token;
    }

    Client with(String otherToken) {
        return new Client(base, otherToken);
    }

    record Answer(int status, byte[] body, HttpResponse<byte[]> response) {

        JsonNode json() {
            try {
                return JSON.readTree(body);
            } catch (IOException e) {
                throw new AssertionError(text(), e);
            }
        }

        String text() {
            return new String(body, StandardCharsets.UTF_8);
        }

        String header(String name) {
            return response.headers().firstValue(name).orElse("");
        }

        String reason() {
            return json().path("reason").asText();
        }
    }

    Answer get(String path) {
        return send(request(path).GET());
    }

    /** @param json with ' in place of " */
    Answer post(String path, String json) {
        return send(request(path).header("Content-Type", "application/json").POST(text(json.replace('\'', '"'))));
    }

    Answer put(String path, String json) {
        return send(request(path).header("Content-Type", "application/json").PUT(text(json.replace('\'', '"'))));
    }

    HttpRequest.Builder request(String path) {
        URI uri = URI.create(base.resolve("/").toString().replaceAll("/$", "") + path);
        HttpRequest.Builder request = HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(60));
        return token.isEmpty() ? request : request.header("Authorization", "Bearer " + token);
    }

    static Answer send(HttpRequest.Builder request) {
        try {
            HttpResponse<byte[]> response = HTTP.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
            return new Answer(response.statusCode(), response.body(), response);
        } catch (IOException e) {
            throw new AssertionError(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    private static BodyPublisher text(String text) {
        return BodyPublishers.ofString(text);
    }

    Socket socket() throws IOException {
        Socket socket = new Socket(base.getHost(), base.getPort());
        socket.setSoTimeout(30_000);
        return socket;
    }

    /** The head of a request as it goes over the wire; lines end with CR LF, an empty one follows. */
    byte[] head(String first, String... headers) {
        StringBuilder head = new StringBuilder(first).append("\r\nHost: test\r\n");
        if (!token.isEmpty()) {
            head.append("Authorization: Bearer ").append(token).append("\r\n");
        }
        for (String header : headers) {
            head.append(header).append("\r\n");
        }
        return head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1);
    }
}
