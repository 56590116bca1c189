package dev.fencepost.edge.remote;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.fencepost.edge.config.DurationText;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.ItemResult;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue;
import dev.fencepost.work.WorkState;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The HTTP API of the work queue before any queue, and a server that fails when a test says so. */
public final class ApiServer implements AutoCloseable {

    public static final String TOKEN = "a-token-of-the-tests";

    /** What goes wrong with a request. */
    public enum Fault {
        NONE,
        /** The connection ends, and nothing was done. */
        CUT_BEFORE,
        /** It is done, and the connection ends before the answer. */
        CUT_AFTER,
        /** 503 before anything is done. */
        UNAVAILABLE,
        /** 403: the token may not do this. */
        FORBIDDEN,
        /** 200 with a page that no API writes. */
        PAGE_OF_A_PROXY
    }

    private static final ObjectMapper MAPPER = new ObjectMapper()
            .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    private final WorkQueue queue;
    private final InstantSource now;
    private final Map<String, byte[]> files = new ConcurrentHashMap<>();
    private final List<String> requests = new CopyOnWriteArrayList<>();
    private final AtomicInteger largestBody = new AtomicInteger();
    private volatile BiFunction<String, String, Fault> faults = (method, path) -> Fault.NONE;
    private HttpServer server;

    public ApiServer(WorkQueue queue) throws IOException {
        this(queue, Instant::now);
    }

    /** @param now the queue's clock */
    public ApiServer(WorkQueue queue, InstantSource now) throws IOException {
        this.queue = queue;
        this.now = now;
        start(0);
    }

