package dev.fencepost.schedule;

import dev.fencepost.schedule.Backlog.Held;
import dev.fencepost.schedule.Backlog.OpenTick;
import dev.fencepost.schedule.Plan.NewTick;
import dev.fencepost.schedule.Plan.SlotRange;
import dev.fencepost.schedule.Plan.TakeOver;
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
 * <p>In order: (1) slots that came due after the grant of a live lease overlap it and are skipped, but for the newest where there is a
 * buffer; (2) of the others those on time run, outside the cap; (3) of the missed ones, open ticks included, the newest
 * {@code catch-up.max} inside the window run and the older ones are dropped as one range, or closed where they had attempts. What people
 * have ordered is due whatever else is.
 */
public final class Planner {

    private static final Duration LONGEST_DELAY = Duration.ofSeconds(60);
    private static final Duration SHORTEST_DELAY = Duration.ofSeconds(2);

    /** More slots than this in one plan are skipped as a range; only a node that was frozen under a long lease sees so many. */
    private static final int MOST_SKIPPED_ROWS = 100;

    private static final Comparator<Slot> OLDEST_FIRST =
            Comparator.comparing((Slot slot) -> slot.at()).thenComparing(Slot::key);

    private Planner() {}

    /**
     * What a job wants.
     *
     * @param maxAttempts how many counted attempts a tick may have
     * @param brake why no slot is run for the moment, so that all that are due end as dropped; null where nothing is in the way
     */
    public record Rules(
            Schedule schedule,
            CatchUp catchUp,
            Overlap overlap,
            int maxAttempts,
            @Nullable String brake) {}

    /** @param planningSince since when this planner has been running, by the store's clock: a slot before it cannot be on time */
    public static Plan plan(Rules rules, Instant planningSince, Backlog backlog) {
        Schedule schedule = rules.schedule();
        Instant now = backlog.now();
        boolean setBack = now.isBefore(backlog.cursor());
        Instant cursor = setBack ? now : backlog.cursor();
        Held held = backlog.held();

        Instant lastFree = held != null && held.grantedAt().isBefore(now) ? held.grantedAt() : now;
        if (lastFree.isBefore(cursor)) {
            lastFree = cursor;
        }
        // Slots after the cursor have an open tick only where the clock was set back.
        Set<String> known =
                backlog.open().stream().map(tick -> tick.slot().key()).collect(Collectors.toSet());
        Slot buffered = buffered(rules, held, lastFree, now);
        Deque<Slot> skipped = new ArrayDeque<>();
        Instant lastSkipped = buffered == null ? now : buffered.at().minusSeconds(1);
        SlotRange skippedRange = skip(schedule, lastFree, lastSkipped, skipped);

        Deque<NewTick> opened = new ArrayDeque<>();
        if (buffered != null && !known.contains(buffered.key())) {
            opened.addFirst(new NewTick(buffered, true));
        }
        Instant at = schedule.latest(lastFree);
        while (rules.brake() == null
                && at != null
                && at.isAfter(cursor)
                && !at.isBefore(planningSince)
                && isWithinItsDelay(schedule, at, now)) {
            Slot slot = Slot.at(at);
            if (!known.contains(slot.key())) {
                opened.addFirst(new NewTick(slot, true));
            }
            at = schedule.latest(at.minusSeconds(1));
        }

        Sorted sorted = new Sorted(rules, now, held, buffered, newestOnTime(backlog, opened));
        backlog.open().forEach(sorted::add);

        CatchUp catchUp = rules.catchUp();
        Instant windowStart = catchUp.window() == null ? Instant.MIN : now.minus(catchUp.window());
        int room = rules.brake() == null ? catchUp.max() : 0;
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
        sorted.fillRoom(room, windowStart);
        for (NewTick tick : opened) {
            sorted.due.add(tick.slot());
        }
        sorted.due.sort(OLDEST_FIRST);

        Instant newest = schedule.latest(now);
        Instant moved = newest != null && newest.isAfter(cursor) ? newest : cursor;
        return new Plan(
                moved,
                setBack ? now : null,
                dropped,
                skippedRange,
                List.copyOf(skipped),
                List.copyOf(opened),
                List.copyOf(sorted.closed),
                caughtUp,
                List.copyOf(sorted.due),
                List.copyOf(sorted.displaced),
                takeOver(rules, held, buffered),
                rules.brake());
    }

    /** What people have ordered of a job whose schedule stands still: nothing of the schedule is opened, dropped or closed. */
    public static Plan ordersOnly(int maxAttempts, Backlog backlog) {
        List<OpenTick> closed = new ArrayList<>();
        List<Slot> due = new ArrayList<>();
        for (OpenTick tick : backlog.open()) {
            if (!tick.isOrdered() || tick.running()) {
                continue;
            }
            if (tick.spent() >= maxAttempts) {
                closed.add(tick);
            } else if (tick.isReady(backlog.now())) {
                due.add(tick.slot());
            }
        }
        due.sort(OLDEST_FIRST);
        return new Plan(
                backlog.cursor(), null, null, null, List.of(), List.of(), List.copyOf(closed), 0, List.copyOf(due));
    }

