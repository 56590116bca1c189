package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.InstantText;
import dev.fencepost.lease.Refusal;
import dev.fencepost.work.Body;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue.Enqueued;
import dev.fencepost.work.WorkQueue.QueueView;
import dev.fencepost.work.WorkState;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The work queue: what puts items in and looks at them is here, what a worker does in the classes beside it. */
@Command(
        description = {
            "Items of work, claimed by workers anywhere under a lease with a token.",
            "Each command works on the store, or with --server and --token-file over the HTTP API of a server."
        },
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Examples:",
            "  fencepost work enqueue page-17 --payload @page-17.json",
            "  fencepost work claim page-17 --owner worker-a --ttl 10m",
            "  fencepost work complete page-17 --owner worker-a --fence 1 --result done",
            "  fencepost work loop --server https://vps.example --token-file worker.token \\",
            "      --queue pages -- ./make-page.sh"
        })
final class WorkCommand implements Runnable {

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    WorkCommand(SharedOptions shared) {
        this.shared = shared;
    }

    /** With its own commands. */
    static CommandLine line(SharedOptions shared) {
        CommandLine work = new CommandLine(new WorkCommand(shared));
        work.addSubcommand("enqueue", new Enqueue(shared));
        work.addSubcommand("state", new State(shared));
        work.addSubcommand("list", new ListAll(shared));
        work.addSubcommand("queues", new Queues(shared));
        work.addSubcommand("claim", new WorkClaim(shared));
        work.addSubcommand("claim-many", new WorkClaimMany(shared));
        WorkUnderClaim.addTo(work, shared);
        work.addSubcommand("artifacts", new WorkArtifacts(shared));
        work.addSubcommand("prune", new WorkPrune(shared));
        CommandLine loop = new CommandLine(new WorkLoopCommand(shared));
        loop.setStopAtPositional(true); // the command's own options are its own
        work.addSubcommand("loop", loop);
        return work;
    }

    @Override
    public void run() {
        spec.commandLine().usage(shared.surroundings().out());
    }

    @Command(
            description = {
                "Puts an item into a queue.",
                "An id that is there already is refused with EXISTS and 3, and its item stays as it is: a live lease is not",
                "reset, a result not reopened. A store that is not there yet is made."
            },
            footer = {
                "",
                "Examples:",
                "  fencepost work enqueue page-17",
                "  fencepost work enqueue page-17 --queue pages --payload '{\"page\":17}' --content-type application/json",
                "  fencepost work enqueue page-17 --payload @page-17.json --priority 10",
                "  make-payload | fencepost work enqueue page-17 --payload - --not-before 2026-12-24T06:00:00Z"
            })
    private static final class Enqueue extends WorkCall {

        @Parameters(paramLabel = "ID", description = "1 to 200 of A-Z a-z 0-9 . _ : @ + = -; unique in the store.")
        @SuppressWarnings("NullAway.Init")
        private String id;

        @Option(names = "--queue", paramLabel = "Q", description = "The queue. Else default.")
        private String queue = NewItem.DEFAULT_QUEUE;

        @Option(
                names = "--payload",
                paramLabel = "TEXT|@FILE|-",
                description = "What the worker is given, at most 1 MiB: a text, a file, or what is piped in.")
        private @Nullable String payload;

        @Option(names = "--content-type", paramLabel = "T", description = "The media type of the payload.")
        private @Nullable String contentType;

        @Option(names = "--priority", paramLabel = "N", description = "A higher one is claimed first. Else 0.")
        private int priority;

        @Option(names = "--not-before", paramLabel = "INSTANT", description = "It is not claimed before this.")
        private @Nullable String notBefore;

        @Option(
                names = "--max-attempts",
                paramLabel = "N",
                description = "So often it is claimed at most, 1 to 1000. Else 5.")
        private int maxAttempts = NewItem.DEFAULT_MAX_ATTEMPTS;

        Enqueue(SharedOptions shared) {
            super(shared);
        }

        @Override
        boolean makesTheStore() {
            return true;
        }

        @Override
        Question question() throws IOException {
            if (contentType != null && payload == null) {
                throw wrong("--content-type is of a payload; there is none");
            }
            Body body = body("--payload", payload, contentType);
            NewItem item = new NewItem(
                    id,
                    queue,
                    body,
                    priority,
                    notBefore == null ? null : SharedOptions.orUsage("--not-before", notBefore, InstantText::parse),
                    maxAttempts);
            return opened -> {
                Enqueued enqueued = opened.queue().enqueue(item);
                if (!enqueued.created()) {
                    return refused(id, Refusal.EXISTS, enqueued.item());
                }
                if (shared.json()) {
                    Json.print(out(), WorkForms.answer(null, enqueued.item()));
                } else {
                    out().println(id + ": enqueued in " + queue);
                }
                return ExitCode.FINE;
            };
        }
    }

    @Command(
            description = "Shows an item as it is in the store now.",
            footer = {"", "Examples:", "  fencepost work state page-17", "  fencepost work state page-17 --json"})
    private static final class State extends WorkCall {

        @Parameters(paramLabel = "ID", description = "The id of the item.")
        @SuppressWarnings("NullAway.Init")
        private String id;

