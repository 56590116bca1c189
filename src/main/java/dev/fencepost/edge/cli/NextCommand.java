package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.BadValueException;
import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.config.InstantText;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.run.Job;
import dev.fencepost.schedule.Cron;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Schedule;
import dev.fencepost.schedule.ScheduleException;
import dev.fencepost.schedule.Zones;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.ZoneId;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Prints slots: of a job, of all jobs, or of an expression that stands in no file. They are printed as they are found. */
@Command(
        description = {
            "Prints the next slots of a job, of all jobs of the file, or of an expression.",
            "Ends with 78 when the expression is refused."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost next",
            "  fencepost next article --count 20",
            "  fencepost next --cron \"30 2 * * *\" --zone Europe/Berlin --after 2026-03-27T00:00:00Z",
            "  fencepost next --every 45m --until 2026-12-31T23:59:59Z --plain"
        })
final class NextCommand implements Callable<Integer> {

    private static final int MOST = 100_000;
    private static final int DEFAULT_COUNT = 5;
    private static final int DEFAULT_COUNT_OF_ALL = 10;

    @Parameters(arity = "0..1", paramLabel = "JOB", description = "The id of a job. Without it: all jobs.")
    private @Nullable String id;

    @Option(names = "--cron", paramLabel = "EXPR", description = "A cron expression instead of a job.")
    private @Nullable String cron;

    @Option(
            names = "--dialect",
            paramLabel = "unix|quartz",
            description = "Of --cron. Else 5 fields are unix, 6 or 7 are Quartz.")
    private @Nullable String dialect;

    @Option(names = "--every", paramLabel = "DURATION", description = "An interval instead of a job: 45m, 1h30m.")
    private @Nullable String every;

    @Option(names = "--anchor", paramLabel = "INSTANT", description = "Of --every. Else 1970-01-01T00:00:00Z.")
    private @Nullable String anchor;

    @Option(names = "--zone", paramLabel = "ZONE", description = "IANA name, for --cron and --every. Else Etc/UTC.")
    private @Nullable String zone;

    @Option(
            names = "--after",
            paramLabel = "INSTANT",
            description = "Slots after this instant, itself excluded. Else now.")
    private @Nullable String after;

    @Option(names = "--until", paramLabel = "INSTANT", description = "Slots up to this instant, itself included.")
    private @Nullable String until;

    @Option(names = "--count", paramLabel = "N", description = "So many slots, 1 to 100000. Else 5, for all jobs 10.")
    private @Nullable Integer count;

    @Option(names = "--plain", description = "One UTC instant a line and nothing else.")
    private boolean plain;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    NextCommand(SharedOptions shared) {
        this.shared = shared;
    }

    /** A series of slots with the name and the zone that it is shown with. */
    private record Series(String name, Schedule schedule, ZoneId zone) {}

    /** The next slot of a series. */
    private record Upcoming(Instant slot, Series series) {}

    @Override
    public Integer call() {
        checkUsage();
        Instant from = after == null
                ? shared.surroundings().wallClock().instant()
                : SharedOptions.orUsage("--after", after, InstantText::parse);
        Instant to = until == null ? Instant.MAX : SharedOptions.orUsage("--until", until, InstantText::parse);

        PriorityQueue<Upcoming> queue = new PriorityQueue<>(
                Comparator.comparing(Upcoming::slot).thenComparing(upcoming -> upcoming.series.name));
        boolean all = cron == null && every == null && id == null;
        if (all) {
            shared.jobsFile().jobs().forEach(job -> offer(queue, from, series(job)));
        } else {
            offer(queue, from, one());
        }
        print(queue, to, limit(all));
        return ExitCode.FINE;
    }

    private long limit(boolean all) {
        if (count != null) {
            return count;
        }
        return until != null ? Long.MAX_VALUE : all ? DEFAULT_COUNT_OF_ALL : DEFAULT_COUNT;
    }

