package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The stale-worker experiment of the built command against a real service, judged by the rows of the store. */
@Tag("faults")
class FencingOverHttpIT {

    private static final String TOKEN = "0123456789abcdef".repeat(3);

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"sqlite,20", "sqlite,1000", "postgresql,20", "postgresql,1000"})
    void noStaleWriteIsAcceptedAndEachIsRecorded(String kind, int jobs) throws IOException {
        Path tokens = Files.writeString(folder.resolve("tokens"), "demo read,work " + TOKEN + "\n");
        Files.setPosixFilePermissions(tokens, PosixFilePermissions.fromString("rw-------"));
        try (Scene scene = Scene.of(kind, folder)) {
            scene.jobs("jobs: {}\napi: { token-file: " + tokens + " }\n");
            ServeProcess service = scene.serve("a").awaitReady();
            ServeProcess demo = scene.command(
                    "demo",
                    "fencing",
                    "--server",
                    "http://127.0.0.1:" + service.port(),
                    "--token-file",
                    tokens.toString(),
                    "--jobs",
                    String.valueOf(jobs),
                    "--json");
            assertEquals(0, demo.awaitExit(Duration.ofMinutes(4)), demo::said);
            JsonNode answer = new ObjectMapper().readTree(demo.lines().getLast());
            JsonNode with = answer.get("with_token");
            assertTrue(answer.get("without_token").isNull());
            assertEquals(
                    List.of(jobs, 0, jobs, jobs, 0),
                    List.of(
                            with.get("new_accepted").intValue(),
                            with.get("stale_accepted").intValue(),
                            with.get("stale_rejected").intValue(),
                            with.get("final_new").intValue(),
                            with.get("final_stale").intValue()));
            assertRows(kind, scene.rows(), jobs, answer.get("stale_reasons"));
        }
    }

    private static void assertRows(String kind, Rows rows, int jobs, JsonNode reasons) {
        String all = String.valueOf(jobs);
        assertEquals(
                all,
                rows.value("select count(*) from work_item where state = 'DONE' and fence = 2"),
                "each item is done under the second token");
        assertEquals(
                List.of("new result of worker-b"),
                rows.texts("select distinct "
                        + (kind.equals("sqlite") ? "cast(result as text)" : "convert_from(result, 'UTF8')")
                        + " from work_item"));
        String refused = "from write_event where not accepted and fence = 1 and owner = 'worker-a'";
        assertEquals(all, rows.value("select count(*) " + refused));
        assertEquals(all, rows.value("select count(distinct resource) " + refused));
        assertEquals(
                all, rows.value("select count(*) from write_event where not accepted"), "nothing else was refused");
        assertEquals(
                all,
                rows.value("select count(*) from write_event where accepted and reason = 'DONE' and fence = 2"
                        + " and owner = 'worker-b'"));
        assertEquals(
                "0", rows.value("select count(*) from write_event where accepted and reason = 'DONE' and fence <> 2"));
        if (jobs >= 1_000) {
            assertEquals(2, reasons.size(), "both orders took place: " + reasons);
        }
        reasons.properties()
                .forEach(reason -> assertEquals(
                        reason.getValue().asText(),
                        rows.value("select count(*) " + refused + " and reason = '" + reason.getKey() + "'")));
    }
}
