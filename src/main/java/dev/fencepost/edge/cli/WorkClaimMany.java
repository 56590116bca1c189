package dev.fencepost.edge.cli;

import dev.fencepost.host.Printable;
import dev.fencepost.host.Spawner;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.work.WorkAnswer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Lets many owners claim one item at the same moment. */
@Command(
        description = {
            "Claims one item for many owners at the same moment, each on a thread and with a request of its own.",
            "Answers in the order of the owners: one of them gets a token, the others none. For tests and demonstrations."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost work claim-many page-17 --owners a,b,c --ttl 10s",
            "  fencepost work claim-many page-17 --owners a,b,c --ttl 10s --json"
        })
final class WorkClaimMany extends WorkCall {

    private static final int MOST_OWNERS = 1_000;
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    @Parameters(paramLabel = "ID", description = "The id of the item.")
    @SuppressWarnings("NullAway.Init")
    private String id;

    @Option(names = "--owners", paramLabel = "A,B,C", required = true, split = ",", description = "Who claims.")
    private List<String> owners = new ArrayList<>();

    @Option(names = "--ttl", paramLabel = "DURATION", required = true, description = "For how long, such as 10s.")
    @SuppressWarnings("NullAway.Init")
    private String ttl;

    WorkClaimMany(SharedOptions shared) {
        super(shared);
    }

    @Override
    boolean makesTheStore() {
        return true;
    }

    @Override
    Question question() {
        Bounds.number(spec, "--owners", owners.size(), 1, MOST_OWNERS);
        List<Owner> claimants =
                owners.stream().map(text -> owner("--owners", text)).toList();
        Duration length = ttl(ttl);
        return opened -> tell(claimants, claimAll(opened, claimants, length));
    }

    private List<WorkAnswer> claimAll(WorkTarget.Opened opened, List<Owner> claimants, Duration length)
            throws InterruptedException {
        AtomicReferenceArray<@Nullable Object> answers = new AtomicReferenceArray<>(claimants.size());
        CountDownLatch gate = new CountDownLatch(1);
        List<Spawner.Task> tasks = new ArrayList<>();
        for (int i = 0; i < claimants.size(); i++) {
            int at = i;
            RunId runId = new RunId(opened.assembly().entropy().uuid());
            tasks.add(opened.assembly().spawner().virtualThread("claim " + claimants.get(at), () -> {
                try {
                    gate.await();
                    answers.set(at, opened.queue().claimItem(id, claimants.get(at), runId, length));
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                } catch (RuntimeException e) {
                    answers.set(at, e);
                }
            }));
        }
        gate.countDown();
        List<WorkAnswer> all = new ArrayList<>();
        for (int i = 0; i < tasks.size(); i++) {
            if (!tasks.get(i).join(PATIENCE)) {
                throw new CommandFailure(ExitCode.STORE_UNAVAILABLE, "fencepost: a claim had no answer in two minutes");
            }
            switch (answers.get(i)) {
                case WorkAnswer answer -> all.add(answer);
                case RuntimeException failure -> throw failure;
                case null, default -> throw new IllegalStateException("a claim ended without an answer");
            }
        }
        return all;
    }

    private int tell(List<Owner> claimants, List<WorkAnswer> answers) {
        boolean ok = answers.stream().anyMatch(WorkAnswer.Done.class::isInstance);
        List<Map<String, @Nullable Object>> items = new ArrayList<>();
        Object firstReason = null;
        for (int i = 0; i < answers.size(); i++) {
            Owner claimant = claimants.get(i);
            switch (answers.get(i)) {
                case WorkAnswer.Done done -> {
                    items.add(Json.object(
                            "owner",
                            claimant,
                            "fence",
                            done.item().fence(),
                            "run_id",
                            done.item().runId(),
                            "until",
                            done.item().until(),
                            "reason",
                            null));
                    say(claimant + ": claimed with token " + done.item().fence());
                }
                case WorkAnswer.Refused refused -> {
                    firstReason = firstReason == null ? refused.reason() : firstReason;
                    items.add(Json.object(
                            "owner",
                            claimant,
                            "fence",
                            null,
                            "run_id",
                            null,
                            "until",
                            null,
                            "reason",
                            refused.reason()));
                    say(claimant + ": refused, " + refused.reason());
                }
            }
        }
        if (shared.json()) {
            Json.print(out(), Json.object("ok", ok, "items", items, "reason", ok ? null : firstReason));
        }
        return ok ? ExitCode.FINE : ExitCode.REFUSED;
    }

    private void say(String line) {
        if (!shared.json()) {
            out().println(Printable.text(line));
        }
    }
}
