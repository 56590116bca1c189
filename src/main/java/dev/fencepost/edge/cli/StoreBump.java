package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.config.StoreUrl;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.jdbc.SchemaTooNewException;
import dev.fencepost.edge.jdbc.Tokens;
import dev.fencepost.host.Printable;
import dev.fencepost.run.Nodes.NodeView;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Raises all tokens above what may have been granted since a backup. */
@Command(
        description = {
            "Raises every token, after a backup was put back or a new store stands before old sinks.",
            "Whoever holds a token of the time that is lost is refused from then on, by store and sinks.",
            "Leases are given back, claims of items are over, and effects that were to be sent are read",
            "back first, since they may have been sent. Do it with all services stopped, before the first",
            "one starts. Asks first; where nobody can be asked, --yes is needed."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost store bump",
            "  fencepost store bump --yes --json",
            "  fencepost store bump --at-least 8589934592 --reason \"dump of Monday put back\""
        })
final class StoreBump implements Callable<Integer> {

    /** So many grants of one resource there may have been at least. */
    private static final long LEAST_DISTANCE = 1_000_000;

    /** More grants of one resource than anybody makes for long: each is two durable commits. */
    private static final long GRANTS_A_SECOND = 100;

    private static final int LONGEST_REASON = 500;
    private static final int NODES_LOOKED_AT = 1_000;

    @Option(
            names = "--at-least",
            paramLabel = "N",
            description = "A token that is known to have been given out: the new ones lie above it too.")
    private long atLeast;

    @Option(
            names = "--by",
            paramLabel = "N",
            description =
                    "How far above the highest token known. Else a million, or 100 for each second since the store"
                            + " was last written, if that is more.")
    private @Nullable Long by;

    @Option(names = "--yes", description = "Do not ask.")
    private boolean yes;

    @Option(
            names = "--while-running",
            description = "Even if a service has given a sign of life lately. What it runs is lost.")
    private boolean whileRunning;

    @Option(names = "--reason", paramLabel = "TEXT", description = "Kept with the event.")
    private String reason = "store bump";

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    StoreBump(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() throws IOException {
        if (reason.isBlank() || reason.length() > LONGEST_REASON) {
            throw wrong("--reason: write 1 to " + LONGEST_REASON + " characters");
        }
        if (atLeast < 0 || atLeast >= Tokens.HIGHEST) {
            throw wrong("--at-least: write a number from 0 to " + (Tokens.HIGHEST - 1));
        }
        if (by != null && (by < 1 || by >= Tokens.HIGHEST)) {
            throw wrong("--by: write a number from 1 to " + (Tokens.HIGHEST - 1));
        }
        BufferedReader answers = shared.surroundings().answers();
        if (!yes && answers == null) {
            throw wrong("nobody can be asked here; give --yes to raise the tokens without a question");
        }
        StoreUrl url = shared.store(shared.jobsFileIfAny());
        Path file = url.file();
        if (file != null && !Files.exists(file)) {
            throw noStore(url);
        }
        try (OpenedStore opened = OpenedStore.asItIs(shared, url)) {
            JdbcStore store = opened.store();
            if (store.diagnosis().schema() == null) {
                throw noStore(url);
            }
            store.prepare(); // a backup may be of the version before
            List<NodeView> alive = alive(store);
            if (!alive.isEmpty() && !whileRunning) {
                return running(alive);
            }
            Tokens.Known known = store.tokens().known();
            long fence = wanted(known);
            if (!yes && answers != null && !agrees(answers, url, known, fence)) {
                shared.surroundings().err().println("nothing was changed");
                return ExitCode.REFUSED;
            }
            done(url, raised(store, fence));
        } catch (SchemaTooNewException e) {
            throw new CommandFailure(ExitCode.STORE_UNAVAILABLE, url.display() + ": " + e.getMessage());
        }
        return ExitCode.FINE;
    }

    private Tokens.Raised raised(JdbcStore store, long fence) {
        try {
            return store.tokens().raise(fence, reason, OrderForms.by(shared));
        } catch (IllegalArgumentException notAbove) {
            throw new CommandFailure(
                    ExitCode.REFUSED,
                    "somebody has raised the tokens meanwhile, and nothing was changed: " + notAbove.getMessage());
        }
    }

    private static List<NodeView> alive(JdbcStore store) {
        Instant now = store.now();
        return store.nodes(NODES_LOOKED_AT).stream()
                .filter(node -> node.isAlive(now))
                .toList();
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private static CommandFailure noStore(StoreUrl url) {
        return new CommandFailure(
                ExitCode.STORE_UNAVAILABLE,
                url.display() + " is no store of Fencepost\n    put the backup there first, or name another one with"
                        + " --store");
    }

    private int running(List<NodeView> alive) {
        String hosts =
                alive.stream().map(node -> node.state().host()).distinct().collect(Collectors.joining(", "));
        if (shared.json()) {
            Json.print(
                    shared.surroundings().out(),
                    Json.object("ok", false, "reason", "RUNNING", "fence", null, "nodes_alive", alive.size()));
        } else {
            shared.surroundings()
                    .err()
                    .println("a service on " + Printable.text(hosts) + " has given a sign of life within the last "
                            + 3 * NodeView.BEAT_SECONDS
                            + " s by this store, and nothing was changed\n    stop it. Was it"
                            + " alive when the backup was made, and is it stopped now, wait so long or give"
                            + " --while-running");
        }
        return ExitCode.REFUSED;
    }

    private long wanted(Tokens.Known known) {
        long distance = by != null ? by : distance(known);
        long above = Math.max(known.highest(), atLeast);
        if (above > Tokens.HIGHEST - distance) {
            throw new CommandFailure(
                    ExitCode.REFUSED,
                    "token " + above + " is known, and " + distance + " above it is no room: the highest is "
                            + Tokens.HIGHEST + "\n    give a smaller --by; a sink that names such a token is at fault");
        }
        return above + distance;
    }

    private static long distance(Tokens.Known known) {
        if (known.newest() == null) {
            return LEAST_DISTANCE;
        }
        long seconds = Math.max(0, Duration.between(known.newest(), known.now()).toSeconds());
        return Math.max(LEAST_DISTANCE, GRANTS_A_SECOND * seconds);
    }

    private boolean agrees(BufferedReader answers, StoreUrl url, Tokens.Known known, long fence) throws IOException {
        PrintWriter err = shared.surroundings().err();
        err.println(Printable.text(url.display()) + ": the highest token known is " + known.highest()
                + (known.newest() == null
                        ? ""
                        : ", last written "
                                + DurationText.format(Duration.ofSeconds(Math.max(
                                        0,
                                        Duration.between(known.newest(), known.now())
                                                .toSeconds())))
                                + " ago"));
        return shared.surroundings().agrees(answers, "Raise every token to " + fence + "?");
    }

    private void done(StoreUrl url, Tokens.Raised raised) {
        PrintWriter out = shared.surroundings().out();
        if (shared.json()) {
            Json.print(
                    out,
                    Json.object(
                            "ok", true,
                            "reason", null,
                            "fence", raised.fence(),
                            "leases", raised.leases(),
                            "items", raised.items(),
                            "effects", raised.effects()));
            return;
        }
        out.println(Printable.text(url.display()) + ": every token is now " + raised.fence() + " or above: "
                + raised.leases() + " leases, " + raised.items() + " items of work"
                + (raised.effects() == 0
                        ? ""
                        : "\n    " + raised.effects()
                                + " effects may have been sent in the time that is lost; they are read back, and what"
                                + " cannot be waits for you: fencepost effects list --waiting"));
    }
}
