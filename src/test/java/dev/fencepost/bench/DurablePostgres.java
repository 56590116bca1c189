package dev.fencepost.bench;

import dev.fencepost.edge.jdbc.JdbcStore;
import io.agroal.api.AgroalDataSource;
import io.agroal.api.configuration.supplier.AgroalDataSourceConfigurationSupplier;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A PostgreSQL for benches: it waits for its disk at each commit, as one in earnest does. */
final class DurablePostgres implements AutoCloseable {

    /** The database that is always there. */
    static final String DATABASE = "postgres";

    private static final String USER = "postgres";
    private static final Pattern TPS = Pattern.compile("tps = ([0-9.]+) \\(without");

    private final EmbeddedPostgres server;

    private DurablePostgres(EmbeddedPostgres server) {
        this.server = server;
    }

    static DurablePostgres start() throws IOException {
        return new DurablePostgres(EmbeddedPostgres.builder()
                .setServerConfig("fsync", "on")
                .setServerConfig("synchronous_commit", "on")
                .setServerConfig("full_page_writes", "on")
                .setServerConfig("shared_buffers", "256MB")
                .setServerConfig("max_wal_size", "2GB")
                .start());
    }

    private String url(String database) {
        return "jdbc:postgresql://localhost:" + server.getPort() + "/" + database;
    }

    JdbcStore store(String database) {
        return JdbcStore.postgres(url(database), USER, null, database, event -> {});
    }

    /** Of a new database, ready for use. */
    JdbcStore newStore(String database) throws SQLException {
        try (Connection admin = connect(DATABASE)) {
            Script.run(admin, "create database " + database);
        }
        JdbcStore store = store(database);
        store.prepare();
        return store;
    }

    Connection connect(String database) throws SQLException {
        return DriverManager.getConnection(url(database), USER, null);
    }

    /** As the program takes it. */
    String programUrl(String database) {
        return "postgresql://" + USER + "@localhost:" + server.getPort() + "/" + database;
    }

    /** The pid of the process that all others of the server are children of. */
    long pid() throws SQLException {
        try (Connection connection = connect(DATABASE)) {
            long backend = Script.count(connection, "select pg_backend_pid()");
            return ProcessHandle.of(backend)
                    .flatMap(ProcessHandle::parent)
                    .orElseThrow()
                    .pid();
        }
    }

    /** Of connections for somebody else's library. */
    AgroalDataSource pool(int size) throws SQLException {
        return AgroalDataSource.from(new AgroalDataSourceConfigurationSupplier()
                .connectionPoolConfiguration(pool -> pool.maxSize(size)
                        .acquisitionTimeout(Duration.ofSeconds(30))
                        .connectionFactoryConfiguration(
                                factory -> factory.jdbcUrl(server.getJdbcUrl(USER, DATABASE)))));
    }

    /**
     * Lets pgbench run the script, with prepared statements.
     *
     * @param more its other options, with how long it runs
     * @return transactions a second, without the time to connect
     */
    double pgbench(Path folder, String script, int clients, List<String> more) throws Exception {
        Path file = Files.writeString(folder.resolve("script.sql"), script);
        List<String> words = new ArrayList<>(List.of("pgbench", "-n", "-M", "prepared"));
        words.addAll(List.of("-c", "" + clients, "-j", "" + Math.min(clients, 2)));
        words.addAll(more);
        words.addAll(
                List.of("-f", file.toString(), "-h", "localhost", "-p", "" + server.getPort(), "-U", USER, DATABASE));
        Process pgbench = new ProcessBuilder(words).redirectErrorStream(true).start();
        String said = new String(pgbench.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Matcher tps = TPS.matcher(said);
        if (pgbench.waitFor() != 0 || !tps.find() || said.contains("aborted")) {
            throw new IllegalStateException(said);
        }
        return Double.parseDouble(tps.group(1));
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
