package dev.fencepost.bench;

import dev.fencepost.Node;
import dev.fencepost.Store;
import dev.fencepost.edge.Assembly;
import dev.fencepost.edge.Assembly.Crew;
import dev.fencepost.edge.host.StateDirectory;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Children;
import dev.fencepost.run.EndedChildren;
import dev.fencepost.run.Job;
import dev.fencepost.run.NoHttpCalls;
import dev.fencepost.run.Notices;
import dev.fencepost.run.Places;
import dev.fencepost.run.Publications;
import dev.fencepost.run.Rig;
import dev.fencepost.run.Runner;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A thousand jobs that are due in the same second, on one node in this JVM: how long after its slot each is claimed, by the store's clock;
 * by hand: {@code ./mvnw -q test -Dtest=LatenessBench}. The first round does not count.
 */
class LatenessBench {

    private static final int JOBS = Integer.getInteger("bench.jobs", 1_000);
    private static final int ROUNDS = Integer.getInteger("bench.rounds", 5);

    /** All jobs are due together, again and again, and have ended by the next time. */
    private static final Every SCHEDULE = new Every(Duration.ofSeconds(20));

    private static final Duration LONGEST_DRAIN = Duration.ofSeconds(60);

    @TempDir
    private Path folder;

    private final SystemTime time = new SystemTime();

    @BeforeAll
    static void header() {
        System.out.println("| store | children | round | claims | p50 ms | p99 ms | max ms |");
        System.out.println("|---|---|---|---:|---:|---:|---:|");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void onSqlite(boolean realChildren) throws Exception {
        try (JdbcStore store = JdbcStore.sqlite(folder.resolve("store.db"), time, new SystemThreads(event -> {}))) {
            measure("SQLite", store, realChildren);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void onPostgres(boolean realChildren) throws Exception {
        try (DurablePostgres server = DurablePostgres.start();
                JdbcStore store = server.store(DurablePostgres.DATABASE)) {
            measure("PostgreSQL", store, realChildren);
        }
    }

    private void measure(String name, Store store, boolean realChildren) throws Exception {
        List<Job> jobs = IntStream.range(0, JOBS)
                .mapToObj(i -> Rig.job("job-" + i, SCHEDULE))
                .toList();
        Queue<Event> troubles = new ConcurrentLinkedQueue<>();
        Node node = node(store, jobs, realChildren, event -> {
            if (event instanceof Event.Problem
                    || (event instanceof Event.StoreAvailable answer && !answer.available())) {
                troubles.add(event);
            }
        });
        node.start();
        Instant first;
        try (ScheduledExecutorService waker = Executors.newSingleThreadScheduledExecutor()) {
            waker.scheduleAtFixedRate(node::wake, 0, 1, TimeUnit.SECONDS);
            while (!node.isPrepared()) {
                Thread.sleep(20); // the node says nothing when it is prepared
            }
            first = SCHEDULE.next(store.now());
            Instant end =
                    first.plus(SCHEDULE.interval().multipliedBy(ROUNDS + 1)).minusSeconds(2);
            Thread.sleep(Duration.between(store.now(), end)); // the rounds take as long as that
            waker.shutdownNow();
        }
        node.drain(LONGEST_DRAIN);
        List<Double> all = new ArrayList<>();
        for (int round = 1; round <= ROUNDS; round++) {
            List<Double> millis =
                    lateness(store, jobs, first.plus(SCHEDULE.interval().multipliedBy(round)));
            line(name, realChildren, "round " + round, millis);
            all.addAll(millis);
        }
        line(name, realChildren, "all", all);
        Goal.LATENESS.print(name + (realChildren ? ", /bin/true" : ", no children"), Slices.quantile(all, 0.99));
        if (!troubles.isEmpty() || all.size() != JOBS * ROUNDS) {
            throw new IllegalStateException("%d claims in %d rounds, %d troubles, first: %s"
                    .formatted(all.size(), ROUNDS, troubles.size(), troubles.peek()));
        }
    }

    private static void line(String name, boolean realChildren, String which, List<Double> millis) {
        System.out.printf(
                Locale.ROOT,
                "| %s | %s | %s | %d | %.0f | %.0f | %.0f |%n",
                name,
                realChildren ? "/bin/true" : "none",
                which,
                millis.size(),
                Slices.quantile(millis, 0.5),
                Slices.quantile(millis, 0.99),
                Slices.quantile(millis, 1));
    }

    /** Of every attempt of this slot, in milliseconds. */
    private static List<Double> lateness(Store store, List<Job> jobs, Instant slot) {
        List<Double> millis = new ArrayList<>();
        for (Job job : jobs) {
            for (Attempt attempt : store.slot(job.id(), Slot.at(slot)).attempts()) {
                millis.add(Duration.between(slot, attempt.startedAt()).toNanos() / 1e6);
            }
        }
        return millis;
    }

    private Node node(Store store, List<Job> jobs, boolean realChildren, Journal journal) throws IOException {
        Assembly assembly = new Assembly(journal);
        StateDirectory directory = StateDirectory.open(folder.resolve("state"), assembly.entropy());
        Crew crew = assembly.crew(store, directory, List.of(), jobs);
        if (realChildren) {
            return assembly.node(store, jobs, crew, null);
        }
        Children children = new EndedChildren(spec -> {});
        Runner runner = new Runner(
                store,
                store,
                children,
                new NoHttpCalls(),
                new Rig.Folders(),
                Publications.NONE,
                crew.watch(),
                assembly.time(),
                assembly.spawner(),
                assembly.entropy(),
                journal,
                Notices.NONE,
                crew.owner(),
                1 << 20);
        return new Node(
                store,
                jobs,
                crew.owner(),
                runner,
                children,
                crew.dispatcher(),
                crew.watch(),
                Notices.NONE,
                new Places(0, assembly.time()),
                assembly.time(),
                assembly.spawner(),
                journal);
    }
}
