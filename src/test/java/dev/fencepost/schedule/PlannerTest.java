package dev.fencepost.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.schedule.Backlog.Held;
import dev.fencepost.schedule.Backlog.OpenTick;
import dev.fencepost.schedule.Plan.NewTick;
import dev.fencepost.schedule.Plan.SlotRange;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What becomes of due slots (semantics 3.4 to 3.8), with the cases from the field that carry their number. */
class PlannerTest {

    private static final Schedule EACH_MINUTE = new Every(Duration.ofMinutes(1));
    private static final Instant ALWAYS = Instant.EPOCH;
    private static final CatchUp NONE = new CatchUp(0, null);

    private static Instant at(String text) {
        return Instant.parse(text);
    }

    private static Schedule cron(String expression, String zone) {
        return Cron.parse(expression, ZoneId.of(zone));
    }

    private static CatchUp max(int max) {
        return new CatchUp(max, null);
    }

    private static Backlog idle(String cursor, String now, OpenTick... open) {
        return new Backlog(at(now), at(cursor), List.of(open), null);
    }

    private static Backlog held(String cursor, String now, String grantedAt, OpenTick... open) {
        return new Backlog(at(now), at(cursor), List.of(open), new Held(at(grantedAt), 7));
    }

    private static OpenTick open(String slot, boolean onTime, int attempts, int spent) {
        return new OpenTick(Slot.at(at(slot)), onTime, attempts, spent, false);
    }

    private static Plan plan(Schedule schedule, CatchUp catchUp, Instant planningSince, Backlog backlog) {
        return plan(schedule, catchUp, Overlap.SKIP, null, planningSince, backlog);
    }

    private static Plan plan(
            Schedule schedule,
            CatchUp catchUp,
            Overlap overlap,
            @Nullable String brake,
            Instant planningSince,
            Backlog backlog) {
        return Planner.plan(new Planner.Rules(schedule, catchUp, overlap, 2, brake), planningSince, backlog);
    }

    /** The runner has just been started. */
    private static Plan afterDowntime(Schedule schedule, CatchUp catchUp, Backlog backlog) {
        return plan(schedule, catchUp, backlog.now(), backlog);
    }

    private static List<Instant> instants(String... texts) {
        return List.of(texts).stream().map(Instant::parse).toList();
    }

    private static List<Instant> due(Plan plan) {
        return plan.due().stream().map(Slot::at).toList();
    }

    private static List<Instant> skipped(Plan plan) {
        return plan.skipped().stream().map(Slot::at).toList();
    }

    private static List<String> closed(Plan plan) {
        return plan.closed().stream().map(tick -> tick.slot().key()).toList();
    }

    private static SlotRange range(long count, String first, String last) {
        return new SlotRange(count, at(first), at(last));
    }

    @Nested
    class CatchingUp {

        /** CAT-01 */
        @Test
        void monthsOfMissedSlotsAreOneRangeAndTheNewestRunOldestFirst() {
            Schedule schedule = cron("*/5 * * * *", "UTC");
            Plan plan = afterDowntime(schedule, max(3), idle("2026-02-01T00:00:00Z", "2026-03-01T00:02:00Z"));
            assertEquals(instants("2026-02-28T23:50:00Z", "2026-02-28T23:55:00Z", "2026-03-01T00:00:00Z"), due(plan));
            assertEquals(range(8061, "2026-02-01T00:05:00Z", "2026-02-28T23:45:00Z"), plan.dropped());
            assertEquals(3, plan.caughtUp());
            assertTrue(plan.opened().stream().noneMatch(NewTick::onTime));
            assertEquals(at("2026-03-01T00:00:00Z"), plan.cursor());

            Plan next = plan(
                    schedule,
                    max(3),
                    at("2026-03-01T00:02:00Z"),
                    idle("2026-03-01T00:00:00Z", "2026-03-01T00:05:00.010Z"));
            assertEquals(instants("2026-03-01T00:05:00Z"), due(next));
            assertTrue(next.opened().getFirst().onTime());
            assertNull(next.dropped());
        }

        /** CAT-04 */
        @Test
        void zeroMeansNone() {
            Schedule schedule = new Every(Duration.ofSeconds(15));
            Plan plan = afterDowntime(schedule, NONE, idle("2026-02-01T00:00:00Z", "2026-02-01T00:01:01Z"));
            assertEquals(List.of(), plan.due());
            assertEquals(List.of(), plan.opened());
            assertEquals(range(4, "2026-02-01T00:00:15Z", "2026-02-01T00:01:00Z"), plan.dropped());
            Plan next = plan(
                    schedule, NONE, at("2026-02-01T00:01:01Z"), idle("2026-02-01T00:01:00Z", "2026-02-01T00:01:15Z"));
            assertEquals(instants("2026-02-01T00:01:15Z"), due(next));
        }

        /** CAT-06 */
        @Test
        void theVeryFirstSlotCanBeMissed() {
            Plan plan = afterDowntime(
                    cron("0 8 1 1 *", "UTC"), CatchUp.DEFAULT, idle("2026-01-01T07:50:00Z", "2026-01-01T08:05:00Z"));
            assertEquals(instants("2026-01-01T08:00:00Z"), due(plan));
            assertEquals(1, plan.caughtUp());
        }

        /** CAT-07 */
        @Test
        void aNewJobInventsNoPast() {
            Schedule schedule = cron("0 * * * *", "UTC");
            Plan plan = afterDowntime(schedule, max(5), idle("2026-06-01T12:30:00Z", "2026-06-01T12:30:00Z"));
            assertEquals(List.of(), plan.due());
            assertFalse(plan.changes(at("2026-06-01T12:30:00Z")));
            assertEquals(
                    instants("2026-06-01T13:00:00Z"),
                    due(plan(
                            schedule,
                            max(5),
                            at("2026-06-01T12:30:00Z"),
                            idle("2026-06-01T12:30:00Z", "2026-06-01T13:00:00Z"))));
        }

