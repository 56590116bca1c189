package dev.fencepost.run;

import dev.fencepost.run.History.Entry;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.History.SlotHistory;
import dev.fencepost.run.Ticks.Situation;
import dev.fencepost.schedule.Schedule;
import dev.fencepost.schedule.ScheduleText;
import dev.fencepost.schedule.Slot;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Asks a store for what {@link Why} has to know. Reads only. */
public final class Inquiry<S extends History & Ticks & Orders & Nodes> {

    private static final int EVENTS = 1_000;
    private static final int NODES = 1_000;
    private static final String RANGE = "range:";

    private final S store;

    public Inquiry(S store) {
        this.store = store;
    }

    /**
     * What is known of a slot of the job.
     *
     * @param defined the job of the file, or null where it has none
     * @param summary null for a job that the store does not know
     * @param named the slot; null for the newest at {@code at} or before it
     * @param at null for now
     */
    public Why.Facts facts(
            String id,
            @Nullable Job defined,
            @Nullable JobSummary summary,
            @Nullable Slot named,
            @Nullable Instant at) {
        ScheduleText stored = stored(summary);
        Schedule schedule = defined != null ? defined.schedule() : stored == null ? null : stored.schedule();
        Instant now = store.now();
        Slot slot = named != null ? named : newest(id, schedule, at == null ? now : at);
        Situation situation = store.situation(id);
        return new Why.Facts(
                id,
                zone(defined, summary),
                now,
                schedule,
                summary,
                situation == null ? null : situation.backlog().cursor(),
                slot,
                slot == null ? new SlotHistory(null, List.of(), null) : store.slot(id, slot),
                store.jobEvents(id, EVENTS),
                store.nodes(NODES));
    }

    /** In which people are shown the job's times: that of the file, else that of the schedule which the store knows, else UTC. */
    public static ZoneId zone(@Nullable Job defined, @Nullable JobSummary summary) {
        if (defined != null) {
            return defined.zone();
        }
        ScheduleText stored = stored(summary);
        return stored == null ? ZoneOffset.UTC : stored.zone();
    }

    private static @Nullable ScheduleText stored(@Nullable JobSummary summary) {
        return summary == null || summary.scheduleText() == null ? null : ScheduleText.parse(summary.scheduleText());
    }

    /** The slot as scripts know it; of a range the last one. */
    public static String slot(String key) {
        return key.startsWith(RANGE) ? key.substring(key.indexOf('/') + 1) : key;
    }

    /** Of the schedule; of a name that has none, as that of an exec, the newest that is stored. */
    private @Nullable Slot newest(String id, @Nullable Schedule schedule, Instant at) {
        if (schedule != null) {
            Instant newest = schedule.latest(at);
            return newest == null ? null : Slot.at(newest);
        }
        List<Entry> entries = store.history(id, 1);
        return entries.isEmpty() ? null : Slot.ofKey(slot(entries.getFirst().slotKey()));
    }
}
