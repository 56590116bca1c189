package dev.fencepost.edge.web;

import static dev.fencepost.fuzz.Shape.isForPeople;
import static dev.fencepost.fuzz.Shape.require;
import static dev.fencepost.fuzz.Shape.same;

import dev.fencepost.fuzz.Shape;
import dev.fencepost.host.AddressRange;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.ManualTime;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.ItemResult;
import dev.fencepost.work.MemoryWorkQueue;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkItem;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/** What comes in over HTTP. */
public final class FuzzedRequests {

    private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
    private static final List<String> FIELDS = List.of(
            "id",
            "queue",
            "owner",
            "fence",
            "run_id",
            "ttl",
            "max",
            "payload",
            "payload_base64",
            "content_type",
            "priority",
            "not_before",
            "max_attempts",
            "reason",
            "retry_after",
            "dead",
            "capacity");
    private static final Fields.ListField RESULTS = new Fields.ListField(
            "results", 1_000, List.of("id", "owner", "fence", "run_id", "result", "result_base64", "content_type"));
    private static final TrustedProxies PROXIES =
            new TrustedProxies(List.of(AddressRange.parse("10.0.0.0/8"), AddressRange.parse("::1")));

    private FuzzedRequests() {}

    /** The first byte chooses what the body is for. Whatever is wrong with it is told to the client, as a mistake of his. */
    public static void body(byte[] input, Path folder) {
        byte[] body = input.length == 0 ? input : Arrays.copyOfRange(input, 1, input.length);
        try {
            switch (Shape.choice(input, 4)) {
                case 0 -> enqueue(Fields.read(body, FIELDS));
                case 1 -> {
                    Grant grant = Requests.grant("item", Fields.read(body, FIELDS));
                    require(grant.runId() != null, "a grant without a run id");
                }
                case 2 -> {
                    Fields fields = Fields.read(body, FIELDS);
                    Duration ttl = fields.duration("ttl", Duration.ofMillis(1), Duration.ofDays(30));
                    require(ttl.isPositive() && ttl.compareTo(Duration.ofDays(30)) <= 0, "ttl " + ttl);
                    fields.text("reason");
                    fields.flag("dead");
                    fields.numberOrNull("capacity", 1, 100);
                }
                default -> {
                    List<ItemResult> results = Fields.read(body, RESULTS)
                            .each(
                                    "results",
                                    fields -> new ItemResult(
                                            Requests.grant(fields.text("id"), fields),
                                            Requests.body(fields, "result")));
                    require(!results.isEmpty(), "no results are no results");
                }
            }
        } catch (Problem problem) {
            isTold(problem);
        }
    }

    private static void enqueue(Fields fields) {
        Body payload = Requests.body(fields, "payload");
        Long priority = fields.number("priority", -NewItem.MOST_PRIORITY, NewItem.MOST_PRIORITY);
        Instant notBefore = fields.instant("not_before");
        NewItem item = new NewItem(
                Requests.id(fields.text("id")),
                Requests.queue(fields.textOrNull("queue")),
                payload,
                priority == null ? 0 : priority.intValue(),
                notBefore,
                5);
        WorkItem stored = new MemoryWorkQueue(() -> NOW).enqueue(item).item();
        require(Forms.bytes(Forms.item(stored)).length > 0, "an item without a form");
    }

    private static void isTold(Problem problem) {
        require(problem.status() >= 400 && problem.status() < 500, "status " + problem.status());
        isForPeople("detail", problem.detail());
    }

    /** The first byte chooses: a header, a length of time, a file of tokens. */
    public static void texts(byte[] input, Path folder) throws IOException {
        String text = Shape.text(input, 1);
        switch (Shape.choice(input, 3)) {
            case 0 -> isForPeople("address", PROXIES.client("10.1.2.3", List.of(text)));
            case 1 -> {
                try {
                    Duration most = Duration.ofDays(366);
                    Duration duration = Durations.parse("wait", text, Duration.ZERO, most);
                    require(!duration.isNegative() && duration.compareTo(most) <= 0, "duration " + duration);
                } catch (Problem problem) {
                    isTold(problem);
                }
            }
            default -> {
                Path file = folder.resolve("tokens");
                Files.deleteIfExists(file);
                Files.createFile(
                        file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
                Files.write(file, text.getBytes(StandardCharsets.UTF_8));
                try {
                    List<Token> tokens = new TokenFile(file).read().tokens();
                    require(tokens.stream().distinct().count() == tokens.size(), "a token twice");
                } catch (TokenFile.BadFile bad) {
                    isForPeople("message", bad.getMessage());
                }
            }
        }
    }

    /** Three texts with a NUL between: an item, a file's name, its content. What is kept lies below the folder, and is found by its name. */
    public static void artifactName(byte[] input, Path folder) throws IOException {
        List<String> parts = Shape.parts(input, 3);
        String id = parts.get(0);
        String name = parts.get(1);
        byte[] content = parts.get(2).getBytes(StandardCharsets.UTF_8);
        try {
            Requests.id(id);
            ArtifactResource.checkName(name);
        } catch (Problem problem) {
            isTold(problem);
            return;
        }
        Path home = Files.createDirectories(folder.resolve("home"));
        Path root = home.resolve("artifacts");
        MemoryWorkQueue queue = new MemoryWorkQueue(() -> NOW);
        queue.enqueue(new NewItem(id, "q", null, 0, null, 1));
        RunId run = new RunId(new UUID(1, 1));
        Owner owner = new Owner("worker");
        queue.claimItem(id, owner, run, Duration.ofMinutes(1));
        Artifacts artifacts = Artifacts.open(root, queue, new Numbers(), event -> {});
        Artifacts.Received received = artifacts.receive(
                new ByteArrayInputStream(content),
                new Intake(1 << 20, Duration.ofSeconds(5), Duration.ofSeconds(5), 1),
                new ManualTime(NOW));
        Grant grant = new Grant(id, owner, new FencingToken(1), run);
        artifacts.keep(received, grant, new Artifact(id, 1, name, null, received.size(), received.sha256(), NOW));
        Artifact found = artifacts.find(id, 1, name);
        same("size", (long) content.length, found == null ? null : found.size());
        try (Stream<Path> outside = Files.list(home)) {
            same("files beside the folder", List.of(root), outside.toList());
        }
        delete(root);
    }

    /** One after the other. */
    private static final class Numbers implements Entropy {
        private final AtomicLong last = new AtomicLong();

        @Override
        public UUID uuid() {
            return new UUID(2, last.incrementAndGet());
        }

        @Override
        public double fraction() {
            return 0.5;
        }
    }

    private static void delete(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
