package dev.fencepost.bench;

import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.effect.Outbox.Filter;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Completion;
import dev.fencepost.run.History.Page;
import dev.fencepost.run.History.Place;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Rig;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What the page and {@code status} read, in a store with 500 jobs of 2,000 ticks each and one job of 1,000,000; by hand:
 * {@code ./mvnw -q test -Dtest=PageBench}. Prints the median and the worst of each read, warm; and what a completion costs beside one
 * with the indexes that were there before the page.
 */
class PageBench {

    private static final int JOBS = 500;
    private static final int TICKS = Integer.getInteger("bench.ticks", 1_000_000);
    private static final int ROUNDS = Integer.getInteger("bench.rounds", 30);
    private static final String BIG = "big";

    private static final Instant NOW = new SystemTime().wallClock();

    /** How the ticks of a job ended goes round; those of the last job never succeed. */
    private static final String FILL = """
            create table fill as select job, s, i, case
                    when i %% 250000 = 123456 then 'LEASE_LOST' when i %% 200 = 9 then 'DROPPED'
                    when i %% 20 = 0 or job = 'job-500' then 'FAILED' when i %% 100 = 1 then 'TIMED_OUT'
                    when i %% 20 in (5, 6) then 'SKIPPED_OVERLAP' else 'SUCCEEDED' end as outcome
                from (
                    select 'job-' || (1 + n %% %1$d) as job, n / %1$d as i,
                        %3$d - (n / %1$d + 1) * (7776000 / (%2$d / %1$d)) as s from {numbers %2$d}
                    union all
                    select 'big' as job, n as i, %3$d - (n + 1) * 7 as s from {numbers %2$d}) f;
            insert into job (id, schedule_text, since, cursor_at)
                select job, 'every: 1h', {at min(s)}, {at max(s)} from fill group by job;
            insert into lease (resource, fence) select id, 1 from job;
            insert into tick (job, slot_key, slot_at, on_time, opened_at, attempts, outcome, ended_at, range_count, range_first)
                select job, {key s}, {at s}, true, {at s}, 1, outcome, {at s + i %% 5},
                    case when outcome = 'DROPPED' then 5 end, case when outcome = 'DROPPED' then {at s - 20} end
                from fill order by s;
            insert into tick (job, slot_key, slot_at, on_time, opened_at, attempts, outcome, ended_at)
                select 'by-hand-' || n, 'manual:' || {key 1700000000 + n} || '/exec-1', {at 1700000000 + n}, true,
                    {at 1700000000 + n}, 1, 'SUCCEEDED', {at 1700000009 + n} from {numbers 20};
            insert into attempt (run_id, job, slot_key, number, fence, owner, started_at, ended_at, outcome, exit_code)
                select {uuid}, job, {key s}, number, i + 1, 'bench', {at s}, {at s + i %% 5}, outcome, 0
                from fill join (select 1 as number union all select 2) t
                    on number = 1 or outcome in ('FAILED', 'TIMED_OUT', 'LEASE_LOST')
                where outcome not in ('DROPPED', 'SKIPPED_OVERLAP') order by s;
            insert into write_event (at, resource, owner, fence, run_id, accepted, reason)
                select started_at, job, owner, fence, run_id, true, 'DONE' from attempt where job = 'big'
                order by started_at;
            insert into effect (key, job, slot_key, name, sink, resource, pair, fence, run_id, digest, announced_at, expires_at,
                    max_age_ms, state, waits, changed_at, written_at, settled_at, size)
                select 'big@' || {key s} || '/e', 'big', {key s}, 'e', 'sink', 'big', 'effect:sink/big', i + 1, {uuid}, 'd',
                    {at s}, {at s + 86400}, 86400000, case when i %% 2000 = 77 then 'UNKNOWN' else 'CONFIRMED' end,
                    i %% 2000 = 77, {at s}, {at s}, case when i %% 2000 = 77 then null else {at s} end, 10
                from fill where job = 'big' and i < %2$d / 10 order by s;
            insert into node (owner, host, version, jobs_file, jobs_hash, started_at, seen_at)
                select 'node-' || n, 'host', '1', 'jobs.yaml', 'hash', {at %3$d - n * 3600}, {at %3$d} from {numbers 50};
            drop table fill;
            analyze""".formatted(JOBS, TICKS, NOW.getEpochSecond());

