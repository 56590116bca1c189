package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.config.Reading;
import dev.fencepost.edge.web.Tokens;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;

/** Checks the jobs file and tells everything that is wrong with it. */
@Command(
        description = {
            "Checks the jobs file: everything that is wrong is told at once, with file, line and column.",
            "Ends with 78 when the file is refused; warnings alone do not refuse it."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost validate",
            "  fencepost validate --config /etc/fencepost/fencepost.yaml --json"
        })
final class ValidateCommand implements Callable<Integer> {

    private final SharedOptions shared;

    ValidateCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        Reading reading = withTokens(shared.read());
        int jobs = reading instanceof Reading.Accepted accepted
                ? accepted.file().definitions().size()
                : 0;
        if (shared.json()) {
            Json.print(
                    shared.surroundings().out(),
                    Json.object(
                            "ok",
                            reading instanceof Reading.Accepted,
                            "errors",
                            reading.errors().stream().map(ValidateCommand::json).toList(),
                            "warnings",
                            reading.warnings().stream()
                                    .map(ValidateCommand::json)
                                    .toList(),
                            "jobs",
                            jobs));
        } else {
            print(reading, jobs);
        }
        return reading instanceof Reading.Accepted ? ExitCode.FINE : ExitCode.BAD_CONFIGURATION;
    }

    /** A file of tokens with which {@code serve} would not start refuses the jobs file that names it. */
    private static Reading withTokens(Reading reading) {
        if (!(reading instanceof Reading.Accepted accepted) || accepted.file().api() == null) {
            return reading;
        }
        String bad = Tokens.whyBad(accepted.file().api().tokenFile());
        return bad == null
                ? reading
                : new Reading.Refused(
                        List.of(new Finding(
                                Finding.Severity.ERROR, accepted.file().path(), 0, 0, "api.token-file", bad, "")),
                        reading.warnings());
    }

    private void print(Reading reading, int jobs) {
        PrintWriter err = shared.surroundings().err();
        reading.errors().forEach(finding -> err.println(finding.text()));
        reading.warnings().forEach(finding -> err.println(finding.text()));
        String counts = count(reading.errors(), "error") + ", " + count(reading.warnings(), "warning");
        switch (reading) {
            case Reading.Accepted accepted ->
                shared.surroundings()
                        .out()
                        .println(accepted.file().path() + ": good: " + jobs + (jobs == 1 ? " job, " : " jobs, ")
                                + count(reading.warnings(), "warning"));
            case Reading.Refused refused -> err.println("refused: " + counts);
        }
    }

    private static String count(List<Finding> findings, String what) {
        return findings.size() + " " + what + (findings.size() == 1 ? "" : "s");
    }

    static Map<String, @Nullable Object> json(Finding finding) {
        return Json.object(
                "file", finding.file(),
                "line", finding.line() == 0 ? null : finding.line(),
                "column", finding.column() == 0 ? null : finding.column(),
                "path", finding.path(),
                "message", finding.message(),
                "hint", finding.hint());
    }
}
