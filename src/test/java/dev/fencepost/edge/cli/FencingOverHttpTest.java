package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.remote.ApiServer;
import dev.fencepost.edge.remote.ApiServer.Fault;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.MemoryWorkQueue;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue;
import dev.fencepost.work.WorkState;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code demo fencing} against the API of a server. */
class FencingOverHttpTest {

    private static final String SHORT = "100ms";

    private WorkSite site;

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        site = new WorkSite(dir);
    }

    @AfterEach
    void close() {
        site.close();
    }

    private CommandRun fencing(ApiServer server, String... more) {
        List<String> words = new ArrayList<>(List.of(
                "demo",
                "fencing",
                "--server",
                server.address().toString(),
                "--token-file",
                site.tokenFile.toString(),
                "--ttl",
                SHORT));
        words.addAll(List.of(more));
        return site.workplace.run(words.toArray(String[]::new));
    }

    private static List<Integer> numbers(JsonNode column) {
        return List.of("new_accepted", "stale_accepted", "stale_rejected", "final_new", "final_stale").stream()
                .map(field -> column.get(field).intValue())
                .toList();
    }

    @Test
    void aScriptSeesThatNoStaleWriteIsAcceptedInWhateverOrder() throws IOException {
        CommandRun run = fencing(site.server, "--jobs", "60", "--json");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        JsonNode answer = Workplace.json(run.out());
        assertEquals(
                List.of("store", "jobs", "without_token", "with_token", "stale_reasons"), Workplace.fields(answer));
        assertEquals("server " + site.server.address(), answer.get("store").textValue());
        assertEquals(60, answer.get("jobs").intValue());
        assertTrue(answer.get("without_token").isNull());
        JsonNode with = answer.get("with_token");
        assertEquals(
                List.of(
                        "new_accepted",
                        "stale_accepted",
                        "stale_rejected",
                        "final_new",
                        "final_stale",
                        "final_owner",
                        "final_completed_by",
                        "stale_write_ms"),
                Workplace.fields(with));
        assertEquals(List.of(60, 0, 60, 60, 0), numbers(with));
        assertEquals("worker-b", with.get("final_owner").textValue());
        assertEquals("worker-b", with.get("final_completed_by").textValue());
        assertTrue(with.get("stale_write_ms").doubleValue() > 0);
        JsonNode reasons = answer.get("stale_reasons");
        assertEquals(List.of("ALREADY_DONE", "STALE_TOKEN"), Workplace.fields(reasons)); // both orders took place
        assertEquals(
                60,
                reasons.get("ALREADY_DONE").intValue()
                        + reasons.get("STALE_TOKEN").intValue());
        assertEquals(60, site.queue.items(null, WorkState.DONE, 100).size());
        assertFalse(Files.exists(site.workplace.storeFile()));
    }

    @Test
    void eachRunHasAQueueOfItsOwn() {
        assertEquals(ExitCode.FINE, fencing(site.server, "--jobs", "1").exitCode());
        assertEquals(ExitCode.FINE, fencing(site.server, "--jobs", "2").exitCode());
        assertEquals(
                List.of(1L, 2L),
                site.queue.queues().stream()
                        .map(WorkQueue.QueueView::done)
                        .sorted()
                        .toList());
    }

    @Test
    void aPersonIsToldWhyOneColumnIsMissing() {
        CommandRun run = fencing(site.server, "--jobs", "2");
        assertEquals("", run.err());
        String queue = site.queue.queues().getFirst().queue();
        assertEquals(
                """
                2 items on server URL: worker-a sleeps past its lease, worker-b takes over, both write at the same time

                  WITH TOKEN
                new result of worker-b accepted  2/2
                stale write of worker-a accepted  0/2
                stale write of worker-a rejected  2/2
                final results new / old  2 / 0
                newest token is of  worker-b
                final result is of  worker-b
                time for the stale writes  N ms

                there is no column without a token: the API takes no write without one
                each rejected write is recorded at the server: fencepost events
                the items stay in the queue QUEUE until the server prunes them
                """,
                site.workplace
                        .plain(run.out())
                        .replaceAll("\\d+\\.\\d ms", "N ms")
                        .replaceAll("(?m)^ +as [A-Z_]+ +\\d/2\\n", "")
                        .replace(site.server.address().toString(), "URL")
                        .replace(queue, "QUEUE"));
    }

    /** A queue that stores what a stale worker writes, as if there were no token. */
    private static final class Careless {

        private final MemoryWorkQueue queue = new MemoryWorkQueue(Instant::now);
        private final Map<String, Body> results = new ConcurrentHashMap<>();

        WorkQueue asQueue() {
            return (WorkQueue) Proxy.newProxyInstance(
                    WorkQueue.class.getClassLoader(), new Class<?>[] {WorkQueue.class}, (self, method, arguments) -> {
                        switch (method.getName()) {
                            case "complete" -> {
                                Grant grant = (Grant) arguments[0];
                                // the stale result stays, whichever came first
                                results.merge(
                                        grant.id(),
                                        (Body) arguments[1],
                                        (old, now) -> new String(now.bytes()).startsWith("old") ? now : old);
                                return new WorkAnswer.Done(done(grant.id()));
                            }
                            case "item" -> {
                                return done((String) arguments[0]);
                            }
                            default -> {
                                return method.invoke(queue, arguments);
                            }
                        }
                    });
        }

        private WorkItem done(String id) {
            WorkItem item = Objects.requireNonNull(queue.item(id));
            return new WorkItem(
                    id,
                    item.queue(),
                    WorkState.DONE,
                    item.priority(),
                    null,
                    item.attempts(),
                    item.maxAttempts(),
                    item.fence(),
                    null,
                    null,
                    null,
                    null,
                    results.get(id),
                    null,
                    item.enqueuedAt(),
                    item.enqueuedAt());
        }
    }

    @Test
    void aServerThatOverwritesIsFoundOut() throws IOException {
        try (ApiServer careless = new ApiServer(new Careless().asQueue())) {
            CommandRun run = fencing(careless, "--jobs", "5", "--json");
            assertEquals(ExitCode.FAILED, run.exitCode(), run.err());
            JsonNode answer = Workplace.json(run.out());
            assertEquals(List.of(5, 5, 0, 0, 5), numbers(answer.get("with_token")));
            assertEquals("worker-b", answer.get("with_token").get("final_owner").textValue());
            assertEquals(
                    "worker-a",
                    answer.get("with_token").get("final_completed_by").textValue());
            assertEquals(0, answer.get("stale_reasons").size());
        }
    }

    @Test
    void aMissingAnswerEndsItWithoutAResult() {
        site.server.faults((method, path) -> path.endsWith("-3/complete") ? Fault.CUT_AFTER : Fault.NONE);
        CommandRun run = fencing(site.server, "--jobs", "4");
        assertEquals(ExitCode.STORE_UNAVAILABLE, run.exitCode(), run.err());
        assertEquals("", run.out());
        assertTrue(run.err().contains("it may have been done all the same"), run.err());
    }

    @Test
    void aTokenThatMayNotWorkIsToldOnce() {
        site.server.faults((method, path) -> Fault.FORBIDDEN);
        CommandRun run = fencing(site.server, "--jobs", "20");
        assertEquals(ExitCode.STORE_UNAVAILABLE, run.exitCode(), run.err());
        assertEquals(1, run.err().lines().filter(line -> line.contains("403")).count(), run.err());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--server http://127.0.0.1:1",
                "--token-file DIR/worker.token",
                "--server nowhere --token-file DIR/worker.token",
                "--server http://127.0.0.1:1 --token-file DIR/worker.token --store sqlite:x.db",
                "--server http://127.0.0.1:1 --token-file DIR/worker.token --jobs 0",
                "--server http://127.0.0.1:1 --token-file DIR/worker.token --ttl 0s",
                "--server http://127.0.0.1:1 --token-file DIR/worker.token --jobs many"
            })
    void badArgumentsAreUsage(String arguments) {
        CommandRun run = site.workplace.run(
                ("demo fencing " + arguments.replace("DIR", site.workplace.dir.toString())).split(" "));
        assertEquals(ExitCode.USAGE, run.exitCode(), run.err());
        assertEquals("", run.out());
        assertFalse(Files.exists(site.workplace.storeFile()));
        assertTrue(site.server.requests().isEmpty());
    }
}
