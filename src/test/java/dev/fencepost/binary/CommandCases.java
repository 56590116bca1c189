package dev.fencepost.binary;

import java.util.List;
import java.util.Set;

/** At least one call of each command, in an order in which one can build on what another left. A test compares the list with the program. */
public final class CommandCases {

    private CommandCases() {}

    /**
     * @param command as it is called, such as {@code lease show}
     * @param exits the exit codes that are right
     * @param expected a text that it prints; of a JSON object, which begins with a brace, a part of it
     * @param more words behind the command. PORT, FOLDER and SLOT stand for what the test knows
     */
    public record Case(String command, Set<Integer> exits, String expected, List<String> more) {

        @Override
        public String toString() {
            return command + " " + String.join(" ", more);
        }
    }

    private static Case fine(String command, String expected, String... more) {
        return exits(0, command, expected, more);
    }

    private static Case exits(int code, String command, String expected, String... more) {
        return new Case(command, Set.of(code), expected, List.of(more));
    }

    public static final List<Case> ALL = List.of(
            fine("", "Usage: fencepost"),
            fine("", "fencepost 0", "--version"),
            fine("completion", "complete", "bash"),
            fine("completion", "compdef", "zsh"),
            fine("completion", "complete -c", "fish"),
            fine("man", ".TH"),
            fine("validate", "{\"ok\":true,", "--json"),
            fine("explain", "built_in", "tick", "--json"),
            fine("explain", "Asia/Tokyo", "tokyo"),
            fine("next", "+09:00", "tokyo"),
            fine(
                    "next",
                    // the night in which 02:30 is left out in New York
                    "\"local\":\"2026-03-08T03:00:00-04:00\"",
                    "--cron",
                    "30 2 * * *",
                    "--zone",
                    "America/New_York",
                    "--after",
                    "2026-03-07T12:00:00Z",
                    "--json"),
            exits(3, "serve", ""),
            exits(78, "serve", "", "--config", "FOLDER/none.yaml"),
            fine("status", "\"id\":\"tick\"", "--json"),
            fine("history", "\"outcome\":\"SUCCEEDED\"", "tick", "--json"),
            fine("logs", "hello", "tick"),
            fine("logs", "\"outcome\":\"SUCCEEDED\"", "tick", "--json"),
            fine("why", "\"because\":\"SUCCEEDED\"", "tick", "--json"),
            fine("events", "\"accepted\":true", "--json"),
            fine("run", "\"outcome\":\"SUCCEEDED\"", "hand", "--json"),
            // Options of the virtual machine and words that are not ASCII belong to the command.
            fine(
                    "exec",
                    "-Xmx9g -XX:+Nothing -Dx=y 日本語",
                    "words",
                    "--",
                    "echo",
                    "-Xmx9g",
                    "-XX:+Nothing",
                    "-Dx=y",
                    "日本語"),
            fine("pause", "\"cause\":\"PERSON\"", "tick", "--reason", "a look", "--json"),
            fine("trigger", "\"outcome\":\"SUCCEEDED\"", "tick", "--wait=30s", "--json"),
            fine("resume", "{\"ok\":true,", "tick", "--json"),
            exits(3, "cancel", "\"reason\":\"ALREADY\"", "tick", "--json"),
            fine("reload", "{\"ok\":true,", "--json"),
            fine("health", "{\"status\":\"UP\"", "--port", "PORT", "--json"),
            fine("health", "UP", "--fresh", "--port", "PORT"),
            new Case("doctor", Set.of(0, 1), "\"checks\":[", List.of("--port", "PORT", "--json")),
            fine("lease", "Usage: fencepost lease", "--help"),
            fine("lease list", "\"resource\":\"tick\"", "--json"),
            fine("lease inspect", "\"state\":\"RELEASED\"", "tick", "--json"),
            exits(
                    3,
                    "lease release",
                    "\"reason\":\"NOT_OWNER\"",
                    "tick",
                    "--owner",
                    "nobody",
                    "--fence",
                    "999",
                    "--json"),
            fine("lease break", "{\"ok\":true,", "hand", "--yes", "--reason", "a look", "--json"),
            fine("store", "Usage: fencepost store", "--help"),
            fine("store backup", "\"bytes\":", "FOLDER/backup.db", "--json"),
            fine("store check", "{\"ok\":true,", "--json"),
            exits(3, "store bump", "{\"ok\":false,", "--yes", "--json"),
            fine("effects", "Usage: fencepost effects", "--help"),
            fine("effects list", "\"state\":\"CONFIRMED\"", "--json"),
            fine("effects show", "\"sink\":\"tick/file\"", "tick@SLOT/file", "--json"),
            exits(
                    3,
                    "effects resolve",
                    "{\"ok\":false,",
                    "tick@SLOT/file",
                    "--as",
                    "confirmed",
                    "--reason",
                    "seen",
                    "--json"),
            exits(3, "effects retry", "{\"ok\":false,", "tick@SLOT/file", "--json"),
            fine("work", "Usage: fencepost work", "--help"),
            fine("work enqueue", "\"state\":\"READY\"", "one", "--payload", "{\"n\":1}", "--json"),
            fine("work state", "\"payload\":\"{\\\"n\\\":1}\"", "one", "--json"),
            fine("work claim", "\"fence\":1", "one", "--owner", "a", "--ttl", "10m", "--json"),
            fine("work renew", "\"fence\":1", "one", "--owner", "a", "--fence", "1", "--ttl", "10m", "--json"),
            fine("work release", "\"state\":\"READY\"", "one", "--owner", "a", "--fence", "1", "--json"),
            fine("work claim-many", "\"fence\":2", "one", "--owners", "a,b", "--ttl", "10m", "--json"),
            exits(3, "work fail", "STALE_TOKEN", "one", "--owner", "a", "--fence", "1", "--json"),
            exits(3, "work complete", "STALE_TOKEN", "one", "--owner", "a", "--fence", "1", "--result", "x", "--json"),
            fine("work artifacts", "\"artifacts\":[", "one", "--json"),
            fine("work queues", "\"claimed\":1", "--json"),
            fine("work list", "\"id\":\"one\"", "--json"),
            fine(
                    "work enqueue",
                    "two",
                    "two",
                    "--queue",
                    "loop",
                    "--payload",
                    "x",
                    "--server",
                    "URL",
                    "--token-file",
                    "FOLDER/tokens"),
            fine(
                    "work loop",
                    "\"end\":\"DONE\"",
                    "--queue",
                    "loop",
                    "--once",
                    "--json",
                    "--server",
                    "URL",
                    "--token-file",
                    "FOLDER/tokens",
                    "--",
                    "sh",
                    "-c",
                    "cp $FENCEPOST_PAYLOAD $FENCEPOST_OUTPUT_DIR/copy; cp $FENCEPOST_PAYLOAD $FENCEPOST_RESULT"),
            fine(
                    "work artifacts",
                    "\"ok\":true",
                    "two",
                    "--get",
                    "copy",
                    "--out",
                    "FOLDER/copy",
                    "--server",
                    "URL",
                    "--token-file",
                    "FOLDER/tokens",
                    "--json"),
            fine("work prune", "\"pruned\":", "--older-than", "7d", "--json"),
            fine("demo", "Usage: fencepost demo", "--help"),
            fine("demo fencing", "\"stale_rejected\":2", "--jobs", "2", "--ttl", "200ms", "--json"),
            fine("demo reclaim", "\"reclaimed\":2", "--jobs", "2", "--ttl", "200ms", "--json"),
            fine("bench", "\"ops\":[", "--seconds", "1", "--threads", "2", "--json"));
}
