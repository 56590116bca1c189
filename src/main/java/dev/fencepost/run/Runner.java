package dev.fencepost.run;

import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.EffectState;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.DeadlineWatch;
import dev.fencepost.lease.Keeper;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Leases;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.Term;
import dev.fencepost.run.ChildProcess.Exit;
import dev.fencepost.run.ChildProcess.Output;
import dev.fencepost.run.Publications.Announced;
import dev.fencepost.run.Publications.Place;
import dev.fencepost.run.Workspace.RunFiles;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Carries out one slot of one job, from claim to stored end; read {@link #run} from top to bottom.
 *
 * <p>claim → keeper and deadline watch → child → its end, or a reason to stop it → completion, sent again until it has an answer or the
 * lease is over. Runs on a thread of its own, which waits for all of it. Claim, renewal and completion go straight to the store.
 */
public final class Runner {

    /** The reason of a run that ended well and changed nothing that may be published to git. */
    public static final String NOTHING_TO_PUBLISH = "NOTHING_TO_PUBLISH";

    private static final Duration FIRST_BACKOFF = Duration.ofMillis(100);
    private static final Duration MAX_BACKOFF = Duration.ofSeconds(2);

    /** How long a claim without an answer is tried again before the slot is left for the next look. */
    private static final Duration CLAIM_PATIENCE = Duration.ofSeconds(10);

    /** How long a graceful stop tries to store the end of a run. */
    private static final Duration SHUTDOWN_PATIENCE = Duration.ofSeconds(3);

    private final Leases leases;
    private final Ticks ticks;
    private final Children children;
    private final HttpCalls httpCalls;
    private final Workspace workspace;
    private final Publications publications;
    private final DeadlineWatch watch;
    private final Time time;
    private final Spawner spawner;
    private final Entropy entropy;
    private final Journal journal;
    private final Notices notices;
    private final Owner owner;
    private final long logLimitBytes;

    public Runner(
            Leases leases,
            Ticks ticks,
            Children children,
            HttpCalls httpCalls,
            Workspace workspace,
            Publications publications,
            DeadlineWatch watch,
            Time time,
            Spawner spawner,
            Entropy entropy,
            Journal journal,
            Notices notices,
            Owner owner,
            long logLimitBytes) {
        this.leases = leases;
        this.ticks = ticks;
        this.children = children;
        this.httpCalls = httpCalls;
        this.workspace = workspace;
        this.publications = publications;
        this.watch = watch;
        this.time = time;
        this.spawner = spawner;
        this.entropy = entropy;
        this.journal = journal;
        this.notices = notices;
        this.owner = owner;
        this.logLimitBytes = logLimitBytes;
    }

    /** What came of a slot. */
    public sealed interface Result {

        /**
         * An attempt was made; the outcome is stored, or {@code refused} says why it is not.
         *
         * @param classification the kind of a failure, or null where nothing told it
         * @param effects keys of what it announced; stored only if the outcome is
         */
        record Ended(
                Outcome outcome,
                @Nullable Exit exit,
                @Nullable String reason,
                @Nullable Refusal refused,
                @Nullable Classification classification,
                List<String> effects)
                implements Result {}

        /** Another run holds the job's lease. */
        record Held(Lease by) implements Result {}

        /** The tick has an outcome, or no attempts left. */
        record Closed(Refusal reason) implements Result {}

        /** The store gave no answer to the claim; nothing was started. */
        record NoAnswer(StoreException cause) implements Result {}
    }

    /** A new run id, to be known to the node before it is sent: a lease of ours that no run of ours knows is given back. */
    public RunId newRunId() {
        return new RunId(entropy.uuid());
    }

    /**
     * @param stop lets others stop this run; also used by its keeper and its deadline
     * @param reopen see {@link Ticks#start}
     * @param started told the log file once the child runs
     */
    public Result run(Job job, Slot slot, RunId runId, StopRequest stop, boolean reopen, Consumer<RunFiles> started)
            throws InterruptedException {
        return run(job, slot, runId, stop, reopen, false, started);
    }

    /** The same for a person who waits for the end: no further try follows a failure, whatever the job's policies say. */
    public Result runOnce(Job job, Slot slot, RunId runId, StopRequest stop, boolean reopen, Consumer<RunFiles> started)
            throws InterruptedException {
        return run(job, slot, runId, stop, reopen, true, started);
    }

    private Result run(
            Job job, Slot slot, RunId runId, StopRequest stop, boolean reopen, boolean once, Consumer<RunFiles> started)
            throws InterruptedException {
        long sent = time.bootMillis();
        Start start;
        try {
            start = claim(job, slot, runId, reopen, stop);
        } catch (StoreException noAnswer) {
            return new Result.NoAnswer(noAnswer);
        }
        return switch (start) {
            case Start.Held held -> new Result.Held(held.by());
            case Start.Closed closed -> new Result.Closed(closed.reason());
            case Start.Started granted -> attempt(job, slot, granted, sent, stop, once, started);
        };
    }

    /** Tries of one claim keep one run id; so a try that arrived without our knowing is found, not doubled (semantics 3.13). */
    private Start claim(Job job, Slot slot, RunId runId, boolean reopen, StopRequest stop) throws InterruptedException {
        long giveUp = time.bootMillis()
                + Math.min(CLAIM_PATIENCE.toMillis(), job.ttl().toMillis() / 4);
        Duration backoff = FIRST_BACKOFF;
        boolean mayBeGranted = false;
        while (true) {
            try {
                return ticks.start(job, slot, owner, runId, reopen);
            } catch (StoreException e) {
                // What may have been granted is looked for even by who is stopped: it would block the job for a whole
                // ttl.
                mayBeGranted |= e.kind() == StoreException.Kind.AMBIGUOUS;
                if (e.kind() == StoreException.Kind.BROKEN
                        || (stop.reason() != null && !mayBeGranted)
                        || time.bootMillis() + backoff.toMillis() >= giveUp) {
                    throw e;
                }
                time.sleep(backoff);
                backoff = longer(backoff);
            }
        }
    }

    private Result attempt(
            Job job,
            Slot slot,
            Start.Started granted,
            long sent,
            StopRequest stop,
            boolean once,
            Consumer<RunFiles> started)
            throws InterruptedException {
        Lease lease = granted.lease();
        for (Attempt dead : granted.abandoned()) {
            journal.record(abandoned(dead));
        }
        journal.record(new Event.Started(
                job.id(),
                slot.key(),
                granted.attempt(),
                lease.fence().value(),
                lease.runId().toString(),
                granted.lag()));
        Keeper keeper = new Keeper(leases, time, lease, job.ttl(), sent, listener(job, slot, stop));
        Spawner.Task renewing = spawner.virtualThread("keeper-" + job.id(), keeper);
        long began = time.bootMillis();
        try (DeadlineWatch.Handle ignored = watch.watch(keeper, () -> stopAtDeadline(job, slot, lease, keeper, stop))) {
            Verdict verdict = carryOut(job, slot, granted, keeper, stop, once, started);
            Stored stored;
            boolean keep = true;
            try {
                stored = store(job, slot, lease, keeper, verdict, stop);
                keep = stored.refused() != null
                        || !stored.completion().outcome().isSuccess();
            } finally {
                if (verdict.files() != null) {
                    publications.close(job, verdict.files(), verdict.place(), keep);
                }
            }
            Refusal refused = stored.refused();
            Completion completion = stored.completion();
            Outcome outcome = refused == null ? completion.outcome() : Outcome.LEASE_LOST;
            boolean deferred = refused == null && completion.isDeferred();
            journal.record(new Event.Executed(
                    job.id(),
                    slot.key(),
                    granted.attempt(),
                    lease.fence().value(),
                    deferred ? Event.Executed.DEFERRED : outcome.name(),
                    outcome.isFailure() && !deferred && stop.reason() != StopRequest.Reason.SHUTDOWN,
                    completion.reason(),
                    Duration.ofMillis(time.bootMillis() - began)));
            if (refused == null) {
                tellSequel(job, slot, lease, completion);
                notices.ended(job, slot, granted.attempt(), lease, completion);
            } else {
                notices.ended(job, slot, granted.attempt(), lease, lost(completion, refused));
            }
            return new Result.Ended(
                    outcome,
                    verdict.exit(),
                    completion.reason(),
                    refused,
                    completion.further().classification(),
                    completion.effects().stream().map(Announcement::key).toList());
        } finally {
            keeper.close();
            renewing.interrupt();
        }
    }

    private void stopAtDeadline(Job job, Slot slot, Lease lease, Keeper keeper, StopRequest stop) {
        String why = "no renewal before the local deadline";
        Duration grace = keeper.term().grace(job.grace(), time.bootMillis());
        boolean first = stop.reason() != StopRequest.Reason.LEASE_LOST;
        try {
            stop.request(StopRequest.Reason.LEASE_LOST, why, grace);
        } catch (RuntimeException | Error e) { // the watch will call again
            if (first) {
                journal.record(new Event.Problem(
                        "deadline",
                        job.id(),
                        slot.key(),
                        lease.fence().value(),
                        "the run could not be stopped yet",
                        e));
            }
            throw e;
        } finally {
            if (first && stop.reason() == StopRequest.Reason.LEASE_LOST) {
                journal.record(
                        new Event.LeaseLost(job.id(), slot.key(), lease.fence().value(), why));
            }
        }
    }

    private Keeper.Listener listener(Job job, Slot slot, StopRequest stop) {
        return new Keeper.Listener() {
            @Override
            public void renewed(Lease lease) {
                journal.record(
                        new Event.Renewed(job.id(), slot.key(), lease.fence().value()));
            }

            @Override
            public void renewFailed(Lease lease, StoreException cause) {
                journal.record(new Event.RenewFailed(
                        job.id(), slot.key(), lease.fence().value(), String.valueOf(cause.getMessage())));
            }

            @Override
            public void lost(Lease lease, Term term, Refusal reason) {
                Duration grace = term.grace(job.grace(), time.bootMillis());
                if (stop.request(StopRequest.Reason.LEASE_LOST, "renewal refused: " + reason, grace)) {
                    journal.record(new Event.LeaseLost(
                            job.id(), slot.key(), lease.fence().value(), reason.name()));
                }
            }
        };
    }

    /**
     * How the child ended and what is to be stored of it.
     *
     * @param files null where none were made
     * @param lostEffects keys of what it would have announced, if the lease is lost
     */
    private record Verdict(
            Completion completion,
            @Nullable Exit exit,
            @Nullable RunFiles files,
            Place place,
            List<String> lostEffects) {}

    /** What became of a completion: as it is in the store, or why it is not there. */
    private record Stored(Completion completion, @Nullable Refusal refused) {}

    /** What is told of an attempt that got its end since its holder is dead. */
    static Event abandoned(Attempt dead) {
        return dead.outcome() == Outcome.CANCELLED
                ? new Event.Note(
                        dead.job(),
                        "attempt " + dead.number() + " at " + dead.slotKey() + " had been asked to stop, and its holder"
                                + " is dead: it is written as CANCELLED")
                : new Event.Abandoned(
                        dead.job(), dead.slotKey(), dead.number(), dead.fence().value());
    }

    /** What notifiers are told of an end that the store refused. */
    private static Completion lost(Completion refused, Refusal why) {
        return new Completion(
                Outcome.LEASE_LOST,
                false,
                true,
                refused.exitCode(),
                refused.signal(),
                "the end was refused: " + why,
                refused.result(),
                refused.outputTail());
    }

    private void tellSequel(Job job, Slot slot, Lease lease, Completion completion) {
        Completion.Deferral deferral = completion.further().deferral();
        if (deferral != null) {
            Instant until = deferral.until() == null ? time.wallClock().plus(deferral.otherwise()) : deferral.until();
            journal.record(new Event.JobDeferred(job.id(), until, String.valueOf(completion.reason())));
        }
        for (Announcement effect : completion.effects()) {
            journal.record(new Event.EffectChanged(
                    job.id(),
                    slot.key(),
                    lease.fence().value(),
                    effect.sink(),
                    effect.key(),
                    EffectState.PENDING.name(),
                    null,
                    null,
                    false));
        }
    }

    private Verdict carryOut(
            Job job,
            Slot slot,
            Start.Started granted,
            Keeper keeper,
            StopRequest stop,
            boolean once,
            Consumer<RunFiles> started)
            throws InterruptedException {
        if (stop.reason() != null) {
            return new Verdict(stopped(stop), null, null, Place.NONE, List.of());
        }
        RunFiles files = null;
        ChildProcess child;
        Place place = Place.NONE;
        try {
            files = workspace.prepare(
                    job.id(), slot, granted.attempt(), granted.lease().runId());
            place = publications.open(job, slot, files);
            // The claim's answer may have waited long for the store, the files for the disk, and we may have been
            // frozen.
            if (time.bootMillis() >= keeper.term().deadlineBootMillis()) {
                stopAtDeadline(job, slot, granted.lease(), keeper, stop);
            }
            if (stop.reason() != null) {
                return new Verdict(stopped(stop), null, files, place, List.of());
            }
            notices.started(job, slot, granted.attempt(), granted.lease());
            child = start(job, slot, granted, files, place);
        } catch (Children.StartFailure | IOException e) {
            String reason = "could not be started: " + e.getMessage();
            Ending end = new Ending(Outcome.FAILED, null, reason, null, null);
            Completion failed = failure(job, slot, granted, null, end, once);
            return new Verdict(failed, null, files, place, List.of());
        }
        boolean over = false;
        try {
            stop.attach(child);
            started.accept(files);
            Exit exit = awaitEnd(job, child, stop);
            stop.ended();
            Output output = child.finish();
            over = true;
            Completion completion = completion(job, slot, granted, files, place, exit, output, stop, once);
            boolean lost = completion.outcome() == Outcome.LEASE_LOST && !granted.withoutEffects();
            return new Verdict(completion, exit, files, place, lost ? publications.keys(job, slot, files) : List.of());
        } finally {
            if (!over) { // an error of ours: nobody watches over the lease from here on, so the child must not go on
                child.stop(Duration.ZERO);
            }
        }
    }

    /** Of a run that was stopped before its child was started. */
    private static Completion stopped(StopRequest stop) {
        StopRequest.Reason reason = Objects.requireNonNull(stop.reason());
        Outcome outcome = reason.outcome();
        boolean closes = outcome != Outcome.LEASE_LOST && outcome != Outcome.ABANDONED;
        return new Completion(outcome, closes, reason.counts(), null, null, stop.text(), null, null);
    }

    private Exit awaitEnd(Job job, ChildProcess child, StopRequest stop) throws InterruptedException {
        long timeoutAt = job.timeout() == null
                ? Long.MAX_VALUE
                : time.bootMillis() + job.timeout().toMillis();
        Duration silence = job.policies().silence();
        while (true) {
            long now = time.bootMillis();
            long left = timeoutAt - now;
            if (left <= 0 && stop.reason() == null) {
                stop.request(
                        StopRequest.Reason.TIMEOUT,
                        "timeout of " + words(Objects.requireNonNull(job.timeout())) + " passed",
                        job.grace());
            }
            if (silence != null && left > 0) {
                left = Math.min(left, child.lastOutputBootMillis() + silence.toMillis() - now);
                if (left <= 0 && stop.reason() == null) {
                    stop.request(StopRequest.Reason.TIMEOUT, "no output for " + words(silence), job.grace());
                }
            }
            // Once it is being stopped the end is near: the process is killed by its own thread after the grace.
            Duration wait = left <= 0 ? Duration.ofSeconds(1) : Duration.ofMillis(Math.min(left, 60_000));
            Exit exit = child.await(wait);
            if (exit != null) {
                return exit;
            }
        }
    }

    /** 10m, 1h30m, 45s */
    private static String words(Duration duration) {
        return duration.toString().substring("PT".length()).toLowerCase(Locale.ROOT);
    }

    /** What is known of an end before anything follows from it. */
    private record Ending(
            Outcome outcome,
            @Nullable Exit exit,
            @Nullable String reason,
            byte @Nullable [] result,
            @Nullable String tail) {}

    private Completion completion(
            Job job,
            Slot slot,
            Start.Started granted,
            RunFiles files,
            Place place,
            Exit exit,
            Output output,
            StopRequest stop,
            boolean once)
            throws InterruptedException {
        StopRequest.Reason reason = stop.reason();
        Outcome outcome;
        String why = reason == null ? null : stop.text();
        byte[] result = null;
        List<Announcement> effects = List.of();
        if (reason == null) {
            outcome = exit.code() == 0 ? Outcome.SUCCEEDED : Outcome.FAILED;
            if (outcome == Outcome.FAILED) {
                why = words(exit);
            }
            try {
                result = workspace.result(files);
                if (result != null) {
                    result = new Secrets(job.secrets()).masked(result);
                }
                String broken =
                        outcome == Outcome.SUCCEEDED ? new Assessment(job, workspace, files).brokenRule(result) : null;
                if (broken != null) {
                    outcome = Outcome.FAILED;
                    why = broken;
                }
                if (outcome == Outcome.SUCCEEDED) {
                    Announced announced = publications.collect(
                            job,
                            slot,
                            granted.attempt(),
                            granted.lease().fence().value(),
                            files,
                            place,
                            result);
                    effects = announced.effects();
                    if (announced.nothingToPublish()) {
                        why = NOTHING_TO_PUBLISH;
                        outcome = job.policies().succeedIf().filesChanged() ? Outcome.FAILED : outcome;
                        effects = outcome == Outcome.FAILED ? List.of() : effects;
                    }
                    if (granted.withoutEffects() && !effects.isEmpty()) {
                        why = effects.size() + " effects are thrown away, as ordered";
                        effects = List.of();
                    }
                }
            } catch (IOException | Publications.Unpublishable e) {
                outcome = Outcome.FAILED;
                why = String.valueOf(e.getMessage());
            }
        } else {
            outcome = reason.outcome();
        }
        if (output.leftovers() > 0) {
            String left = output.leftovers() + " processes outlived the command and were killed";
            why = why == null ? left : why + "; " + left;
        }
        if (outcome == Outcome.FAILED || outcome == Outcome.TIMED_OUT) {
            Ending end = new Ending(outcome, exit, why, result, output.tail());
            return failure(job, slot, granted, files, end, once);
        }
        boolean closes = outcome != Outcome.LEASE_LOST && outcome != Outcome.ABANDONED;
        boolean counted = reason == null || reason.counts();
        return new Completion(
                outcome, closes, counted, exit.code(), exit.signal(), why, result, output.tail(), effects);
    }

    /** The process tree is dead by now, so a further try never meets the one before. */
    private Completion failure(
            Job job, Slot slot, Start.Started granted, @Nullable RunFiles files, Ending end, boolean once) {
        Exit exit = end.exit();
        Assessment.Sequel sequel;
        try {
            sequel = new Assessment(job, workspace, files)
                    .sequel(end.outcome(), exit, end.reason(), granted.spent() + 1, once, time.wallClock());
        } catch (IOException e) {
            journal.record(new Event.Problem(
                    "classification",
                    job.id(),
                    slot.key(),
                    granted.lease().fence().value(),
                    "the output cannot be read, so the kind of the failure is not known",
                    e));
            sequel = new Assessment.Sequel(true, true, end.reason(), Completion.Further.NOTHING);
        }
        return new Completion(
                end.outcome(),
                sequel.closesTick(),
                sequel.counted(),
                exit == null ? null : exit.code(),
                exit == null ? null : exit.signal(),
                sequel.reason(),
                end.result(),
                end.tail(),
                List.of(),
                sequel.further());
    }

    private static String words(Exit exit) {
        if (exit.reason() != null) {
            return exit.reason();
        }
        return exit.signal() == null ? "exit code " + exit.code() : "signal " + exit.signal();
    }

    /** What is stored instead of a completion that announces a key with other content than before. */
    private static Completion conflict(Completion wanted, String text) {
        return new Completion(
                Outcome.FAILED,
                true,
                true,
                wanted.exitCode(),
                wanted.signal(),
                text,
                wanted.result(),
                wanted.outputTail());
    }

    /**
     * Stores the end, until it has an answer or the lease is over by our own clock.
     *
     * @return what is stored, or why nothing is
     */
    private Stored store(Job job, Slot slot, Lease lease, Keeper keeper, Verdict verdict, StopRequest stop)
            throws InterruptedException {
        Completion completion = verdict.completion();
        if (completion.outcome() == Outcome.LEASE_LOST) {
            endAsLost(job, slot, lease, String.valueOf(completion.reason()), verdict.lostEffects(), stop);
            return new Stored(completion, null);
        }
        long patience = stop.reason() == StopRequest.Reason.SHUTDOWN
                ? time.bootMillis() + SHUTDOWN_PATIENCE.toMillis()
                // The keeper goes on renewing: an end that is never accepted must not hold the job for ever.
                : time.bootMillis() + job.ttl().toMillis();
        Duration backoff = FIRST_BACKOFF;
        boolean mayBeStored = false;
        while (true) {
            try {
                if (mayBeStored && isStored(lease, completion)) {
                    return new Stored(completion, null);
                }
                switch (ticks.complete(lease, completion)) {
                    case Completed.Stored stored -> {
                        return new Stored(completion, null);
                    }
                    case Completed.Conflict other -> completion = conflict(completion, other.text());
                    case Completed.Refused refused -> {
                        if (mayBeStored && isStored(lease, completion)) {
                            return new Stored(completion, null);
                        }
                        journal.record(new Event.StaleTokenRejected(
                                job.id(),
                                slot.key(),
                                lease.fence().value(),
                                refused.reason().name()));
                        if (refused.reason() == Refusal.EXPIRED) { // else somebody has ended the attempt already
                            endAsLost(job, slot, lease, "completion refused: EXPIRED", List.of(), stop);
                        }
                        return new Stored(completion, refused.reason());
                    }
                }
            } catch (StoreException e) {
                mayBeStored |= e.kind() == StoreException.Kind.AMBIGUOUS;
                long end = Math.min(keeper.term().endBootMillis(), patience);
                if (time.bootMillis() + backoff.toMillis() >= end || e.kind() == StoreException.Kind.BROKEN) {
                    journal.record(new Event.Problem(
                            "completion",
                            job.id(),
                            slot.key(),
                            lease.fence().value(),
                            "the end of the run could not be stored; its output stays on disk",
                            e));
                    List<String> keys =
                            completion.effects().stream().map(Announcement::key).toList();
                    endAsLost(job, slot, lease, "the store did not answer before the lease was over", keys, stop);
                    return new Stored(completion, Refusal.EXPIRED);
                }
                time.sleep(backoff);
                backoff = longer(backoff);
            }
        }
    }

    private boolean isStored(Lease lease, Completion completion) {
        Attempt attempt = ticks.attempt(lease.resource(), lease.runId());
        return attempt != null && attempt.outcome() == completion.outcome();
    }

    /** Best effort: where the store does not answer, the next claimant writes the attempt as ABANDONED. */
    private void endAsLost(Job job, Slot slot, Lease lease, String reason, List<String> effects, StopRequest stop) {
        try {
            if (!ticks.endAsLost(lease, reason, effects)) {
                journal.record(new Event.StaleTokenRejected(
                        job.id(), slot.key(), lease.fence().value(), Refusal.STALE_TOKEN.name()));
            }
        } catch (StoreException e) {
            if (stop.reason() != StopRequest.Reason.SHUTDOWN) {
                journal.record(new Event.Note(
                        job.id(),
                        "attempt at " + slot.key() + " with token " + lease.fence()
                                + " is left for the next claimant to close: " + e.getMessage()));
            }
        }
    }

    private ChildProcess start(Job job, Slot slot, Start.Started granted, RunFiles files, Place place)
            throws Children.StartFailure {
        return switch (job.action()) {
            case Action.Command command -> children.start(spec(job, command, slot, granted, files, place));
            case Action.HttpCall call -> httpCalls.start(call, headers(job, slot, granted), files, job.secrets());
        };
    }

    private static Map<String, String> headers(Job job, Slot slot, Start.Started granted) {
        Lease lease = granted.lease();
        return Map.of(
                "Idempotency-Key", slot.idempotencyKey(job.id()),
                "Fencing-Token", lease.fence().toString(),
                "Fencepost-Job", job.id(),
                "Fencepost-Slot", slot.key(),
                "Fencepost-Attempt", String.valueOf(granted.attempt()),
                "Fencepost-Run-Id", lease.runId().toString());
    }

    private Children.Spec spec(
            Job job, Action.Command command, Slot slot, Start.Started granted, RunFiles files, Place place) {
        Lease lease = granted.lease();
        Map<String, String> environment = new HashMap<>(command.env());
        environment.put("FENCEPOST_JOB", job.id());
        environment.put("FENCEPOST_SLOT", slot.key());
        environment.put("FENCEPOST_ATTEMPT", String.valueOf(granted.attempt()));
        environment.put("FENCEPOST_OWNER", lease.owner().text());
        environment.put("FENCEPOST_FENCE", lease.fence().toString());
        environment.put("FENCEPOST_RUN_ID", lease.runId().toString());
        environment.put("FENCEPOST_LEASE_EXPIRES", lease.expiresAt().toString());
        environment.put(
                "FENCEPOST_DEADLINE",
                job.timeout() == null
                        ? ""
                        : time.wallClock().plus(job.timeout()).toString());
        environment.put("FENCEPOST_IDEMPOTENCY_KEY", slot.idempotencyKey(job.id()));
        environment.put("FENCEPOST_OUTPUT_DIR", files.output().toString());
        environment.put("FENCEPOST_RESULT", files.result().toString());
        environment.putAll(place.environment());
        return new Children.Spec(
                lease.runId(),
                command.words(),
                environment,
                place.workingDir() == null ? command.workingDir() : place.workingDir(),
                command.stdin(),
                files.log(),
                logLimitBytes,
                job.secrets(),
                command.runAs(),
                place.worktree() != null);
    }

    private static Duration longer(Duration backoff) {
        Duration doubled = backoff.multipliedBy(2);
        return doubled.compareTo(MAX_BACKOFF) > 0 ? MAX_BACKOFF : doubled;
    }
}
