package dev.fencepost.bench;

import java.util.Locale;

/** What is wanted of a figure. A bench prints it beside what it has measured; the table of src/docs/performance.md has both too. */
enum Goal {
    TICK_TO_PGBENCH("tick beside pgbench with the same SQL", "", true, 0.85),
    LEASE_TO_SHEDLOCK("lease beside ShedLock", "", true, 1.2),
    BATCH_TO_DB_SCHEDULER("batch claim and completion beside db-scheduler's lock-and-fetch", "", true, 1.2),
    TICK_TO_BARE_SQLITE("tick on SQLite beside bare statements", "", true, 0.8),
    START_P50("from the order to the child's start, more than a bare spawn, p50", " ms", false, 2),
    START_P99("from the order to the child's start, more than a bare spawn, p99", " ms", false, 10),
    END("from the child's end to its stored completion, beside one bare commit", "", false, 1.5),
    CLAIM_GROWTH("p50 of a claim among many jobs and ticks, to that of one job", "", false, 1.2),
    LATENESS("lateness of jobs due in the same second, p99 to the claim", " ms", false, 250),
    IDLE("10 000 idle jobs, processor time", " % of a core", false, 1),
    READY("start to ready, AOT cache", " ms", false, 900),
    MEMORY("memory when idle", " MB", false, 120),
    HELP("--help", " ms", false, 350),
    STATUS("status", " ms", false, 600);

    private final String what;
    private final String unit;
    private final boolean atLeast;
    private final double bound;

    Goal(String what, String unit, boolean atLeast, double bound) {
        this.what = what;
        this.unit = unit;
        this.atLeast = atLeast;
        this.bound = bound;
    }

    /** @param where what tells this figure from others of the same goal */
    void print(String where, double figure) {
        boolean met = atLeast ? figure >= bound : figure <= bound;
        System.out.printf(
                Locale.ROOT,
                "goal: %s (%s): %.2f%s, wanted %s %s%s: %s%n",
                what,
                where,
                figure,
                unit,
                atLeast ? "at least" : "at most",
                Double.toString(bound).replaceAll("\\.0$", ""),
                unit,
                met ? "met" : "missed");
    }
}
