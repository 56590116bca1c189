package dev.fencepost.edge.web.page;

import dev.fencepost.Store;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.EffectView;
import dev.fencepost.effect.Outbox.Filter;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.History.WriteEvent;
import dev.fencepost.run.Nodes.NodeView;
import dev.fencepost.run.Pause;
import io.quarkus.qute.RawString;
import io.quarkus.qute.TemplateInstance;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What waits for a person, as all visitors see it: read from the store at most once in two seconds, and only while somebody looks. Forms are
 * no part of it: they are each visitor's own, and what somebody types into one must not be replaced. Safe for use by many threads.
 */
final class Waiting {

    /** More of them, and the page says so. */
    static final int MOST = 50;

    private static final int NODES = 1_000;

    /** Refused effects are looked for among so many of the newest. */
    private static final int NEWEST = 300;

    private static final int MOST_REFUSED = 20;
    private static final int DIGEST = 12;
    private static final long FRESH_MILLIS = 2_000;

    private final Page.Parts parts;
    private final Outage outage;
    private Seen seen;
    private long readAt;
    private boolean everRead;

    Waiting(Page.Parts parts) {
        this.parts = parts;
        this.outage = new Outage(parts);
        // Higher than any version of an earlier start, so that no viewer takes a new one for what it has.
        this.seen = new Seen(
                Regions.startingAt(parts.time().wallClock().toEpochMilli()), List.of(), List.of(), List.of(), false);
    }

    /**
     * As of one look.
     *
     * @param effects that wait
     * @param refused as a newer one was sent before
     * @param paused jobs
     * @param more whether there are more effects than these
     */
    record Seen(
            Regions regions,
            List<EffectView> effects,
            List<EffectView> refused,
            List<JobSummary> paused,
            boolean more) {

        /** What is inside of the element with this id, and the id; an empty one where the page has none. */
        Region region(String id) {
            Regions.Entry entry = regions.entries().get(id);
            return entry == null ? new Region(id, "") : entry.region();
        }
    }

    static final String STATE = "waiting-state";
    static final String NOTES = "waiting-notes";

    static String id(EffectView effect) {
        return "effect-" + effect.state() + "-" + effect.key();
    }

    static String id(JobSummary paused) {
        return "paused-" + paused.id();
    }

    /** @param nothing whether nothing waits */
    record State(String trouble, boolean nothing) implements TemplateInstance {}

    /** @param receipt empty without, as are other texts */
    record Effect(
            String job,
            RawString jobLink,
            String slot,
            RawString slotLink,
            String sink,
            String name,
            String state,
            String meaning,
            String reason,
            String receipt,
            long fence,
            int tries,
            String size,
            String digest,
            String shortDigest,
            RawString announced,
            RawString since,
            String age,
            List<Tried> tried)
            implements TemplateInstance {}

    public record Tried(RawString at, boolean accepted, String text, long fence, String newest) {}

    record PausedJob(
            String cause,
            String reason,
            RawString since,
            String age,
            @Nullable RawString until,
            String by) implements TemplateInstance {}

    record Notes(List<Deferred> deferred, List<BadFile> files) implements TemplateInstance {}

    public record Deferred(String job, RawString link, RawString until, String reason) {}

    public record BadFile(String host, String path, String error) {}

    synchronized Seen seen() {
        if (everRead && parts.time().bootMillis() - readAt < FRESH_MILLIS) {
            return seen;
        }
        try {
            seen = read();
            outage.end();
        } catch (StoreException away) {
            Instant since = outage.goesOn(away, null);
            List<Region> old = new ArrayList<>(seen.regions().all());
            Region state = new Region(
                    STATE,
                    new State(
                                    "The store has not answered since " + Times.local(since, ZoneOffset.UTC)
                                            + " UTC; below is what was known then.",
                                    false)
                            .render());
            if (old.isEmpty()) {
                old.add(state);
            } else {
                old.set(0, state);
            }
            seen = new Seen(seen.regions().with(old), seen.effects(), seen.refused(), seen.paused(), seen.more());
        }
        everRead = true;
        readAt = parts.time()
                .bootMillis(); // after it: a look that got no answer may have taken longer than a look is fresh
        return seen;
    }

    /** What was just ordered is to be seen at the next look. */
    synchronized void forget() {
        everRead = false;
    }