        /** CAT-09: being due is a state, not a moment. */
        @Test
        void aSlotThatCouldNotStartAtItsMinuteStaysDue() {
            Plan plan = plan(
                    cron("0 9 * * *", "UTC"),
                    NONE,
                    ALWAYS,
                    idle("2026-06-01T09:00:00Z", "2026-06-01T09:03:00Z", open("2026-06-01T09:00:00Z", true, 0, 0)));
            assertEquals(instants("2026-06-01T09:00:00Z"), due(plan));
            assertFalse(plan.changes(at("2026-06-01T09:00:00Z")));
        }

        /** CAT-11 */
        @Test
        void downtimeOverTheSpringChangeMissesTwoSlots() {
            Plan plan = afterDowntime(
                    cron("30 2 * * *", "Europe/Berlin"), max(5), idle("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z"));
            assertEquals(instants("2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"), due(plan));
            assertNull(plan.dropped());
        }

        /** CAT-12 */
        @Test
        void bothPassesOfTheRepeatedHourCount() {
            Plan plan = afterDowntime(
                    cron("*/30 * * * *", "America/New_York"),
                    max(2),
                    idle("2026-11-01T04:50:00Z", "2026-11-01T08:10:00Z"));
            assertEquals(instants("2026-11-01T07:30:00Z", "2026-11-01T08:00:00Z"), due(plan));
            assertEquals(range(5, "2026-11-01T05:00:00Z", "2026-11-01T07:00:00Z"), plan.dropped());
        }

        @Test
        void tenYearsOfMissedMinutesAreOneRow() {
            for (Schedule schedule : List.of(EACH_MINUTE, cron("* * * * *", "Europe/Berlin"))) {
                Plan plan =
                        afterDowntime(schedule, CatchUp.DEFAULT, idle("2016-01-01T00:00:00Z", "2026-01-01T00:00:30Z"));
                assertEquals(1, plan.opened().size());
                assertEquals(0, plan.skipped().size());
                SlotRange dropped = assertNotNullRange(plan.dropped());
                assertEquals(Duration.ofDays(3653).toMinutes() - 1, dropped.count());
                assertEquals(at("2016-01-01T00:01:00Z"), dropped.first());
                assertEquals(at("2025-12-31T23:59:00Z"), dropped.last());
            }
        }

        @Test
        void theWindowBoundsHowFarBackASlotMayLie() {
            Schedule hourly = new Every(Duration.ofHours(1));
            CatchUp threeHours = new CatchUp(10, Duration.ofHours(3));
            Plan plan = afterDowntime(hourly, threeHours, idle("2026-01-01T00:00:00Z", "2026-01-01T10:00:00Z"));
            assertEquals(
                    instants(
                            "2026-01-01T07:00:00Z",
                            "2026-01-01T08:00:00Z",
                            "2026-01-01T09:00:00Z",
                            "2026-01-01T10:00:00Z"),
                    due(plan),
                    "the slot exactly at the bound is inside");
            assertEquals(range(6, "2026-01-01T01:00:00Z", "2026-01-01T06:00:00Z"), plan.dropped());
            Plan later = afterDowntime(hourly, threeHours, idle("2026-01-01T00:00:00Z", "2026-01-01T10:00:00.001Z"));
            assertEquals(3, later.due().size());
        }

        @Test
        void newSlotsTakeTheRoomOfOlderOpenOnes() {
            Plan plan = afterDowntime(
                    EACH_MINUTE,
                    max(3),
                    idle(
                            "2026-01-01T00:10:00Z",
                            "2026-01-01T00:12:30Z",
                            open("2026-01-01T00:10:00Z", false, 1, 1),
                            open("2026-01-01T00:09:00Z", false, 0, 0),
                            open("2026-01-01T00:08:00Z", false, 1, 1)));
            assertEquals(instants("2026-01-01T00:10:00Z", "2026-01-01T00:11:00Z", "2026-01-01T00:12:00Z"), due(plan));
            assertEquals(List.of("2026-01-01T00:09:00Z", "2026-01-01T00:08:00Z"), closed(plan));
            assertEquals(2, plan.caughtUp());
            assertNull(plan.dropped());
        }

        @Test
        void anOpenTickOutsideTheWindowIsClosed() {
            Plan plan = plan(
                    new Every(Duration.ofHours(24)),
                    new CatchUp(5, Duration.ofMinutes(30)),
                    ALWAYS,
                    idle("2026-01-01T00:00:00Z", "2026-01-01T00:31:00Z", open("2026-01-01T00:00:00Z", true, 1, 1)));
            assertEquals(List.of(), plan.due());
            assertEquals(List.of("2026-01-01T00:00:00Z"), closed(plan));
        }

        @Test
        void aTickWhoseAttemptsAreUsedUpIsClosedWhateverItIs() {
            OpenTick manual = new OpenTick(Slot.manual(at("2026-01-01T00:00:10Z"), "x"), true, 2, 2, false);
            Plan plan = plan(
                    EACH_MINUTE,
                    max(5),
                    ALWAYS,
                    idle(
                            "2026-01-01T00:01:00Z",
                            "2026-01-01T00:01:30Z",
                            open("2026-01-01T00:00:00Z", true, 2, 2),
                            manual));
            assertEquals(List.of(), plan.due());
            assertEquals(Set.of("2026-01-01T00:00:00Z", manual.slot().key()), Set.copyOf(closed(plan)));
        }

