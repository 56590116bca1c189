package dev.fencepost.model;

import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Orders.Answer;
import dev.fencepost.run.Orders.JobEvent.Kind;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause;
import dev.fencepost.schedule.Backlog.OpenTick;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Plan.NewTick;
import dev.fencepost.schedule.Plan.SlotRange;
import dev.fencepost.schedule.Plan.TakeOver;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Section 3 of the semantics on maps: jobs, ticks and attempts, and what people order of them. */
final class TickBook {

    /** A job as the store knows it. */
    static final class Row {
        private String schedule;
        private Instant since;
        private Instant cursor;
        private boolean retired;
        private @Nullable Pause pause;
        private @Nullable Instant deferUntil;
        private @Nullable Instant brakesSince;

        private Row(String schedule, Instant now) {
            this.schedule = schedule;
            this.since = now;
            this.cursor = now;
        }

        Instant cursor() {
            return cursor;
        }

        @Nullable
        Pause pause() {
            return pause;
        }

        @Nullable
        Instant deferUntil() {
            return deferUntil;
        }

        @Nullable
        Instant brakesSince() {
            return brakesSince;
        }
    }

    /** A tick, or a range of them. */
    static final class Tick {
        private final Slot slot;
        private final boolean onTime;
        private final @Nullable SlotRange range;
        private @Nullable Outcome outcome;
        private @Nullable Instant endedAt;
        private int attempts;
        private int attemptsBefore;
        private @Nullable RunId runId;
        private @Nullable Instant notBefore;
        private boolean ordered;
        private boolean withoutEffects;

        private Tick(Slot slot, boolean onTime, @Nullable SlotRange range) {
            this.slot = slot;
            this.onTime = onTime;
            this.range = range;
        }

        Slot slot() {
            return slot;
        }

        @Nullable
        Outcome outcome() {
            return outcome;
        }

        @Nullable
        Instant endedAt() {
            return endedAt;
        }

        @Nullable
        SlotRange range() {
            return range;
        }

        private boolean isOpen() {
            return outcome == null;
        }

        private boolean isOrdered() {
            return ordered || slot.isManual();
        }

        private boolean isOnce() {
            return slot.isManual() && slot.key().contains("/exec-");
        }

        private void end(@Nullable Outcome as, Instant now) {
            outcome = as;
            endedAt = as == null ? null : now;
        }
    }

    /** What a running attempt was asked. */
    private enum Asked {
        CANCEL,
        TAKE_OVER
    }

    /** An attempt. */
    static final class Try {
        private final Lease lease;
        private final Tick tick;
        private final int number;
        private @Nullable Instant endedAt;
        private @Nullable Outcome outcome;
        private boolean counted = true;
        private @Nullable Asked asked;

        private Try(Lease lease, Tick tick, int number) {
            this.lease = lease;
            this.tick = tick;
            this.number = number;
        }

        Lease lease() {
            return lease;
        }

        private boolean isOpen() {
            return endedAt == null;
        }

        private void end(Outcome as, Instant now) {
            outcome = as;
            endedAt = now;
        }

        /** As it is shown, but for texts and numbers for people. */
        String shown() {
            return shown(
                    lease.runId(), number, lease.fence().value(), lease.owner(), lease.grantedAt(), endedAt, outcome);
        }

        static String shown(Attempt attempt) {
            return shown(
                    attempt.runId(),
                    attempt.number(),
                    attempt.fence().value(),
                    attempt.owner(),
                    attempt.startedAt(),
                    attempt.endedAt(),
                    attempt.outcome());
        }

        private static String shown(
                RunId runId,
                int number,
                long fence,
                Owner owner,
                Instant startedAt,
                @Nullable Instant endedAt,
                @Nullable Outcome outcome) {
            return "attempt " + number + " (" + fence + ", " + runId + ") of " + owner + " from " + startedAt + " to "
                    + endedAt + ": " + outcome;
        }
    }

