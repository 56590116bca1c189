package dev.fencepost.run;

import dev.fencepost.run.ChildProcess.Exit;
import dev.fencepost.run.Completion.Deferral;
import dev.fencepost.run.Completion.Further;
import dev.fencepost.run.Policies.Retry;
import dev.fencepost.run.Policies.Rule;
import dev.fencepost.run.Policies.SucceedIf;
import dev.fencepost.run.Workspace.RunFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Judges the end of one run by what it left: whether exit code 0 was a success, of what kind a failure is, and what follows from it
 * (semantics 3.9 and 6.3). Reads the kept output once the process tree is dead.
 */
final class Assessment {

    private static final int LONGEST_QUOTE = 200;
    private static final Pattern CONTROL_CHARACTERS = Pattern.compile("[\\p{Cntrl}\\x80-\\x9f]");
    private static final Duration LONGEST_BACKOFF = Duration.ofDays(1);

    /** A limit that is said to end later than this is a misreading. */
    private static final Duration LONGEST_DEFERRAL = Duration.ofDays(31);

    private final Job job;
    private final Workspace workspace;
    private final @Nullable RunFiles files;

    /** @param files null where none were made, so that there is no output */
    Assessment(Job job, Workspace workspace, @Nullable RunFiles files) {
        this.job = job;
        this.workspace = workspace;
        this.files = files;
    }

    /**
     * Why a run that ended with 0 was no success, or null if it was one.
     *
     * @throws IOException if the output cannot be read
     */
    @Nullable
    String brokenRule(byte @Nullable [] result) throws IOException {
        SucceedIf rules = job.policies().succeedIf();
        if (rules.resultNotEmpty() && (result == null || isBlank(result))) {
            return "succeed-if: the result is empty";
        }
        LinePattern wanted = rules.outputMatches();
        LinePattern unwanted = rules.outputNotMatches();
        if (wanted == null && unwanted == null) {
            return null;
        }
        Search search = new Search(wanted, unwanted);
        read(search::look);
        if (unwanted != null && search.unwantedLine != null) {
            return "succeed-if: output-not-matches " + quoted(unwanted.text()) + " is in the output: "
                    + quoted(search.unwantedLine);
        }
        return wanted == null || search.wantedIsThere
                ? null
                : "succeed-if: output-matches " + quoted(wanted.text()) + " is in no line of the output";
    }

    private static boolean isBlank(byte[] result) {
        return new String(result, StandardCharsets.UTF_8).isBlank();
    }

    private void read(Consumer<String> line) throws IOException {
        if (files != null) {
            workspace.output(files, line);
        }
    }

    /** Fit for a reason, which is shown on terminals and written to logs: short, and without control characters. */
    private static String quoted(String text) {
        String shown = text;
        if (text.length() > LONGEST_QUOTE) {
            int end = Character.isHighSurrogate(text.charAt(LONGEST_QUOTE - 1)) ? LONGEST_QUOTE - 1 : LONGEST_QUOTE;
            shown = text.substring(0, end) + "…";
        }
        return '"' + CONTROL_CHARACTERS.matcher(shown).replaceAll("\ufffd") + '"';
    }

    private static final class Search {
        private final @Nullable LinePattern wanted;
        private final @Nullable LinePattern unwanted;
        private boolean wantedIsThere;
        private @Nullable String unwantedLine;

        Search(@Nullable LinePattern wanted, @Nullable LinePattern unwanted) {
            this.wanted = wanted;
            this.unwanted = unwanted;
        }

        void look(String line) {
            if (wanted != null && !wantedIsThere) {
                wantedIsThere = wanted.isFoundIn(line);
            }
            if (unwanted != null && unwantedLine == null && unwanted.isFoundIn(line)) {
                unwantedLine = line;
            }
        }
    }

    /**
     * What follows from an end.
     *
     * @param reason with what is said of the sequel
     */
    record Sequel(
            boolean closesTick, boolean counted, @Nullable String reason, Further further) {}

