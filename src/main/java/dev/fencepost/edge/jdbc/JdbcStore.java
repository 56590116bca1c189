package dev.fencepost.edge.jdbc;

import dev.fencepost.Store;
import dev.fencepost.edge.jdbc.Database.Urgency;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectView;
import dev.fencepost.effect.Pair;
import dev.fencepost.effect.Settlement;
import dev.fencepost.host.Journal;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.Renewal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
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
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The store in a database: one face over the parts that know the statements. */
public final class JdbcStore implements Store {

    private static final Sql CHECK = Sql.of("update lease set fence = fence where resource = ''");

    private static final Sql SCHEMA = Sql.of(Migrations.LEAST_KNOWN);

    /** PostgreSQL's code; SQLite has only words for it. */
    private static final String UNDEFINED_TABLE = "42P01";

    private final Database database;
    private final JdbcLeases leases;
    private final JdbcTicks ticks;
    private final JdbcOutbox outbox;
    private final JdbcWork work;
    private final JdbcOrders orders;
    private final JdbcNodes nodes;
    private final JdbcRetention retention;
    private final JdbcHistory history;
    private final JdbcTold told;
    private final JdbcDiagnosis diagnosis;

    private JdbcStore(Database database, @Nullable TickBatches batches) {
        this.database = database;
        this.leases = new JdbcLeases(database, batches);
        this.ticks = new JdbcTicks(database, batches);
        this.outbox = new JdbcOutbox(database);
        this.work = new JdbcWork(database);
        this.orders = new JdbcOrders(database);
        this.nodes = new JdbcNodes(database);
        this.retention = new JdbcRetention(database);
        this.history = new JdbcHistory(database);
        this.told = new JdbcTold(database);
        this.diagnosis = new JdbcDiagnosis(database);
    }

    /** The file and its folder are made if they are not there. */
    public static JdbcStore sqlite(Path file, Time time, Spawner spawner) {
        return new JdbcStore(new SqliteDatabase(file, time, spawner), null);
    }

    /**
     * Nothing is connected yet: an unreachable server shows at the first call.
     *
     * @param jdbcUrl as the driver takes it, without user and password
     * @param display what people are shown of it
     */
    public static JdbcStore postgres(
            String jdbcUrl, @Nullable String user, @Nullable String password, String display, Journal journal) {
        Database database = new PostgresDatabase(jdbcUrl, user, password, display, journal);
        return new JdbcStore(database, new TickBatches(database));
    }

    /** The results that the demonstration of stale writers fights over. */
    public DemoResults demoResults() {
        return new DemoResults(database);
    }

    /** Raises all tokens. */
    public Tokens tokens() {
        return new Tokens(database);
    }

    /** What must be so in the rows. */
    public Audit audit() {
        return new Audit(database, diagnosis);
    }

    /**
     * Copies the file of SQLite as it is at one moment, while others read and write.
     *
     * @param copy empty, or not there yet
     * @return what is damaged in the copy, in SQLite's words; empty for nothing
     * @throws UnsupportedOperationException on PostgreSQL, which has programs of its own for it
     */
    public List<String> copyTo(Path copy) {
        if (database instanceof SqliteDatabase sqlite) {
            return sqlite.copyTo(copy);
        }
        throw new UnsupportedOperationException("only a SQLite file is copied");
    }

    /** What measuring leaves behind. */
    public BenchRows benchRows() {
        return new BenchRows(database);
    }

    @Override
    public void prepare() {
        database.migrate();
    }

    /**
     * Whether {@link #prepare} has been called on this store, by this program in its version or a newer one. Changes nothing, so that a
     * look at a store never makes one.
     *
     * @throws SchemaTooNewException if this program must not work on it
     */
    public boolean isPrepared() {
        try {
            Optional<Integer> leastKnown = database.read(
                    "schema",
                    session -> Optional.ofNullable(
                                    session.one(SCHEMA, Params.none()).first())
                            .map(row -> row.integer("least_known")));
            leastKnown.ifPresent(Migrations::checkKnown);
            return leastKnown.isPresent();
        } catch (StoreException e) {
            if (lacksTheTable(e)) {
                return false;
            }
            throw e;
        }
    }

    static boolean lacksTheTable(StoreException e) {
        return e.getCause() instanceof SQLException cause
                && (UNDEFINED_TABLE.equals(cause.getSQLState())
                        || String.valueOf(cause.getMessage()).contains("no such table"));
    }

    /** What the store is like, whether prepared or not. Changes nothing. */
    public Diagnosis diagnosis() {
        return diagnosis.read();
    }

    /** Commits durably something that no table knows of: how long that takes is how long every grant takes at least. */
    public void writeNothing() {
        diagnosis.writeNothing();
    }

    /** What is damaged in the file of SQLite, in its words, at most ten lines. Reads the whole file. Empty for PostgreSQL. */
    public List<String> damage() {
        return diagnosis.damage();
    }