    private final LeaseBook leases;
    private final OutboxBook outbox;
    private final EventBook events;
    private final Map<String, Row> jobs = new TreeMap<>();
    private final Map<String, Map<String, Tick>> ticks = new HashMap<>();
    private final Map<RunId, Try> tries = new LinkedHashMap<>();
    private final Map<String, List<Kind>> kinds = new HashMap<>();
    private long revision;

    TickBook(LeaseBook leases, OutboxBook outbox, EventBook events) {
        this.leases = leases;
        this.outbox = outbox;
        this.events = events;
    }

    @Nullable
    Row job(String id) {
        return jobs.get(id);
    }

    /** How many orders have been carried out. */
    long revision() {
        return revision;
    }

    /** What has happened to a job, oldest first. */
    List<Kind> kinds(String job) {
        return kinds.getOrDefault(job, List.of());
    }

    Collection<Tick> ticks(String job) {
        return ticks.computeIfAbsent(job, id -> new TreeMap<>()).values();
    }

    private @Nullable Tick tick(String job, String key) {
        return ticks.computeIfAbsent(job, id -> new TreeMap<>()).get(key);
    }

    private Tick put(String job, Tick tick) {
        ticks.computeIfAbsent(job, id -> new TreeMap<>()).put(tick.slot.key(), tick);
        return tick;
    }

    List<Try> triesAt(Tick tick) {
        return tries.values().stream().filter(each -> each.tick == tick).toList();
    }

    private List<Try> open(String job) {
        return tries.values().stream()
                .filter(each -> each.isOpen() && each.lease.resource().equals(job))
                .toList();
    }

    private void happened(String job, Kind kind) {
        kinds.computeIfAbsent(job, id -> new ArrayList<>()).add(kind);
    }

    private void ordered(String job, Kind kind) {
        happened(job, kind);
        revision++;
    }

    void register(Collection<Job> given, Instant now) {
        for (Job job : given) {
            Row row = jobs.get(job.id());
            String schedule = job.schedule().text();
            if (row == null) {
                jobs.put(job.id(), new Row(schedule, now));
                happened(job.id(), Kind.REGISTERED);
            } else if (row.retired || !row.schedule.equals(schedule)) {
                happened(job.id(), row.retired ? Kind.REGISTERED : Kind.RESCHEDULED);
                row.schedule = schedule;
                row.retired = false;
                row.since = now;
                row.cursor = now;
            }
        }
        Set<String> ids = new HashSet<>(given.stream().map(Job::id).toList());
        jobs.forEach((id, row) -> {
            if (!ids.contains(id) && !row.retired) {
                row.retired = true;
                happened(id, Kind.RETIRED);
            }
        });
    }

    /** Whether an attempt at it stands under its own live lease. */
    private boolean isRunning(Tick tick, Instant now) {
        return triesAt(tick).stream().anyMatch(each -> each.isOpen() && leases.isLive(each.lease, now));
    }

    /** How many of its attempts count. One that has no end, and no lease any more, will get one, and counts then. */
    private int spent(Tick tick, Instant now) {
        long counted = triesAt(tick).stream()
                .filter(each -> each.isOpen() ? !leases.isLive(each.lease, now) : each.counted)
                .count();
        return (int) counted - tick.attemptsBefore;
    }

    private static int spentForGood(List<Try> tries, Tick tick) {
        return (int) tries.stream()
                        .filter(each -> !each.isOpen() && each.counted)
                        .count()
                - tick.attemptsBefore;
    }

    Map<String, OpenTick> openTicks(String job, Instant now) {
        Map<String, OpenTick> open = new TreeMap<>();
        for (Tick tick : ticks(job)) {
            if (tick.isOpen()) {
                open.put(
                        tick.slot.key(),
                        new OpenTick(
                                tick.slot,
                                tick.onTime,
                                tick.attempts,
                                spent(tick, now),
                                isRunning(tick, now),
                                tick.notBefore,
                                tick.ordered));
            }
        }
        return open;
    }

