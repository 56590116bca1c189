package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.config.JobsFileReader;
import dev.fencepost.edge.config.Reading;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Completion;
import dev.fencepost.run.History.StoredTick;
import dev.fencepost.run.Job;
import dev.fencepost.run.Nodes.State;
import dev.fencepost.run.Orders.JobEvent;
import dev.fencepost.run.Orders.JobEvent.Kind;
import dev.fencepost.run.Orders.Stop;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.Backlog.OpenTick;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A person's hand: trigger, pause, resume, cancel, reload, why. */
class OrderCommandsTest {

    private static final Owner NODE = new Incarnation("2f1c09ab-0000", "boot", 1, 4711, 5, "00000000").owner();
    private static final String NOBODY_OBEYS = "  no node is alive now; fencepost serve obeys when it runs\n";

    private Workplace workplace;
    private JdbcStore store;
    private Job article;

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        workplace = new Workplace(dir).jobs("""
                article: { every: 45m, command: [date] }
                articles: { every: 45m, command: [date] }
                digest: { cron: "30 7 * * *", command: [date], timezone: Europe/Berlin }
                """);
        store = workplace.store();
        List<Job> jobs = jobs();
        article = jobs.getFirst();
        store.register(jobs);
    }

    @AfterEach
    void close() {
        store.close();
    }

    private List<Job> jobs() {
        Reading reading = new JobsFileReader(workplace.environment(), workplace.dir, CommandRun.NOW)
                .read(workplace.dir.resolve("fencepost.yaml"));
        return ((Reading.Accepted) reading).file().jobs();
    }

    private String fine(String... arguments) {
        CommandRun run = workplace.run(arguments);
        assertEquals("", run.err());
        assertEquals(ExitCode.FINE, run.exitCode());
        return workplace.plain(run.out());
    }

    private String refused(String... arguments) {
        CommandRun run = workplace.run(arguments);
        assertEquals("", run.out());
        assertEquals(ExitCode.REFUSED, run.exitCode());
        return workplace.plain(run.err());
    }

    private JsonNode json(int exitCode, String... arguments) throws IOException {
        CommandRun run = workplace.run(arguments);
        assertEquals(exitCode, run.exitCode(), run.err());
        return Workplace.json(run.out());
    }

    private JobEvent newestEvent() {
        return store.jobEvents(null, 1).getFirst();
    }

    private Pause pause() {
        return Objects.requireNonNull(store.pauseOf("article"));
    }

    private List<OpenTick> open() {
        return Objects.requireNonNull(store.situation("article")).backlog().open();
    }

    private StoredTick tick(Slot slot) {
        return Objects.requireNonNull(store.slot("article", slot).tick());
    }

    private void nodeIsAlive() {
        store.seen(NODE, new State("vps", "0.1.0", "/etc/fencepost/fencepost.yaml", "abc", null));
    }

    private Lease running(Slot slot) {
        return ((Start.Started) store.start(article, slot, NODE, new RunId(UUID.randomUUID()), false)).lease();
    }

    private static Completion end(Outcome outcome) {
        return new Completion(outcome, true, true, outcome.isSuccess() ? 0 : 7, null, null, null, null);
    }

    /** The newest slot that has come due, or one so many before it. */
    private Slot slot(int before) {
        Instant newest = Objects.requireNonNull(article.schedule().latest(store.now()));
        return Slot.at(newest.minus(Duration.ofMinutes(45L * before)));
    }

    @Test
    void pauseSaysUntilWhenAndWhoObeys() {
        assertEquals(
                "article is paused until fencepost resume article\n" + NOBODY_OBEYS,
                fine("pause", "article", "--reason", "holiday"));
        Pause pause = pause();
        assertEquals("holiday", pause.reason());
        assertEquals(Pause.Cause.PERSON, pause.cause());
        assertTrue(pause.by().startsWith(System.getProperty("user.name") + "@"), pause.by());
        assertTrue(pause.by().length() > System.getProperty("user.name").length() + 1, pause.by());
        nodeIsAlive();
        assertEquals(
                "article is paused until 2120-01-01T00:00:00Z\n  the node on vps obeys within two seconds\n",
                workplace
                        .run("pause", "article", "--until", "2120-01-01T01:00:00+01:00")
                        .out()
                        .replace("    ", "  "));
        assertEquals(Instant.parse("2120-01-01T00:00:00Z"), pause().until());
    }

    @Test
    void pauseForATimeIsNeverShorter() {
        Instant before = store.now();
        assertEquals(
                ExitCode.FINE, workplace.run("pause", "article", "--for", "90m").exitCode());
        Instant until = Objects.requireNonNull(pause().until());
        assertFalse(until.isBefore(before.plusSeconds(5_400)));
        assertTrue(until.isBefore(store.now().plusSeconds(5_402)));
        assertEquals(0, until.getNano());
    }

    @Test
    void anEndThatHasPassedIsUsage() {
        CommandRun run = workplace.run("pause", "article", "--until", "2020-01-01T00:00:00Z");
        assertEquals(ExitCode.USAGE, run.exitCode());
        assertTrue(
                run.err().startsWith("fencepost pause: --until: 2020-01-01T00:00:00Z has passed; it is 20"), run.err());
        assertEquals(null, store.pauseOf("article"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "why article x",
                "why article --at 2026-03-29",
                "pause article --until tomorrow",
                "pause article --for 0s",
                "pause article --for 2",
                "trigger article --slot x",
                "trigger article --from x --to 2026-03-29T01:00:00Z",
                "trigger article --wait 0s"
            })
    void aBadValueIsUsageAndSaysWhatToWrite(String command) {
        CommandRun run = workplace.run(command.split(" "));
        assertEquals(ExitCode.USAGE, run.exitCode());
        assertEquals("", run.out());
        assertTrue(run.err().contains("\n    "), run.err());
        assertEquals(3, store.jobEvents(null, 10).size(), "nothing but the registrations");
    }

    @Test
    void pauseForScripts() throws IOException {
        JsonNode done = json(ExitCode.FINE, "pause", "article", "--reason", "why not", "--json");
        assertEquals(List.of("ok", "reason", "job", "pause", "nodes_alive"), Workplace.fields(done));
        assertTrue(done.get("ok").booleanValue());
        assertEquals(List.of("since", "until", "cause", "reason", "by"), Workplace.fields(done.get("pause")));
        assertEquals("why not", done.get("pause").get("reason").asText());
        JsonNode again = json(ExitCode.REFUSED, "pause", "article", "--json");
        assertEquals(List.of("ok", "reason", "job", "pause"), Workplace.fields(again));
        assertEquals("ALREADY", again.get("reason").asText());
        assertTrue(refused("pause", "article")
                .startsWith("article is paused already until fencepost resume article, since "));
    }

    @ParameterizedTest
    @ValueSource(strings = {"pause artcle", "resume artcle", "cancel artcle", "trigger artcle", "why artcle"})
    void anUnknownJobListsNearNames(String command) {
        assertEquals("there is no job \"artcle\"\n  did you mean article or articles?\n", refused(command.split(" ")));
        assertEquals(3, store.jobEvents(null, 10).size());
    }

    @Test
    void whyAJobIsUnknown() throws IOException {
        assertEquals("there is no job \"zzz\"\n  fencepost status lists them all\n", refused("pause", "zzz"));
        JsonNode unknown = json(ExitCode.REFUSED, "pause", "artcle", "--json");
        assertEquals("UNKNOWN", unknown.get("reason").asText());
        assertEquals("article", unknown.get("near").get(0).asText());
        workplace.jobs("new: { every: 1h, command: [date] }");
        assertTrue(refused("pause", "new").startsWith("\"new\" is in fencepost.yaml, but no node has read it yet\n"));
        store.register(List.of());
        assertEquals(
                "\"article\" has left the jobs file; what ran of it is in fencepost history article\n",
                refused("pause", "article"));
    }

    @Test
    void resumeEndsAPauseAndSaysSoIfThereIsNone() {
        assertEquals("article is not paused, and no brake has stopped it\n", refused("resume", "article"));
        fine("pause", "article");
        assertEquals("article is resumed\n" + NOBODY_OBEYS, fine("resume", "article", "--reason", "back"));
        assertEquals(null, store.pauseOf("article"));
        assertEquals("back", newestEvent().reason());
    }

    @Test
    void cancelAsksTheRunToStop() throws IOException {
        assertEquals("nothing of article runs or waits\n", refused("cancel", "article"));
        Slot slot = slot(0);
        Lease lease = running(slot);
        assertEquals(
                "article: the run of INSTANT on NODE/PID is asked to stop, and what waited is cancelled\n"
                        + NOBODY_OBEYS,
                fine("cancel", "article", "--reason", "too dear"));
        Stop stop = store.stops(NODE).getFirst();
        assertEquals(lease.runId(), stop.runId());
        assertTrue(String.valueOf(stop.reason()).endsWith(": too dear"), stop.toString());
        assertTrue(refused("cancel", "article").startsWith("article: its run was asked to stop before; "));
        store.complete(lease, end(Outcome.CANCELLED));
        fine("trigger", "article");
        JsonNode waited = json(ExitCode.FINE, "cancel", "article", "--json");
        assertEquals(List.of("ok", "reason", "job", "slot", "run_id", "nodes_alive"), Workplace.fields(waited));
        assertTrue(waited.get("slot").isNull());
    }

    @Test
    void reloadIsForAllNodes() throws IOException {
        long reloads = store.signal().reloads();
        assertEquals(
                "every node is asked to read its jobs file; fencepost status shows what came of it\n" + NOBODY_OBEYS,
                fine("reload", "--reason", "prices"));
        assertEquals(reloads + 1, store.signal().reloads());
        assertEquals(Kind.RELOADED, newestEvent().kind());
        assertEquals(
                "{\"ok\":true,\"reason\":null,\"job\":null,\"nodes_alive\":0}\n",
                workplace.run("reload", "--json").out());
    }

    @Test
    void triggerOrdersARunOfItsOwn() throws IOException {
        assertEquals("article is ordered to run for MANUAL\n" + NOBODY_OBEYS, fine("trigger", "article"));
        JsonNode order = json(ExitCode.FINE, "trigger", "article", "--effects", "none", "--json");
        assertEquals(List.of("ok", "reason", "job", "slots", "nodes_alive"), Workplace.fields(order));
        Slot slot = Slot.ofManualKey(order.get("slots").get(0).get("slot").asText());
        assertEquals("DONE", order.get("slots").get(0).get("answer").asText());
        assertTrue(tick(Objects.requireNonNull(slot)).ordered());
        assertEquals(2, open().size());
    }

    @Test
    void triggerOfSlots() {
        store.complete(running(slot(3)), end(Outcome.SUCCEEDED));
        store.complete(running(slot(2)), end(Outcome.FAILED));
        String succeeded = slot(3).key();
        String failed = slot(2).key();
        assertEquals(
                "article at INSTANT: refused, ALREADY_DONE: it has succeeded, or runs now\n",
                refused("trigger", "article", "--slot", succeeded));
        assertEquals(
                "article is ordered to run for INSTANT, without effects; 1 other has succeeded, or runs now\n"
                        + NOBODY_OBEYS,
                fine("trigger", "article", "--slot", succeeded, "--slot", failed, "--effects", "none"));
        assertEquals(null, tick(slot(2)).outcome());
        assertEquals(failed, newestEvent().slots());
    }

    @Test
    void aSlotThatIsNoneNamesItsNeighbours() {
        CommandRun run = workplace.run("trigger", "digest", "--slot", "2026-03-29T05:31:00Z");
        assertEquals(ExitCode.USAGE, run.exitCode());
        assertEquals("""
                fencepost trigger: --slot: 2026-03-29T05:31:00Z is no slot of digest (cron unix "30 7 * * *" zone Europe/Berlin)
                    the slot before it is 2026-03-29T05:30:00Z, the one after it 2026-03-30T05:30:00Z
                    see fencepost trigger --help
                """, run.err());
    }

    @Test
    void aBackfillCountsFirst() throws IOException {
        String from = slot(9).key();
        String to = slot(0).key();
        assertEquals(
                "10 slots of article, the first INSTANT, the last INSTANT; nothing was changed\n",
                fine("trigger", "article", "--from", from, "--to", to, "--dry-run"));
        assertEquals(List.of(), open());
        JsonNode dry = json(ExitCode.FINE, "trigger", "article", "--from", from, "--to", to, "--dry-run", "--json");
        assertEquals(10, dry.get("count").intValue());
        assertEquals(from, dry.get("first").asText());
        assertEquals(to, dry.get("last").asText());
        assertEquals(10, dry.get("slots").size());

        assertEquals(
                "article has 10 slots from INSTANT to INSTANT, more than --max 9\n"
                        + "  give a shorter time, or a higher --max (10000 at most)\n",
                refused("trigger", "article", "--from", from, "--to", to, "--max", "9"));
        JsonNode many =
                json(ExitCode.REFUSED, "trigger", "article", "--from", "2020-01-01T00:00:00Z", "--to", to, "--json");
        assertEquals("TOO_MANY", many.get("reason").asText());
        assertTrue(many.get("count").longValue() > 70_000);
        assertEquals(List.of(), open());

        assertEquals(
                "article is ordered to run for 10 slots, INSTANT to INSTANT, oldest first\n" + NOBODY_OBEYS,
                fine("trigger", "article", "--from", from, "--to", to, "--reason", "lost week"));
        assertEquals(10, open().size());
        assertEquals("lost week", newestEvent().reason());
        assertEquals(
                "article has no slot from INSTANT to INSTANT\n",
                refused("trigger", "article", "--from", "2026-03-29T00:01:00Z", "--to", "2026-03-29T00:02:00Z"));
    }

    @Test
    void withoutAJobsFileTheStoreKnowsTheSchedule() throws IOException {
        Files.delete(workplace.dir.resolve("fencepost.yaml"));
        String from = slot(1).key();
        fine("trigger", "article", "--from", from, "--to", slot(0).key());
        assertEquals(2, open().size());
        assertEquals(
                ExitCode.USAGE,
                workplace.run("trigger", "digest", "--slot", from).exitCode());
        assertTrue(fine("why", "digest").startsWith("digest did not run for 20"));
    }

    /** Beside a node, which here is this test: the real clock is the store's. */
    @Test
    void triggerWaitsForTheEnd() throws Exception {
        Thread node = Thread.ofVirtual().start(() -> {
            for (Outcome outcome : List.of(Outcome.SUCCEEDED, Outcome.FAILED)) {
                while (open().isEmpty()) {
                    Thread.onSpinWait();
                    Thread.yield();
                }
                store.complete(running(open().getFirst().slot()), end(outcome));
            }
        });
        assertEquals(
                "article is ordered to run for MANUAL\n" + NOBODY_OBEYS + "article at MANUAL: succeeded\n",
                fine("trigger", "article", "--wait"));
        CommandRun failed = workplace.run("trigger", "article", "--wait", "1h", "--json");
        assertEquals(ExitCode.FAILED, failed.exitCode());
        JsonNode answer = Workplace.json(failed.out());
        assertFalse(answer.get("ok").booleanValue());
        assertEquals("FAILED", answer.get("reason").asText());
        assertEquals("FAILED", answer.get("outcomes").get(0).get("outcome").asText());
        node.join();

        JsonNode late = json(ExitCode.FAILED, "trigger", "article", "--wait", "1s", "--json");
        assertEquals("NOT_ENDED", late.get("reason").asText());
    }

    @Test
    void ordersAndWritesAreOneListOfEvents() throws IOException {
        store.complete(running(slot(0)), end(Outcome.FAILED));
        fine("pause", "article", "--until", "2120-01-01T00:00:00Z", "--reason", "holiday");
        fine("reload");
        String by = newestEvent().by();
        String out = fine("events").replace(by, "ME");
        assertTrue(out.startsWith("""
                AT  RESOURCE  TOKEN  NEWEST  ANSWER  REASON  EFFECT  OWNER
                INSTANT  all jobs  0  -  reloaded  -  -  ME
                INSTANT  article  1  -  paused  until INSTANT; holiday  -  ME
                INSTANT  article  1  -  accepted  FAILED  -  NODE/PID
                """), out);
        JsonNode events =
                json(ExitCode.FINE, "events", "--job", "article", "--json").get("events");
        assertEquals(3, events.size());
        assertEquals(
                List.of(
                        "at",
                        "resource",
                        "owner",
                        "fence",
                        "accepted",
                        "reason",
                        "effect",
                        "newest_fence",
                        "kind",
                        "until",
                        "slots"),
                Workplace.fields(events.get(0)));
        assertEquals("PAUSED", events.get(0).get("kind").asText());
        assertEquals(by, events.get(0).get("owner").asText());
        assertTrue(events.get(1).get("kind") == null, "a write is told as before");
        assertEquals(
                1,
                json(ExitCode.FINE, "events", "--limit", "1", "--json")
                        .get("events")
                        .size());
    }

    @Test
    void statusTellsPausesAndNodes() throws IOException, InterruptedException {
        nodeIsAlive();
        Thread.sleep(5); // so that the other one surely started later, in whole milliseconds
        store.seen(
                new Owner("other"),
                new State("db2", "0.1.0", "/srv/fencepost.yaml", "xyz", "fencepost.yaml:3: no such key"));
        fine("pause", "article", "--reason", "holiday");
        store.pause("digest", null, Pause.Cause.FAILURES, "5 failures in a row", Pause.BY_A_BRAKE);
        String out = workplace.plain(workplace.run("status").out()).replace(pause().by(), "ME");
        assertTrue(out.endsWith("""
                article  LOCAL  paused  -  -  -  -
                articles  LOCAL  idle  -  -  -  -
                digest  LOCAL  paused  -  -  -  -

                article is paused by ME since LOCAL until fencepost resume article: holiday
                digest is paused by the brake pause-after-failures since LOCAL until fencepost resume digest: 5 failures in a row

                NODE  HOST  VERSION  STATE  STARTED  LAST SIGN OF LIFE  JOBS FILE
                other  db2  0.1.0  alive  INSTANT  INSTANT  /srv/fencepost.yaml
                NODE/PID  vps  0.1.0  alive  INSTANT  INSTANT  /etc/fencepost/fencepost.yaml, other jobs than the newest node
                other has refused its jobs file and runs by the one before: fencepost.yaml:3: no such key
                """), out);
        JsonNode status = json(ExitCode.FINE, "status", "--json");
        JsonNode paused = status.get("jobs").get(0);
        assertTrue(paused.get("paused").booleanValue());
        assertEquals("holiday", paused.get("pause").get("reason").asText());
        assertFalse(status.get("jobs").get(1).get("paused").booleanValue());
        assertTrue(status.get("jobs").get(1).get("pause").isNull());
        assertEquals(
                List.of(
                        "owner",
                        "host",
                        "version",
                        "alive",
                        "started_at",
                        "seen_at",
                        "stopped_at",
                        "jobs_file",
                        "jobs_hash",
                        "jobs_differ",
                        "file_error"),
                Workplace.fields(status.get("nodes").get(0)));
        Files.delete(workplace.dir.resolve("fencepost.yaml"));
        assertTrue(
                workplace.plain(workplace.run("status").out()).contains("\narticle  -  paused  "),
                "without the file too");
        store.stopped(NODE);
        assertTrue(workplace.plain(workplace.run("status").out()).contains("NODE/PID  vps  0.1.0  stopped  "));
    }

    @Test
    void whyForPeopleAndScripts() throws IOException {
        assertTrue(fine("why", "article").startsWith("article did not run for 20"));
        Slot slot = slot(0);
        Lease lease = running(slot);
        assertTrue(fine("why", "article", slot.key()).startsWith("article runs for 20"));
        store.complete(lease, end(Outcome.FAILED));
        JsonNode answer = json(
                ExitCode.FINE,
                "why",
                "article",
                "--at",
                slot.at().plusSeconds(60).toString(),
                "--json");
        assertEquals(
                List.of("job", "slot", "because", "sentence", "attempt", "fence", "run_id", "next_slot"),
                Workplace.fields(answer));
        assertEquals("FAILED", answer.get("because").asText());
        assertEquals(slot.key(), answer.get("slot").asText());
        assertEquals(1, answer.get("fence").intValue());
        assertTrue(answer.get("sentence").asText().endsWith("(exit code 7)."), answer.toString());
        assertEquals(
                "BEFORE_REGISTRATION",
                json(ExitCode.FINE, "why", "digest", "2026-03-29T05:30:00Z", "--json")
                        .get("because")
                        .asText());
        assertEquals(
                "NO_RECORD",
                json(ExitCode.FINE, "why", "digest", "manual:2026-03-29T05:30:00Z/ab", "--json")
                        .get("because")
                        .asText());
    }

    /** A name that only exec knows has no row among the jobs; what ran of it is told all the same. */
    @Test
    void whyOfAJobThatWasOnlyRunByHand() throws IOException {
        Job byHand = new Job(
                "byhand",
                article.schedule(),
                article.zone(),
                article.action(),
                article.secrets(),
                article.ttl(),
                null,
                article.grace(),
                article.catchUp(),
                null,
                1,
                null,
                List.of());
        Slot order = Slot.manual(store.now(), "ab12cd34");
        Start start = store.start(byHand, order, NODE, new RunId(UUID.randomUUID()), false);
        assertTrue(fine("why", "byhand").startsWith("byhand runs for the order MANUAL since "));
        store.complete(((Start.Started) start).lease(), end(Outcome.SUCCEEDED));
        assertEquals(
                "SUCCEEDED",
                json(ExitCode.FINE, "why", "byhand", "--json").get("because").asText());
    }

    @Test
    void aRefusedJobsFileHindersNobodyFromLookingAndStopping() throws IOException {
        Files.writeString(
                workplace.dir.resolve("fencepost.yaml"),
                "store: sqlite:state/fencepost.db\njobs:\n  article: { evry: 45m, command: [date] }\n");
        for (String command :
                List.of("pause article", "status", "why article", "resume article", "reload", "history article")) {
            CommandRun run = CommandRun.of(
                    workplace.dir, Map.of("PATH", "/usr/bin:/bin", "STATE_DIRECTORY", "/nowhere"), command.split(" "));
            assertEquals(ExitCode.FINE, run.exitCode(), command + run.err());
            assertTrue(run.err().contains("the key \"evry\" is unknown"), run.err());
            assertTrue(run.err().contains("only its store counts here"), run.err());
        }
        assertEquals(Kind.RELOADED, newestEvent().kind());

        Files.writeString(workplace.dir.resolve("fencepost.yaml"), "jobs: [\n");
        CommandRun unknown = workplace.run("pause", "article");
        assertEquals(ExitCode.BAD_CONFIGURATION, unknown.exitCode());
        assertTrue(unknown.err().contains("so it is not known which store is meant"), unknown.err());
        assertTrue(unknown.err().contains("name the store with --store"), unknown.err());
        CommandRun named = workplace.run("pause", "article", "--store", "sqlite:state/fencepost.db");
        assertEquals(ExitCode.FINE, named.exitCode(), named.err());
        assertEquals(Pause.Cause.PERSON, pause().cause());
    }

    @Test
    void aNameThatOnlyExecKnowsNeverWasInTheJobsFile() {
        workplace.run("exec", "backup", "--", "true");
        String text = refused("pause", "backup");
        assertTrue(text.startsWith("\"backup\" is run by hand only"), text);
    }
}
