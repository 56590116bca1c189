package dev.fencepost.edge.cli;

import dev.fencepost.edge.cli.LogPrinter.Form;
import dev.fencepost.edge.cli.LogPrinter.Stream;
import dev.fencepost.edge.config.BadValueException;
import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.config.InstantText;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.host.StateDirectory;
import dev.fencepost.edge.process.OutputLogReader;
import dev.fencepost.edge.process.OutputLogReader.Entry;
import dev.fencepost.edge.process.RunFolders;
import dev.fencepost.host.Printable;
import dev.fencepost.host.Time;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History;
import dev.fencepost.run.History.Kept;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Shows what a run wrote: from its log on this node, else what the store keeps of it. Changes nothing. */
@Command(
        description = {
            "Shows the output of a run: of the newest run, or of the slot that is named.",
            "The log of this node has everything, both streams and the time of each line; of a run on another node the",
            "store has the last 64 KiB, once it has ended. Control characters are shown as text, such as \\x1b, on a",
            "terminal and elsewhere; with --raw they stay as they are, for pipes and files only. With --follow what is",
            "written is shown as it comes, until the run ends. Ends with 3 when there is no such job, slot or output."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost logs article",
            "  fencepost logs article -f",
            "  fencepost logs article 2026-03-29T01:00:00Z --attempt 1 --timestamps",
            "  fencepost logs backup manual:2026-03-29 --stream err --all",
            "  fencepost logs article --all --raw > article.txt"
        })
final class LogsCommand implements Callable<Integer> {

    private static final int MOST_LINES = 1_000_000_000;
    private static final int NEWEST_ENTRIES = 100;
    private static final int ALL_ENTRIES = 10_000;
    private static final int SHOWN_SLOTS = 5;
    private static final Duration BETWEEN_LOOKS = Duration.ofMillis(50);
    private static final Duration BETWEEN_QUESTIONS = Duration.ofSeconds(1);

    @Parameters(index = "0", paramLabel = "JOB", description = "The id of the job, or the name of exec's lease.")
    @SuppressWarnings("NullAway.Init")
    private String id;

    @Parameters(
            index = "1",
            arity = "0..1",
            paramLabel = "SLOT",
            description = "An instant, or what history shows as the slot, or a beginning of it that fits one only.")
    private @Nullable String slot;

    @Option(
            names = {"-f", "--follow"},
            description = "Go on until the run has ended.")
    private boolean follow;

    @Option(names = "--attempt", paramLabel = "N", description = "The attempt of this number. Else the newest.")
    private @Nullable Integer number;

    @Option(names = "--stream", paramLabel = "STREAM", description = "out, err or both. Else both.")
    private Stream stream = Stream.BOTH;

    @Option(names = "--timestamps", description = "Before each line when it was read (UTC), and out or err.")
    private boolean timestamps;

    @Option(names = "--lines", paramLabel = "N", description = "The last N lines. Else 200.")
    private int lines = 200;

    @Option(names = "--all", description = "All lines.")
    private boolean all;

    @Option(names = "--raw", description = "Control characters as they are; not on a terminal.")
    private boolean raw;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private final SharedOptions shared;

    LogsCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() throws InterruptedException {
        Bounds.number(spec, "--lines", lines, 1, MOST_LINES);
        if (raw && (shared.json() || timestamps)) {
            throw usage("--raw goes with neither --json nor --timestamps");
        }
        if (raw && shared.surroundings().outIsScreen()) {
            throw usage(
                    "--raw: what a run writes may change your terminal, so it goes to a pipe or a file only, such as"
                            + " fencepost logs " + id + " --raw | less -R");
        }
        JobsFile file = shared.jobsFileIfAny();
        try (OpenedStore opened = OpenedStore.existing(shared, file)) {
            Attempt attempt = attempt(opened.store(), file);
            Path log = new RunFolders(StateDirectory.runsIn(shared.stateDir()))
                    .logOf(id, attempt.slotKey(), attempt.number(), attempt.runId());
            // The run itself could have put a link or a pipe in its place.
            return Files.isRegularFile(log, LinkOption.NOFOLLOW_LINKS)
                    ? fromLog(opened, attempt, log)
                    : fromStore(opened, attempt);
        } catch (IOException e) {
            throw new CommandFailure(ExitCode.FAILED, "the log cannot be read: " + e);
        }
    }

