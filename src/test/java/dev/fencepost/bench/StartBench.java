package dev.fencepost.bench;

import dev.fencepost.faults.ServeProcess;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * How long the built program takes to start, and what it takes while idle. Processor time tells more than the clock where there is other
 * work on the machine. By hand: {@code ./mvnw -q package -DskipTests} and then
 * {@code ./mvnw -q test -Dtest=StartBench}. Whoever is compared takes turns.
 */
class StartBench {

    private static final int STARTS = Integer.getInteger("bench.starts", 7);
    private static final int IDLE_STARTS = Integer.getInteger("bench.idle-starts", 3);
    private static final int COMMANDS = Integer.getInteger("bench.commands", 15);
    private static final Duration SETTLING = Duration.ofSeconds(3);
    private static final Duration IDLE = Duration.ofSeconds(20);
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final double TICKS_PER_SECOND = 100; // of the kernel's accounting, on every Linux of today

    @TempDir
    private Path folder;

    private final Map<String, List<Double>> measured = new LinkedHashMap<>();
    private int services;

    @BeforeEach
    void needsTheProgram() {
        Assumptions.assumeTrue(
                Files.isExecutable(ServeProcess.PROGRAM),
                ServeProcess.PROGRAM + " is not there: ./mvnw -q package -DskipTests makes it");
    }

    @Test
    void service() throws Exception {
        Map<String, Path> programs = new LinkedHashMap<>();
        programs.put("with the cache", ServeProcess.PROGRAM);
        programs.put("without", withoutCache());
        for (int start = 0; start <= STARTS; start++) {
            for (Map.Entry<String, Path> program : programs.entrySet()) {
                start(program.getKey(), program.getValue());
            }
            forgetTheFirst(start);
        }
        for (int start = 0; start < IDLE_STARTS; start++) {
            for (Map.Entry<String, Path> program : programs.entrySet()) {
                idle(program.getKey(), program.getValue());
            }
        }
        print();
        Goal.READY.print("with the cache", median("to ready, with the cache, ms"));
        Goal.READY.print("with the cache, new store", median("to ready, with the cache, new store, ms"));
        Goal.MEMORY.print("with the cache", median("idle, with the cache, RSS, MiB") * (1 << 20) / 1e6);
    }

    @Test
    void commands() throws Exception {
        String state = folder.resolve("state").toString();
        try (Service service = new Service(ServeProcess.PROGRAM, "1s", folder.resolve("state"))) {
            service.awaitReady();
        }
        String program = ServeProcess.PROGRAM.toString();
        Map<String, List<String>> commands = new LinkedHashMap<>();
        commands.put("java -version", List.of(java(), "-version"));
        commands.put("--help", List.of(program, "--help"));
        commands.put("--version", List.of(program, "--version"));
        commands.put("status", List.of(program, "status", "--state-dir", state));
        for (int turn = 0; turn <= COMMANDS; turn++) {
            for (Map.Entry<String, List<String>> command : commands.entrySet()) {
                time(command.getKey(), command.getValue());
            }
            forgetTheFirst(turn);
        }
        print();
        String beside = String.format(Locale.ROOT, "java -version %.0f ms", median("java -version, ms"));
        Goal.HELP.print(beside, median("--help, ms"));
        Goal.STATUS.print(beside, median("status, ms"));
    }

    /** By the shell's own clock, which knows the processor time of what it has waited for. */
    private void time(String name, List<String> words) throws IOException, InterruptedException {
        List<String> timed =
                new ArrayList<>(List.of("bash", "-c", "TIMEFORMAT='%3R %3U %3S'; time \"$@\" >/dev/null", "bash"));
        timed.addAll(words);
        Process process = process(timed);
        int code = process.waitFor();
        String said = Files.readString(folder.resolve("said"));
        if (code != 0) {
            throw new IllegalStateException(words + " ended with " + code + ": " + said);
        }
        String[] seconds =
                said.strip().substring(said.strip().lastIndexOf('\n') + 1).split(" ", -1);
        add(name + ", ms", Double.parseDouble(seconds[0]) * 1e3);
        add(name + ", of the processor, ms", (Double.parseDouble(seconds[1]) + Double.parseDouble(seconds[2])) * 1e3);
    }

    private void forgetTheFirst(int turn) {
        if (turn == 0) {
            measured.clear(); // of files that nobody has read since they were written
        }
    }

    /** The program as it is where the build has made no cache, or the cache fits no more. */
    private Path withoutCache() throws IOException, InterruptedException {
        Path copy = Files.createDirectory(folder.resolve("program"));
        Path app = ServeProcess.PROGRAM.resolveSibling("quarkus-app");
        Process cp = process(List.of("cp", "-a", ServeProcess.PROGRAM.toString(), app.toString(), copy.toString()));
        if (cp.waitFor() != 0) {
            throw new IOException("the program cannot be copied");
        }
        Files.deleteIfExists(copy.resolve("quarkus-app/fencepost.aot"));
        return copy.resolve("fencepost");
    }

    private static String java() {
        return Path.of(System.getProperty("java.home"), "bin", "java").toString();
    }