        @Test
        void attemptsThatDoNotCountKeepATickDue() {
            Plan plan = plan(
                    EACH_MINUTE,
                    CatchUp.DEFAULT,
                    ALWAYS,
                    idle("2026-01-01T00:01:00Z", "2026-01-01T00:01:30Z", open("2026-01-01T00:01:00Z", true, 7, 1)));
            assertEquals(instants("2026-01-01T00:01:00Z"), due(plan));
        }

        private static SlotRange assertNotNullRange(@Nullable SlotRange range) {
            assertNotNull(range);
            return range == null ? new SlotRange(0, Instant.MIN, Instant.MIN) : range;
        }
    }

    @Nested
    class OnTime {

        /** The delay allowed is the gap to the following slot, at least 2 s and at most 60 s; such slots run outside the cap. */
        @ParameterizedTest
        @CsvSource({
            "PT1S,  2000, true", "PT1S,  2001, false",
            "PT2S,  2000, true", "PT2S,  2001, false",
            "PT10S, 10000, true", "PT10S, 10001, false",
            "PT60S, 60000, true", "PT60S, 60001, false",
            "PT24H, 60000, true", "PT24H, 60001, false"
        })
        void aSlotIsOnTimeForAsLongAsItsGapWithinTwoAndSixtySeconds(
                Duration interval, long lateMillis, boolean onTime) {
            Instant slot = at("2026-01-01T00:00:00Z");
            Backlog backlog = new Backlog(slot.plusMillis(lateMillis), slot.minusSeconds(1), List.of(), null);
            Plan plan = plan(new Every(interval), NONE, ALWAYS, backlog);
            assertEquals(onTime, plan.opened().contains(new NewTick(Slot.at(slot), true)));
            SlotRange dropped = plan.dropped();
            assertEquals(!onTime, dropped != null && dropped.first().equals(slot));
        }

        @Test
        void aSlotFromBeforeThePlannerRanIsMissed() {
            Backlog backlog = idle("2026-01-01T00:00:00Z", "2026-01-01T00:01:01Z");
            Plan since = plan(EACH_MINUTE, NONE, at("2026-01-01T00:01:00Z"), backlog);
            assertEquals(instants("2026-01-01T00:01:00Z"), due(since));
            Plan later = plan(EACH_MINUTE, NONE, at("2026-01-01T00:01:00.001Z"), backlog);
            assertEquals(List.of(), later.due());
            assertEquals(range(1, "2026-01-01T00:01:00Z", "2026-01-01T00:01:00Z"), later.dropped());
        }

        @Test
        void anOnTimeTickWhoseFirstAttemptEndedCountsAmongTheMissed() {
            OpenTick tried = open("2026-01-01T00:00:00Z", true, 1, 1);
            Backlog backlog = idle("2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z", tried);
            assertEquals(instants("2026-01-01T00:00:00Z"), due(plan(EACH_MINUTE, CatchUp.DEFAULT, ALWAYS, backlog)));
            assertEquals(List.of("2026-01-01T00:00:00Z"), closed(plan(EACH_MINUTE, NONE, ALWAYS, backlog)));
        }

        @Test
        void aSlotIsDueAtItsInstantAndNotBefore() {
            assertEquals(
                    List.of(),
                    due(plan(EACH_MINUTE, max(5), ALWAYS, idle("2026-01-01T00:00:00Z", "2026-01-01T00:00:59.999Z"))));
            assertEquals(
                    instants("2026-01-01T00:01:00Z"),
                    due(plan(EACH_MINUTE, max(5), ALWAYS, idle("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"))));
        }
    }

    @Nested
    class Clock {

        /** CLK-01 */
        @Test
        void aClockSetBackMovesTheCursorBackAndNothingIsStuck() {
            Plan plan =
                    plan(EACH_MINUTE, CatchUp.DEFAULT, ALWAYS, idle("2026-01-01T17:00:00Z", "2026-01-01T15:01:10Z"));
            assertEquals(at("2026-01-01T15:01:10Z"), plan.cursor());
            assertEquals(at("2026-01-01T15:01:10Z"), plan.cutBackTo());
            assertEquals(List.of(), plan.due());
            assertTrue(plan.changes(at("2026-01-01T17:00:00Z")));
            Plan next =
                    plan(EACH_MINUTE, CatchUp.DEFAULT, ALWAYS, idle("2026-01-01T15:01:10Z", "2026-01-01T15:02:00Z"));
            assertEquals(instants("2026-01-01T15:02:00Z"), due(next));
            assertNull(next.cutBackTo());
        }

        /** A tick that was opened while the clock was ahead waits for its slot: nothing starts before its time (CLK-04). */
        @Test
        void anOpenTickThatLiesAheadOfTheClockIsNotDueYet() {
            OpenTick ahead = open("2026-01-01T17:00:00Z", true, 0, 0);
            OpenTick missedAhead = open("2026-01-01T16:00:00Z", false, 1, 1);
            Plan plan = plan(
                    EACH_MINUTE,
                    CatchUp.DEFAULT,
                    ALWAYS,
                    idle("2026-01-01T17:00:00Z", "2026-01-01T15:01:10Z", ahead, missedAhead));
            assertEquals(List.of(), plan.due());
            assertEquals(List.of(), plan.closed());
            Plan then = plan(
                    EACH_MINUTE, CatchUp.DEFAULT, ALWAYS, idle("2026-01-01T16:59:00Z", "2026-01-01T17:00:00Z", ahead));
            assertEquals(instants("2026-01-01T17:00:00Z"), due(then));
        }

