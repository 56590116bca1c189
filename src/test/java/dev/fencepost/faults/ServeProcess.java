package dev.fencepost.faults;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** One start of the built program as a process of its own. What it says is kept in two files. */
public final class ServeProcess implements AutoCloseable {

    /** The launcher on a JVM, or one native binary. */
    public static final Path PROGRAM =
            Path.of(System.getProperty("fencepost.binary", "target/fencepost")).toAbsolutePath();

    public static final Duration START_LIMIT = Duration.ofSeconds(30);

    private static final AtomicInteger STARTS = new AtomicInteger();
    private static final HttpClient HTTP =
            HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(2)).build();

    private final Process process;
    private final int port;
    private final Path out;
    private final Path err;

    private ServeProcess(Process process, int port, Path out, Path err) {
        this.process = process;
        this.port = port;
        this.out = out;
        this.err = err;
    }

    /** An answer of the service; code 0 where there was none. */
    public record Answer(int code, String body) {

        boolean isUp() {
            return code == 200 && body.contains("\"status\": \"UP\"");
        }

        boolean isDown() {
            return code == 503 && body.contains("\"status\": \"DOWN\"");
        }
    }

    /** Starts {@code fencepost serve}; returns at once. */
    public static ServeProcess start(
            Path folder, Path stateDir, int port, Map<String, String> environment, String... more) {
        return start(PROGRAM, List.of(), folder, stateDir, port, environment, more);
    }

    /** @param prefix words before the program, which become it in the end */
    static ServeProcess start(
            Path program,
            List<String> prefix,
            Path folder,
            Path stateDir,
            int port,
            Map<String, String> environment,
            String... more) {
        List<String> words =
                new ArrayList<>(List.of("serve", "--state-dir", stateDir.toString(), "--port", String.valueOf(port)));
        words.addAll(List.of(more));
        return command(program, prefix, folder, port, environment, words);
    }

    /** Starts the program with these words. */
    public static ServeProcess command(Path folder, int port, Map<String, String> environment, List<String> words) {
        return command(PROGRAM, folder, port, environment, words);
    }

    static ServeProcess command(
            Path program, Path folder, int port, Map<String, String> environment, List<String> words) {
        return command(program, List.of(), folder, port, environment, words);
    }

    private static ServeProcess command(
            Path program,
            List<String> prefix,
            Path folder,
            int port,
            Map<String, String> environment,
            List<String> words) {
        int number = STARTS.incrementAndGet();
        Path out = folder.resolve("out-" + number + ".log");
        Path err = folder.resolve("err-" + number + ".log");
        List<String> line = new ArrayList<>(prefix);
        line.add(program.toString());
        line.addAll(words);
        ProcessBuilder builder = new ProcessBuilder(line)
                .directory(folder.toFile())
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment()
                .keySet()
                .removeIf(name ->
                        name.startsWith("FENCEPOST_") || name.startsWith("QUARKUS_") || name.equals("STATE_DIRECTORY"));
        builder.environment().putAll(environment);
        try {
            return new ServeProcess(builder.start(), port, out, err);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    public static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    public long pid() {
        return process.pid(); // the launcher becomes the service, so it is the service's
    }

    public int port() {
        return port;
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    public void signal(String name) {
        Processes.signal(pid(), name);
    }

    public ServeProcess awaitReady() {
        Wait.until(START_LIMIT, () -> "ready; it said: " + said(), () -> {
            if (!process.isAlive()) {
                throw new IllegalStateException("the service ended with " + process.exitValue());
            }
            return get("/q/health/ready").isUp();
        });
        return this;
    }

    /** Waits for the end and returns the exit code. */
    public int awaitExit(Duration limit) {
        try {
            if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new AssertionError("still running after " + limit + "; it said: " + said());
            }
            return process.exitValue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    public Answer get(String path) {
        try {
            HttpResponse<String> response = HTTP.send(
                    HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                            .timeout(Duration.ofSeconds(20))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            return new Answer(response.statusCode(), response.body());
        } catch (IOException noAnswer) {
            return new Answer(0, String.valueOf(noAnswer));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    /** The sum of all series of this name whose labels contain these texts, for instance {@code job="tick"}. */
    public double metric(String name, String... labels) {
        Answer answer = get("/q/metrics");
        if (answer.code() != 200) {
            throw new AssertionError("/q/metrics answered " + answer);
        }
        return answer.body()
                .lines()
                .filter(line -> line.startsWith(name + "{") || line.startsWith(name + " "))
                .filter(line -> List.of(labels).stream().allMatch(line::contains))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .sum();
    }

    public List<String> lines() {
        return linesOf(out);
    }

    public List<String> linesContaining(String... parts) {
        return lines().stream()
                .filter(line -> List.of(parts).stream().allMatch(line::contains))
                .toList();
    }

    public List<String> errorLines() {
        return linesOf(err);
    }

    /** Everything it said, for a message. */
    public String said() {
        List<String> lines = lines();
        return String.join("\n", lines.subList(Math.max(0, lines.size() - 60), lines.size())) + "\nstderr: "
                + String.join("\n", errorLines());
    }

    private static List<String> linesOf(Path file) {
        try {
            return Files.exists(file)
                    ? new String(Files.readAllBytes(file), StandardCharsets.UTF_8)
                            .lines()
                            .toList()
                    : List.of();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Ends it with all that is below it, in whatever state it is. */
    @Override
    public void close() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        try {
            process.waitFor(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