    private void start(int port) throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/api/v1/work/", this::serve);
        server.start();
    }

    public URI address() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** Nobody listens any more; connections end. */
    public void down() {
        server.stop(0);
    }

    /** Again at the same address. */
    public void up() throws IOException {
        start(server.getAddress().getPort());
    }

    /** @param chosen by method and path, such as POST and /items/a/complete */
    public void faults(BiFunction<String, String, Fault> chosen) {
        faults = chosen;
    }

    /** What was asked so far: method and path, such as {@code POST /items/a/claim}. */
    public List<String> requests() {
        return List.copyOf(requests);
    }

    /** Of the JSON requests so far, in bytes. */
    public int largestBody() {
        return largestBody.get();
    }

    @Override
    public void close() {
        server.stop(0);
    }

    /** The answer to a request: an exception that is none. */
    private static final class Problem extends RuntimeException {
        private final int status;
        private final @Nullable String reason;
        private final transient @Nullable WorkItem item;

        Problem(int status, @Nullable String detail, @Nullable String reason, @Nullable WorkItem item) {
            super(detail);
            this.status = status;
            this.reason = reason;
            this.item = item;
        }
    }

    private void serve(HttpExchange exchange) {
        try {
            String path = exchange.getRequestURI().getRawPath().substring("/api/v1/work".length());
            String method = exchange.getRequestMethod();
            requests.add(method + " " + path);
            Fault fault = faults.apply(method, path);
            switch (fault) {
                case CUT_BEFORE -> {
                    exchange.close();
                    return;
                }
                case UNAVAILABLE -> {
                    answer(exchange, 503, "{\"title\":\"the store does not answer\"}".getBytes(StandardCharsets.UTF_8));
                    return;
                }
                case FORBIDDEN -> {
                    answer(exchange, 403, "{\"title\":\"forbidden\"}".getBytes(StandardCharsets.UTF_8));
                    return;
                }
                case PAGE_OF_A_PROXY -> {
                    answer(exchange, 200, "<html>".getBytes(StandardCharsets.UTF_8));
                    return;
                }
                default -> {}
            }
            try {
                if (!("Bearer " + TOKEN).equals(exchange.getRequestHeaders().getFirst("Authorization"))) {
                    throw new Problem(401, "no token", null, null);
                }
                Reply reply = reply(exchange, method, path);
                if (fault == Fault.CUT_AFTER) {
                    exchange.close();
                    return;
                }
                answer(exchange, reply.status, reply.body);
            } catch (Problem problem) {
                ObjectNode json = MAPPER.createObjectNode()
                        .put("type", "about:blank")
                        .put("title", "refused")
                        .put("status", problem.status)
                        .put("detail", problem.getMessage());
                if (problem.reason != null) {
                    json.put("reason", problem.reason);
                }
                if (problem.item != null) {
                    json.set("item", json(problem.item, false));
                }
                if (fault == Fault.CUT_AFTER) {
                    exchange.close();
                    return;
                }
                answer(exchange, problem.status, MAPPER.writeValueAsBytes(json));
            }
        } catch (IOException e) {
            exchange.close();
        }
    }

    private static void answer(HttpExchange exchange, int status, byte[] body) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private record Reply(int status, byte[] body) {}

    private Reply reply(HttpExchange exchange, String method, String path) throws IOException {
        List<String> parts = Arrays.stream(path.substring(1).split("/"))
                .map(part -> URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8))
                .toList();
        String at = method + " " + parts.getFirst() + " " + (parts.size() > 2 ? parts.get(2) : parts.size());
        try {
            return switch (at) {
                case "POST items 1" -> enqueue(exchange);
                case "GET items 1" -> items(exchange);
                case "GET items 2" -> item(parts.get(1));
                case "POST items claim" -> claim(exchange, parts.get(1));
                case "POST claims 1" -> claimAny(exchange);
                case "POST completions 1" -> completeAll(exchange);
                case "POST items renew" -> renew(exchange, parts.get(1));
                case "POST items complete" -> complete(exchange, parts.get(1));
                case "POST items fail" -> fail(exchange, parts.get(1));
                case "POST items release" -> release(exchange, parts.get(1));
                case "PUT items artifacts" -> upload(exchange, parts.get(1), parts.get(3));
                case "GET items artifacts" ->
                    parts.size() == 3 ? artifacts(parts.get(1)) : file(parts.get(1), parts.get(3), parts.get(4));
                case "POST prune 1" -> prune(exchange);
                case "GET queues 1" -> queues();
                case "PUT queues 2" -> capacity(exchange, parts.get(1));
                default -> throw new Problem(404, "no such path", null, null);
            };
        } catch (IllegalArgumentException e) {
            throw new Problem(400, e.getMessage(), null, null);
        }
    }

    private Map<String, JsonNode> body(HttpExchange exchange, String... known) throws IOException {
        JsonNode json;
        try {
            byte[] bytes = exchange.getRequestBody().readAllBytes();
            largestBody.accumulateAndGet(bytes.length, Math::max);
            json = MAPPER.readTree(bytes);
        } catch (JsonProcessingException e) {
            throw new Problem(400, "no JSON: " + e.getOriginalMessage(), null, null);
        }
        return fields(json, known);
    }

    private static Map<String, JsonNode> fields(JsonNode json, String... known) {
        Map<String, JsonNode> fields = new HashMap<>();
        json.properties().forEach(field -> {
            if (!Set.of(known).contains(field.getKey())) {
                throw new Problem(400, "unknown field " + field.getKey(), null, null);
            }
            fields.put(field.getKey(), field.getValue());
        });
        return fields;
    }

    private static @Nullable String textIfAny(Map<String, JsonNode> body, String name) {
        JsonNode value = body.get(name);
        if (value != null && !value.isTextual()) {
            throw new Problem(400, name + " is no text", null, null);
        }
        return value == null ? null : value.textValue();
    }

    private static String text(Map<String, JsonNode> body, String name) {
        String text = textIfAny(body, name);
        if (text == null) {
            throw new Problem(400, name + " is missing", null, null);
        }
        return text;
    }

    private static @Nullable Body content(Map<String, JsonNode> body, String name, String type) {
        String text = textIfAny(body, name);
        String coded = textIfAny(body, name + "_base64");
        if (text == null && coded == null) {
            return null;
        }
        byte[] bytes = text == null ? Base64.getDecoder().decode(coded) : text.getBytes(StandardCharsets.UTF_8);
        return new Body(bytes, textIfAny(body, type));
    }

    private static Optional<String> parameter(HttpExchange exchange, String name) {
        String query = exchange.getRequestURI().getRawQuery();
        return query == null
                ? Optional.empty()
                : Stream.of(query.split("&"))
                        .filter(each -> each.startsWith(name + "="))
                        .map(each -> each.substring(name.length() + 1))
                        .findFirst();
    }

    private Reply enqueue(HttpExchange exchange) throws IOException {
        Map<String, JsonNode> body = body(
                exchange,
                "id",
                "queue",
                "payload",
                "payload_base64",
                "content_type",
                "priority",
                "not_before",
                "max_attempts");
        String notBefore = textIfAny(body, "not_before");
        WorkQueue.Enqueued enqueued = queue.enqueue(new NewItem(
                text(body, "id"),
                Optional.ofNullable(textIfAny(body, "queue")).orElse(NewItem.DEFAULT_QUEUE),
                content(body, "payload", "content_type"),
                body.containsKey("priority") ? body.get("priority").intValue() : 0,
                notBefore == null ? null : Instant.parse(notBefore),
                body.containsKey("max_attempts") ? body.get("max_attempts").intValue() : 5));
        return new Reply(enqueued.created() ? 201 : 200, MAPPER.writeValueAsBytes(json(enqueued.item(), true)));
    }

    private Reply items(HttpExchange exchange) throws IOException {
        List<WorkItem> items = queue.items(
                parameter(exchange, "queue").orElse(null),
                parameter(exchange, "state").map(WorkState::valueOf).orElse(null),
                Integer.parseInt(parameter(exchange, "limit").orElse("100")));
        return new Reply(
                200, list("items", items.stream().map(each -> json(each, false)).toList()));
    }

    private Reply item(String id) throws IOException {
        WorkItem item = queue.item(id);
        if (item == null) {
            throw new Problem(404, "there is no such item", Refusal.UNKNOWN.name(), null);
        }
        return new Reply(200, MAPPER.writeValueAsBytes(json(item, true)));
    }

    private Reply claim(HttpExchange exchange, String id) throws IOException {
        Map<String, JsonNode> body = body(exchange, "owner", "ttl");
        return answer(
                queue.claimItem(id, new Owner(text(body, "owner")), newRunId(), DurationText.parse(text(body, "ttl"))));
    }

    private static RunId newRunId() {
        return new RunId(UUID.randomUUID());
    }

    private Reply claimAny(HttpExchange exchange) throws IOException {
        Map<String, JsonNode> body = body(exchange, "queue", "owner", "ttl", "max");
        long end = System.nanoTime()
                + DurationText.parse(parameter(exchange, "wait").orElse("0s"), Duration.ZERO, Duration.ofSeconds(60))
                        .toNanos();
        int max = body.containsKey("max") ? body.get("max").intValue() : 1;
        while (true) {
            List<WorkItem> items = queue.claimAny(
                    Optional.ofNullable(textIfAny(body, "queue")).orElse(NewItem.DEFAULT_QUEUE),
                    new Owner(text(body, "owner")),
                    Stream.generate(ApiServer::newRunId).limit(max).toList(),
                    DurationText.parse(text(body, "ttl")));
            if (!items.isEmpty() || System.nanoTime() >= end) {
                return new Reply(
                        200,
                        list(
                                "items",
                                items.stream().map(each -> json(each, true)).toList()));
            }
            try {
                Thread.sleep(10); // as a server that looks again
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        }
    }

    private static Grant grant(Map<String, JsonNode> body, String id) {
        return new Grant(
                id,
                new Owner(text(body, "owner")),
                new FencingToken(Objects.requireNonNull(body.get("fence")).longValue()),
                RunId.parse(text(body, "run_id")));
    }

    private Reply renew(HttpExchange exchange, String id) throws IOException {
        Map<String, JsonNode> body = body(exchange, "owner", "fence", "run_id", "ttl");
        return answer(queue.renew(grant(body, id), DurationText.parse(text(body, "ttl"))));
    }

    private Reply complete(HttpExchange exchange, String id) throws IOException {
        Map<String, JsonNode> body =
                body(exchange, "owner", "fence", "run_id", "result", "result_base64", "content_type");
        return answer(queue.complete(grant(body, id), content(body, "result", "content_type")));
    }

    private Reply completeAll(HttpExchange exchange) throws IOException {
        List<ItemResult> results = new ArrayList<>();
        for (JsonNode each : Objects.requireNonNull(body(exchange, "results").get("results"))) {
            Map<String, JsonNode> fields =
                    fields(each, "id", "owner", "fence", "run_id", "result", "result_base64", "content_type");
            results.add(new ItemResult(grant(fields, text(fields, "id")), content(fields, "result", "content_type")));
        }
        List<ObjectNode> answers = new ArrayList<>();
        for (WorkAnswer answer : queue.completeAll(results)) {
            ObjectNode json = MAPPER.createObjectNode();
            switch (answer) {
                case WorkAnswer.Done(WorkItem item) -> json.set("item", json(item, false));
                case WorkAnswer.Refused(Refusal reason, @Nullable WorkItem item) -> {
                    json.put("reason", reason.name());
                    if (item != null) {
                        json.set("item", json(item, false));
                    }
                }
            }
            answers.add(json);
        }
        return new Reply(200, list("answers", answers));
    }

    private Reply fail(HttpExchange exchange, String id) throws IOException {
        Map<String, JsonNode> body = body(exchange, "owner", "fence", "run_id", "reason", "retry_after", "dead");
        Duration again = body.containsKey("dead")
                ? null
                : DurationText.parse(
                        Optional.ofNullable(textIfAny(body, "retry_after")).orElse("0s"));
        return answer(queue.fail(grant(body, id), text(body, "reason"), again));
    }

    private Reply release(HttpExchange exchange, String id) throws IOException {
        return answer(queue.release(grant(body(exchange, "owner", "fence", "run_id"), id)));
    }

    private static Reply answer(WorkAnswer answer) throws IOException {
        return switch (answer) {
            case WorkAnswer.Done done -> new Reply(200, MAPPER.writeValueAsBytes(json(done.item(), true)));
            case WorkAnswer.Refused refused -> throw problem(refused);
        };
    }

    private static Problem problem(WorkAnswer.Refused refused) {
        return new Problem(
                refused.reason() == Refusal.UNKNOWN ? 404 : 409,
                "refused",
                refused.reason().name(),
                refused.item());
    }

    private Reply upload(HttpExchange exchange, String id, String name) throws IOException {
        Grant grant = new Grant(
                id,
                new Owner(exchange.getRequestHeaders().getFirst("Fencepost-Owner")),
                new FencingToken(Long.parseLong(exchange.getRequestHeaders().getFirst("Fencing-Token"))),
                RunId.parse(exchange.getRequestHeaders().getFirst("Fencepost-Run-Id")));
        queue.check(grant).ifPresent(refused -> {
            throw problem(refused);
        });
        byte[] bytes = exchange.getRequestBody().readAllBytes();
        String sha256;
        try {
            sha256 = HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (GeneralSecurityException e) {
            throw new IOException(e);
        }
        Artifact artifact = new Artifact(
                id,
                grant.fence().value(),
                name,
                exchange.getRequestHeaders().getFirst("Content-Type"),
                bytes.length,
                sha256,
                Instant.now());
        if (queue.addArtifact(grant, artifact) instanceof WorkAnswer.Refused refused) {
            throw problem(refused);
        }
        files.put(id + "/" + grant.fence() + "/" + name, bytes);
        return new Reply(
                201,
                MAPPER.writeValueAsBytes(MAPPER.createObjectNode()
                        .put("name", name)
                        .put("size", bytes.length)
                        .put("sha256", sha256)
                        .put("fence", grant.fence().value())));
    }

    private Reply artifacts(String id) throws IOException {
        if (queue.item(id) == null) {
            throw new Problem(404, "there is no such item", Refusal.UNKNOWN.name(), null);
        }
        List<ObjectNode> all = new ArrayList<>();
        for (Artifact each : queue.artifacts(id)) {
            all.add(MAPPER.createObjectNode()
                    .put("name", each.name())
                    .put("fence", each.fence())
                    .put("size", each.size())
                    .put("sha256", each.sha256())
                    .put("type", each.type())
                    .put("at", each.at().toString()));
        }
        return new Reply(200, list("artifacts", all));
    }

    private Reply file(String id, String fence, String name) {
        byte[] bytes = files.get(id + "/" + fence + "/" + name);
        if (bytes == null) {
            throw new Problem(404, "there is no such file", Refusal.UNKNOWN.name(), null);
        }
        return new Reply(200, bytes);
    }

    /** What was handed in, by item, token and name; null if nothing was. */
    public byte @Nullable [] file(String id, long fence, String name) {
        return files.get(id + "/" + fence + "/" + name);
    }

    /** Another file lies in the place of what was handed in. */
    public void spoil(String id, long fence, String name, byte[] bytes) {
        files.put(id + "/" + fence + "/" + name, bytes);
    }

    private Reply prune(HttpExchange exchange) throws IOException {
        Duration age = DurationText.parse(text(body(exchange, "older_than"), "older_than"));
        int items = queue.prune(now.instant().minus(age), 2).items();
        return new Reply(
                200,
                MAPPER.writeValueAsBytes(
                        MAPPER.createObjectNode().put("items", items).put("more", items == 2)));
    }

    private Reply queues() throws IOException {
        List<ObjectNode> all = new ArrayList<>();
        for (WorkQueue.QueueView each : queue.queues()) {
            all.add(MAPPER.createObjectNode()
                    .put("queue", each.queue())
                    .put("ready", each.ready())
                    .put("claimed", each.claimed())
                    .put("done", each.done())
                    .put("dead", each.dead())
                    .put("capacity", each.capacity())
                    .put(
                            "oldest_ready",
                            each.oldestReady() == null
                                    ? null
                                    : each.oldestReady().toString()));
        }
        return new Reply(200, list("queues", all));
    }

    private Reply capacity(HttpExchange exchange, String name) throws IOException {
        JsonNode capacity = body(exchange, "capacity").get("capacity");
        queue.setCapacity(name, capacity == null || capacity.isNull() ? null : Integer.valueOf(capacity.intValue()));
        return new Reply(200, "{}".getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] list(String name, List<ObjectNode> entries) throws IOException {
        ArrayNode array = MAPPER.createArrayNode();
        entries.forEach(array::add);
        return MAPPER.writeValueAsBytes(MAPPER.createObjectNode().set(name, array));
    }

    private static ObjectNode json(WorkItem item, boolean whole) {
        ObjectNode json = MAPPER.createObjectNode()
                .put("id", item.id())
                .put("queue", item.queue())
                .put("state", item.state().name())
                .put("done", item.isDone())
                .put("priority", item.priority())
                .put(
                        "not_before",
                        item.notBefore() == null ? null : item.notBefore().toString())
                .put("attempts", item.attempts())
                .put("max_attempts", item.maxAttempts())
                .put("fence", item.fence())
                .put("owner", item.owner() == null ? null : item.owner().text())
                .put("run_id", item.runId() == null ? null : item.runId().toString())
                .put("until", item.until() == null ? null : item.until().toString())
                .put("reason", item.reason())
                .put("enqueued_at", item.enqueuedAt().toString())
                .put("ended_at", item.endedAt() == null ? null : item.endedAt().toString())
                .put("of_a_newer_version", true);
        if (whole) {
            put(json, "payload", "content_type", item.payload());
            put(json, "result", "result_type", item.result());
        }
        return json;
    }

    private static void put(ObjectNode json, String name, String type, @Nullable Body body) {
        if (body == null) {
            json.putNull(name);
            return;
        }
        String text = new String(body.bytes(), StandardCharsets.UTF_8);
        boolean isText = Arrays.equals(text.getBytes(StandardCharsets.UTF_8), body.bytes()) && text.indexOf('\0') < 0;
        json.put(
                isText ? name : name + "_base64",
                isText ? text : Base64.getEncoder().encodeToString(body.bytes()));
        json.put(type, body.type());
    }
}
