package dev.fencepost.run;

import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Schedule;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A named piece of unattended work: when it is due, what it does, and within which limits. Every default is already filled in.
 *
 * @param id {@code [a-z0-9][a-z0-9._-]{0,62}}; also the name of its lease
 * @param zone in which people are shown its times; a cron schedule is read in it too
 * @param secrets values that are masked in captured output, results and effects
 * @param ttl length of the lease, counted anew at each renewal
 * @param timeout wall-clock limit of one attempt, or null for none
 * @param grace from SIGTERM to SIGKILL
 * @param startFrom slots from here on are due when the job is seen for the first time, or null for from now on
 * @param maxAttempts how often a slot is tried whose attempts end without a verdict of the command
 * @param freshAfter how long the job may be without a success before health says so, or null where no gap is known
 * @param publish what every successful run announces as effects
 * @param policies what happens at an overlap, after a failure, and when it is stopped for good
 * @param notifiers who is told of what becomes of it
 */
public record Job(
        String id,
        Schedule schedule,
        ZoneId zone,
        Action action,
        Set<String> secrets,
        Duration ttl,
        @Nullable Duration timeout,
        Duration grace,
        CatchUp catchUp,
        @Nullable Instant startFrom,
        int maxAttempts,
        @Nullable Duration freshAfter,
        List<Publication> publish,
        Policies policies,
        List<Notifier> notifiers) {

    public static final Pattern ID = Pattern.compile("[a-z0-9][a-z0-9._-]{0,62}");

    public Job {
        if (!ID.matcher(id).matches()) {
            throw new IllegalArgumentException("job id " + id + " does not match " + ID);
        }
        if (maxAttempts < 1) {
            throw new IllegalArgumentException("job " + id + ": max-attempts must be at least 1, not " + maxAttempts);
        }
        secrets = Set.copyOf(secrets);
        publish = List.copyOf(publish);
        notifiers = List.copyOf(notifiers);
    }

    /** With the policies that hold where nothing else is said, and nobody to be told. */
    public Job(
            String id,
            Schedule schedule,
            ZoneId zone,
            Action action,
            Set<String> secrets,
            Duration ttl,
            @Nullable Duration timeout,
            Duration grace,
            CatchUp catchUp,
            @Nullable Instant startFrom,
            int maxAttempts,
            @Nullable Duration freshAfter,
            List<Publication> publish) {
        this(
                id,
                schedule,
                zone,
                action,
                secrets,
                ttl,
                timeout,
                grace,
                catchUp,
                startFrom,
                maxAttempts,
                freshAfter,
                publish,
                Policies.DEFAULT,
                List.of());
    }

    /** How many counted attempts a tick may have, whatever they are for: a further try after a failure is one too. */
    public int mostAttempts() {
        return Math.max(maxAttempts, policies.retry().max() + 1);
    }

    /** The id alone: the other fields may hold secrets. */
    @Override
    public String toString() {
        return "job " + id;
    }
}
