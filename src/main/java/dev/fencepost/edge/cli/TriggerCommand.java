package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.config.InstantText;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.host.Stopwatch;
import dev.fencepost.host.Printable;
import dev.fencepost.run.History.StoredTick;
import dev.fencepost.run.Job;
import dev.fencepost.run.Orders.Answer;
import dev.fencepost.run.Outcome;
import dev.fencepost.schedule.Schedule;
import dev.fencepost.schedule.ScheduleText;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Orders runs of a job, which a node then carries out. */
@Command(
        description = {
            "Orders a run of a job, which a node carries out as soon as the job's lease is free, paused or not.",
            "Without a slot it is an order of its own and uses up no slot of the schedule. With --slot, slots that have",
            "come due are run again, unless they have succeeded; with --from and --to all of a time, oldest first.",
            "Ends with 3 when nothing was ordered: the slots have succeeded, or run now. fencepost run does the same",
            "here and now, without a node."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost trigger article",
            "  fencepost trigger article --wait --reason \"a look before the holiday\"",
            "  fencepost trigger billing --slot 2026-03-29T01:00:00Z --effects none",
            "  fencepost trigger billing --from 2026-03-01T00:00:00Z --to 2026-03-08T00:00:00Z --dry-run"
        })
final class TriggerCommand implements Callable<Integer> {

    private static final int MOST = 10_000;
    private static final Duration LOOK = Duration.ofMillis(500);

    @Parameters(paramLabel = "JOB", description = "The id of the job.")
    @SuppressWarnings("NullAway.Init")
    private String job;

    @Option(
            names = "--slot",
            paramLabel = "INSTANT",
            description = "A slot of the schedule that has come due. May be given several times.")
    private List<String> slotTexts = new ArrayList<>();

    @Option(names = "--from", paramLabel = "INSTANT", description = "All slots from this instant on, it included.")
    private @Nullable String fromText;

    @Option(names = "--to", paramLabel = "INSTANT", description = "All slots up to this instant, it included.")
    private @Nullable String toText;

    @Option(
            names = "--max",
            paramLabel = "N",
            description = "With --from: more slots than these are refused, 1 to 10000. Else 100.")
    private @Nullable Integer max;

    @Option(names = "--dry-run", description = "With --from: say which slots it would be, and change nothing.")
    private boolean dryRun;

    private enum Effects {
        ALL,
        NONE
    }

    @Option(
            names = "--effects",
            paramLabel = "all|none",
            description = "With none, what the runs publish or announce is thrown away. Else all.")
    private Effects effects = Effects.ALL;

    @Option(names = "--reason", paramLabel = "TEXT", description = OrderForms.REASON)
    private @Nullable String reason;

    @Option(
            names = "--wait",
            paramLabel = "D",
            arity = "0..1",
            fallbackValue = "3650d",
            description =
                    "Wait until what was ordered has ended, so long at most; ends with 1 unless all of it succeeded.")
    private @Nullable String waitText;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    TriggerCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() throws InterruptedException {
        OrderForms.reason(spec, reason);
        Duration patience = waitText == null
                ? null
                : Bounds.duration("--wait", waitText, Duration.ofSeconds(1), DurationText.LONGEST);
        boolean backfill = fromText != null || toText != null;
        checkOptions(backfill);
        List<Instant> wanted = slotTexts.stream()
                .map(text -> SharedOptions.orUsage("--slot", text, InstantText::parse))
                .toList();
        JobsFile file = shared.jobsFileIfAny();
        try (OpenedStore opened = OpenedStore.existing(shared, file)) {
            Instant now = opened.store().now();
            List<Slot> slots;
            if (backfill || !wanted.isEmpty()) {
                Schedule schedule = schedule(opened, file);
                if (schedule == null) {
                    return OrderForms.unknown(shared, opened, file, job);
                }
                if (backfill) {
                    Span span = span(now);
                    long count = schedule.count(span.from.minusSeconds(1), span.to);
                    if (count == 0 || count > most()) {
                        return refused(span, count);
                    }
                    slots = span.slots(schedule);
                } else {
                    slots = named(schedule, wanted, now);
                }
            } else {
                String suffix = opened.assembly().entropy().uuid().toString().substring(0, 8);
                slots = List.of(Slot.manual(now, suffix));
            }
            if (dryRun) {
                return dryRun(slots);
            }
            return order(opened, file, slots, patience);
        }
    }

