package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.Finding;
import dev.fencepost.host.Printable;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The leases of the store: list, inspect, release, break. */
@Command(
        description = "Shows leases, and gives them back by a person's order.",
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Examples:",
            "  fencepost lease list",
            "  fencepost lease inspect article",
            "  fencepost lease release article --owner worker-a --fence 12",
            "  fencepost lease break article --reason \"host is gone\""
        })
final class LeaseCommand implements Runnable {

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    LeaseCommand(SharedOptions shared) {
        this.shared = shared;
    }

    /** With its own commands. */
    static CommandLine line(SharedOptions shared) {
        CommandLine lease = new CommandLine(new LeaseCommand(shared));
        lease.addSubcommand("list", new ListAll(shared));
        lease.addSubcommand("inspect", new Inspect(shared));
        lease.addSubcommand("release", new Release(shared));
        lease.addSubcommand("break", new Break(shared));
        return lease;
    }

    @Override
    public void run() {
        spec.commandLine().usage(shared.surroundings().out());
    }

    @Command(
            description = "Lists all resources that ever had a lease, by name.",
            footer = {"", "Examples:", "  fencepost lease list", "  fencepost lease list --json"})
    private static final class ListAll implements Callable<Integer> {

        private static final int MOST = 100_000;

        @Option(names = "--limit", paramLabel = "N", description = "So many at most, 1 to 100000. Else 1000.")
        private int limit = 1_000;

        @Spec
        @SuppressWarnings("NullAway.Init")
        private CommandSpec spec;

        private final SharedOptions shared;

        ListAll(SharedOptions shared) {
            this.shared = shared;
        }

        @Override
        public Integer call() {
            Bounds.number(spec, "--limit", limit, 1, MOST);
            PrintWriter out = shared.surroundings().out();
            try (OpenedStore opened = OpenedStore.existing(shared, shared.jobsFileIfAny())) {
                List<LeaseView> views = opened.store().list(limit);
                if (shared.json()) {
                    Json.print(
                            out,
                            Json.object(
                                    "leases",
                                    views.stream().map(LeaseForms::json).toList()));
                } else if (views.isEmpty()) {
                    out.println("no lease yet");
                } else {
                    table(views).print(out);
                }
                if (views.size() == limit) {
                    shared.surroundings().err().println("only the first " + limit + " are shown; --limit shows more");
                }
            }
            return ExitCode.FINE;
        }

        private static TextTable table(List<LeaseView> views) {
            TextTable table = new TextTable("RESOURCE", "STATE", ">TOKEN", "OWNER", "EXPIRES", "SLOT");
            for (LeaseView view : views) {
                table.row(
                        view.resource(),
                        state(view),
                        String.valueOf(view.fence()),
                        view.owner() == null ? "-" : LeaseForms.shortOwner(view.owner()),
                        seconds(view.expiresAt()),
                        LeaseForms.dash(view.slotKey()));
            }
            return table;
        }
    }

    @Command(
            description = {"Shows the lease of a resource.", "The lease of a job has the job's id as its resource."},
            footer = {"", "Examples:", "  fencepost lease inspect article", "  fencepost lease inspect article --json"})
    private static final class Inspect implements Callable<Integer> {

        @Parameters(paramLabel = "RESOURCE", description = "A job's id, or another name that was claimed.")
        @SuppressWarnings("NullAway.Init")
        private String resource;

        private final SharedOptions shared;

        Inspect(SharedOptions shared) {
            this.shared = shared;
        }

        @Override
        public Integer call() {
            try (OpenedStore opened = OpenedStore.existing(shared, shared.jobsFileIfAny())) {
                LeaseView view = opened.store().inspect(resource);
                if (view == null) {
                    return refused(shared, resource, Refusal.UNKNOWN, null);
                }
                PrintWriter out = shared.surroundings().out();
                if (shared.json()) {
                    Json.print(out, LeaseForms.answer(null, view));
                } else {
                    line(out, "resource", view.resource());
                    line(out, "state", state(view));
                    line(out, "token", view.fence());
                    line(out, "owner", view.owner());
                    line(out, "run id", view.runId());
                    line(out, "slot", view.slotKey());
                    line(out, "granted", view.grantedAt());
                    line(out, "expires", view.expiresAt());
                }
            }
            return ExitCode.FINE;
        }

