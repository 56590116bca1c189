package dev.fencepost.edge.cli;

import dev.fencepost.schedule.Schedule;
import java.time.Instant;

/** What to write instead of an instant that cannot be run. */
final class NeighbouringSlots {

    private NeighbouringSlots() {}

    static String words(String option, String what, Schedule schedule, Instant wanted) {
        Instant before = schedule.latest(wanted.minusSeconds(1));
        Instant after = schedule.next(wanted);
        return option + ": " + what + "\n    the slot before it is " + (before == null ? "none" : before)
                + ", the one after it " + (after == null ? "none" : after);
    }
}
