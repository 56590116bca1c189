package dev.fencepost.edge.quarkus;

import dev.fencepost.Store;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.process.OutputRetention;
import dev.fencepost.edge.process.OutputRetention.Removed;
import dev.fencepost.edge.web.Artifacts;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Programs;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.run.Job;
import dev.fencepost.run.Policies.Brakes;
import dev.fencepost.run.Pruner;
import dev.fencepost.run.RetentionPolicy;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What a service lets go of while it runs: one pruner for each kind, by the jobs file in force. */
final class Upkeep {

    private final Supplier<JobsFile> file;
    private final Store store;
    private final BooleanSupplier ready;
    private final Time time;
    private final Journal journal;
    private final List<Pruner> pruners = new ArrayList<>();

    Upkeep(Supplier<JobsFile> file, Store store, BooleanSupplier ready, Time time, Journal journal) {
        this.file = file;
        this.store = store;
        this.ready = ready;
        this.time = time;
        this.journal = journal;
        add("ticks", RetentionPolicy::ticks, this::ticks);
        add("events", RetentionPolicy::events, store::pruneEvents);
        add("effects", RetentionPolicy::effects, store::pruneEffects);
    }

    private void add(String what, Function<RetentionPolicy, Duration> keep, Pruner.Batch batch) {
        pruners.add(
                new Pruner(what, () -> keep.apply(file.get().retention()), ready, store::now, batch, time, journal));
    }

    private int ticks(Instant endedBefore, int limit) {
        RetentionPolicy common = file.get().retention();
        Map<String, Brakes> brakes = file.get().jobs().stream()
                .collect(Collectors.toMap(Job::id, job -> job.policies().brakes()));
        int gone = 0;
        for (String job : store.jobsWithTicks()) {
            RetentionPolicy keep = common.with(brakes.getOrDefault(job, Brakes.NONE));
            Instant before = endedBefore.minus(keep.ticks().minus(common.ticks()));
            gone += store.pruneTicks(job, before, keep.ticksOfJob(), limit - gone);
            if (gone == limit) {
                break;
            }
        }
        return gone;
    }

    /** Items of work. Without the API the files of this node are swept when it is on again. */
    void addWork(Duration keep, @Nullable Artifacts artifacts) {
        Pruner.Batch batch = artifacts == null
                ? (before, limit) -> store.prune(before, limit).items()
                : artifacts::prune;
        pruners.add(new Pruner("items of work", () -> keep, ready, store::now, batch, time, journal));
    }

    /** Folders of runs on this node; also to make room, before their time. */
    void addOutputs(Path runs, Programs programs) {
        Pruner.Batch batch = (before, limit) -> {
            try {
                Removed removed = OutputRetention.of(
                                runs, file.get().retention().outputs(), store, programs, time)
                        .removeBatch(limit);
                if (!removed.failures().isEmpty()) {
                    throw new IOException(String.join("; ", removed.failures()));
                }
                return removed.isDone() ? Math.min(removed.folders(), limit - 1) : limit;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
                return 0;
            }
        };
        pruners.add(new Pruner(
                "folders of runs",
                () -> file.get().retention().outputs(),
                ready,
                time::wallClock,
                batch,
                time,
                journal));
    }

    void start(Spawner spawner) {
        pruners.forEach(each -> spawner.virtualThread("prune", each));
    }

    void stop() {
        pruners.forEach(Pruner::stop);
    }
}
