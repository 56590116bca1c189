package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The drill of {@code src/docs/backup-and-upgrade.md}: a backup under way, the loss of what came after it, and the way back. */
@Tag("faults")
class BackupIT {

    private static final Duration SOON = Duration.ofSeconds(30);

    /** {@code held} waits, in its first run, for a file: it is the run that outlives its store. */
    private static final String JOBS = """
            sinks:
              announce: { http: { url: "%s", allow-hosts: [127.0.0.1], timeout: 5s, read-back: { url: "%sseen/{key}" } } }
            jobs:
              busy:
                every: 1s
                lease: { ttl: 10s }
                catch-up: { max: 3 }
                command: |
                  echo "$FENCEPOST_FENCE" >>%s/tokens
                  printf '{"name":"told","sink":"announce","body":"%%s"}\\n' "$FENCEPOST_SLOT" >>"$FENCEPOST_EFFECTS"
              held:
                every: 24h
                lease: { ttl: 10m }
                command: |
                  touch "%s/began-$FENCEPOST_FENCE"
                  [ "$FENCEPOST_FENCE" -gt 1 ] || while [ ! -e "%s/go" ]; do sleep 0.1; done
                  printf '{"name":"told","sink":"announce","body":"by %%s"}\\n' "$FENCEPOST_FENCE" >>"$FENCEPOST_EFFECTS"
            """;

    @TempDir
    Path folder;

    private static void said(int code, ServeProcess command) {
        assertEquals(code, command.awaitExit(SOON), command::said);
    }

    private void accepted(Receiver receiver, int more) {
        int before = receiver.accepted().size();
        Wait.until(
                SOON, "so many effects more: " + more, () -> receiver.accepted().size() >= before + more);
    }

    @Test
    void aStoreThatWasPutBackGivesNoTokenTwiceAndItsSinksRefuseTheLostTime() throws IOException {
        Path file = folder.resolve("store.db");
        Path backup = folder.resolve("backup.db");
        String store = "sqlite:" + file;
        try (Receiver receiver = new Receiver();
                Scene scene = Scene.sqlite(folder, file)) {
            receiver.checkTokens();
            scene.jobs(JOBS.formatted(receiver.url(), receiver.url(), folder, folder, folder));
            ServeProcess old = scene.serve("old").awaitReady();
            accepted(receiver, 4);

            said(0, scene.command("store", "backup", backup.toString(), "--store", store));
            said(0, scene.command("store", "check", "--store", "sqlite:" + backup));

            said(0, scene.command("trigger", "held", "--store", store));
            Wait.until(SOON, () -> "held began; " + old.said(), () -> Files.exists(folder.resolve("began-1")));
            accepted(receiver, 4);
            Rows lost = scene.rows();
            Wait.until(
                    SOON,
                    "nothing under way",
                    () -> lost.texts("select key from effect where state <> 'CONFIRMED'")
                            .isEmpty());
            old.signal("STOP"); // it does not know yet that its store is gone
            int ranBefore = Files.readAllLines(folder.resolve("tokens")).size();
            Path aside = Files.createDirectory(folder.resolve("aside"));
            for (String more : List.of("", "-wal", "-shm")) {
                Files.move(Path.of(file + more), aside.resolve("store.db" + more));
            }
            long highest = Long.parseLong(Rows.of(aside.resolve("store.db")).value("select max(fence) from attempt"));

            Files.copy(backup, file);
            said(0, scene.command("store", "check", "--store", store));
            said(3, scene.command("store", "bump", "--yes", "--store", store)); // alive when the backup was made
            said(0, scene.command("store", "bump", "--yes", "--while-running", "--store", store));
            ServeProcess next = scene.serve("new").awaitReady();
            accepted(receiver, 4);
            said(0, scene.command("trigger", "held", "--store", store));
            Wait.until(
                    SOON,
                    () -> "held again; " + next.said(),
                    () -> receiver.accepted().values().stream()
                            .anyMatch(post -> post.body().startsWith("by ") && post.fence() > highest));

            scene.touch("go");
            old.signal("CONT");
            Wait.until(
                    SOON,
                    () -> "the run of the lost time is refused by the sink; " + old.said(),
                    () -> receiver.posts().stream().anyMatch(post -> post.body().equals("by 1")));
            old.signal("KILL");
            next.signal("TERM");
            said(0, next);
            said(0, scene.command("store", "check", "--store", store));

            assertFalse(
                    receiver.accepted().values().stream()
                            .anyMatch(post -> post.body().equals("by 1")),
                    "no write of the lost time was accepted after it");
            assertEquals(Set.of(), receiver.doubled(), "no key came with two contents");
            List<String> tokens = Files.readAllLines(folder.resolve("tokens"));
            assertTokens(tokens.subList(0, ranBefore), scene.rows(), highest);
        }
    }

    private static void assertTokens(List<String> before, Rows rows, long highest) {
        assertEquals(before.size(), new HashSet<>(before).size());
        TreeSet<Long> after = new TreeSet<>();
        for (Rows.Attempt attempt : rows.attempts("busy")) {
            if (!before.contains(String.valueOf(attempt.fence()))) {
                assertTrue(after.add(attempt.fence()), () -> "given twice: " + attempt);
            }
        }
        assertTrue(after.size() >= 4, after::toString);
        assertTrue(after.first() > highest, () -> after.first() + " after " + highest);
    }
}
