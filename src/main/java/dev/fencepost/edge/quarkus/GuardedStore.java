package dev.fencepost.edge.quarkus;

import dev.fencepost.Store;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectView;
import dev.fencepost.effect.Pair;
import dev.fencepost.effect.Settlement;
import dev.fencepost.host.Event;
import dev.fencepost.host.Journal;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.run.Attempt;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Pause;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.Backlog;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Slot;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.ItemResult;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkState;
import io.micrometer.core.instrument.MeterRegistry;
import io.smallrye.faulttolerance.api.CircuitBreakerState;
import io.smallrye.faulttolerance.api.Guard;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.eclipse.microprofile.faulttolerance.exceptions.FaultToleranceException;
import org.jspecify.annotations.Nullable;

/**
 * The store as the service uses it: reads and planning, which may be repeated, go through retry, circuit breaker and time limit; claims,
 * renewals, completions and whatever else is written under a lease go straight through, since a breaker that rejects a renewal or a retry
 * after an unknown outcome would break the contract (semantics 2.14). Every call is timed.
 */
final class GuardedStore implements Store {

    private static final Duration TIME_LIMIT = Duration.ofSeconds(15);

    private final Store store;
    private final MeterRegistry meters;
    private final Journal journal;
    private final Guard guard;
    private volatile boolean breakerOpen;

    GuardedStore(Store store, MeterRegistry meters, Journal journal) {
        this.store = store;
        this.meters = meters;
        this.journal = journal;
        this.guard = Guard.create()
                .withDescription("reads and planning")
                .withRetry()
                .maxRetries(2)
                .delay(200, ChronoUnit.MILLIS)
                .jitter(150, ChronoUnit.MILLIS)
                .whenException(GuardedStore::isUnavailable)
                .done()
                .withCircuitBreaker()
                .when(GuardedStore::isUnavailable)
                .requestVolumeThreshold(10)
                .failureRatio(0.6)
                .delay(5, ChronoUnit.SECONDS)
                .successThreshold(1)
                .onStateChange(state -> breakerOpen = state == CircuitBreakerState.OPEN)
                .done()
                .withTimeout()
                .duration(TIME_LIMIT.toMillis(), ChronoUnit.MILLIS)
                .done()
                .build();
    }

    /** With another guard. */
    GuardedStore(Store store, MeterRegistry meters, Journal journal, Guard guard) {
        this.store = store;
        this.meters = meters;
        this.journal = journal;
        this.guard = guard;
    }

    private static boolean isUnavailable(Throwable e) {
        return e instanceof StoreException failure && failure.kind() == Kind.UNAVAILABLE;
    }

    /** Whether so many reads failed that they are not even tried for the moment. */
    boolean isBreakerOpen() {
        return breakerOpen;
    }

    private record Holder<T extends @Nullable Object>(T value) {}

    /** Something that may be repeated. */
    private <T extends @Nullable Object> T guarded(String operation, Supplier<T> call) {
        return timed(operation, () -> {
            try {
                @SuppressWarnings("unchecked")
                Holder<T> holder = guard.get(() -> new Holder<>(call.get()), Holder.class);
                return holder.value();
            } catch (FaultToleranceException e) {
                String why = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
                throw new StoreException(Kind.UNAVAILABLE, operation + ": " + why, e);
            }
        });
    }

    private <T extends @Nullable Object> T timed(String operation, Supplier<T> call) {
        long start = System.nanoTime();
        try {
            return call.get();
        } finally {
            meters.timer("store.latency", "op", operation).record(Duration.ofNanos(System.nanoTime() - start));
        }
    }

    @Override
    public void prepare() {
        store.prepare(); // its caller has a retry of its own, with growing distance
    }

    @Override
    public void check() {
        timed("check", () -> {
            store.check();
            return true;
        });
    }

    @Override
    public String describe() {
        return store.describe();
    }

    @Override
    public void close() {
        store.close();
    }

    @Override
    public Claim claim(String resource, Owner owner, RunId runId, Duration ttl) {
        return timed("claim", () -> store.claim(resource, owner, runId, ttl));
    }

    @Override
    public Renewal renew(Lease lease, Duration ttl) {
        return timed("renew", () -> store.renew(lease, ttl));
    }