    /** The slot that waits for the end of the run under the live lease, or null. A brake lets no slot wait. */
    private static @Nullable Slot buffered(Rules rules, @Nullable Held held, Instant lastFree, Instant now) {
        if (held == null || rules.overlap() == Overlap.SKIP || rules.brake() != null) {
            return null;
        }
        Instant newest = rules.schedule().latest(now);
        return newest != null && newest.isAfter(lastFree) ? Slot.at(newest) : null;
    }

    /** A run that a person has ordered is not stopped by the schedule: the slot waits for its end. */
    private static @Nullable TakeOver takeOver(Rules rules, @Nullable Held held, @Nullable Slot buffered) {
        if (held == null || buffered == null || rules.overlap() != Overlap.TAKE_OVER || held.byOrder()) {
            return null;
        }
        return new TakeOver(held.fence(), buffered);
    }

    /** How late a slot may be and still count as on time. */
    private static boolean isWithinItsDelay(Schedule schedule, Instant slot, Instant now) {
        Instant following = schedule.next(slot);
        Duration gap = following == null ? LONGEST_DELAY : Duration.between(slot, following);
        Duration allowed = gap.compareTo(SHORTEST_DELAY) < 0 ? SHORTEST_DELAY : gap;
        allowed = allowed.compareTo(LONGEST_DELAY) > 0 ? LONGEST_DELAY : allowed;
        return Duration.between(slot, now).compareTo(allowed) <= 0;
    }

    private static @Nullable Instant newestOnTime(Backlog backlog, Deque<NewTick> opened) {
        if (!opened.isEmpty()) {
            return opened.getLast().slot().at();
        }
        return backlog.open().stream()
                .filter(Planner::waitsForItsFirstTry)
                .map(tick -> tick.slot().at())
                .filter(at -> !at.isAfter(backlog.now()))
                .max(Comparator.naturalOrder())
                .orElse(null);
    }

    /** A slot of the schedule that was planned on time and has not been started yet. */
    private static boolean waitsForItsFirstTry(OpenTick tick) {
        return tick.onTime() && tick.attempts() == 0 && !tick.running() && !tick.isOrdered();
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

    /** What becomes of the open ticks. */
    private static final class Sorted {
        private final Rules rules;
        private final Instant now;
        private final @Nullable Held held;
        private final @Nullable Slot buffered;
        private final @Nullable Instant newestOnTime;
        private final List<OpenTick> waiting = new ArrayList<>();
        private final List<OpenTick> closed = new ArrayList<>();
        private final List<OpenTick> displaced = new ArrayList<>();
        private final List<Slot> due = new ArrayList<>();

        Sorted(Rules rules, Instant now, @Nullable Held held, @Nullable Slot buffered, @Nullable Instant newestOnTime) {
            this.rules = rules;
            this.now = now;
            this.held = held;
            this.buffered = buffered;
            this.newestOnTime = newestOnTime;
        }

        /**
         * Those that are over are closed; those outside the cap are due; the others wait for the room that is left. A tick whose attempt
         * has no end yet belongs to the holder of the lease, and one whose slot lies ahead, since the clock was set back, waits for its
         * time.
         */
        void add(OpenTick tick) {
            if (tick.running()) {
                return;
            }
            if (tick.spent() >= rules.maxAttempts()) {
                closed.add(tick);
            } else if (tick.isOrdered()) {
                if (tick.isReady(now)) {
                    due.add(tick.slot());
                }
            } else if (tick.slot().at().isAfter(now)) {
                return;
            } else if (!waitsForItsFirstTry(tick) || rules.brake() != null) {
                waiting.add(tick);
            } else if (isBuffered(tick)) {
                displaced.add(tick); // the buffer holds one
            } else if (tick.slot().at().equals(newestOnTime)
                    || isWithinItsDelay(rules.schedule(), tick.slot().at(), now)) {
                due.add(tick.slot());
            } else {
                waiting.add(
                        tick); // it waited so long for its start that newer ones are due: then the cap holds for it too
            }
        }

        /** Before the slot that is in the buffer now. One that was due at the grant overlaps nothing, for whatever it waits. */
        private boolean isBuffered(OpenTick tick) {
            Instant at = tick.slot().at();
            return buffered != null && held != null && at.isAfter(held.grantedAt()) && at.isBefore(buffered.at());
        }

        /** Newest first. A tick that waits for its further try has a place even where nothing is caught up. */
        void fillRoom(int room, Instant windowStart) {
            waiting.sort(
                    Comparator.comparing((OpenTick tick) -> tick.slot().at()).reversed());
            int left = room;
            boolean placeForRetry = rules.catchUp().max() == 0 && rules.brake() == null;
            for (OpenTick tick : waiting) {
                boolean inWindow = !tick.slot().at().isBefore(windowStart);
                boolean asRetry = placeForRetry && tick.notBefore() != null;
                if (!inWindow || (left == 0 && !asRetry)) {
                    closed.add(tick);
                    continue;
                }
                left -= asRetry ? 0 : 1;
                placeForRetry &= !asRetry;
                if (tick.isReady(now)) {
                    due.add(tick.slot());
                }
            }
        }
    }
}
