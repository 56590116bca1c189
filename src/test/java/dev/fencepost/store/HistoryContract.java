package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.effect.EffectView;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Completion;
import dev.fencepost.run.History;
import dev.fencepost.run.History.Entry;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.History.LastTick;
import dev.fencepost.run.History.Mark;
import dev.fencepost.run.History.Page;
import dev.fencepost.run.History.Place;
import dev.fencepost.run.History.Quarter;
import dev.fencepost.run.History.Range;
import dev.fencepost.run.History.WriteEvent;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the page reads. Ticks are planted, since what is asked for is how they are told. */
abstract class HistoryContract extends Contract {

    private static final Instant T = Instant.parse("2026-02-03T12:00:00Z");

    private static Instant at(long seconds) {
        return T.plusSeconds(seconds);
    }

    /** Rows of one insert, so that many are quick. */
    private final class Ticks {
        private final String job;
        private final List<String> rows = new ArrayList<>();

        Ticks(String job) {
            this.job = job;
        }

        /** @param outcome null for one that is open; else it ended at its slot */
        Ticks and(String key, Instant at, Outcome outcome) {
            return and(key, at, outcome, at, null, null);
        }

        Ticks range(Instant first, Instant last, Outcome outcome, long count) {
            return and(last.toString(), last, outcome, last, count, first);
        }

        Ticks and(String key, Instant at, Outcome outcome, Instant endedAt, Long count, Instant first) {
            rows.add("('" + job + "', '" + key + "', " + site().literal(at) + ", true, " + site().literal(at) + ", "
                    + (outcome == null ? "null, null" : "'" + outcome + "', " + site().literal(endedAt)) + ", "
                    + count + ", " + (first == null ? "null" : site().literal(first)) + ")");
            return this;
        }

        void plant() {
            site().sql("insert into tick (job, slot_key, slot_at, on_time, opened_at, outcome, ended_at, range_count,"
                    + " range_first) values " + String.join(", ", rows));
        }
    }

    private RunId plantAttempt(String job, String key, int number, Instant startedAt, Outcome outcome) {
        RunId run = newRun();
        site().sql("insert into attempt (run_id, job, slot_key, number, fence, owner, started_at, ended_at, outcome)"
                + " values ('" + run + "', '" + job + "', '" + key + "', " + number + ", " + number + ", 'anna', "
                + site().literal(startedAt) + ", "
                + (outcome == null ? "null, null" : site().literal(startedAt.plusSeconds(1)) + ", '" + outcome + "'")
                + ")");
        return run;
    }

    private void plantEvents(RunId run, String reason, int count) {
        String row = "(" + site().literal(T) + ", 'r', 'anna', 1, '" + run + "', true, '" + reason + "')";
        site().sql("insert into write_event (at, resource, owner, fence, run_id, accepted, reason) values "
                + String.join(", ", IntStream.range(0, count).mapToObj(i -> row).toList()));
    }

    private JobSummary summary(String job) {
        JobSummary among = store().jobs().stream()
                .filter(each -> each.id().equals(job))
                .findFirst()
                .orElseThrow();
        assertEquals(among, store().job(job), "alone as among all");
        return among;
    }

    private static List<String> keys(Page page) {
        return page.entries().stream().map(Entry::slotKey).distinct().toList();
    }

    /** The pages to the end, each of at most so many ticks. */
    private List<Page> pages(String job, int limit, Outcome... outcomes) {
        List<Page> pages = new ArrayList<>();
        Place before = null;
        do {
            Page page = store().page(job, before, List.of(outcomes), limit);
            pages.add(page);
            before = page.next();
            assertTrue(pages.size() < 100, "pages without an end");
        } while (before != null);
        return pages;
    }

    private static List<String> keys(List<Page> pages) {
        return pages.stream().flatMap(page -> keys(page).stream()).toList();
    }

    // ---- jobs

    @Test
    void aJobThatNeverRanHasNothingToTell() {
        JobSummary summary = summary(registeredJob().id());
        assertNull(summary.last());
        assertNull(summary.running());
        assertNull(summary.lastSuccessAt());
        assertEquals(0, summary.skippedInARow());
        assertNull(store().job("no-such-job"));
    }

