package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.LeaseView;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BenchCommandTest {

    private Workplace workplace;

    @BeforeEach
    void setUp(@TempDir Path dir) {
        workplace = new Workplace(dir);
    }

    @Test
    void measuresDurableWritesAndTakesItsRowsAwayAgain() throws IOException {
        CommandRun run = workplace.run("bench", "--threads", "2", "--seconds", "1", "--json");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        JsonNode answer = Workplace.json(run.out());
        assertEquals(List.of("store", "threads", "ops"), Workplace.fields(answer));
        assertEquals(2, answer.get("threads").intValue());
        List<String> ops = new ArrayList<>();
        for (JsonNode op : answer.get("ops")) {
            ops.add(op.get("op").asText());
            assertEquals(List.of("op", "per_second", "p50_ms", "p99_ms", "p999_ms"), Workplace.fields(op));
            assertTrue(op.get("per_second").longValue() > 0, run.out());
            assertTrue(op.get("p50_ms").doubleValue() > 0, run.out());
            assertTrue(op.get("p50_ms").doubleValue() <= op.get("p99_ms").doubleValue(), run.out());
            assertTrue(op.get("p99_ms").doubleValue() <= op.get("p999_ms").doubleValue(), run.out());
        }
        assertEquals(List.of("claim", "renew", "complete", "cycle"), ops);
        try (JdbcStore store = workplace.store()) {
            List<LeaseView> leases = store.list(100);
            assertEquals(2, leases.size());
            for (LeaseView lease : leases) {
                assertEquals(null, lease.owner());
                assertTrue(lease.fence() > 1, "one grant a cycle: " + lease);
                assertEquals(List.of(), store.history(lease.resource(), 10));
            }
            assertEquals(List.of(), store.events(10));
            assertEquals(List.of(), store.jobs());
        }
    }

    @ParameterizedTest
    @CsvSource({"--threads, 0, 1 to 256", "--threads, 257, 1 to 256", "--seconds, 0, 1 to 3600"})
    void saysWhatIsOutOfRange(String option, String value, String range) {
        CommandRun run = workplace.run("bench", option, value);
        assertEquals(ExitCode.USAGE, run.exitCode());
        assertTrue(run.err().contains(option + ": " + value + " is out of range, write " + range), run.err());
    }
}
