package dev.fencepost.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Semantics 2.12: the holder stops before the store forgets it. */
class TermTest {

    /** max(2 s, 5 % of the ttl), but never more than a quarter of it. */
    @ParameterizedTest
    @CsvSource({
        "PT1S, 250",
        "PT3S, 750",
        "PT8S, 2000",
        "PT40S, 2000",
        "PT40.020S, 2001",
        "PT81M, 243000",
        "PT720H, 129600000"
    })
    void theMarginIsFivePercentWithinItsBounds(Duration ttl, long marginMillis) {
        Term term = Term.of(5_000, ttl);
        assertEquals(marginMillis, term.marginMillis());
        assertEquals(5_000 + ttl.toMillis(), term.endBootMillis());
        assertEquals(5_000 + ttl.toMillis() - marginMillis, term.deadlineBootMillis());
    }

    /** One renewal that fails leaves two more before the deadline, or at least one more where the margin is a quarter. */
    @ParameterizedTest
    @CsvSource({"PT3S, 1000", "PT10S, 3333", "PT81M, 1620000", "PT0.001S, 1"})
    void renewalsAreAThirdOfTheTtlApart(Duration ttl, long intervalMillis) {
        Term term = Term.of(0, ttl);
        assertEquals(intervalMillis, term.renewIntervalMillis());
        assertTrue(term.renewIntervalMillis() * 2 <= Math.max(2, term.deadlineBootMillis()), term.toString());
    }

    @Test
    void theGraceFitsIntoHalfOfTheMargin() {
        Term term = Term.of(0, Duration.ofSeconds(100)); // margin 5 s
        assertEquals(Duration.ofSeconds(1), term.grace(Duration.ofSeconds(1), 10_000));
        assertEquals(Duration.ofMillis(2_500), term.grace(Duration.ofSeconds(30), 10_000));
        assertEquals(Duration.ofMillis(2_500), term.grace(Duration.ofSeconds(30), term.deadlineBootMillis()));
    }

    @Test
    void theGraceShrinksTowardsTheEndAndIsNothingAfterIt() {
        Term term = Term.of(0, Duration.ofSeconds(100));
        Duration wanted = Duration.ofSeconds(30);
        assertEquals(Duration.ofMillis(500), term.grace(wanted, 99_000));
        assertEquals(Duration.ZERO, term.grace(wanted, 100_000));
        assertEquals(Duration.ZERO, term.grace(wanted, 1_000_000));
    }
}
