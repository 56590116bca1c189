package dev.fencepost.edge.sink;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.effect.Content;
import dev.fencepost.effect.Delivery;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.ReadBack;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.effect.SinkDefinition.HttpReadBack;
import dev.fencepost.effect.TextOrFile;
import dev.fencepost.host.ManualTime;
import dev.fencepost.host.TestThreads;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HttpSinkTest {

    private static final Duration LONG = Duration.ofSeconds(10);
    private static final Duration SHORT = Duration.ofMillis(400);
    private static final Effect EFFECT = Effects.http("article@2026-03-29T00:45:00Z/announce", "{\"said\":\"ja\"}");

    private final ManualTime time = new ManualTime(Effects.NOW);

    @TempDir
    private Path folder;

    @Test
    void aDeliveryShowsKeyTokenRunAndTheVeryBytes() throws Exception {
        byte[] bytes = new byte[100_000];
        new Random(1).nextBytes(bytes);
        Effect effect = Effects.of("a@s/n", 7, Effects.RUN, new Content("application/x-thing", null, bytes));
        try (Receiver receiver = Receiver.saying(Receiver.answer(201, "", "Location: /things/17"))) {
            Delivery delivery = sink(endpoint(receiver.url("/in?a=b"))).deliver(effect);
            assertEquals("HTTP 201, Location: /things/17", confirmed(delivery));
            Receiver.Request request = receiver.requests.getFirst();
            assertEquals("POST /in?a=b HTTP/1.1", request.line());
            assertArrayEquals(bytes, request.body());
            Map<String, String> headers = request.headers();
            assertEquals("a@s/n", headers.get("Idempotency-Key"));
            assertEquals("7", headers.get("Fencing-Token"));
            assertEquals(Effects.RUN.toString(), headers.get("Fencepost-Run-Id"));
            assertEquals("article", headers.get("Fencepost-Job"));
            assertEquals("2026-03-29T00:45:00Z", headers.get("Fencepost-Slot"));
            assertEquals("article", headers.get("Fencepost-Resource"));
            assertEquals("application/x-thing", headers.get("Content-Type"));
            assertEquals("fencepost", headers.get("User-Agent"));
            assertNull(headers.get("Upgrade"));
        }
    }

    @Test
    void theEndpointsMediaTypeStandsInForTheEffects() throws Exception {
        try (Receiver receiver = Receiver.saying(Receiver.answer(200, ""))) {
            sink(endpoint(receiver.url("/"))).deliver(EFFECT);
            assertEquals(
                    "application/json", receiver.requests.getFirst().headers().get("Content-Type"));
        }
    }

    @Test
    void aKeyWithAnySignsIsEscapedSoThatNoTwoBecomeOne() throws Exception {
        try (Receiver receiver = Receiver.saying(Receiver.answer(200, ""))) {
            HttpSink sink = sink(endpoint(receiver.url("/")));
            for (String key : List.of("job@s/記事 1", "job@s/%E8", "a\r\nX-Evil: 1", "\"quoted\"")) {
                sink.deliver(Effects.http(key, "x"));
            }
            assertEquals(
                    List.of("job@s/%E8%A8%98%E4%BA%8B%201", "job@s/%25E8", "a%0D%0AX-Evil:%201", "\"quoted\""),
                    receiver.requests.stream()
                            .map(request -> request.headers().get("Idempotency-Key"))
                            .toList());
            assertFalse(receiver.requests.stream()
                    .anyMatch(request -> request.headers().containsKey("X-Evil")));
        }
    }

    @Test
    void aSignatureIsOverTimeStampAndBody() throws Exception {
        Path secret = secretFile("signing", "sign-with-this\n");
        try (Receiver receiver = Receiver.saying(Receiver.answer(200, ""))) {
            HttpEndpoint plain = endpoint(receiver.url("/"));
            HttpEndpoint signing = new HttpEndpoint(
                    "PUT",
                    plain.url(),
                    Map.of(),
                    plain.contentType(),
                    LONG,
                    plain.allowHosts(),
                    false,
                    new HttpEndpoint.Signature(secret, "X-Signature"));
            sink(signing).deliver(EFFECT);
            Receiver.Request request = receiver.requests.getFirst();
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec("sign-with-this".getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            long seconds = Effects.NOW.getEpochSecond();
            mac.update((seconds + "." + new String(request.body(), StandardCharsets.UTF_8))
                    .getBytes(StandardCharsets.UTF_8));
            assertEquals(
                    "t=" + seconds + ",v1=" + HexFormat.of().formatHex(mac.doFinal()),
                    request.headers().get("X-Signature"));
            assertEquals("PUT / HTTP/1.1", request.line());
        }
    }

    @ParameterizedTest
    @CsvSource({
        "200, Confirmed",
        "201, Confirmed",
        "202, Confirmed",
        "204, Confirmed",
        "299, Confirmed",
        "300, Dead",
        "301, Unknown",
        "302, Unknown",
        "303, Unknown",
        "304, Dead",
        "307, Dead",
        "308, Dead",
        "400, Dead",
        "401, Dead",
        "403, Dead",
        "404, Dead",
        "407, Dead",
        "408, Dead",
        "410, Dead",
        "422, Dead",
        "409, Refused",
        "412, Refused",
        "429, NotNow",
        "503, NotNow",
        "500, Unknown",
        "501, Unknown",
        "502, Unknown",
        "504, Unknown",
        "599, Unknown",
        "600, Unknown",
        "999, Unknown"
    })
    void whatAnAnswerMeans(int status, String meaning) throws Exception {
        try (Receiver receiver = Receiver.saying(
                status == 204 || status == 304
                        ? "HTTP/1.1 " + status + " Said\r\n\r\n"
                        : Receiver.answer(status, "whatever"))) {
            Delivery delivery = sink(endpoint(receiver.url("/"))).deliver(EFFECT);
            assertEquals(meaning, delivery.getClass().getSimpleName(), delivery::toString);
            assertTrue(delivery.toString().contains("HTTP " + status), delivery::toString);
            assertEquals(1, receiver.requests.size());
        }
    }

    @Test
    void anInformationalAnswerIsNotTheAnswer() throws Exception {
        try (Receiver receiver =
                Receiver.saying("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Wait\r\n\r\n" + Receiver.answer(202, ""))) {
            assertEquals("HTTP 202", confirmed(sink(endpoint(receiver.url("/"))).deliver(EFFECT)));
        }
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "none",
            value = {"9000000000, 9000000000", "8, 8", "none, none", "eight, none", "-1, none", "0, none"})
    void aRefusalNamesTheNewestToken(@Nullable String header, @Nullable Long newest) throws Exception {
        String[] headers = header == null ? new String[0] : new String[] {"Fencing-Token: " + header};
        try (Receiver receiver = Receiver.saying(Receiver.answer(409, "", headers))) {
            Delivery.Refused refused = assertInstanceOf(
                    Delivery.Refused.class, sink(endpoint(receiver.url("/"))).deliver(EFFECT));
            assertEquals(newest, refused.newest());
        }
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "none",
            delimiter = '|',
            value = {
                "120 | PT2M",
                "0 | PT0S",
                "Sun, 29 Mar 2026 01:00:30 GMT | PT30S",
                "Sun, 29 Mar 2026 00:00:00 GMT | PT0S",
                "Fri, 29 Mar 2126 00:00:00 GMT | PT24H",
                "999999 | PT24H",
                "99999999999999999999999 | PT24H",
                "-5 | none",
                "soon | none",
                "none | none"
            })
    void notNowSaysWhen(@Nullable String header, @Nullable Duration after) throws Exception {
        String[] headers = header == null ? new String[0] : new String[] {"Retry-After: " + header};
        for (int status : new int[] {429, 503}) {
            try (Receiver receiver = Receiver.saying(Receiver.answer(status, "", headers))) {
                Delivery.NotNow notNow = assertInstanceOf(
                        Delivery.NotNow.class, sink(endpoint(receiver.url("/"))).deliver(EFFECT));
                assertEquals(after, notNow.after());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {301, 302, 303, 307, 308})
    void aRedirectIsNotFollowedAndOnlyItsHostIsNamed(int status) throws Exception {
        try (Receiver other = Receiver.saying(Receiver.answer(200, ""));
                Receiver receiver = Receiver.saying(Receiver.answer(
                        status, "", "Location: http://localhost:" + other.port() + "/steal?token=canary-canary"))) {
            Delivery delivery = sink(endpoint(receiver.url("/"))).deliver(EFFECT);
            assertTrue(delivery.toString().contains("to host localhost"), delivery::toString);
            assertFalse(delivery.toString().contains("steal"), delivery::toString);
            assertFalse(delivery.toString().contains("canary"), delivery::toString);
            assertEquals(List.of(), other.requests);
        }
    }

    @Test
    void whoTakesItAndThenSaysNothingGetsTheSameKeyAndBytesEachTime() throws Exception {
        try (Receiver receiver = new Receiver((request, out) -> Thread.sleep(5_000))) { // longer than the time limit
            HttpSink sink = sink(endpoint(receiver.url("/"), SHORT));
            for (int i = 0; i < 3; i++) {
                Delivery.Unknown unknown = assertInstanceOf(Delivery.Unknown.class, sink.deliver(EFFECT));
                assertEquals("no answer from 127.0.0.1 within 400 ms", unknown.reason());
            }
            assertEquals(3, receiver.requests.size());
            Receiver.Request first = receiver.requests.getFirst();
            for (Receiver.Request request : receiver.requests) {
                assertArrayEquals(EFFECT.content().bytes(), request.body());
                assertEquals(first.headers(), request.headers());
                assertEquals(EFFECT.key(), request.headers().get("Idempotency-Key"));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "HTTP/1.1 20",
                "HTTP/1.1 200 OK\r\nContent-Le",
                "nonsense\r\n\r\n",
                "HTTP/1.1 two Said\r\n\r\n",
                "\u0000\u0001\u0002\u0003"
            })
    void aConnectionThatBreaksBeforeTheStatusLeavesItUnknownAndIsNotTriedAgainByItself(String beginning)
            throws Exception {
        for (String method : List.of("POST", "PUT", "GET", "DELETE")) {
            try (Receiver receiver = Receiver.saying(beginning)) {
                HttpEndpoint post = endpoint(receiver.url("/"));
                HttpEndpoint endpoint = new HttpEndpoint(
                        method, post.url(), Map.of(), post.contentType(), LONG, post.allowHosts(), false, null);
                assertInstanceOf(Delivery.Unknown.class, sink(endpoint).deliver(EFFECT));
                assertInstanceOf(Delivery.Unknown.class, sink(endpoint).deliver(Effects.http("empty", "")));
                assertEquals(2, receiver.requests.size());
            }
        }
    }

    @Test
    void theStatusDecidesWhateverBecomesOfTheBody() throws Exception {
        List<Receiver.Behaviour> bodies = List.of(
                (request, out) -> {
                    out.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf".getBytes(StandardCharsets.UTF_8));
                },
                (request, out) -> {
                    out.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".getBytes(StandardCharsets.UTF_8));
                    for (int i = 0; i < 1000; i++) {
                        out.write('.');
                        out.flush();
                        Thread.sleep(20); // drips for far longer than the time limit
                    }
                },
                (request, out) -> {
                    out.write("HTTP/1.1 200 OK\r\n\r\n".getBytes(StandardCharsets.UTF_8));
                    byte[] flood = new byte[100_000];
                    for (int i = 0; i < 100_000; i++) {
                        out.write(flood);
                    }
                },
                (request, out) -> out.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
                        .getBytes(StandardCharsets.UTF_8)));
        for (Receiver.Behaviour body : bodies) {
            try (Receiver receiver = new Receiver(body)) {
                long before = System.nanoTime();
                assertEquals(
                        "HTTP 200",
                        confirmed(sink(endpoint(receiver.url("/"), SHORT)).deliver(EFFECT)));
                assertTrue(System.nanoTime() - before < Duration.ofSeconds(3).toNanos());
            }
        }
    }

    @Test
    void aFloodOfHeadersAndADripOfHeadersEndUnknown() throws Exception {
        byte[] header = ("X-Flood: " + "x".repeat(8_000) + "\r\n").getBytes(StandardCharsets.UTF_8);
        try (Receiver flood = new Receiver((request, out) -> {
                    out.write("HTTP/1.1 200 OK\r\n".getBytes(StandardCharsets.UTF_8));
                    while (true) {
                        out.write(header);
                    }
                });
                Receiver line = new Receiver((request, out) -> {
                    out.write("HTTP/1.1 200 ".getBytes(StandardCharsets.UTF_8));
                    byte[] more = "O".repeat(8_000).getBytes(StandardCharsets.UTF_8);
                    while (true) {
                        out.write(more);
                    }
                });
                Receiver drip = new Receiver((request, out) -> {
                    out.write("HTTP/1.1 200 OK\r\nX-Drip: ".getBytes(StandardCharsets.UTF_8));
                    for (int i = 0; i < 1000; i++) {
                        out.write('.');
                        out.flush();
                        Thread.sleep(20); // drips for far longer than the time limit
                    }
                })) {
            assertInstanceOf(
                    Delivery.Unknown.class, sink(endpoint(flood.url("/"))).deliver(EFFECT));
            assertInstanceOf(
                    Delivery.Unknown.class, sink(endpoint(line.url("/"))).deliver(EFFECT));
            assertInstanceOf(
                    Delivery.Unknown.class, sink(endpoint(drip.url("/"), SHORT)).deliver(EFFECT));
        }
    }

    @Test
    void withoutAConnectionNothingWasSent() throws Exception {
        int closed;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            closed = socket.getLocalPort();
        }
        Delivery.NotNow refused = assertInstanceOf(
                Delivery.NotNow.class,
                sink(endpoint("http://127.0.0.1:" + closed + "/")).deliver(EFFECT));
        assertTrue(refused.reason().matches("no connection to 127.0.0.1: .*refused.*"), refused::reason);
        assertEquals(
                new Delivery.NotNow("no such host: nowhere.invalid", null),
                sink(endpoint("http://nowhere.invalid/")).deliver(EFFECT));
    }

    @Test
    void whoNeverAcceptsIsGivenUpWithoutHavingBeenSentAnything() throws Exception {
        // A queue of one that is full: the kernel answers no further connection.
        try (ServerSocket full = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            List<java.net.Socket> fillers = new java.util.ArrayList<>();
            try {
                for (int i = 0; i < 3; i++) {
                    java.net.Socket filler = new java.net.Socket();
                    fillers.add(filler);
                    try {
                        filler.connect(full.getLocalSocketAddress(), 100);
                    } catch (java.net.SocketTimeoutException queueIsFull) {
                        break;
                    }
                }
                Delivery delivery = sink(endpoint("http://127.0.0.1:" + full.getLocalPort() + "/", SHORT))
                        .deliver(EFFECT);
                Delivery.NotNow notNow = assertInstanceOf(Delivery.NotNow.class, delivery);
                assertTrue(notNow.reason().startsWith("no connection to 127.0.0.1"), notNow::reason);
            } finally {
                for (java.net.Socket filler : fillers) {
                    filler.close();
                }
            }
        }
    }

    @Test
    void whereTlsIsNotSpokenNothingWasSent() throws Exception {
        AtomicInteger connections = new AtomicInteger();
        try (ServerSocket plain = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
            Thread.ofVirtual().start(() -> {
                while (true) {
                    try (java.net.Socket socket = plain.accept()) {
                        socket.getInputStream().read(new byte[100]);
                        if (connections.getAndIncrement() == 0) {
                            socket.getOutputStream().write("HTTP/1.1 400 Bad\r\n\r\n".getBytes(StandardCharsets.UTF_8));
                        }
                    } catch (IOException closed) {
                        return;
                    }
                }
            });
            HttpSink sink = sink(endpoint("https://127.0.0.1:" + plain.getLocalPort() + "/"));
            for (int i = 0; i < 2; i++) { // an answer that is no TLS, and a cut in the handshake
                Delivery delivery = sink.deliver(EFFECT);
                Delivery.NotNow notNow = assertInstanceOf(Delivery.NotNow.class, delivery, delivery::toString);
                assertTrue(notNow.reason().startsWith("no TLS connection to 127.0.0.1: "), notNow::reason);
            }
            assertTrue(connections.get() >= 2);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "http://127.0.0.1/",
                "http://localhost/",
                "http://10.0.0.1/",
                "http://172.16.5.5/",
                "http://192.168.1.1/",
                "http://169.254.169.254/latest/meta-data",
                "http://100.64.0.1/",
                "http://0.0.0.0/",
                "http://[::1]/",
                "http://[fe80::1]/",
                "http://[fd00::1]/",
                "http://[::ffff:127.0.0.1]/",
                "http://[64:ff9b::7f00:1]/",
                "http://[2002:7f00:1::]/"
            })
    void aPrivateAddressIsNotCalledUnlessItStandsInTheListItself(String url) throws Exception {
        HttpEndpoint alone = new HttpEndpoint("POST", text(url), Map.of(), "text/plain", SHORT, Set.of(), false, null);
        Delivery.NotNow notNow =
                assertInstanceOf(Delivery.NotNow.class, sink(alone).deliver(EFFECT));
        assertTrue(notNow.reason().contains("not on the internet"), notNow::reason);
    }

    @Test
    void localhostInTheListAndAllowPrivateBothOpenTheWay() throws Exception {
        try (Receiver receiver = Receiver.saying(Receiver.answer(200, ""))) {
            String byName = "http://LocalHost:" + receiver.port() + "/";
            HttpEndpoint listed = new HttpEndpoint(
                    "POST", text(byName), Map.of(), "text/plain", LONG, Set.of("localhost"), false, null);
            assertEquals("HTTP 200", confirmed(sink(listed).deliver(EFFECT)));
            HttpEndpoint open = new HttpEndpoint(
                    "POST", text(receiver.url("/")), Map.of(), "text/plain", LONG, Set.of(), true, null);
            assertEquals("HTTP 200", confirmed(sink(open).deliver(EFFECT)));
        }
    }

    @Test
    void aHostThatIsNotInTheListIsNotCalled() throws Exception {
        try (Receiver receiver = Receiver.saying(Receiver.answer(200, ""))) {
            HttpEndpoint endpoint = new HttpEndpoint(
                    "POST", text(receiver.url("/")), Map.of(), "text/plain", LONG, Set.of("hooks.example"), true, null);
            assertEquals(
                    new Delivery.NotNow("host 127.0.0.1 is not among the allow-hosts", null),
                    sink(endpoint).deliver(EFFECT));
            assertEquals(List.of(), receiver.requests);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "ftp://hooks.example/, http:// or https://",
        "file:///etc/passwd, http:// or https://",
        "http://user:canary@hooks.example/, user in it",
        "http://under_score.example/, no host",
        "'http://hooks.example/canary space', cannot be read",
        "http:///, no host"
    })
    void aUrlThatCannotBeUsedSaysWhyAndNotWhatItIs(String url, String why) throws Exception {
        Delivery.NotNow notNow =
                assertInstanceOf(Delivery.NotNow.class, sink(endpoint(url)).deliver(EFFECT));
        assertTrue(notNow.reason().contains(why), notNow::reason);
        assertFalse(notNow.reason().contains("canary"), notNow::reason);
    }

    @Test
    void secretsAreReadAnewAndStandInNoTextOfOurs() throws Exception {
        Path url = secretFile("url", "");
        Path token = secretFile("token", "Bearer canary-one\n");
        List<String> kept = new java.util.ArrayList<>();
        for (int status : new int[] {200, 303, 307, 404, 409, 429, 500}) {
            try (Receiver receiver = new Receiver((request, out) -> {
                String echo = request.line() + " " + request.headers().get("Authorization") + " "
                        + request.headers().get("X-Plain");
                out.write(Receiver.answer(
                                status,
                                echo,
                                "Location: http://127.0.0.1/canary-path/"
                                        + request.headers().get("Authorization"),
                                "ETag: " + echo,
                                "Content-Location: canary-two " + echo,
                                "X-Request-Id: " + request.headers().get("X-Plain"))
                        .getBytes(StandardCharsets.UTF_8));
            })) {
                Files.writeString(url, receiver.url("/canary-path/in?key=canary-two"));
                HttpEndpoint endpoint = new HttpEndpoint(
                        "POST",
                        new TextOrFile(null, url),
                        Map.of("Authorization", new TextOrFile(null, token), "X-Plain", text("canary-three")),
                        "text/plain",
                        LONG,
                        Set.of("127.0.0.1"),
                        false,
                        null);
                HttpSink sink = sink(endpoint);
                kept.add(sink.deliver(EFFECT).toString());
                kept.add(sink.toString());
                kept.add(endpoint.toString());
                assertEquals(
                        "Bearer canary-one",
                        receiver.requests.getFirst().headers().get("Authorization"));
                Files.writeString(token, "Bearer canary-four");
                kept.add(sink.deliver(EFFECT).toString());
                assertEquals(
                        "Bearer canary-four", receiver.requests.get(1).headers().get("Authorization"));
                Files.writeString(token, "Bearer canary-one");
            }
        }
        Files.writeString(url, "http://canary.invalid/canary");
        kept.add(sink(new HttpEndpoint(
                        "POST", new TextOrFile(null, url), Map.of(), "text/plain", LONG, Set.of(), false, null))
                .deliver(EFFECT)
                .toString());
        for (String text : kept) {
            assertFalse(text.contains("canary"), text);
        }
        assertTrue(kept.getFirst().contains("ETag: "), kept.getFirst());
        assertTrue(kept.getFirst().contains("***"), kept.getFirst());
    }

    @Test
    void aSecretFileThatIsMissingOpenToAllEmptyOrNoFileIsAFaultThatCanBeMended() throws Exception {
        Path open = secretFile("open", "canary");
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rw-r--r--"));
        Path big = secretFile("big", "canary".repeat(20_000));
        Path lines = secretFile("lines", "canary\nX-Evil: canary");
        Map<Path, String> faults = Map.of(
                open,
                "may be read by everybody",
                big,
                "larger than 65536 bytes",
                lines,
                "a header cannot carry",
                secretFile("empty", "\n"),
                "is empty",
                folder.resolve("missing"),
                "does not exist",
                folder,
                "is not a plain file");
        for (Map.Entry<Path, String> fault : faults.entrySet()) {
            HttpEndpoint endpoint = new HttpEndpoint(
                    "POST",
                    text("http://127.0.0.1/"),
                    Map.of("Authorization", new TextOrFile(null, fault.getKey())),
                    "text/plain",
                    LONG,
                    Set.of("127.0.0.1"),
                    false,
                    null);
            Delivery.NotNow notNow =
                    assertInstanceOf(Delivery.NotNow.class, sink(endpoint).deliver(EFFECT));
            assertTrue(notNow.reason().contains(fault.getValue()), notNow::reason);
            assertFalse(notNow.reason().contains("canary"), notNow::reason);
        }
    }

    @Test
    void receiptsAreCutAndPrintable() throws Exception {
        try (Receiver receiver = Receiver.saying(Receiver.answer(
                200, "", "ETag: " + "e".repeat(5_000), "X-Request-Id: a\u00e9\u0085\u009bb", "Set-Cookie: no"))) {
            String receipt = confirmed(sink(endpoint(receiver.url("/"))).deliver(EFFECT));
            assertTrue(receipt.startsWith("HTTP 200, ETag: " + "e".repeat(200)), receipt);
            assertTrue(receipt.length() < 300, receipt);
            assertFalse(
                    receipt.chars().anyMatch(c -> c < ' ' || (c >= 0x7f && c < 0xa0)) || receipt.contains("no"),
                    receipt);
        }
    }

    @Test
    void headersThatAClientSetsItselfAndBrokenNamesAreRefusedByName() throws Exception {
        for (String name : List.of("Host", "Content-Length", "Connection", "not a name")) {
            HttpEndpoint endpoint = new HttpEndpoint(
                    "POST",
                    text("http://127.0.0.1/"),
                    Map.of(name, text("canary")),
                    "text/plain",
                    LONG,
                    Set.of("127.0.0.1"),
                    false,
                    null);
            assertEquals(
                    new Delivery.NotNow("header " + name + " cannot be set", null),
                    sink(endpoint).deliver(EFFECT));
        }
    }

    @Test
    void configuredHeadersDoNotOverrideKeyAndToken() throws Exception {
        try (Receiver receiver = Receiver.saying(Receiver.answer(200, ""))) {
            HttpEndpoint endpoint = new HttpEndpoint(
                    "POST",
                    text(receiver.url("/")),
                    Map.of("fencing-token", text("99"), "idempotency-key", text("mine"), "User-Agent", text("me")),
                    "text/plain",
                    LONG,
                    Set.of("127.0.0.1"),
                    false,
                    null);
            sink(endpoint).deliver(EFFECT);
            Map<String, String> headers = receiver.requests.getFirst().headers();
            assertEquals("7", headers.get("Fencing-Token"));
            assertEquals(EFFECT.key(), headers.get("Idempotency-Key"));
            assertEquals("me", headers.get("User-Agent"));
        }
    }

    @Test
    void aMediaTypeOfTheRunThatIsNoHeaderEndsTheEffect() throws Exception {
        Effect effect = Effects.of("k", 7, Effects.RUN, new Content("text/plain\r\nX-Evil: 1", null, new byte[1]));
        assertInstanceOf(
                Delivery.Dead.class, sink(endpoint("http://127.0.0.1:9/")).deliver(effect));
    }

    @Test
    void anInterruptCutsTheConnection() throws Exception {
        try (Receiver receiver = new Receiver((request, out) -> Thread.sleep(20_000))) { // until the test is over
            HttpSink sink = sink(endpoint(receiver.url("/"), Duration.ofSeconds(30)));
            AtomicInteger interrupted = new AtomicInteger();
            Thread sender = Thread.ofVirtual().start(() -> {
                try {
                    sink.deliver(EFFECT);
                } catch (InterruptedException e) {
                    interrupted.incrementAndGet();
                }
            });
            receiver.awaitRequests(1);
            sender.interrupt();
            assertTrue(sender.join(Duration.ofSeconds(5)));
            assertEquals(1, interrupted.get());
        }
    }

    @Test
    void whatTheDispatcherIsToldOfTheSink() {
        HttpEndpoint endpoint = endpoint("http://127.0.0.1/", Duration.ofSeconds(30));
        SinkDefinition.Http plain =
                new SinkDefinition.Http("s", LONG, endpoint, false, false, Duration.ofMinutes(2), 5, null);
        HttpSink sink = new HttpSink(plain, time, new TestThreads());
        assertEquals(Duration.ofMinutes(2), sink.lockDelay());
        assertFalse(sink.isIdempotent());
        assertEquals(5, sink.maxTries());
        assertTrue(sink.timeLimit().compareTo(Duration.ofSeconds(40)) >= 0);
        SinkDefinition.Http keys =
                new SinkDefinition.Http("s", LONG, endpoint, true, false, Duration.ofMinutes(2), 5, null);
        SinkDefinition.Http tokens =
                new SinkDefinition.Http("s", LONG, endpoint, false, true, Duration.ofMinutes(2), 5, null);
        assertEquals(Duration.ZERO, new HttpSink(keys, time, new TestThreads()).lockDelay());
        assertTrue(new HttpSink(keys, time, new TestThreads()).isIdempotent());
        assertEquals(Duration.ZERO, new HttpSink(tokens, time, new TestThreads()).lockDelay());
    }

    @Test
    void withoutAReadBackNobodyCanEverTell() throws Exception {
        assertEquals(
                new ReadBack.CannotTell("the sink has no read-back", false),
                sink(endpoint("http://127.0.0.1/")).readBack(EFFECT));
    }

    @Test
    void aReadBackAsksForTheKeyWithTheSameHeaders() throws Exception {
        Effect effect = Effects.http("job@s/ü & b?", "x");
        try (Receiver receiver = Receiver.saying(Receiver.answer(200, "here it is", "ETag: 5"))) {
            HttpEndpoint plain = endpoint(receiver.url("/"));
            HttpEndpoint endpoint = new HttpEndpoint(
                    "POST",
                    plain.url(),
                    Map.of("Authorization", text("Bearer abcdefgh")),
                    "text/plain",
                    LONG,
                    plain.allowHosts(),
                    false,
                    null);
            ReadBack found = sink(endpoint, new HttpReadBack(receiver.url("/by/{key}?k={key}"), null, null))
                    .readBack(effect);
            assertEquals("HTTP 200 read back, ETag: 5", receipt(found));
            Receiver.Request request = receiver.requests.getFirst();
            assertEquals(
                    "GET /by/job%40s%2F%C3%BC%20%26%20b%3F?k=job%40s%2F%C3%BC%20%26%20b%3F HTTP/1.1", request.line());
            assertEquals("Bearer abcdefgh", request.headers().get("Authorization"));
            assertEquals(0, request.body().length);
            assertNull(request.headers().get("Content-Type"));
        }
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "none",
            value = {
                // status, absent-after (sent one minute ago), meaning
                "200, none, Found",
                "204, none, Found",
                "404, none, CannotTell",
                "410, none, CannotTell",
                "404, PT59S, Absent",
                "404, PT1M, Absent",
                "410, PT1M, Absent",
                "404, PT1M0.001S, NoAnswer",
                "404, PT2M, NoAnswer",
                "401, PT1M, NoAnswer",
                "302, PT1M, NoAnswer",
                "500, PT1M, NoAnswer",
                "503, PT1M, NoAnswer"
            })
    void whatAReadBackMeans(int status, @Nullable Duration absentAfter, String meaning) throws Exception {
        String answer = status == 204 ? "HTTP/1.1 204 None\r\n\r\n" : Receiver.answer(status, "text");
        try (Receiver receiver = Receiver.saying(answer)) {
            ReadBack back = sink(
                            endpoint(receiver.url("/")), new HttpReadBack(receiver.url("/{key}"), null, absentAfter))
                    .readBack(EFFECT);
            assertEquals(meaning, back.getClass().getSimpleName(), back::toString);
            if (back instanceof ReadBack.CannotTell cannot) {
                assertTrue(cannot.later());
            }
        }
    }

    @Test
    void theLookOfTheAnswerDecidesWhereAPatternIsGiven() throws Exception {
        Pattern pattern = Pattern.compile("\"state\":\\s*\"done\"");
        Duration minute = Duration.ofMinutes(1);
        assertInstanceOf(ReadBack.Found.class, readBack(pattern, minute, "{\"state\": \"done\"}"));
        assertInstanceOf(ReadBack.Absent.class, readBack(pattern, minute, "{\"state\": \"open\"}"));
        assertInstanceOf(ReadBack.CannotTell.class, readBack(pattern, null, "{\"state\": \"open\"}"));
        assertInstanceOf(
                ReadBack.Absent.class,
                readBack(pattern, minute, " ".repeat(64 * 1024) + "{\"state\": \"done\"}"),
                "only the first 64 KiB count");
        try (Receiver broken = Receiver.saying("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"sta")) {
            assertInstanceOf(
                    ReadBack.NoAnswer.class,
                    sink(endpoint(broken.url("/")), new HttpReadBack(broken.url("/"), pattern, minute))
                            .readBack(EFFECT));
        }
    }

    @Test
    void aPatternThatBacktracksForEverIsGivenUp() throws Exception {
        for (String pattern : List.of("(a+)+b", "(a|a)*b", "(x|.)*b$", "(.*)*(.*)*(.*)*c")) {
            long before = System.nanoTime();
            ReadBack back = readBack(Pattern.compile(pattern), Duration.ofMinutes(1), "a".repeat(60_000));
            assertInstanceOf(ReadBack.NoAnswer.class, back, pattern);
            assertTrue(System.nanoTime() - before < Duration.ofSeconds(8).toNanos(), pattern);
        }
    }

    @Test
    void aReadBackWithoutAnAnswerSaysSo() throws Exception {
        try (Receiver silent = Receiver.saying("")) {
            assertInstanceOf(
                    ReadBack.NoAnswer.class,
                    sink(endpoint(silent.url("/")), new HttpReadBack(silent.url("/"), null, LONG))
                            .readBack(EFFECT));
        }
    }

    @Test
    void aReadBackShowsItsSecretsToNoOtherHost() throws Exception {
        try (Receiver other = Receiver.saying(Receiver.answer(200, ""))) {
            HttpEndpoint open = new HttpEndpoint(
                    "POST", text("http://hooks.example/"), Map.of(), "text/plain", LONG, Set.of(), true, null);
            assertInstanceOf(
                    ReadBack.NoAnswer.class,
                    sink(open, new HttpReadBack(other.url("/"), null, null)).readBack(EFFECT));
            assertEquals(List.of(), other.requests);
        }
    }

    private ReadBack readBack(Pattern pattern, @Nullable Duration absentAfter, String body) throws Exception {
        try (Receiver receiver = Receiver.saying(Receiver.answer(200, body))) {
            return sink(endpoint(receiver.url("/")), new HttpReadBack(receiver.url("/"), pattern, absentAfter))
                    .readBack(EFFECT);
        }
    }

    private static String confirmed(Delivery delivery) {
        return assertInstanceOf(Delivery.Confirmed.class, delivery, delivery::toString)
                .receipt()
                .text();
    }

    private static String receipt(ReadBack back) {
        return assertInstanceOf(ReadBack.Found.class, back, back::toString)
                .receipt()
                .text();
    }

    private Path secretFile(String name, String content) throws IOException {
        Path file = folder.resolve(name);
        Files.writeString(file, content);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        return file;
    }

    private static TextOrFile text(String text) {
        return new TextOrFile(text, null);
    }

    private static HttpEndpoint endpoint(String url) {
        return endpoint(url, LONG);
    }

    private static HttpEndpoint endpoint(String url, Duration limit) {
        return new HttpEndpoint(
                "POST",
                text(url),
                Map.of(),
                "application/json",
                limit,
                Arrays.asList(url.split("[/:@]+")).contains("127.0.0.1") ? Set.of("127.0.0.1") : Set.of(),
                false,
                null);
    }

    private HttpSink sink(HttpEndpoint endpoint) {
        return sink(endpoint, null);
    }

    private HttpSink sink(HttpEndpoint endpoint, @Nullable HttpReadBack readBack) {
        return new HttpSink(
                new SinkDefinition.Http(
                        "announce", Duration.ofHours(24), endpoint, false, false, Duration.ofMinutes(1), 0, readBack),
                time,
                new TestThreads());
    }
}
