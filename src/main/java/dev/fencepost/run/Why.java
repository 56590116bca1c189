package dev.fencepost.run;

import dev.fencepost.lease.Incarnation;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import dev.fencepost.run.History.Deferral;
import dev.fencepost.run.History.JobSummary;
import dev.fencepost.run.History.Range;
import dev.fencepost.run.History.SlotHistory;
import dev.fencepost.run.History.StoredTick;
import dev.fencepost.run.Nodes.NodeView;
import dev.fencepost.run.Orders.JobEvent;
import dev.fencepost.run.Orders.JobEvent.Kind;
import dev.fencepost.schedule.Schedule;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Says in one sentence what became of a slot, and why. A pure function of what the store knows: it asks nothing and guesses nothing. What
 * happened comes first, then what kept it from happening, in the order in which the runner asks.
 */
public final class Why {

    private static final String BRAKE_ON_RUNS = "max-runs-per-day";

    /** The answer for scripts. Stable: one may be added, none is renamed. */
    public enum Because {
        SUCCEEDED,
        FAILED,
        TIMED_OUT,
        LEASE_LOST,
        ABANDONED,
        CANCELLED,
        RUNNING,
        /** An attempt has no end, and no living holder. */
        HOLDER_GONE,
        SKIPPED_OVERLAP,
        DROPPED,
        /** A limit outside the agent has stopped it. */
        BRAKE,
        /** By a person. */
        PAUSED,
        /** A usage limit. */
        DEFERRED,
        WAITS_FOR_RETRY,
        WAITS_FOR_LEASE,
        /** A node is about to take it. */
        DUE,
        /** Due, and no node is alive. */
        NO_NODE,
        /** No node was alive when it came due. */
        NODE_DOWN,
        NOT_A_SLOT,
        NOT_DUE,
        /** The job is in the jobs file, and no node has read it yet. */
        NOT_REGISTERED,
        BEFORE_REGISTRATION,
        RESCHEDULED,
        RETIRED,
        /** The job has no schedule here, and nothing of it is stored. */
        NO_SLOT,
        NO_RECORD
    }

    public record Answer(Because because, String sentence) {}

    /**
     * What is known.
     *
     * @param zone in which instants are told, beside UTC
     * @param now the store's clock
     * @param schedule null where nobody knows it
     * @param summary null for a job that the store does not know
     * @param cursor the newest planned slot, or null
     * @param slot that is asked about; null where the job has none
     * @param events of the job, newest first
     * @param nodes starts of nodes, newest first
     */
    public record Facts(
            String job,
            ZoneId zone,
            Instant now,
            @Nullable Schedule schedule,
            @Nullable JobSummary summary,
            @Nullable Instant cursor,
            @Nullable Slot slot,
            SlotHistory stored,
            List<JobEvent> events,
            List<NodeView> nodes) {}

    /** A time in which something was so; {@code from} or {@code to} is null where it has no such end. */
    private record Span(@Nullable Instant from, @Nullable Instant to) {}

    private final Facts facts;

    private Why(Facts facts) {
        this.facts = facts;
    }

    public static Answer of(Facts facts) {
        return new Why(facts).answer();
    }

    private Answer answer() {
        Slot slot = facts.slot();
        if (slot == null) {
            return say(Because.NO_SLOT, "has no schedule that is known here, and nothing of it is stored");
        }
        StoredTick tick = facts.stored().tick();
        if (tick != null) {
            return tick.outcome() == null ? open(slot, tick) : ended(slot, tick, tick.outcome());
        }
        if (facts.summary() == null || facts.summary().scheduleText() == null) {
            return say(
                    Because.NOT_REGISTERED,
                    "did not run for " + name(slot)
                            + ": no node has read it from a jobs file yet; fencepost serve does");
        }
        if (slot.isManual()) {
            return say(Because.NO_RECORD, "has no order " + slot.key() + "; it may have been cleaned up since");
        }
        return withoutRow(slot.at(), facts.summary());
    }