    private void checkOptions(boolean backfill) {
        if (backfill && !slotTexts.isEmpty()) {
            throw usage("--slot and --from: give one of them");
        }
        if (backfill && (fromText == null || toText == null)) {
            throw usage("--from and --to: give both");
        }
        if (!backfill && (dryRun || max != null)) {
            throw usage((dryRun ? "--dry-run" : "--max") + ": only with --from and --to");
        }
        Bounds.number(spec, "--max", most(), 1, MOST);
        if (slotTexts.size() > MOST) {
            throw usage("--slot: " + MOST + " at most");
        }
    }

    private int most() {
        return max == null ? 100 : max;
    }

    private ParameterException usage(String what) {
        return new ParameterException(spec.commandLine(), what);
    }

    /** By the jobs file, else as the store has it; null for an unknown job. */
    private @Nullable Schedule schedule(OpenedStore opened, @Nullable JobsFile file) {
        Job defined = file == null ? null : file.job(job).orElse(null);
        if (defined != null) {
            return defined.schedule();
        }
        String text = opened.store().jobs().stream()
                .filter(summary -> summary.id().equals(job) && !summary.retired())
                .map(summary -> summary.scheduleText())
                .findFirst()
                .orElse(null);
        if (text == null) {
            return null;
        }
        ScheduleText read = ScheduleText.parse(text);
        if (read == null) {
            throw new CommandFailure(
                    ExitCode.BAD_CONFIGURATION,
                    "the schedule of " + job + " in the store cannot be read here: " + Printable.text(text)
                            + "\n    name the jobs file with --config");
        }
        return read.schedule();
    }

    private List<Slot> named(Schedule schedule, List<Instant> wanted, Instant now) {
        for (Instant instant : wanted) {
            if (!instant.equals(schedule.latest(instant))) {
                throw usage(NeighbouringSlots.words(
                        "--slot", instant + " is no slot of " + job + " (" + schedule.text() + ")", schedule, instant));
            }
            if (instant.isAfter(now)) {
                throw usage(NeighbouringSlots.words(
                        "--slot", "the slot " + instant + " is still to come", schedule, instant));
            }
        }
        return wanted.stream().sorted().distinct().map(Slot::at).toList();
    }

    /** Both ends are included. */
    private record Span(Instant from, Instant to) {

        List<Slot> slots(Schedule schedule) {
            List<Slot> slots = new ArrayList<>();
            Instant at = schedule.next(from.minusSeconds(1));
            while (at != null && !at.isAfter(to)) {
                slots.add(Slot.at(at));
                at = schedule.next(at);
            }
            return slots;
        }

        @Override
        public String toString() {
            return "from " + from + " to " + to;
        }
    }

    private Span span(Instant now) {
        Instant from = SharedOptions.orUsage("--from", String.valueOf(fromText), InstantText::parse);
        Instant to = SharedOptions.orUsage("--to", String.valueOf(toText), InstantText::parse);
        if (to.isBefore(from)) {
            throw usage("--to: " + to + " is before --from");
        }
        if (to.isAfter(now)) {
            throw usage("--to: " + to + " is still to come; it is " + SlotText.utc(now) + " now");
        }
        return new Span(from, to);
    }

    private int refused(Span span, long count) {
        return count == 0
                ? OrderForms.refused(shared, job, "NO_SLOT", job + " has no slot " + span)
                : OrderForms.refused(
                        shared,
                        job,
                        "TOO_MANY",
                        job + " has " + count + " slots " + span + ", more than --max " + most()
                                + "\n    give a shorter time, or a higher --max (10000 at most)",
                        "count",
                        count);
    }

    private int dryRun(List<Slot> slots) {
        String first = slots.getFirst().key();
        String last = slots.getLast().key();
        if (shared.json()) {
            Json.print(
                    shared.surroundings().out(),
                    Json.object(
                            "ok",
                            true,
                            "reason",
                            null,
                            "job",
                            job,
                            "dry_run",
                            true,
                            "count",
                            slots.size(),
                            "first",
                            first,
                            "last",
                            last,
                            "slots",
                            slots.stream().map(Slot::key).toList()));
        } else {
            shared.surroundings()
                    .out()
                    .println(count(slots.size()) + " of " + job + ", the first " + first + ", the last " + last
                            + "; nothing was changed");
        }
        return ExitCode.FINE;
    }

