package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.host.StateDirectory;
import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.process.OsChildren;
import dev.fencepost.edge.sink.Receiver;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.LeaseView;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real children under real leases. */
class RunCommandTest {

    private static final String SLOT = "2026-01-05T00:00:00Z";

    private Workplace workplace;

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        workplace = new Workplace(dir);
    }

    private static boolean eventually(BooleanSupplier condition) throws InterruptedException {
        for (int i = 0; i < 500; i++) {
            if (condition.getAsBoolean()) {
                return true;
            }
            Thread.sleep(10); // between two looks at a real process, which cannot call us
        }
        return false;
    }

    private List<String> outcomes() throws IOException {
        JsonNode ticks =
                Workplace.json(workplace.run("history", "job", "--json").out()).get("ticks");
        return ticks.findValuesAsText("outcome");
    }

    @Test
    void successWithTheOutputOfTheChildAndNothingElseOnStandardOutput() throws IOException {
        workplace.jobs("job: { command: \"echo $FENCEPOST_JOB $FENCEPOST_FENCE; echo warned >&2; printf end\" }");
        CommandRun run = workplace.run("run", "job");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        assertEquals("job 1\nend", run.out());
        assertEquals(
                "warned\nfencepost: job at MANUAL: succeeded, attempt 1, token 1, TIME\n", workplace.plain(run.err()));
        assertEquals(List.of("SUCCEEDED"), outcomes());
    }

    @Test
    void failureOfTheChild() throws IOException {
        workplace.jobs("job: { command: \"echo broken; exit 7\" }");
        CommandRun run = workplace.run("run", "job");
        assertEquals(ExitCode.FAILED, run.exitCode());
        assertEquals("broken\n", run.out());
        assertTrue(
                workplace
                        .plain(run.err())
                        .startsWith("fencepost: job at MANUAL: failed, attempt 1, token 1, TIME: exit code 7\n"
                                + "fencepost: its output is kept in DIR/state/runs/job/manual"),
                run.err());
        assertEquals(List.of("FAILED"), outcomes());
    }

    @Test
    void notifiersAreToldBeforeTheCommandEnds() throws IOException {
        try (Receiver receiver = Receiver.saying(Receiver.answer(200, ""))) {
            String notify =
                    "notify: [ { ping: { url: \"" + receiver.url("/ping/abc") + "\", allow-hosts: [127.0.0.1] } },"
                            + " { webhook: { url: \"" + receiver.url("/hook") + "\", allow-hosts: [127.0.0.1] } } ]";
            String secret = "env-file: " + secret("K=s3cret-value");
            workplace.jobs("job: { command: \"echo it is $K; exit 7\", " + secret + ", " + notify + " }");
            CommandRun run = workplace.run("run", "job");
            assertEquals(ExitCode.FAILED, run.exitCode(), run.err());
            assertEquals(
                    List.of("/ping/abc/start", "/ping/abc/7"),
                    receiver.requests.stream()
                            .map(request -> request.line().split("[ ?]", -1)[1])
                            .filter(path -> path.startsWith("/ping"))
                            .toList());
            assertEquals("it is ***\n", new String(receiver.requests.get(1).body(), StandardCharsets.UTF_8), "masked");
            assertFalse(run.err().contains("ping/abc"), run.err());
        }
    }

    private Path secret(String line) throws IOException {
        Path file = Files.writeString(workplace.dir.resolve("secrets.env"), line + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        return file;
    }

    @Test
    void aChildThatCannotBeStartedIsAFailureWithItsCause() throws IOException {
        workplace.jobs("job: { command: [date], working-dir: " + workplace.dir + " }");
        Files.writeString(
                workplace.dir.resolve("fencepost.yaml"),
                Files.readString(workplace.dir.resolve("fencepost.yaml")).replace("[date]", "[./gone.sh]"));
        Path script = workplace.dir.resolve("gone.sh");
        Files.writeString(script, "#!/nowhere/sh\n");
        assertTrue(script.toFile().setExecutable(true));
        CommandRun run = workplace.run("run", "job");
        assertEquals(ExitCode.FAILED, run.exitCode(), run.err());
        assertTrue(run.err().contains("could not be started"), run.err());
        assertEquals("", run.out());
    }

    @Test
    void timeoutIsAFailure() throws IOException {
        workplace.jobs("job: { command: \"echo begin; sleep 20\", timeout: 1s }");
        CommandRun run = workplace.run("run", "job", "--json");
        assertEquals(ExitCode.FAILED, run.exitCode());
        assertEquals("begin\n", run.err());
        assertEquals("TIMED_OUT", Workplace.json(run.out()).get("outcome").asText());
        assertEquals(List.of("TIMED_OUT"), outcomes());
    }

    @Test
    void theClosingObjectForScripts() throws IOException {
        workplace.jobs("job: { command: \"echo said; exit 3\" }");
        CommandRun run = workplace.run("run", "job", "--json", "--slot", SLOT);
        assertEquals(ExitCode.FAILED, run.exitCode());
        assertEquals("said\n", run.err());
        JsonNode closing = Workplace.json(run.out());
        assertEquals(
                List.of(
                        "ok",
                        "reason",
                        "job",
                        "slot",
                        "outcome",
                        "attempt",
                        "fence",
                        "run_id",
                        "exit_code",
                        "signal",
                        "ran_ms",
                        "log",
                        "effects"),
                Workplace.fields(closing));
        assertFalse(closing.get("ok").booleanValue());
        assertEquals(SLOT, closing.get("slot").asText());
        assertEquals("FAILED", closing.get("outcome").asText());
        assertEquals(1, closing.get("attempt").intValue());
        assertEquals(3, closing.get("exit_code").intValue());
        assertTrue(Files.readString(Path.of(closing.get("log").asText())).contains(" O said\n"));
    }

    @Test
    void outputComesWhileTheChildRuns() throws Exception {
        workplace.jobs("job: { command: \"echo first; while [ ! -e go ]; do sleep 0.02; done; echo second\","
                + " working-dir: " + workplace.dir + " }");
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CompletableFuture<Integer> running = running(out, err);
        assertTrue(eventually(() -> out.toString().equals("first\n")), out + "/" + err);
        assertFalse(running.isDone());
        Files.createFile(workplace.dir.resolve("go"));
        assertEquals(ExitCode.FINE, running.get(20, TimeUnit.SECONDS));
        assertEquals("first\nsecond\n", out.toString());
    }

    private CompletableFuture<Integer> running(StringWriter out, StringWriter err) {
        return CompletableFuture.supplyAsync(() -> Main.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        workplace.environment(),
                        workplace.dir,
                        new SystemTime()::wallClock,
                        false),
                "run",
                "job"));
    }

    @Test
    void controlCharactersAreShownOnATerminalAndPassedOnElsewhere() throws IOException {
        workplace.jobs("job: { command: \"printf 'a\\\\033[2Jb\\\\n'\" }");
        assertEquals("a\u001b[2Jb\n", workplace.run("run", "job").out());
        assertEquals("a\\x1b[2Jb\n", workplace.runAnswering("", "run", "job").out());
    }

    @Test
    void aLiveLeaseOfSomebodyElseIsRespected() throws IOException {
        workplace.jobs("job: { command: [date] }");
        try (JdbcStore store = workplace.store()) {
            Workplace.claim(store, "job", "somebody", Duration.ofMinutes(5));
        }
        CommandRun run = workplace.run("run", "job");
        assertEquals(ExitCode.REFUSED, run.exitCode());
        assertEquals("", run.out());
        assertEquals(
                "fencepost: job: refused, HELD: somebody holds the lease with token 1 until LOCAL and renews it as long"
                        + " as it runs\n",
                workplace.plain(run.err()));
        JsonNode json = Workplace.json(workplace.run("run", "job", "--json").out());
        assertEquals(List.of("ok", "reason", "job", "slot", "held_by"), Workplace.fields(json));
        assertEquals("HELD", json.get("reason").asText());
        assertEquals(List.of("owner", "fence", "slot", "expires_at"), Workplace.fields(json.get("held_by")));
    }

    @Test
    void aDeadHolderOfThisHostIsTakenOverAtOnce() throws IOException {
        workplace.jobs("job: { command: [echo, here] }");
        try (JdbcStore store = workplace.store()) {
            String node = StateDirectory.open(workplace.dir.resolve("state"), new SystemEntropy())
                    .nodeId();
            Incarnation self = OsChildren.thisIncarnation(node, new SystemTime(), new SystemEntropy());
            Incarnation dead = new Incarnation(
                    node, self.bootId(), self.pidNamespace(), self.pid(), self.startTicks() - 1, "0badcafe");
            Workplace.claim(store, "job", dead.owner().text(), Duration.ofMinutes(5));
        }
        CommandRun run = workplace.run("run", "job");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        assertEquals("here\n", run.out());
        assertTrue(run.err().contains("is dead; its lease is taken over\n"), run.err());
        assertTrue(run.err().contains("token 2"), run.err());
    }

    @Test
    void aBrokenLeaseStopsTheRun() throws Exception {
        workplace.jobs("job: { command: \"echo begin; sleep 20\", lease: { ttl: 3s } }");
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CompletableFuture<Integer> running = running(out, err);
        assertTrue(eventually(() -> out.toString().equals("begin\n")), out + "/" + err);
        assertEquals(
                ExitCode.FINE, workplace.run("lease", "break", "job", "--yes").exitCode());
        assertEquals(ExitCode.LEASE_LOST, running.get(20, TimeUnit.SECONDS));
        assertTrue(err.toString().contains("lease_lost"), err.toString());
        assertEquals(List.of("CANCELLED"), outcomes());
    }

    @Test
    void aSlotIsRunOnceWithSuccessAndAgainAfterAFailure() throws IOException {
        workplace.jobs("job: { command: \"test -e good\", working-dir: " + workplace.dir + " }");
        assertEquals(
                ExitCode.FAILED, workplace.run("run", "job", "--slot", SLOT).exitCode());
        Files.createFile(workplace.dir.resolve("good"));
        CommandRun again = workplace.run("run", "job", "--slot", SLOT);
        assertEquals(ExitCode.FINE, again.exitCode(), again.err());
        assertTrue(again.err().contains("attempt 2, token 2"), again.err());
        CommandRun third = workplace.run("run", "job", "--slot", SLOT);
        assertEquals(ExitCode.REFUSED, third.exitCode());
        assertTrue(third.err().contains("ALREADY_DONE"), third.err());
        JsonNode json = Workplace.json(
                workplace.run("run", "job", "--slot", SLOT, "--json").out());
        assertEquals("ALREADY_DONE", json.get("reason").asText());
        assertTrue(json.get("held_by").isNull());
        assertEquals(List.of("SUCCEEDED", "FAILED"), outcomes());
        try (JdbcStore store = workplace.store()) {
            LeaseView view = store.inspect("job");
            assertTrue(view != null && !view.isLive());
        }
    }

    @Test
    void whatIsNoSlotIsUsageAndTheNeighboursAreNamed() throws IOException {
        workplace.jobs("job: { every: 45m, command: [date] }");
        CommandRun run = workplace.run("run", "job", "--slot", "2026-01-05T00:10:00Z");
        assertEquals(ExitCode.USAGE, run.exitCode());
        assertTrue(
                run.err()
                        .contains("2026-01-05T00:10:00Z is no slot of job (every PT45M anchor 1970-01-01T00:00:00Z)\n"
                                + "    the slot before it is 2026-01-05T00:00:00Z, the one after it"
                                + " 2026-01-05T00:45:00Z\n"),
                run.err());
        assertFalse(Files.exists(workplace.storeFile()));
        Instant day = Instant.parse("2026-01-05T00:00:00Z").plus(Duration.ofDays(45 * 40));
        CommandRun future = workplace.run("run", "job", "--slot", day.toString());
        assertEquals(ExitCode.USAGE, future.exitCode());
        assertTrue(future.err().contains("is still to come"), future.err());
        assertEquals(
                ExitCode.USAGE, workplace.run("run", "job", "--slot", "today").exitCode());
        assertEquals(ExitCode.USAGE, workplace.run("run").exitCode());
    }

    @Test
    void anUnknownJobIsRefusedAndABadFileTold() throws IOException {
        workplace.jobs("article: { command: [date] }");
        CommandRun run = workplace.run("run", "artcle");
        assertEquals(ExitCode.REFUSED, run.exitCode());
        assertTrue(run.err().contains("did you mean article?"), run.err());
        workplace.jobs("article: { comand: [date] }");
        assertEquals(ExitCode.BAD_CONFIGURATION, workplace.run("run", "article").exitCode());
        assertFalse(Files.exists(workplace.storeFile()));
    }
}
