package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.host.StateDirectory;
import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.quarkus.ServeApplication;
import dev.fencepost.edge.quarkus.ServeArguments;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
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

    private static final int HIGHEST_PORT = 65_535;

    /** In which form log lines are written. */
    enum LogFormat {
        PLAIN,
        JSON
    }

    @Option(
            names = "--port",
            paramLabel = "PORT",
            defaultValue = "8787",
            description = "Port of health and metrics on 127.0.0.1. Default: ${DEFAULT-VALUE}.")
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

    @Override
    public Integer call() throws IOException {
        JobsFile file = shared.jobsFile();
        shared.store(file); // a bad --store is told before anything starts
        Path stateDir = shared.stateDir();
        checkPort();
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
        System.setProperty("quarkus.http.port", String.valueOf(port));
        System.setProperty("quarkus.log.console.json.enabled", String.valueOf(logFormat == LogFormat.JSON));
        ServeApplication.boot(new ServeArguments(file.path(), written(shared.writtenStore()), directory.path()));
        return ExitCode.FINE; // not reached: the service ends the process, and with it the lock
    }

    private static String written(@Nullable String store) {
        return store == null ? "" : store;
    }

    private void checkPort() {
        if (port < 0 || port > HIGHEST_PORT) {
            throw new CommandFailure(ExitCode.USAGE, "--port: " + port + " is no port\n    ports are 1 to 65535");
        }
        try (ServerSocket probe = new ServerSocket()) {
            probe.setReuseAddress(true);
            probe.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        } catch (IOException e) {
            throw new CommandFailure(
                    ExitCode.FAILED,
                    "fencepost serve: port " + port + " of 127.0.0.1 cannot be used: " + e.getMessage()
                            + "\n    choose another with --port");
        }
    }
}
