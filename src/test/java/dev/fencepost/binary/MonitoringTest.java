package dev.fencepost.binary;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What stands in {@code deploy/monitoring}, without a running service; {@code MonitoringIT} has one. */
class MonitoringTest {

    static final Path FOLDER = Path.of("deploy/monitoring").toAbsolutePath();

    private static final Pattern NAME = Pattern.compile("[a-z][a-z_]*[a-z](?=[\\s{\\[)<>=]|$)");
    private static final Set<String> WORDS = Set.of("up", "by", "on", "unless", "sum", "max", "rate", "increase", "s");

    /** The metrics in the expressions of rules and panels; {@code up} is Prometheus' own. */
    static Set<String> metrics() throws IOException {
        Set<String> names = new TreeSet<>();
        for (String expression : expressions()) {
            String bare = expression.replaceAll("\\{[^}]*}", "{").replaceAll("\\b(by|on) \\([^)]*\\)", "");
            NAME.matcher(bare).results().map(result -> result.group()).forEach(names::add);
        }
        names.removeAll(WORDS);
        return names;
    }

    private static List<String> expressions() throws IOException {
        List<String> found = new java.util.ArrayList<>();
        Pattern expr = Pattern.compile("expr: (>-\\n(?:          .*\\n)+|.*\\n)");
        expr.matcher(Files.readString(FOLDER.resolve("alerts.yml")))
                .results()
                .forEach(result -> found.add(result.group(1)));
        for (JsonNode panel : dashboard().get("panels")) {
            panel.get("targets").forEach(target -> found.add(target.get("expr").asText()));
        }
        assertTrue(found.size() > 25, () -> "expressions: " + found);
        return found;
    }

    private static JsonNode dashboard() throws IOException {
        return new ObjectMapper()
                .readTree(FOLDER.resolve("grafana-dashboard.json").toFile());
    }

    @Test
    void eachMetricIsOneOfTheReadme() throws IOException {
        String readme = Files.readString(Path.of("README.md"));
        Set<String> unknown = new TreeSet<>(metrics());
        unknown.removeIf(name -> readme.contains("`" + name.replaceAll("_(sum|count)$", "") + "`"));
        assertEquals(Set.of(), unknown);
    }

    @Test
    void panelsHaveNumbersOfTheirOwnAndStandBesideEachOther() throws IOException {
        Set<Integer> ids = new TreeSet<>();
        Set<String> places = new TreeSet<>();
        JsonNode panels = dashboard().get("panels");
        for (JsonNode panel : panels) {
            assertTrue(ids.add(panel.get("id").asInt()), panel::toString);
            JsonNode place = panel.get("gridPos");
            assertTrue(places.add(place.get("x") + "/" + place.get("y")), panel::toString);
            assertTrue(place.get("x").asInt() + place.get("w").asInt() <= 24, panel::toString);
        }
        assertTrue(panels.size() >= 10);
    }

    @Test
    void eachAlertIsExplained() throws IOException {
        String page = Files.readString(Path.of("src/docs/monitoring.md"));
        Pattern alert = Pattern.compile("- alert: (\\w+)");
        Set<String> missing = new TreeSet<>();
        try (Stream<String> lines = Files.lines(FOLDER.resolve("alerts.yml"))) {
            lines.flatMap(line -> alert.matcher(line).results())
                    .map(result -> result.group(1))
                    .filter(name -> !page.contains("`" + name + "`"))
                    .forEach(missing::add);
        }
        assertEquals(Set.of(), missing);
    }

    @Test
    void promtoolFindsConfigurationAndRulesRight() throws Exception {
        assumeTrue(exists("promtool"), "skipped: no program promtool (Debian's package prometheus)");
        assertFine(
                "promtool", "check", "config", FOLDER.resolve("prometheus.yml").toString());
        assertFine(
                "promtool", "test", "rules", FOLDER.resolve("alerts-test.yml").toString());
    }

    static boolean exists(String program) {
        return Stream.of(System.getenv("PATH").split(":"), new String[] {"/usr/sbin"})
                .flatMap(Stream::of)
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
    }

    static void assertFine(String... words) throws Exception {
        Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), said);
    }
}
