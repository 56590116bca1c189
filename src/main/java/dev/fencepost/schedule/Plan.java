package dev.fencepost.schedule;

import dev.fencepost.schedule.Backlog.OpenTick;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What is to become of the due slots of one job. Written in one transaction, if the cursor is still where it was read; the part
 * {@code due} needs no writing.
 *
 * @param cursor newest planned slot after this plan
 * @param cutBackTo instant to which ranges of dropped slots are cut, since the clock was set back, or null
 * @param dropped missed slots that will not be run, or null
 * @param skippedRange older slots skipped for overlap, too many for a row each, or null
 * @param skipped slots skipped for overlap, oldest first
 * @param opened slots that become open ticks, oldest first
 * @param closed open ticks that are over: attempts used up, or no longer among the newest; each ends with its last attempt's result
 * @param caughtUp how many of the opened ones were missed
 * @param due slots to run now, oldest first, whether opened now or before
 * @param displaced open ticks that waited for the end of the run before, and end as skipped since a newer slot waits in their place
 * @param takeOver the run that has to make way, or null
 * @param brake why nothing of the schedule is run for the moment, so that its slots end as dropped; or null
 */
public record Plan(
        Instant cursor,
        @Nullable Instant cutBackTo,
        @Nullable SlotRange dropped,
        @Nullable SlotRange skippedRange,
        List<Slot> skipped,
        List<NewTick> opened,
        List<OpenTick> closed,
        int caughtUp,
        List<Slot> due,
        List<OpenTick> displaced,
        @Nullable TakeOver takeOver,
        @Nullable String brake) {

    /** Of a job with neither a buffer nor a brake. */
    public Plan(
            Instant cursor,
            @Nullable Instant cutBackTo,
            @Nullable SlotRange dropped,
            @Nullable SlotRange skippedRange,
            List<Slot> skipped,
            List<NewTick> opened,
            List<OpenTick> closed,
            int caughtUp,
            List<Slot> due) {
        this(cursor, cutBackTo, dropped, skippedRange, skipped, opened, closed, caughtUp, due, List.of(), null, null);
    }

    /** So many slots between two instants, both of them included. */
    public record SlotRange(long count, Instant first, Instant last) {}

    /** @param onTime whether it runs outside the catch-up cap */
    public record NewTick(Slot slot, boolean onTime) {}

    /** The run under the lease with this token has to make way for the slot. */
    public record TakeOver(long fence, Slot slot) {}

    /** Whether there is anything to write. */
    public boolean changes(Instant cursorBefore) {
        return !cursor.equals(cursorBefore)
                || dropped != null
                || skippedRange != null
                || !skipped.isEmpty()
                || !opened.isEmpty()
                || !closed.isEmpty()
                || !displaced.isEmpty();
    }

    /** The same without the slots of these keys, which had a row, or an attempt, before. */
    public Plan without(Set<String> keys) {
        return new Plan(
                cursor,
                cutBackTo,
                dropped,
                skippedRange,
                skipped.stream().filter(slot -> !keys.contains(slot.key())).toList(),
                opened.stream()
                        .filter(tick -> !keys.contains(tick.slot().key()))
                        .toList(),
                closed.stream()
                        .filter(tick -> !keys.contains(tick.slot().key()))
                        .toList(),
                caughtUp,
                due.stream().filter(slot -> !keys.contains(slot.key())).toList(),
                displaced.stream()
                        .filter(tick -> !keys.contains(tick.slot().key()))
                        .toList(),
                takeOver == null || keys.contains(takeOver.slot().key()) ? null : takeOver,
                brake);
    }
}
