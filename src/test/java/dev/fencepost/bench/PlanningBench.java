package dev.fencepost.bench;

import dev.fencepost.Store;
import dev.fencepost.bench.Slices.Timed;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.run.Job;
import dev.fencepost.run.Rig;
import dev.fencepost.run.Ticks.Situation;
import dev.fencepost.schedule.Backlog;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Cron;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Overlap;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Planner;
import dev.fencepost.schedule.Schedule;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What it takes to plan ten years of missed slots, one a minute, beside a single missed one; by hand:
 * {@code ./mvnw -q test -Dtest=PlanningBench}.
 */
class PlanningBench {

    private static final int ROUNDS = Integer.getInteger("bench.rounds", 20);
    private static final Duration SLICE = Duration.ofMillis(100);

    /** More than there are plans in all slices. */
    private static final int JOBS = Integer.getInteger("bench.jobs", 10_000);

    private static final Instant NOW = new SystemTime().wallClock().truncatedTo(ChronoUnit.MINUTES);
    private static final Instant A_MINUTE_AGO = NOW.minusSeconds(60);
    private static final Instant TEN_YEARS_AGO =
            NOW.atZone(ZoneOffset.UTC).minusYears(10).toInstant();

    private static final Schedule EVERY_MINUTE = new Every(Duration.ofMinutes(1));

    private final Path folder;

    private final Slices slices;

    PlanningBench(@TempDir Path folder) {
        this.folder = folder;
        slices = new Slices(ROUNDS, SLICE, folder);
    }

    @BeforeEach
    void begin() {
        System.out.println("\n| | missed | p50 ms | p99 ms | p50 to that of one slot, quartiles |");
        System.out.println("|---|---|---:|---:|---:|");
    }

    private static Planner.Rules rules(Schedule schedule, CatchUp catchUp) {
        return new Planner.Rules(schedule, catchUp, Overlap.SKIP, 2, null);
    }

    @Test
    void alone() throws Exception {
        compare("every: 1m", EVERY_MINUTE, CatchUp.DEFAULT);
        compare("cron, UTC", Cron.parse("* * * * *", ZoneOffset.UTC), CatchUp.DEFAULT);
        compare("cron, Europe/Berlin", Cron.parse("* * * * *", ZoneId.of("Europe/Berlin")), CatchUp.DEFAULT);
        compare(
                "cron, Europe/Berlin, catch-up.max 100",
                Cron.parse("* * * * *", ZoneId.of("Europe/Berlin")),
                new CatchUp(100, null));
    }

    private void compare(String what, Schedule schedule, CatchUp catchUp) throws Exception {
        long missed = schedule.count(TEN_YEARS_AGO, NOW);
        slices.compareTimes(
                what,
                List.of(
                        new Timed("1 slot", () -> planNanos(rules(schedule, catchUp), A_MINUTE_AGO, 1)),
                        new Timed(
                                missed + " slots", () -> planNanos(rules(schedule, catchUp), TEN_YEARS_AGO, missed))));
    }

    /** The node has begun now, so that nothing is on time. */
    private static long planNanos(Planner.Rules rules, Instant cursor, long missed) {
        Backlog backlog = new Backlog(NOW, cursor, List.of(), null);
        long began = System.nanoTime();
        Plan plan = Planner.plan(rules, NOW.plusMillis(1), backlog);
        long took = System.nanoTime() - began;
        checkPlanned(plan, missed);
        return took;
    }

    /** Each slot has to be somewhere in the plan. */
    private static void checkPlanned(Plan plan, long missed) {
        long planned = plan.opened().size()
                + (plan.dropped() == null ? 0 : plan.dropped().count());
        if (planned != missed) {
            throw new IllegalStateException(planned + " of " + missed + " missed slots are planned");
        }
    }

    @Test
    void onPostgres() throws Exception {
        try (DurablePostgres server = DurablePostgres.start();
                JdbcStore store = server.newStore("planning")) {
            throughTheStore("PostgreSQL", store);
        }
    }

    @Test
    void onSqlite() throws Exception {
        try (JdbcStore store =
                JdbcStore.sqlite(folder.resolve("store.db"), new SystemTime(), new SystemThreads(event -> {}))) {
            store.prepare();
            throughTheStore("SQLite", store);
        }
    }

    /** As a node does after a downtime: what the store knows is read, planned and written. Each job once. */
    private void throughTheStore(String name, Store store) throws Exception {
        List<Job> minute = jobs("minute-", A_MINUTE_AGO);
        List<Job> decade = jobs("decade-", TEN_YEARS_AGO);
        List<Job> all = new ArrayList<>(minute);
        all.addAll(decade);
        store.register(all);
        slices.compareTimes(
                name + ", situation, plan and apply",
                List.of(
                        new Timed("some slots", lookNanos(store, minute, 1)),
                        new Timed("ten years", lookNanos(store, decade, EVERY_MINUTE.count(TEN_YEARS_AGO, NOW)))));
    }

    private static List<Job> jobs(String prefix, Instant from) {
        List<Job> jobs = new ArrayList<>();
        for (int i = 0; i < JOBS; i++) {
            jobs.add(Rig.job(prefix + i, EVERY_MINUTE, from));
        }
        return jobs;
    }

    /** @param atLeast so many slots were missed, and some more while this bench runs */
    private static Callable<Long> lookNanos(Store store, List<Job> jobs, long atLeast) {
        Iterator<Job> next = jobs.iterator();
        return () -> {
            Job job = next.next();
            long began = System.nanoTime();
            Situation situation = store.situation(job.id());
            if (situation == null) {
                throw new IllegalStateException("not registered");
            }
            Backlog backlog = situation.backlog();
            Plan plan = Planner.plan(
                    rules(job.schedule(), job.catchUp()), backlog.now().plusMillis(1), backlog);
            Plan applied = store.apply(job, backlog, plan);
            long took = System.nanoTime() - began;
            if (applied == null
                    || applied.dropped() == null
                    || applied.dropped().count() < atLeast) {
                throw new IllegalStateException("not planned");
            }
            return took;
        };
    }
}