    private void print(PriorityQueue<Upcoming> queue, Instant to, long limit) {
        Shape shape = plain
                ? new Plain()
                : shared.json() ? new Rows() : new Table(id == null && cron == null && every == null);
        PrintWriter out = shared.surroundings().out();
        shape.begin(out);
        for (long printed = 0; printed < limit; printed++) {
            Upcoming next = queue.poll();
            // A reader that has gone (head) is no error and ends the work.
            if (next == null || next.slot.isAfter(to) || (printed % 1000 == 999 && out.checkError())) {
                break;
            }
            shape.row(out, next, printed == 0);
            offer(queue, next.slot, next.series);
        }
        shape.end(out);
    }

    private static void offer(PriorityQueue<Upcoming> queue, Instant after, Series series) {
        Instant slot = series.schedule.next(after);
        if (slot != null) {
            queue.add(new Upcoming(slot, series));
        }
    }

    private static Series series(Job job) {
        return new Series(job.id(), job.schedule(), job.zone());
    }

    private Series one() {
        if (id != null) {
            JobsFile file = shared.jobsFile();
            return series(ExplainCommand.definition(file, id).job());
        }
        try {
            ZoneId in = zone == null ? ZoneId.of("Etc/UTC") : Zones.parse(zone);
            if (every != null) {
                Instant start = anchor == null ? Instant.EPOCH : InstantText.parse(anchor);
                return new Series("", new Every(DurationText.parse(every), start), in);
            }
            String expression = String.valueOf(cron);
            Cron parsed = dialect == null ? Cron.parse(expression, in) : Cron.parse(expression, dialect(dialect), in);
            if (!plain && !shared.json()) {
                parsed.warnings().forEach(warning -> shared.surroundings().err().println("warning: " + warning));
            }
            return new Series("", parsed, in);
        } catch (BadValueException e) {
            throw new CommandFailure(ExitCode.BAD_CONFIGURATION, e.getMessage() + "\n    " + e.hint());
        } catch (ScheduleException e) {
            throw new CommandFailure(ExitCode.BAD_CONFIGURATION, String.valueOf(e.getMessage()));
        }
    }

    private Cron.Dialect dialect(String written) {
        return switch (written) {
            case "unix" -> Cron.Dialect.UNIX;
            case "quartz" -> Cron.Dialect.QUARTZ;
            default -> throw usage("--dialect: write unix or quartz");
        };
    }

    private void checkUsage() {
        int sources = (id == null ? 0 : 1) + (cron == null ? 0 : 1) + (every == null ? 0 : 1);
        if (sources > 1) {
            throw usage("give one of JOB, --cron and --every");
        }
        if (dialect != null && cron == null) {
            throw usage("--dialect belongs to --cron");
        }
        if (anchor != null && every == null) {
            throw usage("--anchor belongs to --every");
        }
        if (zone != null && cron == null && every == null) {
            throw usage("--zone belongs to --cron and --every; a job has its own");
        }
        if (count != null && (count < 1 || count > MOST)) {
            throw usage("--count: write 1 to " + MOST);
        }
        if (plain && shared.json()) {
            throw usage("give one of --plain and --json");
        }
    }

    private ParameterException usage(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    /** How slots are printed. */
    private interface Shape {
        default void begin(PrintWriter out) {}

        void row(PrintWriter out, Upcoming next, boolean first);

        default void end(PrintWriter out) {}
    }

    private record Plain() implements Shape {
        @Override
        public void row(PrintWriter out, Upcoming next, boolean first) {
            out.println(next.slot);
        }
    }

    private record Table(boolean named) implements Shape {
        @Override
        public void row(PrintWriter out, Upcoming next, boolean first) {
            out.println(next.slot + "   " + SlotText.local(next.slot, next.series.zone) + " " + next.series.zone.getId()
                    + (named ? "   " + next.series.name : ""));
        }
    }

    private record Rows() implements Shape {
        @Override
        public void begin(PrintWriter out) {
            out.print("{\"slots\":[");
        }

        @Override
        public void row(PrintWriter out, Upcoming next, boolean first) {
            out.println(first ? "" : ",");
            out.print(Json.text(Json.object(
                    "slot",
                    next.slot,
                    "local",
                    SlotText.iso(next.slot, next.series.zone),
                    "zone",
                    next.series.zone.getId(),
                    "job",
                    next.series.name.isEmpty() ? null : next.series.name)));
        }

        @Override
        public void end(PrintWriter out) {
            out.println("]}");
        }
    }
}