    /** Keys of the slots that the plan finds taken; null, and nothing changes, where the cursor is not where it was read. */
    @Nullable
    Set<String> apply(Job job, Instant seenCursor, Plan plan, Instant now) {
        Row row = jobs.get(job.id());
        if (row == null || !row.cursor.equals(seenCursor)) {
            return null;
        }
        row.cursor = plan.cursor();
        Set<String> taken = new HashSet<>();
        for (NewTick each : plan.opened()) {
            if (tick(job.id(), each.slot().key()) == null) {
                put(job.id(), new Tick(each.slot(), each.onTime(), null));
            } else {
                taken.add(each.slot().key());
            }
        }
        for (Slot slot : plan.skipped()) {
            if (tick(job.id(), slot.key()) == null) {
                put(job.id(), new Tick(slot, false, null)).end(Outcome.SKIPPED_OVERLAP, now);
            } else {
                taken.add(slot.key());
            }
        }
        SlotRange dropped = plan.dropped();
        if (dropped != null) {
            Slot slot = new Slot("range:" + dropped.first() + "/" + dropped.last(), dropped.last());
            if (tick(job.id(), slot.key()) == null) {
                put(job.id(), new Tick(slot, false, dropped)).end(Outcome.DROPPED, now);
            }
        }
        for (OpenTick each : plan.displaced()) {
            Tick tick = tick(job.id(), each.slot().key());
            if (tick != null && tick.isOpen() && tick.attempts == 0 && !tick.ordered) {
                tick.end(Outcome.SKIPPED_OVERLAP, now);
            } else {
                taken.add(each.slot().key());
            }
        }
        for (OpenTick each : plan.closed()) {
            if (!close(job.id(), each, now)) {
                taken.add(each.slot().key());
            }
        }
        TakeOver takeOver = plan.takeOver();
        if (takeOver != null && !taken.contains(takeOver.slot().key())) {
            open(job.id()).stream()
                    .filter(each -> each.lease.fence().value() == takeOver.fence() && each.asked == null)
                    .forEach(each -> {
                        each.asked = Asked.TAKE_OVER;
                        ordered(job.id(), Kind.SUPERSEDED);
                    });
        }
        return taken;
    }

    /** What was started, or ordered, since the plan was made stays open. */
    private boolean close(String job, OpenTick read, Instant now) {
        Tick tick = tick(job, read.slot().key());
        if (tick == null || !tick.isOpen()) {
            return false;
        }
        List<Try> at = triesAt(tick);
        if (tick.attempts != read.attempts()
                || tick.ordered != read.ordered()
                || spentForGood(at, tick) < read.spent()
                || at.stream().anyMatch(Try::isOpen)) {
            return false;
        }
        tick.end(
                at.stream()
                        .max(Comparator.comparingInt(each -> each.number))
                        .map(each -> each.outcome)
                        .orElse(Outcome.DROPPED),
                now);
        return true;
    }

    /** The answer to a start, as far as it can be foretold. */
    sealed interface Started {

        record Granted(Lease lease, int number, Set<RunId> abandoned, int spent, boolean withoutEffects)
                implements Started {}

        record Held(Lease by) implements Started {}

        record Closed(Set<Refusal> reasons) implements Started {}
    }

    Started start(Job job, Slot slot, Owner owner, RunId runId, boolean reopen, Instant now) {
        String id = job.id();
        Lease live = leases.live(id, now);
        if (live != null) {
            Try earlier = tries.get(runId);
            if (earlier != null && live.runId().equals(runId) && live.owner().equals(owner)) {
                return new Started.Granted(
                        live,
                        earlier.number,
                        Set.of(),
                        spentForGood(triesAt(earlier.tick), earlier.tick),
                        earlier.tick.withoutEffects);
            }
            return new Started.Held(live);
        }
        if (tries.containsKey(runId)) {
            return new Started.Closed(EnumSet.of(Refusal.EXPIRED, Refusal.ALREADY_DONE));
        }
        Lease lease = leases.grant(id, owner, runId, slot.key(), now, job.ttl());
        Set<RunId> abandoned = new HashSet<>();
        for (Try dead : open(id)) {
            endOfTheDead(dead, now);
            abandoned.add(dead.lease.runId());
        }
        Tick tick = tick(id, slot.key());
        if (tick == null) {
            tick = put(id, new Tick(slot, false, null));
        }
        if (reopen && tick.outcome != null && tick.outcome != Outcome.SUCCEEDED) {
            tick.end(null, now);
        }
        int spent = spentForGood(triesAt(tick), tick);
        boolean due = (tick.notBefore == null || !tick.notBefore.isAfter(now)) && spent < job.mostAttempts();
        if (!tick.isOpen() || !(reopen || due)) {
            leases.free(id);
            return new Started.Closed(EnumSet.of(Refusal.ALREADY_DONE));
        }
        tick.attempts++;
        tick.runId = runId;
        tick.ordered |= reopen;
        tries.put(runId, new Try(lease, tick, tick.attempts));
        return new Started.Granted(lease, tick.attempts, abandoned, spent, tick.withoutEffects);
    }