        /** CLK-04 */
        @Test
        void aWakeUpThatComesTooEarlyStartsNothing() {
            Schedule monthly = cron("0 0 1 * *", "UTC");
            Plan early =
                    plan(monthly, CatchUp.DEFAULT, ALWAYS, idle("2016-12-01T00:00:00Z", "2016-12-31T23:59:59.070Z"));
            assertFalse(early.changes(at("2016-12-01T00:00:00Z")));
            Plan plan =
                    plan(monthly, CatchUp.DEFAULT, ALWAYS, idle("2016-12-01T00:00:00Z", "2017-01-01T00:00:00.006Z"));
            assertEquals(instants("2017-01-01T00:00:00Z"), due(plan));
            Plan again =
                    plan(monthly, CatchUp.DEFAULT, ALWAYS, idle("2017-01-01T00:00:00Z", "2017-01-01T00:00:00.007Z"));
            assertEquals(List.of(), again.due());
        }

        /** CLK-06: frozen, not stopped; the planner believes that it ran all the time. */
        @Test
        void sleepIsDowntime() {
            Plan plan = plan(
                    new Every(Duration.ofHours(8)),
                    CatchUp.DEFAULT,
                    ALWAYS,
                    idle("2026-01-01T00:00:00Z", "2026-01-01T17:00:00Z"));
            assertEquals(instants("2026-01-01T16:00:00Z"), due(plan));
            assertEquals(range(1, "2026-01-01T08:00:00Z", "2026-01-01T08:00:00Z"), plan.dropped());
            assertEquals(1, plan.caughtUp());
        }

        /** CLK-07 */
        @Test
        void theSlotOfASuspendedNightRunsAfterTheWakeUp() {
            Plan plan = plan(
                    cron("30 20 * * *", "Europe/Berlin"),
                    CatchUp.DEFAULT,
                    ALWAYS,
                    idle("2026-11-19T19:30:00Z", "2026-11-21T06:00:00Z"));
            assertEquals(instants("2026-11-20T19:30:00Z"), due(plan));
            assertEquals(1, plan.caughtUp());
        }
    }

    @Nested
    class Overlaps {

        /** OVR-01 */
        @Test
        void slotsThatComeDueUnderALiveLeaseAreSkippedForGood() {
            String granted = "2026-01-01T00:00:00.050Z";
            OpenTick running = new OpenTick(Slot.at(at("2026-01-01T00:00:00Z")), true, 1, 0, true);
            Plan atSixty = plan(
                    EACH_MINUTE,
                    max(5),
                    ALWAYS,
                    held("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", granted, running));
            assertEquals(instants("2026-01-01T00:01:00Z"), skipped(atSixty));
            Plan atTwoMinutes = plan(
                    EACH_MINUTE,
                    max(5),
                    ALWAYS,
                    held("2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z", granted, running));
            assertEquals(instants("2026-01-01T00:02:00Z"), skipped(atTwoMinutes));
            assertEquals(List.of(), atTwoMinutes.due());
            Plan atItsEnd = plan(EACH_MINUTE, max(5), ALWAYS, idle("2026-01-01T00:02:00Z", "2026-01-01T00:02:30Z"));
            assertEquals(List.of(), atItsEnd.due(), "catch-up never runs a skipped slot later");
            Plan atThreeMinutes =
                    plan(EACH_MINUTE, max(5), ALWAYS, idle("2026-01-01T00:02:00Z", "2026-01-01T00:03:00Z"));
            assertEquals(instants("2026-01-01T00:03:00Z"), due(atThreeMinutes));
        }

        @Test
        void theSlotOfTheGrantItselfIsNoOverlap() {
            Plan plan = plan(
                    EACH_MINUTE,
                    max(5),
                    ALWAYS,
                    held("2026-01-01T00:00:00Z", "2026-01-01T00:02:10Z", "2026-01-01T00:01:00Z"));
            assertEquals(instants("2026-01-01T00:02:00Z"), skipped(plan));
            assertEquals(instants("2026-01-01T00:01:00Z"), due(plan), "due at the grant, so not an overlap");
        }

        /** OVR-04: what was due before the grant waits its turn, what comes due after it is skipped. */
        @Test
        void theRestOfACatchUpBatchIsNoOverlap() {
            OpenTick running = new OpenTick(Slot.at(at("2026-01-01T00:08:00Z")), false, 1, 0, true);
            OpenTick second = open("2026-01-01T00:09:00Z", false, 0, 0);
            OpenTick third = open("2026-01-01T00:10:00Z", false, 0, 0);
            Plan plan = plan(
                    EACH_MINUTE,
                    max(3),
                    ALWAYS,
                    held(
                            "2026-01-01T00:10:00Z",
                            "2026-01-01T00:11:00Z",
                            "2026-01-01T00:10:55Z",
                            third,
                            second,
                            running));
            assertEquals(instants("2026-01-01T00:11:00Z"), skipped(plan));
            assertEquals(instants("2026-01-01T00:09:00Z", "2026-01-01T00:10:00Z"), due(plan));
            assertEquals(List.of(), plan.closed());
        }

        @Test
        void aRunningTickIsNeitherDueNorClosed() {
            OpenTick running = new OpenTick(Slot.at(at("2026-01-01T00:00:00Z")), true, 2, 2, true);
            Plan plan = plan(
                    EACH_MINUTE,
                    NONE,
                    ALWAYS,
                    held("2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z", "2026-01-01T00:00:01Z", running));
            assertFalse(plan.changes(at("2026-01-01T00:00:00Z")));
            assertEquals(List.of(), plan.due());
        }