    private Answer withoutRow(Instant at, JobSummary summary) {
        Answer gone = retired(at, summary);
        if (gone != null) {
            return gone;
        }
        // With a start-from before the registration the cursor lies before it, too.
        boolean planned = facts.cursor() != null && !at.isAfter(facts.cursor());
        if (planned && !at.isAfter(summary.registeredSince())) {
            return beforeSince(at, summary.registeredSince());
        }
        Schedule schedule = facts.schedule();
        if (schedule != null && !at.equals(schedule.latest(at))) {
            return say(
                    Because.NOT_A_SLOT,
                    "has no slot at " + when(at) + ": the one before it is " + when(schedule.latest(at))
                            + ", the one after it " + when(schedule.next(at)));
        }
        if (at.isAfter(facts.now())) {
            return notDue(at, summary);
        }
        Answer stopped = pausedAt(at, summary);
        if (stopped != null) {
            return stopped;
        }
        stopped = deferredAt(at);
        if (stopped != null) {
            return stopped;
        }
        String didNot = "did not run for " + when(at) + ": ";
        Span gap = gap(at);
        if (planned) {
            return gap == null
                    ? say(Because.NO_RECORD, "has no record of " + when(at) + "; it may have been cleaned up since")
                    : say(Because.NODE_DOWN, didNot + noNode(gap));
        }
        if (!anyNodeIsAlive()) {
            return say(Because.NO_NODE, didNot + noLivingNode());
        }
        return say(Because.DUE, "has not run for " + when(at) + " yet: it is due; a node takes it in a moment");
    }

    private Answer open(Slot slot, StoredTick tick) {
        Attempt newest = newest();
        JobSummary summary = facts.summary();
        LeaseView lease = summary == null ? null : summary.lease();
        if (newest != null && newest.endedAt() == null) {
            return underWay(slot, newest, lease);
        }
        String before = newest == null ? "" : "attempt " + newest.number() + " " + how(newest) + ", and it ";
        String waits = "has not run for " + name(slot) + " yet: ";
        String again = newest == null ? waits + "it " : "is not done with " + name(slot) + ": " + before;
        if (summary != null && !tick.ordered()) {
            Pause pause = summary.pause();
            if (pause != null && pause.isInForce(facts.now())) {
                return say(brakeOrPerson(pause.by()), again + "waits, since the job " + pausedWords(pause));
            }
            Deferral deferral = summary.deferral();
            if (deferral != null && deferral.until().isAfter(facts.now())) {
                return say(Because.DEFERRED, again + "waits, since the job " + deferredWords(deferral));
            }
        }
        if (tick.notBefore() != null && tick.notBefore().isAfter(facts.now())) {
            return say(Because.WAITS_FOR_RETRY, again + "is tried again at " + when(tick.notBefore()));
        }
        if (lease != null && lease.isLive()) {
            return say(
                    Because.WAITS_FOR_LEASE,
                    again + "waits for the lease that " + holder(lease) + " holds with token " + lease.fence()
                            + (lease.slotKey() == null ? "" : " for " + name(lease.slotKey())) + " until "
                            + when(lease.expiresAt()) + ", longer if it is renewed");
        }
        if (!anyNodeIsAlive()) {
            return say(Because.NO_NODE, again + "waits: " + noLivingNode());
        }
        return say(
                Because.DUE, again + "is due" + (tick.ordered() ? ", by order" : "") + "; a node takes it in a moment");
    }

    private Answer underWay(Slot slot, Attempt attempt, @Nullable LeaseView lease) {
        String since = "for " + name(slot) + " since " + when(attempt.startedAt()) + ": attempt " + attempt.number()
                + " on " + node(attempt.owner()) + ", token " + attempt.fence();
        boolean held = lease != null && lease.isLive() && attempt.runId().equals(lease.runId());
        return held
                ? say(Because.RUNNING, "runs " + since)
                : say(
                        Because.HOLDER_GONE,
                        "was running " + since
                                + "; its lease is over and its holder gone, and the next run ends it as ABANDONED");
    }

