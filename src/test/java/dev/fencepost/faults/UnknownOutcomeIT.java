package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.faults.Proxy.Break;
import dev.fencepost.faults.Proxy.Mode;
import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** S10, semantics 3.13: the connection dies at COMMIT, so that nobody knows whether it took place. */
@Tag("faults")
class UnknownOutcomeIT {

    /** Words of a statement that only this transaction has. */
    private static final String OF_COMPLETION = "exit_code =";

    private static final String OF_CLAIM = "insert into attempt";
    private static final String OF_RENEWAL = "update lease l set expires_at =";

    private static final String JOBS = """
            jobs:
              work:
                every: 2s
                catch-up: { max: 100 }
                lease: { ttl: 81m }
                command: |
                  echo "$FENCEPOST_SLOT $FENCEPOST_RUN_ID" >>started
                  echo "by $FENCEPOST_FENCE" >"$FENCEPOST_RESULT"
            """;

    @TempDir
    Path folder;

    @Test
    void aCutAtCommitOfClaimOrCompletionIsReadBackAndCostsNothing() throws IOException {
        Postgres.Database database = Postgres.newDatabase();
        try (Proxy proxy = new Proxy(database.port());
                Scene scene = Scene.postgres(folder, database, proxy.port())) {
            scene.jobs(JOBS);
            Rows rows = scene.rows();
            ServeProcess service = scene.serve("a").awaitReady();
            int cuts = 0;
            for (String transaction : List.of(OF_COMPLETION, OF_CLAIM)) {
                for (Break where : Break.values()) {
                    int before = rows.ticks("work", "SUCCEEDED").size();
                    proxy.breakCommitOf(transaction, where, Mode.PASS);
                    int expected = ++cuts;
                    Wait.until(
                            Duration.ofSeconds(10),
                            () -> "a cut at COMMIT of " + transaction + " " + where + "; " + service.said(),
                            () -> proxy.sprung() == expected);
                    Wait.until(
                            Duration.ofSeconds(10),
                            () -> "success after a cut at COMMIT of " + transaction + " " + where + "; "
                                    + service.said(),
                            () -> rows.ticks("work", "SUCCEEDED").size() >= before + 2);
                }
            }
            service.signal("TERM");
            assertEquals(0, service.awaitExit(Duration.ofSeconds(10)), service::said);

            List<Rows.Tick> ticks = rows.ticks("work");
            Instant slot = ticks.getFirst().at();
            for (Rows.Tick tick : ticks) {
                assertEquals(slot, tick.at(), () -> "no slot is lost: " + ticks);
                assertEquals("SUCCEEDED", tick.outcome(), () -> ticks + "\n" + service.said());
                slot = slot.plusSeconds(2);
            }
            List<Rows.Attempt> attempts = rows.attempts("work");
            assertEquals(ticks.size(), attempts.size(), () -> "one attempt for each slot: " + attempts);
            for (Rows.Attempt attempt : attempts) {
                assertEquals("SUCCEEDED", attempt.outcome());
                assertEquals("by " + attempt.fence(), attempt.result());
            }
            assertEquals(
                    attempts.stream().map(a -> a.key() + " " + a.runId()).toList(),
                    Files.readAllLines(folder.resolve("started")),
                    "each child was started once, and no other");
            assertEquals(
                    attempts.size(),
                    rows.events("work").stream()
                            .filter(Rows.WriteEvent::accepted)
                            .count(),
                    "stored once");
            assertEquals(attempts.size(), rows.events("work").size(), "nothing was refused");
            assertEquals(0, service.linesContaining(" ERROR ").size(), service::said);
            assertEquals(0, service.linesContaining("LEASE_LOST").size(), service::said);
        }
    }

