package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.config.JobsFileReader;
import dev.fencepost.edge.config.Reading;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Classification;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.run.Ticks.Situation;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Plan.SlotRange;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StatusAndHistoryTest {

    private static final String JOBS = """
            article: { every: 45m, command: [date] }
            digest: { cron: "30 7 * * *", command: [date], timezone: Europe/Berlin }
            """;
    private static final List<String> COUNTS = List.of(
            "succeeded", "failed", "timed_out", "lease_lost", "abandoned", "skipped_overlap", "dropped", "cancelled");

    private Workplace workplace;

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        workplace = new Workplace(dir).jobs(JOBS);
    }

    private List<Job> jobs() {
        Reading reading = new JobsFileReader(workplace.environment(), workplace.dir, CommandRun.NOW)
                .read(workplace.dir.resolve("fencepost.yaml"));
        JobsFile file = ((Reading.Accepted) reading).file();
        return file.jobs();
    }

    private static Lease start(JdbcStore store, Job job, Instant slot) {
        return ((Start.Started)
                        store.start(job, Slot.at(slot), new Owner("node-x"), new RunId(UUID.randomUUID()), false))
                .lease();
    }

    private static void end(JdbcStore store, Lease lease, Outcome outcome) {
        store.complete(lease, new Completion(outcome, true, true, outcome.isSuccess() ? 0 : 7, null, null, null, null));
    }

    /** A dropped range of three, one success, one failure, and a run under way. */
    private void somethingHappened() {
        try (JdbcStore store = workplace.store()) {
            List<Job> jobs = jobs();
            Job article = jobs.getFirst();
            store.register(jobs);
            Situation seen = Objects.requireNonNull(store.situation("article"));
            Instant last = Objects.requireNonNull(
                    article.schedule().latest(seen.backlog().now()));
            Instant first = last.minus(Duration.ofMinutes(45 * 9));
            store.apply(
                    article,
                    seen.backlog(),
                    new Plan(
                            seen.backlog().cursor(),
                            null,
                            new SlotRange(3, first, first.plus(Duration.ofMinutes(90))),
                            null,
                            List.of(),
                            List.of(),
                            List.of(),
                            0,
                            List.of()));
            end(store, start(store, article, last.minus(Duration.ofMinutes(90))), Outcome.SUCCEEDED);
            end(store, start(store, article, last.minus(Duration.ofMinutes(45))), Outcome.FAILED);
            start(store, article, last);
        }
    }

    @Test
    void statusForPeople() {
        somethingHappened();
        CommandRun run = workplace.run("status");
        assertEquals("", run.err());
        assertEquals("""
                node  has no id yet: nothing has run with this state directory
                store  sqlite:DIR/state/fencepost.db
                file  fencepost.yaml

                JOB  NEXT SLOT  STATE  LEASE  LAST  ENDED  COUNTS
                article  LOCAL  running  node-x, token 3, until LOCAL  failed  LOCAL  1 succeeded, 1 failed, 3 dropped
                digest  LOCAL  idle  -  -  -  -
                """, workplace.plain(run.out()));
        assertEquals(ExitCode.FINE, run.exitCode());
    }

    @Test
    void statusForScriptsHasExactlyTheDocumentedFields() throws IOException {
        somethingHappened();
        JsonNode status = Workplace.json(workplace.run("status", "--json").out());
        assertEquals(List.of("node", "store", "jobs", "nodes"), Workplace.fields(status));
        assertTrue(status.get("node").isNull());
        assertEquals("sqlite:" + workplace.storeFile(), status.get("store").asText());
        JsonNode article = status.get("jobs").get(0);
        assertEquals(
                List.of("id", "next_slot", "paused", "running", "lease", "last", "counts", "pause", "deferred"),
                Workplace.fields(article));
        assertEquals("article", article.get("id").asText());
        assertFalse(article.get("paused").booleanValue());
        assertTrue(Instant.parse(article.get("next_slot").asText()).isAfter(new SystemTime().wallClock()));
        assertEquals(
                List.of("slot", "attempt", "fence", "owner", "started_at"), Workplace.fields(article.get("running")));
        assertEquals(3, article.get("running").get("fence").longValue());
        assertEquals(List.of("owner", "fence", "expires_at"), Workplace.fields(article.get("lease")));
        assertEquals("node-x", article.get("lease").get("owner").asText());
        assertEquals(List.of("slot", "outcome", "ended_at"), Workplace.fields(article.get("last")));
        assertEquals("FAILED", article.get("last").get("outcome").asText());
        assertEquals(COUNTS, Workplace.fields(article.get("counts")));
        assertEquals(3, article.get("counts").get("dropped").longValue());
        JsonNode digest = status.get("jobs").get(1);
        for (String empty : List.of("running", "lease", "last")) {
            assertTrue(digest.get(empty).isNull(), empty);
        }
        assertEquals(COUNTS, Workplace.fields(digest.get("counts")));
    }

    @Test
    void theNodeHasAnIdOnceSomethingHasRun() throws IOException {
        workplace.run("run", "article");
        JsonNode status = Workplace.json(workplace.run("status", "--json").out());
        assertEquals(
                Files.readString(workplace.dir.resolve("state/node-id")).strip(),
                status.get("node").asText());
        assertEquals(1, status.get("jobs").get(0).get("counts").get("succeeded").longValue());
    }

    @Test
    void withoutAJobsFileTheStoreIsShownAndNextSlotsAreUnknown() throws IOException {
        somethingHappened();
        Files.delete(workplace.dir.resolve("fencepost.yaml"));
        assertTrue(workplace.run("status").out().contains("none found: next slots are not known"));
        JsonNode status = Workplace.json(workplace
                .run("status", "--json", "--store", "sqlite:state/fencepost.db")
                .out());
        assertEquals(2, status.get("jobs").size());
        assertTrue(status.get("jobs").get(0).get("next_slot").isNull());
        assertEquals(ExitCode.FINE, workplace.run("history", "article").exitCode());
    }

    @Test
    void jobsThatLeftTheFileAreShownAndAnotherScheduleIsWarnedOf() throws IOException {
        somethingHappened();
        workplace.jobs("digest: { every: 2h, command: [date] }\nnews: { command: [date] }\n");
        CommandRun run = workplace.run("status");
        assertEquals(
                "warning: digest: the store has the schedule cron unix \"30 7 * * *\" zone Europe/Berlin, this file has every"
                        + " PT2H anchor 1970-01-01T00:00:00Z; the service has not reloaded it, or another node runs by"
                        + " another file\n",
                run.err());
        List<String> lines = workplace.plain(run.out()).lines().skip(5).toList();
        assertEquals("digest  LOCAL  idle  -  -  -  -", lines.get(0));
        assertEquals("news  LOCAL  not seen yet  -  -  -  -", lines.get(1));
        assertTrue(lines.get(2).startsWith("article  -  running  node-x"), lines.get(2));
        try (JdbcStore store = workplace.store()) {
            store.breakLease("article", "test");
            store.register(jobs());
        }
        CommandRun after = workplace.run("status");
        assertEquals("", after.err());
        assertTrue(workplace.plain(after.out()).contains("article  -  retired  -"), after.out());
    }

    @Test
    void aHolderWhoseLeaseHasExpiredDoesNotRun() throws Exception {
        try (JdbcStore store = workplace.store()) {
            store.register(jobs());
            start(store, jobs().getFirst(), Instant.parse("2026-01-01T00:00:00Z"));
        }
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + workplace.storeFile());
                Statement statement = connection.createStatement()) {
            statement.execute("update lease set expires_at = 1 where resource = 'article'");
        }
        JsonNode article = Workplace.json(workplace.run("status", "--json").out())
                .get("jobs")
                .get(0);
        assertTrue(article.get("running").isNull());
        assertTrue(article.get("lease").isNull());
        assertTrue(workplace.plain(workplace.run("status").out()).contains("article  LOCAL  holder gone  -"));
    }

    @Test
    void historyForPeople() {
        somethingHappened();
        CommandRun run = workplace.run("history", "article");
        assertEquals("", run.err());
        assertEquals("""
                SLOT  OUTCOME  TRY  TOKEN  STARTED  TOOK  EXIT  OWNER  REASON
                INSTANT  running  1  3  INSTANT  -  -  node-x  -
                INSTANT  failed  1  2  INSTANT  TIME  7  node-x  -
                INSTANT  succeeded  1  1  INSTANT  TIME  0  node-x  -
                INSTANT to INSTANT  dropped × 3  -  -  -  -  -  -  missed, catch-up.max is 1
                """, workplace.plain(run.out()).replace("  0s  ", "  TIME  "));
        assertEquals(
                2,
                workplace
                        .run("history", "article", "--limit", "1")
                        .out()
                        .lines()
                        .count());
        assertEquals(
                "no slot of digest has been handled yet\n",
                workplace.run("history", "digest").out());
    }

    @Test
    void theKindOfAFailureStandsBeforeItsReason() throws IOException {
        try (JdbcStore store = workplace.store()) {
            List<Job> jobs = jobs();
            store.register(jobs);
            Lease lease = start(store, jobs.getFirst(), Instant.parse("2026-03-29T01:00:00Z"));
            store.complete(
                    lease,
                    new Completion(
                            Outcome.FAILED,
                            true,
                            true,
                            1,
                            null,
                            "exit code 1",
                            new byte[0],
                            null,
                            List.of(),
                            new Completion.Further(Classification.AUTH, null, null)));
        }
        String shown = workplace.run("history", "article").out();
        assertTrue(shown.contains("auth: exit code 1"), shown);
        JsonNode tick = Workplace.json(
                        workplace.run("history", "article", "--json").out())
                .get("ticks")
                .get(0);
        assertEquals("AUTH", tick.get("classification").asText());
        assertEquals("exit code 1", tick.get("reason").asText());
    }

    @Test
    void historyForScriptsHasExactlyTheDocumentedFields() throws IOException {
        somethingHappened();
        JsonNode history =
                Workplace.json(workplace.run("history", "article", "--json").out());
        assertEquals(List.of("ticks"), Workplace.fields(history));
        JsonNode ticks = history.get("ticks");
        assertEquals(4, ticks.size());
        for (JsonNode tick : ticks) {
            assertEquals(
                    List.of(
                            "slot",
                            "outcome",
                            "tick_outcome",
                            "attempt",
                            "fence",
                            "run_id",
                            "owner",
                            "started_at",
                            "ended_at",
                            "exit_code",
                            "signal",
                            "reason",
                            "classification",
                            "dropped"),
                    Workplace.fields(tick));
        }
        assertTrue(ticks.get(0).get("outcome").isNull());
        assertEquals("FAILED", ticks.get(1).get("outcome").asText());
        assertEquals("FAILED", ticks.get(1).get("tick_outcome").asText());
        assertEquals(7, ticks.get(1).get("exit_code").intValue());
        assertEquals(2, ticks.get(1).get("fence").longValue());
        JsonNode range = ticks.get(3);
        assertEquals("DROPPED", range.get("outcome").asText());
        assertTrue(range.get("attempt").isNull());
        assertEquals(List.of("count", "first", "last"), Workplace.fields(range.get("dropped")));
        assertEquals(3, range.get("dropped").get("count").longValue());
        assertEquals(range.get("slot"), range.get("dropped").get("last"));
        assertEquals(
                "{\"ticks\":[]}\n", workplace.run("history", "digest", "--json").out());
    }

    @Test
    void aJobThatNobodyKnowsIsRefusedAndTheNearestNamed() {
        somethingHappened();
        CommandRun run = workplace.run("history", "artcle");
        assertEquals(ExitCode.REFUSED, run.exitCode());
        assertEquals("there is no job \"artcle\"\n    did you mean article?\n", run.err());
        assertEquals("", run.out());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "status",
                "history article",
                "events",
                "why article",
                "trigger article",
                "pause article",
                "resume article",
                "cancel article",
                "reload",
                "lease list",
                "lease inspect article",
                "effects list",
                "effects show k"
            })
    void aStoreThatIsNotThereIsNotMade(String command) {
        CommandRun run = workplace.run(command.split(" "));
        assertEquals(ExitCode.STORE_UNAVAILABLE, run.exitCode());
        assertEquals(
                "there is no store sqlite:DIR/state/fencepost.db yet\n    fencepost serve and fencepost run make it;"
                        + " another one is named with --store or --config\n",
                run.err(workplace.dir));
        assertFalse(Files.exists(workplace.dir.resolve("state")));
    }

    @Test
    void aFileThatIsNoStoreIsToldInOneLine() throws IOException {
        Files.createDirectories(workplace.dir.resolve("state"));
        Files.writeString(
                workplace.storeFile(), "This is a text, and no database, however long it may be.\n".repeat(50));
        CommandRun run = workplace.run("status");
        assertEquals(ExitCode.STORE_UNAVAILABLE, run.exitCode());
        assertEquals("", run.out());
        assertEquals(1, run.err().lines().count(), run.err());
        assertTrue(run.err().contains("not a database"), run.err());
        Files.writeString(workplace.storeFile(), "");
        CommandRun empty = workplace.run("status");
        assertEquals(ExitCode.STORE_UNAVAILABLE, empty.exitCode());
        assertTrue(empty.err().contains("is no store of this version"), empty.err());
    }

    @Test
    void aServerThatDoesNotAnswerIsToldInOneLine() {
        CommandRun run = workplace.run("status", "--store", "postgresql://nobody:hidden@127.0.0.1:1/x");
        assertEquals(ExitCode.STORE_UNAVAILABLE, run.exitCode());
        assertEquals("", run.out());
        assertEquals(1, run.err().lines().count(), run.err());
        assertTrue(run.err().startsWith("fencepost: the store gave no answer: "), run.err());
        assertFalse(run.err().contains("hidden"), run.err());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "history article --limit 0",
                "history article --limit -1",
                "history article --limit 10001",
                "history article --limit x",
                "history",
                "events --limit 0",
                "why",
                "why article 2026-03-29T01:00:00Z --at 2026-03-29T01:00:00Z",
                "pause article --until 2020-01-01T00:00:00Z",
                "pause article --until 2120-01-01T00:00:00Z --for 1h",
                "pause",
                "cancel",
                "resume article --reason= ",
                "trigger article --slot 2026-03-29T01:00:01Z",
                "trigger article --slot 2100-01-01T00:00:00Z",
                "trigger article --from 2026-03-29T01:00:00Z",
                "trigger article --to 2026-03-29T01:00:00Z",
                "trigger article --from 2026-03-29T01:00:00Z --to 2026-03-29T00:00:00Z",
                "trigger article --from 2026-03-29T01:00:00Z --to 2100-03-29T00:00:00Z",
                "trigger article --from 2026-03-28T00:00:00Z --to 2026-03-29T00:00:00Z --max 0",
                "trigger article --from 2026-03-28T00:00:00Z --to 2026-03-29T00:00:00Z --max 10001",
                "trigger article --from 2026-03-28T00:00:00Z --to 2026-03-29T00:00:00Z --slot 2026-03-29T01:00:00Z",
                "trigger article --dry-run",
                "trigger article --max 5",
                "trigger article --effects some",
                "reload x",
                "lease list --limit 0",
                "status more"
            })
    void badArgumentsAreUsage(String command) {
        somethingHappened();
        CommandRun run = workplace.run(command.split(" "));
        assertEquals(ExitCode.USAGE, run.exitCode());
        assertEquals("", run.out());
        assertTrue(run.err().startsWith("fencepost "), run.err());
    }

    @Test
    void eventsForPeopleAndScripts() throws IOException {
        somethingHappened();
        assertEquals("""
                AT  RESOURCE  TOKEN  NEWEST  ANSWER  REASON  EFFECT  OWNER
                INSTANT  article  2  -  accepted  FAILED  -  node-x
                INSTANT  article  1  -  accepted  SUCCEEDED  -  node-x
                INSTANT  digest  0  -  registered  cron unix "30 7 * * *" zone Europe/Berlin  -  fencepost
                INSTANT  article  0  -  registered  every PT45M anchor INSTANT  -  fencepost
                """, workplace.plain(workplace.run("events").out()));
        JsonNode events =
                Workplace.json(workplace.run("events", "--json", "--limit", "1").out());
        assertEquals(List.of("events"), Workplace.fields(events));
        assertEquals(1, events.get("events").size());
        JsonNode event = events.get("events").get(0);
        assertEquals(
                List.of("at", "resource", "owner", "fence", "accepted", "reason", "effect", "newest_fence"),
                Workplace.fields(event));
        assertTrue(event.get("effect").isNull());
        assertTrue(event.get("newest_fence").isNull());
        assertTrue(event.get("accepted").booleanValue());
        assertEquals(2, event.get("fence").longValue());
    }

    @Test
    void controlCharactersOfOthersDoNotReachTheTerminal() {
        try (JdbcStore store = workplace.store()) {
            Workplace.claim(store, "x", "evil\u001b[2J\u202e", Duration.ofMinutes(1));
        }
        String out = workplace.run("lease", "list").out();
        assertTrue(out.contains("evil\\x1b[2J\\u202e"), out);
    }
}
