package dev.fencepost.edge.web.page;

import dev.fencepost.Store;
import dev.fencepost.host.Printable;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History;
import dev.fencepost.run.History.Deferral;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.History.LastTick;
import dev.fencepost.run.History.Longest;
import dev.fencepost.run.History.Quarter;
import dev.fencepost.run.Inquiry;
import dev.fencepost.run.Job;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Standing;
import dev.fencepost.run.Why;
import dev.fencepost.schedule.Schedule;
import dev.fencepost.schedule.Slot;
import io.quarkus.qute.RawString;
import io.quarkus.qute.TemplateInstance;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One job as all its visitors see it: read from the store at most once a second, and only while somebody looks. While the store is away
 * what was last read stays, and a line says since when. Safe for use by many threads.
 */
final class JobBoard {

    static final String AWAY = "job-away";
    static final String HEAD = "job-head";
    static final String ORDERS = "job-orders";
    static final String HISTORY = "job-history";

    private static final int SLOTS = 5;
    private static final long FRESH_MILLIS = 1_000;

    /** What reads thousands of ticks is read so seldom. */
    private static final long LASTING_MILLIS = 60_000;

    private final Page.Open open;
    private final String id;
    private final Outage outage;
    private Regions regions;
    private @Nullable Reading reading;
    private long readAt;
    private @Nullable Lasting lasting;
    private long lastingReadAt;

    JobBoard(Page.Open open, String id) {
        this.open = open;
        this.id = id;
        this.outage = new Outage(open.parts());
        // Higher than any version of an earlier board or of an earlier start, so that no viewer takes a new one for
        // what it has.
        this.regions = Regions.startingAt(open.parts().time().wallClock().toEpochMilli());
    }

    /**
     * @param configured null where the file has no such job
     * @param summary null where the store has none
     */
    record Reading(
            @Nullable Configured configured, @Nullable JobSummary summary, ZoneId zone, Instant now) {

        boolean isKnown() {
            return configured != null || summary != null;
        }

        @Nullable
        Job job() {
            return configured == null ? null : configured.job();
        }
    }

    /** @param longest null where nothing has succeeded */
    record Lasting(List<Quarter> quarters, @Nullable Longest longest) {}

    record Look(Reading reading, Regions regions) {}

    record Away(String text) implements TemplateInstance {}

    /**
     * @param state in a word or two
     * @param kept what keeps it from running, in a sentence; empty
     * @param why what became of the newest slot
     * @param whySlot link to its tick; empty
     */
    record Head(
            String state,
            String style,
            String sign,
            RawString since,
            JobHistory.Reason kept,
            JobHistory.Reason why,
            List<Fact> facts,
            @Nullable Bar bar,
            List<Next> next,
            String noNext)
            implements TemplateInstance {}

    /** @param link of the value; empty */
    public record Fact(String name, RawString before, String text, String link, String style, RawString after) {}

    /** @param in how long; whole minutes, so that it does not change each second: the script counts down */
    public record Next(RawString at, long millis, String in) {}

    /** A live lease: how much of it is left. */
    public record Bar(long ttlMillis, long untilMillis) {}

    /** The next look reads anew, since something was ordered. */
    synchronized void forget() {
        readAt -= FRESH_MILLIS;
    }

    /** @throws StoreException if the store is away and nothing was read before */
    synchronized Look look() {
        long now = open.parts().time().bootMillis();
        Reading last = reading;
        if (last != null && now - readAt < FRESH_MILLIS) {
            return new Look(last, regions);
        }
        try {
            Reading fresh = read();
            regions = regions.with(fresh.isKnown() ? regions(fresh) : List.of());
            reading = fresh;
            outage.end();
            last = fresh;
        } catch (StoreException away) {
            if (last == null || regions.all().isEmpty()) {
                throw away;
            }
            List<Region> old = new ArrayList<>(regions.all());
            old.set(
                    0,
                    away("The store has not answered since " + Times.local(outage.goesOn(away, id), last.zone())
                            + "; below is what was known then. This page comes back by itself."));
            regions = regions.with(old);
        }
        readAt = open.parts().time().bootMillis();
        return new Look(last, regions);
    }

