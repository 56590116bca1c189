package dev.fencepost.edge.config;

import dev.fencepost.host.Nearest;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The keys of one kind of mapping in the jobs file.
 *
 * @param known in the order in which the documentation has them
 * @param planned keys of a later version: refused, but not as unknown
 */
record Keys(List<String> known, Set<String> planned) {

    /** At a job as well as under {@code defaults}. */
    private static final String[] POLICIES = {
        "overlap",
        "jitter",
        "silence",
        "retry",
        "succeed-if",
        "classify",
        "pause-after-failures",
        "max-runs-per-day",
        "notify"
    };

    static final Keys TOP = new Keys(
            List.of(
                    "store",
                    "defaults",
                    "sinks",
                    "jobs",
                    "max-parallel",
                    "history",
                    "reload",
                    "shutdown",
                    "api",
                    "work"),
            Set.of("http", "logs"));
    static final Keys SHUTDOWN = new Keys(List.of("drain"), Set.of());
    static final Keys WORK = new Keys(List.of("keep"), Set.of());
    static final Keys HISTORY =
            new Keys(List.of("keep", "keep-ticks", "keep-events", "keep-effects", "keep-outputs"), Set.of());
    static final Keys RELOAD = new Keys(List.of("on-change"), Set.of());
    static final Keys DEFAULTS = with(
            List.of("timezone", "timeout", "grace", "catch-up", "lease", "max-attempts", "env", "working-dir"),
            POLICIES);
    static final Keys JOB = with(
            List.of(
                    "every",
                    "anchor",
                    "cron",
                    "dialect",
                    "timezone",
                    "command",
                    "http",
                    "working-dir",
                    "env",
                    "env-file",
                    "stdin",
                    "run-as",
                    "timeout",
                    "grace",
                    "lease",
                    "catch-up",
                    "start-from",
                    "max-attempts",
                    "fresh-after",
                    "publish"),
            POLICIES);
    static final Keys LEASE = new Keys(List.of("ttl"), Set.of());
    static final Keys CATCH_UP = new Keys(List.of("max", "window", "stagger"), Set.of());
    static final Keys RETRY = new Keys(List.of("max", "backoff", "on-exit-codes", "only"), Set.of());
    static final Keys SUCCEED_IF =
            new Keys(List.of("output-matches", "output-not-matches", "result-not-empty", "files-changed"), Set.of());
    static final Keys CLASSIFY = new Keys(List.of("auth", "limit", "transient"), Set.of());
    static final Keys RULE = new Keys(List.of("output", "exit-codes"), Set.of());
    static final Keys LIMIT_RULE = with(RULE.known(), "defer");
    static final Keys NOTIFIER = new Keys(List.of("ping", "webhook", "mail", "on", "after"), Set.of());
    static final Keys PING = new Keys(
            List.of("url", "url-file", "headers", "header-files", "timeout", "allow-hosts", "allow-private"), Set.of());
    static final Keys WEBHOOK = with(PING.known(), "sign");

    private static final List<String> ENDPOINT = List.of(
            "url",
            "url-file",
            "method",
            "content-type",
            "headers",
            "header-files",
            "timeout",
            "allow-hosts",
            "allow-private",
            "sign");

    static final Keys SINK = new Keys(List.of("http", "file", "git", "max-age"), Set.of());
    static final Keys SINK_HTTP = with(ENDPOINT, "read-back", "idempotent", "checks-token", "lock-delay", "max-tries");
    static final Keys SINK_FILE = new Keys(List.of("root"), Set.of());
    static final Keys PUBLISH_HTTP = with(SINK_HTTP.known(), "body");
    static final Keys PUBLISH_FILE = new Keys(List.of("root", "path", "body"), Set.of());
    static final Keys PUBLISH_GIT = new Keys(
            List.of(
                    "repo",
                    "remote",
                    "branch",
                    "paths",
                    "message",
                    "author",
                    "fence-ref",
                    "timeout",
                    "ssh-key",
                    "known-hosts",
                    "credentials-file"),
            Set.of());
    static final Keys CALL = with(ENDPOINT, "post", "put", "get", "body");
    static final Keys SIGN = new Keys(List.of("secret-file", "header"), Set.of());
    static final Keys READ_BACK = new Keys(List.of("url", "matches", "absent-after"), Set.of());

