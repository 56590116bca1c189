package dev.fencepost.edge.jdbc;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import io.agroal.api.AgroalDataSource;
import io.agroal.api.configuration.AgroalConnectionPoolConfiguration.ConnectionValidator;
import io.agroal.api.configuration.supplier.AgroalDataSourceConfigurationSupplier;
import io.agroal.api.exceptionsorter.PostgreSQLExceptionSorter;
import io.agroal.api.security.NamePrincipal;
import io.agroal.api.security.SimplePassword;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.flywaydb.core.api.FlywayException;
import org.jspecify.annotations.Nullable;

/**
 * PostgreSQL through two Agroal pools: one for everything, and a small one for renewals and completions alone, so that a full pool or a
 * stalled call never costs a lease. Every limit of the second is shorter than the renewal margin of the shortest usual lease (2 s), and so
 * is the time that a transaction of either may stand still with rows locked. What takes long has a patient pool of its own.
 */
final class PostgresDatabase implements Database {

    private static final int MAX_CONNECTIONS = 8;
    private static final int MAX_URGENT_CONNECTIONS = 4;

    private static final int MAX_PATIENT_CONNECTIONS = 3;

    /**
     * Time limits of one pool; connect and socket are whole seconds in the driver.
     *
     * @param idleMillis how long a transaction may wait for its client: one that is frozen or cut off keeps the rows locked so long, and
     *     the holder of a lease must be able to renew it all the same
     */
    private record Limits(int connectSeconds, int socketSeconds, int statementMillis, int lockMillis, int idleMillis) {}

    private static final Limits NORMAL_LIMITS = new Limits(3, 8, 6_000, 3_000, 1_500);
    private static final Limits URGENT_LIMITS = new Limits(1, 2, 1_500, 1_000, 1_500);

    /** One connection holds the lock while another one migrates, and a new index of a large table takes its time. */
    private static final Limits PATIENT_LIMITS = new Limits(3, 120, 110_000, 10_000, 110_000);

    /** Makes a pool of its own, for a migration and for what a person does to the whole store. */
    private interface Pools {
        AgroalDataSource open() throws SQLException;
    }

    private final String display;
    private final Journal journal;
    private final Pools patientPool;
    private final Dialect.Postgres dialect = new Dialect.Postgres();
    private final Session.Prepared prepared = new Session.Prepared(dialect);
    private final AgroalDataSource normal;
    private final AgroalDataSource urgent;

    PostgresDatabase(
            String jdbcUrl, @Nullable String user, @Nullable String password, String display, Journal journal) {
        this.display = display;
        this.journal = journal;
        this.patientPool = () -> pool(jdbcUrl, user, password, MAX_PATIENT_CONNECTIONS, PATIENT_LIMITS);
        try {
            normal = pool(jdbcUrl, user, password, MAX_CONNECTIONS, NORMAL_LIMITS);
            urgent = pool(jdbcUrl, user, password, MAX_URGENT_CONNECTIONS, URGENT_LIMITS);
        } catch (SQLException e) {
            throw new StoreException(Kind.BROKEN, display + ": " + e.getMessage(), e);
        }
    }

