package dev.fencepost.bench;

import dev.fencepost.faults.ServeProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The built program with ten thousand jobs and nothing due, and in the same minutes the same with one job, on both stores; by hand:
 * {@code ./mvnw -q package -DskipTests && ./mvnw -q surefire:test -Dtest=IdleBench}.
 */
class IdleBench {

    private static final List<Integer> JOBS = Stream.of(
                    System.getProperty("bench.jobs", "1,10000").split(","))
            .map(Integer::valueOf)
            .toList();

    /** Beside the launcher's own, whose limit of the heap has to do. */
    private static final String JAVA_OPTS = System.getProperty("bench.java-opts", "");

    private static final Duration SETTLING = Duration.ofSeconds(Integer.getInteger("bench.settle-seconds", 90));
    private static final Duration MEASURED = Duration.ofSeconds(Integer.getInteger("bench.seconds", 180));
    private static final Duration START_LIMIT = Duration.ofMinutes(5);

    @TempDir
    private Path folder;

    @BeforeAll
    static void header() {
        Assumptions.assumeTrue(
                Files.isExecutable(ServeProcess.PROGRAM),
                () -> ServeProcess.PROGRAM + " is not there: ./mvnw -q package -DskipTests");
        System.out.println(
                "| store | jobs | to ready, s | CPU, % of a core | of the database, % of a core | RSS, MB | threads |");
        System.out.println("|---|---:|---:|---:|---:|---:|---:|");
    }

    @Test
    void nothingDue() throws Exception {
        List<AutoCloseable> opened = new ArrayList<>();
        List<Idle> all = new ArrayList<>();
        try {
            for (int jobs : JOBS) {
                Idle onSqlite = new Idle("SQLite", jobs, "sqlite:store.db", null);
                opened.add(onSqlite);
                DurablePostgres server = DurablePostgres.start();
                opened.add(server);
                Idle onPostgres =
                        new Idle("PostgreSQL", jobs, server.programUrl(DurablePostgres.DATABASE), server.pid());
                opened.add(onPostgres);
                all.addAll(List.of(onSqlite, onPostgres));
            }
            Thread.sleep(SETTLING); // the first looks, and what the JVM does once
            for (Idle each : all) {
                each.begin();
            }
            Thread.sleep(MEASURED); // processor time is counted over so long
            for (Idle each : all) {
                each.end();
            }
        } finally {
            for (AutoCloseable each : opened.reversed()) {
                each.close();
            }
        }
    }

    /** The program with so many jobs, ready. */
    private final class Idle implements AutoCloseable {

        private final String store;
        private final int jobs;
        private final @Nullable Long server;
        private final ServeProcess program;
        private final double readyAfter;
        private double began;
        private double spent;
        private double spentByServer;

        Idle(String store, int jobs, String url, @Nullable Long server) throws Exception {
            this.store = store;
            this.jobs = jobs;
            this.server = server;
            Path own = Files.createDirectory(folder.resolve(store + "-" + jobs));
            Path file = Files.writeString(
                    own.resolve("fencepost.yaml"),
                    IntStream.range(0, jobs)
                            .mapToObj(i -> "  job-" + i + ": { cron: \"0 0 29 2 *\", command: [\"true\"] }\n")
                            .collect(Collectors.joining("", "store: " + url + "\njobs:\n", "")));
            long start = System.nanoTime();
            program = ServeProcess.start(
                    own,
                    own.resolve("state"),
                    ServeProcess.freePort(),
                    Map.of("FENCEPOST_JAVA_OPTS", JAVA_OPTS),
                    "--config",
                    file.toString());
            awaitReady(start + START_LIMIT.toNanos());
            readyAfter = (System.nanoTime() - start) / 1e9;
        }

        private void awaitReady(long limit) throws InterruptedException {
            while (program.get("/q/health/ready").code() != 200) {
                if (!program.isAlive() || System.nanoTime() > limit) {
                    program.close();
                    throw new IllegalStateException("not ready with " + jobs + " jobs: " + program.said());
                }
                Thread.sleep(20); // another process cannot call us
            }
        }

        void begin() throws IOException {
            spent = spent();
            spentByServer = spentByServer();
            began = System.nanoTime() / 1e9;
        }

        void end() throws IOException {
            double seconds = System.nanoTime() / 1e9 - began;
            double percent = 100 * (spent() - spent) / seconds;
            System.out.printf(
                    Locale.ROOT,
                    "| %s | %d | %.1f | %.2f | %.2f | %d | %d |%n",
                    store,
                    jobs,
                    readyAfter,
                    percent,
                    100 * (spentByServer() - spentByServer) / seconds,
                    status("VmRSS") * 1_024 / 1_000_000,
                    status("Threads"));
            Goal.IDLE.print(store + ", " + jobs + " jobs", percent);
        }

        private double spent() throws IOException {
            if (!program.isAlive()) {
                throw new IllegalStateException("ended with " + jobs + " jobs on " + store + ": " + program.said());
            }
            return ticks(program.pid(), 2) / 100.0;
        }

        /** Of its living processes, and of those that it has waited for. */
        private double spentByServer() throws IOException {
            if (server == null) {
                return 0;
            }
            long ticks = ticks(server, 4);
            for (ProcessHandle child :
                    ProcessHandle.of(server).orElseThrow().children().toList()) {
                ticks += ticks(child.pid(), 2);
            }
            return ticks / 100.0;
        }

        /** @param fields 2 for utime and stime, 4 for those of ended children too; in hundredths of a second, as everywhere on Linux */
        private static long ticks(long pid, int fields) throws IOException {
            String stat = Files.readString(Path.of("/proc", String.valueOf(pid), "stat"));
            List<String> afterName =
                    List.of(stat.substring(stat.lastIndexOf(')') + 2).split(" "));
            return afterName.subList(11, 11 + fields).stream()
                    .mapToLong(Long::parseLong)
                    .sum();
        }

        private long status(String key) throws IOException {
            return Files.readAllLines(Path.of("/proc", String.valueOf(program.pid()), "status")).stream()
                    .filter(line -> line.startsWith(key + ":"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                    .findFirst()
                    .orElseThrow();
        }

        @Override
        public void close() {
            program.close();
        }
    }
}