    @Override
    public Optional<Refusal> release(Lease lease) {
        return timed("release", () -> store.release(lease));
    }

    @Override
    public @Nullable LeaseView inspect(String resource) {
        return this.<@Nullable LeaseView>guarded("inspect", () -> store.inspect(resource));
    }

    @Override
    public List<LeaseView> list(int limit) {
        return guarded("list", () -> store.list(limit));
    }

    @Override
    public @Nullable LeaseView breakLease(String resource, String reason) {
        return this.<@Nullable LeaseView>timed("break", () -> store.breakLease(resource, reason));
    }

    @Override
    public Instant now() {
        return guarded("now", store::now);
    }

    @Override
    public void register(Collection<Job> jobs) {
        guarded("register", () -> {
            store.register(jobs);
            return true;
        });
    }

    @Override
    public @Nullable Situation situation(String job) {
        return this.<@Nullable Situation>guarded("situation", () -> store.situation(job));
    }

    @Override
    public Restless restless() {
        return guarded("restless", store::restless);
    }

    @Override
    public BrakeCounts brakeCounts(String job, int mostFailures, @Nullable Instant runsSince) {
        return guarded("brake-counts", () -> store.brakeCounts(job, mostFailures, runsSince));
    }

    /** May be repeated: the cursor is compared, so a plan that was written after all is not written again. */
    @Override
    public @Nullable Plan apply(Job job, Backlog seen, Plan plan) {
        return this.<@Nullable Plan>guarded("plan", () -> store.apply(job, seen, plan));
    }

    @Override
    public Start start(Job job, Slot slot, Owner owner, RunId runId, boolean reopen) {
        return timed("start", () -> store.start(job, slot, owner, runId, reopen));
    }

    @Override
    public Completed complete(Lease lease, Completion completion) {
        return timed("complete", () -> store.complete(lease, completion));
    }

    @Override
    public boolean endAsLost(Lease lease, String reason, List<String> effects) {
        return timed("end-as-lost", () -> store.endAsLost(lease, reason, effects));
    }

    @Override
    public List<Attempt> abandon(Lease lease, boolean provablyDead) {
        return timed("abandon", () -> store.abandon(lease, provablyDead));
    }

    @Override
    public @Nullable Attempt attempt(String job, RunId runId) {
        return this.<@Nullable Attempt>timed("read-back", () -> store.attempt(job, runId));
    }

    @Override
    public List<DuePair> duePairs(Collection<String> sinks, int limit) {
        return guarded("due-pairs", () -> store.duePairs(sinks, limit));
    }

    /** May be repeated: what was made EXPIRED by a try without an answer is only not told. */
    @Override
    public List<EffectView> expire() {
        return guarded("expire", store::expire);
    }

    @Override
    public List<EffectView> adopt(Lease lease, Pair pair, Duration lockDelay) {
        return timed("adopt", () -> store.adopt(lease, pair, lockDelay));
    }

    @Override
    public @Nullable Effect next(Pair pair, int mostBytes) {
        return this.<@Nullable Effect>guarded("next-effect", () -> store.next(pair, mostBytes));
    }

    @Override
    public Begun begin(Lease lease, Effect effect) {
        return timed("begin", () -> store.begin(lease, effect));
    }

    @Override
    public boolean sent(Lease lease, Effect effect, Settlement settlement) {
        return timed("sent", () -> store.sent(lease, effect, settlement));
    }

    @Override
    public boolean checked(Lease lease, Effect effect, Settlement settlement) {
        return timed("checked", () -> store.checked(lease, effect, settlement));
    }

    @Override
    public List<EffectView> effects(Filter filter, int limit) {
        return guarded("effects", () -> store.effects(filter, limit));
    }

    @Override
    public List<EffectView> effectsOf(String job, String slotKey) {
        return guarded("effects", () -> store.effectsOf(job, slotKey));
    }

    @Override
    public @Nullable EffectView effect(String key) {
        return this.<@Nullable EffectView>guarded("effect", () -> store.effect(key));
    }

    @Override
    public List<Tally> tallies() {
        return guarded("tallies", store::tallies);
    }

    @Override
    public Optional<String> resolve(String key, Order order, String reason, boolean override) {
        return timed("resolve", () -> store.resolve(key, order, reason, override));
    }

    @Override
    public Enqueued enqueue(NewItem item) {
        return timed("enqueue", () -> store.enqueue(item));
    }

