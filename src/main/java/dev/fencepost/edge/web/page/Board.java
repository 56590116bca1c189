package dev.fencepost.edge.web.page;

import dev.fencepost.effect.Outbox.Tally;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.History.LastTick;
import dev.fencepost.run.History.Mark;
import dev.fencepost.run.Job;
import dev.fencepost.run.NodeStanding;
import dev.fencepost.run.Nodes.NodeView;
import dev.fencepost.run.Standing;
import io.quarkus.qute.TemplateInstance;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The overview as all visitors see it: read from the store at most once a second, and only while somebody looks. While the store is away
 * the last rows stay, and a line says since when. Safe for use by many threads: one of them reads, and the others do not wait for it as
 * long as what is known is only a few seconds old.
 */
final class Board {

    static final String STATE = "state";
    static final String COUNTS = "counts";
    static final String STORE = "store";
    static final String NODES = "nodes";

    private static final long FRESH_MILLIS = 1_000;
    /** So long nobody tries again when there was no answer: a try may cost its visitor many seconds. */
    private static final long FRESH_AFTER_FAILURE_MILLIS = 3_000;

    private static final long GOOD_ENOUGH_MILLIS = 10_000;
    private static final long GOOD_ENOUGH_TO_COUNT_MILLIS = 15_000;
    /** A sign of life is written each 15 s, so there is nothing new sooner. */
    private static final long NODES_MILLIS = 5_000;
    /** The store's latency is shown anew so often, so that not every second something changes. */
    private static final long LATENCY_MILLIS = 10_000;

    private static final long CLOCK_STEP_MILLIS = 10;
    /** Each strip is read anew after so many readings, whether its job has a new tick or not: a tick may be closed or reopened behind it. */
    private static final int ROUND = 60;

    private final Page.Parts parts;
    private final Outage outage;
    private final ReentrantLock reading = new ReentrantLock();
    private volatile Look look;

    // What follows belongs to whoever holds the lock.
    private final Map<String, Kept> kept = new HashMap<>();
    private List<NodeView> starts = List.of();
    private long startsReadAt;
    private int turn;
    private long latencyShown = -1;
    private long latencyShownAt;

    Board(Page.Parts parts) {
        this.parts = parts;
        this.outage = new Outage(parts);
        // Versions go on rising when the program is started anew, so that what a browser has of its predecessor is
        // older.
        look = new Look(
                Regions.startingAt(parts.time().wallClock().toEpochMilli()), List.of(), 0, null, 0, false, false);
    }

    /**
     * @param jobs the rows, in their order
     * @param waiting how many things wait for a person
     * @param now the store's clock at the reading, null before the first answer
     * @param readAt boot clock
     * @param isRead whether there was a reading at all
     * @param failed whether the last one had no answer
     */
    record Look(
            Regions regions,
            List<Listed> jobs,
            long waiting,
            @Nullable Instant now,
            long readAt,
            boolean isRead,
            boolean failed) {}

    /** A job's row and what it was made of. */
    record Listed(Region region, JobLine line) {}

    /** @param key by what the strip was read */
    private record Kept(Standing standing, StripKey key, Strip strip, Listed listed) {}

    /** When this has changed, the newest ticks have too. */
    private record StripKey(
            @Nullable LastTick last, @Nullable Attempt running, long skips) {
        static StripKey of(@Nullable JobSummary summary) {
            return summary == null
                    ? new StripKey(null, null, 0)
                    : new StripKey(summary.last(), summary.running(), summary.skippedInARow());
        }
    }

    /** @param starting whether the store was not reached since the start; @param since null while it answers */
    record State(boolean starting, @Nullable When since) implements TemplateInstance {}

    record Row(JobLine job) implements TemplateInstance {}

    record Counts(long all, List<Count> counts) implements TemplateInstance {}

    /** How many jobs are in a state; a link to them. */
    public record Count(String state, String word, long jobs) {}

    record StoreLine(String place, String latency) implements TemplateInstance {}

    record Nodes(List<NodeRow> nodes, boolean differ) implements TemplateInstance {}

    /** How many things wait for a person, as of the last look. */
    long waiting() {
        return look(GOOD_ENOUGH_TO_COUNT_MILLIS).waiting();
    }

    Regions regions() {
        return look().regions();
    }

    /** What is known of the store's clock without asking it. */
    Instant now() {
        Look known = look;
        return known.now() == null
                ? parts.time().wallClock()
                : known.now().plusMillis(parts.time().bootMillis() - known.readAt());
    }

    Look look() {
        return look(FRESH_MILLIS);
    }

    private Look look(long freshMillis) {
        Look known = look;
        if (isFresh(known, freshMillis)) {
            return known;
        }
        if (!reading.tryLock()) {
            if (known.failed() || isFresh(known, GOOD_ENOUGH_MILLIS)) {
                return known;
            }
            reading.lock();
        }
        try {
            known = look;
            if (!isFresh(known, freshMillis)) {
                known = next(known);
                look = known;
            }
            return known;
        } finally {
            reading.unlock();
        }
    }

    private boolean isFresh(Look known, long millis) {
        return known.isRead()
                && parts.time().bootMillis() - known.readAt()
                        < (known.failed() ? Math.max(millis, FRESH_AFTER_FAILURE_MILLIS) : millis);
    }

