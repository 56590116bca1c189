package dev.fencepost.edge.cli;

import dev.fencepost.edge.cli.DemoCommand.Workers;
import dev.fencepost.edge.host.Stopwatch;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Lets leases of a worker that died expire, and measures how long another one needs to take all of them over. */
@Command(
        description = {
            "Lets leases expire and measures how long taking all of them over took.",
            "worker-a claims N leases and dies; worker-b tries until it has them all. A fresh lease cannot be taken",
            "before its end, so the time is never shorter than the ttl."
        },
        footer = {"", "Examples:", "  fencepost demo reclaim", "  fencepost demo reclaim --jobs 100 --ttl 5s --json"})
final class ReclaimDemo implements Callable<Integer> {

    private static final int MOST_JOBS = 10_000;
    private static final Duration LEAST_TTL = Duration.ofMillis(100);
    private static final Duration LONGEST_TTL = Duration.ofHours(1);

    @Option(names = "--jobs", paramLabel = "N", description = "So many leases, 1 to 10000. Else 10.")
    private int jobs = 10;

    @Option(names = "--ttl", paramLabel = "DURATION", description = "Of worker-a's leases, 100ms to 1h. Else 3s.")
    private String ttl = "3s";

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    ReclaimDemo(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() throws InterruptedException {
        Bounds.number(spec, "--jobs", jobs, 1, MOST_JOBS);
        Duration length = Bounds.duration("--ttl", ttl, LEAST_TTL, LONGEST_TTL);
        try (OpenedStore opened = OpenedStore.prepared(
                shared,
                shared.jobsFileIfAny(),
                new TerseJournal(shared.surroundings().err()))) {
            Workers workers = new Workers(opened);
            List<Lease> taken = new ArrayList<>();
            try {
                Stopwatch watch = Stopwatch.start();
                List<Lease> ofA = workers.resources(jobs).stream()
                        .map(name -> workers.claimFree(name, DemoCommand.WORKER_A, length))
                        .toList();
                taken.addAll(workers.takeOver(ofA, DemoCommand.WORKER_B, LONGEST_TTL));
                Duration total = watch.elapsed();
                // Both by the store's clock; on SQLite its resolution of 10 ms can turn nothing into a little less.
                Duration after = Duration.between(
                        Workers.lastEnd(ofA),
                        taken.stream()
                                .map(Lease::grantedAt)
                                .max(Instant::compareTo)
                                .orElseThrow());
                tell(opened.store().describe(), length, taken, total, after.isNegative() ? Duration.ZERO : after);
            } finally {
                workers.giveBack(taken);
            }
        }
        return ExitCode.FINE;
    }

    private void tell(String store, Duration length, List<Lease> taken, Duration total, Duration after) {
        PrintWriter out = shared.surroundings().out();
        if (shared.json()) {
            Json.print(
                    out,
                    Json.object(
                            "store",
                            store,
                            "jobs",
                            jobs,
                            "ttl_ms",
                            length.toMillis(),
                            "reclaimed",
                            taken.size(),
                            "total_ms",
                            total.toMillis(),
                            "after_expiry_ms",
                            after.toMillis()));
            return;
        }
        List<FencingToken> tokens = taken.stream().map(Lease::fence).toList();
        out.println(taken.size() + " of " + jobs + " expired leases taken over on " + store);
        out.println();
        out.println("ttl                                     " + length.toMillis() + " ms");
        out.println("from the first claim to the last        " + total.toMillis() + " ms");
        out.println("of it after the last lease had expired  " + after.toMillis() + " ms");
        out.println("tokens of worker-b                      " + Collections.min(tokens) + " to "
                + Collections.max(tokens));
    }
}
