package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A start that cannot be: a clear sentence, the right exit code, and never a stack trace. */
@Tag("faults")
class RefusedStartIT {

    private static final Duration LIMIT = Duration.ofSeconds(15);
    private static final String JOBS = "jobs:\n  work:\n    every: 1h\n    command: ['true']\n";

    @TempDir
    Path folder;

    @Test
    void aSecondServiceOnOneStateDirectoryIsRefused() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs(JOBS);
            ServeProcess first = scene.serve("a").awaitReady();
            ServeProcess second = scene.serve("a");
            assertRefused(
                    second,
                    3,
                    "another serve uses the state directory",
                    folder.resolve("a").toString(),
                    "--port");
            assertTrue(first.get("/q/health/ready").isUp());

            first.signal("KILL");
            first.awaitExit(LIMIT);
            scene.serve("a").awaitReady(); // the lock has died with its holder
        }
    }

    @Test
    void aPortInUseIsNamed() throws IOException {
        try (Scene scene = Scene.sqlite(folder);
                ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            scene.jobs(JOBS);
            assertRefused(
                    scene.serve("a", taken.getLocalPort()), 1, "port " + taken.getLocalPort(), "127.0.0.1", "--port");
        }
    }

    @Test
    void aFolderForTemporaryFilesThatCannotBeWrittenIsNamed() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs(JOBS);
            scene.variable("FENCEPOST_JAVA_OPTS", "-Djava.io.tmpdir=/proc");
            assertRefused(scene.serve("a"), 1, "it could not start", "/proc/");
        }
    }

    @Test
    void aBadJobsFileIsRefusedWithFileLineAndColumn() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs("""
                    jobs:
                      one:
                        every: 45
                        command: ['true']
                      two:
                        cron: "0 0 30 2 *"
                        comand: ['true']
                    """);
            ServeProcess service = scene.serve("a");
            String file = folder.resolve("fencepost.yaml").toString();
            assertRefused(service, 78, file + ":3:12", file + ":6:11", file + ":7:5", "45", "comand");
        }
    }

    @Test
    void aMissingJobsFileIsRefused() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.config(folder.resolve("nowhere.yaml"));
            assertRefused(scene.serve("a"), 78, folder.resolve("nowhere.yaml").toString());
        }
    }

    @Test
    void aStoreOfAnUnknownKindOrOnADirectoryIsRefused() throws IOException {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs(JOBS);
            Path directory = Files.createDirectory(folder.resolve("directory"));
            String state = folder.resolve("a").toString();
            List<String> serve = List.of("serve", "--config", "fencepost.yaml", "--state-dir", state, "--port");
            assertRefused(
                    with(scene, serve, "--store", "mysql://db/fencepost"), 2, "mysql", "postgresql://", "sqlite:");
            assertRefused(with(scene, serve, "--store", "sqlite:" + directory), 2, directory.toString(), "directory");
            assertRefused(with(scene, serve, "--store", "fencepost.db"), 2, "kind of store");
            Path plain = Files.writeString(folder.resolve("plain"), "a file");
            assertRefused(with(scene, serve, "--store", "sqlite:" + plain + "/x.db"), 2, plain.toString(), "directory");
            scene.jobs("store: sqlite:directory\n" + JOBS);
            assertRefused(with(scene, serve), 78, "fencepost.yaml:1:8", directory.toString());
        }
    }

    @Test
    void aStateDirectoryThatCannotBeIsNamed() throws IOException {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs(JOBS);
            Files.writeString(folder.resolve("plain"), "a file");
            assertRefused(scene.serve("plain"), 1, folder.resolve("plain").toString(), "directory");
            assertRefused(
                    scene.serve("plain/below"), 1, folder.resolve("plain/below").toString());
        }
    }

    private static ServeProcess with(Scene scene, List<String> serve, String... more) {
        List<String> words = new ArrayList<>(serve);
        words.add(String.valueOf(ServeProcess.freePort()));
        words.addAll(List.of(more));
        return scene.command(words.toArray(String[]::new));
    }

    private static void assertRefused(ServeProcess start, int exitCode, String... parts) {
        assertEquals(exitCode, start.awaitExit(LIMIT), start::said);
        String said = String.join("\n", start.errorLines());
        for (String part : parts) {
            assertTrue(said.contains(part), () -> "\"" + part + "\" in: " + start.said());
        }
        String all = said + String.join("\n", start.lines());
        assertFalse(
                all.contains("\tat ") || all.contains("Exception") || all.contains("unexpected error"), start::said);
        assertTrue(start.errorLines().size() <= 12, start::said);
    }
}