    @Override
    public void check() {
        database.checkRoom();
        database.write(
                "check",
                Urgency.NORMAL,
                session -> session.one(CHECK, Params.none()).changed());
    }

    @Override
    public String describe() {
        return database.describe();
    }

    @Override
    public void close() {
        database.close();
    }

    @Override
    public Claim claim(String resource, Owner owner, RunId runId, Duration ttl) {
        return leases.claim(resource, owner, runId, ttl);
    }

    @Override
    public Renewal renew(Lease lease, Duration ttl) {
        return leases.renew(lease, ttl);
    }

    @Override
    public Optional<Refusal> release(Lease lease) {
        return leases.release(lease);
    }

    @Override
    public @Nullable LeaseView inspect(String resource) {
        return leases.inspect(resource);
    }

    @Override
    public List<LeaseView> list(int limit) {
        return leases.list(limit);
    }

    @Override
    public @Nullable LeaseView breakLease(String resource, String reason) {
        return leases.breakLease(resource, reason);
    }

    @Override
    public Instant now() {
        return ticks.now();
    }

    @Override
    public void register(Collection<Job> jobs) {
        ticks.register(jobs);
    }

    @Override
    public @Nullable Situation situation(String job) {
        return ticks.situation(job);
    }

    @Override
    public Restless restless() {
        return ticks.restless();
    }

    @Override
    public @Nullable Plan apply(Job job, Backlog seen, Plan plan) {
        return ticks.apply(job, seen, plan);
    }

    @Override
    public BrakeCounts brakeCounts(String job, int mostFailures, @Nullable Instant runsSince) {
        return ticks.brakeCounts(job, mostFailures, runsSince);
    }

    @Override
    public Start start(Job job, Slot slot, Owner owner, RunId runId, boolean reopen) {
        return ticks.start(job, slot, owner, runId, reopen);
    }

    @Override
    public Completed complete(Lease lease, Completion completion) {
        return ticks.complete(lease, completion);
    }

    @Override
    public boolean endAsLost(Lease lease, String reason, List<String> effects) {
        return ticks.endAsLost(lease, reason, effects);
    }

    @Override
    public List<Attempt> abandon(Lease lease, boolean provablyDead) {
        return ticks.abandon(lease, provablyDead);
    }

    @Override
    public @Nullable Attempt attempt(String job, RunId runId) {
        return ticks.attempt(job, runId);
    }

    @Override
    public List<DuePair> duePairs(Collection<String> sinks, int limit) {
        return outbox.duePairs(sinks, limit);
    }

    @Override
    public List<EffectView> expire() {
        return outbox.expire();
    }

    @Override
    public List<EffectView> adopt(Lease lease, Pair pair, Duration lockDelay) {
        return outbox.adopt(lease, pair, lockDelay);
    }

    @Override
    public @Nullable Effect next(Pair pair, int mostBytes) {
        return outbox.next(pair, mostBytes);
    }

    @Override
    public Begun begin(Lease lease, Effect effect) {
        return outbox.begin(lease, effect);
    }

    @Override
    public boolean sent(Lease lease, Effect effect, Settlement settlement) {
        return outbox.sent(lease, effect, settlement);
    }

    @Override
    public boolean checked(Lease lease, Effect effect, Settlement settlement) {
        return outbox.checked(lease, effect, settlement);
    }

    @Override
    public List<EffectView> effects(Filter filter, int limit) {
        return outbox.effects(filter, limit);
    }

    @Override
    public List<EffectView> effectsOf(String job, String slotKey) {
        return outbox.effectsOf(job, slotKey);
    }

    @Override
    public @Nullable EffectView effect(String key) {
        return outbox.effect(key);
    }

    @Override
    public List<Tally> tallies() {
        return outbox.tallies();
    }

    @Override
    public Optional<String> resolve(String key, Order order, String reason, boolean override) {
        return outbox.resolve(key, order, reason, override);
    }

    @Override
    public Enqueued enqueue(NewItem item) {
        return work.enqueue(item);
    }

    @Override
    public @Nullable WorkItem item(String id) {
        return work.item(id);
    }

    @Override
    public List<WorkItem> items(@Nullable String queue, @Nullable WorkState state, int limit) {
        return work.items(queue, state, limit);
    }

    @Override
    public WorkAnswer claimItem(String id, Owner owner, RunId runId, Duration ttl) {
        return work.claimItem(id, owner, runId, ttl);
    }

    @Override
    public List<WorkItem> claimAny(String queue, Owner owner, List<RunId> runIds, Duration ttl) {
        return work.claimAny(queue, owner, runIds, ttl);
    }

    @Override
    public WorkAnswer renew(Grant grant, Duration ttl) {
        return work.renew(grant, ttl);
    }

    @Override
    public WorkAnswer complete(Grant grant, @Nullable Body result) {
        return work.complete(grant, result);
    }

    @Override
    public List<WorkAnswer> completeAll(List<ItemResult> results) {
        return work.completeAll(results);
    }