    @Override
    public @Nullable WorkItem item(String id) {
        return this.<@Nullable WorkItem>guarded("item", () -> store.item(id));
    }

    @Override
    public List<WorkItem> items(@Nullable String queue, @Nullable WorkState state, int limit) {
        return guarded("items", () -> store.items(queue, state, limit));
    }

    @Override
    public WorkAnswer claimItem(String id, Owner owner, RunId runId, Duration ttl) {
        return timed("claim-item", () -> store.claimItem(id, owner, runId, ttl));
    }

    @Override
    public List<WorkItem> claimAny(String queue, Owner owner, List<RunId> runIds, Duration ttl) {
        return timed("claim-any", () -> store.claimAny(queue, owner, runIds, ttl));
    }

    @Override
    public WorkAnswer renew(Grant grant, Duration ttl) {
        return told(grant, timed("renew-item", () -> store.renew(grant, ttl)));
    }

    @Override
    public WorkAnswer complete(Grant grant, @Nullable Body result) {
        return told(grant, timed("complete-item", () -> store.complete(grant, result)));
    }

    @Override
    public List<WorkAnswer> completeAll(List<ItemResult> results) {
        List<WorkAnswer> answers = timed("complete-items", () -> store.completeAll(results));
        for (int place = 0; place < answers.size(); place++) {
            told(results.get(place).grant(), answers.get(place));
        }
        return answers;
    }

    @Override
    public WorkAnswer fail(Grant grant, String reason, @Nullable Duration again) {
        return told(grant, timed("fail-item", () -> store.fail(grant, reason, again)));
    }

    @Override
    public WorkAnswer release(Grant grant) {
        return timed("release-item", () -> store.release(grant));
    }

    @Override
    public Optional<WorkAnswer.Refused> check(Grant grant) {
        Optional<WorkAnswer.Refused> refused = guarded("check-item", () -> store.check(grant));
        refused.ifPresent(answer -> told(grant, answer));
        return refused;
    }

    @Override
    public WorkAnswer addArtifact(Grant grant, Artifact artifact) {
        return told(grant, timed("add-artifact", () -> store.addArtifact(grant, artifact)));
    }

    @Override
    public List<Artifact> artifacts(String id) {
        return guarded("artifacts", () -> store.artifacts(id));
    }

    @Override
    public void setCapacity(String queue, @Nullable Integer capacity) {
        timed("set-capacity", () -> {
            store.setCapacity(queue, capacity);
            return true;
        });
    }

    @Override
    public List<QueueView> queues() {
        return guarded("queues", store::queues);
    }

    /** A refusal under an old grant is told, whichever node's worker it is. */
    private WorkAnswer told(Grant grant, WorkAnswer answer) {
        if (answer instanceof WorkAnswer.Refused refused && refused.item() != null && isStale(refused.reason())) {
            journal.record(new Event.StaleWorkRejected(
                    refused.item().queue(),
                    grant.id(),
                    grant.fence().value(),
                    refused.reason().name()));
        }
        return answer;
    }

    /** DEAD is what EXPIRED is called after the last try. */
    private static boolean isStale(Refusal reason) {
        return switch (reason) {
            case STALE_TOKEN, EXPIRED, NOT_OWNER, ALREADY_DONE, DEAD -> true;
            case HELD, UNKNOWN, EXISTS, NOT_YET, AT_CAPACITY -> false;
        };
    }

    @Override
    public Pruned prune(Instant endedBefore, int limit) {
        return timed("prune", () -> store.prune(endedBefore, limit));
    }

    @Override
    public Signal signal() {
        return guarded("signal", store::signal);
    }

    @Override
    public @Nullable Pause pauseOf(String job) {
        return this.<@Nullable Pause>guarded("pause-of", () -> store.pauseOf(job));
    }

    @Override
    public Answer pause(String job, @Nullable Instant until, Pause.Cause cause, @Nullable String reason, String by) {
        return timed("pause", () -> store.pause(job, until, cause, reason, by));
    }

    @Override
    public Answer resume(String job, @Nullable String reason, String by) {
        return timed("resume", () -> store.resume(job, reason, by));
    }

    @Override
    public boolean endPause(String job) {
        return timed("end-pause", () -> store.endPause(job));
    }

