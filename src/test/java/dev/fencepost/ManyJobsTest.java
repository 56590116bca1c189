package dev.fencepost;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.fencepost.host.Event;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Job;
import dev.fencepost.run.Notices;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Places;
import dev.fencepost.run.Rig;
import dev.fencepost.schedule.Cron;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Schedule;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Five hundred jobs through an hour of the rig's clock, on a real SQLite store. */
class ManyJobsTest {

    private static final int JOBS = 500;
    private static final Duration HOUR = Duration.ofHours(1);
    private static final long SEED = 20261130;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @Test
    void everySlotOfAnHourHasExactlyOneTick() {
        Random random = new Random(SEED);
        List<Job> jobs = new ArrayList<>();
        for (int i = 0; i < JOBS; i++) {
            jobs.add(Rig.job("job-" + i, schedule(random)));
        }
        try (Rig rig = new Rig(folder)) {
            Node node = new Node(
                    rig.store,
                    jobs,
                    rig.owner,
                    rig.runner,
                    rig.children,
                    rig.dispatcher,
                    rig.watch,
                    Notices.NONE,
                    new Places(0, rig.time),
                    rig.time,
                    rig.spawner,
                    rig.events::add);
            rig.children.life = child -> child.code = random.nextInt(10) == 0 ? 1 : 0;
            node.wake();
            rig.spawner.runAll();
            Instant begin = rig.time.wallClock();
            Instant end = begin.plus(HOUR);
            while (rig.time.wallClock().isBefore(end)) {
                rig.time.pass(Node.LOOK_AHEAD);
                node.wake();
                rig.spawner.runAll();
            }
            Instant last = rig.time.wallClock();
            long runs = 0;
            for (Job job : jobs) {
                List<String> expected = new ArrayList<>();
                for (Instant slot = job.schedule().next(begin);
                        slot != null && !slot.isAfter(last);
                        slot = job.schedule().next(slot)) {
                    expected.addFirst(slot.toString());
                }
                List<Attempt> attempts = rig.real.history(job.id(), 10_000).stream()
                        .map(entry -> entry.attempt())
                        .filter(attempt -> attempt != null)
                        .toList();
                assertEquals(expected, attempts.stream().map(Attempt::slotKey).toList(), job.id());
                attempts.forEach(attempt -> assertEquals(
                        attempt.exitCode() != null && attempt.exitCode() == 0 ? Outcome.SUCCEEDED : Outcome.FAILED,
                        attempt.outcome()));
                runs += attempts.size();
            }
            assertEquals(runs, rig.children.started.size(), "children, and attempts");
            assertEquals(List.of(), rig.events(Event.Problem.class));
            assertEquals(List.of(), rig.events(Event.Dropped.class));
            assertEquals(List.of(), rig.events(Event.SkippedOverlap.class));
        }
    }

    private static Schedule schedule(Random random) {
        return switch (random.nextInt(3)) {
            case 0 -> new Every(Duration.ofSeconds(60 + random.nextInt(3600)));
            case 1 -> Cron.parse("%d * * * *".formatted(random.nextInt(60)), ZoneId.of("Asia/Kolkata"));
            default -> Cron.parse("*/%d * * * *".formatted(1 + random.nextInt(30)), ZoneId.of("Australia/Lord_Howe"));
        };
    }
}
