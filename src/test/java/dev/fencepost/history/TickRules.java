package dev.fencepost.history;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What becomes of slots. */
final class TickRules {

    /** A node looks at its jobs so often. */
    static final long POLL_MILLIS = 1_000;

    /** What a machine that is busy may cost beside that: the JVM's threads, the start of the child, the reading of the clock. */
    private static final long SLACK_MILLIS = 1_500;

    private TickRules() {}

    /** S8: an outcome that was seen stays; after a promotion it may be lost, never changed within one primary's time. */
    static void outcomeIsWrittenOnce(History history, Rule.Report report) {
        Map<String, Line> seen = new HashMap<>();
        for (Line line : history.all("seen")) {
            String slot = promotionsUntil(history, line) + " " + line.text("job") + " " + line.text("slot");
            Line before = seen.putIfAbsent(slot, line);
            if (before != null && !sameEnd(before, line.text("outcome"), line.text("run"))) {
                report.violated("S8", "a tick has two outcomes", before, line);
            }
        }
        int promotions = history.all("promoted").size();
        Map<String, TreeMap<Long, Line>> slots = new HashMap<>();
        for (Line tick : history.rows("tick")) {
            if (!tick.has("outcome")) {
                continue;
            }
            Line before = seen.remove(promotions + " " + tick.text("job") + " " + tick.text("slot_key"));
            if (before != null && !sameEnd(before, tick.text("outcome"), tick.text("run_id"))) {
                report.violated("S8", "a tick has another outcome at the end", before, tick);
            }
            Line overlapping = put(slots.computeIfAbsent(tick.text("job"), none -> new TreeMap<>()), tick);
            if (overlapping != null) {
                report.violated("S8", "a slot has two rows", overlapping, tick);
            }
        }
        seen.forEach((slot, line) -> {
            // What was dropped while a clock stood wrong is cut to where the clock is now, so ranges may change their
            // keys.
            if (slot.startsWith(promotions + " ") && !line.text("outcome").equals("DROPPED")) {
                report.violated("S8", "a tick that had an outcome is gone, or has none any more", line);
            }
        });
    }

    private static long promotionsUntil(History history, Line line) {
        return history.all("promoted").stream()
                .filter(promoted -> promoted.up() < line.up())
                .count();
    }

    private static boolean sameEnd(Line seen, String outcome, String run) {
        return seen.text("outcome").equals(outcome) && seen.text("run").equals(run);
    }

    /** Returns a row that has one of these slots already, or null. */
    private static @Nullable Line put(TreeMap<Long, Line> slots, Line tick) {
        long last = tick.number("slot_at");
        Long first = tick.numberOrNull("range_first");
        Map.Entry<Long, Line> before = slots.floorEntry(last);
        Map.Entry<Long, Line> after = slots.ceilingEntry(last);
        slots.put(last, tick);
        if (before != null && before.getKey() >= (first == null ? last : first)) {
            return before.getValue();
        }
        Long firstOfAfter = after == null ? null : after.getValue().numberOrNull("range_first");
        return firstOfAfter != null && firstOfAfter <= last && after != null ? after.getValue() : null;
    }

    /** S9: attempt, tick, event, effects and cursor: all of a completion or nothing. */
    static void allOrNone(History history, Rule.Report report) {
        Map<String, Line> attempts = index(history.rows("attempt"), "run_id");
        Map<String, Line> events = index(
                history.rows("write_event").stream()
                        .filter(LeaseRules::isEndOfGrant)
                        .toList(),
                "run_id");
        Map<String, Line> effects = index(history.rows("effect"), "key");
        Map<String, Line> ticks = history.rows("tick").stream()
                .collect(Collectors.toMap(TickRules::slotOfTick, tick -> tick, (one, other) -> other));
        for (Line attempt : attempts.values()) {
            if (!attempt.text("outcome").equals("SUCCEEDED")) {
                continue;
            }
            Line tick = ticks.get(attempt.text("job") + "@" + attempt.text("slot_key"));
            if (tick == null || !isEndOf(tick, attempt)) {
                report.violated("S9", "a success without its tick's outcome", withOrWithout(attempt, tick));
            }
            Line event = events.get(attempt.text("run_id"));
            if (event == null || !event.text("reason").equals("SUCCEEDED")) {
                report.violated("S9", "a success without its event", withOrWithout(attempt, event));
            }
            boolean told = history.all("start").stream()
                    .anyMatch(start -> start.text("job").equals(attempt.text("job")));
            if (told && history.ofRun(attempt.text("run_id")).stream().noneMatch(line -> line.is("done"))) {
                report.violated("S9", "a success whose command never came to its end", attempt);
            }
            for (Line done : history.ofRun(attempt.text("run_id"))) {
                for (String name : done.is("done") ? names(done) : Set.<String>of()) {
                    if (!effects.containsKey(slotOfAttempt(attempt) + "/" + name)) {
                        report.violated("S9", "a success without its effect " + name, attempt, done);
                    }
                }
            }
        }
        for (Line tick : ticks.values()) {
            Line attempt = attempts.get(tick.text("run_id"));
            if (tick.text("outcome").equals("SUCCEEDED") && (attempt == null || !isEndOf(tick, attempt))) {
                report.violated("S9", "a tick has succeeded without its attempt", withOrWithout(tick, attempt));
            }
        }
        for (Line event : events.values()) {
            Line attempt = attempts.get(event.text("run_id"));
            boolean ofJob =
                    ticks.values().stream().anyMatch(tick -> tick.text("job").equals(event.text("resource")));
            if (ofJob && (attempt == null || !attempt.text("outcome").equals(event.text("reason")))) {
                report.violated("S9", "an accepted end that the attempt does not have", withOrWithout(event, attempt));
            }
        }
        for (Line effect : effects.values()) {
            Line attempt = attempts.get(effect.text("run_id"));
            if (attempt == null || !attempt.text("outcome").equals("SUCCEEDED")) {
                report.violated(
                        "S9", "an effect without the success that announced it", withOrWithout(effect, attempt));
            }
        }
        checkCursor(history, report);
    }