    @Test
    void theLastTickIsTheNewestWithAnOutcome() {
        Job job = registeredJob();
        new Ticks(job.id())
                .and("b", at(0), Outcome.FAILED)
                .and("c", at(0), Outcome.CANCELLED, at(9), null, null)
                .and("a", at(0), Outcome.SUCCEEDED, at(20), null, null)
                .and("z", at(-60), Outcome.TIMED_OUT, at(30), null, null)
                .and("d", at(60), null)
                .plant();
        assertEquals(
                new LastTick("c", Outcome.CANCELLED, at(9)), summary(job.id()).last());
    }

    @Test
    void onlyOpenTicksAreNoLastTick() {
        Job job = registeredJob();
        new Ticks(job.id()).and("a", at(0), null).plant();
        assertNull(summary(job.id()).last());
        assertNull(summary(job.id()).lastSuccessAt());
    }

    @Test
    void theLastSuccessIsTheOneThatEndedLastWhateverCameAfterIt() {
        Job job = registeredJob();
        new Ticks(job.id())
                .and("a", at(0), Outcome.SUCCEEDED, at(500), null, null)
                .and("b", at(60), Outcome.SUCCEEDED, at(70), null, null)
                .and("c", at(120), Outcome.FAILED, at(600), null, null)
                .plant();
        assertEquals(at(500), summary(job.id()).lastSuccessAt());
    }

    @Test
    void skipsInARowAreThoseAfterTheSlotOfTheNewestSuccess() {
        Job job = registeredJob();
        Ticks ticks = new Ticks(job.id());
        ticks.and("a", at(0), Outcome.SKIPPED_OVERLAP)
                .and("b", at(60), Outcome.FAILED)
                .range(at(120), at(300), Outcome.SKIPPED_OVERLAP, 4)
                .range(at(360), at(420), Outcome.DROPPED, 2)
                .plant();
        assertEquals(5, summary(job.id()).skippedInARow(), "without a success: all");

        new Ticks(job.id())
                .and("c", at(90), Outcome.SUCCEEDED, at(5000), null, null)
                .plant();
        assertEquals(4, summary(job.id()).skippedInARow(), "by slots, not by when the run ended");

        new Ticks(job.id()).and("manual:x", at(300), Outcome.SUCCEEDED).plant();
        assertEquals(0, summary(job.id()).skippedInARow(), "the same instant is not after it");

        new Ticks(job.id()).and("d", at(301), Outcome.SKIPPED_OVERLAP).plant();
        assertEquals(1, summary(job.id()).skippedInARow());
    }

    @Test
    void jobsThatWereNeverRegisteredAreToldLastSinceTheirFirstTick() {
        String byHand = "0" + newName();
        new Ticks(byHand)
                .and("a", at(60), Outcome.SUCCEEDED)
                .and("b", at(0), Outcome.SKIPPED_OVERLAP)
                .and("c", at(30), Outcome.FAILED)
                .plant();
        String another = "zz" + newName();
        new Ticks(another).and("a", at(0), null).plant();
        Job job = registeredJob();

        List<String> ids = store().jobs().stream().map(JobSummary::id).toList();
        assertEquals(ids.size(), Set.copyOf(ids).size(), "each once");
        assertTrue(ids.indexOf(job.id()) < ids.indexOf(byHand), ids::toString);
        assertTrue(ids.indexOf(byHand) < ids.indexOf(another), ids::toString);
        JobSummary summary = summary(byHand);
        assertNull(summary.scheduleText());
        assertTrue(summary.retired());
        assertEquals(at(0), summary.registeredSince());
        assertEquals(new LastTick("a", Outcome.SUCCEEDED, at(60)), summary.last());
        assertEquals(at(60), summary.lastSuccessAt());
        assertEquals(0, summary.skippedInARow());
        assertNull(summary(another).last());
        assertEquals(
                ids.stream()
                        .filter(id -> id.equals(byHand) || id.equals(another))
                        .toList(),
                store().jobsWithTicks().stream()
                        .filter(id -> id.equals(byHand) || id.equals(another))
                        .toList());
    }

    @Test
    void whatHappenedIsCountedWithItsRanges() {
        String job = newName();
        new Ticks(job)
                .and("a", at(0), Outcome.SUCCEEDED)
                .and("b", at(1), Outcome.SUCCEEDED)
                .and("c", at(2), null)
                .range(at(3), at(9), Outcome.DROPPED, 7)
                .and("d", at(10), Outcome.DROPPED)
                .plant();
        assertEquals(
                Map.of(Outcome.SUCCEEDED, 2L, Outcome.DROPPED, 8L),
                store().counts().get(job));
    }

