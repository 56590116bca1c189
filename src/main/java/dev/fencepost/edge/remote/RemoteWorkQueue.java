package dev.fencepost.edge.remote;

import dev.fencepost.edge.remote.Api.Answer;
import dev.fencepost.edge.remote.Api.Call;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.Leases;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
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
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The queue of a server, over its HTTP API.
 *
 * <p>What only looks, and what may be done twice, is tried a few times. Everything under a lease is sent once: a missing answer is a
 * {@link StoreException}, of the kind {@code AMBIGUOUS} if the request may have arrived. What the server calls a bad request is an
 * {@link IllegalArgumentException}. The run id of a claim is chosen by the server: the one that is given here is not sent, and the item
 * in the answer has the one that counts. The item of a refusal comes without payload and result. A grant without a run id gets the one that the server has for its owner and token.
 *
 * <p>Safe for use by many threads.
 */
public final class RemoteWorkQueue implements WorkQueue, AutoCloseable {

    public static final Duration LONGEST_WAIT = Duration.ofSeconds(60);

    private static final Duration LIMIT = Duration.ofSeconds(15);

    /** A file may take so long, and a second more for each of so many bytes. */
    private static final Duration FILE_LIMIT = Duration.ofSeconds(60);

    private static final long SLOWEST_BYTES_A_SECOND = 32 << 10;

    private static final long SMALL_ANSWER = 64 << 10;

    /** Payload and result of the largest size, each character as an escape of six. */
    private static final long ITEM_ANSWER = 13L << 20;

    private static final long LIST_ANSWER = 16L << 20;

    private static final Map<String, String> JSON = Map.of("Content-Type", "application/json");

    /** Media types of files, by the end of their names. */
    private static final Map<String, String> TYPES = Map.ofEntries(
            Map.entry("txt", "text/plain"),
            Map.entry("log", "text/plain"),
            Map.entry("md", "text/markdown"),
            Map.entry("csv", "text/csv"),
            Map.entry("html", "text/html"),
            Map.entry("json", "application/json"),
            Map.entry("xml", "application/xml"),
            Map.entry("pdf", "application/pdf"),
            Map.entry("zip", "application/zip"),
            Map.entry("gz", "application/gzip"),
            Map.entry("png", "image/png"),
            Map.entry("jpg", "image/jpeg"),
            Map.entry("jpeg", "image/jpeg"),
            Map.entry("webp", "image/webp"),
            Map.entry("svg", "image/svg+xml"));

    private final Api api;
    private final Entropy entropy;

    /**
     * @param server scheme, host, port, and the path that a proxy puts before the API, if any
     * @throws IllegalArgumentException if this is no address of a server
     */
    public RemoteWorkQueue(URI server, BearerToken token, Time time, Spawner spawner, Entropy entropy) {
        this.api = new Api(checked(server), token, time, spawner, entropy);
        this.entropy = entropy;
    }

    private static URI checked(URI server) {
        boolean known = "http".equals(server.getScheme()) || "https".equals(server.getScheme());
        if (!known || server.getHost() == null) {
            throw new IllegalArgumentException("write the address as http://HOST:PORT or https://HOST");
        }
        if (server.getRawUserInfo() != null || server.getRawQuery() != null || server.getRawFragment() != null) {
            throw new IllegalArgumentException("the address has scheme, host, port and path alone");
        }
        return URI.create(server.toString().replaceAll("/+$", ""));
    }

    @Override
    public Enqueued enqueue(NewItem item) {
        Body payload = item.payload();
        String text = payload == null ? null : Items.text(payload.bytes());
        Call call = write(
                "POST",
                "/items",
                LIMIT,
                ITEM_ANSWER,
                "id",
                item.id(),
                "queue",
                item.queue(),
                "payload",
                text,
                "payload_base64",
                payload == null || text != null ? null : Items.base64(payload.bytes()),
                "content_type",
                payload == null ? null : payload.type(),
                "priority",
                item.priority(),
                "not_before",
                item.notBefore(),
                "max_attempts",
                item.maxAttempts());
        Answer answer = good(call, api.send(call));
        return read(call, answer, fields -> new Enqueued(answer.status() == 201, Items.item(fields)));
    }