    /** @throws StoreException if the store is away and nothing was read before */
    synchronized Lasting lasting(Instant from) {
        long now = open.parts().time().bootMillis();
        Lasting known = lasting;
        if (known == null || now - lastingReadAt >= LASTING_MILLIS) {
            Store store = open.store();
            known = new Lasting(
                    store.quarters(id, from), store.longestSuccess(id).orElse(null));
            lasting = known;
            lastingReadAt = now;
        }
        return known;
    }

    private Reading read() {
        Configured configured = open.job(id);
        JobSummary summary = open.store().job(id);
        Job job = configured == null ? null : configured.job();
        return new Reading(
                configured, summary, Inquiry.zone(job, summary), open.store().now());
    }

    private List<Region> regions(Reading read) {
        Store store = open.store();
        Why.Facts facts = new Inquiry<>(store).facts(id, read.job(), read.summary(), null, null);
        History.Page page = store.page(id, null, List.of(), JobHistory.TICKS);
        return List.of(
                away(""),
                new Region(HEAD, head(read, facts).render()),
                new Region(ORDERS, ordersKey(read.summary(), page)),
                new Region(
                        HISTORY,
                        JobHistory.of(id, page, null, List.of(), read.zone()).render()));
    }

    private static Region away(String text) {
        return new Region(AWAY, new Away(text).render());
    }

    /** What the buttons hang on; each viewer gets his own in its place. */
    private static String ordersKey(@Nullable JobSummary summary, History.Page page) {
        String open = page.entries().stream()
                .filter(entry -> entry.tickOutcome() == null)
                .map(entry -> entry.slotKey()
                        + (entry.attempt() == null ? "" : entry.attempt().endedAt()))
                .collect(Collectors.joining(","));
        return summary == null
                ? open
                : summary.pause() + "|" + summary.deferral() + "|" + summary.retired() + "|" + summary.brakesSince()
                        + "|"
                        + (summary.running() == null ? "" : summary.running().runId()) + "|" + open;
    }

    /** Puts a visitor's own buttons among the regions. For one thread. */
    static final class Viewer {

        private final Visit visit;
        private final JobBoard board;
        private @Nullable Region buttons;
        private long of;

        Viewer(Visit visit, JobBoard board) {
            this.visit = visit;
            this.board = board;
        }

        Regions regions(Look look) {
            Map<String, Regions.Entry> entries =
                    new LinkedHashMap<>(look.regions().entries());
            entries.computeIfPresent(ORDERS, (key, entry) -> {
                Region own = buttons;
                if (own == null || of != entry.changedIn()) {
                    own = new Region(
                            ORDERS,
                            Buttons.of(visit, board.id, look.reading().summary())
                                    .getValue());
                    buttons = own;
                    of = entry.changedIn();
                }
                return new Regions.Entry(own, entry.changedIn());
            });
            return new Regions(look.regions().version(), look.regions().shapedIn(), entries);
        }
    }

    private Head head(Reading read, Why.Facts facts) {
        JobSummary summary = read.summary();
        ZoneId zone = read.zone();
        Instant now = facts.now();
        Schedule schedule = facts.schedule();
        Standing standing = Standing.of(id, read.job(), summary, now);
        Label state = JobLine.told(standing);
        Instant since = since(standing);
        boolean isRetired = summary != null && summary.retired();
        boolean isPaused = standing.pause() != null && standing.pause().until() == null;
        return new Head(
                state.word(),
                state.style(),
                state.sign(),
                since == null ? new RawString("") : Times.element(since, zone),
                JobHistory.Reason.of(kept(standing, zone)),
                JobHistory.Reason.of(Why.of(facts).sentence()),
                facts(read, facts),
                bar(read),
                isRetired || isPaused ? List.of() : next(schedule, now, zone),
                schedule == null || isRetired
                        ? "None: no jobs file in force has this job."
                        : isPaused ? "None while the job is paused." : "None: the schedule has ended.");
    }

    /** Since when it has been so; null where nothing tells. */
    private static @Nullable Instant since(Standing standing) {
        Attempt open = standing.summary() == null ? null : standing.summary().running();
        return switch (standing.state()) {
            case RUNNING, HOLDER_GONE -> open == null ? null : open.startedAt();
            case HELD -> standing.lease() == null ? null : standing.lease().grantedAt();
            case PAUSED -> standing.pause() == null ? null : standing.pause().since();
            default -> null;
        };
    }

