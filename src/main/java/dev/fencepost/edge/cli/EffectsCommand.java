package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.Finding;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.EffectView;
import dev.fencepost.effect.Outbox;
import dev.fencepost.host.Nearest;
import dev.fencepost.host.Printable;
import dev.fencepost.run.History.WriteEvent;
import dev.fencepost.run.Orders;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The effects of runs: list, show, resolve, retry. Nothing is sent from here; {@code serve} does that. */
@Command(
        description = "Shows what runs give out, and decides where nobody but a person can.",
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Examples:",
            "  fencepost effects list --waiting",
            "  fencepost effects show article@2026-03-29T01:00:00Z/git",
            "  fencepost effects resolve KEY --as confirmed --reason \"the order is in the shop\"",
            "  fencepost effects retry KEY"
        })
final class EffectsCommand implements Runnable {

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    EffectsCommand(SharedOptions shared) {
        this.shared = shared;
    }

    /** With its own commands. */
    static CommandLine line(SharedOptions shared) {
        CommandLine effects = new CommandLine(new EffectsCommand(shared));
        effects.addSubcommand("list", new ListAll(shared));
        effects.addSubcommand("show", new Show(shared));
        effects.addSubcommand("resolve", new Resolve(shared));
        effects.addSubcommand("retry", new Retry(shared));
        return effects;
    }

    @Override
    public void run() {
        spec.commandLine().usage(shared.surroundings().out());
    }

    @Command(
            description = {"Lists effects, newest first.", "Without options those of all jobs and in all states."},
            footer = {
                "",
                "Examples:",
                "  fencepost effects list --waiting",
                "  fencepost effects list --job article --state pending,unknown",
                "  fencepost effects list --json"
            })
    private static final class ListAll implements Callable<Integer> {

        private static final int MOST = 10_000;

        @Option(names = "--job", paramLabel = "J", description = "Of this job alone.")
        private @Nullable String job;

        @Option(
                names = "--state",
                paramLabel = "S",
                split = ",",
                description = "In these states alone: pending, sending, confirmed, refused, dead, unknown, expired.")
        private List<EffectState> states = List.of();

        @Option(names = "--waiting", description = "Those alone that wait for a person.")
        private boolean waiting;

        @Option(names = "--limit", paramLabel = "N", description = "So many at most, 1 to 10000. Else 50.")
        private int limit = 50;

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
            try (OpenedStore opened = OpenedStore.existing(shared, shared.jobsFileIfAny())) {
                List<EffectView> views = opened.store().effects(new Outbox.Filter(job, states, waiting), limit);
                if (shared.json()) {
                    Json.print(
                            shared.surroundings().out(),
                            Json.object(
                                    "effects",
                                    views.stream().map(EffectForms::json).toList()));
                } else {
                    print(views);
                }
                if (views.size() == limit) {
                    shared.surroundings().err().println("only the newest " + limit + " are shown; --limit shows more");
                }
            }
            return ExitCode.FINE;
        }

