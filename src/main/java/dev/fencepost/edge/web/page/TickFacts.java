package dev.fencepost.edge.web.page;

import dev.fencepost.Store;
import dev.fencepost.effect.EffectView;
import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.History.SlotHistory;
import dev.fencepost.run.History.StoredTick;
import dev.fencepost.run.History.WriteEvent;
import dev.fencepost.run.Nodes.NodeView;
import dev.fencepost.run.Orders.JobEvent;
import dev.fencepost.run.Ticks.Situation;
import dev.fencepost.run.Why;
import dev.fencepost.schedule.Schedule;
import dev.fencepost.schedule.ScheduleText;
import dev.fencepost.schedule.Slot;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a tick at one moment.
 *
 * @param schedule null where nobody knows it
 * @param now the store's clock
 * @param attempts oldest first
 * @param lease of the attempt under way; null if none is, or its lease is over
 * @param newestFence of the job, 0 if there is none
 * @param order of the person who wanted it, or null
 * @param writes under the leases of the attempts, oldest first
 * @param renewals by run id, of runs of this node alone
 * @param hosts of owners, where they are known
 * @param why in one sentence
 */
record TickFacts(
        String job,
        Slot slot,
        ZoneId zone,
        @Nullable Schedule schedule,
        Instant now,
        StoredTick tick,
        List<Attempt> attempts,
        @Nullable LeaseView lease,
        long newestFence,
        @Nullable JobEvent order,
        List<EffectView> effects,
        List<WriteEvent> writes,
        Map<String, RecentRenewals.Known> renewals,
        Map<Owner, String> hosts,
        String why) {

    private static final int EVENTS = 500;
    private static final int NODES = 200;
    private static final int LONGEST_JOB = 200;
    private static final int LONGEST_SLOT = 300;
    private static final Duration FARTHEST = Duration.ofDays(5 * 366L);

    /** What a job is read with; null schedule where nobody knows it. */
    private record Known(
            ZoneId zone,
            @Nullable Schedule schedule,
            @Nullable JobSummary summary) {}

    /** The slot of a key, in the form of an instant or of an order; null for any other text. */
    static @Nullable Slot slot(String text) {
        if (text.length() > LONGEST_SLOT || text.chars().anyMatch(c -> c < 0x20)) {
            return null;
        }
        try {
            Slot order = Slot.ofManualKey(text);
            Slot slot = order != null ? order : Slot.at(Instant.parse(text));
            int year = slot.at().atZone(ZoneOffset.UTC).getYear();
            return year < 1970 || year > 9999 ? null : slot;
        } catch (DateTimeException noInstant) {
            return null;
        }
    }

    static boolean mayBeJob(String id) {
        return !id.isBlank() && id.length() <= LONGEST_JOB && id.chars().allMatch(c -> c > 0x20 && c != 0x7f);
    }

    /** Null where the store knows of no such tick. */
    static @Nullable TickFacts read(Page.Open open, String job, Slot slot) {
        Store store = open.store();
        SlotHistory stored = store.slot(job, slot);
        StoredTick tick = stored.tick();
        if (tick == null) {
            return null;
        }
        List<Attempt> attempts = stored.attempts().reversed();
        Known known = known(open, job);
        Instant now = store.now();
        Situation situation = store.situation(job);
        LeaseView lease = store.inspect(job);
        List<JobEvent> events = tick.ordered() ? store.jobEvents(job, EVENTS) : List.of();
        List<NodeView> nodes = store.nodes(NODES);
        Map<Owner, String> hosts = new HashMap<>();
        nodes.forEach(node -> hosts.putIfAbsent(node.owner(), node.state().host()));
        Map<String, RecentRenewals.Known> renewals = new HashMap<>();
        attempts.forEach(attempt -> renewals.put(
                attempt.runId().toString(),
                open.parts()
                        .renewals()
                        .of(job, attempt.fence().value(), attempt.runId().toString())));
        Why.Facts facts = new Why.Facts(
                job,
                known.zone(),
                now,
                known.schedule(),
                known.summary(),
                situation == null ? null : situation.backlog().cursor(),
                slot,
                stored,
                events,
                nodes);
        boolean ours = lease != null
                && lease.isLive()
                && attempts.stream().anyMatch(each -> each.runId().equals(lease.runId()));
        return new TickFacts(
                job,
                slot,
                known.zone(),
                known.schedule(),
                now,
                tick,
                attempts,
                ours ? lease : null,
                lease == null ? 0 : lease.fence(),
                events.stream()
                        .filter(event -> event.kind() == JobEvent.Kind.TRIGGERED
                                && event.slots() != null
                                && List.of(event.slots().split(", | and ")).contains(slot.key()))
                        .findFirst()
                        .orElse(null),
                store.effectsOf(job, slot.key()),
                attempts.isEmpty()
                        ? List.of()
                        : store.eventsOfRuns(
                                attempts.stream().map(Attempt::runId).toList()),
                renewals,
                hosts,
                Why.of(facts).sentence());
    }

    private static Known known(Page.Open open, String job) {
        Configured configured = open.job(job);
        JobSummary summary = open.store().job(job);
        if (configured != null) {
            return new Known(configured.job().zone(), configured.job().schedule(), summary);
        }
        ScheduleText text =
                summary == null || summary.scheduleText() == null ? null : ScheduleText.parse(summary.scheduleText());
        return text == null
                ? new Known(ZoneOffset.UTC, null, summary)
                : new Known(text.zone(), text.schedule(), summary);
    }

    /** Why there is no such tick, in one sentence for a person; null for a job that nobody knows. */
    static @Nullable String whyNone(Page.Open open, String job, @Nullable Slot slot) {
        Known known = known(open, job);
        if (known.summary() == null && open.job(job) == null) {
            return null;
        }
        Store store = open.store();
        Instant now = store.now();
        if (slot == null || Duration.between(slot.at(), now).abs().compareTo(FARTHEST) > 0) {
            return "There is no such tick of the job " + job + ".";
        }
        Situation situation = store.situation(job);
        return Why.of(new Why.Facts(
                        job,
                        known.zone(),
                        now,
                        known.schedule(),
                        known.summary(),
                        situation == null ? null : situation.backlog().cursor(),
                        slot,
                        new SlotHistory(null, List.of(), null),
                        store.jobEvents(job, EVENTS),
                        store.nodes(NODES)))
                .sentence();
    }

    @Nullable
    Attempt newest() {
        return attempts.isEmpty() ? null : attempts.getLast();
    }

    /** Null if there is none of this number. */
    @Nullable
    Attempt attempt(int number) {
        return attempts.stream()
                .filter(each -> each.number() == number)
                .findFirst()
                .orElse(null);
    }

    /** Whether something may still change by itself. */
    boolean isOpen() {
        return tick.outcome() == null
                || attempts.stream().anyMatch(each -> each.endedAt() == null)
                || effects.stream().anyMatch(each -> each.state().isOpen() && !each.waits());
    }

    /** The host, where it is known, else the beginning of the node's id, else its own name. */
    String node(Owner owner) {
        Incarnation start = Incarnation.of(owner);
        String name = start == null ? owner.text() : start.nodeId().substring(0, 8);
        return Objects.requireNonNullElse(hosts.get(owner), name);
    }
}