    // ---- newest

    @Test
    void theNewestTicksComeNewestFirstAndNoMoreThanAskedForAlthoughTheyShareAnInstant() {
        String job = newName();
        new Ticks(job)
                .and("2026-02-03T12:00:00Z", at(0), Outcome.SUCCEEDED)
                .and("manual:2026-02-03T12:00:00Z/a", at(0), Outcome.FAILED)
                .and("manual:2026-02-03T12:00:00Z/b", at(0), null)
                .range(at(-300), at(-60), Outcome.DROPPED, 5)
                .plant();
        Mark open = new Mark("manual:2026-02-03T12:00:00Z/b", null, 1);
        Mark failed = new Mark("manual:2026-02-03T12:00:00Z/a", Outcome.FAILED, 1);
        Mark succeeded = new Mark("2026-02-03T12:00:00Z", Outcome.SUCCEEDED, 1);
        Mark dropped = new Mark(at(-60).toString(), Outcome.DROPPED, 5);
        List<Mark> all = List.of(open, failed, succeeded, dropped);
        for (int ticks = 1; ticks <= 5; ticks++) {
            assertEquals(
                    Map.of(job, all.subList(0, Math.min(ticks, 4))),
                    store().newest(List.of(job), ticks),
                    "of " + ticks);
        }
    }

    @Test
    void theNewestTicksAreOfTheJobsAskedFor() {
        String one = newName();
        String two = newName();
        String without = registeredJob().id();
        new Ticks(one).and("a", at(0), Outcome.SUCCEEDED).plant();
        new Ticks(two).and("b", at(1), Outcome.SUCCEEDED).plant();
        new Ticks(newName()).and("c", at(2), Outcome.SUCCEEDED).plant();
        assertEquals(
                Map.of(
                        one, List.of(new Mark("a", Outcome.SUCCEEDED, 1)),
                        two, List.of(new Mark("b", Outcome.SUCCEEDED, 1))),
                store().newest(List.of(two, without, one, "no-such-job"), 96));
    }

    @Test
    void ofNoJobsThereIsNothing() {
        new Ticks(newName()).and("a", at(0), Outcome.SUCCEEDED).plant();
        assertEquals(Map.of(), store().newest(List.of(), 96));
    }

    @Test
    void lessThanOneTickIsAnErrorOfTheCaller() {
        assertThrows(IllegalArgumentException.class, () -> store().newest(List.of("a"), 0));
        assertThrows(IllegalArgumentException.class, () -> store().page("a", null, List.of(), 0));
    }

