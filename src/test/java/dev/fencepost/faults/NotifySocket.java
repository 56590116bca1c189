package dev.fencepost.faults;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Listens where systemd would: Java has no such socket, so python does. */
final class NotifySocket implements AutoCloseable {

    private static final Path SCRIPT =
            Path.of("src/test/resources/cases/systemd/notify_socket.py").toAbsolutePath();

    private final Path socket;
    private final Path out;
    private final Process process;

    /** @param at by the monotonic clock of the host, in microseconds */
    record Message(long at, long pid, List<String> words) {

        boolean has(String word) {
            return words.contains(word);
        }

        /** What stands behind the name, or empty. */
        String value(String name) {
            return words.stream()
                    .filter(word -> word.startsWith(name + "="))
                    .map(word -> word.substring(name.length() + 1))
                    .findFirst()
                    .orElse("");
        }
    }

    private NotifySocket(Path socket, Path out, Process process) {
        this.socket = socket;
        this.out = out;
        this.process = process;
    }

    static NotifySocket listen(Path folder) {
        Path socket = folder.resolve("notify");
        Path out = folder.resolve("notify.log");
        try {
            Process process = new ProcessBuilder("python3", SCRIPT.toString(), socket.toString())
                    .redirectOutput(out.toFile())
                    .redirectError(folder.resolve("notify.err").toFile())
                    .start();
            Wait.until(
                    Duration.ofSeconds(20),
                    "a listener",
                    () -> Files.readString(out).contains("listening"));
            return new NotifySocket(socket, out, process);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    String address() {
        return socket.toString();
    }

    /** All that came, in order. */
    List<Message> messages() {
        try {
            ObjectMapper json = new ObjectMapper();
            List<Message> messages = new ArrayList<>();
            String text = Files.readString(out, StandardCharsets.UTF_8);
            for (String line : text.substring(0, text.lastIndexOf('\n') + 1)
                    .lines()
                    .skip(1)
                    .toList()) {
                JsonNode node = json.readTree(line);
                List<String> words = new ArrayList<>();
                node.get("words").forEach(word -> words.add(word.asText()));
                messages.add(
                        new Message(node.get("at").asLong(), node.get("pid").asLong(), words));
            }
            return messages;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    List<Message> saying(String word) {
        return messages().stream().filter(message -> message.has(word)).toList();
    }

    @Override
    public void close() {
        process.destroyForcibly();
        try {
            process.waitFor(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
