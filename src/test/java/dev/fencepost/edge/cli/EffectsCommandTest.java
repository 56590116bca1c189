package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.fencepost.edge.config.JobsFileReader;
import dev.fencepost.edge.config.Reading;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.Outbox;
import dev.fencepost.effect.Pair;
import dev.fencepost.effect.Receipt;
import dev.fencepost.effect.Settlement;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a person sees of effects, and may decide on them. The store beneath is the real one. */
class EffectsCommandTest {

    private static final Instant SLOT = Instant.parse("2026-01-01T00:00:00Z");
    private static final String FIRST = "article@2026-01-01T00:00:00Z/announce";
    private static final String SECOND = "article@2026-01-01T00:45:00Z/announce";
    private static final String PAYLOAD = "CANARY-payload";
    private static final List<String> FIELDS = List.of(
            "key",
            "job",
            "slot",
            "sink",
            "state",
            "fence",
            "attempts",
            "receipt",
            "reason",
            "run_id",
            "waits",
            "announced_at",
            "expires_at",
            "next_at",
            "size",
            "name",
            "resource",
            "override",
            "digest",
            "changed_at");

    private Workplace workplace;

    @BeforeEach
    void setUp(@TempDir Path dir) throws IOException {
        workplace = new Workplace(dir).jobs("article: { every: 45m, command: [date] }\n");
    }

    private Job job() {
        Reading reading = new JobsFileReader(workplace.environment(), workplace.dir, CommandRun.NOW)
                .read(workplace.dir.resolve("fencepost.yaml"));
        return ((Reading.Accepted) reading).file().jobs().getFirst();
    }

    /** A run of this slot that announces one effect. */
    private void announce(JdbcStore store, Instant slot, String key) {
        Job job = job();
        store.register(List.of(job));
        Lease lease = ((Start.Started)
                        store.start(job, Slot.at(slot), new Owner("node-x"), new RunId(UUID.randomUUID()), false))
                .lease();
        Content content = new Content("text/plain", null, PAYLOAD.getBytes(StandardCharsets.UTF_8));
        Announcement announcement = new Announcement(
                "announce", key, "announce", content, content.digest("announce"), Duration.ofHours(24));
        assertInstanceOf(
                Completed.Stored.class,
                store.complete(
                        lease,
                        new Completion(
                                Outcome.SUCCEEDED,
                                true,
                                true,
                                0,
                                null,
                                null,
                                new byte[] {1},
                                null,
                                List.of(announcement))));
    }

    /** Sends the pair's first effect, with this end. */
    private static void send(JdbcStore store, Settlement settlement) {
        Pair pair = new Pair("announce", "article");
        Lease lease = Workplace.claim(store, pair.leaseResource(), "node-x", Duration.ofMinutes(1));
        Effect effect = Objects.requireNonNull(store.next(pair));
        assertInstanceOf(Outbox.Begun.Sending.class, store.begin(lease, effect));
        assertTrue(store.sent(lease, effect, settlement));
        assertEquals(java.util.Optional.empty(), store.release(lease));
    }

    private static Settlement unknown() {
        return new Settlement(EffectState.UNKNOWN, null, "no answer within 30s", null, true, true, null);
    }

    private static Settlement dead() {
        return new Settlement(EffectState.DEAD, null, "400 Bad Request", null, false, true, null);
    }

    private static Settlement confirmed() {
        return new Settlement(EffectState.CONFIRMED, new Receipt("201 Created"), null, null, false, false, null);
    }

    /** The first effect's outcome is unknown, and it waits for a person. */
    private void oneIsUnknown() {
        try (JdbcStore store = workplace.store()) {
            announce(store, SLOT, FIRST);
            send(store, unknown());
        }
    }

    private String stateOf(String key) throws IOException {
        return Workplace.json(workplace.run("effects", "show", key, "--json").out())
                .get("effect")
                .get("state")
                .asText();
    }

