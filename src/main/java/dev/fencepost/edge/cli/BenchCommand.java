package dev.fencepost.edge.cli;

import dev.fencepost.edge.Assembly;
import dev.fencepost.edge.host.Stopwatch;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.host.Spawner.Task;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Action;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs ticks without a command, as fast as the store takes them: each thread has a job of its own. */
@Command(
        description = {
            "Measures claims, renewals and completions on the chosen store.",
            "Each thread has a job of its own, and claims, renews and completes one tick of it after the other: what",
            "a tick costs the store beside its command. Each of the three is a durable write. One second to get warm",
            "is not counted."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost bench",
            "  fencepost bench --threads 32 --seconds 20 --store postgresql://fencepost@localhost/fencepost --json",
            "",
            "Per second: how many of these so many threads get done when they do nothing else; for a cycle, which is",
            "all three, it is what was counted. The rows are deleted at the end. The names of the leases stay, one for",
            "each thread, since a token must never fall. Measures the store beside what else it has to do, and slows",
            "that down."
        })
final class BenchCommand implements Callable<Integer> {

    private static final int MOST_THREADS = 256;
    private static final int MOST_SECONDS = 3_600;
    private static final Duration WARM_UP = Duration.ofSeconds(1);
    private static final Duration TTL = Duration.ofMinutes(10);

    /** A store that does not answer does not hold the command for ever. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static final Completion SUCCESS = new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null);

    @Option(names = "--threads", paramLabel = "N", description = "So many threads, 1 to 256. Else 8.")
    private int threads = 8;

    @Option(names = "--seconds", paramLabel = "N", description = "For so long, 1 to 3600. Else 5.")
    private int seconds = 5;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    BenchCommand(SharedOptions shared) {
        this.shared = shared;
    }

    /** What is measured. */
    private enum Op {
        CLAIM,
        RENEW,
        COMPLETE,
        CYCLE;

        String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    @Override
    public Integer call() throws InterruptedException {
        Bounds.number(spec, "--threads", threads, 1, MOST_THREADS);
        Bounds.number(spec, "--seconds", seconds, 1, MOST_SECONDS);
        try (OpenedStore opened = OpenedStore.prepared(
                shared,
                shared.jobsFileIfAny(),
                new TerseJournal(shared.surroundings().err()))) {
            List<Measured> measured = measure(opened);
            if (shared.json()) {
                Json.print(
                        shared.surroundings().out(),
                        Json.object(
                                "store",
                                opened.store().describe(),
                                "threads",
                                threads,
                                "ops",
                                measured.stream().map(Measured::json).toList()));
            } else {
                print(opened.store().describe(), measured);
            }
        }
        return ExitCode.FINE;
    }

    private List<Measured> measure(OpenedStore opened) throws InterruptedException {
        JdbcStore store = opened.store();
        Assembly assembly = opened.assembly();
        String prefix = "bench-" + assembly.entropy().uuid().toString().substring(0, 8) + "-";
        List<Cycles> all = new ArrayList<>();
        List<Task> tasks = new ArrayList<>();
        try {
            for (int i = 1; i <= threads; i++) {
                Cycles cycles = new Cycles(
                        store,
                        job(prefix + i),
                        () -> new RunId(assembly.entropy().uuid()));
                all.add(cycles);
                tasks.add(assembly.spawner().virtualThread("bench-" + i, cycles));
            }
            for (Task task : tasks) {
                if (!task.join(WARM_UP.plusSeconds(seconds).plus(PATIENCE))) {
                    throw new CommandFailure(
                            ExitCode.STORE_UNAVAILABLE,
                            store.describe() + " did not answer for " + PATIENCE.toSeconds() + " s");
                }
            }
            for (Cycles cycles : all) {
                cycles.throwFailure();
            }
            return Arrays.stream(Op.values()).map(op -> of(op, all)).toList();
        } finally {
            DemoCommand.Workers.cleanUp(all, cycles -> store.benchRows().delete(cycles.job.id()));
        }
    }

    private static Job job(String id) {
        return new Job(
                id,
                new Every(Duration.ofSeconds(1)),
                ZoneOffset.UTC,
                new Action.Command(List.of("true"), null, Map.of(), null, null),
                Set.of(),
                TTL,
                null,
                Duration.ofSeconds(1),
                CatchUp.DEFAULT,
                null,
                1,
                null,
                List.of());
    }

    /** One thread's ticks. */
    private final class Cycles implements Runnable {
        private final JdbcStore store;
        private final Job job;
        private final Supplier<RunId> runIds;
        private final Owner owner;
        private final Map<Op, Latencies> latencies = new EnumMap<>(Op.class);
        private final AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();