    /** A renewal of which nobody knows costs nothing: the next one is made in time, and the lease is the same. */
    @Test
    void aCutAtCommitOfARenewalCostsNoLease() throws IOException {
        Postgres.Database database = Postgres.newDatabase();
        try (Proxy proxy = new Proxy(database.port());
                Scene scene = Scene.postgres(folder, database, proxy.port())) {
            scene.jobs("""
                    jobs:
                      work:
                        lease: { ttl: 3s }
                        command: while [ ! -e go ]; do sleep 0.1; done
                    """ + Scene.oneSlot());
            Rows rows = scene.rows();
            ServeProcess service = scene.serve("a").awaitReady();
            Rows.Attempt run =
                    Wait.forValue(Duration.ofSeconds(10), "the run", () -> rows.openOf("work", service.pid()));
            int cuts = 0;
            for (Break where : Break.values()) {
                proxy.breakCommitOf(OF_RENEWAL, where, Mode.PASS);
                int expected = ++cuts;
                Wait.until(
                        Duration.ofSeconds(5),
                        () -> "a cut at COMMIT of a renewal " + where + "; " + service.said(),
                        () -> proxy.sprung() == expected);
                Instant end = rows.leaseEnd("work", run.fence()).plusSeconds(1);
                Wait.until(
                        Duration.ofSeconds(5),
                        () -> "a renewal after the cut " + where + "; " + service.said(),
                        () -> rows.leaseEnd("work", run.fence()).isAfter(end));
            }
            scene.touch("go");
            Wait.until(
                    Duration.ofSeconds(5),
                    service::said,
                    () -> rows.ticks("work", "SUCCEEDED").size() == 1);
            assertEquals(1, rows.attempts("work").size());
            assertEquals(0, service.metric("lease_lost_total"), service::said);
        }
    }

    /** The claim is granted, but its runner never learns of it and gives up: the lease must not block the job for 81 minutes. */
    @Test
    void aClaimThatWasGrantedUnheardIsGivenBackOnceTheDatabaseAnswers() throws IOException {
        Postgres.Database database = Postgres.newDatabase();
        try (Proxy proxy = new Proxy(database.port());
                Scene scene = Scene.postgres(folder, database, proxy.port())) {
            scene.jobs(JOBS);
            Rows rows = scene.rows();
            ServeProcess service = scene.serve("a").awaitReady();
            Wait.until(
                    Duration.ofSeconds(10),
                    service::said,
                    () -> rows.ticks("work", "SUCCEEDED").size() >= 1);
            proxy.breakCommitOf(OF_CLAIM, Break.BEFORE_ITS_ANSWER, Mode.CUT);
            Wait.until(Duration.ofSeconds(10), "the cut", () -> proxy.sprung() == 1);
            Rows.Attempt ghost = rows.attempts("work").getLast();
            assertTrue(ghost.isOpen(), ghost::toString);
            Wait.sleep(Duration.ofSeconds(13)); // longer than a claim is tried
            proxy.mode(Mode.PASS);

            Instant back = Instant.now();
            Wait.until(Duration.ofSeconds(30), service::said, () -> rows.successesAfter("work", back) >= 2);
            List<Rows.Attempt> attempts = rows.attempts("work");
            assertTrue(
                    attempts.stream()
                            .filter(Rows.Attempt::isOpen)
                            .allMatch(attempt ->
                                    attempt.fence() == attempts.getLast().fence()),
                    () -> "no ghost stays open: " + attempts);
            Rows.Attempt ended = attempts.stream()
                    .filter(attempt -> attempt.runId().equals(ghost.runId()))
                    .findFirst()
                    .orElseThrow();
            assertEquals("ABANDONED", ended.outcome(), ended::toString);
            assertTrue(
                    Files.readAllLines(folder.resolve("started")).stream()
                            .noneMatch(line -> line.contains(ghost.runId())),
                    "nothing was started under a lease that nobody knew of");
            Rows.Tick tick = rows.ticks("work").stream()
                    .filter(each -> each.key().equals(ghost.key()))
                    .findFirst()
                    .orElseThrow();
            assertEquals("SUCCEEDED", tick.outcome(), () -> tick + "\n" + service.said());
        }
    }
}