    // ---- pages

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 6, 11, 12, 13})
    void pagesLoseNothingAndRepeatNothing(int limit) {
        String job = newName();
        Ticks ticks = new Ticks(job);
        for (String key : List.of("a", "a/", "a.", "a0", "A", "b", "manual:x/1", "manual:x/10", "manual:x-1")) {
            ticks.and(key, at(0), Outcome.SUCCEEDED); // the same instant over more than a page
        }
        ticks.and("old", at(-1), Outcome.FAILED).and("new", at(1), null);
        ticks.range(at(2), at(9), Outcome.DROPPED, 8).plant();

        List<Page> pages = pages(job, limit);

        List<String> keys = keys(pages);
        assertEquals(12, keys.size(), keys::toString);
        assertEquals(12, new HashSet<>(keys).size(), keys::toString);
        assertEquals(List.of(at(9).toString(), "new"), keys.subList(0, 2));
        assertEquals("old", keys.getLast());
        assertEquals((12 + limit - 1) / limit, pages.size(), "and no empty one at the end");
        pages.forEach(page -> assertTrue(keys(page).size() <= limit));
        assertEquals(keys, keys(store().page(job, null, List.of(), 100)));
    }

    @Test
    void aPageBeginsBeforeItsPlaceAlsoWhereNoTickLiesAtIt() {
        String job = newName();
        new Ticks(job)
                .and("a", at(0), Outcome.SUCCEEDED)
                .and("b", at(0), Outcome.SUCCEEDED)
                .and("c", at(60), Outcome.SUCCEEDED)
                .plant();
        assertEquals(List.of("b", "a"), keys(store().page(job, new Place(at(60), "c"), List.of(), 9)));
        assertEquals(List.of("b", "a"), keys(store().page(job, new Place(at(60), ""), List.of(), 9)));
        assertEquals(List.of("b", "a"), keys(store().page(job, new Place(at(30), "x"), List.of(), 9)));
        assertEquals(List.of("a"), keys(store().page(job, new Place(at(0), "b"), List.of(), 9)));
        assertEquals(List.of(), keys(store().page(job, new Place(at(0), "a"), List.of(), 9)));
        assertEquals(new Page(List.of(), null), store().page(job, new Place(at(-1), "a"), List.of(), 9));
        assertEquals(new Page(List.of(), null), store().page("no-such-job", null, List.of(), 9));
    }

    @Test
    void aTickOnAPageComesWhole() {
        String job = newName();
        new Ticks(job)
                .and("a", at(0), Outcome.FAILED, at(90), null, null)
                .and("b", at(60), null)
                .range(at(120), at(240), Outcome.SKIPPED_OVERLAP, 3)
                .plant();
        plantAttempt(job, "a", 1, at(0), Outcome.ABANDONED);
        plantAttempt(job, "a", 2, at(30), Outcome.FAILED);
        RunId running = plantAttempt(job, "b", 1, at(60), null);

        List<Entry> entries = store().page(job, null, List.of(), 9).entries();

        assertEquals(
                List.of(at(240).toString(), "b", "a", "a"),
                entries.stream().map(Entry::slotKey).toList());
        assertEquals(new Range(3, at(120), at(240)), entries.getFirst().range());
        assertNull(entries.getFirst().attempt());
        assertNull(entries.get(1).tickOutcome());
        assertEquals(running, entries.get(1).attempt().runId());
        assertEquals(at(90), entries.get(2).tickEndedAt());
        assertEquals(
                List.of(2, 1),
                entries.subList(2, 4).stream()
                        .map(entry -> entry.attempt().number())
                        .toList());
        assertEquals(entries, store().history(job, 9));
    }

    @Test
    void aTickWithVeryManyAttemptsComesWithTheNewestTwenty() {
        String job = newName();
        new Ticks(job)
                .and("a", at(0), Outcome.FAILED)
                .and("b", at(1), Outcome.FAILED)
                .and("c", at(2), Outcome.FAILED)
                .plant();
        for (int number = 1; number <= 21; number++) {
            if (number <= 20) {
                plantAttempt(job, "a", number, at(number), Outcome.FAILED);
            }
            plantAttempt(job, "b", number, at(number), Outcome.FAILED);
        }
        List<Entry> entries = store().page(job, null, List.of(), 2).entries();
        assertEquals(21, entries.size(), "one for the tick without attempts");
        assertEquals(
                IntStream.iterate(21, i -> i >= 2, i -> i - 1).boxed().toList(),
                entries.stream().skip(1).map(entry -> entry.attempt().number()).toList());
        assertEquals(
                20,
                store().page(job, new Place(at(1), "b"), List.of(), 2).entries().size());
    }

    @Test
    void aPageHasTheOutcomesAskedForAndNoOther() {
        String job = newName();
        Ticks ticks = new Ticks(job);
        for (Outcome outcome : Outcome.values()) {
            ticks.and("1" + outcome, at(outcome.ordinal()), outcome)
                    .and("2" + outcome, at(100 + outcome.ordinal()), outcome);
        }
        ticks.and("open", at(200), null).plant();
        for (Outcome outcome : Outcome.values()) {
            assertEquals(List.of("2" + outcome, "1" + outcome), keys(pages(job, 1, outcome)));
        }
        assertEquals(
                List.of("2TIMED_OUT", "2FAILED", "1TIMED_OUT", "1FAILED"),
                keys(pages(job, 3, Outcome.FAILED, Outcome.TIMED_OUT)));
        assertEquals(
                2 * Outcome.values().length,
                keys(pages(job, 50, Outcome.values())).size(),
                "but no open one");
    }

    @Test
    void whereHitsLieFarApartEmptyPagesLeadOn() {
        String job = newName();
        Ticks ticks = new Ticks(job);
        int between = History.MOST_LOOKED_AT;
        ticks.and("old", at(-2L * between), Outcome.FAILED).and("new", at(1), Outcome.FAILED);
        for (int i = 0; i < between; i++) {
            ticks.and("k" + i, at(-i), Outcome.SUCCEEDED);
        }
        ticks.plant();

        Page first = store().page(job, null, List.of(Outcome.FAILED), 50);
        assertEquals(List.of("new"), keys(first));
        Page second = store().page(job, assertNotNull(first.next()), List.of(Outcome.FAILED), 50);
        assertEquals(List.of("old"), keys(second));
        assertNull(second.next());

        Page none = store().page(job, new Place(at(1), "new"), List.of(Outcome.FAILED), 50);
        assertEquals(List.of(), none.entries(), "exactly so many ticks are looked at");
        assertEquals(new Place(at(-(between - 1)), "k" + (between - 1)), none.next());
        assertEquals(List.of("new", "old"), keys(pages(job, 1, Outcome.FAILED)));
    }

    // ---- quarters

    @Test
    void aQuarterBeginsAtItsFirstInstantAndEndsBeforeTheNext() {
        String job = newName();
        new Ticks(job)
                .and("a", at(-1), Outcome.SUCCEEDED)
                .and("b", at(0), Outcome.SUCCEEDED)
                .and("c", at(899), Outcome.SUCCEEDED)
                .and("d", at(899), Outcome.FAILED)
                .and("e", at(900), Outcome.SUCCEEDED)
                .and("f", at(901), null)
                .range(at(800), at(1800), Outcome.DROPPED, 12)
                .and("g", at(1801), Outcome.DROPPED)
                .plant();
        List<Quarter> from = List.of(
                new Quarter(at(0), Outcome.SUCCEEDED, 2),
                new Quarter(at(0), Outcome.FAILED, 1),
                new Quarter(at(900), Outcome.SUCCEEDED, 1),
                new Quarter(at(1800), Outcome.DROPPED, 13));
        assertEquals(from, store().quarters(job, at(0)), "from this instant on");
        assertEquals(
                Stream.concat(Stream.of(new Quarter(at(-900), Outcome.SUCCEEDED, 1)), from.stream())
                        .toList(),
                store().quarters(job, at(-1)));
        assertEquals(
                new Quarter(at(0), Outcome.SUCCEEDED, 1),
                store().quarters(job, at(1)).getFirst(),
                "a quarter of which a part is asked for");
        assertEquals(List.of(), store().quarters(job, at(1802)));
        assertEquals(List.of(), store().quarters("no-such-job", at(0)));
    }

    @Test
    void beforeTheFirstQuarterOfAllNothingFails() {
        String job = newName();
        new Ticks(job)
                .and("a", Instant.parse("1969-12-31T23:59:59Z"), Outcome.SUCCEEDED)
                .and("b", Instant.EPOCH, Outcome.SUCCEEDED)
                .plant();
        long ticks = store().quarters(job, Instant.parse("1901-01-01T00:00:00Z")).stream()
                .mapToLong(Quarter::ticks)
                .sum();
        assertEquals(2, ticks);
        assertEquals(List.of(new Quarter(Instant.EPOCH, Outcome.SUCCEEDED, 1)), store().quarters(job, Instant.EPOCH));
    }

    // ---- attempts, events, results

    @Test
    void attemptsComeByTheirStartWithThoseUnderWay() {
        String job = newName();
        RunId first = plantAttempt(job, "b", 1, at(0), Outcome.SUCCEEDED);
        RunId running = plantAttempt(job, "a", 2, at(20), null);
        RunId second = plantAttempt(job, "a", 1, at(10), Outcome.FAILED);
        plantAttempt(newName(), "a", 1, at(30), Outcome.FAILED);
        assertEquals(
                List.of(running, second, first),
                store().attempts(job, 9).stream().map(Attempt::runId).toList());
        assertEquals(
                List.of(running, second),
                store().attempts(job, 2).stream().map(Attempt::runId).toList());
        assertEquals(List.of(), store().attempts("no-such-job", 9));
    }

    @Test
    void eventsAreThoseOfTheRunsAskedForOldestFirst() {
        RunId one = newRun();
        RunId two = newRun();
        plantEvents(one, "1", 1);
        plantEvents(newRun(), "not this", 1);
        plantEvents(two, "2", 1);
        plantEvents(one, "3", 1);
        site().sql("insert into write_event (at, resource, owner, fence, run_id, accepted, reason) values ("
                + site().literal(T) + ", 'r', 'anna', 1, null, false, 'of no run')");
        assertEquals(
                List.of("1", "2", "3"),
                store().eventsOfRuns(List.of(two, one)).stream()
                        .map(WriteEvent::reason)
                        .toList());
        assertEquals(1, store().eventsOfRuns(List.of(two, two, newRun())).size());
        assertEquals(List.of(), store().eventsOfRuns(List.of()));
    }

    @Test
    void moreThanAThousandEventsAreCutAtTheEnd() {
        RunId run = newRun();
        plantEvents(run, "early", 999);
        plantEvents(run, "the last", 1);
        plantEvents(run, "late", 1);
        List<WriteEvent> events = store().eventsOfRuns(List.of(run));
        assertEquals(1_000, events.size());
        assertEquals("the last", events.getLast().reason());
    }

    @Test
    void refusedWritesAreAmongTheEventsOfTheirRun() {
        Job job = registeredJob();
        Lease lease = running(job, slot(0), ANNA);
        stored(lease, success());
        refused(lease, success());
        assertEquals(
                List.of(true, false),
                store().eventsOfRuns(List.of(lease.runId())).stream()
                        .map(WriteEvent::accepted)
                        .toList());
    }

    private Lease completedWith(Job job, int slot, byte[] result) {
        Lease lease = running(job, slot(slot), ANNA);
        stored(lease, new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, result, null));
        return lease;
    }

    @Test
    void aResultIsItsBytes() {
        Job job = registeredJob();
        Lease without = completedWith(job, 0, null);
        Lease empty = completedWith(job, 1, new byte[0]);
        Lease some = completedWith(job, 2, new byte[] {0, -1, 10});
        assertNull(store().result(job.id(), without.runId()));
        assertArrayEquals(new byte[0], store().result(job.id(), empty.runId()));
        assertArrayEquals(new byte[] {0, -1, 10}, store().result(job.id(), some.runId()));
        assertNull(store().result(job.id(), newRun()));
        assertNull(store().result("another", some.runId()), "of another job");
        assertNull(store().result(job.id(), running(job, slot(3), ANNA).runId()), "of a run under way");
    }

    // ---- effects of a slot

    private void plantEffect(String job, String slotKey, String name) {
        String now = site().literal(T);
        site().sql(
                        "insert into effect (key, job, slot_key, name, sink, resource, pair, fence, run_id, digest, announced_at,"
                                + " expires_at, max_age_ms, state, changed_at, written_at, size) values ('" + job + "@"
                                + slotKey + "/"
                                + name + "', '" + job + "', '" + slotKey + "', '" + name + "', 's', '" + job
                                + "', 'effect:s/" + job
                                + "', 1, '" + newRun() + "', 'd', " + now + ", " + now + ", 1000, 'PENDING', " + now
                                + ", " + now + ", 1)");
    }

    @Test
    void effectsOfASlotAreItsOwnWhateverTheirKeysLookLike() {
        String job = newName();
        List<String> slots = List.of(
                "manual:2026-02-03T12:00:00Z/a",
                "manual:2026-02-03T12:00:00Z/a0",
                "manual:2026-02-03T12:00:00Z/a.b",
                "manual:2026-02-03T12:00:00Z/a-",
                "manual:2026-02-03T12:00:00Z/A",
                "manual:2026-02-03T12:00:00Z/a/b",
                "2026-02-03T12:00:00Z");
        for (String slot : slots) {
            for (String name : List.of("z", "a-b", "a.b", "0", "Z")) {
                plantEffect(job, slot, name);
                plantEffect(job + "x", slot, name);
            }
        }
        for (String slot : slots) {
            List<EffectView> effects = store().effectsOf(job, slot);
            assertEquals(
                    List.of("z", "a-b", "a.b", "0", "Z"),
                    effects.stream().map(EffectView::name).toList(),
                    slot);
            effects.forEach(effect -> assertEquals(job + "/" + slot, effect.job() + "/" + effect.slotKey()));
        }
        assertEquals(List.of(), store().effectsOf(job, "manual:2026-02-03T12:00:00Z/"));
        assertEquals(List.of(), store().effectsOf("no-such-job", slots.getFirst()));
    }
}
