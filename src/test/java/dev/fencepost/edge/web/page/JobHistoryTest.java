package dev.fencepost.edge.web.page;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.web.Problem;
import dev.fencepost.edge.web.page.JobHistory.Reason;
import dev.fencepost.edge.web.page.JobHistory.Rows;
import dev.fencepost.edge.web.page.JobHistory.Tick;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History.Entry;
import dev.fencepost.run.History.Page;
import dev.fencepost.run.History.Place;
import dev.fencepost.run.History.Range;
import dev.fencepost.run.Outcome;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JobHistoryTest {

    private static final String KEY = "2026-03-29T01:00:00Z";

    @ParameterizedTest
    @CsvSource({
        "2026-03-29T01:00:00Z, 2026-03-29T01:00:00Z",
        "manual:2026-03-29T01:00:07Z/1f2e, 2026-03-29T01:00:07Z",
        "range:2026-03-28T01:00:00Z/2026-03-29T01:00:00Z, 2026-03-29T01:00:00Z"
    })
    void aPlaceIsReadBackAsItWasWritten(String key, Instant at) {
        Place place = new Place(at, key);
        assertEquals(place, Before.parse(Before.text(place)));
    }

    @Test
    void anInstantAloneIsAPlaceToo() {
        assertEquals(KEY, Before.text(new Place(Instant.parse(KEY), "")));
        assertNull(Before.parse(null));
        assertNull(Before.parse(""));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "x",
                "2026-03-29",
                "2026-03-29T01:00:00.5Z",
                "range:",
                "range:a/b",
                "manual:x/y",
                "' or 1=1",
                "+1000000000-12-31T23:59:59.999999999Z",
                "+999999999-12-31T23:59:59Z",
                "-999999999-01-01T00:00:00Z",
                "manual:+999999999-12-31T23:59:59Z/1f2e",
                "\u001b[31m"
            })
    void anythingElseIsRefusedWithWhatToWrite(String text) {
        Problem problem = assertThrows(Problem.class, () -> Before.parse(text));
        assertEquals(400, problem.status());
        assertTrue(problem.detail().contains("such as before=2026-03-29T01:00:00Z"), problem.detail());
        assertFalse(problem.detail().contains("\u001b"));
    }

    @Test
    void outcomesAreAskedForByTheirNames() {
        assertEquals(
                EnumSet.of(Outcome.FAILED, Outcome.TIMED_OUT), JobHistory.outcomes(List.of("failed", "timed-out")));
        assertEquals(EnumSet.noneOf(Outcome.class), JobHistory.outcomes(null));
        Problem problem = assertThrows(Problem.class, () -> JobHistory.outcomes(List.of("FAILED!")));
        assertEquals(400, problem.status());
        assertTrue(problem.detail().contains("skipped_overlap"), problem.detail());
    }

    private static Attempt attempt(int number, Outcome outcome, @Nullable String reason) {
        Instant started = Instant.parse(KEY).plusSeconds(number);
        return new Attempt(
                new RunId(new UUID(1, number)),
                "article",
                KEY,
                number,
                new FencingToken(number),
                new Owner("somebody"),
                started,
                started.plusSeconds(5),
                outcome,
                1,
                null,
                reason);
    }

    private static Entry entry(@Nullable Attempt attempt, @Nullable Outcome outcome, @Nullable String reason) {
        return new Entry(KEY, outcome, Instant.parse(KEY), reason, attempt, null);
    }

    @Test
    void theAttemptsOfATickStandTogetherAndItsReasonOnce() {
        Rows rows = JobHistory.of(
                "article",
                new Page(
                        List.of(
                                entry(attempt(2, Outcome.FAILED, "exit 1"), Outcome.FAILED, "exit 1"),
                                entry(attempt(1, Outcome.ABANDONED, null), Outcome.FAILED, "exit 1")),
                        new Place(Instant.parse(KEY), KEY)),
                null,
                EnumSet.of(Outcome.FAILED),
                ZoneOffset.UTC);
        assertEquals(1, rows.ticks().size());
        Tick tick = rows.ticks().getFirst();
        assertEquals(2, tick.tries().size());
        assertEquals(3, tick.rows());
        assertFalse(tick.reason().isThere());
        assertEquals("/jobs/article?outcome=failed&before=2026-03-29T01:00:00Z#history", rows.older());
        assertEquals("", rows.newest());
    }

    @Test
    void aRangeHasItsNumberAndNoPage() {
        Entry range = new Entry(
                "range:2026-03-28T01:00:00Z/" + KEY,
                Outcome.DROPPED,
                Instant.parse(KEY),
                "beyond catch-up.max",
                null,
                new Range(1500, Instant.parse("2026-03-28T01:00:00Z"), Instant.parse(KEY)));
        Rows rows = JobHistory.of(
                "article",
                new Page(List.of(range), null),
                new Place(Instant.parse(KEY), "z"),
                List.of(),
                ZoneOffset.UTC);
        Tick tick = rows.ticks().getFirst();
        assertEquals("\u00d7 1,500", tick.count());
        assertEquals("", tick.link());
        assertEquals("beyond catch-up.max", tick.reason().shown());
        assertEquals("/jobs/article#history", rows.newest());
        assertEquals("", rows.older());
    }

    @Test
    void aSearchThatFoundNothingYetSaysHowFarItLooked() {
        Rows rows = JobHistory.of(
                "article",
                new Page(List.of(), new Place(Instant.parse(KEY), KEY)),
                null,
                EnumSet.of(Outcome.TIMED_OUT),
                ZoneOffset.UTC);
        assertTrue(rows.nothing().contains("10,000"), rows.nothing());
        assertFalse(rows.older().isEmpty());
    }

    @Test
    void whatIsHostileIsShownAndWhatIsLongIsShortened() {
        assertEquals("a\\u202eb\\x1b[0m", Reason.of("a\u202eb\u001b[0m").shown());
        Reason lines = Reason.of("one\ntwo\u202e");
        assertTrue(lines.isLong());
        assertEquals("one \u2026", lines.shown());
        assertEquals("one\ntwo\\u202e", lines.rest());
        Reason emoji = Reason.of("x" + "\ud83d\ude00".repeat(500));
        assertFalse(Character.isHighSurrogate(emoji.shown().charAt(emoji.shown().length() - 2)));
        assertEquals(Reason.NONE, Reason.of("  "));
        assertEquals(Reason.NONE, Objects.requireNonNull(Reason.of(null)));
    }
}
