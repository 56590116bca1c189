package dev.fencepost.edge.cli;

import dev.fencepost.edge.cli.DemoCommand.Workers;
import dev.fencepost.edge.host.Stopwatch;
import dev.fencepost.edge.jdbc.DemoResults;
import dev.fencepost.edge.jdbc.DemoResults.Final;
import dev.fencepost.host.Printable;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.StoreException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The experiment with a stale worker: a lease alone does not keep a late writer out, a token that is checked with the write does.
 *
 * <p>For each job, once without and once with a token: worker-a claims; its lease really expires; worker-b claims, and writes the new
 * result; worker-a comes back, as from a long pause, and writes the old one.
 */
@Command(
        description = {
            "Replays the stale-worker experiment, without and with a token, side by side.",
            "For each job: worker-a claims and falls asleep, its lease expires, worker-b claims and writes the",
            "new result, and worker-a wakes up and writes the old one. Takes two ttl and a little.",
            "",
            "With --server the jobs are items of a new queue behind its HTTP API, and both workers write at the",
            "same time, in any order. There is no column without a token then: the API takes no such write.",
            "The token of the file needs the scopes read and work."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost demo fencing",
            "  fencepost demo fencing --jobs 100 --store postgresql://fencepost@localhost/fencepost --json",
            "  fencepost demo fencing --jobs 1000 --server https://vps.example --token-file worker.token"
        })
final class FencingDemo implements Callable<Integer> {

    private static final int MOST_JOBS = 10_000;
    private static final Duration LEAST_TTL = Duration.ofMillis(100);
    private static final Duration LONGEST_TTL = Duration.ofHours(1);

    /** Of worker-b, who has to hold its leases until the end. */
    private static final Duration LONG_TTL = Duration.ofHours(1);

    private static final String NEW = "new";
    private static final String OLD = "old";

    @Option(names = "--jobs", paramLabel = "N", description = "So many jobs in each column, 1 to 10000. Else 20.")
    private int jobs = 20;

    @Option(names = "--ttl", paramLabel = "DURATION", description = "Of worker-a's leases, 100ms to 1h. Else 1s.")
    private String ttl = "1s";

    @Mixin
    private final WorkTarget target = new WorkTarget();

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    FencingDemo(SharedOptions shared) {
        this.shared = shared;
    }

    /** What came of one of the two ways to write. */
    record Column(
            int newAccepted,
            int staleAccepted,
            int staleRejected,
            int finalNew,
            int finalStale,
            String finalOwner,
            String finalCompletedBy,
            double staleWriteMillis) {

        boolean contradictsItself() {
            return !finalOwner.equals(finalCompletedBy);
        }

        Map<String, @Nullable Object> json() {
            return Json.object(
                    "new_accepted", newAccepted,
                    "stale_accepted", staleAccepted,
                    "stale_rejected", staleRejected,
                    "final_new", finalNew,
                    "final_stale", finalStale,
                    "final_owner", finalOwner,
                    "final_completed_by", finalCompletedBy,
                    "stale_write_ms", staleWriteMillis);
        }
    }

    @Override
    public Integer call() throws InterruptedException {
        Bounds.number(spec, "--jobs", jobs, 1, MOST_JOBS);
        Duration length = Bounds.duration("--ttl", ttl, LEAST_TTL, LONGEST_TTL);
        if (target.isServer()) {
            return overHttp(length);
        }
        target.refuseTokenForStore(spec);
        try (OpenedStore opened = OpenedStore.prepared(
                shared,
                shared.jobsFileIfAny(),
                new TerseJournal(shared.surroundings().err()))) {
            DemoResults results = opened.store().demoResults();
            Column without = column(opened, results, length, results::writeUnfenced);
            Column with = column(
                    opened,
                    results,
                    length,
                    (lease, result) -> results.writeFenced(lease, result).isEmpty());
            if (shared.json()) {
                Json.print(
                        shared.surroundings().out(),
                        Json.object(
                                "store",
                                opened.store().describe(),
                                "jobs",
                                jobs,
                                "without_token",
                                without.json(),
                                "with_token",
                                with.json()));
            } else {
                print(opened.store().describe(), without, with);
            }
            return with.staleAccepted == 0 ? ExitCode.FINE : ExitCode.FAILED;
        }
    }