        private static void line(PrintWriter out, String name, @Nullable Object value) {
            out.println(name + " ".repeat(10 - name.length()) + Printable.text(LeaseForms.dash(value)));
        }
    }

    @Command(
            description = {
                "Gives a lease back for its holder, and keeps the token.",
                "Only with the owner and the token that the store has, and the run id where one is given. Ends with 3,",
                "and changes nothing, when they are others."
            },
            footer = {
                "",
                "Examples:",
                "  fencepost lease release article --owner worker-a --fence 12",
                "  fencepost lease release article --owner worker-a --fence 12 \\",
                "      --run-id 0b86a9d2-4a6e-4a49-9a3b-0d7a55f3b1c4"
            })
    private static final class Release implements Callable<Integer> {

        @Parameters(paramLabel = "RESOURCE", description = "A job's id, or another name that was claimed.")
        @SuppressWarnings("NullAway.Init")
        private String resource;

        @Option(names = "--owner", paramLabel = "O", required = true, description = "Who holds it, in full.")
        @SuppressWarnings("NullAway.Init")
        private String owner;

        @Option(names = "--fence", paramLabel = "F", required = true, description = "The token of the lease.")
        private long fence;

        @Option(
                names = "--run-id",
                paramLabel = "R",
                description = "The run id of the lease. Else the one that the store has for this owner and token.")
        private @Nullable String runId;

        @Spec
        @SuppressWarnings("NullAway.Init")
        private CommandSpec spec;

        private final SharedOptions shared;

        Release(SharedOptions shared) {
            this.shared = shared;
        }

        @Override
        public Integer call() {
            Owner claimed = argument("--owner", () -> new Owner(owner));
            FencingToken token = argument("--fence", () -> new FencingToken(fence));
            RunId given = runId == null ? null : argument("--run-id", () -> RunId.parse(String.valueOf(runId)));
            try (OpenedStore opened = OpenedStore.existing(shared, shared.jobsFileIfAny())) {
                LeaseView before = opened.store().inspect(resource);
                RunId run = given != null ? given : runOf(before, claimed, token, opened);
                Lease lease = new Lease(resource, claimed, token, run, null, Instant.EPOCH, Instant.EPOCH);
                Optional<Refusal> refusal = opened.store().release(lease);
                LeaseView after = opened.store().inspect(resource);
                if (refusal.isPresent()) {
                    return refused(shared, resource, refusal.get(), after);
                }
                PrintWriter out = shared.surroundings().out();
                if (shared.json()) {
                    Json.print(out, LeaseForms.answer(null, after));
                } else {
                    out.println(Printable.text(resource) + ": released; the token stays at " + fence);
                }
            }
            return ExitCode.FINE;
        }

        /** Reference scripts know only owner and token. A run id that fits nothing leads to the refusal with its reason. */
        private static RunId runOf(@Nullable LeaseView view, Owner owner, FencingToken token, OpenedStore opened) {
            if (view != null && view.fence() == token.value() && owner.equals(view.owner()) && view.runId() != null) {
                return view.runId();
            }
            return new RunId(opened.assembly().entropy().uuid());
        }

        private <T> T argument(String option, Callable<T> value) {
            try {
                return value.call();
            } catch (Exception e) {
                throw new ParameterException(spec.commandLine(), option + ": " + e.getMessage(), e);
            }
        }
    }

    @Command(
            name = "break",
            description = {
                "Takes a lease from whoever holds it, and raises the token.",
                "What the holder writes from now on is refused. Its attempt ends as cancelled; its run is stopped at its",
                "next renewal. Asks first; where nobody can be asked, --yes is needed."
            },
            footer = {
                "",
                "Examples:",
                "  fencepost lease break article",
                "  fencepost lease break article --yes --reason \"host is gone\" --json"
            })
    private static final class Break implements Callable<Integer> {

