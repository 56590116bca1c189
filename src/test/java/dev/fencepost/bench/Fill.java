package dev.fencepost.bench;

import java.sql.Connection;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Fills a database fast, by statements that are written once for both stores: {@code {numbers N}} is a table with a column {@code n} from 0,
 * {@code {at X}} an instant and {@code {key X}} the key of a slot, of seconds since 1970, and {@code {uuid}} a new run id for each row.
 */
enum Fill {
    SQLITE(Map.of(
            "numbers",
            "(with recursive c (n) as (select 0 union all select n + 1 from c where n < %s - 1)"
                    + " select n from c) n",
            "at",
            "1000 * (%s)",
            "key",
            "strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', %s, 'unixepoch')",
            "uuid",
            "lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-' || hex(randomblob(2))"
                    + " || '-' || hex(randomblob(2)) || '-' || hex(randomblob(6)))")),

    POSTGRES(Map.of(
            "numbers", "generate_series(0, %s - 1) n",
            "at", "to_timestamp(%s)",
            "key", "to_char(to_timestamp(%s) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')",
            "uuid", "gen_random_uuid()::text"));

    /** What the URL of a SQLite file says for a connection that fills it. */
    static final String FAST = "?busy_timeout=20000&synchronous=OFF&journal_mode=WAL&cache_size=-400000";

    private static final Pattern FRAGMENT = Pattern.compile("\\{(\\w+)(?: ([^}]*))?}");

    private final Map<String, String> fragments;

    Fill(Map<String, String> fragments) {
        this.fragments = fragments;
    }

    /** @param statements with a semicolon at the end of a line between two */
    void run(Connection connection, String statements) {
        for (String each : statements.split(";\\n")) {
            Script.run(
                    connection,
                    FRAGMENT.matcher(each)
                            .replaceAll(m -> Matcher.quoteReplacement(
                                    fragments.get(m.group(1)).formatted(m.group(2)))));
        }
    }
}
