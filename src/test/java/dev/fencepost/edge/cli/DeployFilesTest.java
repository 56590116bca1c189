package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** What is handed out beside the program: container, manifest, workflows, scripts. */
class DeployFilesTest {

    private static final Path CONTAINER = Path.of("deploy/container");
    private static final Path WORKFLOWS = Path.of(".github/workflows");
    private static final Path PACKAGING = Path.of("src/main/packaging");

    @TempDir
    Path folder;

    private static List<Path> files(Path root, Pattern name) throws IOException {
        try (Stream<Path> all = Files.walk(root)) {
            return all.filter(Files::isRegularFile)
                    .filter(file -> name.matcher(file.getFileName().toString()).matches())
                    .toList();
        }
    }

    /** Doubled keys are refused by the parser. */
    private static List<Map<?, ?>> documents(Path file) throws IOException {
        List<Map<?, ?>> documents = new ArrayList<>();
        for (Object each : new Load(
                        LoadSettings.builder().setLabel(file.toString()).build())
                .loadAllFromString(Files.readString(file))) {
            documents.add((Map<?, ?>) each);
        }
        return documents;
    }

    private static Object at(Object value, Object... path) {
        for (Object key : path) {
            value = key instanceof Integer index ? ((List<?>) value).get(index) : ((Map<?, ?>) value).get(key);
            assertTrue(value != null, () -> "nothing at " + key);
        }
        return value;
    }

    @Test
    void everyYamlFileIsWellFormed() throws IOException {
        Pattern yaml = Pattern.compile(".*\\.ya?ml");
        List<Path> all = new ArrayList<>(files(Path.of("deploy"), yaml));
        all.addAll(files(WORKFLOWS, yaml));
        all.addAll(files(PACKAGING, yaml));
        for (Path file : all) {
            assertFalse(documents(file).isEmpty(), () -> file + " is empty");
        }
    }

    @Test
    void actionsArePinnedToAVersion() throws IOException {
        Pattern uses = Pattern.compile("uses: *(\\S+)");
        Pattern pinned = Pattern.compile("[a-z-]+/[a-z-]+@v\\d+\\.\\d+\\.\\d+");
        int found = 0;
        for (Path file : files(WORKFLOWS, Pattern.compile(".*\\.yml"))) {
            for (var match : uses.matcher(Files.readString(file)).results().toList()) {
                assertTrue(pinned.matcher(match.group(1)).matches(), () -> file + ": " + match.group(1));
                found++;
            }
        }
        assertTrue(found >= 5, "only " + found + " actions found");
    }

    @Test
    void ciRunsWhatAPersonRuns() throws IOException {
        Map<?, ?> ci = documents(WORKFLOWS.resolve("ci.yml")).getFirst();
        List<?> steps = (List<?>) at(ci, "jobs", "ci", "steps");
        assertEquals(".ci/run", at(steps.getLast(), "run"));
    }

    @Test
    void jobsFilesThatAreHandedOutAreValid() throws IOException {
        assertGood(Files.readString(PACKAGING.resolve("fencepost.yaml")));
        Map<?, ?> config =
                documents(Path.of("deploy/kubernetes/fencepost.yaml")).getFirst();
        assertGood((String) at(config, "data", "fencepost.yaml"));
    }

    private void assertGood(String yaml) throws IOException {
        Path file = Files.writeString(folder.resolve("jobs.yaml"), yaml);
        CommandRun run = CommandRun.of(folder, "validate", "--config", file.toString());
        assertEquals(0, run.exitCode(), run::err);
        assertTrue(run.out().contains("0 warnings"), run::out);
    }

    @Test
    void theContainerIsNotRootAndItsRootIsReadOnly() throws IOException {
        String dockerfile = Files.readString(CONTAINER.resolve("Dockerfile"));
        assertTrue(Pattern.compile("^USER 10001:10001$", Pattern.MULTILINE)
                .matcher(dockerfile)
                .find());
        assertTrue(Pattern.compile("^HEALTHCHECK .*CMD \\[\"fencepost\", \"health\"]$", Pattern.MULTILINE)
                .matcher(dockerfile)
                .find());

        Object service = at(documents(CONTAINER.resolve("compose.yaml")).getFirst(), "services", "fencepost");
        assertEquals(true, at(service, "read_only"));
        assertEquals(List.of("ALL"), at(service, "cap_drop"));

        Object pod = at(documents(Path.of("deploy/kubernetes/fencepost.yaml")).getLast(), "spec", "template", "spec");
        assertEquals(10001, at(pod, "securityContext", "runAsUser"));
        assertEquals(true, at(pod, "containers", 0, "securityContext", "readOnlyRootFilesystem"));
        for (Object mount : (List<?>) at(pod, "containers", 0, "volumeMounts")) {
            Object name = at(mount, "name");
            assertTrue(
                    Files.readString(Path.of("deploy/kubernetes/fencepost.yaml"))
                            .contains("name: " + name + "\n"),
                    () -> "no volume " + name);
        }
    }

    @Test
    void shellScriptsAreShell() throws Exception {
        List<Path> scripts = new ArrayList<>(files(Path.of("deploy"), Pattern.compile(".*\\.sh")));
        scripts.addAll(files(Path.of("src/test/resources/packages"), Pattern.compile(".*\\.sh")));
        scripts.addAll(files(PACKAGING, Pattern.compile("pack|postinst|postrm|prerm")));
        assertTrue(scripts.size() >= 6, scripts::toString);
        for (Path script : scripts) {
            Process process = new ProcessBuilder("sh", "-n", script.toString())
                    .redirectErrorStream(true)
                    .start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertEquals(0, process.waitFor(), () -> script + ": " + said);
        }
    }
}
