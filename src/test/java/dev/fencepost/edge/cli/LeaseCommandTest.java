package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LeaseCommandTest {

    private static final List<String> FIELDS =
            List.of("resource", "owner", "fence", "run_id", "slot", "granted_at", "expires_at", "state");

    private Workplace workplace;
    private Lease lease;

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        workplace = new Workplace(dir);
        try (JdbcStore store = workplace.store()) {
            lease = Workplace.claim(store, "phone-1", "worker-a", Duration.ofMinutes(5));
            Lease old = Workplace.claim(store, "phone-2", "worker-b", Duration.ofMinutes(5));
            store.release(old);
        }
    }

    private LeaseView row() {
        try (JdbcStore store = workplace.store()) {
            return Objects.requireNonNull(store.inspect("phone-1"));
        }
    }

    @Test
    void listForPeopleAndScripts() throws IOException {
        assertEquals("""
                RESOURCE  STATE  TOKEN  OWNER  EXPIRES  SLOT
                phone-1  live  1  worker-a  INSTANT  -
                phone-2  released  1  -  -  -
                """, workplace.plain(workplace.run("lease", "list").out()));
        JsonNode list = Workplace.json(workplace.run("lease", "list", "--json").out());
        assertEquals(List.of("leases"), Workplace.fields(list));
        assertEquals(2, list.get("leases").size());
        list.get("leases").forEach(each -> assertEquals(FIELDS, Workplace.fields(each)));
        assertEquals("LIVE", list.get("leases").get(0).get("state").asText());
        assertTrue(list.get("leases").get(1).get("owner").isNull());
        CommandRun cut = workplace.run("lease", "list", "--limit", "1");
        assertEquals(2, cut.out().lines().count());
        assertEquals("only the first 1 are shown; --limit shows more\n", cut.err());
    }

    @Test
    void inspectForPeopleAndScripts() throws IOException {
        assertEquals(
                """
                resource  phone-1
                state  live
                token  1
                owner  worker-a
                run id  UUID
                slot  -
                granted  INSTANT
                expires  INSTANT
                """,
                workplace.plain(workplace.run("lease", "inspect", "phone-1").out()));
        JsonNode answer = Workplace.json(
                workplace.run("lease", "inspect", "phone-1", "--json").out());
        assertEquals(List.of("ok", "reason", "lease"), Workplace.fields(answer));
        assertTrue(answer.get("ok").booleanValue());
        assertTrue(answer.get("reason").isNull());
        assertEquals(FIELDS, Workplace.fields(answer.get("lease")));
        assertEquals(lease.runId().toString(), answer.get("lease").get("run_id").asText());
    }

    @Test
    void whatWasNeverClaimedIsUnknown() throws IOException {
        for (List<String> command : List.of(
                List.of("lease", "inspect", "phone-3"),
                List.of("lease", "break", "phone-3", "--yes"),
                List.of("lease", "release", "phone-3", "--owner", "o", "--fence", "1"))) {
            CommandRun run = workplace.run(command.toArray(String[]::new));
            assertEquals(ExitCode.REFUSED, run.exitCode());
            assertEquals("\"phone-3\": refused, UNKNOWN: it was never claimed\n", run.err());
        }
        CommandRun json = workplace.run("lease", "inspect", "phone-3", "--json");
        assertEquals(ExitCode.REFUSED, json.exitCode());
        assertEquals("{\"ok\":false,\"reason\":\"UNKNOWN\",\"lease\":null}\n", json.out());
        assertEquals("", json.err());
    }

    @Test
    void releaseWithOwnerAndTokenAlone() throws IOException {
        CommandRun run = workplace.run("lease", "release", "phone-1", "--owner", "worker-a", "--fence", "1", "--json");
        assertEquals(ExitCode.FINE, run.exitCode());
        JsonNode answer = Workplace.json(run.out());
        assertTrue(answer.get("ok").booleanValue());
        assertEquals("RELEASED", answer.get("lease").get("state").asText());
        assertEquals(1, answer.get("lease").get("fence").longValue());
        assertNull(row().owner());
    }

    @Test
    void releaseForPeople() {
        CommandRun run = workplace.run(
                "lease",
                "release",
                "phone-1",
                "--owner",
                "worker-a",
                "--fence",
                "1",
                "--run-id",
                lease.runId().toString());
        assertEquals(ExitCode.FINE, run.exitCode());
        assertEquals("phone-1: released; the token stays at 1\n", run.out());
    }

    @ParameterizedTest
    @CsvSource({
        "worker-b, 1, , NOT_OWNER",
        "worker-a, 2, , NOT_OWNER",
        "worker-a, 1, other, NOT_OWNER",
    })
    void releaseByAnybodyElseIsRefusedAndChangesNothing(String owner, String fence, String runId, String reason)
            throws IOException {
        List<String> arguments = new java.util.ArrayList<>(
                List.of("lease", "release", "phone-1", "--json", "--owner", owner, "--fence", fence));
        if (runId != null) {
            arguments.addAll(List.of("--run-id", UUID.randomUUID().toString()));
        }
        CommandRun run = workplace.run(arguments.toArray(String[]::new));
        assertEquals(ExitCode.REFUSED, run.exitCode());
        JsonNode answer = Workplace.json(run.out());
        assertEquals(List.of("ok", "reason", "lease"), Workplace.fields(answer));
        assertEquals(reason, answer.get("reason").asText());
        assertEquals("worker-a", answer.get("lease").get("owner").asText());
        assertTrue(row().isLive());
    }

    @Test
    void releaseWithAnOldTokenSaysThatItIsStale() {
        workplace.run("lease", "break", "phone-1", "--yes");
        CommandRun run = workplace.run("lease", "release", "phone-1", "--owner", "worker-a", "--fence", "1");
        assertEquals(ExitCode.REFUSED, run.exitCode());
        assertEquals("\"phone-1\": refused, STALE_TOKEN: a newer token was granted since\n", run.err());
    }

    @Test
    void breakRaisesTheTokenAndIsRecorded() throws IOException {
        JsonNode answer = Workplace.json(workplace
                .run("lease", "break", "phone-1", "--yes", "--reason", "host is gone", "--json")
                .out());
        assertTrue(answer.get("ok").booleanValue());
        assertEquals(2, answer.get("lease").get("fence").longValue());
        assertEquals("RELEASED", answer.get("lease").get("state").asText());
        assertEquals(
                "phone-1: broken; the token is now 3\n",
                workplace.run("lease", "break", "phone-1", "--yes").out());
        assertTrue(workplace.run("events").out().contains("host is gone"));
    }

    @Test
    void breakAsksWhereSomebodyCanBeAsked() {
        CommandRun no = workplace.runAnswering("\n", "lease", "break", "phone-1");
        assertEquals(ExitCode.REFUSED, no.exitCode());
        assertTrue(
                workplace
                        .plain(no.err())
                        .startsWith("phone-1: held by worker-a until INSTANT, token 1\nBreak the lease? [y/N] "),
                no.err());
        assertEquals(
                ExitCode.REFUSED,
                workplace.runAnswering("", "lease", "break", "phone-1").exitCode());
        assertEquals(1, row().fence());
        CommandRun yes = workplace.runAnswering("y\n", "lease", "break", "phone-1");
        assertEquals(ExitCode.FINE, yes.exitCode());
        assertEquals(2, row().fence());
    }

    @Test
    void breakWithoutSomebodyToAskNeedsYes() {
        CommandRun run = workplace.run("lease", "break", "phone-1");
        assertEquals(ExitCode.USAGE, run.exitCode());
        assertTrue(run.err().contains("--yes"), run.err());
        assertEquals(1, row().fence());
    }

    @ParameterizedTest
    @CsvSource({
        "lease release phone-1 --owner o --fence 0",
        "lease release phone-1 --owner o --fence -1",
        "lease release phone-1 --owner o --fence x",
        "lease release phone-1 --owner o",
        "lease release phone-1 --fence 1",
        "lease release phone-1 --owner o --fence 1 --run-id none",
        "lease release --owner o --fence 1",
        "lease break --yes",
        "lease inspect",
        "lease frob",
    })
    void badArgumentsAreUsage(String command) {
        CommandRun run = workplace.run(command.split(" "));
        assertEquals(ExitCode.USAGE, run.exitCode(), run.err());
        assertEquals("", run.out());
    }

    @Test
    void everyCommandHasItsHelpAndTheGroupPrintsOne() {
        for (String command : List.of("list", "inspect", "release", "break")) {
            CommandRun run = workplace.run("lease", command, "--help");
            assertEquals(ExitCode.FINE, run.exitCode());
            assertTrue(run.out().contains("  fencepost lease " + command), run.out());
            assertTrue(run.out().contains("--json"), run.out());
        }
        assertTrue(workplace.run("lease").out().startsWith("Usage: fencepost lease"));
    }
}
