package dev.fencepost.edge.web.page;

import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Time;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Remembers when the leases of this node's runs were renewed: no store keeps that. A journal that passes everything on. Of the newest
 * {@link #MOST_RUNS} runs it knows the newest {@link #MOST_OF_A_RUN} renewals, by this host's wall clock. Safe for use by many threads.
 */
public final class RecentRenewals implements Journal {

    static final int MOST_RUNS = 1_000;
    static final int MOST_OF_A_RUN = 200;

    private final Journal next;
    private final Time time;
    private final Map<Run, Renewals> runs = new LinkedHashMap<>();

    public RecentRenewals(Journal next, Time time) {
        this.next = next;
        this.time = time;
    }

    private record Run(String job, long fence) {}

    private static final class Renewals {
        private final String runId;
        private final Deque<Instant> newest = new ArrayDeque<>();
        private long count;

        Renewals(String runId) {
            this.runId = runId;
        }
    }

    /**
     * @param count of all renewals
     * @param newest the last of them, oldest first
     */
    record Known(long count, List<Instant> newest) {}

    /** Empty for a run of another node, for one of before this start, and for one that was not renewed. */
    synchronized Known of(String job, long fence, String runId) {
        Renewals renewals = runs.get(new Run(job, fence));
        return renewals == null || !renewals.runId.equals(runId)
                ? new Known(0, List.of())
                : new Known(renewals.count, List.copyOf(renewals.newest));
    }

    @Override
    public void record(Event event) {
        switch (event) {
            case Event.Started started -> started(started);
            case Event.Renewed renewed -> renewed(renewed);
            default -> {}
        }
        next.record(event);
    }

    private synchronized void started(Event.Started started) {
        runs.put(new Run(started.job(), started.fence()), new Renewals(started.runId()));
        if (runs.size() > MOST_RUNS) {
            runs.remove(runs.keySet().iterator().next());
        }
    }

    private synchronized void renewed(Event.Renewed renewed) {
        Renewals renewals = runs.get(new Run(renewed.job(), renewed.fence()));
        if (renewals == null) {
            return; // so many runs have begun since
        }
        renewals.count++;
        renewals.newest.addLast(time.wallClock());
        if (renewals.newest.size() > MOST_OF_A_RUN) {
            renewals.newest.removeFirst();
        }
    }
}
