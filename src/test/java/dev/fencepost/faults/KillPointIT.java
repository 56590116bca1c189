package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** S9, S15: killed with -9 at each named point between claim and receipt, one after the other; the receiver counts keys. */
@Tag("faults")
class KillPointIT {

    /**
     * In the order of an effect's life, and how often the point is passed before the process dies there. What a turn sends before it gives
     * its lease back is all that is left, so that point is the last.
     */
    private static final List<String> POINTS = List.of(
            "start:before 1",
            "start:after 2",
            "complete:before 1",
            "complete:before 3",
            "complete:after 1",
            "complete:after 3",
            "claim:before 1",
            "claim:after 1",
            "adopt:before 1",
            "adopt:after 1",
            "next:after 4",
            "begin:before 1",
            "begin:before 4",
            "begin:after 1",
            "begin:after 4",
            "deliver:before 1",
            "deliver:before 4",
            "deliver:after 1",
            "deliver:after 4",
            "sent:before 1",
            "sent:before 4",
            "sent:after 1",
            "sent:after 4",
            "release:before 1");

    /** Points at which the receiver has the effect and the store does not know it: each costs one more request. */
    private static final long DOUBTFUL = POINTS.stream()
            .filter(point -> point.startsWith("deliver:after") || point.startsWith("sent:before"))
            .count();

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgresql"})
    void everyEffectArrivesOnceWhereverTheProcessDies(String kind) throws Exception {
        Postgres.Database database = kind.equals("sqlite") ? null : Postgres.newDatabase();
        Rows rows = database == null ? Rows.of(folder.resolve("store.db")) : Rows.of(database);
        String place = database == null ? folder.resolve("store.db").toString() : withoutUser(database.url());
        String node = UUID.randomUUID().toString();
        try (Receiver receiver = new Receiver()) {
            for (String point : POINTS) {
                assertTrue(isKilledAt(point, place, node, receiver), () -> point + " was never reached");
            }
            assertFalse(isKilledAt("none 1", place, node, receiver), "the last one ends by itself");
            assertEquals(
                    KillPointMain.EFFECTS,
                    rows.texts("select key from effect where state = 'CONFIRMED'").size());
            assertEquals(KillPointMain.EFFECTS, receiver.accepted().size());
            assertEquals(Set.of(), receiver.doubled());
            assertEquals(
                    KillPointMain.EFFECTS / KillPointMain.EFFECTS_A_RUN,
                    rows.ticks("note", "SUCCEEDED").size());
            assertEquals(
                    DOUBTFUL,
                    receiver.posts().size() - receiver.accepted().size(),
                    "a key comes again only where nobody could know");
        }
    }

    private static String withoutUser(String url) {
        int query = url.indexOf('?');
        return query < 0 ? url : url.substring(0, query);
    }

    private boolean isKilledAt(String point, String place, String node, Receiver receiver)
            throws IOException, InterruptedException {
        Path said = folder.resolve("said.txt");
        Process process = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        KillPointMain.class.getName(),
                        place,
                        node,
                        receiver.url(),
                        point.split(" ")[0],
                        point.split(" ")[1])
                .redirectErrorStream(true)
                .redirectOutput(said.toFile())
                .start();
        if (!process.waitFor(60, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError(point + ": neither killed nor done: " + text(said));
        }
        if (process.exitValue() == 137) {
            return true;
        }
        assertEquals(0, process.exitValue(), () -> point + ": " + text(said));
        return false;
    }

    private static String text(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            return e.toString();
        }
    }
}