    @Override
    public @Nullable WorkItem item(String id) {
        Call call = look(path(id), ITEM_ANSWER);
        Answer answer = api.sendRepeatedly(call);
        if (reason(answer) == Refusal.UNKNOWN) {
            return null;
        }
        return read(call, good(call, answer), Items::item);
    }

    @Override
    public List<WorkItem> items(@Nullable String queue, @Nullable WorkState state, int limit) {
        String query = "/items?limit=" + limit + (queue == null ? "" : "&queue=" + encoded(queue))
                + (state == null ? "" : "&state=" + state);
        return list(look(query, LIST_ANSWER), "items", Items::item);
    }

    @Override
    public WorkAnswer claimItem(String id, Owner owner, RunId notSent, Duration ttl) {
        Leases.checkTtl(ttl);
        return answer(write("POST", path(id) + "/claim", LIMIT, ITEM_ANSWER, "owner", owner, "ttl", text(ttl)));
    }

    @Override
    public List<WorkItem> claimAny(String queue, Owner owner, List<RunId> asMany, Duration ttl) {
        return claimAny(queue, owner, asMany.size(), ttl, Duration.ZERO);
    }

    /**
     * Claims up to so many, and waits for the first one if there is none.
     *
     * @param wait at most {@link #LONGEST_WAIT}. The lease may begin at its end; so whoever counts its time from before the call
     *     waits a small part of the ttl only
     */
    public List<WorkItem> claimAny(String queue, Owner owner, int max, Duration ttl, Duration wait) {
        Leases.checkTtl(ttl);
        Call call = write(
                "POST",
                "/claims?wait=" + text(wait),
                wait.plus(LIMIT),
                ITEM_ANSWER * max,
                "queue",
                queue,
                "owner",
                owner,
                "ttl",
                text(ttl),
                "max",
                max);
        return list(call, api.send(call), "items", Items::item);
    }

    @Override
    public WorkAnswer renew(Grant grant, Duration ttl) {
        return renew(grant, ttl, LIMIT);
    }

    /** @param limit for the answer: a call that hangs has to leave time for others within the lease */
    public WorkAnswer renew(Grant grant, Duration ttl, Duration limit) {
        Leases.checkTtl(ttl);
        return underGrant(grant, "renew", limit, "ttl", text(ttl));
    }

    @Override
    public WorkAnswer complete(Grant grant, @Nullable Body result) {
        return underGrant(grant, "complete", LIMIT, fields(result));
    }

    private static @Nullable Object[] fields(@Nullable Body result) {
        String text = result == null ? null : Items.text(result.bytes());
        return new @Nullable Object[] {
            "result",
            text,
            "result_base64",
            result == null || text != null ? null : Items.base64(result.bytes()),
            "content_type",
            result == null ? null : result.type()
        };
    }

    @Override
    public List<WorkAnswer> completeAll(List<ItemResult> results) {
        WorkQueue.checkResults(results);
        List<@Nullable Object[]> list = new ArrayList<>();
        for (ItemResult each : results) {
            List<@Nullable Object> fields =
                    new ArrayList<>(Arrays.asList("id", each.grant().id()));
            fields.addAll(shown(each.grant()));
            fields.addAll(Arrays.asList(fields(each.result())));
            list.add(fields.toArray(new Object[0]));
        }
        Call call = write("POST", "/completions", LIMIT, LIST_ANSWER, "results", list);
        return read(call, good(call, api.send(call)), answer -> {
            List<WorkAnswer> answers = new ArrayList<>();
            for (Fields each : answer.objects("answers")) {
                answers.add(Items.answer(each));
            }
            if (answers.size() != results.size()) {
                throw new IOException(answers.size() + " answers to " + results.size() + " results");
            }
            return answers;
        });
    }