    private static void checkCursor(History history, Rule.Report report) {
        Map<String, Line> jobs = index(history.rows("job"), "id");
        boolean clockSet = history.all("database").stream()
                .anyMatch(line -> line.text("state").equals("clock"));
        for (Line tick : history.rows("tick")) {
            Line job = jobs.get(tick.text("job"));
            boolean ofSchedule = !tick.text("slot_key").startsWith("manual:");
            if (job != null && ofSchedule && !clockSet && tick.number("slot_at") > job.number("cursor_at")) {
                report.violated("S9", "a tick beyond the cursor", tick, job);
            }
        }
    }

    private static Set<String> names(Line done) {
        String names = done.text("effects");
        return names.isEmpty() ? Set.of() : new HashSet<>(List.of(names.split(" ")));
    }

    private static boolean isEndOf(Line tick, Line attempt) {
        return tick.text("outcome").equals("SUCCEEDED")
                && attempt.text("outcome").equals("SUCCEEDED")
                && tick.text("run_id").equals(attempt.text("run_id"));
    }

    private static String slotOfTick(Line tick) {
        return tick.text("job") + "@" + tick.text("slot_key");
    }

    private static String slotOfAttempt(Line attempt) {
        return attempt.text("job") + "@" + attempt.text("slot_key");
    }

    private static Line[] withOrWithout(Line line, @Nullable Line other) {
        return other == null ? new Line[] {line} : new Line[] {line, other};
    }

    static Map<String, Line> index(List<Line> lines, String name) {
        Map<String, Line> index = new HashMap<>();
        lines.forEach(line -> index.put(line.text(name), line));
        return index;
    }

    /** S17: a slot has one key, whichever attempt runs it on whichever node, and no other slot has the same. */
    static void oneKeyForASlot(History history, Rule.Report report) {
        Map<String, Line> slotOfKey = new HashMap<>();
        Map<String, Line> keyOfSlot = new HashMap<>();
        for (Line start : history.all("start")) {
            String slot = start.text("job") + "@" + start.text("slot");
            Line sameKey = slotOfKey.putIfAbsent(start.text("key"), start);
            if (sameKey != null && !slot.equals(sameKey.text("job") + "@" + sameKey.text("slot"))) {
                report.violated("S17", "one key of two slots", sameKey, start);
            }
            Line sameSlot = keyOfSlot.putIfAbsent(slot, start);
            if (sameSlot != null && !sameSlot.text("key").equals(start.text("key"))) {
                report.violated("S17", "two keys of one slot", sameSlot, start);
            }
        }
        for (Line effect : history.rowsOfAll("effect")) {
            String slot = effect.text("job") + "@" + effect.text("slot_key");
            if (!effect.text("key").equals(slot + "/" + effect.text("name"))) {
                report.violated("S17", "an effect's key is not that of its slot", effect);
            }
        }
    }

    /** No slot that was due is without its one outcome. */
    static void noSlotIsLost(History history, Rule.Report report) {
        for (Line settled : history.all("settled")) {
            for (Line job : history.all("job")) {
                TreeMap<Long, Line> ticks = new TreeMap<>();
                history.rows("tick").stream()
                        .filter(tick -> tick.text("job").equals(job.text("job")) && tick.has("outcome"))
                        .forEach(tick -> ticks.put(tick.number("slot_at"), tick));
                for (long slot = firstSlot(job); slot <= settled.number("until"); slot += job.number("interval")) {
                    if (tickOf(ticks, slot) == null) {
                        report.violated("LOSS", "slot " + slot + " of " + job.text("job") + " has no outcome", job);
                    }
                }
            }
        }
    }

    static long firstSlot(Line job) {
        long interval = job.number("interval");
        return Math.ceilDiv(job.number("from"), interval) * interval;
    }

    /** The row that has this slot, alone or in a range, or null. */
    static @Nullable Line tickOf(TreeMap<Long, Line> ticks, long slot) {
        Map.Entry<Long, Line> entry = ticks.ceilingEntry(slot);
        if (entry == null) {
            return null;
        }
        Long first = entry.getValue().numberOrNull("range_first");
        return entry.getKey() == slot || (first != null && first <= slot) ? entry.getValue() : null;
    }

    /** L1: the slot of a dead holder is taken over within its ttl and a poll, while the store is there. */
    static void reclaimedInTime(History history, Rule.Report report) {
        for (Reclaim reclaim : Reclaim.all(history)) {
            if (reclaim.undisturbed() && reclaim.millis() > reclaim.ttlMillis() + POLL_MILLIS + SLACK_MILLIS) {
                report.violated(
                        "L1",
                        "taken over " + reclaim.millis() + " ms after the holder's end; the ttl is "
                                + reclaim.ttlMillis() + " ms",
                        reclaim.death(),
                        reclaim.attempt(),
                        reclaim.next());
            }
        }
    }
}
