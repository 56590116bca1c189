package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.DurationText;
import dev.fencepost.edge.jdbc.Diagnosis;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Judges what a store tells of itself. */
final class StoreVerdicts {

    static final String STORE = "store";
    static final String SCHEMA = "schema";
    static final String DURABLE = "durability";
    static final String WRITE = "write time";
    static final String TIMELINE = "timeline";
    static final String DAMAGE = "damage";
    static final String FILE_SYSTEM = "file system";

    /** Of a larger file the check would read for too long. */
    static final long MOST_CHECKED_BYTES = 256L << 20;

    private static final int OLDEST_POSTGRES = 150_000;
    private static final int SYNCHRONOUS_FULL = 2;
    private static final Duration SLOW_WRITE = Duration.ofMillis(250);
    private static final Set<String> SURE_TO_WAIT = Set.of("on", "remote_apply");

    /** As {@code /proc/mounts} names them. WAL needs memory that all who use the file share, and locks that hold. */
    private static final Set<String> NETWORK = Set.of(
            "nfs",
            "nfs4",
            "cifs",
            "smb2",
            "smb3",
            "smbfs",
            "ncpfs",
            "afs",
            "9p",
            "ceph",
            "lustre",
            "gfs2",
            "ocfs2",
            "beegfs",
            "fuse.sshfs",
            "fuse.glusterfs",
            "fuse.s3fs",
            "fuse.rclone",
            "fuse.ceph",
            "fuse.davfs",
            "fuse.gcsfuse",
            "davfs");

    private static final Set<String> IN_MEMORY = Set.of("tmpfs", "ramfs");

    private StoreVerdicts() {}

    static Verdict schema(Diagnosis diagnosis) {
        String schema = diagnosis.schema();
        String wanted = diagnosis.wantedSchema();
        if (schema == null) {
            return Verdict.warning(
                    SCHEMA,
                    "there are no tables of Fencepost in it",
                    "fencepost serve and fencepost run make them; or name another store with --store");
        }
        if (schema.equals(wanted)) {
            return Verdict.ok(SCHEMA, "version " + schema + ", that of this program");
        }
        if (diagnosis.isTooNew()) {
            return Verdict.bad(
                    SCHEMA,
                    "version " + schema + ", for programs that know " + diagnosis.leastKnown() + "; this one knows "
                            + wanted + " and does not work on it",
                    "install the newer program, or restore the backup from before the upgrade");
        }
        return diagnosis.isPrepared()
                ? Verdict.note(
                        SCHEMA,
                        "version " + schema + ", this program knows " + wanted + ": a newer one made it",
                        "bring this program up to date too")
                : Verdict.warning(
                        SCHEMA,
                        "version " + schema + ", this program needs " + wanted,
                        "fencepost serve and fencepost run bring it up to date; make a backup before");
    }

    static List<Verdict> engine(Diagnosis.Engine engine) {
        return switch (engine) {
            case Diagnosis.Postgres postgres -> postgres(postgres);
            case Diagnosis.Sqlite sqlite -> List.of(sqlite(sqlite));
        };
    }

    private static List<Verdict> postgres(Diagnosis.Postgres server) {
        List<Verdict> verdicts = new ArrayList<>();
        if (server.versionNumber() < OLDEST_POSTGRES) {
            verdicts.add(Verdict.bad(
                    DURABLE,
                    "PostgreSQL " + server.version() + " is too old: 15 is the oldest that is known to work",
                    "bring the server up to date"));
        }
        String byDesign =
                " A hosted database whose storage is not PostgreSQL's own may say so by design: ask its provider";
        if (!server.fsync()) {
            verdicts.add(Verdict.bad(
                    DURABLE,
                    "fsync is off: after a crash of the server's host a token may be granted twice, or all be lost",
                    "fsync = on in postgresql.conf, and reload." + byDesign));
        }
        if (!server.fullPageWrites()) {
            verdicts.add(Verdict.bad(
                    DURABLE,
                    "full_page_writes is off: a crash of the server's host may damage tables",
                    "full_page_writes = on in postgresql.conf, and reload." + byDesign));
        }
        if (server.standby()) {
            verdicts.add(Verdict.bad(
                    DURABLE,
                    "the server is a standby, or is recovering: it takes no writes",
                    "name the primary; with several hosts in the URL it is found by itself"));
        }
        if (!SURE_TO_WAIT.contains(server.synchronousCommit())) {
            verdicts.add(Verdict.note(
                    DURABLE,
                    "synchronous_commit is " + server.synchronousCommit()
                            + " by default; Fencepost sets it to on for its own sessions",
                    ""));
        }
        if (verdicts.stream().allMatch(v -> v.state() == Verdict.State.NOTE)) {
            verdicts.addFirst(Verdict.ok(
                    DURABLE,
                    "PostgreSQL " + server.version() + ", fsync and full_page_writes on, synchronous_commit on in our"
                            + " sessions"));
        }
        if (server.timelineRefusal() != null) {
            verdicts.add(Verdict.warning(
                    TIMELINE,
                    "the server does not tell its timeline: after the promotion of a standby that was behind, a token"
                            + " may be granted twice, and only the run id tells the two runs apart",
                    "grant execute on function pg_walfile_name(pg_lsn), pg_current_wal_lsn() to the user; where the"
                            + " provider allows neither, use a standby that is synchronous"));
        } else if (!server.standby()) {
            verdicts.add(Verdict.ok(TIMELINE, "the server tells its timeline, tokens rise over a promotion"));
        }
        return verdicts;
    }