    @Test
    void aStoreWithoutEffectsSaysSo() throws IOException {
        workplace.store().close();
        assertEquals("no such effect yet\n", workplace.run("effects", "list").out());
        assertEquals(
                "no effect waits for a person\n",
                workplace.run("effects", "list", "--waiting").out());
        assertEquals(
                "{\"effects\":[]}\n", workplace.run("effects", "list", "--json").out());
    }

    @Test
    void theListForPeople() {
        oneIsUnknown();
        try (JdbcStore store = workplace.store()) {
            announce(store, SLOT.plus(Duration.ofMinutes(45)), SECOND);
        }
        CommandRun run = workplace.run("effects", "list");
        assertEquals(ExitCode.FINE, run.exitCode());
        assertEquals("", run.err());
        assertEquals("""
                KEY  SINK  STATE  TOKEN  TRIES  NEXT  REASON
                article@INSTANT/announce  announce  pending  2  0  INSTANT  -
                article@INSTANT/announce  announce  unknown  1  1  waits for you  no answer within 30s
                """, workplace.plain(run.out()));
    }

    @Test
    void theListForScriptsBeginsWithTheFixedKeys() throws IOException {
        oneIsUnknown();
        JsonNode list =
                Workplace.json(workplace.run("effects", "list", "--json").out());
        assertEquals(List.of("effects"), Workplace.fields(list));
        JsonNode effect = list.get("effects").get(0);
        assertEquals(FIELDS, Workplace.fields(effect));
        assertEquals(FIRST, effect.get("key").asText());
        assertEquals("article", effect.get("job").asText());
        assertEquals("2026-01-01T00:00:00Z", effect.get("slot").asText());
        assertEquals("announce", effect.get("sink").asText());
        assertEquals("UNKNOWN", effect.get("state").asText());
        assertEquals(1, effect.get("fence").longValue());
        assertEquals(1, effect.get("attempts").longValue());
        assertTrue(effect.get("receipt").isNull());
        assertEquals("no answer within 30s", effect.get("reason").asText());
        assertTrue(effect.get("waits").booleanValue());
        assertTrue(effect.get("next_at").isNull());
        assertEquals(PAYLOAD.length(), effect.get("size").longValue());
        assertFalse(list.toString().contains(PAYLOAD));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--job article | 2",
                "--job digest | 0",
                "--state unknown | 1",
                "--state PENDING,Unknown | 2",
                "--state confirmed | 0",
                "--waiting | 1",
                "--limit 1 | 1"
            })
    void theListIsNarrowed(String options, int size) throws IOException {
        oneIsUnknown();
        try (JdbcStore store = workplace.store()) {
            announce(store, SLOT.plus(Duration.ofMinutes(45)), SECOND);
        }
        CommandRun run = workplace.run(("effects list --json " + options).split(" "));
        assertEquals(size, Workplace.json(run.out()).get("effects").size(), run.out());
        assertEquals(options.equals("--limit 1"), run.err().contains("only the newest 1 are shown"), run.err());
    }

    @Test
    void anEffectWithItsEventsForPeople() {
        try (JdbcStore store = workplace.store()) {
            announce(store, SLOT, FIRST);
            send(store, confirmed());
        }
        CommandRun run = workplace.run("effects", "show", FIRST);
        assertEquals(ExitCode.FINE, run.exitCode());
        assertEquals("""
                key  article@INSTANT/announce
                state  confirmed
                reason  -
                receipt  201 Created
                job  article
                slot  INSTANT
                sink  announce
                token  1
                run id  UUID
                tries  1
                announced  INSTANT
                changed  INSTANT
                next  -
                expires  INSTANT
                size  14 bytes
                digest  DIGEST

                AT  RESOURCE  TOKEN  NEWEST  ANSWER  REASON  EFFECT  OWNER
                INSTANT  article  1  -  accepted  EFFECT  article@INSTANT/announce  node-x
                """, workplace.plain(run.out()).replaceAll("[0-9a-f]{64}", "DIGEST"));
        assertFalse(run.out().contains(PAYLOAD));
    }

    @Test
    void anEffectWithItsEventsForScripts() throws IOException {
        try (JdbcStore store = workplace.store()) {
            announce(store, SLOT, FIRST);
            send(store, confirmed());
        }
        JsonNode answer =
                Workplace.json(workplace.run("effects", "show", FIRST, "--json").out());
        assertEquals(List.of("ok", "reason", "effect", "events"), Workplace.fields(answer));
        assertTrue(answer.get("ok").booleanValue());
        assertEquals(FIELDS, Workplace.fields(answer.get("effect")));
        assertEquals(1, answer.get("events").size());
        assertEquals(FIRST, answer.get("events").get(0).get("effect").asText());
    }

    @ParameterizedTest
    @CsvSource({"confirmed, CONFIRMED", "absent, PENDING", "given-up, DEAD", "Given-Up, DEAD"})
    void aPersonSaysWhatBecameOfIt(String as, String state) throws IOException {
        oneIsUnknown();
        CommandRun run =
                workplace.run("effects", "resolve", FIRST, "--as", as, "--reason", "looked at the shop", "--json");
        assertEquals(ExitCode.FINE, run.exitCode(), run.err());
        JsonNode answer = Workplace.json(run.out());
        assertEquals(List.of("ok", "reason", "effect"), Workplace.fields(answer));
        assertEquals(state, answer.get("effect").get("state").asText());
        assertFalse(answer.get("effect").get("waits").booleanValue());
        assertTrue(workplace.run("events").out().contains("looked at the shop"));
        assertTrue(workplace.run("effects", "show", FIRST).out().contains("looked at the shop"));
    }

    @Test
    void theAnswersForPeople() {
        oneIsUnknown();
        assertEquals(
                FIRST + ": pending, it is sent when its turn comes\n",
                workplace
                        .run("effects", "resolve", FIRST, "--as", "absent", "--reason", "not there")
                        .out());
        assertEquals(
                FIRST + ": dead\n",
                workplace
                        .run("effects", "resolve", FIRST, "--as", "given-up", "--reason", "too late")
                        .out());
        assertEquals(
                FIRST + ": pending, it is sent when its turn comes\n",
                workplace.run("effects", "retry", FIRST).out());
    }

    @Test
    void whatIsUnknownIsNotSentAgainBeforeSomebodyLooked() throws IOException {
        oneIsUnknown();
        CommandRun run = workplace.run("effects", "retry", FIRST);
        assertEquals(ExitCode.REFUSED, run.exitCode());
        assertEquals("", run.out());
        assertTrue(run.err().startsWith("refused: effect " + FIRST + " is UNKNOWN"), run.err());
        JsonNode json = Workplace.json(
                workplace.run("effects", "retry", FIRST, "--json").out());
        assertFalse(json.get("ok").booleanValue());
        assertTrue(json.get("reason").asText().contains("is UNKNOWN"));
        assertEquals("UNKNOWN", json.get("effect").get("state").asText());
        assertEquals("UNKNOWN", stateOf(FIRST));
    }

    @Test
    void afterANewerTokenItTakesANamedOverride() throws IOException {
        try (JdbcStore store = workplace.store()) {
            announce(store, SLOT, FIRST);
            send(store, dead());
            announce(store, SLOT.plus(Duration.ofMinutes(45)), SECOND);
            send(store, confirmed());
        }
        CommandRun no = workplace.run("effects", "retry", FIRST);
        assertEquals(ExitCode.REFUSED, no.exitCode());
        assertTrue(no.err().contains("override"), no.err());
        assertEquals("DEAD", stateOf(FIRST));
        CommandRun yes = workplace.run("effects", "retry", FIRST, "--override", "--reason", "the newer one was a test");
        assertEquals(ExitCode.FINE, yes.exitCode(), yes.err());
        assertEquals("PENDING", stateOf(FIRST));
        assertTrue(
                workplace.run("effects", "show", FIRST).out().contains("token      1, may be sent after a newer one"));
        assertTrue(workplace.run("events").out().contains("OVERRIDE"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "show KEY",
                "resolve KEY --as absent --reason x",
                "retry KEY",
                "resolve KEY --as confirmed --reason x"
            })
    void aKeyThatIsNotThereIsRefusedWithTheNearestOnes(String command) throws IOException {
        oneIsUnknown();
        CommandRun run =
                workplace.run(("effects " + command.replace("KEY", "article@2026-01-01T00:00:00Z")).split(" "));
        assertEquals(ExitCode.REFUSED, run.exitCode());
        assertEquals(
                "no effect has the key \"article@2026-01-01T00:00:00Z\"\n    did you mean " + FIRST + "?\n", run.err());
        CommandRun json = workplace.run(("effects --json " + command.replace("KEY", "zzz")).split(" "));
        assertEquals(ExitCode.REFUSED, json.exitCode());
        assertEquals("{\"ok\":false,\"reason\":\"no effect has the key \\\"zzz\\\"\",\"effect\":null}\n", json.out());
        assertTrue(workplace
                .run(("effects " + command.replace("KEY", "zzz")).split(" "))
                .err()
                .endsWith("    fencepost effects list shows the keys\n"));
    }

    @Test
    void controlCharactersOfARunDoNotReachTheTerminal() {
        String evil = "evil\u001b[2J\u202e";
        try (JdbcStore store = workplace.store()) {
            announce(store, SLOT, evil);
            send(store, unknown());
        }
        for (CommandRun run : List.of(
                workplace.run("effects", "list"),
                workplace.run("effects", "show", evil),
                workplace.run("effects", "show", "evil"),
                workplace.run("effects", "retry", evil),
                workplace.run("effects", "resolve", evil, "--as", "confirmed", "--reason", "\u001b[31mred"),
                workplace.run("effects", "show", evil),
                workplace.run("events"))) {
            assertFalse((run.out() + run.err()).contains("\u001b"), run.toString());
            assertFalse((run.out() + run.err()).contains("\u202e"), run.toString());
            assertTrue((run.out() + run.err()).contains("evil\\x1b[2J\\u202e"), run.toString());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "list --limit 0",
                "list --limit 10001",
                "list --state frob",
                "show",
                "resolve k",
                "resolve k --as absent",
                "resolve k --reason x",
                "resolve k --as maybe --reason x",
                "resolve --as absent --reason x",
                "resolve k --as confirmed --reason x --override",
                "resolve k --as given-up --reason x --override",
                "retry",
                "retry k --as absent",
                "frob"
            })
    void badArgumentsAreUsage(String command) {
        workplace.store().close();
        CommandRun run = workplace.run(("effects " + command).split(" "));
        assertEquals(ExitCode.USAGE, run.exitCode(), run.err());
        assertEquals("", run.out());
    }

    @Test
    void aReasonIsNeitherBlankNorEndless() {
        workplace.store().close();
        for (String reason : List.of(" ", "x".repeat(501))) {
            assertEquals(
                    ExitCode.USAGE,
                    workplace
                            .run("effects", "resolve", "k", "--as", "absent", "--reason", reason)
                            .exitCode());
        }
    }

    @Test
    void everyCommandHasItsHelpAndTheGroupPrintsOne() {
        for (String command : List.of("list", "show", "resolve", "retry")) {
            CommandRun run = workplace.run("effects", command, "--help");
            assertEquals(ExitCode.FINE, run.exitCode());
            assertTrue(run.out().contains("  fencepost effects " + command), run.out());
            assertTrue(run.out().contains("--json"), run.out());
        }
        assertTrue(workplace.run("effects").out().startsWith("Usage: fencepost effects"));
    }
}
