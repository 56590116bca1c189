package dev.fencepost.bench;

import dev.fencepost.Store;
import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.process.GuardedChildren;
import dev.fencepost.edge.process.OsChildren;
import dev.fencepost.edge.process.RunFolders;
import dev.fencepost.lease.DeadlineWatch;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.run.Job;
import dev.fencepost.run.Notices;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Publications;
import dev.fencepost.run.Rig;
import dev.fencepost.run.Runner;
import dev.fencepost.run.Runner.Result;
import dev.fencepost.run.StopRequest;
import dev.fencepost.schedule.Slot;
import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.DoubleBinaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a tick adds to its child; by hand: {@code ./mvnw -q test -Dtest=TickBench}. Whoever is compared has one turn in each round, and
 * differences and ratios are taken within a round.
 *
 * <p>The child tells by its own clock reading when it began and ended, so that what stands between it and the runner counts: the programs
 * of the guard, and of its end the small shell that waits for it. The clock is the host's wall clock for both.
 */
class TickBench {

    private static final int ROUNDS = Integer.getInteger("bench.rounds", 300);
    private static final int WARM_UP = Integer.getInteger("bench.warm-up", 100);
    private static final List<String> GUARDS = List.of("namespace", "parent-death");
    private static final long LOG_LIMIT = 16L << 20;

    private static final String COMMIT = "one bare commit";
    private static final String BARE_START = "start, bare";
    private static final String BARE_END = "end, bare: exit known";
    private static final String BARE_TRUE = "true, bare";
    private static final String FLOCK = "true, flock -n";

    /** In milliseconds since the epoch. */
    private record Span(double began, double ended) {

        double length() {
            return ended - began;
        }
    }

    @TempDir
    private Path folder;

    private final SystemTime time = new SystemTime();
    private final SystemThreads threads = new SystemThreads(event -> {});
    private final ExecutorService virtual = Executors.newVirtualThreadPerTaskExecutor();
    private final Map<String, Span> calls = new ConcurrentHashMap<>();
    private final Map<String, List<Double>> measured = new LinkedHashMap<>();
    private long slots;

    @AfterEach
    void end() {
        virtual.shutdownNow();
    }

    @Test
    void onSqlite() throws Exception {
        try (JdbcStore store = JdbcStore.sqlite(folder.resolve("store.db"), time, threads);
                BareCommit commit = BareCommit.sqlite(folder.resolve("bare.db"))) {
            measure("SQLite", store, commit);
        }
    }

    @Test
    void onPostgres() throws Exception {
        try (DurablePostgres server = DurablePostgres.start();
                JdbcStore store = server.store(DurablePostgres.DATABASE);
                BareCommit commit = BareCommit.postgres(server)) {
            measure("PostgreSQL", store, commit);
        }
    }

    private void measure(String name, JdbcStore store, BareCommit commit) throws Exception {
        store.prepare();
        Path stamps = folder.resolve("stamps");
        List<String> stamping = List.of(
                "bash", "-c", "began=$EPOCHREALTIME; echo \"$began $EPOCHREALTIME\" >\"$0\"", stamps.toString());
        List<String> nothing = List.of("true");
        List<Callable<Void>> turns = new ArrayList<>();
        for (String guard : GUARDS) {
            Runner runner = runner(guard, watched(store));
            turns.add(() -> {
                Span run = ours(runner, Rig.job("stamping", stamping));
                Span child = child(stamps);
                Span claim = calls.get("start");
                Span complete = calls.get("complete");
                add("start, " + guard, child.began() - run.began());
                add("start, " + guard + ": claim alone", claim.length());
                add("start, " + guard + ": without the claim", child.began() - run.began() - claim.length());
                add("end, " + guard + ": end stored", complete.ended() - child.ended());
                add("end, " + guard + ": until the store is asked", complete.began() - child.ended());
                add("end, " + guard + ": completion alone", complete.length());
                return null;
            });
            turns.add(() -> {
                add("true, " + guard, ours(runner, Rig.job("nothing", nothing)).length());
                return null;
            });
        }
        turns.add(() -> {
            Span process = bare(stamping);
            Span child = child(stamps);
            add(BARE_START, child.began() - process.began());
            add(BARE_END, process.ended() - child.ended());
            return null;
        });
        turns.add(() -> {
            add(BARE_TRUE, bare(nothing).length());
            return null;
        });
        Path lock = Files.createFile(folder.resolve("lock"));
        turns.add(() -> {
            add(FLOCK, bare(List.of("flock", "-n", lock.toString(), "true")).length());
            return null;
        });
        turns.add(() -> {
            double began = now();
            commit.run();
            add(COMMIT, now() - began);
            return null;
        });
        virtual.submit(() -> takeTurns(turns)).get(); // as the service runs a tick
        print(name);
    }

    private Void takeTurns(List<Callable<Void>> turns) throws Exception {
        List<Double> syncs = new ArrayList<>();
        for (int round = 0; round < WARM_UP + ROUNDS; round++) {
            if (round == WARM_UP) {
                measured.clear();
                syncs.clear();
            }
            syncs.add(Slices.syncMicros(folder));
            for (int turn = 0; turn < turns.size(); turn++) {
                turns.get((turn + round) % turns.size()).call();
            }
        }
        System.out.println("one write of 8 KiB with fsync, µs: " + Slices.quartiles(syncs));
        return null;
    }