    private static Verdict sqlite(Diagnosis.Sqlite file) {
        if (!file.journalMode().equalsIgnoreCase("wal")) {
            return Verdict.bad(
                    DURABLE,
                    "journal_mode is " + file.journalMode() + " and cannot be set to WAL: readers and the writer stop"
                            + " each other",
                    "move the file to a file system of this host");
        }
        return file.synchronous() < SYNCHRONOUS_FULL
                ? Verdict.bad(
                        DURABLE,
                        "synchronous is " + file.synchronous() + ": a power loss may take back a grant",
                        "this program sets FULL itself; report this as an error")
                : Verdict.ok(DURABLE, "SQLite in WAL mode, synchronous=FULL, " + HostVerdicts.bytes(file.bytes()));
    }

    static Verdict notWal() {
        return Verdict.warning(
                STORE,
                "the file is not in WAL mode: it was made, or restored, by another program. No further check of it is"
                        + " made, since opening it would change that",
                "fencepost status sets WAL mode, as every other command does; then ask the doctor again");
    }

    /** @param median of several empty durable writes */
    static Verdict writeTime(Duration median) {
        Duration whole = median.truncatedTo(ChronoUnit.MILLIS);
        String text = "a durable write takes " + (whole.isZero() ? "less than 1ms" : DurationText.format(whole))
                + " (median of five)";
        return median.compareTo(SLOW_WRITE) > 0
                ? Verdict.warning(
                        WRITE,
                        text + ": grants and renewals are slow",
                        "look at the load of the disk and at the way to the server; leases need a ttl of minutes here")
                : Verdict.ok(WRITE, text);
    }

    /** @param found words of {@code pragma quick_check}; empty for none */
    static Verdict damage(List<String> found) {
        return found.isEmpty()
                ? Verdict.ok(DAMAGE, "SQLite's quick check finds none")
                : Verdict.bad(
                        DAMAGE,
                        "the file is damaged: " + found.getFirst()
                                + (found.size() > 1 ? " (and " + (found.size() - 1) + " more)" : ""),
                        "stop the service, keep a copy of the file, restore a backup, or sqlite3 FILE .recover");
    }

    static Verdict tooLargeToCheck(long bytes) {
        return Verdict.note(
                DAMAGE,
                "not checked: the file has " + HostVerdicts.bytes(bytes) + ", more than "
                        + HostVerdicts.bytes(MOST_CHECKED_BYTES),
                "sqlite3 FILE 'pragma quick_check', at a quiet time");
    }

    /** @param type as the system names the file system */
    static Verdict fileSystem(String what, String type) {
        if (NETWORK.contains(type)) {
            return Verdict.bad(
                    FILE_SYSTEM,
                    what + " is on a network file system (" + type + "): SQLite's locks and its WAL do not hold there",
                    "move it to a disk of this host; several hosts need PostgreSQL");
        }
        if (IN_MEMORY.contains(type)) {
            return Verdict.warning(
                    FILE_SYSTEM,
                    what + " is in memory (" + type + "): after a restart of the host the tokens begin again",
                    "move it to a disk");
        }
        return type.equals("overlay")
                ? Verdict.note(
                        FILE_SYSTEM,
                        what + " is in the container's own layer (" + type
                                + "), and goes when the container is removed",
                        "put the state directory on a volume")
                : Verdict.ok(FILE_SYSTEM, what + " is on " + type);
    }
}
