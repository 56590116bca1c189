package dev.fencepost.edge.web.page;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.fencepost.run.History.Mark;
import dev.fencepost.run.Outcome;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class StripTest {

    private static Mark mark(Outcome outcome, long count) {
        return new Mark("2026-03-01T12:00:00Z", outcome, count);
    }

    @Test
    void aJobWithoutTicksHasNoBars() {
        assertEquals(new Strip(List.of(), "no ticks yet"), Strip.of(List.of()));
    }

    @Test
    void neighboursOfOneShapeAreOneLine() {
        Strip strip = Strip.of(Collections.nCopies(Strip.TICKS, mark(Outcome.SUCCEEDED, 1)));

        assertEquals(List.of(new Strip.Path("good", "M0 8h288")), strip.paths());
        assertEquals("of the last 96: 96 succeeded", strip.text());
    }

    @Test
    void theNewestStandsAtTheRightAndFailuresHaveAGap() {
        Strip strip =
                Strip.of(List.of(mark(Outcome.FAILED, 1), mark(Outcome.SUCCEEDED, 1), mark(Outcome.TIMED_OUT, 1)));

        assertEquals(
                List.of(
                        new Strip.Path("bad", "M285 3h3M285 13h3M279 3h3M279 13h3"),
                        new Strip.Path("good", "M282 8h3")),
                strip.paths());
    }

    @Test
    void skipsAreToldApartFromFailuresAndARangeIsOneBarOfManySlots() {
        Strip strip = Strip.of(List.of(
                new Mark("2026-03-01T12:00:00Z", null, 1),
                mark(Outcome.SKIPPED_OVERLAP, 1),
                mark(Outcome.DROPPED, 1_204),
                mark(Outcome.ABANDONED, 1),
                mark(Outcome.FAILED, 1),
                mark(Outcome.SUCCEEDED, 1)));

        assertEquals(
                "of the last 6: 1 succeeded; 1 failed, 1 abandoned; 1 skipped, 1 dropped (1204 slots); 1 open",
                strip.text());
        assertEquals(
                List.of("bad", "good", "live", "skip", "warn"),
                strip.paths().stream().map(Strip.Path::style).toList());
        assertEquals("M279 14h6", strip.paths().get(3).line());
    }
}
