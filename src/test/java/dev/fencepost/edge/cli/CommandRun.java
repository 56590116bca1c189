package dev.fencepost.edge.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;

/** One command, run to its end inside the test. */
record CommandRun(int exitCode, String out, String err) {

    static final Instant NOW = Instant.parse("2026-03-28T12:00:00Z");

    static CommandRun of(Path dir, String... arguments) {
        return of(dir, Map.of("PATH", "/usr/bin:/bin"), arguments);
    }

    static CommandRun of(Path dir, Map<String, String> environment, String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exitCode = Main.run(
                new Surroundings(
                        new PrintWriter(out), new PrintWriter(err), environment, dir, InstantSource.fixed(NOW), false),
                arguments);
        return new CommandRun(exitCode, out.toString(), err.toString());
    }

    /** The output with the test's own directory taken out. */
    String out(Path dir) {
        return out.replace(dir.toString(), "DIR");
    }

    String err(Path dir) {
        return err.replace(dir.toString(), "DIR");
    }
}