    private Answer ended(Slot slot, StoredTick tick, Outcome outcome) {
        Instant end = tick.endedAt();
        Attempt newest = newest();
        return switch (outcome) {
            case SUCCEEDED ->
                say(Because.SUCCEEDED, "ran for " + name(slot) + " and succeeded: " + attemptWords(newest));
            case FAILED, TIMED_OUT, LEASE_LOST, ABANDONED ->
                say(
                        Because.valueOf(outcome.name()),
                        "ran for " + name(slot) + " without success: " + attemptWords(newest)
                                + (tick.reason() == null
                                                || newest != null
                                                        && tick.reason().equals(newest.reason())
                                        ? ""
                                        : " (" + tick.reason() + ")"));
            case CANCELLED ->
                say(
                        Because.CANCELLED,
                        (newest == null ? "did not run for " : "was stopped for ") + name(slot) + ": "
                                + (tick.reason() == null ? "cancelled" : tick.reason()) + ", at " + when(end));
            case SKIPPED_OVERLAP ->
                say(Because.SKIPPED_OVERLAP, "skipped " + name(slot) + range(tick) + ": " + overlap());
            case DROPPED -> {
                boolean brake = tick.reason() != null && tick.reason().startsWith(BRAKE_ON_RUNS);
                Span gap = slot.isManual() ? null : gap(slot.at());
                yield say(
                        brake ? Because.BRAKE : Because.DROPPED,
                        "did not run for " + name(slot) + ": " + (brake ? "stopped by the brake " : "dropped")
                                + (brake ? tick.reason() : range(tick) + because(tick.reason()))
                                + (gap == null ? "" : "; " + noNode(gap)));
            }
        };
    }

    private static String range(StoredTick tick) {
        Range range = tick.range();
        return range == null
                ? ""
                : ", one of " + range.count() + " slots from " + utc(range.first()) + " to " + utc(range.last());
    }

    private String overlap() {
        Attempt run = facts.stored().runAtIt();
        if (run == null) {
            return "the run before was still under its lease";
        }
        String held = "the run of " + name(run.slotKey()) + " held the lease with token " + run.fence() + " on "
                + node(run.owner());
        return run.endedAt() == null
                ? held + ", since " + when(run.startedAt()) + " and without an end yet"
                : held + " until " + when(run.endedAt());
    }

    private String attemptWords(@Nullable Attempt attempt) {
        return attempt == null
                ? "its attempts are not stored any more"
                : "attempt " + attempt.number() + " on " + node(attempt.owner()) + " " + how(attempt);
    }

    /** {@code ended FAILED at … after 3m20s (exit code 1)} */
    private String how(Attempt attempt) {
        Instant end = attempt.endedAt();
        if (end == null) {
            return "has no end yet";
        }
        String code = attempt.signal() != null
                ? "signal " + attempt.signal()
                : attempt.exitCode() != null ? "exit code " + attempt.exitCode() : null;
        String detail =
                attempt.outcome() == Outcome.SUCCEEDED ? null : attempt.reason() != null ? attempt.reason() : code;
        return "ended " + attempt.outcome() + " at " + when(end) + " after "
                + length(Duration.between(attempt.startedAt(), end)) + (detail == null ? "" : " (" + detail + ")");
    }

