package dev.fencepost.run;

import dev.fencepost.host.Written;
import dev.fencepost.run.History.Longest;
import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * Which ttl would fit a job, from what its runs have taken: one and a half to two times the longest success. A shorter one works too, as
 * long as renewals come through; a longer one only makes a crash on another host cost more time.
 *
 * @param least one and a half times the longest success
 * @param most two times
 */
public record TtlAdvice(Longest longest, Duration least, Duration most, Duration ttl) {

    private static final Duration LEAST_TTL = Duration.ofSeconds(3);
    private static final Duration FINE = Duration.ofMinutes(2);

    public static TtlAdvice of(Longest longest, Duration ttl) {
        // A clock that was set back may have made it negative.
        Duration ran = longest.ran().isNegative() ? Duration.ZERO : longest.ran();
        Duration least = rounded(ran.multipliedBy(3).dividedBy(2));
        Duration most = rounded(ran.multipliedBy(2));
        return new TtlAdvice(
                new Longest(ran, longest.successes()),
                least.compareTo(LEAST_TTL) < 0 ? LEAST_TTL : least,
                most.compareTo(LEAST_TTL.multipliedBy(2)) < 0 ? LEAST_TTL.multipliedBy(2) : most,
                ttl);
    }

    /** To the nearest minute; up to the next second where a minute would be coarse. */
    private static Duration rounded(Duration duration) {
        return duration.compareTo(FINE) < 0
                ? duration.plusMillis(999).truncatedTo(ChronoUnit.SECONDS)
                : duration.plusSeconds(30).truncatedTo(ChronoUnit.MINUTES);
    }

    public boolean isShort() {
        return ttl.compareTo(least) < 0;
    }

    private static String shown(Duration duration) {
        Duration whole = duration.compareTo(Duration.ofSeconds(1)) < 0
                ? duration.truncatedTo(ChronoUnit.MILLIS)
                : duration.truncatedTo(ChronoUnit.SECONDS);
        return Written.duration(whole);
    }

    /** A ttl as people write it: 81 minutes, not one hour and 21. */
    private static String minutes(Duration duration) {
        boolean plain = duration.compareTo(Duration.ofHours(3)) < 0
                && duration.compareTo(Duration.ofMinutes(1)) >= 0
                && duration.truncatedTo(ChronoUnit.MINUTES).equals(duration);
        return plain ? duration.toMinutes() + "m" : Written.duration(duration);
    }

    /** {@code longest success so far 23m 10s (of 412): a ttl of 35m to 46m would do; it is 81m}. */
    public String text() {
        return "longest success so far " + shown(longest.ran()) + " (of " + longest.successes() + "): a ttl of "
                + minutes(least) + " to " + minutes(most) + " would do; it is " + minutes(ttl);
    }
}
