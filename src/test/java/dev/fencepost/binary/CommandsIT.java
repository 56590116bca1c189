package dev.fencepost.binary;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.fencepost.faults.Scene;
import dev.fencepost.faults.ServeProcess;
import dev.fencepost.faults.Wait;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each command, as a process of its own beside a running service. */
@Tag("binary")
class CommandsIT {

    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    static Path folder;

    private static Scene scene;
    private static ServeProcess service;
    private static String slot;

    @BeforeAll
    static void start() throws IOException {
        Path tokens = folder.resolve("tokens");
        Files.writeString(tokens, "boss read,work,operate " + "0123456789abcdef".repeat(3) + "\n");
        Files.setPosixFilePermissions(tokens, PosixFilePermissions.fromString("rw-------"));
        Files.createDirectory(folder.resolve("out"));
        scene = Scene.sqlite(folder);
        scene.jobs("""
                api: { token-file: tokens }
                jobs:
                  tick:
                %s
                    command: 'echo hello; echo done >"$FENCEPOST_RESULT"'
                    publish: [ { file: { root: out, path: "{job}.txt" } } ]
                  hand: { cron: "0 0 1 1 *", command: [echo, hand] }
                  tokyo: { cron: "0 6 * * *", timezone: Asia/Tokyo, command: ["true"] }
                """.formatted(Scene.oneSlot().stripTrailing()));
        scene.variable("FENCEPOST_CONFIG", folder.resolve("fencepost.yaml").toString());
        scene.variable("STATE_DIRECTORY", folder.resolve("a").toString());
        // For the second service, which is refused: the usual port may be that of another one on this machine.
        scene.variable("FENCEPOST_PORT", String.valueOf(ServeProcess.freePort()));
        // The poorest surroundings that there are, such as cron's.
        scene.variable("LC_ALL", "C");
        service = scene.serve("a").awaitReady();
        Wait.until(
                Duration.ofSeconds(30),
                () -> "the first tick is confirmed; " + service.said(),
                () -> !scene.rows()
                        .texts("select key from effect where state = 'CONFIRMED'")
                        .isEmpty());
        slot = scene.rows().ticks("tick").getFirst().key();
    }

    @AfterAll
    static void stop() {
        scene.close();
    }

    static List<CommandCases.Case> cases() {
        return CommandCases.ALL;
    }

    @ParameterizedTest
    @MethodSource("cases")
    void answers(CommandCases.Case each) throws IOException {
        List<String> words = new ArrayList<>(
                each.command().isEmpty() ? List.of() : List.of(each.command().split(" ")));
        each.more()
                .forEach(word -> words.add(word.replace("FOLDER", folder.toString())
                        .replace("PORT", String.valueOf(service.port()))
                        .replace("URL", "http://127.0.0.1:" + service.port())
                        .replace("SLOT", slot)));
        try (ServeProcess command = scene.command(words.toArray(String[]::new))) {
            int code = command.awaitExit(LIMIT);
            assertTrue(each.exits().contains(code), () -> "exit code " + code + "; " + command.said());
            String out = String.join("\n", command.lines());
            assertTrue(out.contains(each.expected()), () -> each.expected() + " is not in " + command.said());
            if (words.contains("--json")) {
                JSON.readerFor(JsonNode.class)
                        .<JsonNode>readValues(out)
                        .forEachRemaining(value -> assertTrue(value.isObject(), value::toString));
            }
            assertEquals(
                    List.of(),
                    command.errorLines().stream()
                            .filter(line -> line.contains("unexpected error") || line.startsWith("\tat "))
                            .toList());
        }
    }
}
