package dev.fencepost.edge.cli;

import dev.fencepost.edge.process.GuardInForce;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Judges what the host offers: room, rights, the guard, the port, programs. */
final class HostVerdicts {

    static final String DISK = "free disk";
    static final String OUTPUTS = "outputs";
    static final String RIGHTS = "file rights";
    static final String GUARD = "guard";
    static final String PORT = "port";
    static final String GIT = "git";
    static final String SENDMAIL = "sendmail";

    private static final long BAD_FREE = 100L << 20;
    private static final long LOW_FREE = 1L << 30;
    private static final int LOW_PERCENT = 5;

    private static final Set<PosixFilePermission> OF_OTHER_USERS = Set.of(
            PosixFilePermission.GROUP_READ,
            PosixFilePermission.GROUP_WRITE,
            PosixFilePermission.OTHERS_READ,
            PosixFilePermission.OTHERS_WRITE);
    private static final Set<PosixFilePermission> PASSAGE =
            Set.of(PosixFilePermission.GROUP_EXECUTE, PosixFilePermission.OTHERS_EXECUTE);

    private HostVerdicts() {}

    /** {@code 1.4 GiB}. */
    static String bytes(long bytes) {
        if (bytes < 1024) {
            return bytes + " bytes";
        }
        double value = bytes;
        String unit = "KiB";
        for (String next : List.of("KiB", "MiB", "GiB", "TiB")) {
            value /= 1024;
            unit = next;
            if (value < 1024) {
                break;
            }
        }
        return String.format(Locale.ROOT, value < 10 ? "%.1f %s" : "%.0f %s", value, unit);
    }

    /** @param what is there, such as {@code state directory /var/lib/fencepost} */
    static Verdict disk(String what, long free, long total) {
        long percent = total <= 0 ? 100 : 100 * (free >> 10) / Math.max(1, total >> 10);
        String text = what + ": " + bytes(free) + " free (" + percent + " %)";
        String mend = "free some; old folders below runs/ of slots that have ended may go";
        if (free < BAD_FREE) {
            return Verdict.bad(DISK, text + ": runs and the store will soon fail", mend);
        }
        return free < LOW_FREE || percent < LOW_PERCENT ? Verdict.warning(DISK, text, mend) : Verdict.ok(DISK, text);
    }

    /**
     * @param files that were counted
     * @param complete whether the count was not broken off
     */
    static Verdict outputs(Path folder, long files, long bytes, boolean complete) {
        return Verdict.ok(
                OUTPUTS,
                (complete ? "" : "more than ") + bytes(bytes) + " in " + files + " files below " + folder
                        + ", each run's output at most 16 MiB");
    }

    static Verdict noStateDirectory(Path path) {
        return Verdict.note(
                RIGHTS,
                "there is no state directory " + path + " yet",
                "fencepost serve and fencepost run make it; another one is named with --state-dir");
    }

    /**
     * @param ours whether it belongs to the user that asks
     * @param forOthers whether jobs run as other users, who must get through it
     */
    static Verdict stateDirectory(Path path, Set<PosixFilePermission> mode, boolean ours, boolean forOthers) {
        if (!ours) {
            return Verdict.warning(
                    RIGHTS,
                    "state directory " + path + " belongs to another user than the one that asks now",
                    "ask as the user of the service: sudo -u USER fencepost doctor; or chown -R it");
        }
        if (mode.stream().anyMatch(OF_OTHER_USERS::contains)) {
            return Verdict.warning(
                    RIGHTS, "others than its owner can look into the state directory " + path, "chmod 700 " + path);
        }
        if (!forOthers && mode.stream().anyMatch(PASSAGE::contains)) {
            return Verdict.note(
                    RIGHTS,
                    "others can pass through the state directory " + path + ", and no job needs that",
                    "chmod 700 " + path);
        }
        return Verdict.ok(RIGHTS, "state directory " + path + " is its owner's alone");
    }

    /**
     * @param what such as {@code env-file /etc/x.env}
     * @param open whether others can get to it and read it
     * @return null where nothing is wrong
     */
    static @Nullable Verdict secretFile(String what, Path path, boolean open) {
        return open
                ? Verdict.warning(
                        RIGHTS, "everyone on this host can read the " + what + " " + path, "chmod o-rwx " + path)
                : null;
    }

    /** @return null where nothing is wrong */
    static @Nullable Verdict storeFile(Path path, boolean readable, boolean writable) {
        if (writable) {
            return Verdict.bad(RIGHTS, "everyone on this host can write the store file " + path, "chmod o-rwx " + path);
        }
        return secretFile("store file, with what runs have said,", path, readable);
    }

    /**
     * @param writable whether everyone can change it, or put another one in its place
     * @return null where nothing is wrong
     */
    static @Nullable Verdict jobsFile(Path path, boolean writable) {
        return writable
                ? Verdict.bad(
                        RIGHTS,
                        "everyone on this host can change the jobs file " + path
                                + ", and so run commands as the service's user",
                        "chmod o-w " + path + " and the directory that it is in")
                : null;
    }

    static Verdict guard(GuardInForce guard) {
        return switch (guard.reach()) {
            case ALL -> Verdict.ok(GUARD, guard.words());
            case CHILD ->
                Verdict.note(
                        GUARD,
                        guard.words(),
                        "allow user namespaces, or let systemd start the service (operations.md)");
            case NOTHING ->
                Verdict.warning(
                        GUARD,
                        guard.words(),
                        "install util-linux (unshare, setpriv), or let systemd start the service (operations.md)");
            case CANNOT_START ->
                Verdict.bad(GUARD, "no run can be started: the program setsid is missing", "install util-linux");
        };
    }

    static Verdict portFree(int port) {
        return Verdict.ok(PORT, port + " of 127.0.0.1 is free");
    }

    static Verdict portCannotBeUsed(int port, String why) {
        return Verdict.bad(PORT, port + " of 127.0.0.1 cannot be used: " + why, "choose another: serve --port N");
    }

    /** @param answer to the question whether it lives */
    static Verdict portInUse(int port, HealthProbe.Answer answer) {
        return switch (answer) {
            case HealthProbe.Report report
            when report.names("loops") ->
                report.isUp()
                        ? Verdict.ok(PORT, port + " of 127.0.0.1: a Fencepost is running there, and it is live")
                        : Verdict.bad(
                                PORT,
                                port + " of 127.0.0.1: a Fencepost is running there, and its loops do not turn: "
                                        + report.reasons(),
                                "look at its log, then restart it");
            case HealthProbe.Report report -> taken(port, "another program that knows /q/health");
            case HealthProbe.Silence silence -> taken(port, silence.why());
        };
    }

    private static Verdict taken(int port, String by) {
        return Verdict.bad(
                PORT,
                port + " of 127.0.0.1 is in use by another program (" + by + ")",
                "end it (ss -ltnp), or choose another port: serve --port N; doctor --port N for a Fencepost there");
    }

    /** @param version what {@code git --version} said, or null with the reason why it said nothing */
    static Verdict git(@Nullable String version, String whyNot) {
        return version == null
                ? Verdict.bad(GIT, "the jobs file publishes by git, and git does not start: " + whyNot, "install git")
                : Verdict.ok(GIT, version.strip());
    }

    static Verdict sendmail(@Nullable Path found) {
        return found == null
                ? Verdict.bad(
                        SENDMAIL,
                        "the jobs file sends mail, and there is no sendmail in /usr/sbin, /usr/lib or PATH",
                        "install a mailer that brings it, such as msmtp-mta or postfix")
                : Verdict.ok(SENDMAIL, found.toString());
    }
}