        @Test
        void veryManySkipsAreARange() {
            Plan plan = plan(
                    EACH_MINUTE,
                    max(5),
                    ALWAYS,
                    held("2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z", "2026-01-01T00:00:00.010Z"));
            assertEquals(100, plan.skipped().size());
            assertEquals(at("2026-01-31T00:00:00Z"), plan.skipped().getLast().at());
            assertEquals(range(43_100, "2026-01-01T00:01:00Z", "2026-01-30T22:20:00Z"), plan.skippedRange());
            assertEquals(List.of(), plan.due());
        }

        /** The database's clock was set back under a live lease: what comes due now came due before, by that clock. */
        @Test
        void aGrantInTheFutureOverlapsNothing() {
            Plan plan = plan(
                    EACH_MINUTE,
                    CatchUp.DEFAULT,
                    ALWAYS,
                    held("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", "2026-01-01T02:00:00Z"));
            assertEquals(List.of(), plan.skipped());
            assertEquals(instants("2026-01-01T00:01:00Z"), due(plan));
        }
    }

    @Nested
    class Buffers {

        private static final String GRANTED = "2026-01-01T00:00:00.050Z";
        private static final OpenTick RUNNING = new OpenTick(Slot.at(at("2026-01-01T00:00:00Z")), true, 1, 0, true);

        private static Plan bufferOne(CatchUp catchUp, Backlog backlog) {
            return plan(EACH_MINUTE, catchUp, Overlap.BUFFER_ONE, null, ALWAYS, backlog);
        }

        @Test
        void theNewestOverlappingSlotStaysOpenAndTheOlderOnesAreSkipped() {
            Plan plan = bufferOne(NONE, held("2026-01-01T00:00:00Z", "2026-01-01T00:03:00.010Z", GRANTED, RUNNING));
            assertEquals(instants("2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"), skipped(plan));
            assertEquals(List.of(new NewTick(Slot.at(at("2026-01-01T00:03:00Z")), true)), plan.opened());
            assertEquals(0, plan.caughtUp());
            assertNull(plan.dropped());
            assertNull(plan.takeOver());
            assertEquals(at("2026-01-01T00:03:00Z"), plan.cursor());
        }

        @Test
        void aNewerSlotTakesThePlaceOfTheOneThatWaits() {
            OpenTick waits = open("2026-01-01T00:01:00Z", true, 0, 0);
            Plan plan =
                    bufferOne(NONE, held("2026-01-01T00:01:00Z", "2026-01-01T00:02:00.010Z", GRANTED, waits, RUNNING));
            assertEquals(List.of(waits), plan.displaced());
            assertEquals(instants("2026-01-01T00:02:00Z"), due(plan));
            assertEquals(List.of(), skipped(plan));
            assertEquals(List.of(), plan.closed());
            assertTrue(plan.changes(at("2026-01-01T00:01:00Z")));
        }

        /** However long the run before it took, and although nothing is caught up. */
        @Test
        void theSlotThatWaitedRunsNextAndIsNoCatchUp() {
            Plan plan = bufferOne(
                    NONE,
                    idle("2026-01-01T00:01:00Z", "2026-01-01T00:01:59Z", open("2026-01-01T00:01:00Z", true, 0, 0)));
            assertEquals(instants("2026-01-01T00:01:00Z"), due(plan));
            assertFalse(plan.changes(at("2026-01-01T00:01:00Z")));
        }

        /** A run that a person ordered went first, while the slot waited for its jitter or a place. */
        @Test
        void aSlotThatWasDueAtTheGrantIsNotDisplaced() {
            OpenTick waits = open("2025-12-31T23:59:00Z", true, 0, 0);
            Plan plan = bufferOne(
                    max(1), held("2026-01-01T00:00:00Z", "2026-01-01T00:02:00.010Z", GRANTED, waits, RUNNING));
            assertEquals(List.of(), plan.displaced());
            assertEquals(instants("2025-12-31T23:59:00Z", "2026-01-01T00:02:00Z"), due(plan));
        }

        @Test
        void whatWasMissedOrIsOrderedOrWasTriedIsNotDisplaced() {
            OpenTick missed = open("2025-12-31T23:59:00Z", false, 0, 0);
            OpenTick tried = open("2026-01-01T00:00:30Z", true, 1, 1);
            OpenTick ordered = new OpenTick(Slot.at(at("2025-12-31T20:00:00Z")), true, 0, 0, false, null, true);
            Plan plan = bufferOne(
                    max(5),
                    held("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", GRANTED, tried, missed, ordered, RUNNING));
            assertEquals(List.of(), plan.displaced());
            assertEquals(4, plan.due().size());
        }

        @Test
        void manyOldSkipsAreARangeAndTheNewestStillWaits() {
            Plan plan =
                    bufferOne(NONE, held("2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z", "2026-01-01T00:00:00.010Z"));
            assertEquals(range(43_099, "2026-01-01T00:01:00Z", "2026-01-30T22:19:00Z"), plan.skippedRange());
            assertEquals(100, plan.skipped().size());
            assertEquals(instants("2026-01-31T00:00:00Z"), due(plan));
        }

        @Test
        void withoutALeaseNothingWaitsInABuffer() {
            Plan plan = bufferOne(CatchUp.DEFAULT, idle("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"));
            assertEquals(
                    plan(EACH_MINUTE, CatchUp.DEFAULT, ALWAYS, idle("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z")),
                    plan);
        }