    private ParameterException usage(String text) {
        return new ParameterException(spec.commandLine(), text);
    }

    private Attempt attempt(History history, @Nullable JobsFile file) {
        boolean newest = slot == null && number == null;
        List<Attempt> attempts = attempts(history, newest ? NEWEST_ENTRIES : ALL_ENTRIES);
        if (newest && attempts.isEmpty()) {
            attempts = attempts(history, ALL_ENTRIES);
        }
        if (attempts.isEmpty()) {
            HistoryCommand.refuseUnknown(id, file, history.jobs());
            throw refused("no run of " + id + " is known yet", null);
        }
        // By its start: slots of orders within one second have no order of their own.
        String key = slot == null
                ? Collections.max(attempts, Comparator.comparing(Attempt::startedAt))
                        .slotKey()
                : slotKey(attempts, slot);
        List<Attempt> ofSlot = attempts.stream()
                .filter(each -> each.slotKey().equals(key))
                .filter(each -> number == null || each.number() == number)
                .toList();
        if (ofSlot.isEmpty()) {
            long there =
                    attempts.stream().filter(each -> each.slotKey().equals(key)).count();
            throw refused("there is no attempt " + number + " at " + key, "it has " + there);
        }
        return ofSlot.getFirst();
    }

    private List<Attempt> attempts(History history, int limit) {
        return history.history(id, limit).stream()
                .map(History.Entry::attempt)
                .filter(Objects::nonNull)
                .toList();
    }

    private String slotKey(List<Attempt> attempts, String wanted) {
        List<String> keys = attempts.stream().map(Attempt::slotKey).distinct().toList();
        String exact = instant(wanted);
        if (keys.contains(exact)) {
            return exact;
        }
        List<String> fitting =
                keys.stream().filter(key -> key.startsWith(wanted)).toList();
        if (fitting.size() == 1) {
            return fitting.getFirst();
        }
        if (fitting.isEmpty()) {
            throw refused(
                    "no run of " + id + " at " + Finding.quote(wanted) + " is known",
                    "the newest are " + someOf(keys) + "; fencepost history " + id + " shows all");
        }
        throw refused(
                Finding.quote(wanted) + " fits " + fitting.size() + " slots of " + id,
                "write more of " + someOf(fitting));
    }

    private static String someOf(List<String> keys) {
        return String.join(", ", keys.subList(0, Math.min(keys.size(), SHOWN_SLOTS)));
    }

    /** An instant in the form of a slot's key; anything else as it is. */
    private static String instant(String wanted) {
        try {
            return InstantText.parse(wanted).toString();
        } catch (BadValueException noInstant) {
            return wanted;
        }
    }

    private static CommandFailure refused(String text, @Nullable String hint) {
        return new CommandFailure(ExitCode.REFUSED, text + (hint == null ? "" : "\n    " + hint));
    }

    private int fromLog(OpenedStore opened, Attempt found, Path log) throws IOException, InterruptedException {
        Time time = opened.assembly().time();
        long skipped = all ? 0 : Math.max(0, countLines(log) - lines);
        if (skipped > 0) {
            say(skipped + " lines before these are left out; --all shows them");
        }
        LogPrinter printer = printer(skipped);
        Attempt attempt = found;
        long askAt = time.bootMillis();
        boolean answered = true;
        try (OutputLogReader reader = OutputLogReader.open(log)) {
            while (true) {
                // Asked before the look at the log: what was written before the end is then seen by that look.
                if (follow && attempt.endedAt() == null && time.bootMillis() >= askAt) {
                    Attempt now = ask(opened.store(), attempt, answered);
                    answered = now != null;
                    attempt = now == null ? attempt : now;
                    askAt = time.bootMillis() + BETWEEN_QUESTIONS.toMillis();
                }
                for (Entry entry = reader.next(); entry != null; entry = reader.next()) {
                    printer.print(entry);
                }
                if (!follow
                        || attempt.endedAt() != null
                        || shared.surroundings().out().checkError()) {
                    break;
                }
                time.sleep(BETWEEN_LOOKS);
            }
        }
        printer.end();
        close(attempt, "log");
        return ExitCode.FINE;
    }

