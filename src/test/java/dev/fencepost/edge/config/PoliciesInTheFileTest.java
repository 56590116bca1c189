package dev.fencepost.edge.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.run.Classification;
import dev.fencepost.run.Job;
import dev.fencepost.run.Policies;
import dev.fencepost.run.RetentionPolicy;
import dev.fencepost.schedule.Overlap;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Overlap, jitter, retry, conditions of success, kinds of failures, brakes; and what stands at the top of the file. */
class PoliciesInTheFileTest {

    @TempDir
    Path dir;

    private Job only(String lines) throws IOException {
        return Readings.accepted(read(lines)).jobs().getFirst();
    }

    private Reading read(String lines) throws IOException {
        return Readings.of(dir, "jobs:\n  a:\n    command: [date]\n" + lines.indent(4));
    }

    private String explained(String yaml, String job, String key) throws IOException {
        return Readings.job(Readings.of(dir, yaml), job).values().stream()
                .filter(value -> value.key().equals(key))
                .map(value -> value.text() + " | " + value.origin().text())
                .findFirst()
                .orElse("not there");
    }

    @Test
    void aJobThatSaysNothingHasTheDefaults() throws IOException {
        Policies policies = only("every: 1h").policies();
        assertEquals(
                new Policies(
                        Overlap.SKIP,
                        Duration.ZERO,
                        Duration.ZERO,
                        null,
                        Policies.Retry.NONE,
                        Policies.SucceedIf.EXIT_CODE,
                        List.of(),
                        new Policies.Brakes(5, null)),
                policies);
    }

    @Test
    void everyPolicyCanBeWritten() throws IOException {
        Job job = only("""
                overlap: buffer-one
                jitter: 44m
                catch-up: { stagger: 30m }
                silence: 10m
                timeout: 20m
                retry: { max: 3, backoff: 30s, on-exit-codes: [75, 70], only: transient }
                succeed-if: { output-matches: 'published [0-9]+', output-not-matches: "(?i)error", result-not-empty: true }
                pause-after-failures: 0
                max-runs-per-day: 12
                classify:
                  transient: { exit-codes: [75] }
                  limit: { output: 'usage limit .* until (?P<until>\\S+)', defer: 2h }
                  auth:
                    - { output: "login expired|not logged in", exit-codes: [1, 2] }
                    - { exit-codes: [77] }
                """);
        Policies policies = job.policies();
        assertEquals(Overlap.BUFFER_ONE, policies.overlap());
        assertEquals(Duration.ofMinutes(44), policies.jitter());
        assertEquals(Duration.ofMinutes(30), policies.stagger());
        assertEquals(Duration.ofMinutes(10), policies.silence());
        assertEquals(new Policies.Retry(3, Duration.ofSeconds(30), Set.of(70, 75), true), policies.retry());
        assertEquals(4, job.maxAttempts(), "retry.max and the first attempt");
        assertEquals(
                "published [0-9]+",
                Objects.requireNonNull(policies.succeedIf().outputMatches()).text());
        assertTrue(
                Objects.requireNonNull(policies.succeedIf().outputNotMatches()).isFoundIn("ERROR"));
        assertTrue(policies.succeedIf().resultNotEmpty());
        assertFalse(policies.succeedIf().filesChanged());
        assertEquals(new Policies.Brakes(0, 12), policies.brakes());
        assertEquals(
                List.of(Classification.AUTH, Classification.AUTH, Classification.LIMIT, Classification.TRANSIENT),
                policies.classify().stream().map(Policies.Rule::kind).toList());
        assertEquals(Set.of(1, 2), policies.classify().getFirst().exitCodes());
        assertNull(policies.classify().get(1).output());
        assertEquals(Duration.ofHours(2), policies.classify().get(2).defer());
        assertEquals(List.of(), read("overlap: take-over").warnings());
        assertEquals(Overlap.TAKE_OVER, only("overlap: take-over").policies().overlap());
    }