    private static String count(int slots) {
        return slots + (slots == 1 ? " slot" : " slots");
    }

    private int order(OpenedStore opened, @Nullable JobsFile file, List<Slot> slots, @Nullable Duration patience)
            throws InterruptedException {
        List<Answer> answers =
                opened.store().trigger(job, slots, effects == Effects.NONE, reason, OrderForms.by(shared));
        if (answers.isEmpty()) {
            return OrderForms.unknown(shared, opened, file, job);
        }
        List<Slot> ordered = new ArrayList<>();
        List<Map<String, @Nullable Object>> all = new ArrayList<>();
        for (int i = 0; i < slots.size(); i++) {
            all.add(Json.object("slot", slots.get(i).key(), "answer", answers.get(i)));
            if (answers.get(i) == Answer.DONE) {
                ordered.add(slots.get(i));
            }
        }
        if (ordered.isEmpty()) {
            return OrderForms.refused(
                    shared,
                    job,
                    Answer.ALREADY_DONE.name(),
                    slots.size() == 1
                            ? job + " at " + slots.getFirst().key()
                                    + ": refused, ALREADY_DONE: it has succeeded, or runs now"
                            : job + ": refused, ALREADY_DONE: all " + count(slots.size())
                                    + " have succeeded, or run now",
                    "slots",
                    all);
        }
        if (patience == null || !shared.json()) {
            OrderForms.done(shared, opened, job, words(ordered, slots.size()), "slots", all);
        }
        return patience == null ? ExitCode.FINE : await(opened, ordered, all, patience);
    }

    private String words(List<Slot> ordered, int asked) {
        int left = asked - ordered.size();
        return (ordered.size() == 1
                        ? job + " is ordered to run for " + ordered.getFirst().key()
                        : job + " is ordered to run for " + count(ordered.size()) + ", "
                                + ordered.getFirst().key() + " to "
                                + ordered.getLast().key() + ", oldest first")
                + (effects == Effects.NONE ? ", without effects" : "")
                + (left == 0
                        ? ""
                        : left == 1
                                ? "; 1 other has succeeded, or runs now"
                                : "; " + left + " others have succeeded, or run now");
    }

    /** One after the other: they are run in this order. */
    private int await(
            OpenedStore opened, List<Slot> ordered, List<Map<String, @Nullable Object>> all, Duration patience)
            throws InterruptedException {
        Stopwatch watch = Stopwatch.start();
        boolean success = true;
        boolean ended = true;
        List<Map<String, @Nullable Object>> outcomes = new ArrayList<>();
        for (Slot slot : ordered) {
            StoredTick tick = opened.store().slot(job, slot).tick();
            while (tick != null && tick.outcome() == null && watch.elapsed().compareTo(patience) < 0) {
                opened.assembly().time().sleep(LOOK);
                tick = opened.store().slot(job, slot).tick();
            }
            Outcome outcome = tick == null ? null : tick.outcome();
            ended &= outcome != null;
            success &= outcome == Outcome.SUCCEEDED;
            outcomes.add(
                    Json.object("slot", slot.key(), "outcome", outcome, "reason", tick == null ? null : tick.reason()));
            if (!shared.json()) {
                shared.surroundings()
                        .out()
                        .println(Printable.text(job + " at " + slot.key() + ": " + end(outcome, tick)));
                shared.surroundings().out().flush();
            }
        }
        if (shared.json()) {
            Json.print(
                    shared.surroundings().out(),
                    Json.object(
                            "ok",
                            success,
                            "reason",
                            success ? null : ended ? "FAILED" : "NOT_ENDED",
                            "job",
                            job,
                            "slots",
                            all,
                            "outcomes",
                            outcomes));
        }
        return success ? ExitCode.FINE : ExitCode.FAILED;
    }

    private static String end(@Nullable Outcome outcome, @Nullable StoredTick tick) {
        return outcome == null
                ? "has not ended yet"
                : outcome.name().toLowerCase(Locale.ROOT)
                        + (tick == null || tick.reason() == null ? "" : ": " + tick.reason());
    }
}
