package dev.fencepost.edge.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** A folder with a jobs file, a state directory, and a SQLite store, on which commands are run inside the test. */
final class Workplace {

    final Path dir;

    Workplace(Path dir) {
        this.dir = dir;
    }

    /** Writes the jobs file: what stands under {@code jobs:}, as YAML. */
    Workplace jobs(String jobs) throws IOException {
        Files.writeString(
                dir.resolve("fencepost.yaml"), "defaults: { timezone: Asia/Tokyo }\njobs:\n" + jobs.indent(2));
        return this;
    }

    Path storeFile() {
        return dir.resolve("state/fencepost.db");
    }

    Map<String, String> environment() {
        return Map.of(
                "PATH", "/usr/bin:/bin", "STATE_DIRECTORY", dir.resolve("state").toString());
    }

    CommandRun run(String... arguments) {
        return CommandRun.of(dir, environment(), arguments);
    }

    /** With somebody at the terminal who types this. */
    CommandRun runAnswering(String answer, String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exitCode = Main.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        environment(),
                        dir,
                        new SystemTime()::wallClock,
                        false,
                        true,
                        true,
                        new BufferedReader(new StringReader(answer))),
                arguments);
        return new CommandRun(exitCode, out.toString(), err.toString());
    }

    /** The store, opened beside the commands; made if it is not there. */
    JdbcStore store() {
        JdbcStore store = JdbcStore.sqlite(storeFile(), new SystemTime(), new SystemThreads(event -> {}));
        store.prepare();
        return store;
    }

    /** Somebody else's lease. */
    static Lease claim(JdbcStore store, String resource, String owner, Duration ttl) {
        return ((Claim.Granted) store.claim(resource, new Owner(owner), new RunId(UUID.randomUUID()), ttl)).lease();
    }

    static JsonNode json(String text) throws IOException {
        return new ObjectMapper().readTree(text);
    }

    static List<String> fields(JsonNode object) {
        List<String> names = new ArrayList<>();
        object.fieldNames().forEachRemaining(names::add);
        return names;
    }

    /** The text with what differs from run to run replaced, and with two blanks between columns. */
    String plain(String text) {
        return text.replace(dir.toString(), "DIR")
                .replaceAll("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID")
                .replaceAll("manual:[0-9TZ:-]+/[0-9a-f]{8}", "MANUAL")
                .replaceAll("[A-Z][a-z]{2} \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d [+-]\\d\\d:\\d\\d", "LOCAL")
                .replaceAll("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z", "INSTANT")
                .replaceAll("\\b[0-9a-f]{8}/\\d+", "NODE/PID")
                .replaceAll("(\\d+s )?\\d+ms\\b", "TIME")
                .replaceAll(" {2,}", "  ");
    }
}
