package dev.fencepost.bench;

import dev.fencepost.Store;
import dev.fencepost.bench.Slices.Timed;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Rig;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a claim costs, and what a node asks once a second with nothing due, in stores of different sizes that take turns; by hand:
 * {@code ./mvnw -q test -Dtest=GrowthBench}. A ratio is of the p50 of two slices of one round, to the store of one job without a history.
 */
class GrowthBench {

    private static final int ROUNDS = Integer.getInteger("bench.rounds", 20);
    private static final Duration SLICE = Duration.ofMillis(Long.getLong("bench.slice-millis", 250));
    private static final int TICKS = Integer.getInteger("bench.ticks", 1_000_000);
    private static final int EFFECTS = TICKS / 10;
    private static final Owner OWNER = new Owner("bench");
    private static final Completion SUCCESS =
            new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, "tail");
    private static final Instant NOW = new SystemTime().wallClock();
    private static final String SINK = "sink";

    private static final List<Size> SIZES = List.of(
            new Size("one", 1, 0, 0),
            new Size("hundred", 100, 0, 0),
            new Size("many", 10_000, 0, 0),
            new Size("one_old", 1, TICKS, 0),
            new Size("many_old", 10_000, TICKS, 0),
            new Size("many_pending", 10_000, TICKS, EFFECTS));

    /** As if each tick of the history had been claimed. */
    private static final String LEASES = """
            update lease set fence = 1 + %2$d / %1$d""";

    /** A tick a minute of each job, with its attempt and its event; {@code n} goes by time, as a store grows. */
    private static final String HISTORY = """
            insert into tick (job, slot_key, slot_at, on_time, opened_at, attempts, outcome, ended_at)
                select 'job-' || (n %% %1$d), {key %3$d + n / %1$d * 60}, {at %3$d + n / %1$d * 60}, true,
                    {at %3$d + n / %1$d * 60}, 1, 'SUCCEEDED', {at %3$d + n / %1$d * 60 + 9} from {numbers %2$d};
            insert into attempt (run_id, job, slot_key, number, fence, owner, started_at, ended_at, outcome, exit_code)
                select {uuid}, job, slot_key, 1, 1, 'bench', slot_at, ended_at, outcome, 0 from tick order by slot_at;
            insert into write_event (at, resource, owner, fence, run_id, accepted, reason)
                select ended_at, job, owner, fence, run_id, true, 'DONE' from attempt order by started_at""";

    /** Their sink was down: all wait for another try. */
    private static final String PENDING = """
            insert into effect (key, job, slot_key, name, sink, resource, pair, fence, run_id, digest, announced_at, expires_at,
                    max_age_ms, state, next_at, changed_at, written_at, size)
                select 'pending-' || n, 'job-' || (n %% %1$d), 'slot-' || n, 'e', '%4$s', 'job-' || (n %% %1$d),
                    'sink:%4$s:job-' || (n %% %1$d), 1, {uuid}, 'd', {at %3$d}, {at %3$d + 2592000}, 2592000000, 'PENDING',
                    {at %3$d + 86400}, {at %3$d}, {at %3$d}, 10 from {numbers %2$d}""";

    /** @param name of its database or file */
    private record Size(String name, int jobs, int ticks, int effects) {

        void fill(Connection connection, Fill fill) {
            long now = NOW.getEpochSecond();
            fill.run(connection, LEASES.formatted(jobs, ticks));
            if (ticks > 0) {
                fill.run(connection, HISTORY.formatted(jobs, ticks, now - (1 + ticks / jobs) * 60L));
            }
            if (effects > 0) {
                fill.run(connection, PENDING.formatted(jobs, effects, now, SINK));
            }
        }

        String text() {
            return (jobs == 1 ? "1 job" : jobs + " jobs")
                    + (ticks > 0 ? ", " + ticks + " ticks" : "")
                    + (effects > 0 ? ", " + effects + " effects" : "");
        }
    }

    /** A store of some size, with what is done in it. */
    private static final class Grown implements AutoCloseable {

        private final Size size;
        private final Store store;
        private final List<Job> jobs;
        private final Random random = new Random(8);
        private int slots;

        Grown(Size size, Store store) {
            this.size = size;
            this.store = store;
            this.jobs = IntStream.range(0, size.jobs())
                    .mapToObj(i -> Rig.job("job-" + i, new Every(Duration.ofDays(366))))
                    .toList();
            store.register(jobs);
        }

        private Job any() {
            return jobs.get(random.nextInt(jobs.size()));
        }

        private Lease claim() {
            Slot slot = Slot.at(NOW.plusSeconds(slots++));
            if (store.start(any(), slot, OWNER, new RunId(UUID.randomUUID()), false) instanceof Start.Started started) {
                return started.lease();
            }
            throw new IllegalStateException("refused, though nobody else wants it");
        }

        private void complete(Lease lease) {
            if (!(store.complete(lease, SUCCESS) instanceof Completed.Stored)) {
                throw new IllegalStateException("refused, though nobody else wants it");
            }
        }

        long claimNanos() {
            long began = System.nanoTime();
            Lease lease = claim();
            long claimed = System.nanoTime();
            complete(lease);
            return claimed - began;
        }

        long completionNanos() {
            Lease lease = claim();
            return nanos(() -> complete(lease));
        }

        long ordersNanos() {
            return nanos(store::signal);
        }

        long outboxNanos() {
            return nanos(() -> nothing(store.duePairs(Set.of(SINK), 256)));
        }

        long oldEffectsNanos() {
            return nanos(() -> nothing(store.expire()));
        }

        long situationNanos() {
            String job = any().id();
            return nanos(() -> store.situation(job));
        }

        private static void nothing(List<?> due) {
            if (!due.isEmpty()) {
                throw new IllegalStateException("due: " + due.size());
            }
        }

        private static long nanos(Runnable call) {
            long began = System.nanoTime();
            call.run();
            return System.nanoTime() - began;
        }

        @Override
        public void close() {
            store.close();
        }
    }

    private final Path folder;

    private final Slices slices;

    GrowthBench(@TempDir Path folder) {
        this.folder = folder;
        slices = new Slices(ROUNDS, SLICE, folder);
    }

    @Test
    void onPostgres() throws Exception {
        try (DurablePostgres server = DurablePostgres.start()) {
            measure("PostgreSQL", size -> {
                JdbcStore store = server.newStore(size.name());
                Grown grown = new Grown(size, store);
                try (Connection connection = server.connect(size.name())) {
                    size.fill(connection, Fill.POSTGRES);
                    Script.run(connection, "vacuum analyze", "checkpoint"); // as its autovacuum does
                }
                return grown;
            });
        }
    }

    @Test
    void onSqlite() throws Exception {
        measure("SQLite", size -> {
            Path file = folder.resolve(size.name() + ".db");
            JdbcStore store = JdbcStore.sqlite(file, new SystemTime(), new SystemThreads(event -> {}));
            store.prepare();
            Grown grown = new Grown(size, store);
            try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file + Fill.FAST)) {
                size.fill(connection, Fill.SQLITE);
                Script.run(connection, "pragma wal_checkpoint(truncate)");
            }
            return grown;
        });
    }

    private interface Opening {
        Grown open(Size size) throws Exception;
    }

    private void measure(String name, Opening opening) throws Exception {
        List<Grown> grown = new ArrayList<>();
        try {
            for (Size size : SIZES) {
                grown.add(opening.open(size));
            }
            System.out.println("\n| " + name + " | size | p50 ms | p99 ms | p50 to that of 1 job, quartiles |");
            System.out.println("|---|---|---:|---:|---:|");
            compare("claim", grown, each -> each::claimNanos, Goal.CLAIM_GROWTH);
            compare("completion", grown, each -> each::completionNanos);
            compare("look for orders, each second", grown, each -> each::ordersNanos);
            compare("look at the outbox, each second", grown, each -> each::outboxNanos);
            compare("look for effects that are too old, each 10 s", grown, each -> each::oldEffectsNanos);
            compare("look at one job", grown, each -> each::situationNanos);
        } finally {
            grown.forEach(Grown::close);
        }
    }

    private void compare(String what, List<Grown> grown, Function<Grown, Callable<Long>> work) throws Exception {
        compare(what, grown, work, null);
    }

    private void compare(String what, List<Grown> grown, Function<Grown, Callable<Long>> work, @Nullable Goal goal)
            throws Exception {
        slices.compareTimes(
                what,
                grown.stream()
                        .map(each -> new Timed(each.size.text(), work.apply(each), goal))
                        .toList());
    }
}
