package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.host.StateDirectory;
import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.quarkus.ServeApplication;
import dev.fencepost.edge.quarkus.ServeArguments;
import dev.fencepost.edge.web.Tokens;
import java.io.IOException;
import java.lang.ref.Reference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Runs the service. What can be refused is refused here, before Quarkus starts. */
@Command(
        description = {
            "Runs the service: plans and runs the jobs of the jobs file until it is told to stop.",
            "Health and metrics on http://127.0.0.1:8787/q/health and /q/metrics.",
            "SIGTERM or Ctrl-C: no new ticks, running ones get shutdown.drain, then they are stopped; a second one stops at once.",
            "Ends with 0 when every run ended by itself, with 143 when one had to be stopped."
        },
        footer = {
            "",
            "Examples:",
            "  fencepost serve --config deploy/examples/quickstart.yaml",
            "  fencepost serve --store postgresql://fencepost@db1,db2/fencepost --port 8788 --log-format json"
        })
final class ServeCommand implements Callable<Integer> {

    /** In which form log lines are written. */
    enum LogFormat {
        PLAIN,
        JSON
    }

    @Option(
            names = "--host",
            paramLabel = "HOST",
            defaultValue = "127.0.0.1",
            description =
                    "Address to listen on. One that other machines reach is refused without api: { token-file: … }"
                            + " in the jobs file, and belongs behind a proxy that speaks TLS. Default: ${DEFAULT-VALUE}.")
    private String host = "127.0.0.1";

    @Option(
            names = "--port",
            paramLabel = "PORT",
            description = "Port of health, metrics and the API. Else $FENCEPOST_PORT, else 8787.")
    private @Nullable Integer writtenPort;

    private int port;

    @Option(
            names = "--log-format",
            paramLabel = "plain|json",
            defaultValue = "plain",
            description = "Form of the log on standard output. Default: ${DEFAULT-VALUE}.")
    private LogFormat logFormat = LogFormat.PLAIN;

    private final SharedOptions shared;

    ServeCommand(SharedOptions shared) {
        this.shared = shared;
    }

    /** @param lock of the state directory, held until the process ends */
    private record Prepared(ServeArguments arguments, AutoCloseable lock) {}

    @Override
    public Integer call() throws IOException {
        Prepared prepared = prepare();
        try {
            ServeApplication.boot(prepared.arguments());
        } finally {
            Reference.reachabilityFence(prepared);
        }
        return ExitCode.FINE; // not reached: the service ends the process, and with it the lock
    }

    /** Apart, so that the jobs file, which the service reads anew, does not stay in memory. */
    private Prepared prepare() throws IOException {
        port = shared.port(writtenPort);
        JobsFile file = shared.jobsFile();
        shared.store(file); // a bad --store is told before anything starts
        Path stateDir = shared.stateDir();
        checkTokens(file);
        checkPort(address(file));
        StateDirectory directory;
        AutoCloseable lock;
        try {
            directory = StateDirectory.open(stateDir, new SystemEntropy());
            lock = directory.lock();
        } catch (IOException e) {
            throw new CommandFailure(ExitCode.FAILED, "fencepost serve: " + e.getMessage());
        }
        if (lock == null) {
            throw new CommandFailure(
                    ExitCode.REFUSED,
                    "fencepost serve: another serve uses the state directory " + directory.path()
                            + "\n    give this one a --state-dir and a --port of its own");
        }
        System.setProperty("quarkus.http.host", host);
        System.setProperty("quarkus.http.port", String.valueOf(port));
        System.setProperty("quarkus.log.console.json.enabled", String.valueOf(logFormat == LogFormat.JSON));
        return new Prepared(new ServeArguments(file.path(), written(shared.writtenStore()), directory.path()), lock);
    }

    private static String written(@Nullable String store) {
        return store == null ? "" : store;
    }

    private static void checkTokens(JobsFile file) {
        String bad = file.api() == null ? null : Tokens.whyBad(file.api().tokenFile());
        if (bad != null) {
            throw new CommandFailure(ExitCode.BAD_CONFIGURATION, "fencepost serve: " + bad);
        }
    }

    /** Where to listen; an address that others reach needs tokens. */
    private InetAddress address(JobsFile file) {
        InetAddress address;
        try {
            address = InetAddress.getByName(host);
        } catch (UnknownHostException e) {
            throw new CommandFailure(ExitCode.USAGE, "--host: there is no address of " + Finding.quote(host));
        }
        if (!address.isLoopbackAddress() && file.api() == null) {
            throw new CommandFailure(
                    ExitCode.BAD_CONFIGURATION,
                    "fencepost serve: other machines reach --host " + host + ", and there are no tokens"
                            + "\n    write api: { token-file: FILE } into the jobs file, or leave --host out");
        }
        return address;
    }

    private void checkPort(InetAddress address) {
        try (ServerSocket probe = new ServerSocket()) {
            probe.setReuseAddress(true);
            probe.bind(new InetSocketAddress(address, port));
        } catch (IOException e) {
            throw new CommandFailure(
                    ExitCode.FAILED,
                    "fencepost serve: port " + port + " of " + address.getHostAddress() + " cannot be used: "
                            + e.getMessage() + "\n    choose another with --port");
        }
    }
}
