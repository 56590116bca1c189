package dev.fencepost.faults;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BiConsumer;

/**
 * An HTTP receiver that knows keys, as a good one does, and tokens, and misbehaves when it is told to. {@code POST /} takes effects,
 * {@code GET /seen/KEY} tells whether one has arrived.
 */
public final class Receiver implements AutoCloseable {

    /** What happens to a request after it was accepted. */
    public enum Then {
        ANSWER,
        /** The connection ends without an answer. */
        CUT,
        /** No answer comes for longer than anyone waits. */
        HANG
    }

    /** One request as it came. */
    public record Post(String key, long fence, String runId, String body, Map<String, String> headers) {}

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Post> posts = Collections.synchronizedList(new ArrayList<>());
    private final Map<String, Post> accepted = Collections.synchronizedMap(new LinkedHashMap<>());
    private final Set<String> doubled = Collections.synchronizedSet(new HashSet<>());
    private final Map<String, Post> highest = new LinkedHashMap<>();
    private volatile boolean checksTokens;
    private volatile Then then = Then.ANSWER;
    private volatile BiConsumer<Integer, Boolean> hook = (number, answered) -> {};

    public Receiver() {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 100);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        server.setExecutor(threads);
        server.createContext("/", this::post);
        server.createContext("/seen/", this::seen);
        server.start();
    }

    public String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/";
    }

    /** From now on it keeps the rule of semantics 5.5 too: a token below the highest one of its resource is answered with 409. */
    public void checkTokens() {
        checksTokens = true;
    }

    public void then(Then what) {
        then = what;
    }

    /** Told the number of each request, from 1, after it was accepted: before it is answered (false) and after (true). */
    public void hook(BiConsumer<Integer, Boolean> what) {
        hook = what;
    }

    /** Every request, in the order in which they came. */
    public List<Post> posts() {
        synchronized (posts) {
            return List.copyOf(posts);
        }
    }

    /** The first request of each key. */
    public Map<String, Post> accepted() {
        synchronized (accepted) {
            return Map.copyOf(accepted);
        }
    }

    /** Keys that came again with another body. */
    public Set<String> doubled() {
        return doubled;
    }

    private void post(HttpExchange exchange) throws IOException {
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        Map<String, String> headers = new LinkedHashMap<>();
        exchange.getRequestHeaders().forEach((name, values) -> headers.put(name, values.getFirst()));
        Post post = new Post(
                exchange.getRequestHeaders().getFirst("Idempotency-Key"),
                Long.parseLong(exchange.getRequestHeaders().getFirst("Fencing-Token")),
                exchange.getRequestHeaders().getFirst("Fencepost-Run-Id"),
                body,
                headers);
        int number;
        synchronized (posts) {
            posts.add(post);
            number = posts.size();
        }
        if (checksTokens && !accepted.containsKey(post.key()) && isStale(post)) {
            answer(exchange, 409, "stale");
            return;
        }
        Post before = accepted.putIfAbsent(post.key(), post);
        if (before != null && !before.body().equals(body)) {
            doubled.add(post.key());
        }
        hook.accept(number, false);
        switch (then) {
            case ANSWER -> answer(exchange, 201, "taken");
            case CUT -> exchange.close();
            case HANG -> {
                try {
                    Thread.sleep(60_000); // longer than the sink waits; the server's end interrupts it
                } catch (InterruptedException closed) {
                    exchange.close();
                }
            }
        }
        hook.accept(number, true);
    }

    private boolean isStale(Post post) {
        synchronized (highest) {
            Post last = highest.get(post.headers().get("Fencepost-resource"));
            boolean passes = last == null
                    || post.fence() > last.fence()
                    || (post.fence() == last.fence() && post.runId().equals(last.runId()));
            if (passes) {
                highest.put(post.headers().get("Fencepost-resource"), post);
            }
            return !passes;
        }
    }

    private void seen(HttpExchange exchange) throws IOException {
        String key = exchange.getRequestURI().getPath().substring("/seen/".length());
        boolean there = accepted.containsKey(key);
        answer(exchange, there ? 200 : 404, there ? "arrived: " + key : "never seen");
    }

    private static void answer(HttpExchange exchange, int status, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