    @Test
    void aJobsOwnKeyWinsOverThatOfTheDefaultsAndTheOthersStay() throws IOException {
        String yaml = """
                defaults:
                  overlap: take-over
                  silence: 5m
                  retry: { max: 2, backoff: 5s, on-exit-codes: [75] }
                  succeed-if: { result-not-empty: true, files-changed: true }
                  classify: { auth: { exit-codes: [77] }, limit: { exit-codes: [78] } }
                  pause-after-failures: 3
                  max-runs-per-day: 5
                  max-attempts: 6
                jobs:
                  a: { command: [date] }
                  b:
                    command: [date]
                    overlap: skip
                    silence: none
                    retry: { max: 0, on-exit-codes: ~ }
                    succeed-if: { result-not-empty: false }
                    classify: { auth: [], limit: { exit-codes: [79] } }
                    max-runs-per-day: none
                  c: { http: { get: "https://example.org/" } }
                """;
        JobsFile file = Readings.accepted(Readings.of(dir, yaml));
        Policies a = file.job("a").orElseThrow().policies();
        Policies b = file.job("b").orElseThrow().policies();
        assertEquals(new Policies.Retry(2, Duration.ofSeconds(5), Set.of(75), false), a.retry());
        assertEquals(6, file.job("a").orElseThrow().maxAttempts());
        assertEquals(new Policies.SucceedIf(null, null, true, false), a.succeedIf(), "files are those of git alone");
        assertEquals(new Policies.Brakes(3, 5), a.brakes());
        assertEquals(2, a.classify().size());
        assertEquals(Overlap.SKIP, b.overlap());
        assertNull(b.silence());
        assertEquals(new Policies.Retry(0, Duration.ofSeconds(5), Set.of(75), false), b.retry());
        assertFalse(b.succeedIf().resultNotEmpty());
        assertEquals(
                List.of(Set.of(79)),
                b.classify().stream().map(Policies.Rule::exitCodes).toList());
        assertEquals(new Policies.Brakes(3, null), b.brakes());
        assertNull(file.job("c").orElseThrow().policies().silence(), "a call writes no output");
        assertEquals("take-over | defaults, fencepost.yaml:2", explained(yaml, "a", "overlap"));
        assertEquals("2 | defaults, fencepost.yaml:4", explained(yaml, "a", "retry.max"));
        assertEquals("any | built in: after a failure of any kind", explained(yaml, "a", "retry.only"));
        assertEquals("none | fencepost.yaml:15", explained(yaml, "b", "silence"));
        assertEquals("none | built in: a run may be quiet", explained(yaml, "c", "silence"));
        assertEquals("none | fencepost.yaml:18", explained(yaml, "b", "classify.auth"));
        assertEquals("exit-codes 78, defer 1h | defaults, fencepost.yaml:6", explained(yaml, "a", "classify.limit"));
        assertEquals("none | fencepost.yaml:19", explained(yaml, "b", "max-runs-per-day"));
    }

    @Test
    void theNumberOfAttemptsCoversTheRetries() throws IOException {
        String retries = "jobs: { a: { command: [date], retry: { max: 3 } } }";
        assertEquals("4 | built in: retry.max + 1", explained(retries, "a", "max-attempts"));
        assertEquals(List.of(), Readings.of(dir, retries).warnings());
        Reading both = read("max-attempts: 2\nretry: { max: 3 }");
        assertEquals(4, Readings.accepted(both).jobs().getFirst().maxAttempts());
        assertTrue(both.warnings().getFirst().message().contains("up to 4 attempts"));
        assertEquals(10, only("max-attempts: 10\nretry: { max: 3 }").maxAttempts());
        assertEquals(2, only("retry: { max: 1 }").maxAttempts());
    }

    @Test
    void theTopOfTheFileHasItsDefaults() throws IOException {
        JobsFile file = Readings.accepted(Readings.of(dir, "jobs: {}\n"));
        assertNull(file.maxParallel());
        assertEquals(RetentionPolicy.DEFAULT, file.retention());
        assertFalse(file.reloadOnChange());
    }

    @Test
    void theTopOfTheFileCanBeWritten() throws IOException {
        JobsFile file = Readings.accepted(
                Readings.of(
                        dir,
                        "max-parallel: 4\nreload: { on-change: true }\nhistory: { keep: 7d, keep-ticks: 500, keep-effects: 1d }\njobs: {}\n"));
        assertEquals(4, file.maxParallel());
        assertTrue(file.reloadOnChange());
        assertEquals(
                new RetentionPolicy(
                        Duration.ofDays(7), 500, Duration.ofDays(7), Duration.ofDays(1), Duration.ofDays(7)),
                file.retention());
        JobsFile longer = Readings.accepted(
                Readings.of(dir, "history: { keep: 365d, keep-outputs: 60d, keep-events: 1d }\njobs: {}\n"));
        assertEquals(
                new RetentionPolicy(
                        Duration.ofDays(365), 10_000, Duration.ofDays(1), Duration.ofDays(365), Duration.ofDays(60)),
                longer.retention());
    }