    private static AgroalDataSource pool(
            String jdbcUrl, @Nullable String user, @Nullable String password, int size, Limits limits)
            throws SQLException {
        AgroalDataSourceConfigurationSupplier configuration = new AgroalDataSourceConfigurationSupplier()
                .connectionPoolConfiguration(pool -> pool.maxSize(size)
                        .acquisitionTimeout(Duration.ofSeconds(limits.connectSeconds() + 1L))
                        .validationTimeout(Duration.ofMinutes(1))
                        .idleValidationTimeout(Duration.ofSeconds(30))
                        .connectionValidator(ConnectionValidator.defaultValidatorWithTimeout(1))
                        .exceptionSorter(new PostgreSQLExceptionSorter())
                        .connectionFactoryConfiguration(factory -> {
                            factory.jdbcUrl(jdbcUrl)
                                    .connectionProviderClassName("org.postgresql.Driver")
                                    .trackJdbcResources(false)
                                    .loginTimeout(Duration.ofSeconds(limits.connectSeconds()))
                                    .jdbcProperty("connectTimeout", String.valueOf(limits.connectSeconds()))
                                    .jdbcProperty("socketTimeout", String.valueOf(limits.socketSeconds()))
                                    .jdbcProperty("tcpKeepAlive", "true")
                                    .jdbcProperty("ApplicationName", "fencepost")
                                    .initialSql(
                                            "set synchronous_commit to on; set random_page_cost to 1.1; set statement_timeout to "
                                                    + limits.statementMillis() + "; set lock_timeout to "
                                                    + limits.lockMillis()
                                                    + "; set idle_in_transaction_session_timeout to "
                                                    + limits.idleMillis()
                                                    + "; " + transactionTimeout(2 * limits.statementMillis()));
                            if (user != null) {
                                factory.principal(new NamePrincipal(user));
                            }
                            if (password != null) {
                                factory.credential(new SimplePassword(password));
                            }
                            return factory;
                        }));
        return AgroalDataSource.from(configuration);
    }

    /** Ends what arrived in part only, which is not called idle; from PostgreSQL 17 on. */
    private static String transactionTimeout(int millis) {
        return "select set_config(name, '" + millis + "', false) from pg_settings where name = 'transaction_timeout'";
    }

    @Override
    public <T> T read(String operation, Work<T> work) {
        return transaction(operation, normal, work);
    }

    @Override
    public <T> T write(String operation, Urgency urgency, Work<T> work) {
        return transaction(operation, pool(urgency), work);
    }

    @Override
    public <T> T readPatiently(String operation, Work<T> work) {
        return writePatiently(operation, work);
    }

    @Override
    public <T> T writePatiently(String operation, Work<T> work) {
        try (AgroalDataSource patient = patientPool.open()) {
            return transaction(operation, patient, work);
        } catch (SQLException e) {
            throw failure(operation, e, false);
        }
    }

    @Override
    public List<Session.Answer> readAtOnce(String operation, Sql sql, Params params) {
        try (Connection connection = connection(operation, normal)) {
            return new Session(new Statements.Fresh(connection), dialect, prepared).run(sql, params);
        } catch (SQLException e) {
            throw failure(operation, e, false);
        }
    }

    /** BEGIN and COMMIT go with the statements, so whoever stands still does it before or after, and holds no lock meanwhile. */
    @Override
    public List<Session.Answer> writeAtOnce(String operation, Urgency urgency, Sql sql, Params params) {
        try (Connection connection = connection(operation, pool(urgency))) {
            Session session = new Session(new Statements.Fresh(connection), dialect, prepared);
            try {
                return session.runAtOnce(sql, params);
            } catch (SQLException | RuntimeException | Error e) {
                abort(connection, e);
                throw e;
            }
        } catch (SQLException e) {
            throw failure(operation, e, true);
        }
    }

    private StoreException failure(String operation, SQLException e, boolean committing) {
        return new StoreException(kind(e, committing), operation + ": " + display + ": " + cause(e), e);
    }

    /** After an error in the middle the COMMIT was not carried out, and the transaction is still there. */
    private static void abort(Connection connection, Throwable reason) {
        try (Statement statement = connection.createStatement()) {
            statement.execute("rollback");
        } catch (SQLException e) {
            reason.addSuppressed(e); // the connection is gone, and the transaction with it
        }
    }

    private AgroalDataSource pool(Urgency urgency) {
        return urgency == Urgency.URGENT ? urgent : normal;
    }

    private Connection connection(String operation, AgroalDataSource pool) {
        try {
            return pool.getConnection();
        } catch (SQLException e) {
            throw new StoreException(Kind.UNAVAILABLE, operation + ": " + display + " not reachable: " + cause(e), e);
        }
    }

