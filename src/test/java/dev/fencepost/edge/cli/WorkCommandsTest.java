package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The commands of the work queue: the same answers from a store and from a server. */
class WorkCommandsTest {

    private static final List<String> ITEM = List.of(
            "id",
            "owner",
            "until",
            "fence",
            "run_id",
            "result",
            "done",
            "state",
            "queue",
            "priority",
            "not_before",
            "attempts",
            "max_attempts",
            "payload",
            "payload_base64",
            "content_type",
            "result_base64",
            "result_type",
            "reason",
            "enqueued_at",
            "ended_at");

    /** Where the items are. */
    enum Target {
        STORE,
        SERVER
    }

    private WorkSite site;

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        site = new WorkSite(dir);
    }

    @AfterEach
    void close() {
        site.close();
    }

    private CommandRun work(Target target, String... arguments) {
        if (target == Target.SERVER) {
            return site.work(arguments);
        }
        List<String> words = new ArrayList<>(List.of("work"));
        words.addAll(List.of(arguments));
        return site.workplace.run(words.toArray(String[]::new));
    }

    /** The object that a command prints, with its reason and its exit code looked at. */
    private JsonNode json(Target target, @Nullable String reason, String... arguments) throws IOException {
        List<String> words = new ArrayList<>(List.of(arguments));
        words.add("--json");
        CommandRun run = work(target, words.toArray(String[]::new));
        assertEquals(reason == null ? ExitCode.FINE : ExitCode.REFUSED, run.exitCode(), run.out() + run.err());
        JsonNode answer = Workplace.json(run.out());
        assertEquals(reason == null, answer.get("ok").booleanValue());
        assertEquals(reason, answer.get("reason").textValue());
        assertEquals("", run.err());
        return answer;
    }

    @ParameterizedTest
    @EnumSource(Target.class)
    void theLifeOfAnItemForAScript(Target target) throws IOException {
        JsonNode enqueued = json(target, null, "enqueue", "a", "--payload", "pay", "--content-type", "text/plain");
        assertEquals(List.of("ok", "reason", "item"), Workplace.fields(enqueued));
        assertEquals(ITEM, Workplace.fields(enqueued.get("item")));
        assertTrue(enqueued.get("item").get("owner").isNull());
        assertEquals(0, enqueued.get("item").get("fence").longValue());

        JsonNode claimed = json(target, null, "claim", "a", "--owner", "worker-a", "--ttl", "10m")
                .get("item");
        assertEquals(ITEM, Workplace.fields(claimed));
        assertEquals("worker-a", claimed.get("owner").textValue());
        assertEquals(1, claimed.get("fence").longValue());
        assertEquals("pay", claimed.get("payload").textValue());
        assertTrue(Instant.parse(claimed.get("until").textValue()).isAfter(Instant.now()));
        String runId = UUID.fromString(claimed.get("run_id").textValue()).toString();

        JsonNode again = json(target, "EXISTS", "enqueue", "a", "--payload", "other");
        assertEquals("worker-a", again.get("item").get("owner").textValue());
        assertEquals("pay", again.get("item").get("payload").textValue());
        json(target, "HELD", "claim", "a", "--owner", "worker-a", "--ttl", "10m");

        json(target, null, "renew", "a", "--owner", "worker-a", "--fence", "1", "--ttl", "20m", "--run-id", runId);
        json(target, "NOT_OWNER", "renew", "a", "--owner", "worker-b", "--fence", "1", "--ttl", "20m");
        JsonNode done = json(target, null, "complete", "a", "--owner", "worker-a", "--fence", "1", "--result", "fine");
        assertEquals("fine", done.get("item").get("result").textValue());
        assertTrue(done.get("item").get("done").booleanValue());

        JsonNode late =
                json(target, "ALREADY_DONE", "complete", "a", "--owner", "worker-a", "--fence", "1", "--result", "x");
        assertEquals("fine", late.get("item").get("result").textValue());
        assertEquals(
                "fine",
                json(target, null, "state", "a").get("item").get("result").textValue());
        json(target, "ALREADY_DONE", "claim", "a", "--owner", "worker-b", "--ttl", "10m");
    }

    @ParameterizedTest
    @EnumSource(Target.class)
    void whatIsNotThereIsUnknown(Target target) throws IOException {
        json(target, null, "enqueue", "a");
        for (List<String> each : List.of(
                List.of("state", "nobody"),
                List.of("claim", "nobody", "--owner", "o", "--ttl", "1m"),
                List.of("renew", "nobody", "--owner", "o", "--fence", "1", "--ttl", "1m"),
                List.of("complete", "nobody", "--owner", "o", "--fence", "1"),
                List.of("fail", "nobody", "--owner", "o", "--fence", "1"),
                List.of("release", "nobody", "--owner", "o", "--fence", "1"))) {
            JsonNode answer = json(target, "UNKNOWN", each.toArray(String[]::new));
            assertTrue(answer.get("item").isNull());
        }
        CommandRun run = work(target, "state", "nobody");
        assertEquals(ExitCode.REFUSED, run.exitCode());
        assertEquals("nobody: refused, UNKNOWN: there is no such item\n", run.err());
        CommandRun files = work(target, "artifacts", "nobody");
        assertEquals(ExitCode.REFUSED, files.exitCode());
    }

    @ParameterizedTest
    @EnumSource(Target.class)
    void failedReleasedAndDead(Target target) throws IOException {
        json(target, null, "enqueue", "a", "--max-attempts", "3");
        json(target, null, "claim", "a", "--owner", "o", "--ttl", "1m");
        JsonNode released = json(target, null, "release", "a", "--owner", "o", "--fence", "1");
        assertEquals(0, released.get("item").get("attempts").intValue());
        assertEquals(1, released.get("item").get("fence").longValue());
        json(target, null, "claim", "a", "--owner", "o", "--ttl", "1m");
        json(target, "STALE_TOKEN", "complete", "a", "--owner", "o", "--fence", "1");
        JsonNode failed = json(
                target, null, "fail", "a", "--owner", "o", "--fence", "2", "--reason", "429", "--retry-after", "1h");
        assertEquals("READY", failed.get("item").get("state").textValue());
        assertEquals("429", failed.get("item").get("reason").textValue());
        json(target, "NOT_YET", "claim", "a", "--owner", "o", "--ttl", "1m");
        json(target, null, "enqueue", "b");
        json(target, null, "claim", "b", "--owner", "o", "--ttl", "1m");
        assertEquals(
                "DEAD",
                json(target, null, "fail", "b", "--owner", "o", "--fence", "1", "--dead")
                        .get("item")
                        .get("state")
                        .textValue());
        json(target, "DEAD", "claim", "b", "--owner", "o", "--ttl", "1m");
    }

    @ParameterizedTest
    @EnumSource(Target.class)
    void whateverIsNext(Target target) throws IOException {
        JsonNode none = json(target, "NOTHING_READY", "claim", "--any", "--owner", "o", "--ttl", "1m");
        assertTrue(none.get("item").isNull());
        JsonNode noList = json(target, "NOTHING_READY", "claim", "--any", "--max", "3", "--owner", "o", "--ttl", "1m");
        assertEquals(List.of("ok", "items", "reason"), Workplace.fields(noList));
        for (String id : List.of("a", "b", "c", "d")) {
            json(target, null, "enqueue", id, "--queue", "pages", "--priority", id.equals("c") ? "5" : "0");
        }
        JsonNode first = json(target, null, "claim", "--any", "--queue", "pages", "--owner", "o", "--ttl", "1m");
        assertEquals("c", first.get("item").get("id").textValue());
        JsonNode list =
                json(target, null, "claim", "--any", "--queue", "pages", "--max", "2", "--owner", "o", "--ttl", "1m");
        assertEquals(
                List.of("owner", "fence"),
                Workplace.fields(list.get("items").get(0)).subList(0, 2));
        assertEquals("a", list.get("items").get(0).get("id").textValue());
        assertEquals("b", list.get("items").get(1).get("id").textValue());
        assertEquals(1, list.get("items").get(1).get("fence").longValue());
    }

    @ParameterizedTest
    @EnumSource(Target.class)
    void oneOfManyOwnersGetsTheToken(Target target) throws IOException {
        json(target, null, "enqueue", "a");
        StringBuilder owners = new StringBuilder("o0");
        for (int i = 1; i < 20; i++) {
            owners.append(",o").append(i);
        }
        JsonNode answer = json(target, null, "claim-many", "a", "--owners", owners.toString(), "--ttl", "1m");
        assertEquals(List.of("ok", "items", "reason"), Workplace.fields(answer));
        int tokens = 0;
        for (int i = 0; i < 20; i++) {
            JsonNode each = answer.get("items").get(i);
            assertEquals("o" + i, each.get("owner").textValue());
            if (each.get("fence").isNull()) {
                assertEquals("HELD", each.get("reason").textValue());
            } else {
                assertEquals(1, each.get("fence").longValue());
                tokens++;
            }
        }
        assertEquals(1, tokens);
        long asked = site.server.requests().stream()
                .filter("POST /items/a/claim"::equals)
                .count();
        assertEquals(target == Target.SERVER ? 20 : 0, asked, "each of them claims");
        JsonNode none = json(target, "HELD", "claim-many", "a", "--owners", "x,y", "--ttl", "1m");
        assertTrue(none.get("items").get(0).get("fence").isNull());
        CommandRun people = work(target, "claim-many", "a", "--owners", "x,y", "--ttl", "1m");
        assertEquals("x: refused, HELD\ny: refused, HELD\n", people.out());
    }

    @ParameterizedTest
    @EnumSource(Target.class)
    void whatEndedLongAgoGoes(Target target) throws IOException {
        for (String id : List.of("a", "b", "c", "open")) {
            json(target, null, "enqueue", id);
        }
        for (String id : List.of("a", "b", "c")) {
            json(target, null, "claim", id, "--owner", "o", "--ttl", "1m");
            json(target, null, "complete", id, "--owner", "o", "--fence", "1");
        }
        JsonNode none = json(target, null, "prune");
        assertEquals(List.of("ok", "reason", "pruned"), Workplace.fields(none));
        assertEquals(0, none.get("pruned").asInt(), "nothing is as old as that");
        assertEquals(
                3,
                Workplace.json(work(target, "list", "--state", "done", "--json").out())
                        .get("items")
                        .size());
        CommandRun people = work(target, "prune", "--older-than", "0s");
        assertEquals("3 items pruned\n", people.out(), people.err());
        json(target, "UNKNOWN", "state", "a");
        json(target, null, "state", "open");
        json(target, null, "enqueue", "a");
        assertEquals(
                2,
                json(target, null, "claim", "a", "--owner", "o", "--ttl", "1m")
                        .get("item")
                        .get("fence")
                        .longValue(),
                "the token counts on");
    }

    @ParameterizedTest
    @EnumSource(Target.class)
    void listsAndQueues(Target target) throws IOException {
        json(target, null, "enqueue", "a", "--queue", "pages");
        json(target, null, "enqueue", "b", "--queue", "pages");
        json(target, null, "claim", "a", "--owner", "o", "--ttl", "1m");
        CommandRun capacity = work(target, "queues", "--queue", "pages", "--capacity", "1");
        assertEquals("""
                QUEUE  READY  CLAIMED  DONE  DEAD  CAPACITY  OLDEST READY
                pages  1  1  0  0  1  INSTANT
                """, site.workplace.plain(capacity.out()));
        json(target, "AT_CAPACITY", "claim", "b", "--owner", "o", "--ttl", "1m");
        work(target, "queues", "--queue", "pages", "--capacity", "none");
        JsonNode queues = Workplace.json(work(target, "queues", "--json").out());
        assertEquals(
                List.of("queue", "ready", "claimed", "done", "dead", "capacity", "oldest_ready"),
                Workplace.fields(queues.get("queues").get(0)));
        assertTrue(queues.get("queues").get(0).get("capacity").isNull());
        assertEquals("""
                ID  QUEUE  STATE  ATTEMPTS  TOKEN  OWNER  UNTIL  REASON
                b  pages  ready  0/5  0  -  -  -
                a  pages  claimed  1/5  1  o  INSTANT  -
                """, site.workplace.plain(work(target, "list").out()));
        JsonNode claimed = Workplace.json(work(target, "list", "--state", "claimed", "--queue", "pages", "--json")
                .out());
        assertEquals(1, claimed.get("items").size());
        assertEquals("a", claimed.get("items").get(0).get("id").textValue());
        CommandRun cut = work(target, "list", "--limit", "1");
        assertEquals("only the first 1 are shown; --limit shows more\n", cut.err());
        assertEquals("no such item\n", work(target, "list", "--state", "dead").out());
    }

    @ParameterizedTest
    @EnumSource(Target.class)
    void forPeople(Target target) {
        assertEquals(
                "a: enqueued in default\n",
                work(target, "enqueue", "a", "--payload", "one\ntwo").out());
        assertEquals(
                "a: claimed with token 1 until INSTANT, run id UUID\n",
                site.workplace.plain(work(target, "claim", "a", "--owner", "o", "--ttl", "1m")
                        .out()));
        assertEquals(
                "a: refused, HELD: o holds it until INSTANT\n",
                site.workplace.plain(work(target, "claim", "a", "--owner", "p", "--ttl", "1m")
                        .err()));
        assertEquals("""
                id  a
                queue  default
                state  claimed
                token  1
                owner  o
                run id  UUID
                until  INSTANT
                attempts  1 of 5
                priority  0
                not before  -
                enqueued  INSTANT
                ended  -
                reason  -
                payload  7 bytes
                  one
                  two
                result  -
                """, site.workplace.plain(work(target, "state", "a").out()));
        assertEquals(
                "a: renewed until INSTANT\n",
                site.workplace.plain(work(target, "renew", "a", "--owner", "o", "--fence", "1", "--ttl", "1m")
                        .out()));
        assertEquals(
                "a: done; its result stays for good\n",
                work(target, "complete", "a", "--owner", "o", "--fence", "1").out());
    }

    @ParameterizedTest
    @EnumSource(Target.class)
    void payloadsFromAFileAndFromAPipe(Target target) throws IOException {
        Files.write(site.file("bytes.bin"), new byte[] {0, 1, 2});
        JsonNode item =
                json(target, null, "enqueue", "a", "--payload", "@bytes.bin").get("item");
        assertTrue(item.get("payload").isNull());
        assertEquals("AAEC", item.get("payload_base64").textValue());
        assertTrue(work(target, "state", "a").out().contains("3 bytes, no text; --json shows them"));

        List<String> words =
                new ArrayList<>(target == Target.SERVER ? site.words("enqueue", "b") : List.of("work", "enqueue", "b"));
        words.addAll(List.of("--payload", "-", "--json"));
        StringWriter out = new StringWriter();
        int exitCode = Main.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(new StringWriter()),
                        site.workplace.environment(),
                        site.workplace.dir,
                        InstantSource.system(),
                        false,
                        false,
                        false,
                        null,
                        new ByteArrayInputStream("piped".getBytes(StandardCharsets.UTF_8))),
                words.toArray(String[]::new));
        assertEquals(ExitCode.FINE, exitCode);
        assertEquals(
                "piped",
                Workplace.json(out.toString()).get("item").get("payload").textValue());

        Files.write(site.file("large"), new byte[(1 << 20) + 1]);
        CommandRun large = work(target, "enqueue", "c", "--payload", "@large");
        assertEquals(ExitCode.USAGE, large.exitCode());
        CommandRun missing = work(target, "enqueue", "c", "--payload", "@none");
        assertEquals(ExitCode.USAGE, missing.exitCode());
        assertTrue(missing.err().contains("--payload: none cannot be read: NoSuchFile"), missing.err());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "claim a --owner o --ttl 0s | --ttl",
                "claim a --owner o --ttl 10 | --ttl",
                "claim a --owner o --ttl -5s | --ttl",
                "claim a --owner o --ttl 31d | --ttl",
                "claim a --owner o --ttl 1s --colour red | --colour",
                "claim a --ttl 10s | --owner",
                "claim a --owner o | --ttl",
                "claim --owner o --ttl 10s | --any",
                "claim a --any --owner o --ttl 10s | not both",
                "claim a --max 2 --owner o --ttl 10s | --max",
                "claim --any --max 0 --owner o --ttl 10s | --max",
                "claim --any --queue Q --owner o --ttl 10s | queue",
                "renew a --owner o --fence 0 --ttl 1s | --fence",
                "renew a --owner o --fence -1 --ttl 1s | --fence",
                "renew a --owner o --fence one --ttl 1s | --fence",
                "renew a --owner o --fence 1 --ttl 0s | --ttl",
                "complete a --owner o --fence 1 --run-id x | --run-id",
                "complete a --fence 1 | --owner",
                "complete a --owner o --fence 1 --content-type text/plain | --content-type",
                "fail a --owner o --fence 1 --dead --retry-after 1s | not both",
                "claim-many a --owners , --ttl 1s | --owners",
                "claim-many a --owners o --ttl 0s | --ttl",
                "enqueue a -x | -x",
                "enqueue a/b | id",
                "enqueue a --priority 1.5 | --priority",
                "enqueue a --max-attempts 0 | max-attempts",
                "enqueue a --not-before tomorrow | --not-before",
                "enqueue a --queue A | queue",
                "list --state lost | --state",
                "list --limit 0 | --limit",
                "queues --capacity 3 | --queue",
                "queues --queue q --capacity -1 | --capacity",
                "queues --queue q --capacity all | --capacity",
                "artifacts a --get x | --out",
                "prune --older-than 30 | --older-than",
                "prune --older-than -1d | --older-than",
                "prune a | a",
            })
    void badArguments(String line, String named) {
        for (Target target : Target.values()) {
            CommandRun run = work(target, line.strip().split(" "));
            assertEquals(ExitCode.USAGE, run.exitCode(), line + ": " + run.out() + run.err());
            assertTrue(run.err().contains(named), run.err());
            assertEquals("", run.out());
        }
        assertEquals(List.of(), site.server.requests());
        assertFalse(Files.exists(site.workplace.storeFile()));
    }

    @Test
    void aStoreThatIsNotThere() {
        CommandRun run = work(Target.STORE, "state", "a");
        assertEquals(ExitCode.STORE_UNAVAILABLE, run.exitCode());
        assertFalse(Files.exists(site.workplace.storeFile()));
    }

    @Test
    void aServerThatIsNotThere() {
        site.server.down();
        for (List<String> each : List.of(
                List.of("state", "a"), List.of("enqueue", "a"), List.of("claim", "a", "--owner", "o", "--ttl", "1m"))) {
            CommandRun run = work(Target.SERVER, each.toArray(String[]::new));
            assertEquals(ExitCode.STORE_UNAVAILABLE, run.exitCode());
            assertEquals("", run.out());
            assertTrue(
                    run.err().startsWith("fencepost: server " + site.server.address() + ": it cannot be reached"),
                    run.err());
        }
    }

    @Test
    void serverStoreAndTokenFileGoTogetherInOneWay() throws IOException {
        String address = site.server.address().toString();
        String token = site.tokenFile.toString();
        for (List<String> each : List.of(
                List.of("--server", address),
                List.of("--token-file", token),
                List.of("--server", address, "--token-file", token, "--store", "sqlite:x.db"),
                List.of("--server", "vps.example", "--token-file", token),
                List.of("--server", "http://a b", "--token-file", token))) {
            List<String> words = new ArrayList<>(List.of("work", "state", "a"));
            words.addAll(each);
            assertEquals(
                    ExitCode.USAGE,
                    site.workplace.run(words.toArray(String[]::new)).exitCode(),
                    each.toString());
        }
        Files.setPosixFilePermissions(
                site.tokenFile, java.nio.file.attribute.PosixFilePermissions.fromString("rw-r--r--"));
        CommandRun open = site.work("state", "a");
        assertEquals(ExitCode.BAD_CONFIGURATION, open.exitCode());
        assertTrue(open.err().contains("chmod 600"), open.err());
        assertEquals(List.of(), site.server.requests());
    }

    @Test
    void waitingIsForServers() throws IOException {
        CommandRun store = work(Target.STORE, "claim", "--any", "--owner", "o", "--ttl", "1m", "--wait", "1s");
        assertEquals(ExitCode.USAGE, store.exitCode());
        long began = System.nanoTime();
        json(Target.SERVER, "NOTHING_READY", "claim", "--any", "--owner", "o", "--ttl", "1m", "--wait", "300ms");
        assertTrue(System.nanoTime() - began >= 300_000_000);
    }

    @Test
    void aFileOfAnItem() throws IOException {
        json(Target.SERVER, null, "enqueue", "a", "--queue", "q");
        CommandRun loop = site.work(
                "loop",
                "--queue",
                "q",
                "--once",
                "--",
                "sh",
                "-c",
                "printf page > \"$FENCEPOST_OUTPUT_DIR/page.html\"");
        assertEquals(ExitCode.FINE, loop.exitCode(), loop.err());
        JsonNode list = Workplace.json(site.work("artifacts", "a", "--json").out());
        JsonNode file = list.get("artifacts").get(0);
        assertEquals(List.of("name", "fence", "size", "sha256", "type", "at"), Workplace.fields(file));
        assertEquals("page.html", file.get("name").textValue());
        assertEquals(4, file.get("size").longValue());
        JsonNode got = json(Target.SERVER, null, "artifacts", "a", "--get", "page.html", "--out", "there.html");
        assertEquals(file, got.get("artifact"));
        assertEquals("page", Files.readString(site.file("there.html")));
        json(Target.SERVER, "UNKNOWN", "artifacts", "a", "--get", "page.html", "--fence", "7", "--out", "x");
        CommandRun store = work(Target.STORE, "artifacts", "a", "--get", "page.html", "--out", "x");
        assertEquals(ExitCode.USAGE, store.exitCode());
        site.server.spoil("a", 1, "page.html", "evil".getBytes(StandardCharsets.UTF_8));
        CommandRun spoiled = site.work("artifacts", "a", "--get", "page.html", "--out", "there.html");
        assertEquals(ExitCode.FAILED, spoiled.exitCode());
        assertEquals("page", Files.readString(site.file("there.html")));
    }

    @Test
    void helpOfEachHasExamples() {
        for (String name : List.of(
                "enqueue",
                "state",
                "list",
                "queues",
                "claim",
                "claim-many",
                "renew",
                "complete",
                "fail",
                "release",
                "artifacts",
                "prune",
                "loop")) {
            CommandRun run = CommandRun.of(site.workplace.dir, Map.of(), "work", name, "--help");
            assertEquals(ExitCode.FINE, run.exitCode());
            assertTrue(run.out().contains("  fencepost work " + name), run.out());
            assertTrue(run.out().contains("--server=URL"), run.out());
        }
    }
}