    private static Keys with(List<String> keys, String... more) {
        return new Keys(Stream.concat(keys.stream(), Stream.of(more)).toList(), Set.of());
    }

    /** Names that other programs have for the same thing, and places where the thing stands here. */
    private static final Map<String, String> HABITS = Map.ofEntries(
            Map.entry("zone", "timezone"),
            Map.entry("tz", "timezone"),
            Map.entry("cwd", "working-dir"),
            Map.entry("workdir", "working-dir"),
            Map.entry("directory", "working-dir"),
            Map.entry("working-directory", "working-dir"),
            Map.entry("cmd", "command"),
            Map.entry("run", "command"),
            Map.entry("exec", "command"),
            Map.entry("script", "command"),
            Map.entry("interval", "every"),
            Map.entry("schedule", "every or cron, at the job itself"),
            Map.entry("environment", "env"),
            Map.entry("input", "stdin"),
            Map.entry("ttl", "lease: { ttl: … }"),
            Map.entry("lease-ttl", "lease: { ttl: … }"),
            Map.entry("kill-grace", "grace"),
            Map.entry("max-backfill", "catch-up: { max: … }"),
            Map.entry("backfill", "catch-up: { max: … }"),
            Map.entry("database", "store"),
            Map.entry("sinks", "sinks, at the top of the file"),
            Map.entry("publish", "publish, at a job"),
            Map.entry("succeed", "succeed-if, at a job"),
            Map.entry("notify", "notify, at a job or under defaults"),
            Map.entry("notifications", "notify, at a job or under defaults"),
            Map.entry("on-failure", "notify: { …, on: [failure] }"),
            Map.entry("ping", "notify: { ping: URL }"),
            Map.entry("webhook", "notify: { webhook: { url: … } }"),
            Map.entry("mail", "notify: { mail: [ADDRESS] }"),
            Map.entry("mailto", "notify: { mail: [ADDRESS] }"),
            Map.entry("stagger", "catch-up: { stagger: … }"),
            Map.entry("random-delay", "jitter"),
            Map.entry("splay", "jitter"),
            Map.entry("backoff", "retry: { backoff: … }"),
            Map.entry("max-retries", "retry: { max: … }"),
            Map.entry("concurrency-policy", "overlap"),
            Map.entry("concurrency", "overlap at a job, max-parallel at the top of the file"),
            Map.entry("retention", "history, at the top of the file"),
            Map.entry("watch", "reload: { on-change: true }, at the top of the file"),
            Map.entry("run-as", "run-as, at a job"),
            Map.entry("user", "run-as, at a job"),
            Map.entry("repository", "repo"),
            Map.entry("header", "headers: { NAME: TEXT }"),
            Map.entry("drain", "shutdown: { drain: … }"),
            Map.entry("state-dir", "the option --state-dir or $STATE_DIRECTORY; it does not stand in the file"));

    /** What was most likely meant by an unknown key, as a hint; a list of the known ones when nothing is near. */
    String hintFor(String unknown) {
        String near = Nearest.to(unknown, known).orElse(null);
        if (near != null) {
            return "did you mean " + near + "?";
        }
        String habit = Nearest.to(unknown, HABITS.keySet()).orElse(null);
        if (habit != null) {
            return "here it is " + HABITS.get(habit);
        }
        String later = Nearest.to(unknown, planned).orElse(null);
        return later != null && !later.isEmpty()
                ? later + " is not available in this version"
                : "known here: " + String.join(", ", known);
    }
}
