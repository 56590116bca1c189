package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.config.StoreUrl;
import dev.fencepost.edge.jdbc.Diagnosis;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.run.Job;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The checks that ask the store. It is never made, and nothing in it is changed. */
final class StoreCheckup {

    private static final Duration LIMIT = Duration.ofSeconds(15);
    private static final Duration LONG_LIMIT = Duration.ofSeconds(60);

    /** After that the rest of the jobs is left out. */
    private static final Duration ENOUGH_HISTORY = Duration.ofSeconds(20);

    private static final int WRITES = 5;
    private static final int CLOCK_LOOKS = 5;
    private static final int MOST_NODES = 200;

    /** At its place in the first page of a file; 2 is WAL. */
    private static final int WRITE_VERSION_AT = 18;

    private static final byte WAL = 2;
    private static final byte[] MAGIC = "SQLite format 3\0".getBytes(StandardCharsets.US_ASCII);

    private final SharedOptions shared;
    private final @Nullable JobsFile file;
    private final Checkup checkup;
    private volatile @Nullable OpenedStore opened;
    private volatile @Nullable Diagnosis diagnosis;

    StoreCheckup(SharedOptions shared, @Nullable JobsFile file, Checkup checkup) {
        this.shared = shared;
        this.file = file;
        this.checkup = checkup;
    }

    void run() {
        checkup.check(StoreVerdicts.STORE, LIMIT, this::reach);
        OpenedStore reached = opened;
        Diagnosis known = diagnosis;
        if (reached != null) {
            if (known != null) {
                ask(reached.store(), known);
            }
            close(reached);
        }
    }

    /** A store on which something hangs cannot be closed either. */
    private void close(OpenedStore reached) {
        try {
            reached.assembly()
                    .spawner()
                    .platformThread("close of the store", reached::close)
                    .join(LIMIT);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private List<Verdict> reach() throws IOException {
        StoreUrl url = shared.store(file);
        List<Verdict> verdicts = new ArrayList<>();
        Path path = url.file();
        if (path != null) {
            if (!Files.exists(path)) {
                return List.of(Verdict.note(
                        StoreVerdicts.STORE,
                        "there is none at " + url.display() + " yet",
                        "fencepost serve and fencepost run make it; another one is named with --store"));
            }
            verdicts.add(StoreVerdicts.fileSystem(
                    "the store file", Files.getFileStore(path).type()));
            Verdict strange = strange(path);
            if (strange != null) {
                verdicts.add(strange);
                return verdicts;
            }
        }
        OpenedStore reached = OpenedStore.asItIs(shared, url);
        opened = reached;
        Diagnosis known = reached.store().diagnosis();
        diagnosis = known;
        verdicts.add(Verdict.ok(StoreVerdicts.STORE, url.display() + " answers"));
        verdicts.add(StoreVerdicts.schema(known));
        verdicts.addAll(StoreVerdicts.engine(known.engine()));
        return verdicts;
    }

    /** Looks into the file before SQLite does, since opening it sets WAL mode. Null for a usual one. */
    private static @Nullable Verdict strange(Path path) throws IOException {
        byte[] head;
        try (InputStream in = Files.newInputStream(path)) {
            head = in.readNBytes(WRITE_VERSION_AT + 1);
        } catch (AccessDeniedException e) {
            return Verdict.bad(
                    StoreVerdicts.STORE,
                    "there is no right to read " + path,
                    "ask as the user of the service: sudo -u USER fencepost doctor");
        }
        if (head.length == 0) {
            return Verdict.note(
                    StoreVerdicts.STORE,
                    "the file " + path + " is empty",
                    "fencepost serve and fencepost run make the store in it");
        }
        if (head.length <= WRITE_VERSION_AT || !Arrays.equals(head, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
            return Verdict.bad(
                    StoreVerdicts.STORE,
                    path + " is no SQLite database",
                    "name the right file with --store, or restore a backup");
        }
        return head[WRITE_VERSION_AT] == WAL ? null : StoreVerdicts.notWal();
    }

    private void ask(JdbcStore store, Diagnosis known) {
        if (!(known.engine() instanceof Diagnosis.Postgres postgres && postgres.standby())) {
            checkup.check(StoreVerdicts.WRITE, LIMIT, () -> List.of(StoreVerdicts.writeTime(medianWrite(store))));
        }
        switch (known.engine()) {
            case Diagnosis.Postgres postgres ->
                checkup.check(ClockVerdicts.WALL_CLOCK, LIMIT, () -> List.of(wallClock(store)));
            case Diagnosis.Sqlite sqlite ->
                checkup.check(
                        StoreVerdicts.DAMAGE,
                        LONG_LIMIT,
                        () -> List.of(
                                sqlite.bytes() > StoreVerdicts.MOST_CHECKED_BYTES
                                        ? StoreVerdicts.tooLargeToCheck(sqlite.bytes())
                                        : StoreVerdicts.damage(store.damage())));
        }
        if (known.isPrepared()) {
            checkup.check(FleetVerdicts.NODES, LIMIT, () -> FleetVerdicts.nodes(store.nodes(MOST_NODES), store.now()));
            checkup.check(FleetVerdicts.PAUSES, LIMIT, () -> FleetVerdicts.pauses(known.paused(), store.now()));
            checkup.check(FleetVerdicts.EFFECTS, LIMIT, () -> List.of(FleetVerdicts.effects(store.tallies())));
            checkup.check(FleetVerdicts.SINKS, LIMIT, () -> FleetVerdicts.sinks(known.ahead()));
            checkup.check(FleetVerdicts.WORK, LIMIT, () -> List.of(FleetVerdicts.work(store.queues())));
            JobsFile jobs = file;
            if (jobs != null) {
                checkup.check(JobVerdicts.TTL, LONG_LIMIT, () -> ttls(store, jobs.jobs()));
            }
        }
    }

    private static Duration medianWrite(JdbcStore store) {
        store.writeNothing(); // the first one opens the connection
        List<Long> nanos = new ArrayList<>();
        for (int i = 0; i < WRITES; i++) {
            long begin = System.nanoTime();
            store.writeNothing();
            nanos.add(System.nanoTime() - begin);
        }
        return Duration.ofNanos(nanos.stream().sorted().toList().get(WRITES / 2));
    }

    /** Of several looks the one that took the shortest time knows best. */
    private Verdict wallClock(JdbcStore store) {
        Duration ahead = Duration.ZERO;
        Duration doubt = null;
        for (int i = 0; i < CLOCK_LOOKS; i++) {
            Instant before = shared.surroundings().wallClock().instant();
            Instant there = store.now();
            Instant after = shared.surroundings().wallClock().instant();
            Duration half = Duration.between(before, after).dividedBy(2);
            if (doubt == null || half.compareTo(doubt) < 0) {
                doubt = half;
                ahead = Duration.between(before.plus(half), there);
            }
        }
        return ClockVerdicts.wallClock(ahead, Objects.requireNonNull(doubt));
    }

    private static List<Verdict> ttls(JdbcStore store, List<Job> jobs) {
        List<Verdict> verdicts = new ArrayList<>();
        long end = System.nanoTime() + ENOUGH_HISTORY.toNanos();
        int looked = 0;
        for (Job job : jobs) {
            if (System.nanoTime() > end) {
                break;
            }
            Verdict verdict = JobVerdicts.ttl(job, store.longestSuccess(job.id()));
            if (verdict != null) {
                verdicts.add(verdict);
            }
            looked++;
        }
        if (verdicts.isEmpty() || looked < jobs.size()) {
            verdicts.add(JobVerdicts.ttlsFit(looked, jobs.size()));
        }
        return verdicts;
    }
}
