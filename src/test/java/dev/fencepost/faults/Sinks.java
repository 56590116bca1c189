package dev.fencepost.faults;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.fencepost.history.HistoryFile;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Two HTTP receivers that write down every request: {@code checked} compares tokens and keys as a good one does, {@code plain} takes
 * whatever comes.
 */
final class Sinks implements AutoCloseable {

    static final String CHECKED = "checked";
    static final String PLAIN = "plain";

    private record Holder(long token, String run) {}

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final HistoryFile checkedFile;
    private final HistoryFile plainFile;
    private final Map<String, Holder> highest = new HashMap<>();
    private final Set<String> arrived = new HashSet<>();

    Sinks(Path histories) {
        checkedFile = new HistoryFile(histories, "sink-" + CHECKED);
        plainFile = new HistoryFile(histories, "sink-" + PLAIN);
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 100);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        server.setExecutor(threads);
        server.createContext("/" + CHECKED, exchange -> take(exchange, CHECKED));
        server.createContext("/" + PLAIN, exchange -> take(exchange, PLAIN));
        server.start();
    }

    String url(String sink) {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/" + sink;
    }

    boolean hasArrived(String sink, String key) {
        synchronized (this) {
            return arrived.contains(sink + " " + key);
        }
    }

    private void take(HttpExchange exchange, String sink) throws IOException {
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        String key = header(exchange, "Idempotency-Key");
        String resource = header(exchange, "Fencepost-Resource");
        String run = header(exchange, "Fencepost-Run-Id");
        long token = Long.parseLong(header(exchange, "Fencing-Token"));
        boolean checks = sink.equals(CHECKED);
        String answer;
        synchronized (this) { // the decision and its line are one, so that the file has the order of the decisions
            answer = checks ? judge(resource, token, run, key) : "taken";
            if (!answer.equals("refused")) {
                arrived.add(sink + " " + key);
            }
            (checks ? checkedFile : plainFile)
                    .write(
                            "request",
                            "sink",
                            sink,
                            "checks",
                            checks,
                            "key",
                            key,
                            "resource",
                            resource,
                            "token",
                            token,
                            "run",
                            run,
                            "body",
                            body,
                            "answer",
                            answer);
        }
        byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(answer.equals("refused") ? 409 : 200, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    /** As the page of effects tells receivers to. */
    private String judge(String resource, long token, String run, String key) {
        Holder holder = highest.getOrDefault(resource, new Holder(0, ""));
        if (token < holder.token() || (token == holder.token() && !run.equals(holder.run()))) {
            return "refused";
        }
        if (arrived.contains(CHECKED + " " + key)) {
            return "again";
        }
        highest.put(resource, new Holder(token, run));
        return "taken";
    }

    private static String header(HttpExchange exchange, String name) {
        return String.valueOf(exchange.getRequestHeaders().getFirst(name));
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
        checkedFile.close();
        plainFile.close();
    }
}
