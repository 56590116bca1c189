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
 *
 * <p>A schema with newer scripts than these is worked on, as long as it says that programs which know these may do so: see ADR 31.
 */
final class Migrations {

    private static final List<String> SCRIPTS = List.of(
            "V001__leases_ticks_events.sql",
            "V002__effects.sql",
            "V003__work.sql",
            "V004__operation.sql",
            "V005__page.sql",
            "V006__floors.sql");
    static final String NEWEST = "006";

    /** Flyway's list of what was applied; not its usual name, which another program in the same schema may use. */
    static final String TABLE = "fencepost_schema_history";

    /** Answers nothing where scripts are missing; fails where not even the table is there. */
    static final String LEAST_KNOWN = "select f.least_known from store_floor f where exists (select 1 from " + TABLE
            + " h where h.success and h.version = '" + NEWEST + "')";

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

    /**
     * Spares short commands the start of Flyway. A missing table means a new database; any other failure shows when Flyway tries.
     *
     * @throws SchemaTooNewException if this program must not work on it
     */
    static boolean areApplied(DataSource database) {
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(LEAST_KNOWN)) {
            if (!rows.next()) {
                return false;
            }
            checkKnown(rows.getInt(1));
            return true;
        } catch (SQLException noSuchTable) {
            return false;
        }
    }

    /** @param leastKnown the number of the script that a program has to know for this store */
    static void checkKnown(int leastKnown) {
        int known = Integer.parseInt(NEWEST);
        if (leastKnown > known) {
            throw new SchemaTooNewException(leastKnown, known);
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
