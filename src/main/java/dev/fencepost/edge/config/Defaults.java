package dev.fencepost.edge.config;

import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Zones;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneId;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The values that may stand at a job as well as under {@code defaults}. What is null was not written there.
 *
 * @param timeout {@link #NO_TIMEOUT} stands for the word "none" in the file
 * @param env of this place alone: a job puts its own on top of those of {@code defaults}
 */
record Defaults(
        @Nullable Given<ZoneId> zone,
        @Nullable Given<Duration> timeout,
        @Nullable Given<Duration> grace,
        @Nullable Given<Integer> catchUpMax,
        @Nullable Given<Duration> catchUpWindow,
        @Nullable Given<Duration> ttl,
        @Nullable Given<Integer> maxAttempts,
        @Nullable Given<Path> workingDir,
        WrittenPolicies policies,
        Notification notification,
        Map<String, Given<String>> env) {

    static final Duration NO_TIMEOUT = Duration.ZERO;
    static final Duration LEAST_TTL = Duration.ofSeconds(3);
    static final Duration MOST_TTL = Duration.ofDays(30);

    private static final Duration LEAST_TIMEOUT = Duration.ofSeconds(1);
    private static final Duration MOST_TIMEOUT = Duration.ofDays(30);
    private static final Duration MOST_GRACE = Duration.ofHours(1);
    private static final Duration LEAST_WINDOW = Duration.ofSeconds(1);
    private static final int MOST_ATTEMPTS = 100;

    /** The values of a program that was given no file. */
    static Defaults builtIn(Path baseDir) {
        return new Defaults(
                Given.builtIn(ZoneId.of("Etc/UTC"), "the zone of the host is never taken"),
                Given.builtIn(NO_TIMEOUT, "no limit"),
                Given.builtIn(Duration.ofSeconds(10), "from SIGTERM to SIGKILL"),
                Given.builtIn(CatchUp.DEFAULT.max(), "the newest missed slot"),
                null,
                null,
                Given.builtIn(2, "one more try after a crash or a lost lease"),
                Given.builtIn(baseDir, "the directory of the jobs file"),
                WrittenPolicies.builtIn(),
                Notification.NOBODY,
                Map.of());
    }

    /** Reads them from a job or from {@code defaults}; what is not written there comes from the next ones, but for {@code env}. */
    static Defaults read(Section section, FileNames names, Map<String, String> environment, Defaults next) {
        Section catchUp = section.section("catch-up", Keys.CATCH_UP, "catch-up: { max: 1 }");
        Section lease = section.section("lease", Keys.LEASE, "lease: { ttl: 81m }");
        return new Defaults(
                or(section.read("timezone", text -> zone(text)), next.zone),
                or(section.read("timeout", Defaults::timeout), next.timeout),
                or(section.read("grace", text -> DurationText.parse(text, Duration.ZERO, MOST_GRACE)), next.grace),
                or(catchUp.number("max", 0, CatchUp.LIMIT), next.catchUpMax),
                or(
                        catchUp.read("window", text -> DurationText.parse(text, LEAST_WINDOW, DurationText.LONGEST)),
                        next.catchUpWindow),
                or(lease.read("ttl", text -> DurationText.parse(text, LEAST_TTL, MOST_TTL)), next.ttl),
                or(section.number("max-attempts", 1, MOST_ATTEMPTS), next.maxAttempts),
                or(workingDir(section, names.dir()), next.workingDir),
                WrittenPolicies.read(section, next.policies),
                new NotifyReader(section, names, environment).read(next.notification),
                new EnvironmentReader(section).variables());
    }

    private static <T> @Nullable Given<T> or(@Nullable Given<T> written, @Nullable Given<T> next) {
        return written != null ? written : next;
    }

    private static ZoneId zone(String text) {
        if (text.isBlank()) {
            throw new BadValueException(
                    "the zone is empty", "write an IANA name such as Europe/Berlin, or remove the key for Etc/UTC");
        }
        return Zones.parse(text.strip());
    }

    private static Duration timeout(String text) {
        return text.strip().equals("none") ? NO_TIMEOUT : DurationText.parse(text, LEAST_TIMEOUT, MOST_TIMEOUT);
    }

    private static @Nullable Given<Path> workingDir(Section section, Path baseDir) {
        Given<Path> dir = section.read("working-dir", text -> FileName.resolve(baseDir, text));
        if (dir != null) {
            String problem = FileName.whyNoDirectory(dir.value());
            if (problem != null) {
                section.error("working-dir", problem, "create it, or name another one; ~ and $NAME are not expanded");
            }
        }
        return dir;
    }
}
