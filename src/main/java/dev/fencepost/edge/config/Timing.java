package dev.fencepost.edge.config;

import dev.fencepost.schedule.Cron;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Gaps;
import dev.fencepost.schedule.Schedule;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A job's schedule, and what follows from its gaps in the coming year.
 *
 * @param shortestGap between two slots of the coming year, null when there are fewer than two
 * @param longestGap likewise
 */
record Timing(
        Schedule schedule,
        List<Definition.Value> values,
        @Nullable Duration shortestGap,
        @Nullable Duration longestGap) {

    static final Duration COMING_YEAR = Duration.ofDays(366);

    private static final Duration DEFAULT_INTERVAL = Duration.ofMinutes(45);
    private static final Duration LEAST_DEFAULT_TTL = Duration.ofSeconds(10);
    private static final Duration MOST_DEFAULT_TTL = Duration.ofHours(24);
    private static final BigDecimal TTL_PER_GAP = new BigDecimal("1.8");

    /** Reads {@code every} and {@code anchor}, or {@code cron} and {@code dialect}; null after an error. */
    static @Nullable Timing read(Section job, ZoneId zone, Instant now) {
        if (job.has("every") && job.has("cron")) {
            job.error("cron", "the job has both every and cron", "keep one of the two");
            return null;
        }
        if (job.has("cron")) {
            if (job.has("anchor")) {
                job.error("anchor", "an anchor belongs to every, not to cron", "remove it");
            }
            return cron(job, zone, now);
        }
        if (job.has("dialect")) {
            job.error("dialect", "a dialect belongs to cron", "remove it");
        }
        for (String key : List.of("every", "cron")) {
            if (!job.has(key) && job.keys().contains(key)) {
                job.warning(key, key + " has no value", "every: 45m is taken where a job has no schedule");
            }
        }
        return every(job);
    }

    private static @Nullable Timing every(Section job) {
        Given<Instant> anchor = job.read("anchor", InstantText::parse);
        Given<Duration> written = job.read("every", Timing::interval);
        if ((job.has("every") && written == null) || (job.has("anchor") && anchor == null)) {
            return null;
        }
        Given<Duration> interval =
                written != null ? written : Given.builtIn(DEFAULT_INTERVAL, "where a job has no schedule");
        Given<Instant> start =
                anchor != null ? anchor : Given.builtIn(Instant.EPOCH, "slots are the same on every node");
        Given<Schedule> schedule = written == null
                ? new Given<>(new Every(interval.value(), start.value()), interval.origin())
                : job.read("every", text -> new Every(interval(text), start.value()));
        if (schedule == null) {
            return null;
        }
        return new Timing(
                schedule.value(),
                List.of(
                        new Definition.Value("every", DurationText.format(interval.value()), interval.origin()),
                        new Definition.Value("anchor", start.value().toString(), start.origin())),
                interval.value(),
                interval.value());
    }

    /** An interval is whole seconds: slots are. */
    static Duration interval(String written) {
        Duration interval = DurationText.parse(written, Duration.ofSeconds(1), DurationText.LONGEST);
        if (!DurationText.isWhole(interval, ChronoUnit.SECONDS)) {
            throw new BadValueException(Finding.quote(written) + " has a fraction of a second", "write whole seconds");
        }
        return interval;
    }

    private static @Nullable Timing cron(Section job, ZoneId zone, Instant now) {
        Given<Cron.Dialect> dialect = job.read("dialect", Timing::dialect);
        if (job.has("dialect") && dialect == null) {
            return null;
        }
        Given<Cron> cron = job.read(
                "cron",
                text -> dialect == null
                        ? Cron.parse(text.strip(), zone)
                        : Cron.parse(text.strip(), dialect.value(), zone));
        if (cron == null) {
            return null;
        }
        cron.value().warnings().forEach(warning -> job.warning("cron", warning, ""));
        List<Definition.Value> values = new ArrayList<>();
        Given<String> written = job.read("cron", String::strip);
        if (written != null) {
            values.add(new Definition.Value("cron", Finding.quotable(written.value()), written.origin()));
        }
        if (dialect != null) {
            values.add(
                    new Definition.Value("dialect", dialect.value().name().toLowerCase(Locale.ROOT), dialect.origin()));
        }
        Gaps gaps = cron.value().gaps(now, COMING_YEAR);
        return new Timing(
                cron.value(), values, gaps == null ? null : gaps.shortest(), gaps == null ? null : gaps.longest());
    }

    /** The lease's length where none is written: 1.8 × the shortest gap, rounded up to whole seconds, within 10 s and 24 h. */
    Given<Duration> defaultTtl() {
        if (shortestGap == null) {
            return Given.builtIn(MOST_DEFAULT_TTL, "no two slots in the coming year");
        }
        long seconds = BigDecimal.valueOf(shortestGap.toMillis(), 3)
                .multiply(TTL_PER_GAP)
                .setScale(0, RoundingMode.CEILING)
                .longValueExact();
        Duration ttl =
                Duration.ofSeconds(Math.clamp(seconds, LEAST_DEFAULT_TTL.toSeconds(), MOST_DEFAULT_TTL.toSeconds()));
        return Given.builtIn(
                ttl,
                "1.8 × the shortest gap of the coming year (" + DurationText.format(shortestGap)
                        + "), at least 10s, at most 1d");
    }

    /** How long the job may be without a success where nothing is written, or null where no gap is known. */
    @Nullable
    Given<Duration> defaultFreshAfter(@Nullable Duration timeout) {
        if (longestGap == null) {
            return null;
        }
        return Given.builtIn(
                longestGap.multipliedBy(2).plus(timeout == null ? Duration.ZERO : timeout),
                "2 × the longest gap of the coming year (" + DurationText.format(longestGap) + ")"
                        + (timeout == null ? "" : " + timeout"));
    }

    private static Cron.Dialect dialect(String written) {
        for (Cron.Dialect dialect : Cron.Dialect.values()) {
            if (dialect.name().toLowerCase(Locale.ROOT).equals(written.strip())) {
                return dialect;
            }
        }
        throw new BadValueException(
                Finding.quote(written) + " is no dialect",
                "write unix (5 fields) or quartz (6 or 7 fields), or remove the key");
    }
}