    /** One that had been asked to stop ends as if it had, with its tick. */
    private void endOfTheDead(Try dead, Instant now) {
        dead.counted = dead.asked != Asked.TAKE_OVER;
        dead.end(dead.asked == null ? Outcome.ABANDONED : Outcome.CANCELLED, now);
        if (dead.tick.isOpen() && dead.lease.runId().equals(dead.tick.runId)) {
            if (dead.asked != null || dead.tick.isOnce()) {
                dead.tick.end(dead.outcome, now);
            }
        }
    }

    private boolean isAt(Try attempt, Lease shown) {
        return attempt.lease.resource().equals(shown.resource())
                && attempt.lease.owner().equals(shown.owner())
                && attempt.lease.fence().equals(shown.fence());
    }

    /** All reasons that are true. */
    private Set<Refusal> reasons(Lease shown, Instant now) {
        Set<Refusal> reasons = EnumSet.noneOf(Refusal.class);
        if (!leases.isLive(shown, now)) {
            reasons.add(leases.refusal(shown));
        }
        Try attempt = tries.get(shown.runId());
        if (attempt == null) {
            reasons.add(Refusal.UNKNOWN);
        } else {
            if (!attempt.isOpen() || !attempt.tick.isOpen()) {
                reasons.add(Refusal.ALREADY_DONE);
            }
            if (!attempt.tick.slot.key().equals(shown.slotKey())) {
                reasons.add(Refusal.UNKNOWN);
                reasons.add(Refusal.NOT_OWNER);
            }
        }
        return reasons;
    }

    /** The answer to a completion: {@code Stored}, {@code Conflict}, or a refusal for any of these reasons. */
    record Ended(Class<? extends Completed> kind, Set<Refusal> reasons) {}

    Ended complete(Lease shown, Completion completion, Instant now) {
        Try attempt = tries.get(shown.runId());
        boolean accepted = leases.isLive(shown, now)
                && attempt != null
                && attempt.isOpen()
                && isAt(attempt, shown)
                && attempt.tick.slot.key().equals(shown.slotKey())
                && attempt.tick.isOpen();
        if (!accepted || attempt == null) {
            Set<Refusal> reasons = reasons(shown, now);
            events.refused(shown, now, reasons, null);
            completion.effects().forEach(effect -> events.refused(shown, now, reasons, effect.key()));
            return new Ended(Completed.Refused.class, reasons);
        }
        if (outbox.contradicts(completion.effects())) {
            return new Ended(Completed.Conflict.class, Set.of());
        }
        attempt.end(completion.outcome(), now);
        attempt.counted = completion.counted();
        if (completion.closesTick()) {
            attempt.tick.end(completion.outcome(), now);
        }
        Duration retryAfter = completion.further().retryAfter();
        if (retryAfter != null && attempt.tick.isOpen()) {
            attempt.tick.notBefore = now.plus(retryAfter);
        }
        Completion.Deferral deferral = completion.further().deferral();
        if (deferral != null) {
            Instant until = deferral.until() == null ? now.plus(deferral.otherwise()) : deferral.until();
            Row row = jobs.get(shown.resource());
            if (row != null) {
                row.deferUntil = until;
                if (attempt.tick.isOpen() && attempt.tick.isOrdered()) {
                    attempt.tick.notBefore = until;
                }
            }
            happened(shown.resource(), Kind.DEFERRED);
        }
        events.accepted(shown, now, completion.outcome().name());
        outbox.announce(shown, attempt.tick.slot.key(), completion.effects(), now);
        leases.free(shown.resource());
        return new Ended(Completed.Stored.class, Set.of());
    }

