package dev.fencepost.edge.config;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The keys of one kind of mapping in the jobs file.
 *
 * @param known in the order in which the documentation has them
 * @param planned keys of a later version: refused, but not as unknown
 */
record Keys(List<String> known, Set<String> planned) {

    private static final Set<String> LATER = Set.of(
            "http",
            "publish",
            "notify",
            "jitter",
            "retry",
            "pause-after-failures",
            "max-runs-per-day",
            "silence",
            "succeed-if",
            "classify",
            "run-as");

    static final Keys TOP = new Keys(
            List.of("store", "defaults", "jobs", "shutdown"),
            Set.of("sinks", "notify", "api", "http", "history", "max-parallel", "logs"));
    static final Keys SHUTDOWN = new Keys(List.of("drain"), Set.of());
    static final Keys DEFAULTS = new Keys(
            List.of("timezone", "timeout", "grace", "catch-up", "lease", "max-attempts", "env", "working-dir"), LATER);
    static final Keys JOB = new Keys(
            List.of(
                    "every",
                    "anchor",
                    "cron",
                    "dialect",
                    "timezone",
                    "command",
                    "working-dir",
                    "env",
                    "env-file",
                    "stdin",
                    "timeout",
                    "grace",
                    "lease",
                    "overlap",
                    "catch-up",
                    "start-from",
                    "max-attempts",
                    "fresh-after"),
            LATER);
    static final Keys LEASE = new Keys(List.of("ttl"), Set.of());
    static final Keys CATCH_UP = new Keys(List.of("max", "window"), Set.of());

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

    /** The text with which a planned key means "off", which is what this version does anyway; null if there is none. */
    static @Nullable Set<String> offValues(String plannedKey) {
        return switch (plannedKey) {
            case "jitter" -> Set.of("0s", "0m", "PT0S");
            case "pause-after-failures" -> Set.of("0");
            default -> null;
        };
    }
}