    private static @Nullable String kept(Standing standing, ZoneId zone) {
        Pause pause = standing.pause();
        if (pause != null) {
            String who = pause.cause() == Pause.Cause.PERSON
                    ? pause.by()
                    : "the brake " + (pause.cause() == Pause.Cause.AUTH ? "for logins" : "pause-after-failures");
            return "Paused by " + who
                    + (pause.until() == null
                            ? " until somebody resumes it"
                            : " until " + Times.local(pause.until(), zone))
                    + because(pause.reason());
        }
        Deferral deferral = standing.deferral();
        return deferral == null
                ? null
                : "Deferred until " + Times.local(deferral.until(), zone) + " by a usage limit"
                        + because(deferral.reason());
    }

    private static String because(@Nullable String reason) {
        return reason == null ? "." : ": " + reason;
    }

    private List<Fact> facts(Reading read, Why.Facts known) {
        JobSummary summary = read.summary();
        ZoneId zone = read.zone();
        List<Fact> facts = new ArrayList<>();
        Schedule schedule = known.schedule();
        facts.add(fact("Schedule", schedule(read.configured(), schedule)));
        facts.add(fact("Times are in", Times.name(zone)));
        if (summary == null) {
            return facts;
        }
        facts.add(lease(summary.lease(), zone));
        Slot slot = known.slot();
        LastTick last = summary.last();
        if (last != null) {
            Label told = Label.of(last.outcome());
            facts.add(new Fact(
                    "Last tick",
                    new RawString(""),
                    told.sign() + " " + told.word(),
                    Inquiry.slot(last.slotKey()).equals(last.slotKey()) ? Links.tick(id, last.slotKey()) : "",
                    told.style(),
                    Times.element(last.endedAt(), zone)));
        } else if (slot != null && !known.stored().attempts().isEmpty()) {
            facts.add(new Fact(
                    "Newest tick", new RawString(""), slot.key(), Links.tick(id, slot.key()), "", new RawString("")));
        }
        Instant success = summary.lastSuccessAt();
        facts.add(new Fact(
                "Last success",
                success == null ? new RawString("") : Times.element(success, zone),
                success == null ? "none so far" : "",
                "",
                "",
                new RawString("")));
        if (summary.skippedInARow() > 0) {
            facts.add(fact("Skipped since then", String.valueOf(summary.skippedInARow())));
        }
        return facts;
    }

    /** As the jobs file has it; else as the store does. */
    private static String schedule(@Nullable Configured configured, @Nullable Schedule known) {
        if (configured != null) {
            for (Configured.Value value : configured.values()) {
                if (value.key().equals("every") || value.key().equals("cron")) {
                    return value.key() + " " + value.text();
                }
            }
        }
        return known == null ? "none known here" : known.text();
    }

    private static @Nullable Bar bar(Reading read) {
        LeaseView lease = read.summary() == null ? null : read.summary().lease();
        Job job = read.job();
        return lease == null || job == null || !lease.isLive() || lease.expiresAt() == null
                ? null
                : new Bar(job.ttl().toMillis(), lease.expiresAt().toEpochMilli());
    }

    private static Fact lease(@Nullable LeaseView lease, ZoneId zone) {
        if (lease == null) {
            return fact("Lease", "never held");
        }
        Instant until = lease.expiresAt();
        if (lease.owner() == null || until == null) {
            return fact("Lease", "free; newest token " + lease.fence());
        }
        return new Fact(
                "Lease",
                new RawString(""),
                "token " + lease.fence() + ", held by " + JobHistory.shortOwner(lease.owner())
                        + (lease.isLive() ? ", until" : "; ran out"),
                "",
                lease.isLive() ? "live" : "warn",
                Times.element(until, zone));
    }

    private static Fact fact(String name, String text) {
        return new Fact(name, new RawString(""), Printable.text(text), "", "", new RawString(""));
    }

    private static List<Next> next(@Nullable Schedule schedule, Instant now, ZoneId zone) {
        List<Next> next = new ArrayList<>();
        Instant slot = schedule == null ? null : schedule.next(now);
        while (schedule != null && slot != null && next.size() < SLOTS) {
            long minutes = Duration.between(now, slot).toMinutes();
            next.add(new Next(
                    Times.element(slot, zone),
                    slot.toEpochMilli(),
                    minutes < 1 ? "in less than a minute" : "in " + Times.span(Duration.ofMinutes(minutes))));
            slot = schedule.next(slot);
        }
        return next;
    }
}
