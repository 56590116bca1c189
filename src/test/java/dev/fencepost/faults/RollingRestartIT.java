package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * ADR 31: programs of two minor versions together on one store. The newer one is the built program with one more script. With
 * {@code -Dfaults.old=PROGRAM} an earlier build is the older one, and the built program, as it is, the newer one.
 */
@Tag("faults")
class RollingRestartIT {

    private static final Duration SOON = Duration.ofSeconds(30);
    private static final Path EARLIER =
            System.getProperty("faults.old") == null ? null : Path.of(System.getProperty("faults.old"));

    /** One of each kind that a script may add, to each table that a tick writes. */
    private static final String ADDS = """
            create table later (id integer primary key, word text not null);
            insert into later (id, word) values (1, 'added');
            alter table lease add column later text;
            alter table job add column later text not null default 'added';
            alter table tick add column later integer;
            alter table attempt add column later integer not null default 7;
            alter table effect add column later text;
            alter table write_event add column later text;
            alter table node add column later text;
            alter table work_item add column later text;
            create index tick_later on tick (job, later);
            """;

    private static final String JOBS = """
            sinks:
              announce: { http: { url: "%s", allow-hosts: [127.0.0.1], idempotent: true } }
            jobs:
              busy:
                every: 1s
                lease: { ttl: 10s }
                catch-up: { max: 20 }
                command: |
                  echo "$FENCEPOST_SLOT $FENCEPOST_FENCE" >>%s/ran
                  printf '{"name":"told","sink":"announce","body":"%%s"}\\n' "$FENCEPOST_SLOT" >>"$FENCEPOST_EFFECTS"
            """;

    @TempDir
    Path folder;

    private Path older() {
        return EARLIER == null ? ServeProcess.PROGRAM : EARLIER;
    }

    private Path newer() {
        return EARLIER == null ? NewerProgram.in(folder.resolve("newer"), "later", ADDS) : ServeProcess.PROGRAM;
    }

    private static ServeProcess restarted(Scene scene, ServeProcess node, String stateDir, Path program) {
        stop(node);
        scene.program(program);
        return scene.serve(stateDir).awaitReady();
    }

    private static void stop(ServeProcess node) {
        node.signal("TERM");
        assertEquals(0, node.awaitExit(SOON), node::said);
        assertEquals(List.of(), node.linesContaining(" ERROR "), node::said);
    }

    private static void ticks(Rows rows, int more) {
        int before = rows.ticks("busy").size();
        Wait.until(SOON, "so many ticks more: " + more, () -> rows.ticks("busy").size() >= before + more);
    }

    /** Two nodes; the first takes the new version, then the second, then the first goes back to the old one. */
    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgresql"})
    void oldAndNewTogetherLoseNoSlotAndDoubleNone(String kind) throws IOException {
        Path newer = newer();
        try (Receiver receiver = new Receiver();
                Scene scene = kind.equals("sqlite")
                        ? Scene.sqlite(folder, folder.resolve("shared.db"))
                        : Scene.postgres(folder, Postgres.newDatabase())) {
            Rows rows = scene.rows();
            scene.program(older());
            scene.jobs(JOBS.formatted(receiver.url(), folder));
            ServeProcess a = scene.serve("a").awaitReady();
            ServeProcess b = scene.serve("b").awaitReady();
            String before = schema(rows);
            ticks(rows, 4);

            a = restarted(scene, a, "a", newer);
            assertTrue(schema(rows).compareTo(before) > 0, "the schema is the newer one's");
            ticks(rows, 6);
            b = restarted(scene, b, "b", newer);
            ticks(rows, 4);
            a = restarted(scene, a, "a", older());
            ticks(rows, 6);
            assertTrue(b.isAlive() && a.isAlive(), "both live");
            stop(a);
            ticks(rows, 3);
            ServeProcess pause = scene.command("pause", "busy", "--store", scene.store());
            assertEquals(0, pause.awaitExit(SOON), pause::said);
            Wait.until(
                    SOON,
                    () -> "nothing is left to do: " + rows.ticks("busy").getLast(),
                    () -> rows.texts("select slot_key from tick where outcome is null")
                                    .isEmpty()
                            && rows.texts("select key from effect where state <> 'CONFIRMED'")
                                    .isEmpty());
            stop(b);

            check(rows, receiver, Files.readAllLines(folder.resolve("ran")));
        }
    }

