package dev.fencepost.browser;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Accessibility as axe-core sees it. The script comes out of its jar; it is run here, so that none of Deque's Java code is needed. */
final class Axe {

    private static final Set<String> COUNT = Set.of("serious", "critical");
    private static final String SOURCE = source();

    private Axe() {}

    private static String source() {
        try (InputStream in = Axe.class.getResourceAsStream("/axe.min.js")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Fails when the page as it stands has a serious or critical violation. */
    static void check(Browser browser, String where) {
        if (!Boolean.TRUE.equals(browser.script("return typeof axe === 'object'"))) {
            browser.script(SOURCE);
        }
        Map<?, ?> report = (Map<?, ?>) browser.driver().executeAsyncScript("""
                const done = arguments[arguments.length - 1];
                axe.run(document, {resultTypes: ['violations', 'passes']})
                  .then(r => done({
                    passed: r.passes.length,
                    violations: r.violations.map(v => ({
                      id: v.id, impact: v.impact, help: v.help,
                      nodes: v.nodes.map(n => n.target.join(' ') + ': ' + (n.failureSummary || '').replace(/\\s+/g, ' '))}))}))
                  .catch(e => done({passed: 0, violations: [{id: 'axe', impact: 'critical', help: String(e), nodes: []}]}));
                """);
        List<String> serious = new ArrayList<>();
        for (Object each : (List<?>) report.get("violations")) {
            Map<?, ?> violation = (Map<?, ?>) each;
            if (COUNT.contains(String.valueOf(violation.get("impact")))) {
                List<?> nodes = (List<?>) violation.get("nodes");
                serious.add(violation.get("impact") + " " + violation.get("id") + ": " + violation.get("help")
                        + "\n    "
                        + String.join(
                                "\n    ",
                                nodes.stream().limit(5).map(String::valueOf).toList())
                        + (nodes.size() > 5 ? "\n    and " + (nodes.size() - 5) + " more" : ""));
            }
        }
        assertEquals(List.of(), serious, () -> where + ":\n" + String.join("\n", serious));
        assertTrue(((Number) report.get("passed")).intValue() > 5, () -> "axe has hardly looked at " + where);
    }
}