        @Test
        void aTakeOverAsksTheHolderToStopAndTheSlotWaits() {
            Plan plan = plan(
                    EACH_MINUTE,
                    NONE,
                    Overlap.TAKE_OVER,
                    null,
                    ALWAYS,
                    held("2026-01-01T00:00:00Z", "2026-01-01T00:02:00Z", GRANTED, RUNNING));
            Slot newest = Slot.at(at("2026-01-01T00:02:00Z"));
            assertEquals(new Plan.TakeOver(7, newest), plan.takeOver());
            assertEquals(List.of(newest), plan.due());
            assertEquals(instants("2026-01-01T00:01:00Z"), skipped(plan));
            Plan again = plan(
                    EACH_MINUTE,
                    NONE,
                    Overlap.TAKE_OVER,
                    null,
                    ALWAYS,
                    held(
                            "2026-01-01T00:02:00Z",
                            "2026-01-01T00:02:01Z",
                            GRANTED,
                            open("2026-01-01T00:02:00Z", true, 0, 0),
                            RUNNING));
            assertNull(again.takeOver(), "asked once for a slot");
        }

        @Test
        void aRunThatAPersonHasOrderedIsNotTakenOver() {
            Backlog backlog = new Backlog(
                    at("2026-01-01T00:01:00Z"), at("2026-01-01T00:00:00Z"), List.of(), new Held(at(GRANTED), 7, true));
            Plan plan = plan(EACH_MINUTE, NONE, Overlap.TAKE_OVER, null, ALWAYS, backlog);
            assertNull(plan.takeOver());
            assertEquals(instants("2026-01-01T00:01:00Z"), due(plan), "it waits");
        }
    }

    @Nested
    class FurtherTries {

        private static OpenTick retry(String slot, int attempts, String notBefore) {
            return new OpenTick(Slot.at(at(slot)), true, attempts, attempts, false, at(notBefore), false);
        }

        private static Plan plan(CatchUp catchUp, int maxAttempts, Backlog backlog) {
            return Planner.plan(
                    new Planner.Rules(EACH_MINUTE, catchUp, Overlap.SKIP, maxAttempts, null), ALWAYS, backlog);
        }

        /** OVR-03: the slot that comes due first is run first. */
        @Test
        void aRetryIsNotDueBeforeItsTimeAndTheNextSlotIsNotHeldUp() {
            OpenTick failed = retry("2026-01-01T00:00:00Z", 1, "2026-01-01T00:01:35Z");
            Plan next = plan(CatchUp.DEFAULT, 3, idle("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", failed));
            assertEquals(instants("2026-01-01T00:01:00Z"), due(next));
            assertEquals(List.of(), next.closed());
            Plan then = plan(CatchUp.DEFAULT, 3, idle("2026-01-01T00:01:00Z", "2026-01-01T00:01:35Z", failed));
            assertEquals(instants("2026-01-01T00:00:00Z"), due(then));
        }

        /** OVR-03: failures do not pile up. */
        @Test
        void ofSlotsThatWaitForARetryOnlyTheNewestStayWithinTheCap() {
            Plan plan = plan(
                    CatchUp.DEFAULT,
                    3,
                    idle(
                            "2026-01-01T00:01:00Z",
                            "2026-01-01T00:01:10Z",
                            retry("2026-01-01T00:01:00Z", 1, "2026-01-01T00:02:35Z"),
                            retry("2026-01-01T00:00:00Z", 1, "2026-01-01T00:01:35Z")));
            assertEquals(List.of("2026-01-01T00:00:00Z"), closed(plan));
            assertEquals(List.of(), due(plan));
        }

        @Test
        void whereNothingIsCaughtUpTheNewestRetryHasAPlaceAllTheSame() {
            Plan plan = plan(
                    NONE,
                    3,
                    idle(
                            "2026-01-01T00:01:00Z",
                            "2026-01-01T00:02:35Z",
                            retry("2026-01-01T00:01:00Z", 1, "2026-01-01T00:02:35Z"),
                            retry("2026-01-01T00:00:00Z", 1, "2026-01-01T00:01:35Z")));
            assertEquals(instants("2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"), due(plan));
            assertEquals(List.of("2026-01-01T00:00:00Z"), closed(plan));
        }

        @Test
        void whatIsOrderedIsDueOutsideTheCapAndAtItsTime() {
            OpenTick now = new OpenTick(Slot.at(at("2025-06-01T00:00:00Z")), false, 4, 0, false, null, true);
            OpenTick later = new OpenTick(
                    Slot.manual(at("2026-01-01T00:00:00Z"), "x"), false, 1, 1, false, at("2026-01-01T01:00:00Z"), true);
            OpenTick usedUp = new OpenTick(Slot.at(at("2025-07-01T00:00:00Z")), false, 4, 2, false, null, true);
            Backlog backlog = idle("2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z", now, later, usedUp);
            for (Plan plan : List.of(plan(NONE, 2, backlog), Planner.ordersOnly(2, backlog))) {
                assertEquals(instants("2025-06-01T00:00:00Z"), due(plan));
                assertEquals(List.of(usedUp), plan.closed());
            }
        }
    }

    @Nested
    class StandingStill {

        @Test
        void ofAPausedJobNothingIsPlannedButOrders() {
            OpenTick schedule = open("2026-01-01T00:00:00Z", true, 0, 0);
            OpenTick usedUp = open("2025-12-31T23:59:00Z", true, 2, 2);
            Slot manual = Slot.manual(at("2026-01-01T05:00:00Z"), "x");
            Plan plan = Planner.ordersOnly(
                    2,
                    idle(
                            "2026-01-01T00:00:00Z",
                            "2026-01-01T05:00:01Z",
                            schedule,
                            usedUp,
                            new OpenTick(manual, false, 0, 0, false)));
            assertEquals(List.of(manual), plan.due());
            assertFalse(plan.changes(at("2026-01-01T00:00:00Z")));
        }

