package dev.fencepost.history;

import org.jspecify.annotations.Nullable;

/** Which service a line is of, and what befell it, by its pid: the owner's text names that. */
final class Runners {

    /** From a signal until what it ends has surely ended, on a machine that is busy. */
    static final long DYING_MILLIS = 1_000;

    private static final int PID_IN_OWNER = 3;

    private Runners() {}

    /** The pid in the text of an owner, or -1 for one of another form. */
    static long pidOf(String owner) {
        String[] parts = owner.split("/", -1);
        try {
            return parts.length > PID_IN_OWNER ? Long.parseLong(parts[PID_IN_OWNER]) : -1;
        } catch (NumberFormatException otherForm) {
            return -1;
        }
    }

    /** The start of the service whose child wrote this line, or null. */
    static @Nullable Line nodeOf(History history, Line start) {
        long pid = pidOf(start.text("owner"));
        Line node = null;
        for (Line line : history.all("node")) {
            if (line.number("pid") == pid && line.up() <= start.up()) {
                node = line;
            }
        }
        return node;
    }

    /** The kill or end of this start of a service, or null. */
    static @Nullable Line endOf(History history, Line node) {
        for (Line line : history.signals()) {
            if ((line.is("kill") || line.is("end")) && isAfter(line, node)) {
                return line;
            }
        }
        return null;
    }

    /** Whether this start of a service was stopped at this moment, or had only just been woken. */
    static boolean isFrozen(History history, Line node, long up) {
        Line stop = null;
        for (Line line : history.signals()) {
            if (line.up() > up) {
                break;
            }
            if (line.is("stop") && isAfter(line, node)) {
                stop = line;
            } else if (line.is("cont") && isAfter(line, node) && up > line.up() + DYING_MILLIS) {
                stop = null;
            }
        }
        return stop != null;
    }

    private static boolean isAfter(Line line, Line node) {
        return line.number("pid") == node.number("pid") && line.up() >= node.up();
    }
}