        State(SharedOptions shared) {
            super(shared);
        }

        @Override
        Question question() {
            return opened -> {
                WorkItem item = opened.queue().item(id);
                if (item == null) {
                    return refused(id, Refusal.UNKNOWN, null);
                }
                if (shared.json()) {
                    Json.print(out(), WorkForms.answer(null, item));
                } else {
                    WorkForms.print(shared.surroundings(), item);
                }
                return ExitCode.FINE;
            };
        }
    }

    @Command(
            description = "Lists items, the newest first.",
            footer = {
                "",
                "Examples:",
                "  fencepost work list",
                "  fencepost work list --queue pages --state dead --limit 20",
                "  fencepost work list --json"
            })
    private static final class ListAll extends WorkCall {

        private static final int MOST = 1_000;

        @Option(names = "--queue", paramLabel = "Q", description = "Of this queue alone.")
        private @Nullable String queue;

        @Option(names = "--state", paramLabel = "S", description = "One of: ready, claimed, done, dead.")
        private @Nullable WorkState state;

        @Option(names = "--limit", paramLabel = "N", description = "So many at most, 1 to 1000. Else 100.")
        private int limit = 100;

        ListAll(SharedOptions shared) {
            super(shared);
        }

        @Override
        Question question() {
            Bounds.number(spec, "--limit", limit, 1, MOST);
            if (queue != null) {
                NewItem.checkQueue(queue);
            }
            return opened -> {
                List<WorkItem> items = opened.queue().items(queue, state, limit);
                if (shared.json()) {
                    Json.print(
                            out(),
                            Json.object(
                                    "items", items.stream().map(WorkForms::json).toList()));
                } else if (items.isEmpty()) {
                    out().println("no such item");
                } else {
                    table(items).print(out());
                }
                if (items.size() == limit) {
                    shared.surroundings().err().println("only the first " + limit + " are shown; --limit shows more");
                }
                return ExitCode.FINE;
            };
        }

        private static TextTable table(List<WorkItem> items) {
            TextTable table = new TextTable("ID", "QUEUE", "STATE", ">ATTEMPTS", ">TOKEN", "OWNER", "UNTIL", "REASON");
            for (WorkItem item : items) {
                table.row(
                        item.id(),
                        item.queue(),
                        WorkForms.lower(item),
                        item.attempts() + "/" + item.maxAttempts(),
                        String.valueOf(item.fence()),
                        item.owner() == null ? "-" : LeaseForms.shortOwner(item.owner()),
                        WorkForms.seconds(item.until()),
                        LeaseForms.dash(item.reason()));
            }
            return table;
        }
    }

    @Command(
            description = {
                "Lists the queues with their counts, or sets how many items of one may be claimed at the same time.",
                "A capacity that is lowered takes nothing from who has claimed already."
            },
            footer = {
                "",
                "Examples:",
                "  fencepost work queues",
                "  fencepost work queues --queue pages --capacity 3",
                "  fencepost work queues --queue pages --capacity none"
            })
    private static final class Queues extends WorkCall {

        private static final int MOST = 1_000_000;

        @Option(names = "--queue", paramLabel = "Q", description = "This queue alone.")
        private @Nullable String queue;

        @Option(names = "--capacity", paramLabel = "N|none", description = "The new capacity of this queue.")
        private @Nullable String capacity;

        Queues(SharedOptions shared) {
            super(shared);
        }

        @Override
        Question question() {
            if (queue != null) {
                NewItem.checkQueue(queue);
            } else if (capacity != null) {
                throw wrong("--capacity is of one queue; name it with --queue");
            }
            Integer wanted = capacity == null || capacity.equals("none") ? null : number(capacity);
            return opened -> {
                if (capacity != null) {
                    opened.queue().setCapacity(Objects.requireNonNull(queue), wanted);
                }
                List<QueueView> views = opened.queue().queues().stream()
                        .filter(view -> queue == null || view.queue().equals(queue))
                        .toList();
                if (shared.json()) {
                    Json.print(
                            out(),
                            Json.object(
                                    "queues",
                                    views.stream().map(WorkForms::json).toList()));
                } else if (views.isEmpty()) {
                    out().println(queue == null ? "no queue yet" : queue + " has no items yet");
                } else {
                    table(views).print(out());
                }
                return ExitCode.FINE;
            };
        }

        private int number(String written) {
            try {
                return Bounds.number(spec, "--capacity", Integer.parseInt(written), 1, MOST);
            } catch (NumberFormatException e) {
                throw wrong("--capacity: write a number, or none for any number");
            }
        }

        private static TextTable table(List<QueueView> views) {
            TextTable table =
                    new TextTable("QUEUE", ">READY", ">CLAIMED", ">DONE", ">DEAD", ">CAPACITY", "OLDEST READY");
            for (QueueView view : views) {
                table.row(
                        view.queue(),
                        String.valueOf(view.ready()),
                        String.valueOf(view.claimed()),
                        String.valueOf(view.done()),
                        String.valueOf(view.dead()),
                        view.capacity() == null ? "-" : String.valueOf(view.capacity()),
                        WorkForms.seconds(view.oldestReady()));
            }
            return table;
        }
    }
}
