package dev.fencepost.edge.jdbc;

import dev.fencepost.edge.jdbc.Database.Urgency;
import dev.fencepost.edge.jdbc.Diagnosis.Engine;
import dev.fencepost.edge.jdbc.Diagnosis.PausedJob;
import dev.fencepost.edge.jdbc.Diagnosis.SinkAhead;
import dev.fencepost.lease.StoreException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Asks a store what it is like. Changes nothing in it. */
final class JdbcDiagnosis {

    private static final Sql SCHEMA =
            Sql.of("select version from " + Migrations.TABLE + " where success order by installed_rank desc limit 1");

    /** {@code reset_val}: what a session has that sets nothing; ours set synchronous_commit. */
    private static final Sql SETTINGS = Sql.of("""
            select name, setting, reset_val from pg_settings
            where name in ('server_version_num', 'server_version', 'fsync', 'full_page_writes', 'synchronous_commit')""");

    private static final Sql STANDBY = Sql.of("select pg_is_in_recovery() as standby");
    private static final Sql TIMELINE = Sql.of("select pg_walfile_name(pg_current_wal_lsn()) as file");

    /** A record of the log that no table knows of: it makes the commit a durable one. */
    private static final Sql POSTGRES_WRITE = Sql.of("select pg_logical_emit_message(true, 'fencepost', '') as at");

    private static final Sql USER_VERSION = Sql.of("pragma user_version");
    private static final Sql JOURNAL_MODE = Sql.of("pragma journal_mode");
    private static final Sql SYNCHRONOUS = Sql.of("pragma synchronous");
    private static final Sql SIZE = Sql.of("pragma page_count", "pragma page_size");
    private static final Sql QUICK_CHECK = Sql.of("pragma quick_check(10)");
    private static final Sql WHOLE_CHECK = Sql.of("pragma integrity_check(10)");
    private static final Sql FOREIGN_KEYS = Sql.of("pragma foreign_key_check");
    private static final Sql LEAST_KNOWN = Sql.of("select least_known from store_floor");

    private static final Sql PAUSED = Sql.of("""
            select id, paused_at, paused_until, pause_cause, pause_reason, paused_by from job
            where paused_at is not null and retired_at is null order by id""");

    /** What was sent, and what a sink said when it refused: of the newest events, since there is no index for it. */
    private static final Sql AHEAD = Sql.of("""
            select s.sink, s.resource, s.fence as sink_fence, coalesce(l.fence, 0) as store_fence
            from sink_fence s left join lease l on l.resource = s.resource
            where s.fence > coalesce(l.fence, 0) order by s.resource, s.sink limit 20""", """
            select f.sink, e.resource, max(e.newest_fence) as sink_fence, coalesce(l.fence, 0) as store_fence
            from write_event e left join lease l on l.resource = e.resource left join effect f on f.key = e.effect
            where e.id > (select coalesce(max(n.id), 0) - 10000 from write_event n)
                and e.effect is not null and e.newest_fence > coalesce(l.fence, 0)
            group by f.sink, e.resource, l.fence order by e.resource, f.sink limit 20""");

    private final Database database;

    JdbcDiagnosis(Database database) {
        this.database = database;
    }

    Diagnosis read() {
        Engine engine = isSqlite() ? sqlite() : postgres();
        String schema = schema();
        boolean prepared = schema != null && schema.compareTo(Migrations.NEWEST) >= 0;
        String leastKnown = prepared ? leastKnown() : null;
        return new Diagnosis(
                schema,
                Migrations.NEWEST,
                leastKnown,
                engine,
                prepared ? paused() : List.of(),
                prepared ? ahead() : List.of());
    }

    private String leastKnown() {
        return database.read(
                "schema",
                session -> "%03d"
                        .formatted(only(session, LEAST_KNOWN, "least_known").integer("least_known")));
    }

    private boolean isSqlite() {
        return database instanceof SqliteDatabase;
    }

    private @Nullable String schema() {
        try {
            return database.<Optional<Row>>read(
                            "schema",
                            session -> Optional.ofNullable(
                                    session.one(SCHEMA, Params.none()).first()))
                    .map(row -> row.text("version"))
                    .orElse(null);
        } catch (StoreException e) {
            if (JdbcStore.lacksTheTable(e)) {
                return null;
            }
            throw e;
        }
    }

