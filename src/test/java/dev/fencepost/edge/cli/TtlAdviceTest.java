package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.run.Action;
import dev.fencepost.run.History.Longest;
import dev.fencepost.run.Job;
import dev.fencepost.run.TtlAdvice;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TtlAdviceTest {

    private static TtlAdvice advice(String ran, String ttl) {
        return TtlAdvice.of(new Longest(Duration.parse(ran), 412), Duration.parse(ttl));
    }

    @ParameterizedTest
    @CsvSource({
        "PT23M10S, PT81M, 'longest success so far 23m 10s (of 412): a ttl of 35m to 46m would do; it is 81m'",
        "PT10.4S, PT81M, 'longest success so far 10s (of 412): a ttl of 16s to 21s would do; it is 81m'",
        "PT0.25S, PT3S, 'longest success so far 250ms (of 412): a ttl of 3s to 6s would do; it is 3s'",
        "PT5H, PT81M, 'longest success so far 5h (of 412): a ttl of 7h 30m to 10h would do; it is 81m'",
        // The clock of the host was set back while it ran.
        "PT-4S, PT81M, 'longest success so far 0s (of 412): a ttl of 3s to 6s would do; it is 81m'"
    })
    void oneAndAHalfToTwoTimesTheLongestSuccess(String ran, String ttl, String text) {
        assertEquals(text, advice(ran, ttl).text());
    }

    @Test
    void aTtlIsShortBelowOneAndAHalfTimes() {
        assertFalse(advice("PT54M", "PT81M").isShort());
        assertTrue(advice("PT55M", "PT81M").isShort());
        assertFalse(advice("PT0.1S", "PT3S").isShort());
    }

    private static Job job(Duration ttl, @Nullable Duration timeout) {
        return new Job(
                "article",
                new Every(Duration.ofMinutes(45), Instant.EPOCH),
                ZoneOffset.UTC,
                new Action.Command(List.of("date"), null, Map.of(), null, null),
                Set.of(),
                ttl,
                timeout,
                Duration.ofSeconds(10),
                CatchUp.DEFAULT,
                null,
                2,
                null,
                List.of());
    }

    @Test
    void theDoctorSpeaksOfShortTtlsOnly() {
        Duration ttl = Duration.ofMinutes(81);
        assertNull(JobVerdicts.ttl(job(ttl, null), Optional.empty()));
        assertNull(JobVerdicts.ttl(job(ttl, null), Optional.of(new Longest(Duration.ofMinutes(54), 3))));
        Verdict close = Objects.requireNonNull(
                JobVerdicts.ttl(job(ttl, Duration.ofHours(2)), Optional.of(new Longest(Duration.ofMinutes(60), 3))));
        assertEquals(Verdict.State.NOTE, close.state());
        assertEquals("lease: { ttl: 2h }", close.mend());
        Verdict longer = Objects.requireNonNull(
                JobVerdicts.ttl(job(ttl, null), Optional.of(new Longest(Duration.ofMinutes(90), 3))));
        assertTrue(longer.text().contains("outlive the lease"), longer.text());
        assertTrue(longer.mend().contains("and a timeout"), longer.mend());
    }
}
