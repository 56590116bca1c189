package dev.fencepost.edge.config;

import dev.fencepost.run.Classification;
import dev.fencepost.run.Policies;
import dev.fencepost.schedule.Overlap;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/**
 * The policies as written at a job or under {@code defaults}, each with its origin. What is null is written nowhere and has no built-in value.
 *
 * @param silence {@link #NO_LIMIT} stands for the word "none" in the file
 * @param onlyTransient whether {@code retry.only} says so
 * @param classify each kind on its own: a job's rules of one kind take the place of those of {@code defaults}
 * @param maxRunsPerDay 0 stands for the word "none" in the file
 */
record WrittenPolicies(
        Given<Overlap> overlap,
        Given<Duration> jitter,
        Given<Duration> stagger,
        @Nullable Given<Duration> silence,
        Given<Integer> retries,
        Given<Duration> backoff,
        @Nullable Given<Set<Integer>> onExitCodes,
        Given<Boolean> onlyTransient,
        @Nullable Given<OutputPattern> outputMatches,
        @Nullable Given<OutputPattern> outputNotMatches,
        Given<Boolean> resultNotEmpty,
        Given<Boolean> filesChanged,
        Map<Classification, Given<List<Policies.Rule>>> classify,
        Given<Integer> pauseAfterFailures,
        @Nullable Given<Integer> maxRunsPerDay) {

    static final Duration NO_LIMIT = Duration.ZERO;

    private static final Duration MOST_JITTER = Duration.ofHours(1);
    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final Duration MOST_SILENCE = Duration.ofDays(30);
    private static final Duration MOST_BACKOFF = Duration.ofHours(24);
    private static final Duration DEFAULT_DEFER = Duration.ofHours(1);
    private static final Duration MOST_DEFER = Duration.ofDays(7);
    private static final int MOST_RETRIES = 100;
    private static final int MOST_FAILURES = 1_000;
    private static final int MOST_RUNS = 100_000;
    private static final int MOST_RULES = 20;
    private static final int HIGHEST_EXIT_CODE = 255;
    private static final int DEFAULT_PAUSE_AFTER = 5;
    private static final String NONE = "none";

    /** The values where the file says nothing. */
    static WrittenPolicies builtIn() {
        return new WrittenPolicies(
                Given.builtIn(Overlap.SKIP, "two runs never overlap"),
                Given.builtIn(Duration.ZERO, "a run starts when its slot comes due"),
                Given.builtIn(Duration.ZERO, "missed slots start at once"),
                null,
                Given.builtIn(0, "a failure is final"),
                Given.builtIn(Policies.Retry.NONE.backoff(), "doubled after each further failure, up to a day"),
                null,
                Given.builtIn(false, "after a failure of any kind"),
                null,
                null,
                Given.builtIn(false, "a run may have no result"),
                Given.builtIn(false, "a run that changes nothing is a success"),
                Map.of(),
                Given.builtIn(DEFAULT_PAUSE_AFTER, "failed ticks in a row; 0 for never"),
                null);
    }

    /** Reads them from a job or from {@code defaults}; what is not written there comes from the next ones. */
    static WrittenPolicies read(Section section, WrittenPolicies next) {
        Section catchUp = section.section("catch-up", Keys.CATCH_UP, "catch-up: { max: 1 }");
        Section retry = retry(section);
        Section succeedIf = succeedIf(section);
        return new WrittenPolicies(
                or(section.read("overlap", WrittenPolicies::overlap), next.overlap),
                or(section.read("jitter", WrittenPolicies::spread), next.jitter),
                or(catchUp.read("stagger", WrittenPolicies::spread), next.stagger),
                orNull(section.read("silence", WrittenPolicies::silence), next.silence),
                or(retry.number("max", 0, MOST_RETRIES), next.retries),
                or(retry.read("backoff", text -> DurationText.parse(text, SECOND, MOST_BACKOFF)), next.backoff),
                orNull(exitCodes(retry, "on-exit-codes"), next.onExitCodes),
                or(retry.read("only", WrittenPolicies::only), next.onlyTransient),
                orNull(pattern(succeedIf, "output-matches"), next.outputMatches),
                orNull(pattern(succeedIf, "output-not-matches"), next.outputNotMatches),
                or(succeedIf.truth("result-not-empty"), next.resultNotEmpty),
                or(succeedIf.truth("files-changed"), next.filesChanged),
                classify(section, next.classify),
                or(section.number("pause-after-failures", 0, MOST_FAILURES), next.pauseAfterFailures),
                orNull(section.read("max-runs-per-day", WrittenPolicies::runs), next.maxRunsPerDay));
    }

    static Section succeedIf(Section section) {
        return section.section("succeed-if", Keys.SUCCEED_IF, "succeed-if: { result-not-empty: true }");
    }

    private static Section retry(Section section) {
        return section.section("retry", Keys.RETRY, "retry: { max: 2, backoff: 1m }");
    }

    private static <T> Given<T> or(@Nullable Given<T> written, Given<T> next) {
        return written != null ? written : next;
    }

    private static <T> @Nullable Given<T> orNull(@Nullable Given<T> written, @Nullable Given<T> next) {
        return written != null ? written : next;
    }

    private static Overlap overlap(String written) {
        for (Overlap overlap : Overlap.values()) {
            if (word(overlap).equals(written.strip())) {
                return overlap;
            }
        }
        throw new BadValueException(
                Finding.quote(written) + " is no overlap policy", "write skip, buffer-one or take-over");
    }

    static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static Duration spread(String text) {
        return DurationText.parse(text, Duration.ZERO, MOST_JITTER);
    }

    private static Duration silence(String text) {
        return text.strip().equals(NONE) ? NO_LIMIT : DurationText.parse(text, SECOND, MOST_SILENCE);
    }

    private static int runs(String text) {
        return text.strip().equals(NONE) ? 0 : Section.wholeNumber(text.strip(), 1, MOST_RUNS);
    }

    private static boolean only(String text) {
        return switch (text.strip()) {
            case "transient" -> true;
            case "any" -> false;
            default ->
                throw new BadValueException(
                        Finding.quote(text) + " is no kind of failure that can be tried again",
                        "write transient, or any for every failure");
        };
    }

    private static @Nullable Given<Set<Integer>> exitCodes(Section section, String key) {
        Given<List<Integer>> codes =
                section.list(key, key + ": [75]", text -> Section.wholeNumber(text.strip(), 1, HIGHEST_EXIT_CODE));
        return codes == null ? null : new Given<>(new TreeSet<>(codes.value()), codes.origin());
    }

    private static @Nullable Given<OutputPattern> pattern(Section section, String key) {
        if (!section.findings().hasRoomFor(0)) {
            return null; // as was told of the one that was too much
        }
        Given<OutputPattern> pattern = section.read(key, OutputPattern::parse);
        if (pattern != null && !section.findings().hasRoomFor(pattern.value().cost())) {
            section.error(
                    key,
                    "the regular expressions up to here are too large together",
                    "write * or + instead of {n}, shorter ones, or one in defaults for all jobs");
            return null;
        }
        if (pattern != null && pattern.value().isFoundEverywhere()) {
            section.warning(
                    key,
                    Finding.quote(pattern.value().text()) + " is found in every line, an empty one included",
                    "write what stands in those lines alone");
        }
        return pattern;
    }

    private static Map<Classification, Given<List<Policies.Rule>>> classify(
            Section section, Map<Classification, Given<List<Policies.Rule>>> next) {
        Section classify =
                section.section("classify", Keys.CLASSIFY, "classify: { auth: { output: 'login expired' } }");
        Map<Classification, Given<List<Policies.Rule>>> all = new EnumMap<>(Classification.class);
        all.putAll(next);
        for (Classification kind : Classification.values()) {
            Node value = classify.value(word(kind));
            if (value != null) {
                all.put(kind, new Given<>(rules(classify, kind, value), classify.origin(word(kind))));
            }
        }
        return all;
    }

    /** One rule, or a list of them; an empty list takes back what {@code defaults} say. */
    private static List<Policies.Rule> rules(Section classify, Classification kind, Node value) {
        String key = word(kind);
        List<Node> items = value instanceof SequenceNode list ? list.getValue() : List.of(value);
        if (items.size() > MOST_RULES) {
            classify.error(key, "there are " + items.size() + " rules, the limit is " + MOST_RULES, "");
            return List.of();
        }
        List<Policies.Rule> rules = new ArrayList<>();
        for (int i = 0; i < items.size(); i++) {
            Node item = items.get(i);
            String path = classify.pathOf(key) + (item == value ? "" : "[" + i + "]");
            if (!(item instanceof MappingNode mapping)) {
                classify.findings()
                        .error(
                                item,
                                path,
                                "a rule must be a mapping, not a " + Section.shape(item),
                                "write " + key + ": { output: 'PART OF A LINE' } or " + key + ": { exit-codes: [77] }");
                continue;
            }
            Policies.Rule rule = rule(
                    Section.of(
                            mapping,
                            item == value ? classify.keyAt(key) : item,
                            path,
                            classify.findings(),
                            classify.origin(key).kind(),
                            kind == Classification.LIMIT ? Keys.LIMIT_RULE : Keys.RULE),
                    kind);
            if (rule != null) {
                rules.add(rule);
            }
        }
        return rules;
    }

    private static Policies.@Nullable Rule rule(Section rule, Classification kind) {
        Given<OutputPattern> output = pattern(rule, "output");
        Given<Set<Integer>> codes = exitCodes(rule, "exit-codes");
        Given<Duration> defer = rule.read("defer", text -> DurationText.parse(text, SECOND, MOST_DEFER));
        if (!rule.has("output") && !rule.has("exit-codes")) {
            if (!rule.isMisspelt("output") && !rule.isMisspelt("exit-codes")) {
                rule.findings()
                        .error(
                                rule.node(),
                                rule.path(),
                                "the rule would fit every failure",
                                "write output: 'PART OF A LINE', exit-codes: [77], or both, which then must both fit");
            }
            return null;
        }
        if (output != null) {
            for (String group : output.value().names()) {
                if (!group.equals(OutputPattern.UNTIL) || kind != Classification.LIMIT) {
                    rule.warning(
                            "output",
                            "the group " + Finding.quote(group) + " has no meaning here",
                            "the group until of a limit alone is read");
                }
            }
        }
        return new Policies.Rule(
                kind,
                output == null ? null : output.value(),
                codes == null ? Set.of() : codes.value(),
                defer == null ? DEFAULT_DEFER : defer.value());
    }

    /** How often a slot is tried at most: {@code retry.max} may need more than {@code max-attempts} says. */
    Given<Integer> attempts(Section job, Given<Integer> maxAttempts) {
        int needed = retries.value() + 1;
        if (needed <= maxAttempts.value()) {
            return maxAttempts;
        }
        if (maxAttempts.origin().kind() != Origin.Kind.BUILT_IN) {
            job.warning(
                    job.has("max-attempts") ? "max-attempts" : "retry",
                    "max-attempts is " + maxAttempts.value() + ", but retry.max is " + retries.value()
                            + ": there are up to " + needed + " attempts",
                    "write max-attempts: " + needed + ", or a smaller retry.max");
        }
        return new Given<>(needed, Origin.builtIn("retry.max + 1"));
    }

    /**
     * The policies of a job, after the checks that need the rest of it; all is shown.
     *
     * @param isCall whether the job has {@code http}
     * @param hasGit whether it publishes to git
     */
    Policies of(Section job, Timing timing, @Nullable Duration timeout, boolean isCall, boolean hasGit, Values values) {
        values.add("jitter", jitter, DurationText::format);
        checkJitter(job, timing);
        Duration quiet = silence == null || silence.value().equals(NO_LIMIT) ? null : silence.value();
        if (isCall && quiet != null) {
            if (job.has("silence")) {
                job.error("silence", "a call of a service writes no output", "remove it; timeout bounds a call");
            }
            quiet = null;
        }
        if (quiet != null && timeout != null && quiet.compareTo(timeout) >= 0) {
            job.warning(
                    "silence",
                    "silence of " + DurationText.format(quiet) + " never ends a run: its timeout is "
                            + DurationText.format(timeout),
                    "write a shorter one, or remove it");
        }
        if (quiet == null) {
            values.add(
                    "silence",
                    NONE,
                    silence == null || isCall ? Origin.builtIn("a run may be quiet") : silence.origin());
        } else {
            values.add("silence", Objects.requireNonNull(silence), DurationText::format);
        }
        return new Policies(
                overlap.value(),
                jitter.value(),
                stagger.value(),
                quiet,
                retry(job, values.under("retry")),
                succeedIf(job, hasGit, values.under("succeed-if")),
                rules(values),
                brakes(values));
    }

    private void checkJitter(Section job, Timing timing) {
        Duration gap = timing.shortestGap();
        if (gap != null && jitter.value().compareTo(gap) >= 0) {
            job.error(
                    job.has("jitter") ? "jitter" : job.has("cron") ? "cron" : "every",
                    "the jitter of " + DurationText.format(jitter.value())
                            + (job.has("jitter") ? "" : " (" + jitter.origin().text() + ")")
                            + " is not shorter than the shortest gap between two slots, "
                            + DurationText.format(gap),
                    "write jitter: " + DurationText.format(gap.dividedBy(10).truncatedTo(ChronoUnit.SECONDS))
                            + " or another one below the gap");
        }
    }

    private Policies.Retry retry(Section job, Values values) {
        values.add("max", retries, String::valueOf);
        values.add("backoff", backoff, DurationText::format);
        values.add("on-exit-codes", onExitCodes, WrittenPolicies::codes, "after any exit code");
        values.add("only", onlyTransient, only -> only ? "transient" : "any");
        if (retries.value() == 0 && job.has("retry")) {
            Section retry = retry(job);
            if (!retry.has("max") && !retry.keys().isEmpty()) {
                job.warning("retry", "retry.max is 0, so nothing is tried again", "write retry: { max: 2, … }");
            }
        }
        if (retries.value() > 0
                && onlyTransient.value()
                && classify.getOrDefault(Classification.TRANSIENT, Given.builtIn(List.of(), ""))
                        .value()
                        .isEmpty()) {
            job.error(
                    "retry",
                    "only transient failures are to be tried again, but nothing says which these are",
                    "write classify: { transient: { output: 'PART OF A LINE' } }, or remove only");
        }
        return new Policies.Retry(
                retries.value(),
                backoff.value(),
                onExitCodes == null ? Set.of() : onExitCodes.value(),
                onlyTransient.value());
    }

    private Policies.SucceedIf succeedIf(Section job, boolean hasGit, Values values) {
        values.add("output-matches", outputMatches, p -> Values.shown(p.text()), "the exit code alone counts");
        values.add("output-not-matches", outputNotMatches, p -> Values.shown(p.text()), "the exit code alone counts");
        values.add("result-not-empty", resultNotEmpty, String::valueOf);
        if (hasGit) {
            values.add("files-changed", filesChanged, String::valueOf);
        } else if (filesChanged.value() && filesChanged.origin().kind() == Origin.Kind.JOB) {
            succeedIf(job)
                    .error(
                            "files-changed",
                            "without git under publish nobody looks at files",
                            "write publish: [ { git: { repo: PATH } } ], or remove the key");
        }
        return new Policies.SucceedIf(
                outputMatches == null ? null : outputMatches.value(),
                outputNotMatches == null ? null : outputNotMatches.value(),
                resultNotEmpty.value(),
                hasGit && filesChanged.value());
    }

    private List<Policies.Rule> rules(Values values) {
        if (classify.isEmpty()) {
            values.add("classify", NONE, Origin.builtIn("all failures are alike"));
        }
        classify.forEach((kind, rules) -> values.under("classify")
                .add(
                        word(kind),
                        rules,
                        all -> all.isEmpty()
                                ? NONE
                                : all.stream().map(WrittenPolicies::shown).collect(Collectors.joining("; or "))));
        return classify.values().stream()
                .flatMap(rules -> rules.value().stream())
                .toList();
    }

    private static String shown(Policies.Rule rule) {
        StringBuilder text = new StringBuilder();
        if (rule.output() != null) {
            text.append("output ").append(Values.shown(rule.output().text()));
        }
        if (!rule.exitCodes().isEmpty()) {
            text.append(text.isEmpty() ? "" : ", ").append("exit-codes ").append(codes(rule.exitCodes()));
        }
        return rule.kind() == Classification.LIMIT
                ? text + ", defer " + DurationText.format(rule.defer())
                : text.toString();
    }

    private static String codes(Set<Integer> codes) {
        return codes.stream().sorted().map(String::valueOf).collect(Collectors.joining(", "));
    }

    private Policies.Brakes brakes(Values values) {
        values.add("pause-after-failures", pauseAfterFailures, String::valueOf);
        values.add("max-runs-per-day", maxRunsPerDay, n -> n == 0 ? NONE : String.valueOf(n), "any number");
        return new Policies.Brakes(
                pauseAfterFailures.value(),
                maxRunsPerDay == null || maxRunsPerDay.value() == 0 ? null : maxRunsPerDay.value());
    }
}
