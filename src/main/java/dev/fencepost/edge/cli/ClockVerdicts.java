package dev.fencepost.edge.cli;

import dev.fencepost.edge.config.DurationText;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Judges the clocks of the host and the JVM's rules of time zones. */
final class ClockVerdicts {

    static final String BOOT_CLOCK = "boot clock";
    static final String WALL_CLOCK = "wall clock";
    static final String TIME_SYNC = "time sync";
    static final String ZONE_DATA = "zone data";

    private static final Duration MOST_OFF = Duration.ofSeconds(2);
    private static final int MOST_MONTHS = 18;
    private static final Pattern RELEASE = Pattern.compile("(\\d{4})([a-z])");

    /** A release has come every six to eight weeks in busy years; never more than that many letters are used up. */
    private static final int DAYS_BETWEEN_RELEASES = 45;

    private ClockVerdicts() {}

    /**
     * @param there whether uptime and boot id can be read
     * @param mounts lines of {@code /proc/self/mountinfo}, or empty where it cannot be read
     */
    static Verdict bootClock(boolean there, String mounts) {
        if (!there) {
            return Verdict.bad(
                    BOOT_CLOCK,
                    "/proc/uptime or the boot id cannot be read: leases of a SQLite store hold only as well as the wall"
                            + " clock does, and what a dead runner held is waited out",
                    "in the systemd unit remove ProcSubset=pid; in a container give it the host's /proc/uptime and"
                            + " /proc/sys/kernel/random/boot_id");
        }
        boolean madeUp = mounts.lines()
                .map(line -> line.split(" "))
                .anyMatch(words -> words.length > 4 && words[4].equals("/proc/uptime"));
        return madeUp
                ? Verdict.bad(
                        BOOT_CLOCK,
                        "/proc/uptime is made up (lxcfs): it falls when the container is started again, under the same"
                                + " boot id, and a lease would then live too long",
                        "start the container without the lxcfs mount on /proc/uptime, or run Fencepost outside of it")
                : Verdict.ok(BOOT_CLOCK, "/proc/uptime and the boot id can be read");
    }

    /**
     * @param ahead how far the database's clock is before that of this host; negative if it is behind
     * @param doubt half of the time that the question took
     */
    static Verdict wallClock(Duration ahead, Duration doubt) {
        String off = DurationText.format(ahead.abs().truncatedTo(ChronoUnit.MILLIS));
        String text = "the database's clock is " + off + (ahead.isNegative() ? " behind" : " ahead of")
                + " this host's (measured to within " + DurationText.format(doubt.truncatedTo(ChronoUnit.MILLIS)) + ")";
        return ahead.abs().minus(doubt).compareTo(MOST_OFF) > 0
                ? Verdict.warning(
                        WALL_CLOCK,
                        text,
                        "leases and slots follow the database's clock, logs this host's; let NTP set both")
                : Verdict.ok(WALL_CLOCK, text);
    }

    /** @param answer of {@code timedatectl show --property=NTPSynchronized --value}, or null with the reason why there is none */
    static Verdict timeSync(@Nullable String answer, String whyNone) {
        if (answer == null) {
            return Verdict.note(TIME_SYNC, "not checked: " + whyNone, "");
        }
        return switch (answer.strip()) {
            case "yes" -> Verdict.ok(TIME_SYNC, "the wall clock is set by NTP");
            case "no" ->
                Verdict.warning(
                        TIME_SYNC,
                        "the wall clock is not set by NTP: slots drift with it",
                        "timedatectl set-ntp true, or install chrony");
            default -> Verdict.note(TIME_SYNC, "timedatectl does not tell", "");
        };
    }

    /** @param version of the zone rules in the JVM, such as {@code 2025b} */
    static Verdict zoneData(String version, Instant now) {
        Matcher m = RELEASE.matcher(version);
        if (!m.matches()) {
            return Verdict.note(ZONE_DATA, "version " + version + ", whose age is not known", "");
        }
        LocalDate begin = LocalDate.of(Integer.parseInt(m.group(1)), 1, 1);
        LocalDate guess = begin.plusDays((m.group(2).charAt(0) - 'a' + 1L) * DAYS_BETWEEN_RELEASES);
        LocalDate end = begin.plusYears(1).minusDays(1);
        LocalDate released = guess.isAfter(end) ? end : guess;
        long months =
                ChronoUnit.MONTHS.between(released, now.atOffset(ZoneOffset.UTC).toLocalDate());
        String text =
                "version " + version + ", about " + Math.max(0, months) + (months == 1 ? " month old" : " months old");
        return months > MOST_MONTHS
                ? Verdict.warning(
                        ZONE_DATA,
                        text + ": a country that has changed its clocks since is read by the old rules",
                        "update the JDK, or its rules with the vendor's tzupdater; then start the service again")
                : Verdict.ok(ZONE_DATA, text);
    }
}
