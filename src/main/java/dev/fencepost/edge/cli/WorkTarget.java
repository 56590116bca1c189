package dev.fencepost.edge.cli;

import dev.fencepost.edge.Assembly;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.edge.remote.BearerToken;
import dev.fencepost.edge.remote.RemoteWorkQueue;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Printable;
import dev.fencepost.work.WorkQueue;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** Where the items are that a command works on: in a store, or behind a server. */
final class WorkTarget {

    @Option(
            names = "--server",
            paramLabel = "URL",
            description = "Work over the HTTP API of this server, such as https://vps.example, instead of in a store.")
    private @Nullable String server;

    @Option(
            names = "--token-file",
            paramLabel = "FILE",
            description = "Holds the token for the server, alone or as a line NAME SCOPES TOKEN; of rights 600.")
    private @Nullable Path tokenFile;

    /**
     * A queue that is open until the command ends.
     *
     * @param server the queue itself where it is a server's, else null
     * @param store the queue itself where it is a store's, else null
     * @param held closed with it
     */
    record Opened(
            WorkQueue queue,
            @Nullable RemoteWorkQueue server,
            @Nullable JdbcStore store,
            Assembly assembly,
            AutoCloseable held)
            implements AutoCloseable {

        @Override
        public void close() {
            try {
                held.close();
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception impossible) {
                throw new IllegalStateException(impossible);
            }
        }
    }

    boolean isServer() {
        return server != null;
    }

    /** @param makes whether a store that is not there yet is made */
    Opened open(SharedOptions shared, CommandSpec spec, boolean makes) {
        Journal journal = new TerseJournal(shared.surroundings().err());
        if (server != null) {
            if (shared.writtenStore() != null) {
                throw new ParameterException(
                        spec.commandLine(), "--server: the items are in a store or behind a server, not both");
            }
            Assembly assembly = new Assembly(journal);
            RemoteWorkQueue remote = remote(shared, spec, assembly);
            return new Opened(remote, remote, null, assembly, remote);
        }
        refuseTokenForStore(spec);
        OpenedStore opened = makes
                ? OpenedStore.prepared(shared, shared.jobsFileIfAny(), journal)
                : OpenedStore.existing(shared, shared.jobsFileIfAny());
        return new Opened(opened.store(), null, opened.store(), opened.assembly(), opened);
    }

    /** A token file without a server is a mistake: the command would work on another place than was meant. */
    void refuseTokenForStore(CommandSpec spec) {
        if (tokenFile != null && server == null) {
            throw new ParameterException(
                    spec.commandLine(), "--token-file: a store asks for no token; name a --server");
        }
    }

    /** The server alone; without one the command line is wrong. */
    RemoteWorkQueue remote(SharedOptions shared, CommandSpec spec, Assembly assembly) {
        if (server == null) {
            throw new ParameterException(spec.commandLine(), "--server is missing");
        }
        if (tokenFile == null) {
            throw new ParameterException(spec.commandLine(), "--token-file is missing: a server asks for a token");
        }
        try {
            BearerToken token = token(shared);
            URI address = URI.create(server.strip());
            RemoteWorkQueue remote =
                    new RemoteWorkQueue(address, token, assembly.time(), assembly.spawner(), assembly.entropy());
            if ("http".equals(address.getScheme()) && !isThisHost(address.getHost())) {
                shared.surroundings()
                        .err()
                        .println("fencepost: the token goes to " + Printable.text(address.getHost())
                                + " unencrypted; better use https");
            }
            return remote;
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), "--server: " + e.getMessage(), e);
        }
    }

    /** A bad file ends the command with {@link ExitCode#BAD_CONFIGURATION}. */
    BearerToken token(SharedOptions shared) {
        if (tokenFile == null) {
            throw new IllegalStateException("asked for without a token file");
        }
        try {
            return BearerToken.read(shared.surroundings().workingDir().resolve(tokenFile));
        } catch (IOException e) {
            throw new CommandFailure(
                    ExitCode.BAD_CONFIGURATION, "--token-file: " + Printable.text(String.valueOf(e.getMessage())));
        }
    }

    private static boolean isThisHost(String host) {
        try {
            return host.equals("localhost")
                    || (host.matches("[0-9.]+|\\[.*]")
                            && InetAddress.getByName(host).isLoopbackAddress());
        } catch (UnknownHostException e) {
            return false;
        }
    }
}