    private int overHttp(Duration length) throws InterruptedException {
        try (WorkTarget.Opened opened = target.open(shared, spec, false)) {
            FencingOverHttp experiment = new FencingOverHttp(opened.queue(), opened.assembly(), jobs);
            Column with = experiment.run(length);
            String server = opened.queue().toString();
            if (shared.json()) {
                Json.print(
                        shared.surroundings().out(),
                        Json.object(
                                "store",
                                server,
                                "jobs",
                                jobs,
                                "without_token",
                                null,
                                "with_token",
                                with.json(),
                                "stale_reasons",
                                experiment.staleReasons()));
            } else {
                print(server, with, experiment);
            }
            return with.staleAccepted == 0 && with.finalNew == jobs ? ExitCode.FINE : ExitCode.FAILED;
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), Printable.text(String.valueOf(e.getMessage())), e);
        } catch (StoreException e) {
            throw WorkCall.noAnswer(e);
        }
    }

    private Column column(OpenedStore opened, DemoResults results, Duration length, BiPredicate<Lease, String> write)
            throws InterruptedException {
        Workers workers = new Workers(opened);
        List<String> names = workers.resources(jobs);
        List<Lease> ofB = new ArrayList<>();
        try {
            names.forEach(results::create);
            List<Lease> ofA = names.stream()
                    .map(name -> workers.claimFree(name, DemoCommand.WORKER_A, length))
                    .toList();
            ofB.addAll(workers.takeOver(ofA, DemoCommand.WORKER_B, LONG_TTL));
            int newAccepted = accepted(ofB, NEW, write);
            Stopwatch watch = Stopwatch.start();
            int staleAccepted = accepted(ofA, OLD, write);
            double millis = watch.millis();
            List<Final> rows = names.stream().map(results::read).toList();
            return new Column(
                    newAccepted,
                    staleAccepted,
                    jobs - staleAccepted,
                    count(rows, NEW),
                    count(rows, OLD),
                    workers.holders(names),
                    Workers.distinct(rows.stream()
                            .map(row -> row.completedBy() == null ? "nobody" : row.completedBy())
                            .toList()),
                    millis);
        } finally {
            workers.giveBack(ofB);
            Workers.cleanUp(names, results::delete);
        }
    }

    private static int accepted(List<Lease> leases, String result, BiPredicate<Lease, String> write) {
        return (int) leases.stream().filter(lease -> write.test(lease, result)).count();
    }

    private static int count(List<Final> rows, String result) {
        return (int) rows.stream().filter(row -> result.equals(row.result())).count();
    }

    private void print(String store, Column without, Column with) {
        PrintWriter out = shared.surroundings().out();
        out.println(
                jobs + " jobs on " + store + ": worker-a sleeps past its lease, worker-b takes over, worker-a writes");
        out.println();
        TextTable table = new TextTable("", ">WITHOUT TOKEN", ">WITH TOKEN");
        table.row("new result of worker-b accepted", of(without.newAccepted), of(with.newAccepted));
        table.row("stale write of worker-a accepted", of(without.staleAccepted), of(with.staleAccepted));
        table.row("stale write of worker-a rejected", of(without.staleRejected), of(with.staleRejected));
        table.row("final rows new / old", finalRows(without), finalRows(with));
        table.row("final lease held by", without.finalOwner, with.finalOwner);
        table.row("final row completed by", without.finalCompletedBy, with.finalCompletedBy);
        table.row("rows contradict their lease", yes(without), yes(with));
        table.row("time for the stale writes", millis(without), millis(with));
        table.print(out);
        out.println();
        out.println("each rejected write is recorded: fencepost events");
    }

    private void print(String server, Column with, FencingOverHttp experiment) {
        PrintWriter out = shared.surroundings().out();
        out.println(Printable.text(jobs + " items on " + server
                + ": worker-a sleeps past its lease, worker-b takes over, both write at the same time"));
        out.println();
        TextTable table = new TextTable("", ">WITH TOKEN");
        table.row("new result of worker-b accepted", of(with.newAccepted));
        table.row("stale write of worker-a accepted", of(with.staleAccepted));
        table.row("stale write of worker-a rejected", of(with.staleRejected));
        experiment.staleReasons().forEach((reason, count) -> table.row("  as " + reason, of(count)));
        table.row("final results new / old", finalRows(with));
        table.row("newest token is of", with.finalOwner);
        table.row("final result is of", with.finalCompletedBy);
        table.row("time for the stale writes", millis(with));
        table.print(out);
        out.println();
        out.println("there is no column without a token: the API takes no write without one");
        out.println("each rejected write is recorded at the server: fencepost events");
        out.println("the items stay in the queue " + experiment.queueName() + " until the server prunes them");
    }

    private String of(int count) {
        return count + "/" + jobs;
    }

    private static String finalRows(Column column) {
        return column.finalNew + " / " + column.finalStale;
    }

    private static String yes(Column column) {
        return column.contradictsItself() ? "yes" : "no";
    }

    private static String millis(Column column) {
        return column.staleWriteMillis + " ms";
    }
}