        /** CAT-15: the end of the pause moves the cursor, so what lies inside is neither run nor dropped. */
        @Test
        void slotsInsideAPauseAreNotMissed() {
            Schedule daily = cron("0 3 * * *", "UTC");
            Backlog resumed = idle("2026-06-22T04:00:00Z", "2026-06-22T04:00:00Z");
            Plan plan = afterDowntime(daily, max(2), resumed);
            assertFalse(plan.changes(resumed.cursor()));
            assertEquals(at("2026-06-23T03:00:00Z"), daily.next(resumed.now()));
        }

        @Test
        void aBrakeDropsWhatIsDueWithItsReasonAndLeavesOrdersAlone() {
            Slot manual = Slot.manual(at("2026-01-01T00:02:00Z"), "x");
            OpenTick untried = open("2026-01-01T00:01:00Z", true, 0, 0);
            OpenTick tried = open("2026-01-01T00:00:00Z", true, 1, 1);
            Plan plan = plan(
                    EACH_MINUTE,
                    max(5),
                    Overlap.TAKE_OVER,
                    "max-runs-per-day 3 reached",
                    ALWAYS,
                    idle(
                            "2026-01-01T00:01:00Z",
                            "2026-01-01T00:03:00Z",
                            untried,
                            tried,
                            new OpenTick(manual, false, 0, 0, false)));
            assertEquals(range(2, "2026-01-01T00:02:00Z", "2026-01-01T00:03:00Z"), plan.dropped());
            assertEquals("max-runs-per-day 3 reached", plan.brake());
            assertEquals(Set.of(untried, tried), Set.copyOf(plan.closed()));
            assertEquals(List.of(manual), plan.due());
            assertEquals(List.of(), plan.opened());
        }

        @Test
        void aBrakeNeitherBuffersNorTakesOver() {
            Plan plan = plan(
                    EACH_MINUTE,
                    max(5),
                    Overlap.TAKE_OVER,
                    "enough",
                    ALWAYS,
                    held("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", "2026-01-01T00:00:00.050Z"));
            assertEquals(instants("2026-01-01T00:01:00Z"), skipped(plan));
            assertNull(plan.takeOver());
            assertEquals(List.of(), plan.opened());
        }
    }

    @Nested
    class WaitingForAPlace {

        /** Hours of waiting must not make a flood: what waited longer than a slot may be late counts as missed, but for the newest. */
        @Test
        void olderOnesOfTheSlotsThatWaitCountTowardTheCap() {
            Plan plan = plan(
                    EACH_MINUTE,
                    CatchUp.DEFAULT,
                    ALWAYS,
                    idle(
                            "2026-01-01T00:05:00Z",
                            "2026-01-01T00:06:01Z",
                            open("2026-01-01T00:05:00Z", true, 0, 0),
                            open("2026-01-01T00:04:00Z", true, 0, 0),
                            open("2026-01-01T00:03:00Z", true, 0, 0)));
            assertEquals(instants("2026-01-01T00:05:00Z", "2026-01-01T00:06:00Z"), due(plan));
            assertEquals(List.of("2026-01-01T00:04:00Z", "2026-01-01T00:03:00Z"), closed(plan));
        }
    }

    @Nested
    class Anchors {

        /** INT-01 */
        @Test
        void aRestartMovesNoSlot() {
            Schedule schedule = new Every(Duration.ofHours(4), at("2026-02-01T23:40:00Z"));
            Plan plan = plan(
                    schedule,
                    NONE,
                    at("2026-02-02T03:29:00Z"),
                    idle("2026-02-01T23:41:00Z", "2026-02-02T03:40:00.020Z"));
            assertEquals(instants("2026-02-02T03:40:00Z"), due(plan));
        }

        /** INT-04 */
        @Test
        void aManualRunEatsNoSlotAndMovesNone() {
            Schedule daily = new Every(Duration.ofHours(24), at("2026-06-01T01:00:00Z"));
            Slot manual = Slot.manual(at("2026-06-10T11:30:00Z"), "1");
            OpenTick ordered = new OpenTick(manual, false, 0, 0, false);
            Plan plan = plan(daily, NONE, ALWAYS, idle("2026-06-10T01:00:00Z", "2026-06-10T11:30:05Z", ordered));
            assertEquals(List.of(manual), plan.due());
            assertEquals(at("2026-06-10T01:00:00Z"), plan.cursor());
            Plan next = plan(daily, NONE, ALWAYS, idle("2026-06-10T01:00:00Z", "2026-06-11T01:00:00Z"));
            assertEquals(instants("2026-06-11T01:00:00Z"), due(next));
        }

        @Test
        void aManualRunNeedsNoRoom() {
            OpenTick ordered = new OpenTick(Slot.manual(at("2026-01-01T00:00:30Z"), "1"), false, 1, 1, false);
            Plan plan = afterDowntime(
                    EACH_MINUTE, CatchUp.DEFAULT, idle("2026-01-01T00:00:00Z", "2026-01-01T00:05:10Z", ordered));
            assertEquals(List.of(ordered.slot(), Slot.at(at("2026-01-01T00:05:00Z"))), plan.due());
        }
    }

    @Nested
    class Accounting {