    private Runner runner(String guard, Store store) {
        SystemEntropy entropy = new SystemEntropy();
        Incarnation self = OsChildren.thisIncarnation("11111111-2222-3333-4444-555555555555", time, entropy);
        OsChildren children = GuardedChildren.under(guard, System.getenv(), self, time, threads, event -> {});
        System.out.println(guard + ": " + children.guard());
        DeadlineWatch watch = new DeadlineWatch(time);
        threads.platformThread("deadlines", watch);
        return new Runner(
                store,
                store,
                children,
                (call, headers, files, secrets) -> {
                    throw new AssertionError("no job calls anybody");
                },
                new RunFolders(folder.resolve("runs")),
                Publications.NONE,
                watch,
                time,
                threads,
                entropy,
                event -> {},
                Notices.NONE,
                self.owner(),
                LOG_LIMIT);
    }

    /** The store, which notes when a call to it began and ended. */
    private Store watched(Store store) {
        return (Store) Proxy.newProxyInstance(
                Store.class.getClassLoader(), new Class<?>[] {Store.class}, (proxy, method, arguments) -> {
                    double began = now();
                    try {
                        return method.invoke(store, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    } finally {
                        calls.put(method.getName(), new Span(began, now()));
                    }
                });
    }

    private Span ours(Runner runner, Job job) throws InterruptedException {
        Slot slot = Slot.at(Instant.EPOCH.plusSeconds(++slots));
        double began = now();
        Result result = runner.run(job, slot, runner.newRunId(), new StopRequest(), false, files -> {});
        double ended = now();
        if (!(result instanceof Result.Ended done) || done.outcome() != Outcome.SUCCEEDED || done.refused() != null) {
            throw new IllegalStateException("not a run that went well: " + result);
        }
        return new Span(began, ended);
    }

    /** With the same redirections as ours has. */
    private static Span bare(List<String> words) throws IOException, InterruptedException {
        double began = now();
        Process process = new ProcessBuilder(words)
                .redirectInput(Redirect.from(new File("/dev/null")))
                .start();
        int code = process.waitFor();
        double ended = now();
        process.getInputStream().close();
        process.getErrorStream().close();
        if (code != 0) {
            throw new IllegalStateException(words + " ended with " + code);
        }
        return new Span(began, ended);
    }

    /** When the child ran, by its own words. */
    private static Span child(Path stamps) throws IOException {
        String[] micros =
                Files.readString(stamps).strip().replaceAll("[^0-9 ]", "").split(" ", -1);
        Files.delete(stamps);
        return new Span(Long.parseLong(micros[0]) / 1e3, Long.parseLong(micros[1]) / 1e3);
    }

    private static double now() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1e3 + now.getNano() / 1e6;
    }

    private void add(String what, double millis) {
        measured.computeIfAbsent(what, w -> new ArrayList<>()).add(millis);
    }

    private void print(String store) {
        System.out.println(
                "| " + store + " | p50 ms | p99 ms | beside | more, p50 ms | more, p99 ms | ratio, quartiles |");
        System.out.println("|---|---:|---:|---|---:|---:|---:|");
        for (String what : measured.keySet().stream().sorted().toList()) {
            List<String> beside = switch (what.substring(0, what.indexOf(' '))) {
                case "start," -> List.of(BARE_START);
                case "end," -> List.of(BARE_END, COMMIT);
                case "true," -> List.of(BARE_TRUE, FLOCK);
                default -> List.of(COMMIT);
            };
            beside.forEach(other -> print(what, other));
        }
        for (String guard : GUARDS) {
            List<Double> more = more("start, " + guard, BARE_START);
            Goal.START_P50.print(store + ", " + guard, Slices.quantile(more, 0.5));
            Goal.START_P99.print(store + ", " + guard, Slices.quantile(more, 0.99));
            Goal.END.print(
                    store + ", " + guard, Slices.quantile(ratios("end, " + guard + ": end stored", COMMIT), 0.5));
        }
    }

    private List<Double> measured(String what) {
        return measured.getOrDefault(what, List.of());
    }

    private List<Double> more(String what, String beside) {
        return byRound(what, beside, (ours, theirs) -> ours - theirs);
    }

    private List<Double> ratios(String what, String beside) {
        return byRound(what, beside, (ours, theirs) -> ours / theirs);
    }

    private List<Double> byRound(String what, String beside, DoubleBinaryOperator compared) {
        List<Double> ours = measured(what);
        List<Double> theirs = measured(beside);
        return IntStream.range(0, ours.size())
                .mapToObj(i -> compared.applyAsDouble(ours.get(i), theirs.get(i)))
                .toList();
    }

    private void print(String what, String beside) {
        List<Double> ours = measured(what);
        if (what.equals(beside)) {
            System.out.printf(
                    Locale.ROOT,
                    "| %s | %.2f | %.2f | | | | |%n",
                    what,
                    Slices.quantile(ours, 0.5),
                    Slices.quantile(ours, 0.99));
            return;
        }
        List<Double> more = more(what, beside);
        System.out.printf(
                Locale.ROOT,
                "| %s | %.2f | %.2f | %s | %.2f | %.2f | %s |%n",
                what,
                Slices.quantile(ours, 0.5),
                Slices.quantile(ours, 0.99),
                beside,
                Slices.quantile(more, 0.5),
                Slices.quantile(more, 0.99),
                Slices.quartiles(ratios(what, beside)));
    }
}