    private static String schema(Rows rows) {
        return rows.value("select max(version) from fencepost_schema_history");
    }

    private static void check(Rows rows, Receiver receiver, List<String> ran) {
        List<Rows.Tick> ticks = rows.ticks("busy");
        TreeMap<Instant, String> outcomes = new TreeMap<>();
        for (Rows.Tick tick : ticks) {
            for (long i = 0; i < tick.count(); i++) {
                assertNull(outcomes.put(tick.first().plusSeconds(i), String.valueOf(tick.outcome())), ticks::toString);
            }
        }
        long span = Duration.between(outcomes.firstKey(), outcomes.lastKey()).toSeconds() + 1;
        assertEquals(span, outcomes.size(), () -> "a slot is lost: " + outcomes);
        long succeeded = outcomes.values().stream().filter("SUCCEEDED"::equals).count();
        long skipped =
                outcomes.values().stream().filter("SKIPPED_OVERLAP"::equals).count();
        assertEquals(span, succeeded + skipped, () -> "neither run nor skipped: " + outcomes);
        assertTrue(skipped <= span / 4, () -> skipped + " of " + span + " were skipped");

        assertEquals(succeeded, ran.size(), "each slot ran once");
        assertEquals(
                ran.size(),
                new HashSet<>(ran.stream().map(line -> line.split(" ")[0]).toList()).size(),
                "no slot ran twice");
        assertEquals(
                ran.size(),
                new HashSet<>(ran.stream().map(line -> line.split(" ")[1]).toList()).size(),
                "no token was given twice");
        assertEquals(succeeded, receiver.accepted().size(), "each has told its slot");
        assertEquals(Set.of(), receiver.doubled());
        assertEquals(List.of(), rows.texts("select reason from write_event where not accepted"));
    }

    /** Whoever does not know what was taken away is told, and touches nothing. */
    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgresql"})
    void aSchemaBeyondItsRangeIsRefused(String kind) throws IOException {
        int newest = NewerProgram.newestScript() + 1;
        Path newer = NewerProgram.in(
                folder.resolve("newer"),
                "contract_later",
                "create table later (id integer primary key);\nupdate store_floor set least_known = " + newest + ";\n");
        try (Receiver receiver = new Receiver();
                Scene scene = kind.equals("sqlite")
                        ? Scene.sqlite(folder, folder.resolve("shared.db"))
                        : Scene.postgres(folder, Postgres.newDatabase())) {
            scene.jobs(JOBS.formatted(receiver.url(), folder));
            scene.program(newer);
            ServeProcess first = scene.serve("a").awaitReady();
            ticks(scene.rows(), 2);
            stop(first);
            int before = scene.rows().ticks("busy").size();

            scene.program(ServeProcess.PROGRAM);
            String words =
                    "the schema of the store is too new for this program: it wants one that knows version %03d, this one knows %03d"
                            .formatted(newest, newest - 1);
            ServeProcess status = scene.command("status", "--store", scene.store());
            assertEquals(69, status.awaitExit(SOON), status::said);
            assertTrue(status.errorLines().getFirst().contains(words), status::said);
            ServeProcess service = scene.serve("b");
            Wait.until(
                    SOON,
                    () -> "it says why; " + service.said(),
                    () -> !service.linesContaining(words).isEmpty());
            ServeProcess.Answer ready = service.get("/q/health/ready");
            assertTrue(ready.isDown() && ready.body().contains(words), ready::body);
            assertEquals(before, scene.rows().ticks("busy").size());
            service.signal("TERM");
            assertEquals(0, service.awaitExit(SOON), service::said);
        }
    }
}
