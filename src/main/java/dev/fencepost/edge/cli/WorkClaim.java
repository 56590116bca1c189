package dev.fencepost.edge.cli;

import dev.fencepost.edge.remote.RemoteWorkQueue;
import dev.fencepost.host.Printable;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Claims one item by its id, or whatever is next in a queue. */
@Command(
        description = {
            "Claims an item for a time, with a new token.",
            "By its id, or with --any what is next in a queue: the highest priority first, of the same the oldest. Ends",
            "with 3 when it is refused, or when there is nothing to claim."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost work claim page-17 --owner worker-a --ttl 10m",
            "  fencepost work claim --any --queue pages --owner worker-a --ttl 10m --json",
            "  fencepost work claim --any --max 5 --owner worker-a --ttl 10m",
            "  fencepost work claim --any --owner worker-a --ttl 10m --wait 30s \\",
            "      --server https://vps.example --token-file worker.token"
        })
final class WorkClaim extends WorkCall {

    @Parameters(paramLabel = "ID", arity = "0..1", description = "The id of the item.")
    private @Nullable String id;

    @Option(names = "--any", description = "Whatever is next, instead of one item.")
    private boolean any;

    @Option(names = "--queue", paramLabel = "Q", description = "With --any: of this queue. Else of default.")
    private @Nullable String queue;

    @Option(names = "--owner", paramLabel = "O", required = true, description = "Who claims, 1 to 200 characters.")
    @SuppressWarnings("NullAway.Init")
    private String owner;

    @Option(names = "--ttl", paramLabel = "DURATION", required = true, description = "For how long, such as 10m.")
    @SuppressWarnings("NullAway.Init")
    private String ttl;

    @Option(names = "--max", paramLabel = "N", description = "With --any: so many at most, 1 to 1000; prints a list.")
    private @Nullable Integer max;

    @Option(
            names = "--wait",
            paramLabel = "DURATION",
            description = "With --any and --server: wait so long for the first one, at most 60s.")
    private @Nullable String wait;

    WorkClaim(SharedOptions shared) {
        super(shared);
    }

    @Override
    boolean makesTheStore() {
        return true; // the next token may depend on what the store tells of itself
    }

    @Override
    Question question() {
        if (any == (id != null)) {
            throw wrong(any ? "an ID or --any, not both" : "which item? give its ID, or --any");
        }
        if (!any && (queue != null || max != null || wait != null)) {
            throw wrong("--queue, --max and --wait go with --any");
        }
        if (wait != null && !target.isServer()) {
            throw wrong("--wait: only a server waits; without --server claim again");
        }
        Owner claimant = owner("--owner", owner);
        Duration length = ttl(ttl);
        if (id != null) {
            String item = id;
            return opened -> tell(
                    opened,
                    item,
                    opened.queue()
                            .claimItem(
                                    item,
                                    claimant,
                                    new RunId(opened.assembly().entropy().uuid()),
                                    length),
                    WorkClaim::words);
        }
        String from = queue == null ? NewItem.DEFAULT_QUEUE : queue;
        NewItem.checkQueue(from);
        int most = max == null ? 1 : Bounds.number(spec, "--max", max, 1, WorkQueue.MOST_AT_ONCE);
        Duration patience = wait == null
                ? Duration.ZERO
                : Bounds.duration("--wait", wait, Duration.ZERO, RemoteWorkQueue.LONGEST_WAIT);
        return opened -> tell(from, claimAny(opened, from, claimant, most, length, patience));
    }

    private static List<WorkItem> claimAny(
            WorkTarget.Opened opened, String queue, Owner owner, int most, Duration ttl, Duration wait) {
        if (opened.server() != null) {
            return opened.server().claimAny(queue, owner, most, ttl, wait);
        }
        List<RunId> runIds = Stream.generate(
                        () -> new RunId(opened.assembly().entropy().uuid()))
                .limit(most)
                .toList();
        return opened.queue().claimAny(queue, owner, runIds, ttl);
    }

    private int tell(String from, List<WorkItem> items) {
        boolean ok = !items.isEmpty();
        String reason = ok ? null : WorkForms.NOTHING_READY;
        if (shared.json()) {
            Json.print(
                    out(),
                    max == null
                            ? Json.object(
                                    "ok", ok, "reason", reason, "item", ok ? WorkForms.json(items.getFirst()) : null)
                            : Json.object(
                                    "ok",
                                    ok,
                                    "items",
                                    items.stream().map(WorkForms::claimed).toList(),
                                    "reason",
                                    reason));
        } else if (ok) {
            items.forEach(item -> out().println(Printable.text(item.id() + ": " + words(item))));
        } else {
            shared.surroundings()
                    .err()
                    .println("refused, " + reason + ": " + from + " has no item that can be claimed now");
        }
        return ok ? ExitCode.FINE : ExitCode.REFUSED;
    }

    private static String words(WorkItem item) {
        return "claimed with token " + item.fence() + " until " + item.until() + ", run id " + item.runId();
    }
}
