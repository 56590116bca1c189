package dev.fencepost.edge.jdbc;

import dev.fencepost.host.Time;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What differs between the two databases. Statements are written once, with fragments in braces; {@code {live l}} becomes the
 * comparison of the end of the lease aliased {@code l} with the store's clock.
 *
 * <p>PostgreSQL's clock is {@code clock_timestamp()}, never {@code now()}, which stands still in a transaction. SQLite's is this
 * host's boot clock, bound after the write lock was taken ({@code :boot_now}, {@code :boot_id}), with the wall clock beside it for
 * people ({@code :wall_now}). See semantics 2.7 to 2.9.
 *
 * <p>{@code {given}} is a table: the parts of the text {@code :given}, which have neither commas nor quotes and stand with commas between
 * them, as {@code given.value}, numbered from 1 by {@code given.place}. {@code {listed}} is a table too: of grants with what is handed in
 * or told under each, written by {@link Listed} as {@code :listed}. {@code id {among t}} asks whether the id is in table {@code t}.
 * {@code {by i}} names the index to use where the planner of SQLite, which counts no rows, would take a longer one.
 * {@code {quarter t}} is the beginning of the quarter of an hour in which a slot of table {@code t} lies.
 */
sealed interface Dialect permits Dialect.Postgres, Dialect.Sqlite {

    /** The text for a fragment, where {@code alias} is a table alias with its dot, or empty. */
    String fragment(String name, String alias);

    /** The values of the clocks at this moment, for the statements of one transaction. */
    Map<String, @Nullable Object> clocks();

    void bindInstant(PreparedStatement statement, int index, @Nullable Instant value) throws SQLException;

    /** Whether several statements may be sent at once, separated by semicolons. */
    boolean sendsManyAtOnce();

    private static String table(String alias) {
        return alias.substring(0, alias.length() - 1);
    }

    private static IllegalArgumentException unknown(String name) {
        return new IllegalArgumentException("no SQL fragment {" + name + "}");
    }

    /** PostgreSQL 15 and newer. */
    final class Postgres implements Dialect {

        /** Fence of the newest timeline: a promoted standby counts on from a number that its predecessor never reached. */
        private static final String FENCE_BY_TIMELINE = """
                greatest(%sfence + 1, \
                ((('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint - 1) << 32) + 1)""";

        private static final String GIVEN = """
                (select u.value, u.place from unnest(string_to_array(:given, ',')) with ordinality as u (value, place)) given""";

        private static final String LISTED = """
                (select l.id, l.owner, l.fence, l.run_id, decode(l.result, 'hex') as result, l.result_type, l.accepted, l.reason, l.newest
                from json_to_recordset(:listed::json) as l (id text, owner text, fence bigint, run_id text, result text,
                    result_type text, accepted boolean, reason text, newest bigint)) listed""";

        private volatile boolean timelineKnown = true;

        /** For a hosted database that does not tell its timeline: tokens then count on by one (semantics 2.9). */
        void timelineUnknown() {
            timelineKnown = false;
        }

        boolean knowsTimeline() {
            return timelineKnown;
        }

        @Override
        public String fragment(String name, String alias) {
            return switch (name) {
                case "now" -> "clock_timestamp()";
                case "live" -> "clock_timestamp() < " + alias + "expires_at";
                case "dead" -> alias + "expires_at <= clock_timestamp()";
                // One instant for the whole statement, by which an index can be searched. What was over at it is over.
                case "over" -> alias + "expires_at <= (select clock_timestamp())";
                case "set_over" -> "expires_at = '-infinity'";
                case "set_grant" -> "granted_at = clock_timestamp()";
                case "set_expiry" -> "expires_at = clock_timestamp() + :ttl * interval '1 millisecond'";
                case "set_released" -> "owner = null, run_id = null, slot_key = null, expires_at = '-infinity'";
                case "granted" -> alias + "granted_at";
                case "expires" -> alias + "expires_at";
                case "next_fence" -> timelineKnown ? FENCE_BY_TIMELINE.formatted(alias) : alias + "fence + 1";
                case "for_update" -> "for update";
                case "skip_locked" -> "for update skip locked";
                case "by" -> "";
                case "ms" -> "* interval '1 millisecond'";
                case "epoch" -> "timestamptz 'epoch'";
                case "quarter" -> "date_bin('15 minutes', " + alias + "slot_at, timestamptz 'epoch')";
                case "given" -> GIVEN;
                case "listed" -> LISTED;
                // An array, since a planner that expects a thousand ids would rather read the whole table.
                case "among" -> "= any (array(select " + alias + "id from " + table(alias) + "))";
                default -> throw unknown(name);
            };
        }

