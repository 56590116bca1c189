package dev.fencepost.browser;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.fencepost.faults.Receiver;
import dev.fencepost.faults.Rows;
import dev.fencepost.faults.Scene;
import dev.fencepost.faults.ServeProcess;
import dev.fencepost.faults.Wait;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;

/** What the services of these tests are given: tokens, and jobs to look at. */
final class Town {

    /** May do all. */
    static final String OPERATOR = "0123456789abcdef".repeat(3);

    /** May only look. */
    static final String READER = "fedcba9876543210".repeat(3);

    /** What nobody may take for a part of the page. */
    static final String MARKUP = "</p></main><script>alert(1)</script><img src=x onerror=alert(2)><h1>Not ours</h1>";

    private static final String BIDI = "\u202etxet desrever\u202c";
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    private Town() {}

    /**
     * One job of each kind: one that is well, one that fails until it is paused, one that runs until there is a file {@code go} and whose
     * other slots are skipped, one whose effect nobody knows the fate of, one that writes hostile output, one that never ran.
     */
    static String jobs(Scene scene, Receiver deaf) {
        deaf.then(Receiver.Then.CUT);
        String once = Scene.oneSlot();
        return """
                defaults: { timezone: Europe/Berlin }
                sinks:
                  announce: { http: { url: "%s", allow-hosts: [127.0.0.1], timeout: 2s } }
                jobs:
                  article:
                %s    timeout: 10m
                    command: |
                      printf 'reading \\033[32mnotes\\033[0m\\n'; sleep 1
                      printf '\\033[1;33mwarning:\\033[0m no picture\\n' >&2
                      echo "An article of 800 words." >"$FENCEPOST_RESULT"
                  broken:
                    every: 2s
                    pause-after-failures: 3
                    command: echo "cannot log in" >&2; exit 3
                  long:
                    every: 3s
                    lease: { ttl: 9s }
                    command: |
                      n=0; while [ ! -e go ]; do n=$((n + 1)); echo "step $n"; sleep 0.5; done
                  note:
                %s    command: |
                      printf '{"name":"hello","sink":"announce","body":"to the world"}\\n' >>"$FENCEPOST_EFFECTS"
                  hostile:
                %s    command: |
                      printf '%%s\\n' '%s'
                      printf '\\033[31mred\\033[0m \\033]0;title\\007 %s \\000 nul \\377 no text\\n'
                      head -c 1000000 /dev/zero | tr '\\0' w; echo
                      printf '%%s' '%s' >"$FENCEPOST_RESULT"
                      echo the end
                  morning:
                    cron: "0 7 * * MON-FRI"
                    command: ["true"]
                """.formatted(deaf.url(), once, once, once, MARKUP, BIDI, MARKUP) + tokens(scene);
    }

    /** Waits until each of these jobs is as it is meant to be; fills a work queue; pauses a job with a hostile reason. */
    static void settle(Scene scene, ServeProcess service) {
        Rows rows = scene.rows();
        String boss = "{'owner':'worker-1','ttl':'10m'}";
        for (String id : new String[] {"page-1", "page-2", "page-3"}) {
            post(service, "", "{'id':'" + id + "','queue':'pages','payload':'x'}");
        }
        post(service, "/page-1/claim", boss);
        JsonNode dead = post(service, "/page-2/claim", boss);
        post(
                service,
                "/page-2/fail",
                "{'owner':'worker-1','fence':" + dead.get("fence") + ",'run_id':'"
                        + dead.get("run_id").asText() + "','dead':true,'reason':'" + MARKUP + BIDI + "'}");
        ServeProcess pause =
                scene.command("pause", "morning", "--reason", MARKUP + BIDI, "--store", scene.storeOf("a"));
        assertTrue(pause.awaitExit(ServeProcess.START_LIMIT) == 0, pause::said);
        Wait.until(
                Duration.ofSeconds(60),
                service::said,
                () -> rows.ticks("article", "SUCCEEDED").size() == 1
                        && rows.ticks("hostile", "SUCCEEDED").size() == 1
                        && rows.ticks("broken", "FAILED").size() == 3
                        && !rows.ticks("long", "SKIPPED_OVERLAP").isEmpty()
                        && rows.texts("select state from effect").contains("UNKNOWN"));
    }

    /** @param json with ' in place of " */
    private static JsonNode post(ServeProcess service, String path, String json) {
        try {
            HttpResponse<String> answer = HTTP.send(
                    HttpRequest.newBuilder(
                                    URI.create("http://127.0.0.1:" + service.port() + "/api/v1/work/items" + path))
                            .header("Authorization", "Bearer " + OPERATOR)
                            .header("Content-Type", "application/json")
                            .POST(HttpRequest.BodyPublishers.ofString(json.replace('\'', '"')))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            assertTrue(answer.statusCode() < 300, () -> path + ": " + answer.body());
            return JSON.readTree(answer.body());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    /** Writes the token file and returns the lines of a jobs file that name it. */
    static String tokens(Scene scene) {
        Path file = scene.folder().resolve("tokens");
        try {
            Files.writeString(file, "alice read,work,operate " + OPERATOR + "\nrita read " + READER + "\n");
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return "api: { token-file: tokens }\n";
    }

    /** The file of the quickstart as it is, with tokens and this at its end. */
    static String quickstart(Scene scene, String moreJobs) {
        try {
            return Files.readString(Path.of("deploy/examples/quickstart.yaml")) + "\n" + moreJobs + tokens(scene);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
