package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.jdbc.DemoResults;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Refusal;
import dev.fencepost.run.History.WriteEvent;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DemoCommandTest {

    private static final List<String> COLUMN = List.of(
            "new_accepted",
            "stale_accepted",
            "stale_rejected",
            "final_new",
            "final_stale",
            "final_owner",
            "final_completed_by",
            "stale_write_ms");

    private Workplace workplace;

    @BeforeEach
    void setUp(@TempDir Path dir) {
        workplace = new Workplace(dir);
    }

    @Test
    void fencingForScripts() throws IOException {
        CommandRun run = workplace.run("demo", "fencing", "--jobs", "4", "--ttl", "300ms", "--json");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        JsonNode answer = Workplace.json(run.out());
        assertEquals(List.of("store", "jobs", "without_token", "with_token"), Workplace.fields(answer));
        assertEquals(4, answer.get("jobs").intValue());
        JsonNode without = answer.get("without_token");
        JsonNode with = answer.get("with_token");
        assertEquals(COLUMN, Workplace.fields(without));
        assertEquals(COLUMN, Workplace.fields(with));
        assertEquals(List.of(4, 4, 0, 0, 4), numbers(without));
        assertEquals(List.of(4, 0, 4, 4, 0), numbers(with));
        assertEquals("worker-b", without.get("final_owner").asText());
        assertEquals("worker-a", without.get("final_completed_by").asText());
        assertEquals("worker-b", with.get("final_owner").asText());
        assertEquals("worker-b", with.get("final_completed_by").asText());
        assertTrue(with.get("stale_write_ms").isNumber());
        assertTrue(with.get("stale_write_ms").doubleValue() > 0);
        assertNothingIsLeft(8);
    }

    private static List<Integer> numbers(JsonNode column) {
        return COLUMN.subList(0, 5).stream()
                .map(field -> column.get(field).intValue())
                .toList();
    }

    private void assertNothingIsLeft(int resources) {
        try (JdbcStore store = workplace.store()) {
            assertEquals(resources, store.list(100).size());
            assertTrue(store.list(100).stream().allMatch(view -> view.owner() == null && view.fence() == 2));
            assertEquals(
                    4,
                    store.events(100).stream()
                            .filter(event -> !event.accepted())
                            .count());
        }
    }

    @Test
    void fencingForPeople() {
        CommandRun run = workplace.run("demo", "fencing", "--jobs", "2", "--ttl", "200ms");
        assertEquals("", run.err());
        assertEquals("""
                2 jobs on sqlite:DIR/state/fencepost.db: worker-a sleeps past its lease, worker-b takes over, worker-a writes

                  WITHOUT TOKEN  WITH TOKEN
                new result of worker-b accepted  2/2  2/2
                stale write of worker-a accepted  2/2  0/2
                stale write of worker-a rejected  0/2  2/2
                final rows new / old  0 / 2  2 / 0
                final lease held by  worker-b  worker-b
                final row completed by  worker-a  worker-b
                rows contradict their lease  yes  no
                time for the stale writes  N ms  N ms

                each rejected write is recorded: fencepost events
                """, workplace.plain(run.out()).replaceAll("\\d+\\.\\d ms", "N ms"));
    }

    @Test
    void reclaimForScriptsAndPeople() throws IOException {
        JsonNode answer = Workplace.json(workplace
                .run("demo", "reclaim", "--jobs", "3", "--ttl", "500ms", "--json")
                .out());
        assertEquals(
                List.of("store", "jobs", "ttl_ms", "reclaimed", "total_ms", "after_expiry_ms"),
                Workplace.fields(answer));
        assertEquals(500, answer.get("ttl_ms").intValue());
        assertEquals(3, answer.get("reclaimed").intValue());
        assertTrue(answer.get("total_ms").longValue() >= 490, answer.toString());
        assertTrue(answer.get("total_ms").longValue() < 5_000, answer.toString());
        assertTrue(answer.get("after_expiry_ms").longValue() >= 0, answer.toString());
        CommandRun people = workplace.run("demo", "reclaim", "--jobs", "1", "--ttl", "100ms");
        assertTrue(people.out().startsWith("1 of 1 expired leases taken over on sqlite:"), people.out());
        assertTrue(people.out().contains("2 to 2"), people.out());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "demo fencing --jobs 0",
                "demo fencing --ttl 0s",
                "demo fencing --ttl -1s",
                "demo fencing --ttl 5",
                "demo reclaim --jobs -1",
                "demo reclaim --ttl 0",
                "demo reclaim --ttl 2h",
                "demo frob"
            })
    void badArgumentsAreUsage(String command) {
        CommandRun run = workplace.run(command.split(" "));
        assertEquals(ExitCode.USAGE, run.exitCode(), run.err());
        assertEquals("", run.out());
    }

    /** The answer to the write decides what is recorded, whoever wrote before. */
    @Test
    void aFencedWriteIsRecordedAsWhatItWas() {
        try (JdbcStore store = workplace.store()) {
            DemoResults results = store.demoResults();
            results.create("r");
            Lease a = Workplace.claim(store, "r", "worker-a", Duration.ofMinutes(1));
            assertEquals(Optional.empty(), results.writeFenced(a, "first"));
            assertEquals(List.of("true null"), events(store));
            store.breakLease("r", "test");
            Lease b = Workplace.claim(store, "r", "worker-b", Duration.ofMinutes(1));
            // b has not written yet: the row is still a's
            assertEquals(Optional.of(Refusal.STALE_TOKEN), results.writeFenced(a, "second"));
            assertEquals(List.of("false STALE_TOKEN", "true test", "true null"), events(store));
            assertEquals("first", results.read("r").result());
            assertEquals(Optional.empty(), results.writeFenced(b, "third"));
            assertEquals(Optional.of(Refusal.STALE_TOKEN), results.writeFenced(a, "fourth"));
            assertEquals("third", results.read("r").result());
            store.release(b);
            assertEquals(Optional.of(Refusal.NOT_OWNER), results.writeFenced(b, "fifth"));
            assertFalse(events(store).getFirst().startsWith("true"));
        }
    }

    private static List<String> events(JdbcStore store) {
        return store.events(100).stream()
                .map((WriteEvent event) -> event.accepted() + " " + event.reason())
                .toList();
    }
}
