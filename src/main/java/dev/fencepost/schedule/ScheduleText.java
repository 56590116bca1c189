package dev.fencepost.schedule;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A schedule read back from its {@link Schedule#text()}, as the store keeps it: for a command that has no jobs file at hand.
 *
 * @param zone of a cron schedule; UTC for an interval, which has none
 */
public record ScheduleText(Schedule schedule, ZoneId zone) {

    private static final Pattern EVERY = Pattern.compile("every (\\S+) anchor (\\S+)");
    private static final Pattern CRON = Pattern.compile("cron (unix|quartz) \"(.*)\" zone (\\S+)");

    /** Null where the text is of another version of this program, or its zone is not known here. */
    public static @Nullable ScheduleText parse(String text) {
        try {
            Matcher every = EVERY.matcher(text);
            if (every.matches()) {
                return new ScheduleText(
                        new Every(Duration.parse(every.group(1)), Instant.parse(every.group(2))), ZoneOffset.UTC);
            }
            Matcher cron = CRON.matcher(text);
            if (!cron.matches()) {
                return null;
            }
            Cron.Dialect dialect = cron.group(1).equals("unix") ? Cron.Dialect.UNIX : Cron.Dialect.QUARTZ;
            ZoneId zone = ZoneId.of(cron.group(3));
            return new ScheduleText(Cron.parse(cron.group(2), dialect, zone), zone);
        } catch (DateTimeException | ScheduleException e) {
            return null; // which is the answer: what cannot be read here is not guessed at
        }
    }
}
