package dev.fencepost.packages;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The packages of what the build has made, packed in haste and without AOT caches, and looked into. */
@Tag("packages")
class PackagesIT {

    private static final Path PROJECT = Path.of("").toAbsolutePath();
    private static final Path PACK = PROJECT.resolve("src/main/packaging/pack");
    private static final Path INSTALL = PROJECT.resolve("deploy/install.sh");
    private static final String JAVA = System.getProperty("java.home");

    /** No Java of the machine: the packages bring their own. */
    private static final Map<String, String> NO_JAVA = Map.of("PATH", "/usr/bin:/bin", "JAVA_HOME", "/nonexistent");

    @TempDir
    static Path packed;

    @TempDir
    Path folder;

    @BeforeAll
    static void pack() {
        assumeTrue(
                Files.exists(PROJECT.resolve("target/quarkus-app/quarkus-run.jar")),
                "target/fencepost is not the program for the JVM");
        assumeTrue(Files.isExecutable(Path.of(JAVA, "bin/jlink")), "this JDK has no jlink");
        pack(packed);
    }

    private static void pack(Path out) {
        Tool.good(PROJECT, Map.of("JAVA_HOME", JAVA), words(out));
    }

    private static String[] words(Path out) {
        return new String[] {
            "sh", PACK.toString(), "--quick", "1.2.3-SNAPSHOT", "2026-01-01T00:00:00Z", "target", out.toString()
        };
    }

    private static Path only(Path where, String end) throws IOException {
        try (Stream<Path> all = Files.list(where)) {
            List<Path> found = all.filter(file -> file.toString().endsWith(end)).toList();
            assertEquals(1, found.size(), found::toString);
            return found.getFirst();
        }
    }

    private static Path deb() throws IOException {
        Tool.assume("dpkg-deb");
        return only(packed, ".deb");
    }

    @Test
    void theDebianPackageHoldsAllItsParts() throws Exception {
        String content = Tool.good(folder, "dpkg-deb", "--contents", deb().toString());
        List<String> paths = content.lines()
                .map(line -> line.replaceFirst("^\\S+ +\\S+ +\\S+ +\\S+ +\\S+ +", ""))
                .toList();
        for (String each : List.of(
                "./usr/bin/fencepost -> ../lib/fencepost/fencepost",
                "./usr/lib/fencepost/quarkus-app/quarkus-run.jar",
                "./usr/lib/fencepost/runtime/bin/java",
                "./lib/systemd/system/fencepost.service",
                "./etc/fencepost/fencepost.yaml",
                "./usr/share/man/man1/fencepost.1.gz",
                "./usr/share/bash-completion/completions/fencepost",
                "./usr/share/zsh/vendor-completions/_fencepost",
                "./usr/share/fish/vendor_completions.d/fencepost.fish",
                "./usr/share/doc/fencepost-jre/copyright",
                "./usr/share/doc/fencepost-jre/examples/article.yaml",
                "./usr/share/doc/fencepost-jre/examples/systemd/drop-ins/agent.conf",
                "./usr/share/doc/fencepost-jre/examples/systemd/fencepost-exec@.timer",
                "./usr/share/doc/fencepost-jre/changelog.gz")) {
            assertTrue(paths.contains(each), () -> each + " is not in\n" + content);
        }
        List<String> odd = content.lines()
                .filter(line -> !line.contains(" root/root ")
                        || !line.contains(" 2026-01-01 ")
                        || line.substring(0, 10).matches(".*[sStT].*|-.......w.|d.......w."))
                .toList();
        assertEquals(List.of(), odd, "of another owner, of another time, or with odd rights");
    }

    @Test
    void itsScriptsAreShellAndItsJobsFileIsAConffile() throws Exception {
        Path control = folder.resolve("control");
        Tool.good(folder, "dpkg-deb", "--control", deb().toString(), control.toString());
        for (String script : List.of("postinst", "prerm", "postrm")) {
            Tool.good(control, "sh", "-n", script);
            assertTrue(Files.isExecutable(control.resolve(script)), script);
        }
        assertEquals("/etc/fencepost/fencepost.yaml\n", Files.readString(control.resolve("conffiles")));
        String fields = Files.readString(control.resolve("control"));
        assertTrue(fields.contains("Package: fencepost-jre\nVersion: 1.2.3~SNAPSHOT\n"), fields);
        assertTrue(fields.contains("\nConflicts: fencepost\n"), fields);
    }