    /**
     * What follows from a failure.
     *
     * @param outcome FAILED or TIMED_OUT
     * @param exit null where nothing was started
     * @param tries how many counted attempts the tick has had with this one
     * @param once whether a person waits for the end, so that no further try follows
     * @param now the wall clock, for people and for times that the output tells
     * @throws IOException if the output cannot be read
     */
    Sequel sequel(Outcome outcome, @Nullable Exit exit, @Nullable String reason, int tries, boolean once, Instant now)
            throws IOException {
        Finding finding = classified(exit);
        Classification kind = finding == null ? null : finding.rule().kind();
        String why = finding == null || finding.line() == null ? reason : reason + ": " + quoted(finding.line());
        if (finding != null && kind == Classification.LIMIT) {
            Deferral deferral =
                    new Deferral(instant(finding.until(), now), finding.rule().defer());
            Instant until = deferral.until() == null ? now.plus(deferral.otherwise()) : deferral.until();
            return new Sequel(
                    once,
                    once,
                    why + "; a usage limit, the job waits until " + seconds(until),
                    new Further(kind, null, deferral));
        }
        Retry retry = job.policies().retry();
        if (once || tries > retry.max() || !isWorthAnotherTry(outcome, exit, kind)) {
            return new Sequel(true, true, why, new Further(kind, null, null));
        }
        Duration wait = backoff(retry.backoff(), tries);
        String next = "try " + (tries + 1) + " of " + (retry.max() + 1) + " at " + seconds(now.plus(wait));
        return new Sequel(false, true, why + "; " + next, new Further(kind, wait, null));
    }

    private boolean isWorthAnotherTry(Outcome outcome, @Nullable Exit exit, @Nullable Classification kind) {
        Retry retry = job.policies().retry();
        if (kind == Classification.AUTH || (retry.onlyTransient() && kind != Classification.TRANSIENT)) {
            return false;
        }
        return retry.onExitCodes().isEmpty()
                || (outcome == Outcome.FAILED
                        && exit != null
                        && retry.onExitCodes().contains(exit.code()));
    }

    private static Duration backoff(Duration first, int tries) {
        Duration wait = first;
        for (int i = 1; i < tries && wait.compareTo(LONGEST_BACKOFF) < 0; i++) {
            wait = wait.multipliedBy(2);
        }
        return wait.compareTo(LONGEST_BACKOFF) > 0 ? LONGEST_BACKOFF : wait;
    }

    private static Instant seconds(Instant at) {
        return at.truncatedTo(ChronoUnit.SECONDS);
    }

    /** @param line that the rule's expression was found in, or null where it has none; {@code until} what the last such line tells */
    private record Finding(
            Rule rule, @Nullable String line, @Nullable String until) {}

    /** The first rule that fits decides, whatever line fits it. */
    private @Nullable Finding classified(@Nullable Exit exit) throws IOException {
        List<Rule> rules = job.policies().classify().stream()
                .filter(rule -> fits(rule.exitCodes(), exit))
                .toList();
        String[] lines = new String[rules.size()];
        String[] untils = new String[rules.size()];
        if (rules.stream().anyMatch(rule -> rule.output() != null)) {
            read(line -> {
                for (int i = 0; i < lines.length; i++) {
                    Rule rule = rules.get(i);
                    LinePattern pattern = rule.output();
                    boolean known = lines[i] != null && rule.kind() != Classification.LIMIT;
                    if (pattern != null && !known && pattern.isFoundIn(line)) {
                        lines[i] = line;
                        untils[i] = pattern.until(line).orElse(untils[i]);
                    }
                }
            });
        }
        for (int i = 0; i < lines.length; i++) {
            if (lines[i] != null || rules.get(i).output() == null) {
                return new Finding(rules.get(i), lines[i], untils[i]);
            }
        }
        return null;
    }

    private static boolean fits(Set<Integer> codes, @Nullable Exit exit) {
        return codes.isEmpty() || (exit != null && codes.contains(exit.code()));
    }

    /** An ISO-8601 instant, or seconds since 1970; null for anything else, for what is past, and for what is too far ahead. */
    private static @Nullable Instant instant(@Nullable String text, Instant now) {
        if (text == null) {
            return null;
        }
        try {
            Instant at = text.matches("\\d{1,12}")
                    ? Instant.ofEpochSecond(Long.parseLong(text))
                    : OffsetDateTime.parse(text).toInstant();
            return at.isAfter(now) && at.isBefore(now.plus(LONGEST_DEFERRAL)) ? at : null;
        } catch (DateTimeException noInstant) {
            return null;
        }
    }
}