    private Process process(List<String> words) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(words)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("said").toFile())
                .redirectInput(Redirect.from(Path.of("/dev/null").toFile()));
        builder.environment().keySet().removeIf(name -> name.startsWith("FENCEPOST_") || name.startsWith("QUARKUS_"));
        builder.environment().put("LC_ALL", "C.UTF-8"); // a point in the shell's numbers
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
        return builder.start();
    }

    /** For the first time, which makes its store, and once more. */
    private void start(String name, Path program) throws Exception {
        Path state = folder.resolve("state-" + ++services);
        try (Service service = new Service(program, "1s", state)) {
            addReady(name + ", new store", service);
            await(() -> Files.exists(service.ran));
            add("to the first tick of every: 1s, " + name + ", new store, ms", millisSince(service.began));
        }
        try (Service service = new Service(program, "1s", state)) {
            addReady(name, service);
        }
    }

    private void addReady(String name, Service service) throws Exception {
        service.awaitReady();
        add("to ready, " + name + ", ms", millisSince(service.began));
        add("to ready, " + name + ", of the processor, ms", service.processorSeconds() * 1e3);
    }

    private void idle(String name, Path program) throws Exception {
        try (Service service = new Service(program, "24h", folder.resolve("state-" + ++services))) {
            service.awaitReady();
            Thread.sleep(SETTLING); // what the start has begun comes to its end
            Map<String, Long> memory = service.memory();
            long rss = memory.getOrDefault("Rss", 0L);
            long own = memory.getOrDefault("Anonymous", 0L);
            add("idle, " + name + ", RSS, MiB", rss / 1024.0);
            add("idle, " + name + ", of it its own, MiB", own / 1024.0);
            add("idle, " + name + ", of it pages of files, MiB", (rss - own) / 1024.0);
            double before = service.processorSeconds();
            Thread.sleep(IDLE); // the time in which nothing is to do
            add(
                    "idle, " + name + ", processor, % of a core",
                    (service.processorSeconds() - before) / IDLE.toSeconds() * 100);
        }
    }

    /** A service with a store of its own and one job, which leaves a file when it has run. */
    private final class Service implements AutoCloseable {
        final Path ran;
        final long began;
        private final int port = ServeProcess.freePort();
        private final Process process;

        Service(Path program, String every, Path state) throws IOException {
            Files.createDirectories(state);
            ran = state.resolve("ran");
            Path config = Files.writeString(
                    state.resolve("fencepost.yaml"),
                    "jobs:\n  job:\n    every: " + every + "\n    command: [touch, \"" + ran + "\"]\n");
            began = System.nanoTime();
            process = process(List.of(
                    program.toString(),
                    "serve",
                    "--config",
                    config.toString(),
                    "--state-dir",
                    state.toString(),
                    "--port",
                    "" + port));
        }

        void awaitReady() throws Exception {
            await(() -> {
                if (!process.isAlive()) {
                    throw new IllegalStateException("the service ended: " + Files.readString(folder.resolve("said")));
                }
                return isReady();
            });
        }

        private boolean isReady() {
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                socket.setSoTimeout((int) LIMIT.toMillis());
                socket.getOutputStream()
                        .write("GET /q/health/ready HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                String status = new String(socket.getInputStream().readNBytes(12), StandardCharsets.US_ASCII);
                return status.endsWith(" 200");
            } catch (IOException notYet) {
                return false;
            }
        }

        /** In KiB. */
        Map<String, Long> memory() throws IOException {
            Map<String, Long> memory = new LinkedHashMap<>();
            for (String line : Files.readAllLines(Path.of("/proc", "" + process.pid(), "smaps_rollup"))) {
                String[] words = line.split("[: ]+", -1);
                if (line.endsWith(" kB")) {
                    memory.put(words[0], Long.parseLong(words[1]));
                }
            }
            return memory;
        }

        double processorSeconds() throws IOException {
            String stat = Files.readString(Path.of("/proc", "" + process.pid(), "stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
            return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / TICKS_PER_SECOND;
        }

        @Override
        public void close() throws InterruptedException {
            process.destroy();
            if (!process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new IllegalStateException("the service does not stop");
            }
        }
    }

    private static void await(Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + LIMIT.toNanos();
        while (!condition.call()) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("not within " + LIMIT);
            }
            Thread.sleep(5); // polls another process, which cannot call us
        }
    }

    private static double millisSince(long nanos) {
        return (System.nanoTime() - nanos) / 1e6;
    }

    private void add(String what, double value) {
        measured.computeIfAbsent(what, w -> new ArrayList<>()).add(value);
    }

    private double median(String what) {
        return Slices.quantile(measured.getOrDefault(what, List.of()), 0.5);
    }

    private void print() {
        System.out.println("| | median | least | most |");
        System.out.println("|---|---:|---:|---:|");
        measured.forEach((what, values) -> System.out.printf(
                Locale.ROOT,
                "| %s | %.1f | %.1f | %.1f |%n",
                what,
                Slices.quantile(values, 0.5),
                Slices.quantile(values, 0),
                Slices.quantile(values, 1)));
    }
}