    private static BadInputTest.Bad key(String line, String... expected) {
        return BadInputTest.key(line, expected);
    }

    private static BadInputTest.Bad top(String line, String... expected) {
        return new BadInputTest.Bad(line, line + "\njobs: {}\n", List.of(expected));
    }

    static Stream<BadInputTest.Bad> wrong() {
        return Stream.of(
                key("overlap: buffer_one", "4:14 jobs.a.overlap:~\"buffer_one\"~buffer-one"),
                key("overlap: [skip]", "4:14 jobs.a.overlap:~single value"),
                key("jitter: 45m", "4:13 jobs.a.jitter:~not shorter than the shortest gap between two slots, 45m"),
                key("every: 5s\n    jitter: 5s", "5:13 jobs.a.jitter:~5s~write jitter: 0s"),
                key("jitter: 61m\n    every: 1d", "4:13 jobs.a.jitter:~too long~1h"),
                key("jitter: 5", "4:13 jobs.a.jitter:~no unit"),
                key("jitter: -5s", "4:13 jobs.a.jitter:~negative"),
                key("jitter: 1:30", "4:13 jobs.a.jitter:~\"1:30\""),
                key("catch-up: { stagger: 2h }", "4:26 jobs.a.catch-up.stagger:~too long~1h"),
                key("silence: 0s", "4:14 jobs.a.silence:~zero"),
                key("silence: off", "4:14 jobs.a.silence:~\"off\" is no duration"),
                key("retry: 3", "4:12 jobs.a.retry:~must be a mapping~retry: { max: 2"),
                key("retry: { max: 101 }", "4:19 jobs.a.retry.max:~from 0 to 100"),
                key("retry: { max: 1_0 }", "4:19 jobs.a.retry.max:~\"1_0\" is no whole number"),
                key("retry: { max: 0x3 }", "4:19 jobs.a.retry.max:~\"0x3\""),
                key("retry: { max: 03 }", "4:19 jobs.a.retry.max:~\"03\" is ambiguous"),
                key("retry: { max: 0o3 }", "4:19 jobs.a.retry.max:~\"0o3\""),
                key("retry: { max: yes }", "4:19 jobs.a.retry.max:~\"yes\""),
                key("retry: { max: 1, max: 2 }", "4:22 jobs.a.retry.max:~twice, first in line 4"),
                key("retry: { mx: 1 }", "4:14 jobs.a.retry.mx:~did you mean max?"),
                key("retry: { max: 1, backoff: 0s }", "4:31 jobs.a.retry.backoff:~zero~1s"),
                key("retry: { max: 1, backoff: 2d }", "4:31 jobs.a.retry.backoff:~too long~1d"),
                key(
                        "retry: { max: 1, on-exit-codes: 75 }",
                        "4:37 jobs.a.retry.on-exit-codes:~must be a list~on-exit-codes: [75]"),
                key("retry: { max: 1, on-exit-codes: [] }", "4:37 jobs.a.retry.on-exit-codes:~empty"),
                key(
                        "retry: { max: 1, on-exit-codes: [0, 256, 0x4B, 1] }",
                        "4:38 jobs.a.retry.on-exit-codes[0]:~\"0\" is out of range~1 to 255",
                        "4:41 jobs.a.retry.on-exit-codes[1]:~\"256\" is out of range",
                        "4:46 jobs.a.retry.on-exit-codes[2]:~\"0x4B\" is no whole number"),
                key("retry: { max: 1, only: always }", "4:28 jobs.a.retry.only:~\"always\"~write transient"),
                key(
                        "retry: { max: 1, only: transient }",
                        "4:12 jobs.a.retry:~nothing says which~classify: { transient"),
                key("retry: &r { max: 1 }\n    <<: *r", "5:5 jobs.a:~merge key"),
                key("succeed-if: { result-not-empty: yes }", "4:37 jobs.a.succeed-if.result-not-empty:~\"yes\""),
                key("succeed-if: { files-changed: true }", "4:34 jobs.a.succeed-if.files-changed:~without git"),
                key(
                        "succeed-if: { output-matches: 'a(b' }",
                        "4:35 jobs.a.succeed-if.output-matches:~missing closing )~RE2"),
                key(
                        "succeed-if: { output-not-matches: \"\\berror\\b\" }",
                        "4:39 jobs.a.succeed-if.output-not-matches:~control character at character 1~single quotes"),
                key("succeed-if: { output-matches: \"\" }", "4:35 jobs.a.succeed-if.output-matches:~empty"),
                key("succeed-if: { output-matches: [a] }", "4:35 jobs.a.succeed-if.output-matches:~single value"),
                key("pause-after-failures: -1", "4:27 jobs.a.pause-after-failures:~from 0 to 1000"),
                key("pause-after-failures: never", "4:27 jobs.a.pause-after-failures:~\"never\""),
                key("max-runs-per-day: 0", "4:23 jobs.a.max-runs-per-day:~from 1 to 100000"),
                key("max-runs-per-day: 1_000", "4:23 jobs.a.max-runs-per-day:~\"1_000\""),
                key("classify: { Auth: { exit-codes: [1] } }", "4:17 jobs.a.classify.Auth:~did you mean auth?"),
                key("classify: [ { auth: { exit-codes: [1] } } ]", "4:15 jobs.a.classify:~must be a mapping"),
                key("classify: { auth: login }", "4:23 jobs.a.classify.auth:~must be a mapping~auth: { output"),
                key("classify: { auth: {} }", "4:17 jobs.a.classify.auth:~would fit every failure"),
                key("classify: { auth: [ { exit-codes: [1] }, {} ] }", "4:46 jobs.a.classify.auth[1]:~every failure"),
                key("classify: { auth: { output: ~ } }", "4:17 jobs.a.classify.auth:~every failure"),
                key("classify: { auth: { exit-code: [1] } }", "4:25 jobs.a.classify.auth.exit-code:~mean exit-codes?"),
                key("classify: { auth: { exit-codes: [1], defer: 1h } }", "4:42 jobs.a.classify.auth.defer:~unknown"),
                key(
                        "classify: { limit: { exit-codes: [1], defer: 8d } }",
                        "4:50 jobs.a.classify.limit.defer:~too long~7d"),
                top("max-parallel: 0", "1:15 max-parallel:~from 1 to 1000"),
                top("max-parallel: many", "1:15 max-parallel:~\"many\""),
                top("max-paralel: 1", "1:1 max-paralel:~did you mean max-parallel?"),
                top("history: 90d", "1:10 history:~must be a mapping~keep: 90d"),
                top("history: { keep: 90 }", "1:18 history.keep:~no unit"),
                top("history: { keep: 1m }", "1:18 history.keep:~too short~1h"),
                top("history: { keep-ticks: 0 }", "1:24 history.keep-ticks:~1 to 1000000"),
                top("reload: true", "1:9 reload:~must be a mapping~on-change: true"),
                top("reload: { on-change: on }", "1:22 reload.on-change:~\"on\" is neither true nor false"),
                new BadInputTest.Bad(
                        "jitter of the defaults",
                        "defaults: { jitter: 1m }\njobs:\n  a: { command: [date], every: 1m }\n  b: { command: [date] }\n",
                        List.of("3:32 jobs.a.every:~jitter of 1m (defaults, fencepost.yaml:1) is not shorter")),
                new BadInputTest.Bad(
                        "silence of a call",
                        "jobs:\n  a: { http: { get: \"https://example.org/\" }, silence: 5m }\n",
                        List.of("2:56 jobs.a.silence:~writes no output")));
    }

    @ParameterizedTest
    @MethodSource("wrong")
    void isRefusedAtItsPlace(BadInputTest.Bad bad) throws IOException {
        BadInputTest.check(dir, bad);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            quoteCharacter = '`',
            value = {
                "silence: 1h, timeout: 30m ~ never ends a run",
                "retry: { backoff: 1m } ~ retry.max is 0",
                "succeed-if: { output-matches: '.*' } ~ found in every line",
                "classify: { auth: { output: 'x|' } } ~ found in every line",
                "classify: { limit: { output: '(?P<untill>x)' } } ~ the group \"untill\" has no meaning",
                "classify: { auth: { output: '(?P<until>x)' } } ~ the group \"until\" has no meaning"
            })
    void doubtfulThingsAreWarnedOf(String keys, String part) throws IOException {
        Reading reading = Readings.of(dir, "jobs: { a: { command: [date], " + keys + " } }");
        Readings.accepted(reading);
        assertTrue(
                reading.warnings().stream().anyMatch(f -> f.message().contains(part)),
                () -> "" + Readings.texts(reading.warnings()));
    }
}