        private static final int LONGEST_REASON = 500;

        @Parameters(paramLabel = "RESOURCE", description = "A job's id, or another name that was claimed.")
        @SuppressWarnings("NullAway.Init")
        private String resource;

        @Option(names = "--yes", description = "Do not ask.")
        private boolean yes;

        @Option(names = "--reason", paramLabel = "TEXT", description = "Kept with the event and the attempt.")
        private String reason = "lease broken by a person";

        @Spec
        @SuppressWarnings("NullAway.Init")
        private CommandSpec spec;

        private final SharedOptions shared;

        Break(SharedOptions shared) {
            this.shared = shared;
        }

        @Override
        public Integer call() throws IOException {
            if (reason.isBlank() || reason.length() > LONGEST_REASON) {
                throw new ParameterException(
                        spec.commandLine(), "--reason: write 1 to " + LONGEST_REASON + " characters");
            }
            BufferedReader answers = shared.surroundings().answers();
            if (!yes && answers == null) {
                throw new ParameterException(
                        spec.commandLine(),
                        "nobody can be asked here; give --yes to break the lease without a question");
            }
            try (OpenedStore opened = OpenedStore.existing(shared, shared.jobsFileIfAny())) {
                LeaseView before = opened.store().inspect(resource);
                if (before == null) {
                    return refused(shared, resource, Refusal.UNKNOWN, null);
                }
                if (!yes && answers != null && !agrees(answers, before)) {
                    shared.surroundings().err().println("nothing was changed");
                    return ExitCode.REFUSED;
                }
                opened.store().prepare(); // the next token may depend on what the server tells of itself
                LeaseView after = opened.store().breakLease(resource, reason);
                if (after == null) {
                    return refused(shared, resource, Refusal.UNKNOWN, null);
                }
                PrintWriter out = shared.surroundings().out();
                if (shared.json()) {
                    Json.print(out, LeaseForms.answer(null, after));
                } else {
                    out.println(Printable.text(resource) + ": broken; the token is now " + after.fence());
                }
            }
            return ExitCode.FINE;
        }

        private boolean agrees(BufferedReader answers, LeaseView view) throws IOException {
            PrintWriter err = shared.surroundings().err();
            String holder = view.owner() == null
                    ? "nobody holds it"
                    : (view.isLive() ? "held by " : "last held by ") + view.owner() + " until "
                            + seconds(view.expiresAt());
            err.println(Printable.text(resource + ": " + holder + ", token " + view.fence()));
            return shared.surroundings().agrees(answers, "Break the lease?");
        }
    }

    /** A normal "no": its reason as JSON on stdout, or as a line on stderr. */
    private static int refused(SharedOptions shared, String resource, Refusal reason, @Nullable LeaseView view) {
        if (shared.json()) {
            Json.print(shared.surroundings().out(), LeaseForms.answer(reason, view));
        } else {
            shared.surroundings()
                    .err()
                    .println(Finding.quote(resource) + ": refused, " + reason + ": " + words(reason));
        }
        return ExitCode.REFUSED;
    }

    private static String words(Refusal reason) {
        return switch (reason) {
            case HELD -> "somebody holds a live lease";
            case STALE_TOKEN -> "a newer token was granted since";
            case EXPIRED -> "the lease has expired";
            case NOT_OWNER -> "the lease is another owner's or another run's, or it is released";
            case ALREADY_DONE -> "it is done already";
            case UNKNOWN -> "it was never claimed";
            case EXISTS -> "it is there already";
            case DEAD -> "its tries are used up, or it was given up";
            case NOT_YET -> "its time has not come";
            case AT_CAPACITY -> "as many are claimed as may be";
        };
    }

    private static String state(LeaseView view) {
        return view.state().name().toLowerCase(Locale.ROOT);
    }

    private static String seconds(@Nullable Instant instant) {
        return instant == null ? "-" : instant.truncatedTo(ChronoUnit.SECONDS).toString();
    }
}