    @TempDir
    Path folder;

    /** The indexes before the page, with which a completion is compared. */
    private static final List<String> BEFORE = List.of(
            "drop index tick_by_slot",
            "drop index tick_by_end",
            "drop index tick_range",
            "drop index effect_of_slot",
            "drop index write_event_of_run",
            "create index tick_newest on tick (job, slot_at desc)",
            "create index tick_ended on tick (job, ended_at, slot_key) where ended_at is not null");

    private JdbcStore sqlite(String name, List<String> indexes) throws SQLException {
        Path file = folder.resolve(name);
        JdbcStore store = JdbcStore.sqlite(file, new SystemTime(), new SystemThreads(event -> {}));
        store.prepare();
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file + Fill.FAST)) {
            fill(connection, Fill.SQLITE, indexes);
        }
        return store;
    }

    private static JdbcStore postgres(EmbeddedPostgres server, String name, List<String> indexes) throws SQLException {
        String url = "jdbc:postgresql://localhost:" + server.getPort() + "/";
        try (Connection admin = DriverManager.getConnection(url + "postgres", "postgres", null)) {
            Script.run(admin, "create database " + name);
        }
        JdbcStore store = JdbcStore.postgres(url + name, "postgres", null, name, event -> {});
        store.prepare();
        try (Connection connection = DriverManager.getConnection(url + name, "postgres", null)) {
            fill(connection, Fill.POSTGRES, indexes);
            Script.run(connection, "vacuum analyze"); // as its autovacuum does
        }
        return store;
    }

    private static void fill(Connection connection, Fill fill, List<String> indexes) {
        indexes.forEach(
                each -> Script.run(connection, each)); // first, so that they grow and are analysed as the others
        fill.run(connection, FILL);
    }

    private static EmbeddedPostgres server() throws IOException {
        return EmbeddedPostgres.builder()
                .setServerConfig("fsync", "on")
                .setServerConfig("synchronous_commit", "on")
                .start();
    }

    @Test
    void readsOnSqlite() throws Exception {
        try (JdbcStore store = sqlite("page.db", List.of())) {
            measure("SQLite", store);
        }
    }

    @Test
    void readsOnPostgres() throws Exception {
        try (EmbeddedPostgres server = server();
                JdbcStore store = postgres(server, "page", List.of())) {
            measure("PostgreSQL", store);
        }
    }

    /** Two databases take turns, the one with the indexes of before. */
    @Test
    void completions() throws Exception {
        System.out.println("| store | claim and complete, ms | with the indexes of before, ms | ratio, quartiles |");
        System.out.println("|---|---:|---:|---:|");
        try (JdbcStore now = sqlite("now.db", List.of());
                JdbcStore before = sqlite("before.db", BEFORE)) {
            compare("SQLite", now, before);
        }
        try (EmbeddedPostgres server = server();
                JdbcStore now = postgres(server, "now", List.of());
                JdbcStore before = postgres(server, "before", BEFORE)) {
            compare("PostgreSQL", now, before);
        }
    }

    private static void compare(String name, JdbcStore now, JdbcStore before) {
        List<Double> ours = new ArrayList<>();
        List<Double> theirs = new ArrayList<>();
        List<Double> ratios = new ArrayList<>();
        for (int round = -1; round < ROUNDS; round++) { // the first does not count
            boolean first = round % 2 == 0;
            double one = completed(first ? now : before, round);
            double other = completed(first ? before : now, round);
            if (round >= 0) {
                ours.add(first ? one : other);
                theirs.add(first ? other : one);
                ratios.add(first ? one / other : other / one);
            }
        }
        List.of(ours, theirs, ratios).forEach(each -> each.sort(null));
        System.out.printf(
                Locale.ROOT,
                "| %s | %.2f | %.2f | %.2f (%.2f–%.2f) |%n",
                name,
                ours.get(ROUNDS / 2),
                theirs.get(ROUNDS / 2),
                ratios.get(ROUNDS / 2),
                ratios.get(ROUNDS / 4),
                ratios.get(ROUNDS * 3 / 4));
    }

    /** @return milliseconds of a claim with its completion */
    private static double completed(JdbcStore store, int round) {
        int runs = 200;
        Completion done = new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, "tail");
        long begin = System.nanoTime();
        for (int i = 0; i < runs; i++) {
            Job job = Rig.job("job-" + (1 + i), new Every(Duration.ofSeconds(1)));
            Slot slot = Slot.at(NOW.plusSeconds(10 + round));
            Start start = store.start(job, slot, new Owner("bench"), new RunId(UUID.randomUUID()), false);
            store.complete(((Start.Started) start).lease(), done);
        }
        return (System.nanoTime() - begin) / 1e6 / runs;
    }

    private static void measure(String name, JdbcStore store) {
        System.out.println("| read | store | median ms | worst ms | rows |");
        System.out.println("|---|---|---:|---:|---:|");
        List<String> jobs =
                IntStream.rangeClosed(1, JOBS).mapToObj(i -> "job-" + i).toList();
        Instant ago = NOW.minus(Duration.ofDays(90));
        Place middle = new Place(NOW.minusSeconds(7L * TICKS / 2), "");
        Place nearTheEnd = new Place(NOW.minusSeconds(7L * TICKS - 400), "");
        List<RunId> runs =
                store.attempts(BIG, 20).stream().map(attempt -> attempt.runId()).toList();
        Slot slot = Slot.at(NOW.minusSeconds(7L * TICKS / 20));
        read(name, "jobs()", store::jobs, List::size);
        read(name, "newest 96 of all jobs", () -> store.newest(jobs, 96), Map::size);
        read(name, "newest 96 of one job", () -> store.newest(List.of(BIG), 96), Map::size);
        read(name, "page of 50, first", () -> store.page(BIG, null, List.of(), 50), PageBench::size);
        read(name, "page of 50, middle", () -> store.page(BIG, middle, List.of(), 50), PageBench::size);
        read(name, "page of 50, last", () -> store.page(BIG, nearTheEnd, List.of(), 50), PageBench::size);
        read(name, "page of failures", () -> store.page(BIG, null, List.of(Outcome.FAILED), 50), PageBench::size);
        read(
                name,
                "page of what is rare",
                () -> store.page(BIG, null, List.of(Outcome.LEASE_LOST, Outcome.ABANDONED), 50),
                PageBench::size);
        read(name, "quarters of 90 days, 10^6 ticks", () -> store.quarters(BIG, ago), List::size);
        read(name, "quarters of 90 days, 2,000 ticks", () -> store.quarters("job-1", ago), List::size);
        read(name, "attempts, 200", () -> store.attempts(BIG, 200), List::size);
        read(name, "longest success", () -> List.of(store.longestSuccess(BIG).orElseThrow()), List::size);
        read(name, "slot", () -> store.slot(BIG, slot).attempts(), List::size);
        read(name, "history, 100", () -> store.history(BIG, 100), List::size);
        read(name, "effects of a slot", () -> store.effectsOf(BIG, slot.key()), List::size);
        read(name, "effects that wait", () -> store.effects(new Filter(null, List.of(), true), 100), List::size);
        read(name, "tallies of effects", store::tallies, List::size);
        read(name, "events of 20 runs", () -> store.eventsOfRuns(runs), List::size);
        read(name, "events of one job, 100", () -> store.eventsOf(BIG, 100), List::size);
        read(name, "nodes", () -> store.nodes(100), List::size);
        read(name, "jobs with ticks", store::jobsWithTicks, List::size);
        read(name, "counts(), status alone", store::counts, Map::size);
    }

    private static int size(Page page) {
        return page.entries().size();
    }

    private static <T> void read(String store, String what, Supplier<T> read, ToIntFunction<T> size) {
        int rows = 0;
        for (int i = 0; i < 40; i++) { // the sixth is planned for any values, if the server likes that better
            rows = size.applyAsInt(read.get());
        }
        List<Double> times = new ArrayList<>();
        for (int i = 0; i < ROUNDS; i++) {
            long begin = System.nanoTime();
            rows = size.applyAsInt(read.get());
            times.add((System.nanoTime() - begin) / 1e6);
        }
        times.sort(null);
        System.out.printf(
                Locale.ROOT,
                "| %s | %s | %.1f | %.1f | %d |%n",
                what,
                store,
                times.get(times.size() / 2),
                times.getLast(),
                rows);
    }
}