        private void print(List<EffectView> views) {
            PrintWriter out = shared.surroundings().out();
            if (views.isEmpty()) {
                out.println(waiting ? "no effect waits for a person" : "no such effect yet");
                return;
            }
            TextTable table = new TextTable("KEY", "SINK", "STATE", ">TOKEN", ">TRIES", "NEXT", "REASON");
            for (EffectView view : views) {
                table.row(
                        view.key(),
                        view.pair().sink(),
                        state(view),
                        String.valueOf(view.fence()),
                        String.valueOf(view.tries()),
                        view.waits() ? "waits for you" : seconds(view.nextAt()),
                        LeaseForms.dash(view.reason()));
            }
            table.print(out);
        }
    }

    @Command(
            description = "Shows an effect, and the accepted and refused writes that are about it.",
            footer = {"", "Examples:", "  fencepost effects show article@2026-03-29T01:00:00Z/git"})
    private static final class Show implements Callable<Integer> {

        /** Events are looked for among so many of the newest. */
        private static final int MOST_EVENTS = 10_000;

        @Parameters(paramLabel = "KEY", description = "The key of the effect, as list shows it.")
        @SuppressWarnings("NullAway.Init")
        private String key;

        private final SharedOptions shared;

        Show(SharedOptions shared) {
            this.shared = shared;
        }

        @Override
        public Integer call() {
            try (OpenedStore opened = OpenedStore.existing(shared, shared.jobsFileIfAny())) {
                EffectView view = opened.store().effect(key);
                if (view == null) {
                    return unknown(shared, opened, key);
                }
                List<WriteEvent> events = opened.store().events(MOST_EVENTS).stream()
                        .filter(event -> key.equals(event.effect()))
                        .toList();
                if (shared.json()) {
                    Map<String, @Nullable Object> answer = answer(null, view);
                    answer.put(
                            "events", events.stream().map(EventsCommand::json).toList());
                    Json.print(shared.surroundings().out(), answer);
                } else {
                    print(view, events);
                }
            }
            return ExitCode.FINE;
        }

        private void print(EffectView view, List<WriteEvent> events) {
            line("key", view.key());
            line("state", state(view) + (view.waits() ? ", waits for a person" : ""));
            line("reason", view.reason());
            line("receipt", view.receipt());
            line("job", view.job());
            line("slot", view.slotKey());
            line("sink", view.pair().sink());
            line("token", view.fence() + (view.override() ? ", may be sent after a newer one" : ""));
            line("run id", view.runId());
            line("tries", view.tries());
            line("announced", view.announcedAt());
            line("changed", view.changedAt());
            line("next", view.nextAt());
            line("expires", view.expiresAt());
            line("size", view.size() + " bytes");
            line("digest", view.digest());
            if (!events.isEmpty()) {
                shared.surroundings().out().println();
                EventsCommand.table(events).print(shared.surroundings().out());
            }
        }

        private void line(String name, @Nullable Object value) {
            shared.surroundings()
                    .out()
                    .println(name + " ".repeat(11 - name.length()) + Printable.text(LeaseForms.dash(value)));
        }
    }

    @Command(
            description = {
                "Says what became of an effect that nobody but you can know of. Look at the sink before.",
                "  confirmed   it took place: nothing more is sent",
                "  absent      it surely did not take place: it is sent again",
                "  given-up    it is not wanted any more"
            },
            footer = {
                "",
                "Examples:",
                "  fencepost effects resolve KEY --as confirmed --reason \"order 4711 is in the shop\"",
                "  fencepost effects resolve KEY --as absent --reason \"the receiver's log does not have it\""
            })
    private static final class Resolve implements Callable<Integer> {

        @Parameters(paramLabel = "KEY", description = "The key of the effect, as list shows it.")
        @SuppressWarnings("NullAway.Init")
        private String key;

        @Option(names = "--as", paramLabel = "WHAT", required = true, description = "confirmed, absent or given-up.")
        @SuppressWarnings("NullAway.Init")
        private String as;

        @Option(
                names = "--reason",
                paramLabel = "TEXT",
                required = true,
                description = "How you know. Kept with the effect and in an event.")
        @SuppressWarnings("NullAway.Init")
        private String reason;

        @Option(
                names = "--override",
                description = "With absent: send it although a newer token was sent to the sink since. Recorded.")
        private boolean override;

        @Spec
        @SuppressWarnings("NullAway.Init")
        private CommandSpec spec;

        private final SharedOptions shared;

        Resolve(SharedOptions shared) {
            this.shared = shared;
        }

        @Override
        public Integer call() {
            Outbox.Order order = switch (as.toLowerCase(Locale.ROOT)) {
                case "confirmed" -> Outbox.Order.CONFIRMED;
                case "absent" -> Outbox.Order.ABSENT;
                case "given-up" -> Outbox.Order.GIVE_UP;
                default ->
                    throw new ParameterException(
                            spec.commandLine(),
                            "--as: " + Finding.quote(as) + " is none of confirmed, absent, given-up");
            };
            if (override && order != Outbox.Order.ABSENT) {
                throw new ParameterException(
                        spec.commandLine(), "--override belongs to --as absent: else nothing is sent");
            }
            return carryOut(shared, spec, key, order, reason, override);
        }
    }

    @Command(
            description = {
                "Sends an effect again that is dead, refused or expired. Its age counts anew.",
                "One whose outcome is unknown is not sent again by this: say first what became of it, with resolve."
            },
            footer = {
                "",
                "Examples:",
                "  fencepost effects retry article@2026-03-29T01:00:00Z/git",
                "  fencepost effects retry KEY --override --reason \"the newer one was a test\""
            })
    private static final class Retry implements Callable<Integer> {

        @Parameters(paramLabel = "KEY", description = "The key of the effect, as list shows it.")
        @SuppressWarnings("NullAway.Init")
        private String key;

        @Option(names = "--reason", paramLabel = "TEXT", description = "Kept with the effect and in an event.")
        private String reason = "sent again by a person";

        @Option(
                names = "--override",
                description = "Send it although a newer token was sent to the sink since. Recorded.")
        private boolean override;

        @Spec
        @SuppressWarnings("NullAway.Init")
        private CommandSpec spec;

        private final SharedOptions shared;

        Retry(SharedOptions shared) {
            this.shared = shared;
        }

        @Override
        public Integer call() {
            return carryOut(shared, spec, key, Outbox.Order.RETRY, reason, override);
        }
    }

    private static int carryOut(
            SharedOptions shared, CommandSpec spec, String key, Outbox.Order order, String reason, boolean override) {
        if (!Orders.isReason(reason)) {
            throw new ParameterException(
                    spec.commandLine(), "--reason: write 1 to " + Orders.LONGEST_REASON + " characters");
        }
        try (OpenedStore opened = OpenedStore.existing(shared, shared.jobsFileIfAny())) {
            if (opened.store().effect(key) == null) {
                return unknown(shared, opened, key);
            }
            Optional<String> refusal = opened.store().resolve(key, order, reason, override);
            EffectView after = opened.store().effect(key);
            if (shared.json()) {
                Json.print(shared.surroundings().out(), answer(refusal.orElse(null), after));
            } else if (refusal.isPresent()) {
                shared.surroundings().err().println("refused: " + Printable.text(refusal.get()));
            } else {
                String state = after == null ? "" : ": " + state(after);
                String next = order == Outbox.Order.ABSENT || order == Outbox.Order.RETRY
                        ? ", it is sent when its turn comes"
                        : "";
                shared.surroundings().out().println(Printable.text(key) + state + next);
            }
            return refusal.isPresent() ? ExitCode.REFUSED : ExitCode.FINE;
        }
    }

    private static int unknown(SharedOptions shared, OpenedStore opened, String key) {
        String sentence = "no effect has the key " + Finding.quote(key);
        if (shared.json()) {
            Json.print(shared.surroundings().out(), answer(sentence, null));
        } else {
            List<String> keys = opened.store().effects(Outbox.Filter.ALL, 1_000).stream()
                    .map(EffectView::key)
                    .toList();
            List<String> longer =
                    keys.stream().filter(each -> each.startsWith(key)).limit(3).toList();
            List<String> near =
                    longer.isEmpty() ? Nearest.to(key, keys).stream().toList() : longer;
            String hint = near.isEmpty()
                    ? "fencepost effects list shows the keys"
                    : "did you mean " + near.stream().map(Printable::text).collect(Collectors.joining(" or ")) + "?";
            shared.surroundings().err().println(sentence + "\n    " + hint);
        }
        return ExitCode.REFUSED;
    }

    /** The answer to a command on one effect: {@code {"ok":…,"reason":…,"effect":…}}. */
    private static Map<String, @Nullable Object> answer(@Nullable String refusal, @Nullable EffectView view) {
        return Json.object(
                "ok", refusal == null, "reason", refusal, "effect", view == null ? null : EffectForms.json(view));
    }

    private static String state(EffectView view) {
        return view.state().name().toLowerCase(Locale.ROOT);
    }

    private static String seconds(@Nullable Instant instant) {
        return instant == null ? "-" : instant.truncatedTo(ChronoUnit.SECONDS).toString();
    }
}
