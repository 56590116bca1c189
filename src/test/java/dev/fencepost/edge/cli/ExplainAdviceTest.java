package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code explain} says of the ttl, from the history of the store. */
class ExplainAdviceTest {

    private Workplace workplace;

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        workplace = new Workplace(dir).jobs("article: { every: 45m, command: [date] }");
    }

    @Test
    void withoutAStoreNothingIsSaidAndNoneIsMade() throws IOException {
        CommandRun run = workplace.run("explain", "article");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        assertFalse(run.out().contains("ttl:"), run.out());
        assertTrue(Workplace.json(workplace.run("explain", "article", "--json").out())
                .get("ttl_advice")
                .isNull());
        assertFalse(Files.exists(workplace.dir.resolve("state")));
    }

    @Test
    void withSuccessesTheAdviceComesFromTheLongest() throws Exception {
        workplace.store().close();
        assertTrue(workplace.run("explain", "article").out().endsWith("\nno advice on the ttl: no success so far\n"));
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + workplace.storeFile());
                Statement statement = connection.createStatement()) {
            statement.execute("insert into tick (job, slot_key, slot_at, on_time, opened_at, outcome, ended_at)"
                    + " values ('article', 'article@1', 1, 1, 1, 'SUCCEEDED', 1390001)");
            statement.execute("insert into attempt (run_id, job, slot_key, number, fence, owner, started_at, ended_at,"
                    + " outcome) values ('r', 'article', 'article@1', 1, 1, 'o', 1, 1390001, 'SUCCEEDED')");
        }
        assertTrue(workplace
                .run("explain", "article")
                .out()
                .endsWith("\nlongest success so far 23m 10s (of 1): a ttl of 35m to 46m would do; it is 81m\n"));
        JsonNode advice = Workplace.json(
                        workplace.run("explain", "article", "--json").out())
                .get("ttl_advice");
        assertEquals(
                List.of("longest_success_ms", "successes", "least_ms", "most_ms", "ttl_ms"), Workplace.fields(advice));
        assertEquals(1_390_000, advice.get("longest_success_ms").intValue());
        assertEquals(2_760_000, advice.get("most_ms").intValue());
    }

    @Test
    void aStoreThatIsAwayIsALineAndNoError() throws IOException {
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        CommandRun run = workplace.run(
                "explain", "article", "--store", "postgresql://anna:canary@127.0.0.1:" + port + "/fencepost");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        String last = run.out().strip().lines().toList().getLast();
        assertTrue(last.startsWith("no advice on the ttl: the store gave no answer: "), last);
        assertFalse(run.toString().contains("canary"), run.toString());
    }
}
