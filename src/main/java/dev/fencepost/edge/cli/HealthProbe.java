package dev.fencepost.edge.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import dev.fencepost.host.Spawner;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Asks a running service how it is, in the form of MicroProfile Health. */
final class HealthProbe {

    private static final long LARGEST_ANSWER = 1L << 20;
    private static final JsonFactory FACTORY = JsonFactory.builder()
            .streamReadConstraints(
                    StreamReadConstraints.builder().maxNestingDepth(8).build())
            .build();

    private final Spawner spawner;

    HealthProbe(Spawner spawner) {
        this.spawner = spawner;
    }

    /** What came of asking. */
    sealed interface Answer {}

    /** @param status {@code UP} or {@code DOWN} */
    record Report(String status, List<Check> checks) implements Answer {

        boolean isUp() {
            return status.equals("UP");
        }

        boolean names(String check) {
            return checks.stream().anyMatch(each -> each.name().equals(check));
        }

        /** What the checks that are down say. */
        String reasons() {
            return checks.stream()
                    .filter(check -> !check.status().equals("UP"))
                    .map(Check::text)
                    .collect(Collectors.joining("; "));
        }
    }

    /** @param data in the order of the answer */
    record Check(String name, String status, Map<String, String> data) {

        String text() {
            String words = data.entrySet().stream()
                    .map(entry -> entry.getKey() + ": " + entry.getValue())
                    .collect(Collectors.joining(", "));
            return words.isEmpty() ? name : name + ": " + words;
        }
    }

    /** Nobody answers there, or somebody who is no service of this kind. */
    record Silence(String why) implements Answer {}

    /** @param limit for the whole of it, the answer's body included */
    Answer ask(URI uri, Duration limit) {
        // Ended by shutdownNow: close() would wait for the server.
        HttpClient client = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(limit)
                .executor(task -> spawner.virtualThread("http", task))
                .build();
        HttpRequest request = HttpRequest.newBuilder(uri)
                .header("Accept", "application/json")
                .timeout(limit)
                .build();
        CompletableFuture<HttpResponse<byte[]>> answering =
                client.sendAsync(request, BodyHandlers.limiting(BodyHandlers.ofByteArray(), LARGEST_ANSWER));
        try {
            HttpResponse<byte[]> response = answering.get(limit.toMillis(), TimeUnit.MILLISECONDS);
            Report report = parsed(response.body());
            boolean fits = response.statusCode() == 200 || response.statusCode() == 503;
            return report != null && fits
                    ? report
                    : new Silence("what answers there is no health check: status " + response.statusCode());
        } catch (TimeoutException e) {
            return new Silence("no answer within " + limit.toSeconds() + " seconds");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Silence("interrupted");
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            return new Silence(
                    cause.getMessage() == null || cause.getMessage().isBlank()
                            ? cause instanceof ConnectException
                                    ? "connection refused"
                                    : cause.getClass().getSimpleName()
                            : cause.getMessage());
        } finally {
            answering.cancel(true);
            client.shutdownNow();
        }
    }

    /** The report, or null if the bytes are none. */
    static @Nullable Report parsed(byte[] json) {
        try (JsonParser parser = FACTORY.createParser(json)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                return null;
            }
            String status = null;
            List<Check> checks = new ArrayList<>();
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String name = parser.currentName();
                JsonToken value = parser.nextToken();
                if (name.equals("status")) {
                    status = parser.getText();
                } else if (name.equals("checks") && value == JsonToken.START_ARRAY) {
                    while (parser.nextToken() == JsonToken.START_OBJECT) {
                        checks.add(check(parser));
                    }
                } else {
                    parser.skipChildren();
                }
            }
            return status == null || !(status.equals("UP") || status.equals("DOWN"))
                    ? null
                    : new Report(status, List.copyOf(checks));
        } catch (IOException notJson) {
            return null;
        }
    }

    private static Check check(JsonParser parser) throws IOException {
        String name = "";
        String status = "";
        Map<String, String> data = new LinkedHashMap<>();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
            String field = parser.currentName();
            JsonToken value = parser.nextToken();
            if (field.equals("name")) {
                name = parser.getText();
            } else if (field.equals("status")) {
                status = parser.getText();
            } else if (field.equals("data") && value == JsonToken.START_OBJECT) {
                while (parser.nextToken() == JsonToken.FIELD_NAME) {
                    String key = parser.currentName();
                    JsonToken datum = parser.nextToken();
                    if (datum.isScalarValue()) {
                        data.put(key, parser.getText());
                    } else {
                        parser.skipChildren();
                    }
                }
            } else {
                parser.skipChildren();
            }
        }
        return new Check(name, status, data);
    }
}