        @Override
        public Map<String, @Nullable Object> clocks() {
            return Map.of();
        }

        @Override
        public void bindInstant(PreparedStatement statement, int index, @Nullable Instant value) throws SQLException {
            if (value == null) {
                statement.setNull(index, Types.TIMESTAMP_WITH_TIMEZONE);
            } else {
                statement.setObject(index, value.atOffset(ZoneOffset.UTC));
            }
        }

        @Override
        public boolean sendsManyAtOnce() {
            return true;
        }
    }

    /** SQLite on one host. */
    record Sqlite(Time time) implements Dialect {

        private static final String GIVEN = """
                (select value, key + 1 as place from json_each('["' || replace(:given, ',', '","') || '"]')) given""";

        private static final String LISTED = """
                (select value ->> 'id' as id, value ->> 'owner' as owner, value ->> 'fence' as fence, value ->> 'run_id' as run_id,
                    unhex(value ->> 'result') as result, value ->> 'result_type' as result_type, value ->> 'accepted' as accepted,
                    value ->> 'reason' as reason, value ->> 'newest' as newest
                from json_each(:listed)) listed""";

        @Override
        public String fragment(String name, String alias) {
            return switch (name) {
                case "now" -> ":wall_now";
                case "live" -> "(:boot_now < " + alias + "expires_at and " + alias + "boot_id = :boot_id)";
                case "dead", "over" -> "(" + alias + "expires_at <= :boot_now or " + alias + "boot_id <> :boot_id)";
                case "set_over" -> "expires_at = 0, expires_wall = 0";
                case "set_grant" -> "granted_at = :wall_now, granted_boot = :boot_now";
                case "set_expiry" ->
                    "expires_at = :boot_now + :ttl, expires_wall = :wall_now + :ttl, boot_id = :boot_id";
                case "set_released" -> "owner = null, run_id = null, slot_key = null, expires_at = 0, expires_wall = 0";
                // What has passed since the grant is measured on the boot clock: the wall clock may have been set
                // since.
                case "granted" ->
                    "case when " + alias + "boot_id = :boot_id then :wall_now - (:boot_now - " + alias
                            + "granted_boot) else " + alias + "granted_at end";
                case "expires" ->
                    "case when " + alias + "boot_id = :boot_id and " + alias
                            + "expires_at > 0 then :wall_now + (" + alias + "expires_at - :boot_now) else " + alias
                            + "expires_wall end";
                case "next_fence" -> alias + "fence + 1";
                case "for_update", "skip_locked", "ms" -> "";
                case "by" -> "indexed by " + table(alias);
                case "epoch" -> "0";
                case "quarter" -> alias + "slot_at - " + alias + "slot_at % 900000";
                case "given" -> GIVEN;
                case "listed" -> LISTED;
                case "among" -> "in (select " + alias + "id from " + table(alias) + ")";
                default -> throw unknown(name);
            };
        }

        @Override
        public Map<String, @Nullable Object> clocks() {
            return Map.of(
                    "wall_now",
                    time.wallClock().toEpochMilli(),
                    "boot_now",
                    time.bootMillis(),
                    "boot_id",
                    time.bootId());
        }

        @Override
        public void bindInstant(PreparedStatement statement, int index, @Nullable Instant value) throws SQLException {
            if (value == null) {
                statement.setNull(index, Types.INTEGER);
            } else {
                statement.setLong(index, value.toEpochMilli());
            }
        }

        @Override
        public boolean sendsManyAtOnce() {
            return false;
        }
    }
}
