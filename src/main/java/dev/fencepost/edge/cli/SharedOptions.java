package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.BadValueException;
import dev.fencepost.edge.config.Finding;
import dev.fencepost.edge.config.JobsFile;
import dev.fencepost.edge.config.JobsFileReader;
import dev.fencepost.edge.config.Places;
import dev.fencepost.edge.config.Reading;
import dev.fencepost.edge.config.StoreUrl;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/** The options that every command takes, before or after its name, and what follows from them. */
public final class SharedOptions {

    static final String PORT_VARIABLE = "FENCEPOST_PORT";
    private static final int USUAL_PORT = 8787;
    private static final int HIGHEST_PORT = 65_535;

    @Option(
            names = "--config",
            paramLabel = "FILE",
            scope = ScopeType.INHERIT,
            description = "The jobs file. Else $FENCEPOST_CONFIG, ./fencepost.yaml, /etc/fencepost/fencepost.yaml.")
    private @Nullable Path config;

    @Option(
            names = "--store",
            paramLabel = "URL",
            scope = ScopeType.INHERIT,
            description =
                    "sqlite:PATH or postgresql://USER@HOST/DATABASE. Else the jobs file says, else it is fencepost.db in"
                            + " the state directory.")
    private @Nullable String store;

    @Option(
            names = "--state-dir",
            paramLabel = "DIR",
            scope = ScopeType.INHERIT,
            description = "Logs and the SQLite store. Else $STATE_DIRECTORY, $XDG_STATE_HOME/fencepost,"
                    + " ~/.local/state/fencepost.")
    private @Nullable Path stateDir;

    @Option(names = "--json", scope = ScopeType.INHERIT, description = "Print JSON for scripts.")
    private boolean json;

    private final Surroundings surroundings;

    /** What a refused jobs file says of the store; null before one was met, and where it names none. */
    private @Nullable StoreUrl storeOfRefused;