    private Look next(Look known) {
        boolean ready = parts.ready().getAsBoolean();
        Instant since;
        if (ready) {
            try {
                return read(known);
            } catch (StoreException away) {
                since = outage.goesOn(away, null);
            }
        } else {
            since = outage.goesOn();
        }
        State state = new State(!ready, When.of(since, ZoneOffset.UTC));
        List<Region> regions = new ArrayList<>();
        List<Listed> jobs = known.jobs();
        if (known.now() == null) {
            jobs = unknownJobs();
            regions.add(region(COUNTS, new Counts(jobs.size(), List.of())));
            regions.add(region(STORE, new StoreLine(parts.store().describe(), "")));
            regions.add(region(NODES, new Nodes(List.of(), false)));
            jobs.forEach(job -> regions.add(job.region()));
        } else {
            regions.addAll(known.regions().all());
            regions.removeIf(region -> region.id().equals(STATE));
        }
        regions.addFirst(region(STATE, state));
        return new Look(
                known.regions().with(regions),
                jobs,
                known.waiting(),
                known.now() == null ? null : now(),
                parts.time().bootMillis(),
                true,
                true);
    }

    /** What the file alone says. */
    private List<Listed> unknownJobs() {
        Map<String, Configured> configured = configured();
        return Standing.of(jobs(configured), List.of(), parts.time().wallClock()).stream()
                .map(job -> listed(JobLine.of(job, configured.get(job.id()), Strip.EMPTY, false)))
                .toList();
    }

    private Look read(Look known) {
        long begin = parts.time().bootMillis();
        Instant now = parts.store().now();
        List<JobSummary> summaries = parts.store().jobs();
        List<Tally> tallies = parts.store().tallies();
        long end = parts.time().bootMillis();
        if (starts.isEmpty() || end - startsReadAt >= NODES_MILLIS) {
            starts = parts.store().nodes(NodeStanding.STARTS);
            startsReadAt = end;
        }
        Map<String, Configured> configured = configured();
        List<Standing> standings = Standing.of(jobs(configured), summaries, now);
        List<Listed> jobs = rows(standings, configured);

        List<Region> regions = new ArrayList<>();
        regions.add(region(STATE, new State(false, null)));
        regions.add(region(COUNTS, counts(jobs)));
        regions.add(region(STORE, new StoreLine(parts.store().describe(), latency(end - begin, end))));
        regions.add(region(NODES, nodes(now)));
        jobs.forEach(job -> regions.add(job.region()));
        outage.end();
        long waiting = tallies.stream().mapToLong(Tally::waiting).sum()
                + standings.stream().filter(Standing::waitsForAPerson).count();
        return new Look(known.regions().with(regions), jobs, waiting, now, begin, true, false);
    }

    private Map<String, Configured> configured() {
        Map<String, Configured> configured = new LinkedHashMap<>();
        parts.jobs().get().forEach(each -> configured.put(each.job().id(), each));
        return configured;
    }

    private static List<Job> jobs(Map<String, Configured> configured) {
        return configured.values().stream().map(Configured::job).toList();
    }

    /** Rows of jobs to which nothing has happened are those of the reading before. */
    private List<Listed> rows(List<Standing> standings, Map<String, Configured> configured) {
        Map<String, Strip> strips = strips(standings);
        List<Listed> rows = new ArrayList<>();
        for (Standing job : standings) {
            Kept before = kept.get(job.id());
            Strip fresh = strips.get(job.id());
            Strip strip = fresh != null ? fresh : before == null ? Strip.EMPTY : before.strip();
            Listed row = before != null
                            && before.standing().equals(job)
                            && before.strip().equals(strip)
                    ? before.listed()
                    : listed(JobLine.of(job, configured.get(job.id()), strip, true));
            kept.put(job.id(), new Kept(job, StripKey.of(job.summary()), strip, row));
            rows.add(row);
        }
        kept.keySet().retainAll(standings.stream().map(Standing::id).collect(Collectors.toSet()));
        return rows;
    }

    private Map<String, Strip> strips(List<Standing> standings) {
        turn = (turn + 1) % ROUND;
        List<String> asked = new ArrayList<>();
        for (int i = 0; i < standings.size(); i++) {
            Standing job = standings.get(i);
            Kept before = kept.get(job.id());
            if (job.summary() != null
                    && (before == null || !before.key().equals(StripKey.of(job.summary())) || i % ROUND == turn)) {
                asked.add(job.id());
            }
        }
        Map<String, Strip> strips = new HashMap<>();
        if (!asked.isEmpty()) {
            Map<String, List<Mark>> marks = parts.store().newest(asked, Strip.TICKS);
            asked.forEach(id -> strips.put(id, Strip.of(marks.getOrDefault(id, List.of()))));
        }
        return strips;
    }

    private static Listed listed(JobLine line) {
        return new Listed(region("job-" + line.id(), new Row(line)), line);
    }

    private static Counts counts(List<Listed> jobs) {
        List<Count> counts = new ArrayList<>();
        for (String state :
                List.of("running", Filter.FAILED, "holder-gone", Filter.SKIPPING, Filter.PAUSED, "deferred")) {
            long count =
                    jobs.stream().filter(job -> job.line().is().contains(state)).count();
            if (count > 0) {
                counts.add(new Count(state, Filter.word(state), count));
            }
        }
        return new Counts(jobs.size(), counts);
    }

    private String latency(long millis, long now) {
        if (latencyShown < 0 || now - latencyShownAt >= LATENCY_MILLIS) {
            latencyShown = millis;
            latencyShownAt = now;
        }
        return latencyShown < CLOCK_STEP_MILLIS ? "less than " + CLOCK_STEP_MILLIS + " ms" : latencyShown + " ms";
    }

    private Nodes nodes(Instant now) {
        List<NodeRow> rows = NodeStanding.of(starts, now).stream()
                .map(node -> NodeRow.of(node, parts.nodeId()))
                .toList();
        return new Nodes(rows, rows.stream().anyMatch(NodeRow::differs));
    }

    private static Region region(String id, TemplateInstance template) {
        return new Region(id, template.render());
    }
}
