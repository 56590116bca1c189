package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HealthCommandTest {

    private static final String UP = """
            {"status":"UP","checks":[{"name":"store","status":"UP","data":{"store":"sqlite:x"}}]}""";
    private static final String DOWN = """
            {"status":"DOWN","checks":[{"name":"fresh","status":"DOWN","data":{"article":"last success \\u001b[2J"}}]}""";

    @TempDir
    Path dir;

    private HttpServer server;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 0);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private void answers(String path, int status, String body) {
        server.createContext(path, exchange -> {
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, bytes.length);
            try (var out = exchange.getResponseBody()) {
                out.write(bytes);
            }
        });
    }

    private String port() {
        return String.valueOf(server.getAddress().getPort());
    }

    @Test
    void upIsFine() throws IOException {
        answers("/q/health/ready", 200, UP);
        CommandRun run = CommandRun.of(dir, "health", "--port", port());
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        assertEquals("UP  http://127.0.0.1:" + port() + "/q/health/ready\n  UP  store: store: sqlite:x\n", run.out());
        JsonNode json =
                Workplace.json(CommandRun.of(dir, "health", "--json", "--url", "http://127.0.0.1:" + port() + "/")
                        .out());
        assertEquals(List.of("status", "url", "checks", "reason"), Workplace.fields(json));
        assertEquals(
                "sqlite:x", json.get("checks").get(0).get("data").get("store").asText());
    }

    @Test
    void downIsAFailureWithItsReasonAndNoControlCharacters() {
        answers("/q/health/group/fresh", 503, DOWN);
        CommandRun run = CommandRun.of(dir, "health", "--fresh", "--port", port());
        assertEquals(ExitCode.FAILED, run.exitCode());
        assertTrue(run.out().contains("DOWN  fresh: article: last success \\x1b[2J"), run.out());
        assertFalse(run.out().contains("\u001b"));
    }

    @Test
    void whereNobodyAnswersItIs69() throws IOException {
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        CommandRun run = CommandRun.of(dir, "health", "--port", String.valueOf(port));
        assertEquals(ExitCode.STORE_UNAVAILABLE, run.exitCode());
        assertTrue(run.err().startsWith("nobody answers at http://127.0.0.1:" + port), run.err());
        JsonNode json = Workplace.json(CommandRun.of(dir, "health", "--json", "--port", String.valueOf(port))
                .out());
        assertTrue(json.get("status").isNull());
        assertFalse(json.get("reason").asText().isBlank());
    }

    @Test
    void anotherProgramIsNobodyToo() {
        answers("/q/health/ready", 404, "<html>not here</html>");
        assertEquals(
                ExitCode.STORE_UNAVAILABLE,
                CommandRun.of(dir, "health", "--port", port()).exitCode());
    }

    @Test
    void thePortOfTheEnvironmentIsTakenAndTheOptionWins() {
        answers("/q/health/ready", 200, UP);
        Map<String, String> environment = Map.of("FENCEPOST_PORT", port());
        assertEquals(ExitCode.FINE, CommandRun.of(dir, environment, "health").exitCode());
        assertEquals(
                ExitCode.STORE_UNAVAILABLE,
                CommandRun.of(dir, environment, "health", "--port", "1").exitCode());
        CommandRun bad = CommandRun.of(dir, Map.of("FENCEPOST_PORT", "http"), "health");
        assertEquals(ExitCode.USAGE, bad.exitCode());
        assertTrue(bad.err().contains("$FENCEPOST_PORT"), bad.err());
    }

    @Test
    void quietSaysOnlyWhatIsWrong() {
        answers("/q/health/ready", 200, UP);
        answers("/q/health/group/fresh", 503, DOWN);
        assertEquals(
                "", CommandRun.of(dir, "health", "--quiet", "--port", port()).out());
        CommandRun down = CommandRun.of(dir, "health", "--quiet", "--fresh", "--port", port());
        assertEquals(ExitCode.FAILED, down.exitCode());
        assertTrue(down.out().startsWith("DOWN"), down.out());
    }

    @ParameterizedTest
    @ValueSource(strings = {"0s", "2m", "5"})
    void theTimeLimitHasBounds(String limit) {
        CommandRun run = CommandRun.of(dir, "health", "--timeout", limit, "--port", port());
        assertEquals(ExitCode.USAGE, run.exitCode());
        assertTrue(run.err().startsWith("--timeout: "), run.err());
    }

    /** Takes a real second: it is the limit of the command itself. */
    @Test
    void oneThatNeverAnswersIsGivenUp() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 5, InetAddress.getByName("127.0.0.1"))) {
            CommandRun run =
                    CommandRun.of(dir, "health", "--timeout", "1s", "--port", String.valueOf(silent.getLocalPort()));
            assertEquals(ExitCode.STORE_UNAVAILABLE, run.exitCode());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "localhost:8787",
                "ftp://host",
                "http://",
                "http://anna:canary@host",
                "http://host/?x=canary",
                "not an address"
            })
    void anAddressHasToBeOneOfAService(String url) {
        CommandRun run = CommandRun.of(dir, "health", "--url", url);
        assertEquals(ExitCode.USAGE, run.exitCode(), run.out());
        assertFalse(url.contains("@") && run.err().contains("canary"), run.err());
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "65536", "-1"})
    void aPortHasToBeOne(String port) {
        assertEquals(
                ExitCode.USAGE, CommandRun.of(dir, "health", "--port", port).exitCode());
    }
}
