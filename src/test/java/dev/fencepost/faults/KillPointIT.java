package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
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

    /** In the order of an effect's life; each at an early and at a later time. */
    private static final List<String> POINTS = List.of(
            "start:before",
            "start:after",
            "complete:before",
            "complete:after",
            "claim:before",
            "claim:after",
            "adopt:after",
            "next:after",
            "begin:before",
            "begin:after",
            "deliver:before",
            "deliver:after",
            "sent:before",
            "sent:after",
            "release:before",
            "release:after");

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgresql"})
    void everyEffectArrivesOnceWhereverTheProcessDies(String kind) throws Exception {
        Postgres.Database database = kind.equals("sqlite") ? null : Postgres.newDatabase();
        Rows rows = database == null ? Rows.of(folder.resolve("store.db")) : Rows.of(database);
        String place = database == null ? folder.resolve("store.db").toString() : withoutUser(database.url());
        String node = UUID.randomUUID().toString();
        List<String> survived = new ArrayList<>();
        try (Receiver receiver = new Receiver()) {
            for (String point : POINTS) {
                for (int count : List.of(1, 4)) {
                    if (!isKilledAt(point, count, place, node, receiver)) {
                        survived.add(point + " " + count);
                    }
                }
            }
            assertTrue(!isKilledAt("none", 1, place, node, receiver), "the last one ends by itself");
            assertEquals(
                    KillPointMain.EFFECTS,
                    rows.texts("select key from effect where state = 'CONFIRMED'").size());
            assertEquals(KillPointMain.EFFECTS, receiver.accepted().size());
            assertEquals(Set.of(), receiver.doubled());
            assertEquals(
                    KillPointMain.EFFECTS / KillPointMain.EFFECTS_A_RUN,
                    rows.ticks("note", "SUCCEEDED").size());
            // A second request of a key is what a receiver that knows keys is for; without a kill there is none.
            int again = receiver.posts().size() - receiver.accepted().size();
            assertTrue(again >= 1 && again <= POINTS.size() * 2, () -> again + " requests came again");
        }
        // Once all runs are completed, or all effects sent, a point of theirs cannot be reached any more.
        assertTrue(survived.size() <= 8, () -> "these points were not reached: " + survived);
    }

    private static String withoutUser(String url) {
        int query = url.indexOf('?');
        return query < 0 ? url : url.substring(0, query);
    }

    private boolean isKilledAt(String point, int count, String place, String node, Receiver receiver)
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
                        point,
                        String.valueOf(count))
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
