package dev.fencepost.edge.jdbc;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collection;
import java.util.List;
import javax.sql.DataSource;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.ResourceProvider;
import org.flywaydb.core.api.resource.LoadableResource;
import org.jspecify.annotations.Nullable;

/**
 * Brings the schema up to date with Flyway. The scripts are listed here by name, so that nothing has to search the class path, which a
 * native image could not do.
 */
final class Migrations {

    private static final List<String> SCRIPTS = List.of(
            "V001__leases_ticks_events.sql",
            "V002__effects.sql",
            "V003__work.sql",
            "V004__operation.sql",
            "V005__page.sql");
    static final String NEWEST = "005";

    /** Flyway's list of what was applied; not its usual name, which another program in the same schema may use. */
    static final String TABLE = "fencepost_schema_history";

    private Migrations() {}

    /** @param folder {@code db/postgres} or {@code db/sqlite} */
    static void apply(DataSource database, String folder) {
        if (areApplied(database)) {
            return;
        }
        Flyway.configure(Migrations.class.getClassLoader())
                .dataSource(database)
                .resourceProvider(new Scripts(folder))
                .javaMigrationClassProvider(List::of)
                .table(TABLE)
                // Other people's tables may be there already; ours begin at the first script all the same.
                .baselineOnMigrate(true)
                .baselineVersion("0")
                .cleanDisabled(true)
                .connectRetries(0)
                .load()
                .migrate();
    }

    /** Spares short commands the start of Flyway. A missing table means a new database; any other failure shows when Flyway tries. */
    static boolean areApplied(DataSource database) {
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(
                        "select 1 from " + TABLE + " where success and version = '" + NEWEST + "'")) {
            return rows.next();
        } catch (SQLException noSuchTable) {
            return false;
        }
    }

    /** The first line of what is at the bottom of a failed migration: Flyway's own message is a page. */
    static String reason(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null && root.getCause() != root) {
            root = root.getCause();
        }
        return String.valueOf(root.getMessage())
                .lines()
                .findFirst()
                .orElse(root.getClass().getSimpleName());
    }

    private record Scripts(String folder) implements ResourceProvider {

        @Override
        public @Nullable LoadableResource getResource(String name) {
            return SCRIPTS.contains(name) ? new Script(folder, name) : null;
        }

        @Override
        public Collection<LoadableResource> getResources(String prefix, String[] suffixes) {
            return SCRIPTS.stream()
                    .filter(name -> name.startsWith(prefix) && List.of(suffixes).contains(".sql"))
                    .map(name -> (LoadableResource) new Script(folder, name))
                    .toList();
        }
    }

    private static final class Script extends LoadableResource {
        private final String path;
        private final String name;

        Script(String folder, String name) {
            this.path = "/" + folder + "/" + name;
            this.name = name;
        }

        @Override
        public Reader read() {
            try (InputStream in = Migrations.class.getResourceAsStream(path)) {
                if (in == null) {
                    throw new IllegalStateException("the program lacks its migration " + path);
                }
                try (Reader reader = new InputStreamReader(in, StandardCharsets.UTF_8)) {
                    return new StringReader(reader.readAllAsString());
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public String getAbsolutePath() {
            return path;
        }

        @Override
        public String getAbsolutePathOnDisk() {
            return path;
        }

        @Override
        public String getFilename() {
            return name;
        }

        @Override
        public String getRelativePath() {
            return name;
        }
    }
}
