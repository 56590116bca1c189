package dev.fencepost.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.Store;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.Event;
import dev.fencepost.host.ManualTime;
import dev.fencepost.host.TestThreads;
import dev.fencepost.lease.DeadlineWatch;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A job's loop on a store of its own, with clocks that the test moves and children that end at once. */
class JobLoopOnSqliteTest {

    private static final Owner OWNER = new Owner("runner");

    @TempDir
    private Path folder;

    private final ManualTime time = new ManualTime(Instant.parse("2026-05-04T03:02:10Z"));
    private final TestThreads threads = new TestThreads();
    private final List<Event> events = new CopyOnWriteArrayList<>();
    private final List<String> slots = new CopyOnWriteArrayList<>();
    private @Nullable Store opened;

    @BeforeEach
    void open() {
        opened = JdbcStore.sqlite(folder.resolve("s.db"), time, threads);
        opened.prepare();
    }

    @AfterEach
    void close() {
        store().close();
        assertEquals(List.of(), threads.failures());
        assertEquals(
                List.of(),
                events.stream().filter(Event.Problem.class::isInstance).toList());
    }

    private Store store() {
        Store store = opened;
        assertNotNull(store);
        return store == null ? fail() : store;
    }

    private static Store fail() {
        throw new AssertionError("not opened");
    }

    private static Job job(@Nullable Instant startFrom, CatchUp catchUp) {
        return new Job(
                "j",
                new Every(Duration.ofMinutes(1)),
                ZoneOffset.UTC,
                new Action.Command(List.of("true"), null, Map.of(), null, null),
                Set.of(),
                Duration.ofMinutes(10),
                null,
                Duration.ofSeconds(1),
                catchUp,
                startFrom,
                2,
                null,
                List.of());
    }

    private JobLoop registered(Job job) {
        store().register(List.of(job));
        DeadlineWatch watch = new DeadlineWatch(time);
        Children children = new EndedChildren(
                spec -> slots.add(String.valueOf(spec.environment().get("FENCEPOST_SLOT"))));
        Runner runner = new Runner(
                store(),
                store(),
                children,
                new NoHttpCalls(),
                new Folders(),
                new NoPublications(),
                watch,
                time,
                threads,
                new Dice(),
                events::add,
                Notices.NONE,
                OWNER,
                1 << 20);
        return new JobLoop(
                job,
                store(),
                store(),
                runner,
                children,
                Notices.NONE,
                new Places(0, time),
                OWNER,
                time,
                threads,
                events::add);
    }

    /** Time goes by, the job is woken, and has done what there was to do. */
    private void wakeAfter(Duration duration, JobLoop loop, int runsThen) throws InterruptedException {
        time.pass(duration);
        loop.wakeIfDue(Instant.EPOCH, time.bootMillis());
        long giveUp = System.nanoTime() + Duration.ofSeconds(10).toNanos();
        while (executed() < runsThen) {
            assertTrue(System.nanoTime() < giveUp, () -> "ran " + slots + ", events " + events);
            Thread.sleep(2); // the loop works on threads of its own
        }
        assertEquals(runsThen, executed());
    }

    private long executed() {
        return events.stream().filter(Event.Executed.class::isInstance).count();
    }

    @Test
    void aSlotRunsOnceAndItsEndIsStored() throws InterruptedException {
        JobLoop loop = registered(job(null, CatchUp.DEFAULT));
        wakeAfter(Duration.ZERO, loop, 0);
        wakeAfter(Duration.ofSeconds(50), loop, 1);
        wakeAfter(Duration.ofSeconds(60), loop, 2);
        assertEquals(List.of("2026-05-04T03:03:00Z", "2026-05-04T03:04:00Z"), slots);
        assertEquals(
                List.of(Outcome.SUCCEEDED, Outcome.SUCCEEDED),
                store().history("j", 10).stream()
                        .map(History.Entry::tickOutcome)
                        .toList());
    }

    /** The cursor of such a job stands ahead of the clock, as after a clock that was set back; but its slots have not come yet. */
    @Test
    void aJobWithAStartAheadWaitsForIt() throws InterruptedException {
        JobLoop loop = registered(job(Instant.parse("2026-05-04T03:05:00Z"), new CatchUp(100, null)));
        wakeAfter(Duration.ZERO, loop, 0);
        wakeAfter(Duration.ofSeconds(60), loop, 0);
        wakeAfter(Duration.ofSeconds(109), loop, 0);
        wakeAfter(Duration.ofSeconds(1), loop, 1);
        wakeAfter(Duration.ofSeconds(60), loop, 2);
        assertEquals(List.of("2026-05-04T03:05:00Z", "2026-05-04T03:06:00Z"), slots);
    }

    private static final class Dice implements Entropy {
        @Override
        public UUID uuid() {
            return UUID.randomUUID();
        }

        @Override
        public double fraction() {
            return 0.5;
        }
    }

    private final class Folders implements Workspace {
        @Override
        public RunFiles prepare(String job, Slot slot, int attempt, RunId runId) {
            return new RunFiles(folder, folder, folder, folder);
        }

        @Override
        public byte @Nullable [] result(RunFiles files) {
            return null;
        }

        @Override
        public void output(RunFiles files, Consumer<String> line) {}
    }
}
