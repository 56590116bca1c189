package dev.fencepost.edge.web.page;

import dev.fencepost.edge.web.Problem;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which jobs of the overview are shown. The script does the same to the rows as they change.
 *
 * @param text has to be in the id or the schedule; lower case, empty for any
 * @param state empty for any
 */
record Filter(String text, String state) {

    static final String PAUSED = "paused";
    static final String FAILED = "failed";
    static final String SKIPPING = "skipping";

    private static final int LONGEST = 100;

    private static final Map<String, String> STATES = new LinkedHashMap<>();

    static {
        STATES.put("", "any state");
        STATES.put("running", "running");
        STATES.put(FAILED, "last one failed");
        STATES.put(SKIPPING, "skipping");
        STATES.put(PAUSED, "paused");
        STATES.put("deferred", "deferred");
        STATES.put("holder-gone", "holder gone");
        STATES.put("held", "held");
        STATES.put("idle", "idle");
        STATES.put("not-seen-yet", "not seen yet");
        STATES.put("not-in-this-file", "not in this file");
        STATES.put("retired", "retired");
        STATES.put("by-hand", "by hand");
    }

    /** For a list to choose from. */
    public record Choice(String value, String text, boolean chosen) {}

    /** @throws Problem 400 for a state that there is not */
    static Filter of(@Nullable String text, @Nullable String state) {
        String given = text == null ? "" : text.strip();
        String wanted = state == null ? "" : state;
        if (!STATES.containsKey(wanted)) {
            throw Problem.badRequest("there is no such state; choose one of "
                    + String.join(", ", STATES.keySet().stream().skip(1).toList()));
        }
        return new Filter(given.substring(0, Math.min(LONGEST, given.length())).toLowerCase(Locale.ROOT), wanted);
    }

    boolean shows(JobLine line) {
        return (state.isEmpty() || line.is().contains(state))
                && (line.id() + " " + line.schedule()).toLowerCase(Locale.ROOT).contains(text);
    }

    List<Choice> choices() {
        return STATES.entrySet().stream()
                .map(entry -> new Choice(
                        entry.getKey(), entry.getValue(), entry.getKey().equals(state)))
                .toList();
    }

    static String word(String state) {
        return STATES.getOrDefault(state, state);
    }
}
