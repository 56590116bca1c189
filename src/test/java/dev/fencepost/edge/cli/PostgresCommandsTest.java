package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.config.JobsFileReader;
import dev.fencepost.edge.config.Reading;
import dev.fencepost.edge.jdbc.JdbcStore;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The same commands on a real PostgreSQL; what they say is tested on SQLite. */
class PostgresCommandsTest {

    @Test
    void everyCommandWorksOnPostgres(@TempDir Path dir) throws IOException {
        try (EmbeddedPostgres server =
                EmbeddedPostgres.builder().setServerConfig("fsync", "off").start()) {
            Workplace workplace = new Workplace(dir)
                    .jobs("job: { command: [echo, hi] }\nodd: { command: ["
                            + Path.of("src/test/resources/cases/children/ch04_bytes.py")
                                    .toAbsolutePath() + "] }");
            String store = "--store=postgresql://postgres@localhost:" + server.getPort() + "/postgres";
            CommandRun before = workplace.run("status", store);
            assertEquals(ExitCode.STORE_UNAVAILABLE, before.exitCode());
            assertTrue(before.err().contains("is no store of this version"), before.err());

            CommandRun run = workplace.run("run", "job", store);
            assertEquals(ExitCode.FINE, run.exitCode(), run.err());
            assertEquals("hi\n", run.out());
            JsonNode job = Workplace.json(
                            workplace.run("status", "--json", store).out())
                    .get("jobs")
                    .get(0);
            assertEquals(1, job.get("counts").get("succeeded").longValue());
            assertEquals("SUCCEEDED", job.get("last").get("outcome").asText());
            assertEquals(
                    1,
                    Workplace.json(workplace
                                    .run("history", "job", "--json", store)
                                    .out())
                            .get("ticks")
                            .size());
            assertEquals(ExitCode.FINE, workplace.run("run", "odd", store).exitCode());
            String kept = "ok:é bad:\uFFFD\uFFFD\uFFFD sur:\uFFFD\uFFFD\uFFFD nul:\u2400 lat:\uFFFD end\n";
            assertEquals(kept, workplace.run("logs", "odd", store).out());
            String elsewhere = "--state-dir=" + dir.resolve("another-node");
            assertEquals(kept, workplace.run("logs", "odd", store, elsewhere).out(), "from the stored row");
            assertEquals(
                    "job: broken; the token is now 2\n",
                    workplace.run("lease", "break", "job", "--yes", store).out());
            assertTrue(
                    workplace.plain(workplace.run("lease", "list", store).out()).contains("job  released  2"));

            byHand(workplace, store, server.getPort());

            JsonNode demo = Workplace.json(workplace
                    .run("demo", "fencing", "--jobs", "3", "--ttl", "300ms", "--json", store)
                    .out());
            assertEquals(3, demo.get("without_token").get("stale_accepted").intValue());
            assertEquals(0, demo.get("with_token").get("stale_accepted").intValue());
            assertEquals(3, demo.get("with_token").get("final_new").intValue());
            JsonNode reclaim = Workplace.json(workplace
                    .run("demo", "reclaim", "--jobs", "3", "--ttl", "300ms", "--json", store)
                    .out());
            assertEquals(3, reclaim.get("reclaimed").intValue());
            assertTrue(reclaim.get("total_ms").longValue() >= 300, reclaim.toString());
            assertEquals(
                    3,
                    Workplace.json(workplace.run("events", "--json", store).out())
                            .get("events")
                            .findValuesAsText("accepted")
                            .stream()
                            .filter("false"::equals)
                            .count());
        }
    }

    private static void byHand(Workplace workplace, String option, int port) throws IOException {
        try (JdbcStore store = JdbcStore.postgres(
                "jdbc:postgresql://localhost:" + port + "/postgres", "postgres", null, "postgres", event -> {})) {
            Reading reading = new JobsFileReader(workplace.environment(), workplace.dir, CommandRun.NOW)
                    .read(workplace.dir.resolve("fencepost.yaml"));
            store.register(((Reading.Accepted) reading).file().jobs());
            for (String command : List.of(
                    "pause job --for 1h --reason holiday",
                    "resume job",
                    "trigger job --effects none",
                    "why job",
                    "cancel job",
                    "reload",
                    "events --job job")) {
                CommandRun run = workplace.run((command + " --json " + option).split(" "));
                assertEquals(ExitCode.FINE, run.exitCode(), command + ": " + run.err());
                assertTrue(run.out().startsWith("{"), run.out());
            }
            assertEquals(
                    ExitCode.REFUSED, workplace.run("cancel", "job", option).exitCode());
            assertEquals(
                    List.of("RELOADED", "CANCELLED", "TRIGGERED", "RESUMED", "PAUSED", "REGISTERED", "REGISTERED"),
                    store.jobEvents(null, 10).stream()
                            .map(event -> event.kind().name())
                            .toList());
        }
    }
}