        /** Each slot of (cursor, now] is run, skipped or dropped: none is lost, none is counted twice. */
        @Test
        void runsSkipsAndDropsMakeUpAllSlots() {
            Random random = new Random(20_260_504);
            for (int i = 0; i < 5_000; i++) {
                Schedule schedule = schedule(random);
                Instant cursor = at("2026-03-28T00:00:00Z").plusMillis(random.nextLong(200_000_000));
                Instant now = cursor.plusMillis((long) Math.pow(10, 1 + random.nextDouble() * 8));
                CatchUp catchUp = catchUp(random);
                Held held = random.nextBoolean()
                        ? null
                        : new Held(
                                now.minusMillis(random.nextLong(
                                        -1_000,
                                        2 * Duration.between(cursor, now).toMillis() + 1)),
                                1);
                Instant since = now.minusMillis(random.nextLong(100_000));
                Backlog backlog = new Backlog(now, cursor, List.of(), held);

                Plan plan = plan(schedule, catchUp, since, backlog);

                String what = schedule.text() + " " + catchUp + " " + backlog + " since " + since + " -> " + plan;
                assertEquals(schedule.count(cursor, now), slots(plan), what);
                List<Instant> single = new ArrayList<>(skipped(plan));
                plan.opened().forEach(tick -> single.add(tick.slot().at()));
                Set<Instant> distinct = new HashSet<>(single);
                assertEquals(single.size(), distinct.size(), what);
                for (Instant slot : distinct) {
                    assertTrue(slot.isAfter(cursor) && !slot.isAfter(now), what);
                    assertEquals(slot, schedule.latest(slot), what);
                    assertFalse(within(plan.dropped(), slot) || within(plan.skippedRange(), slot), what);
                }
                long missed =
                        plan.opened().stream().filter(tick -> !tick.onTime()).count();
                assertTrue(missed <= catchUp.max(), what);
                assertEquals(missed, plan.caughtUp(), what);
                assertTrue(
                        plan.opened().size() <= catchUp.max() + 61
                                && plan.skipped().size() <= 100,
                        what);
                assertEquals(
                        plan.due().stream()
                                .sorted(Comparator.comparing(Slot::at))
                                .toList(),
                        plan.due(),
                        what);
                Instant newest = schedule.latest(now);
                assertEquals(newest != null && newest.isAfter(cursor) ? newest : cursor, plan.cursor(), what);
                assertNull(plan.cutBackTo(), what);
                if (held == null) {
                    assertEquals(List.of(), plan.skipped(), what);
                }
            }
        }

        /** Look after look, with leases that come and go: every slot ends once, or is still open. */
        @Test
        void overManyLooksEverySlotEndsOnce() {
            Random random = new Random(4_711);
            for (int life = 0; life < 200; life++) {
                Schedule schedule = schedule(random);
                CatchUp catchUp = catchUp(random);
                Overlap overlap = Overlap.values()[random.nextInt(3)];
                Instant start = at("2026-10-24T00:00:00Z").plusSeconds(random.nextLong(100_000));
                Instant now = start;
                Instant cursor = start;
                Instant since = start;
                List<OpenTick> open = new ArrayList<>();
                Set<String> ended = new HashSet<>();
                long dropped = 0;
                Instant heldSince = null;
                for (int look = 0; look < 60; look++) {
                    now = now.plusMillis((long) Math.pow(10, random.nextDouble() * 6));
                    if (random.nextInt(10) == 0) {
                        since = now; // restarted
                    }
                    if (heldSince != null && random.nextBoolean()) {
                        heldSince = null;
                        open.removeIf(
                                tick -> tick.running() && ended.add(tick.slot().key()));
                    }
                    Held held = heldSince == null ? null : new Held(heldSince, look);
                    String brake = random.nextInt(20) == 0 ? "enough" : null;
                    Plan plan = plan(
                            schedule,
                            catchUp,
                            overlap,
                            brake,
                            since,
                            new Backlog(now, cursor, List.copyOf(open), held));
                    for (OpenTick tick : plan.displaced()) {
                        assertTrue(open.remove(tick) && ended.add(tick.slot().key()), "displaced twice: " + tick);
                    }
                    cursor = plan.cursor();
                    dropped += count(plan.dropped()) + count(plan.skippedRange());
                    for (Slot slot : plan.skipped()) {
                        assertTrue(ended.add(slot.key()), "skipped twice: " + slot);
                    }
                    for (OpenTick tick : plan.closed()) {
                        assertTrue(open.remove(tick) && ended.add(tick.slot().key()), "closed twice: " + tick);
                    }
                    for (NewTick tick : plan.opened()) {
                        open.addFirst(new OpenTick(tick.slot(), tick.onTime(), 0, 0, false));
                    }
                    if (heldSince == null && !plan.due().isEmpty()) {
                        heldSince = now;
                        Slot first = plan.due().getFirst();
                        open.replaceAll(tick -> tick.slot().equals(first)
                                ? new OpenTick(first, tick.onTime(), tick.attempts() + 1, 0, true)
                                : tick);
                    }
                }
                assertEquals(
                        schedule.count(start, now),
                        ended.size() + dropped + open.size(),
                        schedule.text() + " " + catchUp + ", life " + life);
            }
        }

        private static long slots(Plan plan) {
            return plan.opened().size() + plan.skipped().size() + count(plan.dropped()) + count(plan.skippedRange());
        }

        private static long count(@Nullable SlotRange range) {
            return range == null ? 0 : range.count();
        }

        private static boolean within(@Nullable SlotRange range, Instant slot) {
            return range != null && !slot.isBefore(range.first()) && !slot.isAfter(range.last());
        }

        private static Schedule schedule(Random random) {
            List<String> crons = List.of("* * * * *", "*/7 * * * *", "30 2 * * *", "0 9 * * 1-5", "15,45 */3 * * *");
            List<String> zones = List.of("UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo");
            return random.nextInt(3) == 0
                    ? cron(crons.get(random.nextInt(crons.size())), zones.get(random.nextInt(zones.size())))
                    : new Every(
                            Duration.ofSeconds(1 + (long) Math.pow(10, random.nextDouble() * 5)),
                            Instant.ofEpochSecond(random.nextInt(1_000)));
        }

        private static CatchUp catchUp(Random random) {
            return new CatchUp(
                    random.nextInt(6), random.nextBoolean() ? null : Duration.ofSeconds(1 + random.nextInt(100_000)));
        }
    }
}
