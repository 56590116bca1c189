package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** L3: children that say nothing and do not end. A timeout frees the job; without one it is the missing success that tells. */
@Tag("faults")
class HungChildIT {

    private static final String JOBS = """
            jobs:
              bounded:
                every: 2s
                timeout: 3s
                command: [sleep, "1000"]
              endless:
                every: 1s
                fresh-after: 5s
                command: [sleep, "1000"]
            """;
    private static final Pattern SKIPS = Pattern.compile("skips in a row (\\d+)");

    @TempDir
    Path folder;

    @Test
    void aHungChildHoldsItsJobNoLongerThanItsTimeoutOrIsTold() {
        try (Scene scene = Scene.sqlite(folder)) {
            scene.jobs(JOBS);
            Rows rows = scene.rows();
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    Duration.ofSeconds(20),
                    () -> "two runs that were timed out; " + service.said(),
                    () -> rows.ticks("bounded", "TIMED_OUT").size() >= 2);
            List<String> over = rows.attempts("bounded", "TIMED_OUT").stream()
                    .map(Rows.Attempt::runId)
                    .toList();
            assertTrue(Processes.ofRuns(over).isEmpty(), "and nothing of them is left");

            ServeProcess.Answer fresh = Wait.forValue(Duration.ofSeconds(20), "fresh is DOWN", () -> {
                ServeProcess.Answer answer = service.get("/q/health/group/fresh");
                return answer.isDown() && answer.body().contains("endless") ? answer : null;
            });
            Matcher skips = SKIPS.matcher(fresh.body()
                    .lines()
                    .filter(line -> line.contains("endless"))
                    .findFirst()
                    .orElseThrow());
            assertTrue(skips.find() && Integer.parseInt(skips.group(1)) >= 3, fresh::body);
            assertEquals(1, rows.attempts("endless").size(), "it is the same run");
            assertTrue(service.get("/q/health/ready").isUp(), "work goes on, so the service is ready");
        }
    }
}
