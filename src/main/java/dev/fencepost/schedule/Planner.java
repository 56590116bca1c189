package dev.fencepost.schedule;

import dev.fencepost.schedule.Backlog.Held;
import dev.fencepost.schedule.Backlog.OpenTick;
import dev.fencepost.schedule.Plan.NewTick;
import dev.fencepost.schedule.Plan.SlotRange;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Decides what becomes of a job's due slots: run, skip or drop (semantics 3.4 to 3.8). A pure function; memory and time grow with the
 * catch-up cap, never with the number of missed slots.
 *
 * <p>In order: (1) slots that came due after the grant of a live lease overlap it and are skipped; (2) of the others those on time
 * run, outside the cap; (3) of the missed ones, open ticks included, the newest {@code catch-up.max} inside the window run and the
 * older ones are dropped as one range, or closed where they had attempts.
 */
public final class Planner {

    private static final Duration LONGEST_DELAY = Duration.ofSeconds(60);
    private static final Duration SHORTEST_DELAY = Duration.ofSeconds(2);

    /** More slots than this in one plan are skipped as a range; only a node that was frozen under a long lease sees so many. */
    private static final int MOST_SKIPPED_ROWS = 100;

    private Planner() {}

    /**
     * @param maxAttempts how many counted attempts a tick may have
     * @param planningSince since when this planner has been running, by the store's clock: a slot before it cannot be on time
     */
    public static Plan plan(
            Schedule schedule, CatchUp catchUp, int maxAttempts, Instant planningSince, Backlog backlog) {
        Instant now = backlog.now();
        boolean setBack = now.isBefore(backlog.cursor());
        Instant cursor = setBack ? now : backlog.cursor();
        Held held = backlog.held();

        Instant lastFree = held != null && held.grantedAt().isBefore(now) ? held.grantedAt() : now;
        if (lastFree.isBefore(cursor)) {
            lastFree = cursor;
        }
        Deque<Slot> skipped = new ArrayDeque<>();
        SlotRange skippedRange = skip(schedule, lastFree, now, skipped);

        // Slots after the cursor have an open tick only where the clock was set back.
        Set<String> known =
                backlog.open().stream().map(tick -> tick.slot().key()).collect(Collectors.toSet());
        Deque<NewTick> opened = new ArrayDeque<>();
        Instant at = schedule.latest(lastFree);
        while (at != null && at.isAfter(cursor) && isOnTime(schedule, at, now, planningSince)) {
            Slot slot = Slot.at(at);
            if (!known.contains(slot.key())) {
                opened.addFirst(new NewTick(slot, true));
            }
            at = schedule.latest(at.minusSeconds(1));
        }

        List<OpenTick> waiting = new ArrayList<>();
        List<OpenTick> closed = new ArrayList<>();
        List<Slot> due = new ArrayList<>();
        sortOpenTicks(backlog, maxAttempts, waiting, closed, due);

        Instant windowStart = catchUp.window() == null ? Instant.MIN : now.minus(catchUp.window());
        int room = catchUp.max();
        int caughtUp = 0;
        while (room > 0 && at != null && at.isAfter(cursor) && !at.isBefore(windowStart)) {
            Slot slot = Slot.at(at);
            if (!known.contains(slot.key())) {
                opened.addFirst(new NewTick(slot, false));
                caughtUp++;
                room--;
            }
            at = schedule.latest(at.minusSeconds(1));
        }
        SlotRange dropped = at != null && at.isAfter(cursor) ? range(schedule, cursor, at) : null;
        for (OpenTick tick : waiting) { // newest first
            if (room > 0 && !tick.slot().at().isBefore(windowStart)) {
                room--;
                due.add(tick.slot());
            } else {
                closed.add(tick);
            }
        }
        for (NewTick tick : opened) {
            due.add(tick.slot());
        }
        due.sort(Comparator.comparing((Slot slot) -> slot.at()).thenComparing(Slot::key));

        Instant newest = schedule.latest(now);
        Instant moved = newest != null && newest.isAfter(cursor) ? newest : cursor;
        return new Plan(
                moved,
                setBack ? now : null,
                dropped,
                skippedRange,
                List.copyOf(skipped),
                List.copyOf(opened),
                List.copyOf(closed),
                caughtUp,
                List.copyOf(due));
    }

    /** How late a slot may be and still count as on time. */
    private static boolean isOnTime(Schedule schedule, Instant slot, Instant now, Instant planningSince) {
        if (slot.isBefore(planningSince)) {
            return false;
        }
        Instant following = schedule.next(slot);
        Duration gap = following == null ? LONGEST_DELAY : Duration.between(slot, following);
        Duration allowed = gap.compareTo(SHORTEST_DELAY) < 0 ? SHORTEST_DELAY : gap;
        allowed = allowed.compareTo(LONGEST_DELAY) > 0 ? LONGEST_DELAY : allowed;
        return Duration.between(slot, now).compareTo(allowed) <= 0;
    }

    /** Collects the newest slots of {@code (after, until]}; the older ones, if there are more, become the range that is returned. */
    private static @Nullable SlotRange skip(Schedule schedule, Instant after, Instant until, Deque<Slot> newest) {
        if (!after.isBefore(until)) {
            return null;
        }
        Instant at = schedule.latest(until);
        while (at != null && at.isAfter(after) && newest.size() < MOST_SKIPPED_ROWS) {
            newest.addFirst(Slot.at(at));
            at = schedule.latest(at.minusSeconds(1));
        }
        return at != null && at.isAfter(after) ? range(schedule, after, at) : null;
    }

    private static SlotRange range(Schedule schedule, Instant after, Instant last) {
        Instant first = schedule.next(after);
        return new SlotRange(schedule.count(after, last), first == null ? last : first, last);
    }

    /**
     * Open ticks that are over are closed; those outside the cap are due; the others wait for the room that is left, newest first. A
     * tick whose attempt has no end yet belongs to the holder of the lease, and one whose slot lies ahead, since the clock was set back,
     * waits for its time.
     */
    private static void sortOpenTicks(
            Backlog backlog, int maxAttempts, List<OpenTick> waiting, List<OpenTick> closed, List<Slot> due) {
        for (OpenTick tick : backlog.open()) {
            if (tick.running()) {
                continue;
            }
            if (tick.spent() >= maxAttempts) {
                closed.add(tick);
            } else if (tick.slot().at().isAfter(backlog.now()) && !tick.slot().isManual()) {
                continue;
            } else if (tick.slot().isManual() || (tick.onTime() && tick.attempts() == 0)) {
                due.add(tick.slot());
            } else {
                waiting.add(tick);
            }
        }
        waiting.sort(Comparator.comparing((OpenTick tick) -> tick.slot().at()).reversed());
    }
}