    @Override
    public List<Answer> trigger(
            String job, List<Slot> slots, boolean withoutEffects, @Nullable String reason, String by) {
        return timed("trigger", () -> store.trigger(job, slots, withoutEffects, reason, by));
    }

    @Override
    public Answer cancel(String job, @Nullable String reason, String by) {
        return timed("cancel", () -> store.cancel(job, reason, by));
    }

    @Override
    public void reload(@Nullable String reason, String by) {
        timed("order-reload", () -> {
            store.reload(reason, by);
            return true;
        });
    }

    @Override
    public List<Stop> stops(Owner owner) {
        return guarded("stops", () -> store.stops(owner));
    }

    @Override
    public List<JobEvent> jobEvents(@Nullable String job, int limit) {
        return guarded("job-events", () -> store.jobEvents(job, limit));
    }

    @Override
    public void seen(Owner owner, State state) {
        timed("seen", () -> {
            store.seen(owner, state);
            return true;
        });
    }

    @Override
    public void stopped(Owner owner) {
        timed("stopped", () -> {
            store.stopped(owner);
            return true;
        });
    }

    @Override
    public List<NodeView> nodes(int limit) {
        return guarded("nodes", () -> store.nodes(limit));
    }

    @Override
    public List<String> jobsWithTicks() {
        return guarded("jobs-with-ticks", store::jobsWithTicks);
    }

    @Override
    public int pruneTicks(String job, Instant endedBefore, int keep, int limit) {
        return timed("prune-ticks", () -> store.pruneTicks(job, endedBefore, keep, limit));
    }

    @Override
    public int pruneEvents(Instant before, int limit) {
        return timed("prune-events", () -> store.pruneEvents(before, limit));
    }

    @Override
    public int pruneEffects(Instant settledBefore, int limit) {
        return timed("prune-effects", () -> store.pruneEffects(settledBefore, limit));
    }

    @Override
    public Map<String, Long> prunedTokens(Collection<String> ids) {
        return guarded("pruned-tokens", () -> store.prunedTokens(ids));
    }

    @Override
    public List<JobSummary> jobs() {
        return guarded("jobs", store::jobs);
    }

    @Override
    public List<Entry> history(String job, int limit) {
        return guarded("history", () -> store.history(job, limit));
    }

    @Override
    public @Nullable JobSummary job(String id) {
        return this.<@Nullable JobSummary>guarded("history", () -> store.job(id));
    }

    @Override
    public Map<String, Map<Outcome, Long>> counts() {
        return guarded("history", store::counts);
    }

    @Override
    public Map<String, List<Mark>> newest(Collection<String> jobs, int ticks) {
        return guarded("history", () -> store.newest(jobs, ticks));
    }

    @Override
    public Page page(String job, @Nullable Place before, Collection<Outcome> outcomes, int limit) {
        return guarded("history", () -> store.page(job, before, outcomes, limit));
    }

    @Override
    public List<Quarter> quarters(String job, Instant from) {
        return guarded("history", () -> store.quarters(job, from));
    }

    @Override
    public List<Attempt> attempts(String job, int limit) {
        return guarded("history", () -> store.attempts(job, limit));
    }

    @Override
    public List<WriteEvent> eventsOfRuns(Collection<RunId> runs) {
        return guarded("events", () -> store.eventsOfRuns(runs));
    }

    @Override
    public byte @Nullable [] result(String job, RunId runId) {
        return this.<byte @Nullable []>guarded("output", () -> store.result(job, runId));
    }

    @Override
    public @Nullable Kept kept(String job, RunId runId) {
        return this.<@Nullable Kept>guarded("output", () -> store.kept(job, runId));
    }

    @Override
    public Optional<Longest> longestSuccess(String job) {
        return guarded("history", () -> store.longestSuccess(job));
    }

    @Override
    public List<WriteEvent> events(int limit) {
        return guarded("events", () -> store.events(limit));
    }

    @Override
    public List<WriteEvent> eventsOf(String resource, int limit) {
        return guarded("events", () -> store.eventsOf(resource, limit));
    }

    @Override
    public SlotHistory slot(String job, Slot slot) {
        return guarded("slot", () -> store.slot(job, slot));
    }

    @Override
    public Change change(String job) {
        return timed("told", () -> store.change(job));
    }
}