    private long countLines(Path log) throws IOException {
        LogPrinter.Lines counted = new LogPrinter.Lines();
        long count = 0;
        try (OutputLogReader reader = OutputLogReader.open(log)) {
            for (Entry entry = reader.next(); entry != null; entry = reader.next()) {
                if (stream.has(entry.source())) {
                    count = counted.of(entry.source(), entry.endsLine());
                }
            }
        }
        return count;
    }

    private LogPrinter printer(long skipped) {
        Form form = shared.json() ? Form.JSON : raw ? Form.RAW : timestamps ? Form.STAMPED : Form.TEXT;
        return new LogPrinter(shared.surroundings().out(), shared.surroundings().err(), stream, form, skipped);
    }

    /** How the attempt stands now; null, said once, while the store does not answer: what is followed is the log. */
    private @Nullable Attempt ask(History history, Attempt attempt, boolean answeredBefore) {
        try {
            Kept kept = history.kept(id, attempt.runId());
            return kept == null ? attempt : kept.attempt();
        } catch (StoreException e) {
            if (answeredBefore) {
                say("the store does not answer, so the end of the run may be missed: " + e.getMessage());
            }
            return null;
        }
    }

    private int fromStore(OpenedStore opened, Attempt found) throws IOException, InterruptedException {
        String node = node(found);
        boolean isOurs = node.equals(StateDirectory.existingNodeId(shared.stateDir()));
        String where = isOurs ? "this node" : "node " + node;
        if (stream != Stream.BOTH) {
            throw refused(
                    "the log of this run is " + (isOurs ? "no longer here" : "on " + where)
                            + "; what the store keeps of it has both streams in one",
                    "leave out --stream");
        }
        Kept kept = ended(opened, found);
        if (kept == null) {
            throw refused(
                    "the run at " + found.slotKey() + " is under way on " + where + ", where its log is",
                    "the store gets the end of it when the run ends; --follow waits for that");
        }
        String tail = kept.outputTail();
        if (tail == null || tail.isEmpty()) {
            throw refused(
                    "nothing of the output of " + id + " at " + found.slotKey() + " is stored",
                    kept.attempt().reason() == null
                            ? "the run wrote nothing"
                            : "it ended with: " + kept.attempt().reason());
        }
        say("this is the end of the output, as the store keeps it; "
                + (isOurs ? "the full log is no longer on this node" : "the full log is on " + where));
        List<String> texts = tail.lines().toList();
        long skipped = all ? 0 : Math.max(0, texts.size() - lines);
        LogPrinter printer = printer(skipped);
        texts.forEach(text -> printer.print(null, null, text, true));
        printer.end();
        close(kept.attempt(), "store");
        return ExitCode.FINE;
    }

    private static String node(Attempt attempt) {
        Incarnation owner = Incarnation.of(attempt.owner());
        return owner == null ? attempt.owner().text() : owner.nodeId();
    }

    /** What is stored of an attempt that has ended, for which is waited with {@code --follow}; null while it has not. */
    private @Nullable Kept ended(OpenedStore opened, Attempt attempt) throws InterruptedException {
        while (true) {
            Kept kept = opened.store().kept(id, attempt.runId());
            if (kept == null || kept.attempt().endedAt() != null || !follow) {
                return kept == null || kept.attempt().endedAt() == null ? null : kept;
            }
            opened.assembly().time().sleep(BETWEEN_QUESTIONS);
        }
    }

    /** Which run it was and how it ended. */
    private void close(Attempt attempt, String source) {
        if (shared.json()) {
            Json.print(
                    shared.surroundings().out(),
                    Json.object(
                            "job",
                            id,
                            "slot",
                            attempt.slotKey(),
                            "attempt",
                            attempt.number(),
                            "run_id",
                            attempt.runId(),
                            "node",
                            node(attempt),
                            "outcome",
                            attempt.outcome(),
                            "exit_code",
                            attempt.exitCode(),
                            "signal",
                            attempt.signal(),
                            "reason",
                            attempt.reason(),
                            "source",
                            source));
            return;
        }
        say(id + " at " + attempt.slotKey() + ", attempt " + attempt.number() + ": "
                + (attempt.outcome() == null
                        ? "is under way"
                        : StatusCommand.lower(attempt.outcome())
                                + (attempt.reason() == null ? "" : ": " + attempt.reason())));
    }

    private void say(String text) {
        PrintWriter err = shared.surroundings().err();
        err.println("fencepost: " + Printable.text(text));
        err.flush();
    }
}