    private @Nullable Answer retired(Instant at, JobSummary summary) {
        Instant back = null;
        for (JobEvent event : facts.events()) { // newest first
            if (event.kind() == Kind.REGISTERED) {
                back = event.at();
            } else if (event.kind() == Kind.RETIRED && at.isAfter(event.at())) {
                if (back != null && at.isAfter(back)) {
                    return null;
                }
                return say(
                        Because.RETIRED,
                        "did not run for " + when(at) + ": it left the jobs file at " + when(event.at())
                                + (back == null ? "" : " and came back at " + when(back)));
            }
        }
        return summary.retired() && at.isAfter(facts.now())
                ? say(Because.RETIRED, "does not run for " + when(at) + ": it left the jobs file")
                : null;
    }

    private Answer beforeSince(Instant at, Instant since) {
        for (JobEvent event : facts.events()) {
            // The row and its event are written in one transaction, a moment apart.
            boolean thisOne = !event.at().isBefore(since) && event.at().isBefore(since.plusSeconds(60));
            if (event.kind() == Kind.RESCHEDULED && thisOne) {
                return say(
                        Because.RESCHEDULED,
                        "did not run for " + when(at) + ": its schedule was changed after it, at " + when(since) + " ("
                                + event.reason() + ")");
            }
        }
        return say(
                Because.BEFORE_REGISTRATION,
                "did not run for " + when(at) + ": it was registered after it, at " + when(since));
    }

    private Answer notDue(Instant at, JobSummary summary) {
        Pause pause = summary.pause();
        Schedule schedule = facts.schedule();
        Instant next = schedule == null ? null : schedule.next(facts.now());
        return say(
                Because.NOT_DUE,
                "has not run for " + when(at) + " yet: it comes due in " + length(Duration.between(facts.now(), at))
                        + (next == null || next.equals(at) ? "" : "; the next slot is " + when(next))
                        + (pause != null && pause.isInForce(at) ? "; but the job " + pausedWords(pause) : ""));
    }

    private @Nullable Answer pausedAt(Instant at, JobSummary summary) {
        String didNot = "did not run for " + when(at) + ": it ";
        Pause pause = summary.pause();
        if (pause != null && !at.isBefore(pause.since()) && (pause.until() == null || !at.isAfter(pause.until()))) {
            return say(brakeOrPerson(pause.by()), didNot + pausedWords(pause));
        }
        Instant end = null;
        for (JobEvent event : facts.events()) { // newest first
            if (event.kind() == Kind.RESUMED) {
                end = event.at();
            } else if (event.kind() == Kind.PAUSED) {
                if (end != null && !at.isBefore(event.at()) && !at.isAfter(end)) {
                    return say(
                            brakeOrPerson(event.by()),
                            didNot + "was paused by " + event.by() + " from " + when(event.at()) + " to " + when(end)
                                    + because(event.reason()));
                }
                end = event.at(); // a pause that another one replaced
            }
        }
        return null;
    }

    private @Nullable Answer deferredAt(Instant at) {
        Instant lifted = null;
        for (JobEvent event : facts.events()) { // newest first
            if (event.kind() == Kind.RESUMED && !event.by().equals(Pause.BY_A_BRAKE)) {
                lifted = event.at(); // by a person; the end of a pause lifts no other limit
            } else if (event.kind() == Kind.DEFERRED && event.until() != null && !at.isBefore(event.at())) {
                Instant end = lifted != null && lifted.isBefore(event.until()) ? lifted : event.until();
                return at.isBefore(end)
                        ? say(
                                Because.DEFERRED,
                                "did not run for " + when(at) + ": it was deferred at " + when(event.at()) + " until "
                                        + when(end) + " by a usage limit" + because(event.reason()))
                        : null;
            }
        }
        return null;
    }

    private static Because brakeOrPerson(String by) {
        return by.equals(Pause.BY_A_BRAKE) ? Because.BRAKE : Because.PAUSED;
    }

    private String pausedWords(Pause pause) {
        String who = pause.cause() == Pause.Cause.PERSON
                ? pause.by()
                : "the brake " + (pause.cause() == Pause.Cause.AUTH ? "for logins" : "pause-after-failures");
        return (pause.isInForce(facts.now()) ? "is" : "was") + " paused by " + who + " since " + when(pause.since())
                + (pause.until() == null ? " until somebody resumes it" : " until " + when(pause.until()))
                + because(pause.reason());
    }

