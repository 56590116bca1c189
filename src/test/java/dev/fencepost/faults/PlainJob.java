package dev.fencepost.faults;

import dev.fencepost.run.Action;
import dev.fencepost.run.Job;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A job for processes that work with the store directly: a slot a minute, and nothing else that could matter. */
final class PlainJob {

    private static final Instant FIRST = Instant.parse("2026-01-01T00:00:00Z");
    private static final int MOST_ATTEMPTS = 1_000_000;

    private PlainJob() {}

    static Job of(String id, Duration ttl) {
        return new Job(
                id,
                new Every(Duration.ofMinutes(1)),
                ZoneOffset.UTC,
                new Action.Command(List.of("true"), null, Map.of(), null, null),
                Set.of(),
                ttl,
                null,
                Duration.ofSeconds(1),
                CatchUp.DEFAULT,
                null,
                MOST_ATTEMPTS,
                null,
                List.of());
    }

    /** @param number from 0 */
    static Slot slot(int number) {
        return Slot.at(FIRST.plusSeconds(60L * number));
    }
}
