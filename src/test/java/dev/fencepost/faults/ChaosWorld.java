package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.fencepost.history.Checker;
import dev.fencepost.history.Figures;
import dev.fencepost.history.History;
import dev.fencepost.history.HistoryFile;
import dev.fencepost.history.Violation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Three services of the built program on one PostgreSQL, two receivers, and somebody who hurts them at random. Everybody writes a
 * history; at the end {@link #judge} has them read by the checker and makes a table.
 */
final class ChaosWorld implements AutoCloseable {

    static final Duration TTL = Duration.ofSeconds(3);

    private static final Duration CALM_DOWN = Duration.ofSeconds(120);

    /** Writes its history like everybody else, and announces an effect for each sink that it is given. */
    private static final String CHILD = """
            # Arguments: folder of the histories, tenths of a second to run at least, how many more at most, sinks.
            dir=$1 tenths=$(($2 + FENCEPOST_FENCE % ($3 + 1)))
            shift 3
            file=$dir/child-$FENCEPOST_RUN_ID.jsonl
            line() { # what, further pairs
              read -r up rest </proc/uptime
              printf '{"up":%s0,"by":"child","what":"%s","job":"%s","slot":"%s","token":%s,"run":"%s"%s}\\n' \\
                "${up%.*}${up#*.}" "$1" "$FENCEPOST_JOB" "$FENCEPOST_SLOT" "$FENCEPOST_FENCE" "$FENCEPOST_RUN_ID" "$2" >>"$file"
            }
            line start ",\\"attempt\\":$FENCEPOST_ATTEMPT,\\"owner\\":\\"$FENCEPOST_OWNER\\",\\"key\\":\\"$FENCEPOST_IDEMPOTENCY_KEY\\""
            while [ "$tenths" -gt 0 ]; do
              sleep 0.1
              line stamp ''
              tenths=$((tenths - 1))
            done
            for sink; do
              printf '{"name":"%s","sink":"%s","body":"%s for %s"}\\n' "$sink" "$sink" "$FENCEPOST_IDEMPOTENCY_KEY" "$sink" >>"$FENCEPOST_EFFECTS"
            done
            line done ",\\"effects\\":\\"$*\\""
            """;

    private static final String JOBS = """
            sinks:
              checked: { http: { url: "%s", allow-hosts: [127.0.0.1], timeout: 2s, idempotent: true, checks-token: true } }
              plain: { http: { url: "%s", allow-hosts: [127.0.0.1], timeout: 2s, lock-delay: 2s } }
            defaults:
              lease: { ttl: 3s }
              catch-up: { max: %s }
            jobs:
              tick:
                every: 1s
                command: [sh, %s, %s, '3', '4', checked, plain]
              long:
                every: 7s
                command: [sh, %s, %s, '38', '20', checked]
            """;

    /** Where a service sits: its state directory and its port stay, whoever sits there. */
    private static final class Seat {
        final String name;
        final int port = ServeProcess.freePort();
        volatile ServeProcess service;
        volatile boolean ready;

        Seat(String name) {
            this.name = name;
        }
    }

    private final String kind;
    private final long seed;
    private final Path folder;
    private final Path histories;
    private final Random random;
    private final HistoryFile driver;
    private final Sinks sinks;
    private final List<Seat> seats = List.of(new Seat("a"), new Seat("b"), new Seat("c"));
    private final ExecutorService helpers = Executors.newCachedThreadPool();
    private final List<Future<?>> comings = new ArrayList<>();

    /** Held while the store is looked at, and while it is exchanged for another. */
    private final ReentrantLock looking = new ReentrantLock();

    private final Map<String, String> seen = new HashMap<>();
    private volatile Scene scene;
    private volatile boolean over;
    private volatile long lastFrozenNanos;
    private volatile int frozen;
    private int faults;

    ChaosWorld(String kind, long seed) {
        this.kind = kind;
        this.seed = seed;
        this.random = new Random(seed);
        folder = Evidence.newFolder(kind);
        histories = folder.resolve("histories");
        driver = new HistoryFile(histories, "driver");
        sinks = new Sinks(histories);
    }

    Path folder() {
        return folder;
    }

    Random random() {
        return random;
    }

    HistoryFile driver() {
        return driver;
    }

    /** Between these two, in milliseconds. */
    Duration between(int least, int most) {
        return Duration.ofMillis(least + random.nextInt(most - least + 1));
    }

    /** Starts the services on this store; returns when all are ready and the first slots that count are to come. */
    void start(Rows rows, String store, int catchUp) {
        scene = Scene.on(folder, rows, store);
        Path child = folder.resolve("child.sh");
        try {
            Files.writeString(child, CHILD);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        scene.jobs(JOBS.formatted(
                sinks.url(Sinks.CHECKED), sinks.url(Sinks.PLAIN), catchUp, child, histories, child, histories));
        driver.write("clock", "wall", System.currentTimeMillis());
        driver.write("sink", "sink", Sinks.CHECKED, "checks", true);
        driver.write("sink", "sink", Sinks.PLAIN, "checks", false);
        seats.forEach(this::sitDown);
        seats.forEach(seat -> {
            seat.service.awaitReady();
            seat.ready = true;
        });
        long from = Instant.now().plusSeconds(2).toEpochMilli();
        driver.write("job", "job", "tick", "ttl", TTL.toMillis(), "interval", 1_000, "from", from);
        driver.write("job", "job", "long", "ttl", TTL.toMillis(), "interval", 7_000, "from", from);
        helpers.submit(this::watch);
        helpers.submit(this::decide);
    }

    private void sitDown(Seat seat) {
        seat.service = scene.serve(seat.name, seat.port);
        driver.write("node", "node", seat.name, "pid", seat.service.pid());
    }

    /** So many moments of the time to come, in order, each to be waited for. */
    List<Long> moments(int count, Duration length) {
        long begin = System.nanoTime();
        return random.longs(count, 0, length.toNanos())
                .sorted()
                .map(nanos -> begin + nanos)
                .boxed()
                .toList();
    }

    static void sleepUntil(long nanoTime) {
        Wait.sleep(Duration.ofNanos(Math.max(0, nanoTime - System.nanoTime())));
    }

    /** Kills one service that is ready, while another one is, and lets it come again after a random while. */
    void killOne() {
        Seat seat = readyOne();
        seat.ready = false;
        seat.service.signal("KILL");
        driver.write("kill", "pid", seat.service.pid());
        faults++;
        Duration away = between(200, 5_000);
        comings.add(helpers.submit(() -> {
            seat.service.awaitExit(Duration.ofSeconds(5));
            Wait.sleep(away);
            sitDown(seat);
            // While the store is away it is not ready, and need not be: it has to come up by itself.
            Wait.until(
                    CALM_DOWN,
                    seat.service::said,
                    () -> seat.service.get("/q/health/ready").isUp());
            seat.ready = true;
        }));
    }

    /** Stops one service past its leases and wakes it. Returns when it is awake. */
    void freezeOne() {
        Seat seat = readyOne();
        seat.ready = false;
        frozen++;
        driver.write("stop", "pid", seat.service.pid());
        seat.service.signal("STOP");
        faults++;
        Wait.sleep(TTL.plus(between(200, 1_500)));
        seat.service.signal("CONT");
        driver.write("cont", "pid", seat.service.pid());
        frozen--;
        lastFrozenNanos = System.nanoTime();
        seat.ready = true;
    }

    /** While another one is ready too. Half of the times one that has a run under way, if there is one: there it hurts most. */
    private Seat readyOne() {
        boolean busy = random.nextBoolean();
        return Wait.forValue(CALM_DOWN, "two services that are ready", () -> {
            List<Seat> ready = seats.stream().filter(seat -> seat.ready).toList();
            if (ready.size() < 2) {
                return null;
            }
            List<Seat> running =
                    ready.stream().filter(seat -> busy && hasRun(seat)).toList();
            List<Seat> choice = running.isEmpty() ? ready : running;
            return choice.get(random.nextInt(choice.size()));
        });
    }

    private boolean hasRun(Seat seat) {
        return scene.rows().openOf("tick", seat.service.pid()) != null
                || scene.rows().openOf("long", seat.service.pid()) != null;
    }

    /** Carries this out while nobody looks at the store. */
    void exchangeStore(Runnable exchange) {
        looking.lock();
        try {
            exchange.run();
        } finally {
            looking.unlock();
        }
    }

    /** Writes down each tick that is closed, and each that is closed otherwise than it was. */
    private void watch() {
        while (!over) {
            Wait.sleep(Duration.ofMillis(300));
            looking.lock();
            try {
                for (String job : List.of("tick", "long")) {
                    for (Rows.Tick tick : scene.rows().newestTicks(job, 120)) {
                        String end = tick.outcome() + " " + tick.runId();
                        if (tick.outcome() != null && !end.equals(seen.put(job + "@" + tick.key(), end))) {
                            driver.write(
                                    "seen",
                                    "job",
                                    job,
                                    "slot",
                                    tick.key(),
                                    "outcome",
                                    tick.outcome(),
                                    "run",
                                    tick.runId());
                        }
                    }
                }
            } catch (IllegalStateException away) {
                // looked at again; what was not seen is in the store at the end
            } finally {
                looking.unlock();
            }
        }
    }

    /**
     * The person who is asked about effects whose outcome nobody knows: looks into the receiver's own list. That something did not arrive
     * is certain only when nobody is frozen who might still send it. A receiver that checks is asked about too: what it refuses as old
     * after a promotion may have arrived before it.
     */
    private void decide() {
        while (!over) {
            Wait.sleep(Duration.ofSeconds(1));
            try {
                for (String sink : List.of(Sinks.PLAIN, Sinks.CHECKED)) {
                    for (String key : scene.rows()
                            .texts("select key from effect where state = 'UNKNOWN' and waits and sink = '" + sink
                                    + "'")) {
                        boolean arrived = sinks.hasArrived(sink, key);
                        boolean calm = frozen == 0
                                && System.nanoTime() - lastFrozenNanos
                                        > Duration.ofSeconds(3).toNanos();
                        if (arrived || calm) {
                            order(key, arrived ? "confirmed" : "absent");
                        }
                    }
                }
            } catch (IllegalStateException away) {
                // asked again
            }
        }
    }

    private void order(String key, String what) {
        ServeProcess command = scene.command(
                "effects", "resolve", key, "--as", what, "--reason", "seen at the receiver", "--store", scene.store());
        int code = command.awaitExit(Duration.ofSeconds(30));
        driver.write("resolved", "key", key, "as", what, "code", code);
    }

    /** Waits until everything that is due by now has come to its end, and ends the services. */
    void settle() {
        for (Future<?> coming : comings) {
            try {
                coming.get();
            } catch (Exception e) {
                throw new AssertionError("a service did not come again", e);
            }
        }
        Instant until = Instant.now().truncatedTo(ChronoUnit.SECONDS);
        String open = "select (select count(*) from effect where state in ('PENDING', 'SENDING', 'UNKNOWN') and"
                + " announced_at <= '" + until
                + "') + (select count(*) from tick where outcome is null and slot_at <= '"
                + until + "') + (select count(*) from job where retired_at is null and cursor_at < '" + until + "')";
        Wait.until(
                CALM_DOWN,
                () -> "all has come to its end; what is open: "
                        + scene.rows()
                                .texts(
                                        "select * from (select key || ' ' || state from effect where settled_at is null union all select job || ' ' || slot_key from tick where outcome is null) as open"),
                () -> scene.rows().value(open).equals("0"));
        driver.write("settled", "until", until.toEpochMilli());
        over = true;
        for (Seat seat : seats) {
            seat.service.signal("TERM");
        }
        for (Seat seat : seats) {
            int code = seat.service.awaitExit(Duration.ofSeconds(20));
            driver.write("end", "pid", seat.service.pid(), "code", code);
        }
        helpers.shutdown();
        Processes.ofRuns(scene.rows().allRunIds())
                .forEach((pid, words) -> driver.write("left", "pid", pid, "words", words));
        dump("main", scene.rows());
    }

    void dump(String store, Rows rows) {
        try (HistoryFile file = new HistoryFile(histories, "store-" + store)) {
            rows.dump(store, file);
        }
    }

    History history() {
        return History.read(histories);
    }

    /** Has all histories read, and writes and prints the table. Returns what may not be. */
    List<Violation> judge(String words) {
        History history = History.read(histories);
        assertFalse(history.all("done").isEmpty(), "no command came to its end: this shows nothing");
        assertFalse(history.all("request").isEmpty(), "no effect was sent: this shows nothing");
        List<Violation> violations = Checker.check(history);
        long errors = seats.stream()
                .mapToLong(seat -> seat.service.linesContaining(" ERROR ").size())
                .sum();
        String page = Figures.of(
                        history, kind + ": " + words + ", seed " + seed + ", " + faults + " kills or stops", violations)
                + "ERROR lines of the last three services: " + errors + "\n";
        Evidence.table(kind, page);
        return violations;
    }

    @Override
    public void close() {
        over = true;
        helpers.shutdownNow();
        if (scene != null) {
            scene.close();
        }
        sinks.close();
        driver.close();
    }
}
