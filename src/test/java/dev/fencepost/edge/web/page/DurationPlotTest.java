package dev.fencepost.edge.web.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.web.page.DurationPlot.Mark;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Outcome;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class DurationPlotTest {

    private static final Instant START = Instant.parse("2026-04-01T00:00:00Z");

    private static Attempt attempt(int i, @Nullable Duration took, @Nullable Outcome outcome) {
        Instant started = START.plus(Duration.ofHours(i));
        return new Attempt(
                new RunId(new UUID(1, i)),
                "article",
                started.toString(),
                1,
                new FencingToken(i + 1),
                new Owner("somebody"),
                started,
                took == null ? null : started.plus(took),
                outcome,
                null,
                null,
                null);
    }

    /** Given oldest first. */
    private static DurationPlot plot(@Nullable Duration ttl, @Nullable Duration timeout, List<Attempt> attempts) {
        return DurationPlot.of(attempts.reversed(), ttl, timeout, START.plus(Duration.ofDays(30)), ZoneOffset.UTC);
    }

    private static void assertInside(DurationPlot plot) {
        for (Mark mark : plot.marks()) {
            assertTrue(mark.x() >= plot.left() && mark.x() <= plot.right(), mark.toString());
            assertTrue(mark.y() >= 0 && mark.y() <= DurationPlot.HEIGHT - DurationPlot.BOTTOM, mark.toString());
        }
        plot.limits()
                .forEach(line -> assertTrue(
                        line.y() >= 0 && line.y() <= DurationPlot.HEIGHT - DurationPlot.BOTTOM, line.toString()));
        assertFalse(plot.lines().isEmpty());
    }

    @Test
    void withoutAttemptsThereIsNothingToSee() {
        DurationPlot plot = plot(Duration.ofMinutes(81), null, List.of());
        assertTrue(plot.isEmpty());
        assertEquals("No attempt so far.", plot.summary());
        assertInside(plot);
    }

    @Test
    void oneStandsInTheMiddle() {
        DurationPlot plot = plot(null, null, List.of(attempt(0, Duration.ofSeconds(3), Outcome.SUCCEEDED)));
        assertInside(plot);
        assertEquals((plot.left() + plot.right()) / 2.0, plot.marks().getFirst().x(), 1);
        assertEquals(
                "/jobs/article/ticks/2026-04-01T00:00:00Z",
                plot.marks().getFirst().link());
        assertEquals("2026-04-01 00:00:00", plot.from());
        assertEquals("", plot.to());
        assertEquals("1 succeeded of the last attempt.", plot.summary());
    }

    @Test
    void twoHundredStandFromLeftToRightAndHigherTheLongerTheyTook() {
        List<Attempt> attempts = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            attempts.add(attempt(i, Duration.ofSeconds(300 + i), i % 20 == 0 ? Outcome.FAILED : Outcome.SUCCEEDED));
        }
        DurationPlot plot = plot(Duration.ofMinutes(10), Duration.ofMinutes(8), attempts);
        assertInside(plot);
        assertFalse(plot.log());
        assertEquals(200, plot.marks().size());
        for (int i = 1; i < 200; i++) {
            assertTrue(plot.marks().get(i - 1).x() < plot.marks().get(i).x());
            assertTrue(plot.marks().get(i - 1).y() >= plot.marks().get(i).y());
        }
        assertTrue(plot.limits().getFirst().y() < plot.limits().getLast().y(), "the ttl is the longer one");
        assertEquals("190 succeeded, 10 failed of the last 200 attempts.", plot.summary());
    }

    @Test
    void equalDurationsMakeALevelLine() {
        DurationPlot plot = plot(
                null,
                null,
                List.of(
                        attempt(0, Duration.ofSeconds(5), Outcome.SUCCEEDED),
                        attempt(1, Duration.ofSeconds(5), Outcome.SUCCEEDED)));
        assertInside(plot);
        assertEquals(plot.marks().getFirst().y(), plot.marks().getLast().y());
    }

    @Test
    void shortRunsUnderALongTtlAreOnALogarithmicScale() {
        DurationPlot plot = plot(
                Duration.ofMinutes(81),
                null,
                List.of(
                        attempt(0, Duration.ofMillis(20), Outcome.SUCCEEDED),
                        attempt(1, Duration.ofMillis(400), Outcome.SUCCEEDED),
                        attempt(2, Duration.ZERO, Outcome.FAILED)));
        assertTrue(plot.log());
        assertInside(plot);
        double apart = plot.marks().get(0).y() - plot.marks().get(1).y();
        assertTrue(apart > 20, "they are told apart: " + apart);
    }

    @Test
    void aClockThatWasSetBackPutsAMarkOnTheGround() {
        DurationPlot plot = plot(
                null,
                null,
                List.of(
                        attempt(0, Duration.ofSeconds(5), Outcome.SUCCEEDED),
                        attempt(1, Duration.ofSeconds(-40), Outcome.SUCCEEDED)));
        assertInside(plot);
        assertEquals(
                DurationPlot.HEIGHT - DurationPlot.BOTTOM,
                plot.marks().getLast().y());
        assertTrue(plot.marks().getLast().title().contains("the clock was set back"));
    }

    @Test
    void allAtZeroIsNoDivisionByIt() {
        assertInside(plot(null, null, List.of(attempt(0, Duration.ZERO, Outcome.FAILED))));
    }

    @Test
    void namesOfLimitsDoNotLieOnEachOther() {
        for (int seconds = 1; seconds <= 1_200; seconds += 7) {
            DurationPlot plot = plot(
                    Duration.ofSeconds(600),
                    Duration.ofSeconds(seconds),
                    List.of(attempt(0, Duration.ofSeconds(300), Outcome.SUCCEEDED)));
            double apart = Math.abs(
                    plot.limits().getFirst().textY() - plot.limits().getLast().textY());
            assertTrue(apart >= 13 - 1e-9, "timeout " + seconds + " s: " + apart);
        }
    }

    @Test
    void eachOutcomeHasAShapeOfItsOwn() {
        List<Attempt> attempts = List.of(
                attempt(0, Duration.ofSeconds(1), Outcome.SUCCEEDED),
                attempt(1, Duration.ofSeconds(1), Outcome.FAILED),
                attempt(2, Duration.ofSeconds(1), Outcome.TIMED_OUT),
                attempt(3, Duration.ofSeconds(1), Outcome.LEASE_LOST),
                attempt(4, Duration.ofSeconds(1), Outcome.ABANDONED),
                attempt(5, Duration.ofSeconds(1), Outcome.CANCELLED),
                attempt(6, null, null));
        DurationPlot plot = plot(null, null, attempts);
        assertEquals(
                7,
                plot.kinds().stream().map(DurationPlot.Kind::shape).distinct().count());
        assertTrue(plot.marks().getLast().title().endsWith("runs"));
    }
}
