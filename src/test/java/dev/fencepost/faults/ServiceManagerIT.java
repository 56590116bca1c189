package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The unit under a real systemd: that of this user, or that of the host for root. Left out of it is what has to do with the place of the test
 * alone: the user, and what hides the folder for temporary files and home directories.
 */
@Tag("faults")
class ServiceManagerIT {

    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final List<String> LEFT_OUT =
            List.of("User=", "Group=", "WorkingDirectory=", "ProtectHome=", "PrivateTmp=", "StartLimitIntervalSec=");

    @TempDir
    Path folder;

    private final String unit = "fencepost-test-" + ProcessHandle.current().pid() + ".service";
    private boolean ofUser;
    private Path file;
    private Path jobs;

    @BeforeEach
    void install() throws IOException {
        String runtime = System.getenv().getOrDefault("XDG_RUNTIME_DIR", "");
        ofUser = !runtime.isEmpty()
                && Programs.refusalOf("systemctl", "--user", "show", "-p", "Version")
                        .isEmpty();
        boolean ofHost = Files.isDirectory(Path.of("/run/systemd/system")) && Files.isWritable(Path.of("/run/systemd"));
        Assumptions.assumeTrue(
                ofUser || ofHost,
                "test under a real systemd left out: there is none for this user, and it is not the host's or this is not root");
        Path place = ofUser ? Path.of(runtime, "systemd/user") : Path.of("/run/systemd/system");
        jobs = Files.writeString(
                folder.resolve("fencepost.yaml"),
                "jobs:\n  article:\n" + Scene.oneSlot() + "    command: \"while [ ! -e " + folder
                        + "/go ]; do sleep 0.1; done\"\n");
        List<String> lines = new ArrayList<>(Files.readAllLines(Path.of("deploy/systemd/fencepost.service")));
        lines.removeIf(line -> LEFT_OUT.stream().anyMatch(line::startsWith));
        lines.replaceAll(line -> line.replace("/usr/bin/fencepost", ServeProcess.PROGRAM.toString())
                .replace("/etc/fencepost/fencepost.yaml", jobs.toString())
                .replace("StateDirectory=fencepost", "StateDirectory=" + unit)
                .replace("WatchdogSec=90s", "WatchdogSec=6s")
                .replace("RestartSec=15s", "RestartSec=1s")
                .replace("TimeoutAbortSec=10s", "TimeoutAbortSec=1s"));
        lines.replaceAll(line -> line.startsWith("ExecStart=") ? line + " --port " + ServeProcess.freePort() : line);
        lines.add(lines.indexOf("[Service]") + 1, "StandardOutput=append:" + folder.resolve("out.log"));
        lines.add(lines.indexOf("[Service]") + 1, "ReadWritePaths=/tmp " + folder);
        file = Files.write(Files.createDirectories(place).resolve(unit), lines);
        assertEquals("", systemctl("daemon-reload"));
    }

    @AfterEach
    void remove() throws IOException {
        if (file != null) {
            systemctl("kill", "--signal=KILL", unit);
            systemctl("stop", unit);
            systemctl("clean", "--what=state", unit);
            Files.deleteIfExists(file);
            systemctl("daemon-reload");
        }
    }

    /** What it says, both outputs, or empty; its exit code matters where it says something. */
    private String systemctl(String... words) throws IOException {
        List<String> command = new ArrayList<>(List.of("systemctl"));
        if (ofUser) {
            command.add("--user");
        }
        command.addAll(List.of(words));
        Path out = Files.createTempFile(folder, "systemctl", ".log");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(out.toFile())
                .start();
        try {
            assertTrue(process.waitFor(5, TimeUnit.MINUTES), command::toString);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
        String said = Files.readString(out).strip();
        return process.exitValue() == 0 || !said.isEmpty() ? said : "exit code " + process.exitValue();
    }

    private String property(String name) throws IOException {
        return systemctl("show", unit, "--value", "-p", name);
    }

    private String log() throws IOException {
        return Files.exists(folder.resolve("out.log")) ? Files.readString(folder.resolve("out.log")) : "";
    }

    private void await(String property, String part) {
        Wait.until(
                LIMIT,
                () -> property + " with " + part,
                () -> property(property).contains(part));
    }

    @Test
    void isStartedReloadedWatchedAndStopped() throws IOException {
        assertEquals("", systemctl("start", unit), this::state);
        assertEquals("active", property("ActiveState"), this::state);
        await("StatusText", "runs article; next article at ");
        String pid = property("MainPID");

        assertEquals("", systemctl("reload", unit), this::state);
        Wait.until(LIMIT, this::state, () -> log().contains("SIGHUP: 1 jobs of"));
        String good = Files.readString(jobs);
        Files.writeString(jobs, good + "  ]\n");
        assertTrue(systemctl("reload", unit).contains("failed"), this::state);
        assertTrue(log().contains("error: the YAML cannot be read"), this::state);
        Files.writeString(jobs, good);
        await("SubState", "running");
        assertEquals(pid, property("MainPID"), "a reload is no restart");
        assertEquals("0", property("NRestarts"));

        Processes.signal(Long.parseLong(pid), "STOP"); // its loops do not turn, and nobody pings
        Wait.until(LIMIT, this::state, () -> Integer.parseInt(property("NRestarts")) >= 1);
        await("SubState", "running");
        assertNotEquals(pid, property("MainPID"));
        await("StatusText", "runs article"); // taken over at once from the dead one

        Files.createFile(folder.resolve("go"));
        assertEquals("", systemctl("stop", unit), this::state);
        assertEquals("inactive", property("ActiveState"), this::state);
        assertEquals("success", property("Result"), this::state);
        assertTrue(log().contains("INFO  stopped"), this::state);
    }

    private String state() {
        try {
            return systemctl("status", "--no-pager", "-l", unit) + "\n" + log();
        } catch (IOException e) {
            return e.toString();
        }
    }
}