    private String deferredWords(Deferral deferral) {
        return "is deferred until " + when(deferral.until()) + " by a usage limit" + because(deferral.reason());
    }

    private static String because(@Nullable String reason) {
        return reason == null ? "" : ": " + reason;
    }

    private boolean anyNodeIsAlive() {
        return facts.nodes().stream().anyMatch(node -> node.isAlive(facts.now()));
    }

    private String noLivingNode() {
        return facts.nodes().stream()
                .map(NodeView::seenAt)
                .max(Instant::compareTo)
                .map(last -> "no node is alive since " + when(last))
                .orElse("no node has ever run on this store");
    }

    private String noNode(Span gap) {
        return gap.from == null
                ? "no node was alive before " + when(gap.to)
                : gap.to == null
                        ? "no node is alive since " + when(gap.from)
                        : "no node was alive from " + when(gap.from) + " to " + when(gap.to);
    }

    /** The time around the instant in which no node was alive; null if one was, or nothing is known of nodes. */
    private @Nullable Span gap(Instant at) {
        Instant from = null;
        Instant to = null;
        for (NodeView node : facts.nodes()) {
            Instant end = node.isAlive(facts.now()) ? facts.now() : node.seenAt();
            if (node.startedAt().isAfter(at)) {
                to = to == null || node.startedAt().isBefore(to) ? node.startedAt() : to;
            } else if (end.isBefore(at)) {
                from = from == null || end.isAfter(from) ? end : from;
            } else {
                return null;
            }
        }
        return from == null && to == null ? null : new Span(from, to);
    }

    private @Nullable Attempt newest() {
        List<Attempt> attempts = facts.stored().attempts();
        return attempts.isEmpty() ? null : attempts.getFirst();
    }

    private String holder(LeaseView lease) {
        return lease.owner() == null ? "somebody" : node(lease.owner());
    }

    /** The host of the node, where it is known; else the beginning of its id and its pid, or its own name. */
    private String node(Owner owner) {
        String host = facts.nodes().stream()
                .filter(node -> node.owner().equals(owner))
                .map(node -> node.state().host())
                .findFirst()
                .orElse(null);
        Incarnation start = Incarnation.of(owner);
        String id = start == null ? owner.text() : start.nodeId().substring(0, 8) + "/" + start.pid();
        return host == null ? id : host;
    }

    private String name(Slot slot) {
        return slot.isManual() ? "the order " + slot.key() : when(slot.at());
    }

    /** A slot's key as a person reads it. */
    private String name(String slotKey) {
        return slotKey.startsWith("manual:") ? "the order " + slotKey : when(Instant.parse(slotKey));
    }

    /** In the job's zone, and in UTC. */
    private String when(@Nullable Instant instant) {
        if (instant == null) {
            return "none";
        }
        Instant whole = instant.truncatedTo(ChronoUnit.SECONDS);
        String local = DateTimeFormatter.ISO_OFFSET_DATE_TIME.format(whole.atZone(facts.zone()));
        String utc = utc(whole);
        return local.equals(utc) ? utc : local + " (" + utc + ")";
    }

    private static String utc(Instant instant) {
        return instant.truncatedTo(ChronoUnit.SECONDS).toString();
    }

    /** {@code 3m20s}. */
    private static String length(Duration duration) {
        Duration whole = duration.compareTo(Duration.ofSeconds(10)) < 0
                ? duration.truncatedTo(ChronoUnit.MILLIS)
                : duration.truncatedTo(ChronoUnit.SECONDS);
        return whole.toString().substring(2).toLowerCase(Locale.ROOT);
    }

    private Answer say(Because because, String what) {
        return new Answer(because, facts.job() + " " + what + ".");
    }
}
