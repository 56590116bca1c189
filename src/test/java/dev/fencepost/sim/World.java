package dev.fencepost.sim;

import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.effect.Sink;
import dev.fencepost.host.Event;
import dev.fencepost.host.TestThreads;
import dev.fencepost.host.Time;
import dev.fencepost.lease.Owner;
import dev.fencepost.run.Action;
import dev.fencepost.run.Job;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One story: nodes, jobs, sinks and a store, and what goes wrong with them, all drawn from one seed. First everything may fail; then the
 * world heals, and what was due has to come to its end.
 */
final class World implements AutoCloseable {

    private static final Instant START = Instant.parse("2026-03-01T12:00:00Z");
    static final long TROUBLED_MILLIS = 150_000;
    static final long HEALING_MILLIS = 180_000;

    private final long seed;
    private final Random random;
    private final Scheduler scheduler;
    private final Witness witness;
    private final JdbcStore store;
    private final Map<String, SimSink> sinks = new LinkedHashMap<>();
    private final List<Job> jobs = new ArrayList<>();
    private final List<Host> hosts = new ArrayList<>();
    private final Map<Host, List<Runnable>> atThaw = new LinkedHashMap<>();
    private final StringBuilder story = new StringBuilder();
    private final Mix mix;
    private final Map<String, Long> gapSeconds = new HashMap<>();
    private final Map<String, Integer> happened = new TreeMap<>();
    private boolean healing;
    private int starts;

    /** How often what goes wrong, per node and minute, or per call. */
    private record Mix(
            double deaths,
            double freezes,
            double cuts,
            double clockSets,
            double lostBefore,
            double lostAfter,
            double late,
            double slow) {

        static Mix draw(Random random) {
            return new Mix(
                    some(random, 2),
                    some(random, 2),
                    some(random, 2),
                    some(random, 2),
                    some(random, 0.05),
                    some(random, 0.05),
                    some(random, 0.03),
                    some(random, 0.05));
        }

        /** Each kind is missing in some worlds, so that it does not hide another. */
        private static double some(Random random, double most) {
            return random.nextInt(3) == 0 ? 0 : random.nextDouble() * most;
        }
    }

    World(long seed, Path folder) {
        this.seed = seed;
        this.random = new Random(seed);
        this.scheduler = new Scheduler(random, START.toEpochMilli());
        this.witness = new Witness(this);
        this.mix = Mix.draw(random);
        this.store = JdbcStore.sqlite(folder.resolve("store.db"), new ServerTime(), new TestThreads());
        sinks.put("checked", new SimSink(this, "checked", true, seed % 5 != 3));
        sinks.put("plain", new SimSink(this, "plain", false, true));
        int count = 1 + random.nextInt(3);
        for (int i = 0; i < count; i++) {
            jobs.add(job("job-" + i));
        }
        int nodes = 2 + random.nextInt(2);
        for (int node = 0; node < nodes; node++) {
            int number = node;
            scheduler.after(random.nextInt(3_000), () -> startNode(number));
        }
        scheduler.afterEachStep(witness::look);
    }

    private Job job(String id) {
        long gap = 3 + random.nextInt(20);
        gapSeconds.put(id, gap);
        return new Job(
                id,
                new Every(Duration.ofSeconds(gap)),
                ZoneOffset.UTC,
                new Action.Command(List.of("work"), null, Map.of(), null, null),
                Set.of(),
                Duration.ofSeconds(8 + random.nextInt(25)),
                Duration.ofSeconds(5 + random.nextInt(30)),
                Duration.ofSeconds(2),
                random.nextBoolean() ? CatchUp.DEFAULT : new CatchUp(5, null),
                null,
                1 + random.nextInt(3),
                null,
                List.of());
    }

    /** @throws AssertionError if something did not hold; the message has the seed and the story */
    void run() {
        try {
            scheduler.runUntil(START.toEpochMilli() + TROUBLED_MILLIS);
            heal();
            scheduler.runUntil(START.toEpochMilli() + TROUBLED_MILLIS + HEALING_MILLIS);
            witness.judge(store, jobs);
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError(
                    "seed " + seed + ", at " + Instant.ofEpochMilli(scheduler.now()) + ": " + e.getMessage()
                            + "\nagain: ./mvnw -o test -Dtest=SimulationTest -Dsim.seed=" + seed + "\n" + story,
                    e);
        }
    }

    private void heal() {
        note("healing");
        healing = true;
        for (Host host : List.copyOf(hosts)) {
            host.cutOff(false);
            host.setWallClock(0);
            thaw(host);
        }
    }

