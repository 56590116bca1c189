package dev.fencepost.edge.systemd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.cli.ExitCode;
import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.config.JobsFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The files under deploy/systemd, as systemd itself reads them and by what must or must not stand there. */
class UnitFilesTest {

    private static final Path UNITS = Path.of("deploy/systemd");
    private static final String SERVICE = "fencepost.service";
    private static final String EXEC = "fencepost-exec@.service";
    private static final String TIMER = "fencepost-exec@.timer";

    /** In tenths: 2.0. */
    private static final int MOST_EXPOSURE = 20;

    /** Of a run, where neither jobs file nor exec says otherwise. */
    private static final Duration GRACE = Duration.ofSeconds(10);

    private static final int RESTARTS_WITH_BACKOFF = 254;
    private static final int LEAST_FOR_OFFLINE = 250;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @Test
    void systemdFindsNothingToSayOfThem() throws Exception {
        needSystemd(LEAST_FOR_OFFLINE);
        List<String> files = List.of(
                copy(SERVICE, SERVICE),
                copy(EXEC, "fencepost-exec@backup.service"),
                copy(TIMER, "fencepost-exec@backup.timer"));
        assertEquals("", said(verify(files)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"agent.conf", "credentials.conf"})
    void systemdFindsNothingToSayOfTheUnitWithADropIn(String name) throws Exception {
        needSystemd(LEAST_FOR_OFFLINE);
        String service = copy(SERVICE, SERVICE);
        dropIn(name);
        assertEquals("", said(verify(List.of(service))));
    }

    @Test
    void newerSystemdFindsNothingToSayOfTheRestartsThatOlderOnesDoNotKnow() throws Exception {
        needSystemd(RESTARTS_WITH_BACKOFF);
        String service = copy(SERVICE, SERVICE);
        dropIn("backoff.conf");
        assertEquals("", said(verify(List.of(service))));
    }

    @ParameterizedTest
    @ValueSource(strings = {SERVICE, EXEC})
    void theExposureIsAtMostTwo(String name) throws Exception {
        needSystemd(LEAST_FOR_OFFLINE);
        List<String> command = new ArrayList<>(
                List.of("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=" + MOST_EXPOSURE));
        command.add(UNITS.resolve(name).toString());
        Said said = run(command);
        assertEquals(0, said.code(), said::text);
    }

    @Test
    void theExposureWouldBeFound() throws Exception {
        needSystemd(LEAST_FOR_OFFLINE);
        String service = copy(SERVICE, SERVICE);
        dropIn("agent.conf");
        Said said = run(List.of(
                "systemd-analyze",
                "security",
                "--offline=true",
                "--no-pager",
                "--threshold=" + MOST_EXPOSURE,
                service));
        assertNotEquals(0, said.code(), "an opened unit counts as closed: " + said.text());
    }

    /** The boot clock and the boot id, the takeover from a dead runner, a JVM and agents, the guard. */
    @ParameterizedTest
    @ValueSource(strings = {SERVICE, EXEC, "drop-ins/agent.conf", "drop-ins/credentials.conf", "drop-ins/backoff.conf"})
    void nothingIsForbiddenThatLeasesAndAgentsNeed(String name) throws IOException {
        List<String> lines = settings(name);
        for (String forbidden : List.of("ProcSubset=", "MemoryDenyWriteExecute=", "ProtectProc=", "KillMode=process")) {
            assertTrue(lines.stream().noneMatch(line -> line.startsWith(forbidden)), forbidden + " in " + name);
        }
        for (String line : lines) {
            if (line.startsWith("RestrictNamespaces=") && !line.equals("RestrictNamespaces=no")) {
                assertTrue(
                        List.of(value(line).split(" ")).containsAll(List.of("user", "pid", "mnt")),
                        name + " closes namespaces that the guard needs: " + line);
            }
        }
    }

    @Test
    void systemdWaitsForTheDrain() throws IOException {
        Duration stop = JobsFile.DEFAULT_DRAIN.plus(GRACE).plusSeconds(15);
        assertTrue(duration(SERVICE, "TimeoutStopSec").compareTo(stop) > 0);
        assertTrue(duration(EXEC, "TimeoutStopSec").compareTo(GRACE) > 0);
        assertEquals("mixed", setting(SERVICE, "KillMode"));
    }

    @Test
    void theUnitListensToTheProgramThatTellsAndDoesNotRestartForABadFile() throws IOException {
        assertEquals("notify", setting(SERVICE, "Type"));
        assertEquals("all", setting(SERVICE, "NotifyAccess"));
        assertEquals("on-failure", setting(SERVICE, "Restart"));
        assertEquals(ExitCode.USAGE + " " + ExitCode.BAD_CONFIGURATION, setting(SERVICE, "RestartPreventExitStatus"));
        assertEquals("143", setting(SERVICE, "SuccessExitStatus"));
        assertEquals("continue", setting(SERVICE, "OOMPolicy"));
        assertEquals("0700", setting(SERVICE, "StateDirectoryMode"));
        assertTrue(duration(SERVICE, "WatchdogSec").compareTo(Duration.ofSeconds(60)) > 0);
    }

    private static List<String> settings(String name) throws IOException {
        return Files.readAllLines(UNITS.resolve(name)).stream()
                .filter(line -> line.matches("[A-Za-z]+=.*"))
                .toList();
    }

    private static String value(String line) {
        return line.substring(line.indexOf('=') + 1);
    }

    private static String setting(String name, String key) throws IOException {
        List<String> values = settings(name).stream()
                .filter(line -> line.startsWith(key + "="))
                .map(UnitFilesTest::value)
                .toList();
        assertEquals(1, values.size(), key + " in " + name);
        return values.getFirst();
    }

    private static Duration duration(String name, String key) throws IOException {
        return DurationText.parse(setting(name, key).replace("min", "m"), Duration.ZERO, Duration.ofDays(1));
    }

    /** Programs that are not installed here stand for others that are: verify looks whether they can be started. */
    private String copy(String name, String as) throws IOException {
        String text = Files.readString(UNITS.resolve(name));
        assertFalse(as.endsWith(".service") && !text.contains("=/usr/bin/fencepost "), name);
        Path file = folder.resolve(as);
        Files.writeString(file, text.replace("=/usr/bin/fencepost ", "=/bin/true "));
        return file.toString();
    }

    private void dropIn(String name) throws IOException {
        Path place = Files.createDirectories(folder.resolve(SERVICE + ".d"));
        Files.copy(UNITS.resolve("drop-ins").resolve(name), place.resolve(name));
    }

    private static List<String> verify(List<String> files) {
        return Stream.concat(Stream.of("systemd-analyze", "verify", "--man=no"), files.stream())
                .toList();
    }

    private record Said(int code, String text) {}

    private static String said(List<String> command) throws IOException, InterruptedException {
        Said said = run(command);
        return said.text() + (said.code() == 0 ? "" : " exit code " + said.code());
    }

    private static Said run(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String text = new String(process.getInputStream().readAllBytes()).strip();
        assertTrue(process.waitFor(1, TimeUnit.MINUTES));
        return new Said(process.exitValue(), text);
    }

    private static void needSystemd(int version) throws Exception {
        String text;
        try {
            text = run(List.of("systemd-analyze", "--version")).text();
        } catch (IOException missing) {
            text = "systemd 0";
        }
        Matcher found = Pattern.compile("systemd (\\d+)").matcher(text);
        int here = found.find() ? Integer.parseInt(found.group(1)) : 0;
        Assumptions.assumeTrue(
                here >= version, "test of unit files left out: needs systemd-analyze " + version + ", here is " + here);
    }
}