    public SharedOptions(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    public Surroundings surroundings() {
        return surroundings;
    }

    public boolean json() {
        return json;
    }

    /** The state directory, absolute; it need not exist. */
    public Path stateDir() {
        return orBadConfiguration(() -> places().stateDir(stateDir));
    }

    /** The port of the service: of the option, else of the environment, which is one for {@code serve} and who asks it. */
    int port(@Nullable Integer option) {
        if (option != null) {
            return checkedPort("--port", String.valueOf(option));
        }
        String variable = surroundings.environment().getOrDefault(PORT_VARIABLE, "");
        return variable.isEmpty() ? USUAL_PORT : checkedPort("$" + PORT_VARIABLE, variable);
    }

    private static int checkedPort(String origin, String written) {
        try {
            int port = Integer.parseInt(written);
            if (port >= 1 && port <= HIGHEST_PORT) {
                return port;
            }
        } catch (NumberFormatException e) {
            // told below
        }
        throw new CommandFailure(
                ExitCode.USAGE, origin + ": " + Finding.quote(written) + " is no port\n    ports are 1 to 65535");
    }

    /** The text of {@code --store}, or null where it was not given. */
    @Nullable
    String writtenStore() {
        return store;
    }

    /** The store of {@code --store}, else of the jobs file, else the SQLite file in the state directory. */
    public StoreUrl store(@Nullable JobsFile file) {
        return checked(chosenStore(file));
    }

    /**
     * The same for a command that needs no jobs: of a jobs file that nobody names only the store counts. Where that cannot be told, the
     * command ends with {@link ExitCode#BAD_CONFIGURATION}: a lease in another store would keep nobody away.
     */
    StoreUrl storeAlone() {
        if (config != null) {
            return store(jobsFile());
        }
        if (store != null
                || !(orBadConfiguration(() -> places().jobsFile(null)) instanceof Places.Search.Found found)) {
            return store(null);
        }
        StoreUrl written = storeOf(found.file(), "so it is not known in which store the others look for the lease");
        return checked(written == null ? StoreUrl.inStateDir(stateDir()) : written);
    }

    private static StoreUrl checked(StoreUrl url) {
        if (url.file() != null && Files.isDirectory(url.file())) {
            throw new CommandFailure(
                    ExitCode.BAD_CONFIGURATION,
                    "store " + url + " is a directory\n    name a file in it, such as " + url + "/fencepost.db");
        }
        return url;
    }

    private StoreUrl chosenStore(@Nullable JobsFile file) {
        String option = store;
        if (option != null) {
            return orUsage("--store", option, text -> StoreUrl.parse(text, surroundings.workingDir()));
        }
        if (file != null && file.writtenStore() != null) {
            return file.writtenStore();
        }
        if (file == null && storeOfRefused != null) {
            return storeOfRefused;
        }
        return StoreUrl.inStateDir(stateDir());
    }

    /** Looks for the jobs file and reads it. A file that is found nowhere is a refusal like any other. */
    public Reading read() {
        return switch (orBadConfiguration(() -> places().jobsFile(config))) {
            case Places.Search.Nowhere nowhere -> new Reading.Refused(List.of(nowhere.finding()), List.of());
            case Places.Search.Found found -> reader().read(found.file());
        };
    }

    private JobsFileReader reader() {
        return new JobsFileReader(
                surroundings.environment(),
                surroundings.workingDir(),
                surroundings.wallClock().instant());
    }

    private static String texts(List<Finding> findings) {
        return findings.stream().map(Finding::text).collect(Collectors.joining("\n"));
    }

    /** Whether somebody names a jobs file, or one of the usual places has one. */
    boolean hasJobsFile() {
        return orBadConfiguration(() -> places().jobsFile(config)) instanceof Places.Search.Found;
    }

    /**
     * The jobs file, if there is one in the usual places or one is named; null when nothing names one and none is there. Null too when it
     * has errors, which are told on stderr: a node goes on with the file before, so a person must still be able to look and to stop a
     * job. Only the store counts of such a file then; where it cannot be told, the command ends with {@link ExitCode#BAD_CONFIGURATION}.
     */
    public @Nullable JobsFile jobsFileIfAny() {
        if (!(orBadConfiguration(() -> places().jobsFile(config)) instanceof Places.Search.Found found)) {
            return null;
        }
        return switch (reader().read(found.file())) {
            case Reading.Accepted accepted -> accepted.file();
            case Reading.Refused refused -> {
                if (store == null) {
                    storeOfRefused = storeOf(found.file(), "so it is not known which store is meant");
                }
                surroundings
                        .err()
                        .println(
                                texts(refused.errors())
                                        + "\n    the file is refused, so only its store counts here; nodes go on with the one before");
                yield null;
            }
        };
    }

    private @Nullable StoreUrl storeOf(Path file, String consequence) {
        return switch (reader().storeOf(file)) {
            case JobsFileReader.StoreOf.Known known -> known.written();
            case JobsFileReader.StoreOf.Unknown unknown ->
                throw new CommandFailure(
                        ExitCode.BAD_CONFIGURATION,
                        texts(unknown.errors()) + "\n    " + consequence
                                + "; mend the file, or name the store with --store");
        };
    }

    /** The jobs file; a refused one ends the command with {@link ExitCode#BAD_CONFIGURATION} and all its errors. */
    public JobsFile jobsFile() {
        return switch (read()) {
            case Reading.Accepted accepted -> accepted.file();
            case Reading.Refused refused ->
                throw new CommandFailure(ExitCode.BAD_CONFIGURATION, texts(refused.errors()));
        };
    }

    private Places places() {
        return new Places(surroundings.environment(), surroundings.workingDir());
    }

    private static <T> T orBadConfiguration(Supplier<T> value) {
        try {
            return value.get();
        } catch (BadValueException e) {
            throw new CommandFailure(ExitCode.BAD_CONFIGURATION, e.getMessage() + "\n    " + e.hint());
        }
    }

    /** The value of an option; a bad one ends the command with {@link ExitCode#USAGE}. */
    static <T> T orUsage(String option, String written, Function<String, T> parser) {
        try {
            return parser.apply(written);
        } catch (BadValueException e) {
            throw new CommandFailure(ExitCode.USAGE, option + ": " + e.getMessage() + "\n    " + e.hint());
        }
    }
}