    private <T> T transaction(String operation, AgroalDataSource pool, Work<T> work) {
        Connection connection = connection(operation, pool);
        boolean committing = false;
        try (connection) {
            connection.setAutoCommit(false);
            Session session = new Session(new Statements.Fresh(connection), dialect, prepared);
            try {
                T result = work.run(session);
                if (session.isRollbackOnly()) {
                    connection.rollback();
                } else {
                    committing = true; // and it stays so: what fails after it fails with the transaction stored
                    connection.commit();
                }
                connection.setAutoCommit(true);
                return result;
            } catch (SQLException | RuntimeException | Error e) {
                // An Error too: a pooled connection that is given back with half a transaction would commit it.
                if (!committing) {
                    rollback(connection, e);
                }
                throw e;
            }
        } catch (SQLException e) {
            throw failure(operation, e, committing);
        }
    }

    private static void rollback(Connection connection, Throwable reason) {
        try {
            connection.rollback();
            connection.setAutoCommit(true);
        } catch (SQLException e) {
            reason.addSuppressed(e); // the connection is gone, and the transaction with it
        }
    }

    /**
     * A connection that dies before COMMIT was sent takes its transaction with it; one that dies at COMMIT leaves its outcome unknown.
     * An error that the server reports at COMMIT is a rollback.
     */
    private static Kind kind(SQLException e, boolean committing) {
        String state = e.getSQLState() == null ? "08" : e.getSQLState();
        boolean connectionLost = state.startsWith("08") || state.startsWith("57P") || state.equals("25P04");
        if (connectionLost) {
            return committing ? Kind.AMBIGUOUS : Kind.UNAVAILABLE;
        }
        boolean passing = state.startsWith("40") // deadlock, serialization
                || state.startsWith("53") // disk full, too many connections
                || state.startsWith("57") // cancelled by a time limit
                || state.startsWith("58") // input/output error of the server
                || state.equals("55P03") // lock not available
                || state.equals("25P03") // the transaction stood still for too long, and is rolled back
                || state.equals("25006") // read-only: a standby, for now
                || state.equals("55000"); // the same, where only a function tells
        return passing ? Kind.UNAVAILABLE : Kind.BROKEN;
    }

    private static String cause(SQLException e) {
        return String.valueOf(e.getMessage())
                .lines()
                .findFirst()
                .orElse(e.getClass().getSimpleName());
    }

    @Override
    public void migrate() {
        try {
            if (!Migrations.areApplied(normal)) {
                try (AgroalDataSource patient = patientPool.open()) {
                    Migrations.apply(patient, "db/postgres");
                }
            }
        } catch (SQLException e) {
            throw new StoreException(kind(e, false), "migration of " + display + ": " + cause(e), e);
        } catch (FlywayException e) {
            throw new StoreException(Kind.UNAVAILABLE, "migration of " + display + ": " + Migrations.reason(e), e);
        }
        if (dialect.knowsTimeline()) {
            learnTimeline();
        }
    }

    /** Some hosted databases allow neither function; then tokens rise by one, and a promotion may repeat one. */
    private void learnTimeline() {
        try {
            read(
                    "timeline",
                    session ->
                            session.one(Sql.of("select pg_walfile_name(pg_current_wal_lsn()) as file"), Params.none()));
        } catch (StoreException e) {
            if (e.kind() != Kind.BROKEN) {
                throw e;
            }
            dialect.timelineUnknown();
            prepared.clear();
            journal.record(new Event.Note(
                    null,
                    display + " does not tell its timeline: after the promotion of a lagging standby a token may be"
                            + " granted twice, and only the run id tells the two apart"));
        }
    }

    /** The server's disk is not seen from here; its error 53100 is told by the writes themselves. */
    @Override
    public void checkRoom() {}

    @Override
    public String describe() {
        return display;
    }

    @Override
    public void close() {
        normal.close();
        urgent.close();
    }
}