        Cycles(JdbcStore store, Job job, Supplier<RunId> runIds) {
            this.store = store;
            this.job = job;
            this.runIds = runIds;
            this.owner = new Owner(job.id());
        }

        @Override
        public void run() {
            try {
                Instant slot = store.now().truncatedTo(ChronoUnit.SECONDS);
                Stopwatch watch = Stopwatch.start();
                for (long tick = 0; watch.elapsed().compareTo(WARM_UP) < 0; tick++) {
                    cycle(slot.minusSeconds(tick + 1), false);
                }
                Stopwatch counted = Stopwatch.start();
                for (long tick = 0; counted.elapsed().toSeconds() < seconds; tick++) {
                    cycle(slot.plusSeconds(tick), true);
                }
            } catch (StoreException | CommandFailure e) {
                failure.set(e);
            }
        }

        private void cycle(Instant slot, boolean counts) {
            Stopwatch whole = Stopwatch.start();
            Stopwatch watch = Stopwatch.start();
            if (!(store.start(job, Slot.at(slot), owner, runIds.get(), false) instanceof Start.Started started)) {
                throw new CommandFailure(
                        ExitCode.FAILED, "a claim of " + job.id() + " was refused, though its name is new");
            }
            Duration claim = watch.elapsed();
            Lease lease = started.lease();
            watch = Stopwatch.start();
            boolean renewed = store.renew(lease, TTL) instanceof Renewal.Renewed;
            Duration renew = watch.elapsed();
            watch = Stopwatch.start();
            boolean stored = store.complete(lease, SUCCESS) instanceof Completed.Stored;
            if (!renewed || !stored) {
                throw new CommandFailure(
                        ExitCode.FAILED, "a lease of " + job.id() + " was lost: somebody took it over or broke it");
            }
            if (counts) {
                note(Op.CLAIM, claim);
                note(Op.RENEW, renew);
                note(Op.COMPLETE, watch.elapsed());
                note(Op.CYCLE, whole.elapsed());
            }
        }

        private void note(Op op, Duration took) {
            latencies(op).add(took.toNanos());
        }

        Latencies latencies(Op op) {
            return latencies.computeIfAbsent(op, key -> new Latencies());
        }

        void throwFailure() {
            RuntimeException e = failure.get();
            if (e != null) {
                throw e;
            }
        }
    }

    /** Nanoseconds, one after the other. */
    private static final class Latencies {
        private long[] nanos = new long[1_024];
        private int count;

        void add(long took) {
            if (count == nanos.length) {
                nanos = Arrays.copyOf(nanos, count * 2);
            }
            nanos[count++] = took;
        }

        long[] toArray() {
            return Arrays.copyOf(nanos, count);
        }
    }

    private Measured of(Op op, List<Cycles> all) {
        long[] nanos = all.stream()
                .flatMapToLong(cycles -> Arrays.stream(cycles.latencies(op).toArray()))
                .sorted()
                .toArray();
        double busySeconds = Arrays.stream(nanos).sum() / 1e9 / threads;
        return new Measured(
                op,
                busySeconds == 0 ? 0 : Math.round(nanos.length / busySeconds),
                quantile(nanos, 0.5),
                quantile(nanos, 0.99),
                quantile(nanos, 0.999));
    }

    /** In milliseconds, with three digits after the point. */
    private static double quantile(long[] sorted, double quantile) {
        if (sorted.length == 0) {
            return 0;
        }
        int rank = (int) Math.ceil(quantile * sorted.length) - 1;
        return Math.round(sorted[Math.max(rank, 0)] / 1e3) / 1e3;
    }

    private record Measured(Op op, long perSecond, double p50, double p99, double p999) {

        Map<String, @Nullable Object> json() {
            return Json.object("op", op.text(), "per_second", perSecond, "p50_ms", p50, "p99_ms", p99, "p999_ms", p999);
        }
    }

    private void print(String store, List<Measured> measured) {
        PrintWriter out = shared.surroundings().out();
        out.println(threads + (threads == 1 ? " thread" : " threads") + " on " + store + ", " + seconds + " s");
        out.println();
        TextTable table = new TextTable("", ">PER SECOND", ">P50 ms", ">P99 ms", ">P99.9 ms");
        for (Measured each : measured) {
            table.row(
                    each.op.text(),
                    String.valueOf(each.perSecond),
                    String.valueOf(each.p50),
                    String.valueOf(each.p99),
                    String.valueOf(each.p999));
        }
        table.print(out);
    }
}
