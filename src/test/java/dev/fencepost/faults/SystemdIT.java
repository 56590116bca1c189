package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.faults.NotifySocket.Message;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The service started by the words of its unit, with a socket in the place of systemd's. */
@Tag("faults")
class SystemdIT {

    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final Duration WATCHDOG = Duration.ofSeconds(3);
    private static final Path UNIT = Path.of("deploy/systemd/fencepost.service");

    @TempDir
    Path folder;

    private final List<AutoCloseable> open = new ArrayList<>();
    private NotifySocket socket;

    @BeforeEach
    void listen() {
        Assumptions.assumeTrue(
                Files.isExecutable(Path.of("/usr/bin/systemd-notify")),
                "test with a notify socket left out: there is no /usr/bin/systemd-notify");
        socket = NotifySocket.listen(folder);
        open.add(socket);
    }

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable each : open.reversed()) {
            each.close();
        }
    }

    private ServeProcess start(String jobs, Map<String, String> more) throws IOException {
        Path file = Files.writeString(folder.resolve("fencepost.yaml"), jobs);
        List<String> words = execStart(UNIT);
        words.replaceAll(word -> word.equals("/etc/fencepost/fencepost.yaml") ? file.toString() : word);
        int port = ServeProcess.freePort();
        words.addAll(List.of("--port", String.valueOf(port)));
        Map<String, String> environment = new LinkedHashMap<>(Map.of(
                "NOTIFY_SOCKET", socket.address(),
                "STATE_DIRECTORY", folder.resolve("state").toString(),
                "WATCHDOG_USEC", String.valueOf(WATCHDOG.toMillis() * 1000),
                "LISTEN_FDS", "1",
                "CREDENTIALS_DIRECTORY", folder.resolve("credentials").toString()));
        environment.putAll(more);
        ServeProcess service = ServeProcess.command(folder, port, environment, words);
        open.add(service);
        return service;
    }

    /** Without the program, whose place here is another one. */
    private static List<String> execStart(Path unit) throws IOException {
        String line = Files.readAllLines(unit).stream()
                .filter(each -> each.startsWith("ExecStart="))
                .findFirst()
                .orElseThrow();
        List<String> words =
                new ArrayList<>(List.of(line.substring("ExecStart=".length()).split(" ")));
        assertEquals("/usr/bin/fencepost", words.removeFirst());
        return words;
    }

    private Message await(ServeProcess service, String what, int count) {
        Wait.until(
                LIMIT,
                () -> what + " told " + count + " times; told: " + socket.messages() + "; it said: " + service.said(),
                () -> socket.saying(what).size() >= count);
        return socket.saying(what).get(count - 1);
    }

    private void awaitStatus(ServeProcess service, String part) {
        Wait.until(
                LIMIT,
                () -> "status with " + part + "; told: " + socket.messages() + "; it said: " + service.said(),
                () -> socket.messages().stream()
                        .anyMatch(message -> message.value("STATUS").contains(part)));
    }

    private static String job(String id, String command) {
        return "jobs:\n  " + id + ":\n" + Scene.oneSlot() + "    command: \"" + command + "\"\n";
    }

    @Test
    void tellsFromStartToStopWhatItDoes() throws Exception {
        ServeProcess service =
                start(job("article", "env > child.env; while [ ! -e go ]; do sleep 0.1; done"), Map.of());
        Message ready = await(service, "READY=1", 1);
        assertTrue(service.get("/q/health/ready").isUp(), "told ready before it was: " + service.said());
        await(service, "WATCHDOG=1", 1);
        awaitStatus(service, "runs article; next article at 20");

        long before = socket.messages().getLast().at();
        Files.writeString(
                folder.resolve("fencepost.yaml"), Files.readString(folder.resolve("fencepost.yaml")) + "  ]\n");
        service.signal("HUP");
        Message reloading = await(service, "RELOADING=1", 1);
        await(service, "READY=1", 2);
        awaitStatus(service, "jobs file refused: ");
        long begun = Long.parseLong(reloading.value("MONOTONIC_USEC"));
        assertTrue(before <= begun && begun <= reloading.at(), before + " <= " + begun + " <= " + reloading.at());

        Files.writeString(
                folder.resolve("fencepost.yaml"),
                Files.readString(folder.resolve("fencepost.yaml")).replace("  ]\n", ""));
        service.signal("HUP");
        await(service, "RELOADING=1", 2);
        await(service, "READY=1", 3);
        awaitStatus(service, "runs article; next ");

        service.signal("TERM");
        Message stopping = await(service, "STOPPING=1", 1);
        assertEquals("stopping, waits for article", stopping.value("STATUS"));
        assertTrue(Long.parseLong(stopping.value("EXTEND_TIMEOUT_USEC")) > 40_000_000, stopping::toString);
        int pings = socket.saying("WATCHDOG=1").size();
        await(service, "WATCHDOG=1", pings + 2); // also while it waits
        Files.createFile(folder.resolve("go"));
        assertEquals(0, service.awaitExit(LIMIT), service::said);

        List<String> order = socket.messages().stream()
                .map(message -> message.words().getFirst())
                .filter(word -> !word.startsWith("STATUS=") && !word.equals("WATCHDOG=1"))
                .toList();
        assertEquals(List.of("READY=1", "RELOADING=1", "READY=1", "RELOADING=1", "READY=1", "STOPPING=1"), order);
        assertTrue(socket.messages().indexOf(ready)
                <= socket.messages().indexOf(socket.saying("WATCHDOG=1").getFirst()));
        assertTrue(
                socket.messages().stream()
                        .noneMatch(message -> !message.value("MAINPID").isEmpty()),
                "the main pid stays that of the service");
        List<String> child = Files.readAllLines(folder.resolve("child.env"));
        assertFalse(
                child.stream()
                        .anyMatch(line -> line.matches("(NOTIFY_SOCKET|WATCHDOG_|LISTEN_|CREDENTIALS_DIRECTORY).*")),
                child::toString);
        assertTrue(child.stream().anyMatch(line -> line.startsWith("FENCEPOST_JOB=")), child::toString);
    }

    @Test
    void pingsComeTwiceInTheTimeAndStopWithTheProcess() throws Exception {
        ServeProcess service = start(job("a", "true"), Map.of());
        await(service, "WATCHDOG=1", 4);
        List<Message> pings = socket.saying("WATCHDOG=1");
        for (int i = 1; i < pings.size(); i++) {
            long gap = pings.get(i).at() - pings.get(i - 1).at();
            assertTrue(gap < WATCHDOG.toMillis() * 1000, "a gap of " + gap + " µs");
        }
        service.signal("STOP");
        Wait.sleep(Duration.ofMillis(500)); // a message that was under way may still arrive
        int before = socket.messages().size();
        Wait.sleep(WATCHDOG.plusSeconds(1)); // nothing can be waited for: that none comes is the point
        assertEquals(before, socket.messages().size());
        service.signal("CONT");
        await(service, "WATCHDOG=1", pings.size() + 2);
    }

    @Test
    void isReadyThoughTheStoreIsAwayAndSaysSo() throws Exception {
        int nobody = ServeProcess.freePort();
        ServeProcess service =
                start("store: postgresql://nobody@127.0.0.1:" + nobody + "/none\n" + job("a", "true"), Map.of());
        await(service, "READY=1", 1);
        awaitStatus(service, "the store is not available");
        await(service, "WATCHDOG=1", 3); // a restart would not bring it back
        assertFalse(service.get("/q/health/ready").isUp());
    }

    @Test
    void theTemplateUnitRunsItsCommandUnderTheLeaseOfItsName() throws Exception {
        Path file = Files.writeString(folder.resolve("fencepost.yaml"), job("a", "true"));
        Path command =
                Files.writeString(folder.resolve("backup"), "#!/bin/sh\necho \"$FENCEPOST_JOB\" > ran\nexit 7\n");
        assertTrue(command.toFile().setExecutable(true));
        List<String> words = execStart(Path.of("deploy/systemd/fencepost-exec@.service"));
        words.replaceAll(word -> word.replace("/etc/fencepost/fencepost.yaml", file.toString())
                .replace("/etc/fencepost/exec.d/%i", command.toString())
                .replace("%i", "backup"));
        ServeProcess exec = ServeProcess.command(
                folder, 0, Map.of("STATE_DIRECTORY", folder.resolve("state").toString()), words);
        open.add(exec);
        assertEquals(7, exec.awaitExit(LIMIT), exec::said);
        assertEquals("backup\n", Files.readString(folder.resolve("ran")));
    }

    @Test
    void isServedThoughNobodyListensAndNotesItOnce() throws Exception {
        socket.close();
        ServeProcess service = start(job("a", "true"), Map.of()).awaitReady();
        Wait.until(LIMIT, service::said, () -> service.metric("service_manager_failed_total") >= 2);
        assertEquals(
                1, service.linesContaining("the service manager was not told").size(), service::said);
        service.signal("TERM");
        assertEquals(0, service.awaitExit(LIMIT), service::said);
    }
}