    private Seen read() {
        Store store = parts.store();
        Instant now = store.now();
        List<EffectView> waiting = store.effects(new Filter(null, List.of(), true), MOST + 1);
        boolean more = waiting.size() > MOST;
        List<EffectView> effects = waiting.subList(0, Math.min(MOST, waiting.size()));
        List<EffectView> refused = store.effects(Filter.ALL, NEWEST).stream()
                .filter(each -> each.state() == EffectState.REFUSED && !each.waits())
                .limit(MOST_REFUSED)
                .toList();
        List<JobSummary> jobs = store.jobs();
        List<JobSummary> paused = jobs.stream()
                .filter(job ->
                        !job.retired() && job.pause() != null && job.pause().isInForce(now))
                .toList();
        List<NodeView> badFiles = store.nodes(NODES).stream()
                .filter(node -> node.isAlive(now) && node.state().fileError() != null)
                .toList();
        Set<RunId> runs = effects.stream()
                .map(effect -> new RunId(UUID.fromString(effect.runId())))
                .collect(Collectors.toSet());
        List<WriteEvent> events = runs.isEmpty() ? List.of() : store.eventsOfRuns(runs);
        List<Region> regions = new ArrayList<>();
        regions.add(
                new Region(STATE, new State("", effects.isEmpty() && paused.isEmpty() && badFiles.isEmpty()).render()));
        effects.forEach(effect ->
                regions.add(new Region(id(effect), form(effect, events, now).render())));
        paused.forEach(job -> regions.add(new Region(
                id(job),
                form(Objects.requireNonNull(job.pause()), zone(job.id()), now).render())));
        refused.forEach(effect ->
                regions.add(new Region(id(effect), form(effect, List.of(), now).render())));
        regions.add(new Region(NOTES, notes(jobs, badFiles, now).render()));
        return new Seen(seen.regions().with(regions), effects, refused, paused, more);
    }

    private ZoneId zone(String job) {
        return parts.jobs().get().stream()
                .filter(each -> each.job().id().equals(job))
                .map(each -> each.job().zone())
                .findFirst()
                .orElse(ZoneOffset.UTC);
    }

    private Effect form(EffectView effect, List<WriteEvent> events, Instant now) {
        ZoneId zone = zone(effect.job());
        return new Effect(
                effect.job(),
                new RawString(Links.job(effect.job())),
                effect.slotKey(),
                new RawString(Links.tick(effect.job(), effect.slotKey())),
                effect.pair().sink(),
                effect.name(),
                effect.state().name().toLowerCase(Locale.ROOT),
                meaning(effect.state()),
                text(effect.reason()),
                text(effect.receipt()),
                effect.fence(),
                effect.tries(),
                bytes(effect.size()),
                effect.digest(),
                effect.digest().substring(0, Math.min(DIGEST, effect.digest().length())),
                Times.element(effect.announcedAt(), zone),
                Times.element(effect.changedAt(), zone),
                age(effect.changedAt(), now),
                events.stream()
                        .filter(event -> effect.key().equals(event.effect()))
                        .map(event -> new Tried(
                                Times.element(event.at(), zone),
                                event.accepted(),
                                text(event.reason()),
                                event.fence(),
                                event.newestFence() == null ? "" : String.valueOf(event.newestFence())))
                        .toList());
    }

    private static String meaning(EffectState state) {
        return switch (state) {
            case UNKNOWN -> "It was sent, and no answer came that can be relied on: it may have taken place.";
            case DEAD -> "The sink said no for good, or it was given up. Nothing took place.";
            case EXPIRED -> "It grew too old before it could be sent. Nothing took place.";
            case REFUSED -> "A newer run's effect was sent before. Nothing took place.";
            case SENDING -> "Its sender may have died while it was sending.";
            case PENDING -> "It is sent when its turn comes.";
            case CONFIRMED -> "It took place.";
        };
    }

    private static PausedJob form(Pause pause, ZoneId zone, Instant now) {
        return new PausedJob(
                switch (pause.cause()) {
                    case PERSON -> "A person";
                    case FAILURES -> "Brake: too many failures in a row";
                    case AUTH -> "Brake: a login has run out";
                },
                text(pause.reason()),
                Times.element(pause.since(), zone),
                age(pause.since(), now),
                pause.until() == null ? null : Times.element(pause.until(), zone),
                pause.by());
    }

    private Notes notes(List<JobSummary> jobs, List<NodeView> badFiles, Instant now) {
        List<Deferred> deferred = new ArrayList<>();
        for (JobSummary job : jobs) {
            if (!job.retired()
                    && job.deferral() != null
                    && job.deferral().until().isAfter(now)) {
                deferred.add(new Deferred(
                        job.id(),
                        new RawString(Links.job(job.id())),
                        Times.element(job.deferral().until(), zone(job.id())),
                        text(job.deferral().reason())));
            }
        }
        return new Notes(
                deferred,
                badFiles.stream()
                        .map(node -> new BadFile(
                                node.state().host(),
                                node.state().jobsFile(),
                                text(node.state().fileError())))
                        .toList());
    }

    private static String text(@Nullable String text) {
        return text == null ? "" : ShownText.of(text);
    }

    /** In minutes, so that it does not change each second. */
    static String age(Instant since, Instant now) {
        Duration age = Duration.between(since, now);
        return age.toMinutes() < 1 ? "less than a minute" : Times.span(Duration.ofMinutes(age.toMinutes()));
    }

    private static String bytes(long size) {
        return size == 1 ? "1 byte" : size + " bytes";
    }
}