    boolean endAsLost(Lease shown, List<String> effects, Instant now) {
        Try attempt = tries.get(shown.runId());
        boolean ended = attempt != null && attempt.isOpen() && isAt(attempt, shown);
        if (ended && attempt != null) {
            attempt.end(Outcome.LEASE_LOST, now);
            if (attempt.tick.isOpen() && attempt.tick.isOnce()) {
                attempt.tick.end(Outcome.LEASE_LOST, now);
            }
            effects.forEach(key -> events.refusedAsLost(shown, now, key));
        } else {
            Set<Refusal> reasons = reasons(shown, now);
            events.refused(shown, now, reasons, null);
            effects.forEach(key -> events.refused(shown, now, reasons, key));
        }
        if (leases.isOf(shown)) {
            leases.free(shown.resource()); // its holder says that it acts under it no more
        }
        return ended;
    }

    /** Run ids of the attempts that were ended. */
    Set<RunId> abandon(Lease shown, boolean provablyDead, Instant now) {
        if (!leases.isOf(shown) || (!provablyDead && leases.isLive(shown, now))) {
            return Set.of();
        }
        leases.free(shown.resource());
        Try attempt = tries.get(shown.runId());
        if (attempt == null || !attempt.isOpen()) {
            return Set.of();
        }
        endOfTheDead(attempt, now);
        return Set.of(shown.runId());
    }

    @Nullable
    LeaseView breakLease(String resource, String reason, Instant now) {
        if (leases.fence(resource) == 0) {
            return null;
        }
        Lease before = leases.current(resource);
        events.broken(
                resource,
                before == null ? "nobody" : before.owner().text(),
                leases.fence(resource),
                before == null ? null : before.runId().toString(),
                now,
                reason);
        for (Try attempt : open(resource)) {
            attempt.end(Outcome.CANCELLED, now);
            if (attempt.tick.isOpen() && attempt.lease.runId().equals(attempt.tick.runId)) {
                attempt.tick.end(Outcome.CANCELLED, now);
            }
        }
        leases.free(resource);
        leases.raise(resource);
        return leases.view(resource, now);
    }

    List<Answer> trigger(String job, List<Slot> slots, boolean withoutEffects, Instant now) {
        Row row = jobs.get(job);
        if (row == null || row.retired) {
            return List.of();
        }
        List<Answer> answers = new ArrayList<>();
        for (Slot slot : slots) {
            Tick tick = tick(job, slot.key());
            if (tick != null && (tick.outcome == Outcome.SUCCEEDED || isRunning(tick, now))) {
                answers.add(Answer.ALREADY_DONE);
                continue;
            }
            if (tick == null) {
                tick = put(job, new Tick(slot, false, null));
            }
            tick.end(null, now);
            tick.notBefore = null;
            tick.ordered = true;
            tick.withoutEffects = withoutEffects;
            tick.attemptsBefore =
                    (int) triesAt(tick).stream().filter(each -> each.counted).count();
            answers.add(Answer.DONE);
        }
        if (answers.contains(Answer.DONE)) {
            ordered(job, Kind.TRIGGERED);
        }
        return answers;
    }

    Answer cancel(String job, Instant now) {
        boolean anything = false;
        for (Try attempt : open(job)) {
            if (attempt.asked != Asked.CANCEL) {
                attempt.asked = Asked.CANCEL;
                anything = true;
            }
        }
        for (Tick tick : ticks(job)) {
            if (tick.isOpen() && !isRunning(tick, now)) {
                tick.end(Outcome.CANCELLED, now);
                anything = true;
            }
        }
        Row row = jobs.get(job);
        if (!anything) {
            return row == null || row.retired ? Answer.UNKNOWN : Answer.ALREADY;
        }
        ordered(job, Kind.CANCELLED);
        return Answer.DONE;
    }