    private Engine sqlite() {
        return database.read("settings", session -> {
            List<Session.Answer> size = session.run(SIZE, Params.none());
            return new Diagnosis.Sqlite(
                    only(session, JOURNAL_MODE, "journal_mode").text("journal_mode"),
                    only(session, SYNCHRONOUS, "synchronous").integer("synchronous"),
                    first(size.getFirst(), "page_count").number("page_count")
                            * first(size.getLast(), "page_size").number("page_size"));
        });
    }

    private Engine postgres() {
        Map<String, Row> settings = new HashMap<>();
        boolean standby = database.read("settings", session -> {
            session.one(SETTINGS, Params.none()).rows().forEach(row -> settings.put(row.text("name"), row));
            return only(session, STANDBY, "standby").truth("standby");
        });
        return new Diagnosis.Postgres(
                Integer.parseInt(setting(settings, "server_version_num").text("setting")),
                setting(settings, "server_version").text("setting"),
                setting(settings, "fsync").text("setting").equals("on"),
                setting(settings, "full_page_writes").text("setting").equals("on"),
                setting(settings, "synchronous_commit").text("reset_val"),
                standby,
                standby ? null : timelineRefusal());
    }

    private static Row setting(Map<String, Row> settings, String name) {
        return Objects.requireNonNull(settings.get(name), name);
    }

    /** In a transaction of its own, which a refusal ends. */
    private @Nullable String timelineRefusal() {
        try {
            database.read("timeline", session -> session.one(TIMELINE, Params.none()));
            return null;
        } catch (StoreException e) {
            if (e.kind() == StoreException.Kind.BROKEN) {
                return String.valueOf(e.getMessage());
            }
            throw e;
        }
    }

    private List<PausedJob> paused() {
        return database.read(
                "pauses",
                session -> session.one(PAUSED, Params.none()).rows().stream()
                        .map(row -> new PausedJob(row.text("id"), Objects.requireNonNull(JdbcOrders.pause(row))))
                        .toList());
    }

    private List<SinkAhead> ahead() {
        return database.read("tokens of sinks", session -> {
            List<Session.Answer> answers = session.run(AHEAD, Params.none());
            return Stream.of(answers.getFirst(), answers.getLast())
                    .flatMap(answer -> answer.rows().stream())
                    .map(row -> new SinkAhead(
                            row.optionalText("sink"),
                            row.text("resource"),
                            row.number("sink_fence"),
                            row.number("store_fence")))
                    .toList();
        });
    }

    /** Commits durably something that no table knows of. */
    void writeNothing() {
        database.write("empty write", Urgency.NORMAL, session -> {
            if (!isSqlite()) {
                return session.one(POSTGRES_WRITE, Params.none());
            }
            // The same number again: the page is written all the same.
            long version = only(session, USER_VERSION, "user_version").number("user_version");
            return session.one(Sql.of("pragma user_version = " + version), Params.none());
        });
    }

    /** What is damaged, in SQLite's words; empty for nothing, and for PostgreSQL. Reads the whole file. */
    List<String> damage() {
        if (!isSqlite()) {
            return List.of();
        }
        return database.read(
                "quick check",
                session -> session.one(QUICK_CHECK, Params.none()).rows().stream()
                        .map(row -> row.text("quick_check"))
                        .filter(line -> !line.equals("ok"))
                        .toList());
    }

    /** The same, with what only a look at every index and every reference shows. */
    List<String> wholeDamage() {
        if (!isSqlite()) {
            return List.of();
        }
        return database.read("integrity check", session -> {
            List<String> found = new ArrayList<>();
            for (Row row : session.one(WHOLE_CHECK, Params.none()).rows()) {
                found.add(row.text("integrity_check"));
            }
            found.remove("ok");
            for (Row row : session.one(FOREIGN_KEYS, Params.none()).rows()) {
                found.add("a row of " + row.text("table") + " refers to one of " + row.text("parent")
                        + " that is not there");
            }
            return found;
        });
    }

    private static Row only(Session session, Sql sql, String what) throws SQLException {
        return first(session.one(sql, Params.none()), what);
    }

    private static Row first(Session.Answer answer, String what) {
        return Objects.requireNonNull(answer.first(), what);
    }
}
