package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.history.Checker;
import dev.fencepost.history.Figures;
import dev.fencepost.history.History;
import dev.fencepost.history.HistoryFile;
import dev.fencepost.history.Line;
import dev.fencepost.history.Violation;
import dev.fencepost.store.Postgres;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * S2: holders are stopped with SIGSTOP past the ends of their leases, others take over and complete, the first ones wake and try
 * everything that a holder can do: nothing of it is accepted, neither by the store nor by a receiver that checks. {@code -Dchaos.rounds} is
 * how often, {@code -Dchaos.holders} how many of them at once.
 */
@Tag("faults")
class StaleHolderIT {

    private static final int ROUNDS = Integer.getInteger("chaos.rounds", 40);
    private static final int HOLDERS = Integer.getInteger("chaos.holders", 6);
    private static final long SEED = Long.getLong("chaos.seed", System.nanoTime() % 1_000_000);

    /** Longer than the lease, but shorter than the time after which PostgreSQL ends a session that stands still in a transaction. */
    private static final Duration PATIENCE = StaleHolderMain.TTL.plusSeconds(3);

    private static final Duration LONG = Duration.ofSeconds(60);

    private Path folder;

    /** A process of {@link StaleHolderMain}. */
    private final class Worker implements AutoCloseable {
        private final Process process;
        private final PrintStream in;
        private final BlockingQueue<String> said = new LinkedBlockingQueue<>();
        private final Path errors;

        Worker(String store, String name, Sinks sinks, Path histories) throws IOException {
            errors = folder.resolve(name + ".err");
            process = new ProcessBuilder(
                            ProcessHandle.current().info().command().orElseThrow(),
                            "--enable-native-access=ALL-UNNAMED",
                            "-XX:TieredStopAtLevel=1",
                            "-XX:+UseSerialGC",
                            "-Xmx64m",
                            "-cp",
                            System.getProperty("java.class.path"),
                            StaleHolderMain.class.getName(),
                            store,
                            UUID.randomUUID().toString(),
                            name,
                            histories.toString(),
                            sinks.url(Sinks.CHECKED),
                            String.valueOf(HOLDERS))
                    .redirectError(errors.toFile())
                    .start();
            in = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
            BufferedReader out =
                    new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            Thread.ofVirtual().start(() -> out.lines().forEach(said::add));
        }

        void order(String line) {
            in.println(line);
        }

        /** Whether this line comes within the time. Lines for others are left to them. */
        boolean says(String line, Duration limit) throws InterruptedException, IOException {
            long end = System.nanoTime() + limit.toNanos();
            while (System.nanoTime() < end) {
                if (said.remove(line)) {
                    return true;
                }
                if (said.stream().anyMatch(text -> text.startsWith("broken")) || !process.isAlive()) {
                    throw new AssertionError(said + "\n" + Files.readString(errors));
                }
                Wait.sleep(Duration.ofMillis(10));
            }
            return false;
        }

        void await(String line) throws InterruptedException, IOException {
            assertTrue(says(line, LONG), () -> "never said: " + line + "; it said: " + said);
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "postgresql"})
    void nothingOfAHolderThatWasStoppedPastItsLeaseIsAccepted(String kind) throws Exception {
        folder = Evidence.newFolder("stale-" + kind);
        Postgres.Database database = kind.equals("sqlite") ? null : Postgres.newDatabase();
        Path file = folder.resolve("store.db");
        String store = database == null
                ? file.toString()
                : "jdbc:postgresql://127.0.0.1:" + database.port() + "/" + database.name();
        Path histories = folder.resolve("histories");
        List<Worker> workers = new ArrayList<>();
        AtomicInteger frozenInside = new AtomicInteger();
        try (HistoryFile driver = new HistoryFile(histories, "driver");
                Sinks sinks = new Sinks(histories);
                ExecutorService threads = Executors.newCachedThreadPool()) {
            driver.write("clock", "wall", System.currentTimeMillis());
            driver.write("sink", "sink", Sinks.CHECKED, "checks", true);
            try {
                Worker rival = new Worker(store, "rival", sinks, histories);
                workers.add(rival);
                rival.await("ready");
                List<Worker> holders = new ArrayList<>();
                for (int i = 0; i < HOLDERS; i++) {
                    holders.add(new Worker(store, "holder-" + i, sinks, histories));
                    workers.add(holders.getLast());
                }
                AtomicInteger left = new AtomicInteger(ROUNDS);
                List<Future<?>> running = new ArrayList<>();
                for (int i = 0; i < HOLDERS; i++) {
                    int number = i;
                    Random random = new Random(SEED + i);
                    running.add(threads.submit(() -> {
                        Worker holder = holders.get(number);
                        holder.await("ready");
                        for (int round = 0; left.getAndDecrement() > 0; round++) {
                            if (!holds(holder, rival, number, round, random, driver)) {
                                frozenInside.incrementAndGet();
                                left.incrementAndGet();
                            }
                        }
                        return null;
                    }));
                }
                for (Future<?> each : running) {
                    each.get();
                }
            } finally {
                workers.forEach(Worker::close);
            }
            (database == null ? Rows.of(file) : Rows.of(database)).dump("main", driver);
        }
        judge(kind, histories, frozenInside.get());
    }

    /** One round. Returns whether the other one could take over meanwhile: a holder that is frozen inside of a transaction bars it. */
    private static boolean holds(Worker holder, Worker rival, int number, int round, Random random, HistoryFile driver)
            throws Exception {
        long pid = holder.process.pid();
        holder.order("hold " + number + " " + round);
        holder.await("held " + round);
        TimeUnit.MILLISECONDS.sleep(random.nextInt(300)); // so that it is caught in the middle of anything
        driver.write("stop", "pid", pid);
        Processes.signal(pid, "STOP");
        rival.order("take " + number + " " + round);
        String tryAll = "try " + number + " " + round;
        boolean taken = rival.says("taken " + number + " " + round, PATIENCE);
        if (taken) {
            holder.order(tryAll); // so that it tries them the moment it wakes
        }
        Processes.signal(pid, "CONT");
        driver.write("cont", "pid", pid);
        if (!taken) {
            rival.await("taken " + number + " " + round);
            holder.order(tryAll);
        }
        holder.await("tried " + round);
        return taken;
    }

    private static void judge(String kind, Path histories, int frozenInside) {
        History history = History.read(histories);
        List<Violation> violations = Checker.check(history);
        String page =
                Figures.of(history, "stale holders on " + kind + ": " + ROUNDS + " rounds, seed " + SEED, violations)
                        + "Further rounds in which the holder was frozen inside of a transaction, so that nobody could take over: "
                        + frozenInside + "\n";
        Evidence.table("stale-" + kind, page);
        List<Line> stale = history.all("answer").stream()
                .filter(answer -> answer.json().path("stale").asBoolean())
                .toList();
        assertEquals(
                List.of(),
                stale.stream()
                        .filter(answer -> answer.json().path("accepted").asBoolean())
                        .toList());
        assertTrue(stale.size() >= ROUNDS * 13, () -> "so many were tried: " + stale.size());
        assertEquals(0, violations.size(), () -> Checker.words(violations));
    }
}