    private void startNode(int node) {
        Host host = new Host(
                this, node, ++starts, new Wire(this, store).of(() -> currentHost()), jobs, Map.copyOf(sinksByName()));
        hosts.add(host);
        note(host.name() + " starts");
        host.begin();
        plan(host, mix.deaths(), () -> {
            note(host.name() + " dies");
            happened("a node dies");
            host.die();
            scheduler.after(random.nextInt(20_000), () -> startNode(node));
        });
        plan(host, mix.freezes(), () -> {
            long millis = random.nextInt(50_000);
            note(host.name() + " freezes for " + millis + " ms");
            happened("a node freezes");
            host.freeze();
            scheduler.after(millis, () -> thaw(host));
        });
        plan(host, mix.cuts(), () -> {
            long millis = random.nextInt(40_000);
            note(host.name() + " is cut off for " + millis + " ms");
            happened("a node is cut off");
            host.cutOff(true);
            scheduler.after(millis, () -> host.cutOff(false));
        });
        plan(host, mix.clockSets(), () -> {
            long offset = random.nextInt(7_200_000) - 3_600_000L;
            note(host.name() + " has its clock set by " + offset + " ms");
            happened("a clock is set");
            host.setWallClock(offset);
        });
    }

    private Map<String, Sink> sinksByName() {
        return new LinkedHashMap<>(sinks);
    }

    /** Again and again, at times that the seed draws, until the world heals or the host dies. */
    private void plan(Host host, double perMinute, Runnable what) {
        if (perMinute <= 0) {
            return;
        }
        long wait = (long) (-Math.log(1 - random.nextDouble()) * 60_000 / perMinute);
        scheduler.after(wait, () -> {
            if (healing || host.isDead()) {
                return;
            }
            if (!host.isFrozen()) {
                what.run();
            }
            plan(host, perMinute, what);
        });
    }

    private void thaw(Host host) {
        if (host.isFrozen() && !host.isDead()) {
            note(host.name() + " goes on");
            host.thaw();
            witness.thawed(host);
            List<Runnable> waiting = atThaw.remove(host);
            if (waiting != null) {
                waiting.forEach(Runnable::run);
            }
        }
    }

    void whenThawed(Host host, Runnable what) {
        atThaw.computeIfAbsent(host, h -> new ArrayList<>()).add(what);
    }

    // ---- what the parts ask for

    Random random() {
        return random;
    }

    Scheduler scheduler() {
        return scheduler;
    }

    Witness witness() {
        return witness;
    }

    List<String> sinkNames() {
        return List.copyOf(sinks.keySet());
    }

    SimSink sink(String name) {
        SimSink sink = sinks.get(name);
        if (sink == null) {
            throw new AssertionError("no sink " + name);
        }
        return sink;
    }

    List<Host> hosts() {
        return hosts;
    }

    private Host currentHost() {
        return scheduler.current().host();
    }

    @Nullable
    Host hostOf(Owner owner) {
        for (Host host : hosts) {
            if (host.owner().equals(owner)) {
                return host;
            }
        }
        return null;
    }

    boolean chance(double probability) {
        return random.nextDouble() < probability;
    }

    /** The same, and never once the world heals. */
    boolean trouble(double probability) {
        return random.nextDouble() < probability && !healing;
    }

    Mixed mixed() {
        return healing ? Mixed.NOTHING : new Mixed(mix.lostBefore(), mix.lostAfter(), mix.late(), mix.slow());
    }

    /** How often a call is lost before it arrives, loses its answer, arrives when nobody waits any more, or takes long. */
    record Mixed(double lostBefore, double lostAfter, double late, double slow) {
        static final Mixed NOTHING = new Mixed(0, 0, 0, 0);
    }

    void told(Host host, Event event) {
        witness.told(host, event);
    }

    void note(String text) {
        story.append("  ")
                .append(Instant.ofEpochMilli(scheduler.now()))
                .append(' ')
                .append(text)
                .append('\n');
    }

    /** Counts what a story is only worth something with. */
    void happened(String what) {
        happened.merge(what, 1, Integer::sum);
    }

    Map<String, Integer> happenings() {
        return happened;
    }

    long gapSeconds(String job) {
        return gapSeconds.getOrDefault(job, 1L);
    }

    String story() {
        return story.toString();
    }

    // ---- waiting

    void sleep(Duration duration) throws InterruptedException {
        await(duration, () -> false, () -> Long.MAX_VALUE);
    }

    /** @param when at which the condition may come to hold by itself */
    void await(Duration limit, BooleanSupplier condition, LongSupplier when) throws InterruptedException {
        Strand strand = scheduler.current();
        if (strand.takeInterrupt()) {
            throw new InterruptedException();
        }
        if (!limit.isPositive() || condition.getAsBoolean()) {
            return;
        }
        scheduler.await(Math.min(scheduler.now() + limit.toMillis(), when.getAsLong()), condition, true);
        if (strand.takeInterrupt()) {
            throw new InterruptedException();
        }
    }

    boolean join(Strand other, Duration limit) throws InterruptedException {
        await(limit, other::isOver, () -> Long.MAX_VALUE);
        return other.isOver();
    }

    /** Of something that no interrupt ends, such as an answer of the store. */
    void pass(long millis) {
        scheduler.await(scheduler.now() + millis, () -> false, false);
    }

    @Override
    public void close() {
        store.close();
    }

    /** The clock of the store's machine. */
    private final class ServerTime implements Time {
        @Override
        public Instant wallClock() {
            return Instant.ofEpochMilli(scheduler.now());
        }

        @Override
        public long bootMillis() {
            return scheduler.now();
        }

        @Override
        public String bootId() {
            return "server";
        }

        @Override
        public void sleep(Duration duration) {
            throw new AssertionError("the store does not sleep");
        }
    }
}
