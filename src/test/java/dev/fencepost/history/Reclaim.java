package dev.fencepost.history;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * That a slot was tried again after its holder had been killed or stopped.
 *
 * @param death the kill, or the stop
 * @param attempt row of what the holder had begun
 * @param next row of the next attempt at the same slot
 * @param millis from the one to the other
 * @param undisturbed whether the store was there all the time
 */
record Reclaim(Line death, Line attempt, Line next, long millis, long ttlMillis, boolean undisturbed) {

    /** After the store was away every node waits a while before it asks again. */
    private static final long RECONNECTING_MILLIS = 6_000;

    static List<Reclaim> all(History history) {
        Map<String, Line> jobs = TickRules.index(history.all("job"), "job");
        List<Line> attempts = history.rows("attempt");
        List<Reclaim> all = new ArrayList<>();
        for (Line death : history.signals()) {
            if (!death.is("kill") && !death.is("stop")) {
                continue;
            }
            for (Line attempt : attempts) {
                Line job = jobs.get(attempt.text("job"));
                if (job == null || !wasOpen(history, attempt, death)) {
                    continue;
                }
                for (Line next : attempts) {
                    if (isNext(attempt, next)) {
                        long up = history.upAt(next.number("started_at"));
                        all.add(new Reclaim(
                                death,
                                attempt,
                                next,
                                up - death.up(),
                                job.number("ttl"),
                                isUndisturbed(history, death.up(), up)));
                    }
                }
            }
        }
        return all;
    }

    private static boolean wasOpen(History history, Line attempt, Line death) {
        Long ended = attempt.numberOrNull("ended_at");
        boolean closedByAnother = attempt.text("outcome").equals("ABANDONED")
                || attempt.text("outcome").equals("LEASE_LOST");
        return Runners.pidOf(attempt.text("owner")) == death.number("pid")
                && history.upAt(attempt.number("started_at")) <= death.up()
                && ended != null
                && closedByAnother
                && history.upAt(ended) > death.up();
    }

    private static boolean isNext(Line attempt, Line next) {
        return next.text("job").equals(attempt.text("job"))
                && next.text("slot_key").equals(attempt.text("slot_key"))
                && next.number("number") == attempt.number("number") + 1;
    }

    private static boolean isUndisturbed(History history, long from, long to) {
        boolean down = false;
        for (Line line : history.all("database")) {
            if (line.up() >= from - RECONNECTING_MILLIS && line.up() <= to) {
                return false;
            }
            down = line.up() <= to ? line.text("state").equals("down") : down;
        }
        return !down && !history.promotedBetween(from - RECONNECTING_MILLIS, to);
    }
}
