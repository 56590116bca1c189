package dev.fencepost.edge.remote;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.remote.ApiServer.Fault;
import dev.fencepost.edge.remote.RemoteWorkQueue.Upload;
import dev.fencepost.host.TestThreads;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.ItemResult;
import dev.fencepost.work.MemoryWorkQueue;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue;
import dev.fencepost.work.WorkQueue.QueueView;
import dev.fencepost.work.WorkState;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class RemoteWorkQueueTest {

    private static final Instant START = Instant.parse("2026-11-29T10:00:00Z");
    private static final Duration TTL = Duration.ofMinutes(1);
    private static final Owner OWNER = new Owner("worker-a");

    private final AtomicReference<Instant> now = new AtomicReference<>(START);
    private final MemoryWorkQueue stored = new MemoryWorkQueue(now::get);

    @TempDir
    private Path dir;

    private ApiServer server;
    private RemoteWorkQueue queue;

    @BeforeEach
    void setUp() throws IOException {
        server = new ApiServer(stored);
        queue = queue(ApiServer.TOKEN);
    }

    @AfterEach
    void close() {
        queue.close();
        server.close();
    }

    private RemoteWorkQueue queue(String token) {
        return new RemoteWorkQueue(
                server.address(), new BearerToken(token), new SystemTime(), new TestThreads(), new SystemEntropy());
    }

    private static NewItem item(String id) {
        return new NewItem(id, "pages", null, 0, null, 5);
    }

    private Grant claimed(String id) {
        stored.enqueue(item(id));
        WorkItem item = done(queue.claimItem(id, OWNER, new RunId(UUID.randomUUID()), TTL));
        return new Grant(id, OWNER, new FencingToken(item.fence()), item.runId());
    }

    private static WorkItem done(WorkAnswer answer) {
        return assertInstanceOf(WorkAnswer.Done.class, answer).item();
    }

    private static WorkAnswer.Refused refused(Refusal reason, WorkAnswer answer) {
        WorkAnswer.Refused refused = assertInstanceOf(WorkAnswer.Refused.class, answer);
        assertEquals(reason, refused.reason());
        return refused;
    }

    @Test
    void anItemIsTheSameOnBothSides() {
        byte[] binary = {0, -1, 7};
        Instant later = START.plusSeconds(60);
        for (NewItem item : List.of(
                item("plain"),
                new NewItem(
                        "a:b@c+d=e-f",
                        "q",
                        new Body("föö\n\"".getBytes(StandardCharsets.UTF_8), "text/x"),
                        -3,
                        later,
                        1),
                new NewItem("binary", "q", new Body(binary, null), 1_000_000, null, 1_000))) {
            assertTrue(queue.enqueue(item).created());
            assertFalse(queue.enqueue(item).created());
            WorkItem there = Objects.requireNonNull(stored.item(item.id()));
            WorkItem here = Objects.requireNonNull(queue.item(item.id()));
            assertEquals(there.toString(), here.toString());
            if (item.payload() != null) {
                assertArrayEquals(
                        item.payload().bytes(),
                        Objects.requireNonNull(here.payload()).bytes());
                assertEquals(item.payload().type(), here.payload().type());
            }
        }
        assertNull(queue.item("nobody"));
        assertEquals(
                List.of("binary", "a:b@c+d=e-f"),
                queue.items("q", WorkState.READY, 10).stream().map(WorkItem::id).toList());
        assertEquals(1, queue.items(null, null, 1).size());
    }

    @Test
    void theLifeOfAnItem() {
        Grant grant = claimed("a");
        now.set(START.plusSeconds(30));
        assertEquals(START.plusSeconds(90), done(queue.renew(grant, TTL)).until());
        WorkItem end = done(queue.complete(grant, new Body("fine".getBytes(StandardCharsets.UTF_8), "text/plain")));
        assertTrue(end.isDone());
        assertEquals("fine", new String(Objects.requireNonNull(end.result()).bytes(), StandardCharsets.UTF_8));
        WorkAnswer.Refused late = refused(Refusal.ALREADY_DONE, queue.complete(grant, null));
        assertTrue(Objects.requireNonNull(late.item()).isDone());
    }

    @Test
    void bytesThatWouldGrowAsTextTravelAsBase64() {
        byte[] controls = "\u0001".repeat(1 << 20).getBytes(StandardCharsets.UTF_8);
        byte[] quotes = "\"".repeat(1 << 20).getBytes(StandardCharsets.UTF_8);
        for (byte[] bytes : List.of(controls, quotes)) {
            String id = "a" + bytes[0];
            assertNull(Items.text(bytes));
            queue.enqueue(new NewItem(id, "q", new Body(bytes, null), 0, null, 1));
            assertArrayEquals(
                    bytes,
                    Objects.requireNonNull(
                                    Objects.requireNonNull(queue.item(id)).payload())
                            .bytes());
        }
    }

    @Test
    void aRefusalBringsItsReasonAndTheItem() {
        Grant grant = claimed("a");
        refused(Refusal.UNKNOWN, queue.claimItem("nobody", OWNER, Objects.requireNonNull(grant.runId()), TTL));
        WorkAnswer.Refused held = refused(Refusal.HELD, queue.claimItem("a", OWNER, grant.runId(), TTL));
        assertEquals(OWNER, Objects.requireNonNull(held.item()).owner());
        Grant other = new Grant("a", new Owner("worker-b"), grant.fence(), grant.runId());
        refused(Refusal.NOT_OWNER, queue.renew(other, TTL));
        now.set(START.plusSeconds(60));
        refused(Refusal.EXPIRED, queue.renew(grant, TTL));
        queue.claimItem("a", new Owner("worker-b"), grant.runId(), TTL);
        refused(Refusal.STALE_TOKEN, queue.complete(grant, null));
        refused(Refusal.STALE_TOKEN, queue.fail(grant, "late", null));
        refused(Refusal.STALE_TOKEN, queue.release(grant));
        assertEquals(Refusal.STALE_TOKEN, queue.check(grant).orElseThrow().reason());
        assertEquals(2, Objects.requireNonNull(stored.item("a")).fence());
    }

    @Test
    void resultsTogetherAreAnsweredInTheirOrder() {
        Grant a = claimed("a");
        Grant b = claimed("b");
        Body binary = new Body(new byte[] {0, -1, 7}, "a/b");
        Body text = new Body("fine".getBytes(StandardCharsets.UTF_8), null);
        List<WorkAnswer> answers = queue.completeAll(List.of(
                new ItemResult(new Grant("a", new Owner("worker-b"), a.fence(), a.runId()), text),
                new ItemResult(b, binary),
                new ItemResult(new Grant("a", OWNER, a.fence(), null), text),
                new ItemResult(new Grant("nobody", OWNER, a.fence(), a.runId()), null),
                new ItemResult(b, null)));
        assertEquals(5, answers.size());
        assertEquals(
                OWNER,
                Objects.requireNonNull(
                                refused(Refusal.NOT_OWNER, answers.get(0)).item())
                        .owner());
        assertEquals("b", done(answers.get(1)).id());
        assertTrue(done(answers.get(2)).isDone());
        assertNull(refused(Refusal.UNKNOWN, answers.get(3)).item());
        refused(Refusal.ALREADY_DONE, answers.get(4));
        Body stored = Objects.requireNonNull(stored(b).result());
        assertArrayEquals(binary.bytes(), stored.bytes());
        assertEquals("a/b", stored.type());
        assertEquals(
                "fine", new String(Objects.requireNonNull(stored(a).result()).bytes(), StandardCharsets.UTF_8));
        assertEquals(1, sent("POST /completions"));
        assertThrows(IllegalArgumentException.class, () -> queue.completeAll(List.of()));
    }

    private WorkItem stored(Grant grant) {
        return Objects.requireNonNull(stored.item(grant.id()));
    }

    /** So is the least room that a server gives enough for the most. */
    @Test
    void theLargestResultsTogetherFitIntoOneRequest() {
        List<ItemResult> results = new ArrayList<>();
        Owner owner = new Owner("\u20AC".repeat(Owner.MAX_LENGTH));
        for (int i = 0; i < WorkQueue.MOST_AT_ONCE; i++) {
            byte[] bytes = new byte[WorkQueue.MOST_RESULT_BYTES / WorkQueue.MOST_AT_ONCE];
            Grant grant = new Grant(
                    "%0200d".formatted(i), owner, new FencingToken(Long.MAX_VALUE), new RunId(UUID.randomUUID()));
            results.add(new ItemResult(grant, new Body(bytes, "\u20AC".repeat(Body.MAX_TYPE_LENGTH))));
        }
        assertEquals(
                WorkQueue.MOST_AT_ONCE,
                queue.completeAll(results).stream()
                        .filter(answer -> refused(Refusal.UNKNOWN, answer).item() == null)
                        .count());
        assertTrue(server.largestBody() < 3 << 20, server.largestBody() + " bytes");
    }

    @Test
    void failedAndGivenBack() {
        Grant grant = claimed("a");
        WorkItem failed = done(queue.fail(grant, "exit code 3", Duration.ofMillis(1500)));
        assertEquals("exit code 3", failed.reason());
        assertEquals(START.plusMillis(1500), failed.notBefore());
        refused(Refusal.NOT_YET, queue.claimItem("a", OWNER, Objects.requireNonNull(grant.runId()), TTL));
        Grant second = claimed("b");
        assertEquals(0, done(queue.release(second)).attempts());
        assertEquals(
                WorkState.DEAD, done(queue.fail(claimed("b"), "never", null)).state());
    }

    @Test
    void whoKnowsOwnerAndTokenAloneGetsTheRunIdFromTheServer() {
        Grant grant = claimed("a");
        Grant short1 = new Grant("a", OWNER, grant.fence(), null);
        done(queue.renew(short1, TTL));
        refused(Refusal.NOT_OWNER, queue.renew(new Grant("a", new Owner("worker-b"), grant.fence(), null), TTL));
        done(queue.complete(short1, null));
        refused(Refusal.ALREADY_DONE, queue.complete(short1, null));
    }

    @Test
    void claimsOfAQueueWaitForTheFirstItem() throws Exception {
        assertEquals(List.of(), queue.claimAny("pages", OWNER, 2, TTL, Duration.ofMillis(50)));
        Thread later = Thread.ofVirtual().start(() -> {
            try {
                Thread.sleep(100); // the claim is waiting by then, most likely
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            stored.enqueue(item("a"));
        });
        List<WorkItem> claimed = queue.claimAny("pages", OWNER, 2, TTL, Duration.ofSeconds(20));
        later.join();
        assertEquals(List.of("a"), claimed.stream().map(WorkItem::id).toList());
        assertNotNull(claimed.getFirst().runId());
        stored.enqueue(item("b"));
        stored.enqueue(item("c"));
        assertEquals(
                List.of("b", "c"),
                queue
                        .claimAny(
                                "pages",
                                OWNER,
                                List.of(new RunId(UUID.randomUUID()), new RunId(UUID.randomUUID())),
                                TTL)
                        .stream()
                        .map(WorkItem::id)
                        .toList());
    }

    @Test
    void queuesAndTheirCapacity() {
        Grant grant = claimed("a");
        stored.enqueue(item("b"));
        queue.setCapacity("pages", 1);
        assertEquals(List.of(new QueueView("pages", 1, 1, 0, 0, 1, START)), queue.queues());
        refused(Refusal.AT_CAPACITY, queue.claimItem("b", OWNER, Objects.requireNonNull(grant.runId()), TTL));
        queue.setCapacity("pages", null);
        done(queue.claimItem("b", OWNER, grant.runId(), TTL));
    }

    private static StoreException thrown(StoreException.Kind kind, Runnable call) {
        StoreException e = assertThrows(StoreException.class, call::run);
        assertEquals(kind, e.kind(), e.getMessage());
        return e;
    }

    private long sent(String request) {
        return server.requests().stream().filter(request::equals).count();
    }

    @ParameterizedTest
    @EnumSource(
            value = Fault.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {"NONE", "FORBIDDEN"})
    void aWriteIsSentOnceAndMayHaveHappened(Fault fault) {
        Grant grant = claimed("a");
        server.faults((method, path) -> method.equals("POST") ? fault : Fault.NONE);
        thrown(StoreException.Kind.AMBIGUOUS, () -> queue.complete(grant, null));
        thrown(StoreException.Kind.AMBIGUOUS, () -> queue.completeAll(List.of(new ItemResult(grant, null))));
        assertEquals(1, sent("POST /completions"));
        thrown(StoreException.Kind.AMBIGUOUS, () -> queue.renew(grant, TTL));
        thrown(StoreException.Kind.AMBIGUOUS, () -> queue.claimAny("pages", OWNER, 1, TTL, Duration.ZERO));
        assertEquals(1, sent("POST /items/a/complete"));
        assertEquals(1, sent("POST /items/a/renew"));
        assertEquals(
                fault == Fault.CUT_AFTER,
                Objects.requireNonNull(stored.item("a")).isDone());
    }

    @Test
    void aLookIsTriedAgainAndNothingHasHappened() {
        stored.enqueue(item("a"));
        server.faults((method, path) -> server.requests().size() < 3 ? Fault.UNAVAILABLE : Fault.NONE);
        assertNotNull(queue.item("a"));
        assertEquals(3, sent("GET /items/a"));
        server.faults((method, path) -> Fault.CUT_BEFORE);
        thrown(StoreException.Kind.UNAVAILABLE, () -> queue.item("a"));
    }

    @Test
    void aServerThatIsNotThere() {
        Grant grant = claimed("a");
        server.down();
        StoreException e = thrown(StoreException.Kind.UNAVAILABLE, () -> queue.complete(grant, null));
        assertTrue(
                String.valueOf(e.getMessage()).startsWith("server " + server.address() + ": it cannot be reached"),
                e.getMessage());
    }

    @Test
    void aTokenThatIsNotKnownIsToldAndNotShown() {
        try (RemoteWorkQueue stranger = queue("a-strangers-token")) {
            StoreException e = thrown(StoreException.Kind.BROKEN, () -> stranger.item("a"));
            assertEquals("server " + server.address() + " does not accept the token (401)", e.getMessage());
            thrown(StoreException.Kind.BROKEN, () -> stranger.enqueue(item("a")));
        }
    }

    @Test
    void whatTheServerCallsABadRequestIsABadArgument() {
        IllegalArgumentException e =
                assertThrows(IllegalArgumentException.class, () -> queue.setCapacity("No Queue", 3));
        assertTrue(String.valueOf(e.getMessage()).contains("the name of a queue has"), e.getMessage());
        assertThrows(IllegalArgumentException.class, () -> queue.renew(claimed("a"), Duration.ZERO));
    }

    @Test
    void aCallThatHangsEndsAtItsLimit() {
        Grant grant = claimed("a");
        server.faults((method, path) -> {
            try {
                Thread.sleep(5_000); // longer than the limit
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return Fault.NONE;
        });
        long began = System.nanoTime();
        thrown(StoreException.Kind.AMBIGUOUS, () -> queue.renew(grant, TTL, Duration.ofMillis(300)));
        assertTrue(Duration.ofNanos(System.nanoTime() - began).toMillis() < 4_000);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"ftp://host", "host:80", "http://", "http://u:p@host", "https://host?x=1", "https://host/#x"})
    void noAddressOfAServer(String text) {
        assertThrows(
                IllegalArgumentException.class,
                () -> new RemoteWorkQueue(
                        URI.create(text),
                        new BearerToken(ApiServer.TOKEN),
                        new SystemTime(),
                        new TestThreads(),
                        new SystemEntropy()));
    }

    @Test
    void aFileComesBackAsItWasHandedIn() throws IOException {
        Grant grant = claimed("a");
        byte[] bytes = new byte[300_000];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 31);
        }
        Path file = Files.write(dir.resolve("page"), bytes);
        Path empty = Files.write(dir.resolve("empty"), new byte[0]);
        Upload.Stored kept = assertInstanceOf(Upload.Stored.class, queue.upload(grant, "page", file));
        assertEquals(bytes.length, kept.size());
        assertInstanceOf(Upload.Stored.class, queue.upload(grant, "empty", empty));
        assertArrayEquals(bytes, server.file("a", 1, "page"));
        assertEquals("application/octet-stream", queue.artifacts("a").getFirst().type());
        List<Artifact> artifacts = queue.artifacts("a");
        assertEquals(
                List.of("page", "empty"), artifacts.stream().map(Artifact::name).toList());
        Path back = dir.resolve("back");
        for (Artifact each : artifacts) {
            queue.download(each, back);
            assertArrayEquals(Files.readAllBytes(dir.resolve(each.name())), Files.readAllBytes(back));
        }
        server.spoil("a", 1, "page", new byte[300_000]);
        IOException e = assertThrows(IOException.class, () -> queue.download(artifacts.getFirst(), back));
        assertEquals("what came of page is not what was handed in", e.getMessage());
    }

    @Test
    void aFileUnderAnOldTokenIsRefused() throws IOException {
        Grant grant = claimed("a");
        Path file = Files.writeString(dir.resolve("page"), "old");
        now.set(START.plusSeconds(60));
        assertEquals(new Upload.Refused(Refusal.EXPIRED), queue.upload(grant, "page", file));
        queue.claimItem("a", new Owner("worker-b"), Objects.requireNonNull(grant.runId()), TTL);
        assertEquals(new Upload.Refused(Refusal.STALE_TOKEN), queue.upload(grant, "page", file));
        assertNull(server.file("a", 1, "page"));
    }

    @Test
    void aLinkIsNoFileToHandIn() throws IOException {
        Grant grant = claimed("a");
        Path link = Files.createSymbolicLink(dir.resolve("link"), Files.writeString(dir.resolve("secret"), "s"));
        assertThrows(IOException.class, () -> queue.upload(grant, "link", link));
    }
}
