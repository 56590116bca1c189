package dev.fencepost.bench;

import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Rig;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * 100,000 runs of a 1-second job with clean-up every 1,000 of them (RES-04); by hand: {@code ./mvnw -q test -Dtest=HistoryBench}. Prints,
 * for each tenth of them, the median of a claim, and how long a list of the newest 50 and a batch of the clean-up take.
 */
class HistoryBench {

    private static final int RUNS = Integer.getInteger("bench.runs", 100_000);
    private static final int KEEP = 10_000;
    private static final int BETWEEN = 1_000;

    @TempDir
    Path folder;

    private final SystemTime time = new SystemTime();
    private final SystemEntropy entropy = new SystemEntropy();

    @Test
    void aHundredThousandRuns() throws Exception {
        SystemThreads threads = new SystemThreads(event -> {});
        System.out.println("| store | runs | claim p50 ms | list of 50, ms | clean-up of 1000, ms | ticks kept |");
        System.out.println("|---|---:|---:|---:|---:|---:|");
        try (JdbcStore store = JdbcStore.sqlite(folder.resolve("history.db"), time, threads)) {
            measure("SQLite", store);
        }
        try (EmbeddedPostgres postgres = EmbeddedPostgres.builder()
                        .setServerConfig("fsync", "on")
                        .setServerConfig("synchronous_commit", "on")
                        .start();
                JdbcStore store = JdbcStore.postgres(
                        "jdbc:postgresql://localhost:" + postgres.getPort() + "/postgres",
                        "postgres",
                        null,
                        "postgres",
                        event -> {})) {
            measure("PostgreSQL", store);
        }
    }

    private void measure(String name, JdbcStore store) {
        store.prepare();
        Job job = Rig.job("job", new Every(Duration.ofSeconds(1)));
        store.register(List.of(job));
        Owner owner = new Owner("bench");
        Completion done = new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, "tail");
        Instant first = store.now().minusSeconds(RUNS);
        List<Double> claims = new ArrayList<>();
        double cleanUp = 0;
        for (int run = 1; run <= RUNS; run++) {
            Slot slot = Slot.at(first.plusSeconds(run));
            long begin = System.nanoTime();
            Start start = store.start(job, slot, owner, new RunId(entropy.uuid()), false);
            claims.add(millisSince(begin));
            store.complete(((Start.Started) start).lease(), done);
            if (run % BETWEEN == 0) {
                begin = System.nanoTime();
                store.pruneTicks("job", first, KEEP, BETWEEN);
                cleanUp = millisSince(begin);
            }
            if (run % (RUNS / 10) == 0) {
                begin = System.nanoTime();
                int listed = store.history("job", 50).size();
                double list = millisSince(begin);
                if (listed != 50) {
                    throw new AssertionError(listed + " are listed");
                }
                claims.sort(null);
                System.out.printf(
                        Locale.ROOT,
                        "| %s | %d | %.2f | %.1f | %.0f | %d |%n",
                        name,
                        run,
                        claims.get(claims.size() / 2),
                        list,
                        cleanUp,
                        store.history("job", RUNS).size());
                claims.clear();
            }
        }
    }

    private static double millisSince(long nanos) {
        return (System.nanoTime() - nanos) / 1e6;
    }
}
