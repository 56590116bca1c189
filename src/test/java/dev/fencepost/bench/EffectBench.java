package dev.fencepost.bench;

import com.sun.net.httpserver.HttpServer;
import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.sink.HttpSink;
import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.Dispatcher;
import dev.fencepost.effect.HttpEndpoint;
import dev.fencepost.effect.Outbox.Tally;
import dev.fencepost.effect.SinkDefinition;
import dev.fencepost.effect.TextOrFile;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Action;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * 10,000 pending HTTP effects to a receiver on this host that answers at once; by hand: {@code ./mvnw -q test -Dtest=EffectBench}. Prints,
 * for each store and number of jobs, how many a second are confirmed, the time between two confirmations of a job, and the heap in use
 * after a collection before, halfway and after.
 */
class EffectBench {

    private static final int EFFECTS = 10_000;

    @TempDir
    Path folder;

    private final SystemTime time = new SystemTime();
    private final SystemEntropy entropy = new SystemEntropy();

    @Test
    void tenThousandEffects() throws Exception {
        try (EmbeddedPostgres postgres = EmbeddedPostgres.builder()
                .setServerConfig("fsync", "on")
                .setServerConfig("synchronous_commit", "on")
                .start()) {
            System.out.println("| store | jobs | effects/s | p50 ms | p99 ms | heap MiB before, halfway, after |");
            System.out.println("|---|---|---|---|---|---|");
            for (int jobs : new int[] {1, 16}) {
                measure(
                        "SQLite",
                        jobs,
                        journal -> JdbcStore.sqlite(
                                folder.resolve("bench-" + jobs + ".db"), time, new SystemThreads(journal)));
                postgres.getPostgresDatabase().getConnection().createStatement().execute("create database b" + jobs);
                String url = "jdbc:postgresql://localhost:" + postgres.getPort() + "/b" + jobs;
                measure("PostgreSQL", jobs, journal -> JdbcStore.postgres(url, "postgres", null, "postgres", journal));
            }
        }
    }

    private interface Opening {
        JdbcStore open(Journal journal);
    }

    private void measure(String name, int jobCount, Opening opening) throws Exception {
        AtomicInteger confirmed = new AtomicInteger();
        long[] took = new long[EFFECTS];
        Map<String, AtomicLong> last = new java.util.concurrent.ConcurrentHashMap<>();
        Journal journal = event -> {
            if (event instanceof Event.EffectChanged changed && changed.state().equals("CONFIRMED")) {
                long now = System.nanoTime();
                long before = last.computeIfAbsent(changed.job(), job -> new AtomicLong(now))
                        .getAndSet(now);
                took[confirmed.getAndIncrement()] = now - before;
            } else if (event instanceof Event.Problem || event instanceof Event.StoreAvailable) {
                System.out.println(event);
            }
        };
        HttpServer receiver = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1_000);
        AtomicInteger received = new AtomicInteger();
        receiver.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        receiver.createContext("/", exchange -> {
            exchange.getRequestBody().readAllBytes();
            received.incrementAndGet();
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        receiver.start();
        JdbcStore store = opening.open(journal);
        store.prepare();
        Owner owner = new Owner("bench");
        SystemThreads threads = new SystemThreads(journal);
        HttpEndpoint endpoint = new HttpEndpoint(
                "POST",
                new TextOrFile("http://127.0.0.1:" + receiver.getAddress().getPort() + "/", null),
                Map.of(),
                "text/plain",
                Duration.ofSeconds(30),
                Set.of("127.0.0.1"),
                false,
                null);
        SinkDefinition.Http definition =
                new SinkDefinition.Http("announce", Duration.ofHours(24), endpoint, true, true, Duration.ZERO, 0, null);
        Dispatcher dispatcher = new Dispatcher(
                store,
                store,
                Map.of("announce", new HttpSink(definition, time, threads)),
                owner,
                other -> false,
                time,
                threads,
                entropy,
                journal);
        List<Job> jobs = new ArrayList<>();
        for (int i = 0; i < jobCount; i++) {
            jobs.add(job("job-" + i));
        }
        store.register(jobs);
        for (int i = 0; i < EFFECTS / 500; i++) {
            announce(store, owner, jobs.get(i % jobCount), i);
        }
        long heapBefore = heapMiB();
        long start = System.nanoTime();
        long heapHalfway = 0;
        while (confirmed.get() < EFFECTS) {
            dispatcher.wake();
            Thread.sleep(100); // the dispatcher looks at intervals, as the node lets it, only more often
            if (heapHalfway == 0 && confirmed.get() > EFFECTS / 2) {
                heapHalfway = heapMiB();
            }
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        long heapAfter = heapMiB();
        if (received.get() != EFFECTS
                || store.tallies().stream().mapToLong(Tally::count).sum() != 0) {
            throw new AssertionError(received + " received, left " + store.tallies());
        }
        Arrays.sort(took);
        System.out.printf(
                "| %s | %d | %.0f | %.2f | %.2f | %d, %d, %d |%n",
                name,
                jobCount,
                EFFECTS / seconds,
                took[EFFECTS / 2] / 1e6,
                took[EFFECTS * 99 / 100] / 1e6,
                heapBefore,
                heapHalfway,
                heapAfter);
        store.close();
        receiver.stop(0);
    }

    private static long heapMiB() {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return (runtime.totalMemory() - runtime.freeMemory()) >> 20;
    }

    private static Job job(String id) {
        return new Job(
                id,
                new Every(Duration.ofMinutes(1)),
                ZoneOffset.UTC,
                new Action.Command(List.of("true"), null, Map.of(), null, null),
                Set.of(),
                Duration.ofMinutes(10),
                null,
                Duration.ofSeconds(1),
                CatchUp.DEFAULT,
                null,
                2,
                null,
                List.of());
    }

    private void announce(JdbcStore store, Owner owner, Job job, int number) {
        Slot slot = Slot.at(Instant.parse("2026-01-01T00:00:00Z").plusSeconds(60L * number));
        Start.Started run = (Start.Started) store.start(job, slot, owner, new RunId(entropy.uuid()), false);
        List<Announcement> effects = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            Content content = new Content("text/plain", null, new byte[1_024]);
            String key = Announcement.keyOf(slot.idempotencyKey(job.id()), "n" + i);
            effects.add(new Announcement(
                    "n" + i, key, "announce", content, content.digest("announce"), Duration.ofHours(24)));
        }
        store.complete(run.lease(), new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null, effects));
    }
}
