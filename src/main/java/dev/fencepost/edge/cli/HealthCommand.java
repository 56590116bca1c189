package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.host.Printable;
import java.io.PrintWriter;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Asks the running service how it is: for HEALTHCHECK of a container, and for scripts. */
@Command(
        description = {
            "Asks the running service whether the store answers, or with --fresh whether the work gets done.",
            "Ends with 0 for UP, 1 for DOWN, 69 when nobody answers in time."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost health",
            "  fencepost health --fresh --json",
            "  fencepost health --quiet --timeout 3s",
            "  fencepost health --url http://10.0.0.5:8787"
        })
final class HealthCommand implements Callable<Integer> {

    private static final Duration SHORTEST = Duration.ofSeconds(1);
    private static final Duration LONGEST = Duration.ofMinutes(1);

    @Option(
            names = "--fresh",
            description = "Ask whether each job had a success lately, and no effect waits for a person.")
    private boolean fresh;

    @Option(
            names = "--port",
            paramLabel = "PORT",
            description = "Port of the service on this host. Else $FENCEPOST_PORT, else 8787.")
    private @Nullable Integer port;

    @Option(
            names = "--url",
            paramLabel = "URL",
            description = "Address of the service, such as http://10.0.0.5:8787, in place of --port.")
    private @Nullable String url;

    @Option(
            names = "--timeout",
            paramLabel = "DURATION",
            defaultValue = "5s",
            description = "How long an answer may take, 1s to 1m. Default: ${DEFAULT-VALUE}.")
    private String timeout = "5s";

    @Option(names = "--quiet", description = "Print nothing but what is wrong.")
    private boolean quiet;

    private final SharedOptions shared;

    HealthCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        URI uri = URI.create(base() + (fresh ? "/q/health/group/fresh" : "/q/health/ready"));
        HealthProbe probe = new HealthProbe(
                new SystemThreads(new TerseJournal(shared.surroundings().err())));
        return switch (probe.ask(uri, limit())) {
            case HealthProbe.Report report -> print(uri, report);
            case HealthProbe.Silence silence -> print(uri, silence);
        };
    }

    private Duration limit() {
        return SharedOptions.orUsage("--timeout", timeout, text -> DurationText.parse(text, SHORTEST, LONGEST));
    }

    /** Scheme, host and port, without a slash at the end. */
    private String base() {
        String written = url;
        if (written == null) {
            return "http://127.0.0.1:" + shared.port(port);
        }
        try {
            URI uri = new URI(written);
            boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
            if (http
                    && uri.getHost() != null
                    && uri.getRawUserInfo() == null
                    && uri.getRawQuery() == null
                    && uri.getRawFragment() == null) {
                return written.replaceFirst("/+$", "");
            }
        } catch (URISyntaxException e) {
            // told below
        }
        String shown = written.contains("@") ? "the text" : Finding.quote(written);
        throw new CommandFailure(
                ExitCode.USAGE,
                "--url: " + shown + " is no address of a service\n    write http://HOST:PORT, without user and query");
    }

    private int print(URI uri, HealthProbe.Report report) {
        PrintWriter out = shared.surroundings().out();
        if (shared.json()) {
            Json.print(
                    out,
                    Json.object(
                            "status",
                            report.status(),
                            "url",
                            uri,
                            "checks",
                            report.checks().stream()
                                    .map(check -> Json.object(
                                            "name", check.name(), "status", check.status(), "data", check.data()))
                                    .toList(),
                            "reason",
                            null));
        } else if (!quiet || !report.isUp()) {
            out.println(report.status() + "  " + uri);
            report.checks().forEach(check -> out.println("  " + Printable.text(check.status() + "  " + check.text())));
        }
        return report.isUp() ? ExitCode.FINE : ExitCode.FAILED;
    }

    private int print(URI uri, HealthProbe.Silence silence) {
        if (shared.json()) {
            Json.print(
                    shared.surroundings().out(),
                    Json.object("status", null, "url", uri, "checks", List.of(), "reason", silence.why()));
        } else {
            shared.surroundings()
                    .err()
                    .println("nobody answers at " + uri + ": " + Printable.text(silence.why())
                            + "\n    is fencepost serve running, and on this port?");
        }
        return ExitCode.STORE_UNAVAILABLE;
    }
}