    @Override
    public WorkAnswer fail(Grant grant, String reason, @Nullable Duration again) {
        return underGrant(
                grant,
                "fail",
                LIMIT,
                "reason",
                reason,
                "retry_after",
                again == null ? null : text(again),
                "dead",
                again == null ? true : null);
    }

    @Override
    public WorkAnswer release(Grant grant) {
        return underGrant(grant, "release", LIMIT);
    }

    private WorkAnswer underGrant(Grant grant, String what, Duration limit, @Nullable Object... namesAndValues) {
        List<@Nullable Object> fields = new ArrayList<>(shown(grant));
        fields.addAll(Arrays.asList(namesAndValues));
        return answer(write("POST", path(grant.id()) + "/" + what, limit, ITEM_ANSWER, fields.toArray(new Object[0])));
    }

    private List<@Nullable Object> shown(Grant grant) {
        return Arrays.asList("owner", grant.owner(), "fence", grant.fence().value(), "run_id", runId(grant));
    }

    /** One that fits nothing leads to the refusal with its reason. */
    private RunId runId(Grant grant) {
        if (grant.runId() != null) {
            return grant.runId();
        }
        WorkItem item = item(grant.id());
        if (item != null
                && item.fence() == grant.fence().value()
                && grant.owner().equals(item.owner())
                && item.runId() != null) {
            return item.runId();
        }
        return new RunId(entropy.uuid());
    }

    @Override
    public Optional<WorkAnswer.Refused> check(Grant grant) {
        WorkItem item = item(grant.id());
        Refusal reason;
        if (item == null) {
            reason = Refusal.UNKNOWN;
        } else if (item.isDone()) {
            reason = Refusal.ALREADY_DONE;
        } else if (item.fence() > grant.fence().value()) {
            reason = Refusal.STALE_TOKEN;
        } else if (item.state() == WorkState.DEAD) {
            reason = Refusal.DEAD;
        } else if (item.state() == WorkState.READY) {
            reason = Refusal.EXPIRED;
        } else if (!grant.owner().equals(item.owner())
                || item.fence() != grant.fence().value()
                || (grant.runId() != null && !grant.runId().equals(item.runId()))) {
            reason = Refusal.NOT_OWNER;
        } else {
            return Optional.empty();
        }
        return Optional.of(new WorkAnswer.Refused(reason, item));
    }