    /** Null where the end has passed already, which is an error. */
    @Nullable
    Answer pause(String job, @Nullable Instant until, Pause.Cause cause, String by, String reason, Instant now) {
        Row row = jobs.get(job);
        if (row == null || row.retired) {
            return Answer.UNKNOWN;
        }
        if (until != null && !until.isAfter(now)) {
            return null;
        }
        endPause(job, now);
        if (row.pause != null) {
            boolean same = row.pause.cause() == cause && Objects.equals(row.pause.until(), until);
            if (same || cause != Pause.Cause.PERSON) {
                return Answer.ALREADY;
            }
        }
        row.pause = new Pause(now, until, cause, reason, by);
        ordered(job, Kind.PAUSED);
        return Answer.DONE;
    }

    boolean endPause(String job, Instant now) {
        Row row = jobs.get(job);
        Pause pause = row == null ? null : row.pause;
        Instant until = pause == null ? null : pause.until();
        if (row == null || until == null || until.isAfter(now)) {
            return false;
        }
        row.cursor = row.cursor.isBefore(until) ? until : row.cursor;
        row.brakesSince = until;
        row.pause = null;
        ordered(job, Kind.RESUMED);
        return true;
    }

    /** What a resume may answer; where failures and successes are of the same instant, either. */
    Set<Answer> resume(String job, Instant now, Answer told) {
        Row row = jobs.get(job);
        if (row == null || row.retired) {
            return Set.of(Answer.UNKNOWN);
        }
        boolean paused = row.pause != null;
        endPause(job, now);
        Set<Answer> answers = EnumSet.noneOf(Answer.class);
        if (paused || row.deferUntil != null || hasFailed(job, row, true)) {
            answers.add(Answer.DONE);
        } else {
            answers.add(Answer.ALREADY);
            if (hasFailed(job, row, false)) {
                answers.add(Answer.DONE);
            }
        }
        if (answers.contains(Answer.DONE) && told == Answer.DONE) {
            row.cursor = row.pause == null ? row.cursor : now;
            row.pause = null;
            row.deferUntil = null;
            row.brakesSince = now;
            ordered(job, Kind.RESUMED);
        }
        return answers;
    }

    /** A failure since the last success, and since what the brakes had counted was forgotten. */
    private boolean hasFailed(String job, Row row, boolean surely) {
        Instant since = row.brakesSince == null ? row.since : row.brakesSince;
        int least = surely ? 1 : 0;
        return ticks(job).stream()
                .filter(tick -> tick.outcome != null && tick.outcome.isFailure())
                .filter(tick -> isAfter(tick, since, least))
                .anyMatch(failed -> ticks(job).stream()
                        .noneMatch(tick -> tick.outcome == Outcome.SUCCEEDED
                                && failed.endedAt != null
                                && isAfter(tick, failed.endedAt, 1 - least)));
    }

    private static boolean isAfter(Tick tick, Instant instant, int least) {
        return tick.endedAt != null && tick.endedAt.compareTo(instant) >= least;
    }

    /** Run ids of an owner's attempts that are to stop. */
    Set<RunId> stops(Owner owner) {
        Set<RunId> stops = new HashSet<>();
        for (Try each : tries.values()) {
            if (each.isOpen() && each.asked != null && each.lease.owner().equals(owner)) {
                stops.add(each.lease.runId());
            }
        }
        return stops;
    }

    /** When something may be otherwise than a moment before. */
    Stream<Instant> instants() {
        Stream<Instant> ofJobs = jobs.values().stream()
                .flatMap(row -> Stream.of(row.deferUntil, row.pause == null ? null : row.pause.until()));
        Stream<Instant> ofTicks =
                ticks.values().stream().flatMap(each -> each.values().stream()).map(tick -> tick.notBefore);
        return Stream.concat(ofJobs, ofTicks).filter(Objects::nonNull);
    }
}
