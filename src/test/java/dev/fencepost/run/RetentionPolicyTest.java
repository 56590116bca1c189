package dev.fencepost.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.fencepost.run.Policies.Brakes;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class RetentionPolicyTest {

    private static final Duration LONG = Duration.ofDays(30);
    private static final RetentionPolicy SHORT = new RetentionPolicy(Duration.ofHours(1), 100, LONG, LONG, LONG);

    @Test
    void theRunsOfADayStayWhereTheyAreCounted() {
        assertEquals(
                new RetentionPolicy(Duration.ofHours(26), 100_000, LONG, LONG, LONG), SHORT.with(new Brakes(0, 5)));
    }

    @Test
    void whatIsKeptLongerIsNotCutShort() {
        RetentionPolicy much = new RetentionPolicy(LONG, 500_000, LONG, LONG, LONG);
        assertEquals(much, much.with(new Brakes(0, 5)));
    }

    @Test
    void otherJobsKeepWhatTheFileSays() {
        assertEquals(SHORT, SHORT.with(Brakes.NONE));
        assertEquals(SHORT, SHORT.with(new Brakes(3, null)));
    }
}