    @Test
    void lintianFindsNothing() throws Exception {
        Tool.assume("lintian");
        String found = Tool.good(
                folder,
                "lintian",
                "--allow-root",
                "--tag-display-limit",
                "0",
                "--fail-on",
                "error,warning",
                deb().toString());
        assertEquals("", found);
    }

    @Test
    void withoutTheUnitThereIsNoPackageAndTheBuildSaysWhy() throws IOException {
        Path alone = folder.resolve("src/main/packaging/pack");
        Files.createDirectories(alone.getParent());
        Files.copy(PACK, alone);
        Files.createDirectory(folder.resolve("target"));
        Tool ended = Tool.run(
                folder,
                Map.of("JAVA_HOME", JAVA),
                List.of("sh", alone.toString(), "1.2.3", "2026-01-01T00:00:00Z", "target"));
        assertEquals(1, ended.code());
        assertTrue(ended.said().contains("deploy/systemd/fencepost.service is missing"), ended::said);
        assertFalse(Files.exists(folder.resolve("target/packages")));
    }

    @Test
    void twoPackingsOfOneBuildAreTheSameBytes() throws IOException {
        pack(folder);
        String sums = Files.readString(packed.resolve("SHA256SUMS"));
        assertEquals(sums, Files.readString(folder.resolve("SHA256SUMS")));
        assertTrue(sums.contains("fencepost-jre-1.2.3-SNAPSHOT-linux-"), sums);
        Tool.good(packed, "sha256sum", "-c", "SHA256SUMS");
    }

    @Test
    void installShInstallsUpgradesAndTakesAwayWithoutRoot() throws Exception {
        Path tarball = only(packed, ".tar.gz");
        Path home = Files.createDirectory(folder.resolve("home"));
        Path program = home.resolve(".local/bin/fencepost");
        Path install = Files.copy(INSTALL, home.resolve("install.sh")); // where it lies, somebody else may not read it
        for (String time : List.of("the first time", "over itself")) {
            String said = asSomebody(home, "sh", install.toString(), "--file", tarball.toString());
            assertTrue(said.contains("is in " + home + "/.local"), () -> time + ": " + said);
            assertTrue(asSomebody(home, program.toString(), "--version").startsWith("fencepost "));
        }
        try (Stream<Path> all = Files.list(home.resolve(".local/lib"))) {
            assertEquals(List.of(home.resolve(".local/lib/fencepost")), all.toList(), "and nothing is left over");
        }
        try (Stream<Path> all = Files.walk(home.resolve(".local/share"))) {
            List<Path> links = all.filter(Files::isSymbolicLink).toList();
            assertEquals(4, links.size());
            links.forEach(link -> assertTrue(Files.exists(link), () -> link + " leads nowhere"));
        }

        Path foreign = Files.writeString(home.resolve(".local/lib/other"), "not ours");
        asSomebody(home, "sh", install.toString(), "--uninstall");
        assertFalse(Files.exists(home.resolve(".local/lib/fencepost")));
        assertFalse(Files.exists(program, java.nio.file.LinkOption.NOFOLLOW_LINKS));
        assertTrue(Files.exists(foreign));
    }

    @Test
    void installShRefusesAnotherSumBeforeAnythingIsTouched() throws Exception {
        Path tarball = only(packed, ".tar.gz");
        Path changed = Files.copy(tarball, folder.resolve(tarball.getFileName().toString()));
        byte[] bytes = Files.readAllBytes(changed);
        bytes[bytes.length / 2] ^= 1;
        Files.write(changed, bytes);
        Path prefix = folder.resolve("prefix");
        for (String sums : List.of(Files.readString(packed.resolve("SHA256SUMS")), "")) {
            Files.writeString(folder.resolve("SHA256SUMS"), sums);
            Tool ended = Tool.run(
                    folder,
                    Map.of(),
                    List.of("sh", INSTALL.toString(), "--file", changed.toString(), "--prefix", prefix.toString()));
            assertEquals(1, ended.code());
            assertTrue(ended.said().contains(sums.isEmpty() ? "does not name" : "Nothing was installed"), ended::said);
            assertFalse(Files.exists(prefix));
        }
    }

