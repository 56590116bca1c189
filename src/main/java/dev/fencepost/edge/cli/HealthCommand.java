package dev.fencepost.edge.cli;

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
            "Ends with 0 for UP, 1 for DOWN, 69 when nobody answers within five seconds."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost health",
            "  fencepost health --fresh --json",
            "  fencepost health --url http://10.0.0.5:8787"
        })
final class HealthCommand implements Callable<Integer> {

    private static final Duration LIMIT = Duration.ofSeconds(5);
    private static final int HIGHEST_PORT = 65_535;

    @Option(
            names = "--fresh",
            description = "Ask whether each job had a success lately, and no effect waits for a person.")
    private boolean fresh;

    @Option(
            names = "--port",
            paramLabel = "PORT",
            defaultValue = "8787",
            description = "Port of the service on this host. Default: ${DEFAULT-VALUE}.")
    private int port;

    @Option(
            names = "--url",
            paramLabel = "URL",
            description = "Address of the service, such as http://10.0.0.5:8787, in place of --port.")
    private @Nullable String url;

    private final SharedOptions shared;

    HealthCommand(SharedOptions shared) {
        this.shared = shared;
    }

    @Override
    public Integer call() {
        URI uri = URI.create(base() + (fresh ? "/q/health/group/fresh" : "/q/health/ready"));
        HealthProbe probe = new HealthProbe(
                new SystemThreads(new TerseJournal(shared.surroundings().err())));
        return switch (probe.ask(uri, LIMIT)) {
            case HealthProbe.Report report -> print(uri, report);
            case HealthProbe.Silence silence -> print(uri, silence);
        };
    }

    /** Scheme, host and port, without a slash at the end. */
    private String base() {
        String written = url;
        if (written == null) {
            if (port < 1 || port > HIGHEST_PORT) {
                throw new CommandFailure(ExitCode.USAGE, "--port: " + port + " is no port\n    ports are 1 to 65535");
            }
            return "http://127.0.0.1:" + port;
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
        } else {
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
