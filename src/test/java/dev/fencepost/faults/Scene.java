package dev.fencepost.faults;

import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What one test works with: a folder, a jobs file, a store, and the services on it. Closing it ends everything that is left. */
public final class Scene implements AutoCloseable {

    private final Path folder;
    private final Rows rows;
    private final String store;
    private final List<ServeProcess> services = new ArrayList<>();
    private final Map<String, String> environment = new LinkedHashMap<>();
    private List<String> prefix = List.of();
    private Path program = ServeProcess.PROGRAM;
    private Path config;

    private Scene(Path folder, Rows rows, String store) {
        this.folder = folder;
        this.rows = rows;
        this.store = store;
    }

    /** On the SQLite file that a service with the state directory {@code a} takes when nobody names a store. */
    public static Scene sqlite(Path folder) {
        return new Scene(folder, Rows.of(folder.resolve("a/fencepost.db")), null);
    }

    public static Scene sqlite(Path folder, Path file) {
        return new Scene(folder, Rows.of(file), "sqlite:" + file);
    }

    public static Scene postgres(Path folder, Postgres.Database database) {
        return postgres(folder, database, database.port());
    }

    /** The services reach the server through another port; the test looks at it directly. */
    public static Scene postgres(Path folder, Postgres.Database database, int throughPort) {
        return new Scene(
                folder, Rows.of(database), "postgresql://postgres@127.0.0.1:" + throughPort + "/" + database.name());
    }

    /** On a store of any address; {@code rows} looks at it. */
    public static Scene on(Path folder, Rows rows, String store) {
        return new Scene(folder, rows, store);
    }

    /** Both kinds of store, for tests that say the same of both. */
    public static Scene of(String kind, Path folder) {
        return kind.equals("sqlite") ? sqlite(folder) : postgres(folder, Postgres.newDatabase());
    }

    /** For a test that has more than one scene. */
    public static Path subfolder(Path folder, String name) {
        try {
            return Files.createDirectory(folder.resolve(name));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    public Rows rows() {
        return rows;
    }

    public String store() {
        return store;
    }

    /** For a command: the store of the service with this state directory. */
    public String storeOf(String stateDir) {
        return store != null ? store : "sqlite:" + folder.resolve(stateDir).resolve("fencepost.db");
    }

    public Path folder() {
        return folder;
    }

    /** A variable of the services that are started from now on. */
    public void variable(String name, String value) {
        environment.put(name, value);
    }

    /** What is started from now on. */
    public void program(Path started) {
        program = started;
    }

    /** Words before the program of the services that are started from now on: they have to become it in the end. */
    public void prefix(List<String> words) {
        prefix = List.copyOf(words);
    }

    /**
     * An interval of an hour with one slot that is due at the first start, and no other one while the test runs: lines for a job.
     */
    public static String oneSlot() {
        Instant slot = Instant.now().truncatedTo(ChronoUnit.SECONDS).minusSeconds(2);
        return "    every: 1h\n    anchor: " + slot + "\n    start-from: " + slot + "\n";
    }

    /** Makes an empty file that a child waits for. */
    public void touch(String name) {
        try {
            Files.createFile(folder.resolve(name));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Writes the jobs file. */
    public void jobs(String yaml) {
        config = folder.resolve("fencepost.yaml");
        try {
            Files.writeString(config, yaml);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    public void config(Path file) {
        config = file;
    }

    /** Starts a service with a state directory of this name and a port of its own. Returns at once. */
    public ServeProcess serve(String stateDir) {
        return serve(stateDir, ServeProcess.freePort());
    }

    public ServeProcess serve(String stateDir, int port) {
        List<String> more = new ArrayList<>(List.of("--config", config.toString()));
        if (store != null) {
            more.addAll(List.of("--store", store));
        }
        ServeProcess service = ServeProcess.start(
                program, prefix, folder, folder.resolve(stateDir), port, environment, more.toArray(String[]::new));
        services.add(service);
        return service;
    }

    /** Runs the program with these words, in the folder of this scene. */
    public ServeProcess command(String... words) {
        ServeProcess command = ServeProcess.command(program, folder, 0, environment, List.of(words));
        services.add(command);
        return command;
    }

    @Override
    public void close() {
        services.forEach(ServeProcess::close);
        List<String> runs;
        try {
            runs = rows.allRunIds();
        } catch (IllegalStateException noStore) {
            return;
        }
        Processes.ofRuns(runs).keySet().forEach(pid -> Processes.signal(pid, "KILL"));
    }
}