    @Override
    public WorkAnswer fail(Grant grant, String reason, @Nullable Duration again) {
        return work.fail(grant, reason, again);
    }

    @Override
    public WorkAnswer release(Grant grant) {
        return work.release(grant);
    }

    @Override
    public Optional<WorkAnswer.Refused> check(Grant grant) {
        return work.check(grant);
    }

    @Override
    public WorkAnswer addArtifact(Grant grant, Artifact artifact) {
        return work.addArtifact(grant, artifact);
    }

    @Override
    public List<Artifact> artifacts(String id) {
        return work.artifacts(id);
    }

    @Override
    public void setCapacity(String queue, @Nullable Integer capacity) {
        work.setCapacity(queue, capacity);
    }

    @Override
    public List<QueueView> queues() {
        return work.queues();
    }

    @Override
    public Pruned prune(Instant endedBefore, int limit) {
        return work.prune(endedBefore, limit);
    }

    @Override
    public Signal signal() {
        return orders.signal();
    }

    @Override
    public @Nullable Pause pauseOf(String job) {
        return orders.pauseOf(job);
    }

    @Override
    public Answer pause(String job, @Nullable Instant until, Pause.Cause cause, @Nullable String reason, String by) {
        return orders.pause(job, until, cause, reason, by);
    }

    @Override
    public Answer resume(String job, @Nullable String reason, String by) {
        return orders.resume(job, reason, by);
    }

    @Override
    public boolean endPause(String job) {
        return orders.endPause(job);
    }

    @Override
    public List<Answer> trigger(
            String job, List<Slot> slots, boolean withoutEffects, @Nullable String reason, String by) {
        return orders.trigger(job, slots, withoutEffects, reason, by);
    }

    @Override
    public Answer cancel(String job, @Nullable String reason, String by) {
        return orders.cancel(job, reason, by);
    }

    @Override
    public void reload(@Nullable String reason, String by) {
        orders.reload(reason, by);
    }

    @Override
    public List<Stop> stops(Owner owner) {
        return orders.stops(owner);
    }

    @Override
    public List<JobEvent> jobEvents(@Nullable String job, int limit) {
        return orders.jobEvents(job, limit);
    }

    @Override
    public void seen(Owner owner, State state) {
        nodes.seen(owner, state);
    }

    @Override
    public void stopped(Owner owner) {
        nodes.stopped(owner);
    }

    @Override
    public List<NodeView> nodes(int limit) {
        return nodes.nodes(limit);
    }

    @Override
    public List<String> jobsWithTicks() {
        return retention.jobsWithTicks();
    }

    @Override
    public int pruneTicks(String job, Instant endedBefore, int keep, int limit) {
        return retention.pruneTicks(job, endedBefore, keep, limit);
    }

    @Override
    public int pruneEvents(Instant before, int limit) {
        return retention.pruneEvents(before, limit);
    }

    @Override
    public int pruneEffects(Instant settledBefore, int limit) {
        return retention.pruneEffects(settledBefore, limit);
    }

    @Override
    public Map<String, Long> prunedTokens(Collection<String> ids) {
        return work.prunedTokens(ids);
    }

    @Override
    public List<JobSummary> jobs() {
        return history.jobs();
    }

    @Override
    public @Nullable JobSummary job(String id) {
        return history.job(id);
    }

    @Override
    public Map<String, Map<Outcome, Long>> counts() {
        return history.counts();
    }

    @Override
    public Map<String, List<Mark>> newest(Collection<String> jobs, int ticks) {
        return history.newest(jobs, ticks);
    }

    @Override
    public Page page(String job, @Nullable Place before, Collection<Outcome> outcomes, int limit) {
        return history.page(job, before, outcomes, limit);
    }

    @Override
    public List<Quarter> quarters(String job, Instant from) {
        return history.quarters(job, from);
    }

    @Override
    public List<Attempt> attempts(String job, int limit) {
        return history.attempts(job, limit);
    }

    @Override
    public List<WriteEvent> eventsOfRuns(Collection<RunId> runs) {
        return history.eventsOfRuns(runs);
    }

    @Override
    public byte @Nullable [] result(String job, RunId runId) {
        return history.result(job, runId);
    }

    @Override
    public @Nullable Kept kept(String job, RunId runId) {
        return history.kept(job, runId);
    }

    @Override
    public List<Entry> history(String job, int limit) {
        return history.history(job, limit);
    }

    @Override
    public Optional<Longest> longestSuccess(String job) {
        return history.longestSuccess(job);
    }

    @Override
    public List<WriteEvent> events(int limit) {
        return history.events(limit);
    }

    @Override
    public List<WriteEvent> eventsOf(String resource, int limit) {
        return history.eventsOf(resource, limit);
    }

    @Override
    public SlotHistory slot(String job, Slot slot) {
        return history.slot(job, slot);
    }

    @Override
    public Change change(String job) {
        return told.change(job);
    }
}
