package dev.fencepost.packages;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The scripts of the Debian package in the orders in which dpkg calls them, with programs that note what is asked of them. */
class MaintainerScriptsTest {

    private static final Path SCRIPTS = Path.of("src/main/packaging/debian");

    /** The state of the service is a file. */
    private static final Map<String, String> PROGRAMS = Map.of(
            "systemctl", "case $1 in show | is-active) cat \"$ROOT/state\"; grep -qx active \"$ROOT/state\" ;; esac",
            "deb-systemd-invoke",
                    "echo $1 >>\"$ROOT/asked\"; [ $1 = start ] && echo active >\"$ROOT/state\" || echo inactive"
                            + " >\"$ROOT/state\"",
            "deb-systemd-helper", "true",
            "getent", "true");

    @TempDir
    Path root;

    @BeforeEach
    void makeRoot() throws IOException {
        Files.createDirectories(root.resolve("run/systemd/system"));
        Files.createDirectories(root.resolve("var/lib/fencepost"));
        Files.writeString(root.resolve("confmodule"), "db_stop() { :; }\n");
        Files.writeString(root.resolve("asked"), "");
        Path bin = Files.createDirectory(root.resolve("bin"));
        for (Map.Entry<String, String> program : PROGRAMS.entrySet()) {
            Path file = Files.writeString(bin.resolve(program.getKey()), "#!/bin/sh\n" + program.getValue() + "\n");
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
        }
    }

    private void state(String state) throws IOException {
        Files.writeString(root.resolve("state"), state + "\n");
    }

    private void call(String script, String... words) throws IOException {
        String text = Files.readString(SCRIPTS.resolve(script))
                .replace("/usr/share/debconf/confmodule", root + "/confmodule")
                .replace("/run/", root + "/run/")
                .replace("/var/lib/", root + "/var/lib/");
        Path copy = Files.writeString(root.resolve(script), text);
        String[] line = new String[words.length + 2];
        line[0] = "sh";
        line[1] = copy.toString();
        System.arraycopy(words, 0, line, 2, words.length);
        Tool.good(
                root, Map.of("ROOT", root.toString(), "PATH", root.resolve("bin") + ":" + System.getenv("PATH")), line);
    }

    private List<String> asked() throws IOException {
        return Files.readAllLines(root.resolve("asked"));
    }

    @ParameterizedTest
    @CsvSource({"active, true", "reloading, true", "activating, true", "inactive, false", "failed, false"})
    void anUpgradeStopsWhatRunsOrIsAboutToAndStartsItAgain(String state, boolean runs) throws IOException {
        List<String> wanted = runs ? List.of("stop", "start") : List.of();
        state(state);
        call("prerm", "upgrade", "2");
        call("postrm", "upgrade", "2");
        call("postinst", "configure", "1");
        assertEquals(wanted, asked());
    }

    @ParameterizedTest
    @CsvSource({"remove, abort-remove", "upgrade, abort-upgrade", "deconfigure, abort-deconfigure"})
    void whatDpkgGivesUpLeavesTheServiceAsItWas(String begun, String aborted) throws IOException {
        state("inactive");
        call("prerm", begun);
        call("postinst", aborted);
        assertEquals(List.of(), asked());
        state("active");
        call("prerm", begun);
        call("postinst", aborted);
        assertEquals(List.of("stop", "start"), asked());
    }

    @Test
    void aNewInstallationAfterARemovalStartsIt() throws IOException {
        state("inactive");
        call("prerm", "remove");
        call("postrm", "remove");
        call("postinst", "configure");
        assertEquals(List.of("start"), asked());
    }

    @Test
    void withoutSystemdNothingIsAsked() throws IOException {
        Files.delete(root.resolve("run/systemd/system"));
        call("prerm", "upgrade", "2");
        call("postinst", "configure", "1");
        call("prerm", "remove");
        call("postrm", "remove");
        assertEquals(List.of(), asked());
    }
}