    /**
     * Hands a file in. May be repeated: the same name under the same token replaces.
     *
     * @return the answer; what the server has stored is compared with the file
     * @throws IOException if the file cannot be read, is no plain file, or has changed under way
     */
    public Upload upload(Grant grant, String name, Path file) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new IOException(file.getFileName() + " is no plain file");
        }
        long size = Files.size(file);
        String sha256 = sha256(file);
        BodyPublisher body =
                BodyPublishers.fromPublisher(BodyPublishers.ofInputStream(() -> opened(file)), Math.max(1, size));
        Call call = new Call(
                "PUT",
                path(grant.id()) + "/artifacts/" + encoded(name),
                size == 0 ? BodyPublishers.noBody() : body,
                Map.of(
                        "Content-Type",
                        type(name),
                        "Fencepost-Sha256",
                        sha256,
                        "Fencepost-Owner",
                        grant.owner().text(),
                        "Fencing-Token",
                        grant.fence().toString(),
                        "Fencepost-Run-Id",
                        runId(grant).toString()),
                true,
                FILE_LIMIT.plusSeconds(size / SLOWEST_BYTES_A_SECOND),
                SMALL_ANSWER);
        Answer answer = api.send(call);
        WorkAnswer.Refused refused = refused(answer);
        if (refused != null) {
            return new Upload.Refused(refused.reason());
        }
        return read(call, good(call, answer), stored -> {
            if (stored.number("size") != size || !stored.text("sha256").equalsIgnoreCase(sha256)) {
                throw new IOException("the server has stored other bytes than " + file.getFileName() + " holds");
            }
            return new Upload.Stored(size, sha256);
        });
    }

    /** What became of a file. */
    public sealed interface Upload {

        record Stored(long size, String sha256) implements Upload {}

        record Refused(Refusal reason) implements Upload {}
    }

    private static String type(String name) {
        return TYPES.getOrDefault(
                name.substring(name.lastIndexOf('.') + 1).toLowerCase(Locale.ROOT), "application/octet-stream");
    }

    private static @Nullable InputStream opened(Path file) {
        try {
            return Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS);
        } catch (IOException e) {
            return null; // the publisher's word for it; the request fails
        }
    }

    /** Over HTTP the record of a file is made by its upload. */
    @Override
    public WorkAnswer addArtifact(Grant grant, Artifact artifact) {
        throw new UnsupportedOperationException("a file is handed in together with its bytes, by upload");
    }

    @Override
    public List<Artifact> artifacts(String id) {
        Call call = look(path(id) + "/artifacts", LIST_ANSWER);
        Answer answer = api.sendRepeatedly(call);
        return reason(answer) == Refusal.UNKNOWN
                ? List.of()
                : list(call, answer, "artifacts", fields -> Items.artifact(id, fields));
    }

    /**
     * Fetches the bytes of a file into a new one, and compares them with the record.
     *
     * @throws IOException if the file cannot be written, or what came is something else than was recorded; the file is to be thrown away
     */
    public void download(Artifact artifact, Path to) throws IOException {
        Call call = new Call(
                "GET",
                path(artifact.item()) + "/artifacts/" + artifact.fence() + "/" + encoded(artifact.name()),
                BodyPublishers.noBody(),
                Map.of(),
                false,
                FILE_LIMIT.plusSeconds(artifact.size() / SLOWEST_BYTES_A_SECOND),
                Math.max(artifact.size(), SMALL_ANSWER));
        BodyHandler<byte[]> toFile = head -> head.statusCode() == 200 ? intoFile(to) : BodySubscribers.ofByteArray();
        good(call, api.send(call, toFile));
        if (Files.size(to) != artifact.size() || !sha256(to).equalsIgnoreCase(artifact.sha256())) {
            throw new IOException("what came of " + artifact.name() + " is not what was handed in");
        }
    }

    private static BodySubscriber<byte[]> intoFile(Path file) {
        return BodySubscribers.mapping(
                BodySubscribers.ofFile(
                        file,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.WRITE,
                        StandardOpenOption.TRUNCATE_EXISTING),
                written -> new byte[0]);
    }

    private static String sha256(Path file) throws IOException {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            try (InputStream in =
                    new DigestInputStream(Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS), digest)) {
                byte[] buffer = new byte[64 << 10];
                int read = in.read(buffer);
                while (read >= 0) {
                    read = in.read(buffer);
                }
            }
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    @Override
    public void setCapacity(String queue, @Nullable Integer capacity) {
        byte[] json = ("{\"capacity\":" + capacity + "}").getBytes(StandardCharsets.UTF_8);
        Call call = new Call(
                "PUT", "/queues/" + encoded(queue), BodyPublishers.ofByteArray(json), JSON, true, LIMIT, SMALL_ANSWER);
        good(call, api.sendRepeatedly(call));
    }

    @Override
    public List<QueueView> queues() {
        return list(look("/queues", LIST_ANSWER), "queues", Items::queue);
    }

    /** A server goes by its store's clock, and deletes its files itself. */
    @Override
    public Pruned prune(Instant endedBefore, int limit) {
        throw new UnsupportedOperationException("a server is told an age, not an instant");
    }

    /**
     * Lets the server prune once. May be repeated.
     *
     * @param olderThan by the clock of its store
     */
    public Gone prune(Duration olderThan) {
        Call call = write("POST", "/prune", LIMIT, SMALL_ANSWER, "older_than", text(olderThan));
        return read(
                call,
                good(call, api.send(call)),
                fields -> new Gone(fields.smallNumber("items"), fields.truth("more")));
    }

    /** @param more whether there may be more to go */
    public record Gone(int items, boolean more) {}

    @Override
    public Map<String, Long> prunedTokens(Collection<String> ids) {
        throw new UnsupportedOperationException("who keeps the files asks its store for this");
    }

    @Override
    public void close() {
        api.close();
    }

    @Override
    public String toString() {
        return api.toString();
    }

    // What was said, and what it means.

    private WorkAnswer answer(Call call) {
        Answer answer = api.send(call);
        WorkAnswer.Refused refused = refused(answer);
        return refused != null
                ? refused
                : read(call, good(call, answer), fields -> new WorkAnswer.Done(Items.item(fields)));
    }

    private static WorkAnswer.@Nullable Refused refused(Answer answer) {
        Refusal reason = reason(answer);
        if (reason == null) {
            return null;
        }
        try {
            Fields item = Fields.parse(answer.body()).objectIfAny("item");
            return new WorkAnswer.Refused(reason, item == null ? null : Items.item(item));
        } catch (IOException unreadable) {
            return new WorkAnswer.Refused(reason, null); // the reason is what counts
        }
    }

    /** The reason of a refusal, or null if this is none. */
    private static @Nullable Refusal reason(Answer answer) {
        if (answer.status() != 404 && answer.status() != 409) {
            return null;
        }
        try {
            String reason = Fields.parse(answer.body()).textIfAny("reason");
            return reason == null ? null : Refusal.valueOf(reason);
        } catch (IOException | IllegalArgumentException noRefusalOfOurs) {
            return null;
        }
    }

    private Answer good(Call call, Answer answer) {
        if (answer.isFine()) {
            return answer;
        }
        String detail = Api.detail(answer);
        switch (answer.status()) {
            case 400, 422 ->
                throw new IllegalArgumentException("the " + api + " says" + (detail.isEmpty() ? " 400" : detail));
            case 404 -> throw api.broken("has no work queue at this address (404)" + detail, null);
            case 413 -> throw api.broken("takes nothing as large as this (413)" + detail, null);
            default -> throw api.broken("answers " + call.method() + " with " + answer.status() + detail, null);
        }
    }

    private interface Reading<T> {
        T of(Fields fields) throws IOException;
    }

    /** An answer that is not understood, of a proxy perhaps, is none. */
    private <T> T read(Call call, Answer answer, Reading<T> reading) {
        try {
            return reading.of(Fields.parse(answer.body()));
        } catch (IOException e) {
            throw api.noAnswer(call, "its answer is not understood: " + e.getMessage(), e);
        }
    }

    private <T> List<T> list(Call call, String name, Reading<T> each) {
        return list(call, api.sendRepeatedly(call), name, each);
    }

    private <T> List<T> list(Call call, Answer answer, String name, Reading<T> each) {
        return read(call, good(call, answer), fields -> {
            List<T> list = new ArrayList<>();
            for (Fields entry : fields.objects(name)) {
                list.add(each.of(entry));
            }
            return list;
        });
    }

    private static Call look(String path, long largestAnswer) {
        return new Call("GET", path, BodyPublishers.noBody(), Map.of(), false, LIMIT, largestAnswer);
    }

    private static Call write(
            String method, String path, Duration limit, long largestAnswer, @Nullable Object... namesAndValues) {
        return new Call(
                method,
                path,
                BodyPublishers.ofByteArray(Fields.write(namesAndValues)),
                JSON,
                true,
                limit,
                largestAnswer);
    }

    private static String text(Duration duration) {
        long millis = duration.toMillis();
        return millis % 1000 == 0 ? millis / 1000 + "s" : millis + "ms";
    }

    private static String path(String id) {
        return "/items/" + encoded(id);
    }

    private static String encoded(String part) {
        return URLEncoder.encode(part, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