    @Test
    void installShLeavesAloneWhatRuns() throws Exception {
        Path prefix = folder.resolve("prefix");
        String[] install = {
            "sh", INSTALL.toString(), "--file", only(packed, ".tar.gz").toString(), "--prefix", prefix.toString()
        };
        Tool.good(folder, install);
        byte[] before = Files.readAllBytes(prefix.resolve("lib/fencepost/fencepost"));
        Process running = new ProcessBuilder(
                        prefix.resolve("bin/fencepost").toString(), "exec", "hold", "--state-dir", "state", "--", "cat")
                .directory(folder.toFile())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            Path link = Files.createSymbolicLink(folder.resolve("link"), prefix);
            for (List<String> words : List.of(
                    List.of(install),
                    List.of("sh", INSTALL.toString(), "--uninstall", "--prefix", prefix.toString()),
                    List.of("sh", INSTALL.toString(), "--uninstall", "--prefix", prefix + "/"),
                    List.of("sh", INSTALL.toString(), "--uninstall", "--prefix", link.toString()))) {
                Tool ended = awaitRefusal(running, words);
                assertNotEquals(0, ended.code());
                assertTrue(ended.said().contains("process " + running.pid() + " runs out of"), ended::said);
            }
            assertArrayEquals(before, Files.readAllBytes(prefix.resolve("lib/fencepost/fencepost")));
        } finally {
            running.descendants().forEach(ProcessHandle::destroyForcibly);
            running.destroyForcibly().waitFor();
        }
    }

    /** The launcher is a shell first, and only then the program of the prefix. */
    private Tool awaitRefusal(Process running, List<String> words) throws Exception {
        for (int tries = 0; tries < 200; tries++) {
            if (running.info().command().orElse("").endsWith("/runtime/bin/java")) {
                return Tool.run(folder, Map.of(), words);
            }
            assertTrue(running.isAlive());
            Thread.sleep(50); // between two looks at a process that is starting
        }
        throw new AssertionError("it did not become the program: " + running.info());
    }

    @Test
    void installShSaysWhatIsMissing() {
        Tool ended = Tool.run(folder, Map.of(), List.of("sh", INSTALL.toString(), "--prefix", folder.toString()));
        assertEquals(64, ended.code());
        assertTrue(ended.said().contains("Set FENCEPOST_RELEASES="), ended::said);
        assertEquals(
                64,
                Tool.run(folder, Map.of(), List.of("sh", INSTALL.toString(), "--prefix", "here"))
                        .code());
    }

    @Test
    void shellcheckFindsNothing() {
        Tool.assume("shellcheck");
        Tool.good(
                PROJECT,
                "shellcheck",
                "--severity=warning",
                "--exclude=SC1091,SC2034", // debconf's own file; counters of loops
                "deploy/install.sh",
                "src/main/packaging/pack",
                "src/main/packaging/debian/postinst",
                "src/main/packaging/debian/prerm",
                "src/main/packaging/debian/postrm",
                "src/test/resources/packages/in-a-root.sh");
    }

    /** As a user without rights, where the test is root. */
    private String asSomebody(Path home, String... words) throws Exception {
        List<String> line = new ArrayList<>();
        if (new String(new ProcessBuilder("id", "-u").start().getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                .strip()
                .equals("0")) {
            for (Path each = home; each.startsWith(folder) || each.startsWith(packed); each = each.getParent()) {
                Files.setPosixFilePermissions(each, PosixFilePermissions.fromString("rwxr-xr-x"));
            }
            Files.setPosixFilePermissions(packed, PosixFilePermissions.fromString("rwxr-xr-x"));
            Tool.good(folder, "chown", "-R", "65534:65534", home.toString());
            line.addAll(List.of("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"));
        }
        line.addAll(List.of(words));
        return Tool.good(
                home,
                Map.of("HOME", home.toString(), "PATH", NO_JAVA.get("PATH"), "JAVA_HOME", NO_JAVA.get("JAVA_HOME")),
                line.toArray(String[]::new));
    }
}
