package dev.fencepost.edge.sink;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.process.OutputLogReader;
import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.TextOrFile;
import dev.fencepost.host.ManualTime;
import dev.fencepost.host.TestThreads;
import dev.fencepost.run.Action;
import dev.fencepost.run.ChildProcess;
import dev.fencepost.run.ChildProcess.Exit;
import dev.fencepost.run.Children.StartFailure;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Workspace.RunFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HttpActionsTest {

    private static final Duration LONG = Duration.ofSeconds(10);
    private static final Map<String, String> HEADERS =
            Map.of("Idempotency-Key", "digest@s", "Fencing-Token", "5", "Fencepost-Slot", "manual:ü");

    private final TestThreads threads = new TestThreads();
    private final HttpActions actions = new HttpActions(new ManualTime(Effects.NOW), threads);

    @TempDir
    private Path folder;

    private RunFiles files = new RunFiles(Path.of("/"), Path.of("/"), Path.of("/"), Path.of("/"));

    @BeforeEach
    void places() {
        files = new RunFiles(folder.resolve("output.log"), folder.resolve("result"), folder.resolve("effects"), folder);
    }

    @AfterEach
    void noThreadThrew() {
        assertEquals(List.of(), threads.failures());
    }

    @Test
    void aGoodAnswerIsSuccessAndItsBodyTheResult() throws Exception {
        try (Receiver receiver = Receiver.saying(Receiver.answer(201, "line one\nläst"))) {
            ChildProcess child = start(call(receiver.url("/run"), "{\"go\":1}", LONG));
            assertEquals(new Exit(0, null, null), child.await(LONG));
            assertEquals("line one\nläst", Files.readString(files.result()));
            assertEquals(new ChildProcess.Output("line one\nläst", 14, false, 0), child.finish());
            assertEquals(child.finish(), child.finish());
            assertEquals(0, child.pid());
            Receiver.Request request = receiver.requests.getFirst();
            assertEquals("POST /run HTTP/1.1", request.line());
            assertArrayEquals("{\"go\":1}".getBytes(StandardCharsets.UTF_8), request.body());
            assertEquals("digest@s", request.headers().get("Idempotency-Key"));
            assertEquals("5", request.headers().get("Fencing-Token"));
            assertEquals("manual:%C3%BC", request.headers().get("Fencepost-Slot"));
            assertEquals("application/json", request.headers().get("Content-Type"));
        }
    }

    @Test
    void aCallWithoutABodyHasNoMediaType() throws Exception {
        try (Receiver receiver = Receiver.saying(Receiver.answer(204, ""))) {
            assertEquals(0, code(start(call(receiver.url("/"), null, LONG))));
            assertNull(receiver.requests.getFirst().headers().get("Content-Type"));
            assertEquals("0", receiver.requests.getFirst().headers().get("Content-Length"));
            assertEquals("", Files.readString(files.result()));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {302, 404, 409, 500, 503})
    void anyOtherStatusIsAFailureThatNamesItAndKeepsTheAnswerForPeople(int status) throws Exception {
        try (Receiver receiver = Receiver.saying(Receiver.answer(status, "because", "Location: http://127.0.0.1:1/"))) {
            ChildProcess child = start(call(receiver.url("/"), "x", LONG));
            assertEquals(new Exit(1, null, "HTTP " + status), child.await(LONG));
            assertEquals("because", child.finish().tail());
            assertFalse(Files.exists(files.result()));
            assertEquals(1, receiver.requests.size());
        }
    }

    @Test
    void reasonsTellFailuresApart() throws Exception {
        List<String> reasons = new ArrayList<>();
        reasons.add(reason(start(call("http://nowhere.invalid/", "x", LONG))));
        reasons.add(reason(start(call("http://127.0.0.1:1/", "x", LONG))));
        try (Receiver silent = new Receiver((request, out) -> Thread.sleep(5_000)); // longer than the time limit
                Receiver cut = Receiver.saying("");
                Receiver half = Receiver.saying("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")) {
            reasons.add(reason(start(call(silent.url("/"), "x", Duration.ofMillis(300)))));
            reasons.add(reason(start(call(cut.url("/"), "x", LONG))));
            reasons.add(reason(start(call(half.url("/"), "x", LONG))));
        }
        assertEquals("no such host: nowhere.invalid", reasons.get(0));
        assertTrue(reasons.get(1).matches("no connection to 127.0.0.1: .*refused.*"), reasons.get(1));
        assertEquals("no answer from 127.0.0.1 within 300 ms", reasons.get(2));
        assertTrue(reasons.get(3).startsWith("the connection to 127.0.0.1 broke before the answer"), reasons.get(3));
        assertEquals("HTTP 200, but the answer broke off or took too long", reasons.get(4));
        assertFalse(Files.exists(files.result()));
    }

    @Test
    void aResultMayHaveOneMebibyteAndNotAByteMore() throws Exception {
        String most = "x".repeat(Completion.MAX_RESULT_BYTES);
        try (Receiver fits = Receiver.saying(Receiver.answer(200, most))) {
            ChildProcess child = start(call(fits.url("/"), "x", LONG));
            assertEquals(0, code(child));
            assertEquals(Completion.MAX_RESULT_BYTES, Files.size(files.result()));
            assertEquals(64 * 1024, child.finish().tail().length());
            assertFalse(child.finish().truncated());
        }
        Files.delete(files.result());
        try (Receiver tooBig = Receiver.saying(Receiver.answer(200, most + "x"))) {
            assertEquals(
                    "HTTP 200, but the answer is larger than 1048576 bytes",
                    reason(start(call(tooBig.url("/"), "x", LONG))));
            assertFalse(Files.exists(files.result()));
        }
    }

    @Test
    void stoppingCutsTheConnectionAtOnce() throws Exception {
        CountDownLatch gone = new CountDownLatch(1);
        try (Receiver receiver = new Receiver((request, out) -> {
            try {
                while (true) {
                    out.write("HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.UTF_8));
                    Thread.sleep(20); // until the other side is gone
                }
            } catch (IOException cut) {
                gone.countDown();
            }
        })) {
            ChildProcess child = start(call(receiver.url("/"), "x", Duration.ofMinutes(1)));
            receiver.awaitRequests(1);
            assertNull(child.await(Duration.ofMillis(50)));
            child.stop(Duration.ofMinutes(1));
            Exit exit = child.await(LONG);
            assertNotNull(exit);
            assertEquals(1, exit.code());
            assertTrue(String.valueOf(exit.reason()).startsWith("stopped"), exit::toString);
            assertTrue(gone.await(10, TimeUnit.SECONDS));
            child.stop(Duration.ZERO);
            assertEquals("", child.finish().tail());
        }
    }

    @Test
    void theLogIsOneThatTheReaderOfLogsCanRead() throws Exception {
        String longLine = "é".repeat(30_000);
        try (Receiver receiver = Receiver.saying(Receiver.answer(200, "one\n\n" + longLine + "\nla\u0000st"))) {
            ChildProcess child = start(call(receiver.url("/"), "x", LONG));
            try (OutputLogReader early =
                    OutputLogReader.open(files.log())) { // as soon as the run is told to have begun
                assertNotNull(early.next());
            }
            assertEquals(0, code(child));
        }
        StringBuilder text = new StringBuilder();
        List<String> remarks = new ArrayList<>();
        try (OutputLogReader reader = OutputLogReader.open(files.log())) {
            for (OutputLogReader.Entry entry = reader.next(); entry != null; entry = reader.next()) {
                if (entry.source() == OutputLogReader.Source.REMARK) {
                    remarks.add(entry.text());
                } else {
                    text.append(entry.text()).append(entry.endsLine() ? "\n" : "");
                }
            }
        }
        assertEquals("one\n\n" + longLine + "\nla\u2400st", text.toString());
        assertEquals(List.of("POST to 127.0.0.1", "answered"), remarks);
    }

    @Test
    void secretsAreMaskedInAllThatIsKept() throws Exception {
        Path token = secret("token", "canary-of-header");
        Path url = secret("url", "");
        try (Receiver receiver = Receiver.saying(
                Receiver.answer(200, "a canary-of-job and canary-of-header and /canary-of-path b".repeat(2_000)))) {
            Files.writeString(url, receiver.url("/canary-of-path"));
            Action.HttpCall call = new Action.HttpCall(
                    new HttpEndpoint(
                            "POST",
                            new TextOrFile(null, url),
                            Map.of("X-Token", new TextOrFile(null, token)),
                            "text/plain",
                            LONG,
                            Set.of("127.0.0.1"),
                            false,
                            null),
                    "x");
            ChildProcess child = actions.start(call, HEADERS, files, Set.of("canary-of-job"));
            assertEquals(0, code(child));
            String kept =
                    Files.readString(files.result()) + Files.readString(files.log()) + child.finish() + call + child;
            assertFalse(kept.contains("canary"));
            assertTrue(child.finish().tail().endsWith("a *** and *** and /*** b"));
            assertEquals(
                    "canary-of-header", receiver.requests.getFirst().headers().get("X-Token"));
        }
    }

    @Test
    void whatCannotBeCalledIsNotStarted() throws Exception {
        assertEquals(
                folder.resolve("missing") + " does not exist",
                assertThrows(
                                StartFailure.class,
                                () -> start(new Action.HttpCall(
                                        new HttpEndpoint(
                                                "POST",
                                                new TextOrFile(null, folder.resolve("missing")),
                                                Map.of(),
                                                "text/plain",
                                                LONG,
                                                Set.of(),
                                                false,
                                                null),
                                        "x")))
                        .getMessage());
        assertThrows(StartFailure.class, () -> start(call("ftp://127.0.0.1/", "x", LONG)));
        assertEquals(
                "host other.example is not among the allow-hosts",
                assertThrows(StartFailure.class, () -> start(call("http://other.example/", "x", LONG)))
                        .getMessage());
    }

    @Test
    void aPrivateAddressIsNotCalled() throws Exception {
        HttpEndpoint endpoint = new HttpEndpoint(
                "POST", new TextOrFile("http://localhost/", null), Map.of(), "text/plain", LONG, Set.of(), false, null);
        assertTrue(reason(start(new Action.HttpCall(endpoint, "x"))).contains("not on the internet"));
    }

    private ChildProcess start(Action.HttpCall call) throws StartFailure {
        return actions.start(call, HEADERS, files, Set.of());
    }

    private static int code(ChildProcess child) throws InterruptedException {
        Exit exit = child.await(LONG);
        assertNotNull(exit);
        return exit.code();
    }

    private static String reason(ChildProcess child) throws InterruptedException {
        Exit exit = child.await(LONG);
        assertNotNull(exit);
        assertEquals(1, exit.code());
        return String.valueOf(exit.reason());
    }

    private Path secret(String name, String text) throws IOException {
        Path file = folder.resolve(name);
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        return file;
    }

    private static Action.HttpCall call(String url, @Nullable String body, Duration limit) {
        return new Action.HttpCall(
                new HttpEndpoint(
                        "POST",
                        new TextOrFile(url, null),
                        Map.of(),
                        "application/json",
                        limit,
                        Set.of("127.0.0.1", "nowhere.invalid"),
                        false,
                        null),
                body);
    }
}
