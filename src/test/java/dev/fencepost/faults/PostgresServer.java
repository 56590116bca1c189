package dev.fencepost.faults;

import dev.fencepost.store.Postgres;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A PostgreSQL that one test has for itself: it can be stopped in every way, started again, copied into a standby, and promoted. Made of the
 * programs that the other tests' server brings along. It flushes to disk; what is acknowledged without that is what the program under
 * test forgot to ask for, since the server's own default is {@code synchronous_commit = off}.
 */
public final class PostgresServer implements AutoCloseable {

    private static final long LIMIT_SECONDS = 60;

    private final Path data;
    private final int port;
    private final Map<String, String> environment;

    private PostgresServer(Path data, int port, Map<String, String> environment) {
        this.data = data;
        this.port = port;
        this.environment = Map.copyOf(environment);
    }

    /** A new one, started. @param data a folder that does not exist yet */
    public static PostgresServer start(Path data) {
        return start(data, Map.of());
    }

    /** @param environment of the server, for instance of a clock that is not the host's */
    public static PostgresServer start(Path data, Map<String, String> environment) {
        return start(data, environment, "127.0.0.1");
    }

    /** @param addresses that it listens at, with commas between them */
    static PostgresServer start(Path data, Map<String, String> environment, String addresses) {
        PostgresServer server = new PostgresServer(data, ServeProcess.freePort(), environment);
        server.program("initdb", "-D", data.toString(), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale");
        server.configure("""
                listen_addresses = '%s'
                unix_socket_directories = ''
                max_connections = 100
                timezone = 'Asia/Tokyo'
                synchronous_commit = off
                wal_writer_delay = 10s
                wal_level = replica
                max_wal_senders = 5
                wal_keep_size = 1GB
                wal_retrieve_retry_interval = 200ms
                port = %s
                """.formatted(addresses, server.port));
        append(data.resolve("pg_hba.conf"), "host all all 10.0.0.0/8 trust\n"); // of a test's own network namespace
        server.up();
        return server;
    }

    public int port() {
        return port;
    }

    /** Makes an empty database. */
    public Postgres.Database database(String name) {
        sql("create database " + name);
        return new Postgres.Database(name, url(name), port);
    }

    String url(String database) {
        return "jdbc:postgresql://127.0.0.1:" + port + "/" + database + "?user=postgres";
    }

    public void sql(String text) {
        try (Connection connection = DriverManager.getConnection(url("postgres"));
                Statement statement = connection.createStatement()) {
            statement.execute(text);
        } catch (SQLException e) {
            throw new IllegalStateException(text + ": " + e.getMessage(), e);
        }
    }

    /** Starts it, after a stop or a kill. Returns once it takes connections. */
    public void up() {
        program("pg_ctl", "start", "-w", "-D", data.toString(), "-l", data + ".log");
    }

    /** @param mode {@code fast}, or {@code immediate}, which is a crash of the server */
    public void down(String mode) {
        program("pg_ctl", "stop", "-w", "-m", mode, "-D", data.toString());
    }

    /** Its processes die by SIGKILL, as all processes of a host do that loses its power. */
    public void kill() {
        try {
            long pid = Long.parseLong(Files.readAllLines(data.resolve("postmaster.pid"))
                    .getFirst()
                    .strip());
            ProcessHandle postmaster = ProcessHandle.of(pid).orElseThrow();
            List<ProcessHandle> all = new ArrayList<>(postmaster.descendants().toList());
            all.addFirst(postmaster); // before it notices that the others are gone
            all.forEach(process -> Processes.signal(process.pid(), "KILL"));
            Wait.until(
                    Duration.ofSeconds(10),
                    "the server is dead",
                    () -> all.stream().noneMatch(process -> Processes.isAlive(process.pid())));
            Files.delete(data.resolve("postmaster.pid"));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * A copy of this server that follows it, started.
     *
     * @param freePort that the copy listens at
     * @param throughPort where it reaches this one: something may stand in between
     */
    public PostgresServer standby(Path copy, int freePort, int throughPort) {
        try (Connection connection = DriverManager.getConnection(url("postgres"));
                Statement statement = connection.createStatement()) {
            statement.execute("select pg_backup_start('copy', true)");
            copyTree(data, copy);
            try (ResultSet row = statement.executeQuery("select labelfile from pg_backup_stop(false)")) {
                row.next();
                Files.writeString(copy.resolve("backup_label"), row.getString(1));
            }
        } catch (SQLException | IOException e) {
            throw new IllegalStateException(e);
        }
        PostgresServer standby = new PostgresServer(copy, freePort, environment);
        standby.beStandbyOf(throughPort);
        standby.up();
        return standby;
    }

    private void beStandbyOf(int throughPort) {
        configure("port = " + port + "\nprimary_conninfo = 'host=127.0.0.1 port=" + throughPort + " user=postgres'\n");
        try {
            Files.createFile(data.resolve("standby.signal"));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** How many bytes of the log this standby has, counted from the beginning of all. */
    public long received() {
        return Long.parseLong(value("select pg_wal_lsn_diff(coalesce(pg_last_wal_receive_lsn(), '0/0'), '0/0')"));
    }

    /** How many bytes of the log this primary has written. */
    public long written() {
        return Long.parseLong(value("select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"));
    }

    private String value(String query) {
        try (Connection connection = DriverManager.getConnection(url("postgres"));
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getString(1);
        } catch (SQLException e) {
            throw new IllegalStateException(query + ": " + e.getMessage(), e);
        }
    }

    /** Makes this standby a primary. Returns once it is one. */
    public void promote() {
        sql("select pg_promote()");
    }

    /** The same data at another port, where nobody looks for it; not started. */
    public PostgresServer elsewhere() {
        PostgresServer hidden = new PostgresServer(data, ServeProcess.freePort(), environment);
        hidden.configure("port = " + hidden.port + "\n");
        return hidden;
    }

    private void configure(String lines) {
        append(data.resolve("postgresql.conf"), lines);
    }

    private static void append(Path file, String lines) {
        try {
            Files.writeString(file, lines, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** What a server deletes while it is copied is in its log. */
    private static void copyTree(Path from, Path to) throws IOException {
        Files.walkFileTree(from, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) throws IOException {
                Path place = to.resolve(from.relativize(folder));
                Files.copy(folder, place, StandardCopyOption.COPY_ATTRIBUTES);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Path place = from.relativize(file);
                if (!place.startsWith("pg_wal") && !place.startsWith("postmaster.pid")) {
                    try {
                        Files.copy(file, to.resolve(place), StandardCopyOption.COPY_ATTRIBUTES);
                    } catch (NoSuchFileException gone) {
                        // see above
                    }
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException failure) {
                return FileVisitResult.CONTINUE; // gone between the listing and the look
            }
        });
    }

    private void program(String name, String... words) {
        List<String> line = new ArrayList<>();
        try {
            if (Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0)) {
                line.addAll(List.of("unshare", "-U")); // it refuses to run as root, and this hides that from it
            }
            line.add(Postgres.binaries().resolve(name).toString());
            line.addAll(List.of(words));
            Path said = Files.createTempFile(data.toAbsolutePath().getParent(), name, ".txt");
            ProcessBuilder builder = new ProcessBuilder(line)
                    .redirectErrorStream(true)
                    .redirectOutput(said.toFile()); // a server that is started would keep a pipe open
            builder.environment().putAll(environment);
            Process process = builder.start();
            boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
            if (!ended || process.exitValue() != 0) {
                process.destroyForcibly();
                throw new IllegalStateException(
                        String.join(" ", line) + ": " + Files.readString(said, StandardCharsets.UTF_8) + log());
            }
            Files.delete(said);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    private String log() throws IOException {
        Path log = Path.of(data + ".log");
        if (!Files.exists(log)) {
            return "";
        }
        List<String> lines = Files.readAllLines(log);
        return "\n" + String.join("\n", lines.subList(Math.max(0, lines.size() - 20), lines.size()));
    }

    @Override
    public void close() {
        if (Files.exists(data.resolve("postmaster.pid"))) {
            down("immediate");
        }
    }
}
