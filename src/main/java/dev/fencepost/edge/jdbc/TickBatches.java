package dev.fencepost.edge.jdbc;

import dev.fencepost.edge.jdbc.Database.Urgency;
import dev.fencepost.edge.jdbc.Session.Answer;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.StoreException.Kind;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Start;
import dev.fencepost.run.Ticks.Situation;
import dev.fencepost.schedule.Plan;
import dev.fencepost.schedule.Plan.NewTick;
import dev.fencepost.schedule.Slot;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The usual course of a tick on PostgreSQL, for as many jobs at once as wait for it: read what is due, open its tick, claim its lease,
 * renew it, complete it. Each is one statement and one round trip, whether for one job or for a hundred (ADR 28).
 *
 * <p>Here is only what meets nothing unusual: a plan that opens ticks and does nothing else, the first attempt of a tick whose lease
 * nobody holds and whose job no dead holder has left anything behind, and under a good lease a renewal, or a completion that nothing
 * follows. Whatever is not so, or is being changed by somebody at that moment, is left alone, without waiting for it, and goes the long
 * way in {@link JdbcTicks} or {@link JdbcLeases}, which decide. Only an insert waits: for whoever has made the same tick and not committed
 * it yet.
 *
 * <p>A statement sees the database as it was when it began. So it decides by rows that it has locked, which it sees as they are now; and
 * where it finds such a row again, to change it, it does so by its key, since only then is it looked at once more.
 */
final class TickBatches {

    private static final int MOST = 200;

    /** Some commits of a slow disk. Calls for hundreds of jobs take longer; then two at a time use two cores of the server. */
    private static final Duration USUAL = Duration.ofMillis(20);

    /** As long as for a connection, and as long as a call may take. */
    private static final Duration PATIENCE = Duration.ofSeconds(8);

    /** The same for what is urgent. */
    private static final Duration SHORT_PATIENCE = Duration.ofSeconds(2);

    private static final String QUERY_CANCELED = "57014";

    /** Of a result and of the end of an output: more would make the others wait for it. */
    private static final int LONGEST = 1 << 10;

    /**
     * The rows are locked, where nobody else has them, before anything is decided by them. A tick that another node opened since the
     * statement began is met by the insert.
     */
    static final Statement OPEN = Statement.of("""
            with wanted as (
                select * from unnest(:jobs::text[], :seen::timestamptz[], :cursors::timestamptz[], :slot_keys::text[],
                    :slot_ats::timestamptz[], :on_time::boolean[])
                    as w (job, seen, cursor_at, slot_key, slot_at, on_time){rows}),
            unmoved as materialized (
                select w.* from (select distinct on (job) * from wanted order by job) w cross join lateral (
                    select 1 from job j where j.id = w.job and j.cursor_at = w.seen for update skip locked) j),
            moved as (
                update job j set cursor_at = u.cursor_at from unmoved u where j.id = u.job
                returning u.job, u.slot_key, u.slot_at, u.on_time),
            opened as (
                insert into tick (job, slot_key, slot_at, on_time, opened_at)
                select m.job, m.slot_key, m.slot_at, m.on_time, {now} from moved m
                on conflict (job, slot_key) do nothing returning job)
            select m.job, exists (select 1 from opened o where o.job = m.job) as opened from moved m""");

    /**
     * A lease that was released is granted, its tick has its first attempt, and no other attempt of the job is without an end. The lease
     * is locked first, then its tick if it is there, each only where nobody else has it; so whoever had claimed it before is seen. Other
     * attempts are seen as they were when the statement began: where the token is another one by now, there may be one more.
     */
    static final Statement START =
            Statement.of("""
            with wanted as (
                select * from unnest(:jobs::text[], :slot_keys::text[], :slot_ats::timestamptz[], :owners::text[],
                    :run_ids::text[], :ttls::bigint[]) as w (job, slot_key, slot_at, owner, run_id, ttl){rows}),
            free as materialized (
                select w.*, l.fence from (select distinct on (job) * from wanted order by job) w cross join lateral (
                    select l.fence from lease l where l.resource = w.job and l.owner is null for update skip locked) l),
            open as materialized (
                select f.job from free f cross join lateral (
                    select 1 from tick t where t.job = f.job and t.slot_key = f.slot_key for update skip locked) t),
            begun as (
                insert into tick as t (job, slot_key, slot_at, on_time, opened_at, attempts, run_id)
                select f.job, f.slot_key, f.slot_at, false, {now}, 1, f.run_id from free f
                where f.fence = (select s.fence from lease s where s.resource = f.job)
                    and coalesce((select false from attempt a where a.job = f.job and a.ended_at is null limit 1), true)
                    and coalesce((select false from attempt a where a.run_id = f.run_id limit 1), true)
                    and (exists (select 1 from open o where o.job = f.job) or coalesce(
                        (select false from tick o where o.job = f.job and o.slot_key = f.slot_key limit 1), true))
                on conflict (job, slot_key) do update set attempts = 1, run_id = excluded.run_id
                    where t.outcome is null and t.attempts = 0 and t.not_before is null
                returning run_id, slot_at, without_effects),
            begins as materialized (
                select f.job, f.slot_key, f.owner, f.run_id, f.ttl, {next_fence f} as next, b.slot_at, b.without_effects
                from free f join begun b on b.run_id = f.run_id),
            tried as (
                insert into attempt (run_id, job, slot_key, number, fence, owner, started_at)
                select b.run_id, b.job, b.slot_key, 1, b.next, b.owner, {now} from begins b)
            update lease l set owner = b.owner, run_id = b.run_id, slot_key = b.slot_key, fence = b.next,
                granted_at = {now}, expires_at = {now} + b.ttl {ms}
            from begins b where l.resource = b.job
            returning\s""" + JdbcLeases.VIEW_COLUMNS + ", 1 as number, {now} as now, b.slot_at, b.without_effects");

    /** Each lease is locked first, where nobody else has it; then the clock is looked at. */
    static final Statement RENEW = Statement.of("""
            with wanted as (
                select * from unnest(:resources::text[], :owners::text[], :fences::bigint[], :run_ids::text[], :ttls::bigint[])
                    as w (resource, owner, fence, run_id, ttl){rows}),
            held as materialized (
                select w.*, l.expires_at from (select distinct on (resource) * from wanted order by resource) w cross join lateral (
                    select l.expires_at from lease l where l.resource = w.resource
                        and l.owner = w.owner and l.fence = w.fence and l.run_id = w.run_id for update skip locked) l)
            update lease l set expires_at = {now} + h.ttl {ms}
            from held h where l.resource = h.resource and {live h} returning l.resource, {expires l} as expires""");

    /**
     * The lease is locked first, then the tick, then the attempt, each only where nobody else has it; then the clock is looked at. All that
     * follows depends on the attempt that was ended.
     */
    static final Statement COMPLETE = Statement.of("""
            with wanted as (
                select * from unnest(:jobs::text[], :slot_keys::text[], :owners::text[], :fences::bigint[], :run_ids::text[],
                    :outcomes::text[], :closes::boolean[], :counted::boolean[], :exit_codes::int[], :signals::int[],
                    :reasons::text[], :results::bytea[], :output_tails::text[], :classifications::text[])
                    as w (job, slot_key, owner, fence, run_id, outcome, closes, counted, exit_code, signal, reason, result,
                        output_tail, classification){rows}),
            held as materialized (
                select w.*, l.expires_at from (select distinct on (job) * from wanted order by job) w cross join lateral (
                    select l.expires_at from lease l where l.resource = w.job
                        and l.owner = w.owner and l.fence = w.fence and l.run_id = w.run_id for update skip locked) l),
            open as materialized (
                select h.* from held h cross join lateral (
                    select 1 from tick t where t.job = h.job and t.slot_key = h.slot_key
                        and t.outcome is null for update skip locked) t),
            running as materialized (
                select o.* from open o cross join lateral (
                    select * from attempt a where a.run_id = o.run_id limit 1 for update skip locked) a
                where a.job = o.job and a.slot_key = o.slot_key and a.fence = o.fence and a.owner = o.owner
                    and a.ended_at is null),
            ended as (
                update attempt a set ended_at = {now}, outcome = r.outcome, counted = r.counted, exit_code = r.exit_code,
                    signal = r.signal, reason = r.reason, result = r.result, output_tail = r.output_tail,
                    classification = r.classification
                from running r where a.run_id = r.run_id and {live r}
                returning r.job, r.slot_key, r.owner, r.fence, r.run_id, r.closes, r.outcome, r.reason),
            closed as (
                update tick t set outcome = e.outcome, ended_at = {now}, reason = e.reason from ended e
                where t.job = e.job and t.slot_key = e.slot_key and t.run_id = e.run_id and e.closes),
            noted as (
                insert into write_event (at, resource, owner, fence, run_id, accepted, reason)
                select {now}, e.job, e.owner, e.fence, e.run_id, true, e.outcome from ended e)
            update lease l set {set_released} from ended e where l.resource = e.job returning e.run_id as ended""");

    /**
     * The same for one job and for several. Of an array that it sees the server knows how long it is, and would rather plan for each one
     * anew, which takes longer than the statement itself; of a sub-select it does not, and so it keeps a plan. A plan that is kept has to
     * be good for any number of rows and for tables that have grown since: so each look-up is lateral, or a sub-select with a limit, for
     * which no index will do but that of its key, and no table is read into a hash. (A table of a few pages the server may read through
     * for each of them, until it is analyzed anew.) Of several rows it expects a handful, and where it expects one or two it would rather
     * compare each with each than join by a hash: so what a part needs of those before it comes with what they return, as far as SQL lets it.
     */
    record Statement(Sql ofOne, Sql ofSeveral) {

        private static final Pattern ARRAY = Pattern.compile(":\\w+::\\w+\\[]");

        /** @param text has {@code {rows}} where a limit goes */
        private static Statement of(String text) {
            String unseen = ARRAY.matcher(text).replaceAll("(select $0)");
            return new Statement(Sql.of(unseen.replace("{rows}", " limit 1")), Sql.of(unseen.replace("{rows}", "")));
        }

        private Sql of(int rows) {
            return rows == 1 ? ofOne : ofSeveral;
        }
    }

    private final Database database;
    private final Together<String, Optional<Situation>> situations;
    private final Together<Opening, Optional<Plan>> openings;
    private final Together<Starting, Optional<Start.Started>> starts;
    private final Together<Renewing, Optional<Lease>> renewals;
    private final Together<Ending, Boolean> completions;

    private record Opening(Job job, Instant seen, Plan plan) {}

    private record Starting(Job job, Slot slot, Owner owner, RunId runId) {}

    private record Renewing(Lease lease, Duration ttl) {}

    private record Ending(Lease lease, Completion completion) {}

    TickBatches(Database database) {
        this.database = database;
        this.situations = new Together<>("situation", MOST, USUAL, PATIENCE, this::situations);
        this.openings = new Together<>("plan", MOST, USUAL, PATIENCE, this::open);
        this.starts = new Together<>("claim", MOST, USUAL, PATIENCE, this::start);
        this.renewals = new Together<>("renewal", MOST, USUAL, SHORT_PATIENCE, this::renew);
        this.completions = new Together<>("completion", MOST, USUAL, SHORT_PATIENCE, this::complete);
    }

    /** Null for a job that is not registered. */
    @Nullable
    Situation situation(String job) {
        return situations.ask(job).orElse(null);
    }

    private List<Optional<Situation>> situations(List<String> jobs) {
        try {
            List<Answer> answers = jobs.size() == 1
                    ? database.readAtOnce(
                            "situation of " + jobs.getFirst(), JdbcTicks.SITUATION, Params.of("job", jobs.getFirst()))
                    : database.readAtOnce(
                            "situation of " + words(jobs),
                            JdbcTicks.SITUATIONS,
                            Params.of("jobs", array(jobs.stream())));
            if (jobs.size() == 1 || answers.getLast().rows().size() < JdbcTicks.MOST_OPEN) {
                Map<String, Situation> found = JdbcTicks.situations(answers);
                return jobs.stream()
                        .map(job -> Optional.ofNullable(found.get(job)))
                        .toList();
            } // else there may be more of some job
        } catch (StoreException e) {
            if (jobs.size() == 1 || e.kind() != Kind.BROKEN) {
                throw e;
            }
        }
        return jobs.stream().map(job -> situations(List.of(job)).getFirst()).toList();
    }

    /** The plan as written, or null if this one has to be written in the long way. */
    @Nullable
    Plan open(Job job, Instant seen, Plan plan) {
        return isUsual(plan) ? openings.ask(new Opening(job, seen, plan)).orElse(null) : null;
    }

    private static boolean isUsual(Plan plan) {
        return plan.opened().size() == 1
                && plan.skipped().isEmpty()
                && plan.closed().isEmpty()
                && plan.displaced().isEmpty()
                && plan.dropped() == null
                && plan.skippedRange() == null
                && plan.cutBackTo() == null
                && plan.takeOver() == null;
    }

    private List<Optional<Plan>> open(List<Opening> wanted) {
        Map<String, Opening> byJob = firsts(wanted, opening -> opening.job().id());
        List<Opening> rows = List.copyOf(byJob.values());
        List<NewTick> ticks =
                rows.stream().map(each -> each.plan().opened().getFirst()).toList();
        Params params = Params.of(
                        "jobs", array(rows.stream().map(each -> each.job().id())))
                .and("seen", array(rows.stream().map(Opening::seen)))
                .and("cursors", array(rows.stream().map(each -> each.plan().cursor())))
                .and("slot_keys", array(ticks.stream().map(tick -> tick.slot().key())))
                .and("slot_ats", array(ticks.stream().map(tick -> tick.slot().at())))
                .and("on_time", array(ticks.stream().map(NewTick::onTime)));
        Map<String, Boolean> opened = new HashMap<>();
        for (Row row : usual("plan " + words(byJob.keySet()), Urgency.NORMAL, OPEN.of(rows.size()), params)) {
            opened.put(row.text("job"), row.truth("opened"));
        }
        return wanted.stream()
                .map(each -> byJob.get(each.job().id()) == each
                        ? written(each.plan(), opened.get(each.job().id()))
                        : null)
                .map(Optional::ofNullable)
                .toList();
    }

    private static @Nullable Plan written(Plan plan, @Nullable Boolean opened) {
        if (opened == null) {
            return null;
        }
        return opened
                ? plan
                : plan.without(Set.of(plan.opened().getFirst().slot().key()));
    }

    /** Null if this claim has to go the long way, which says why. */
    Start.@Nullable Started start(Job job, Slot slot, Owner owner, RunId runId) {
        return starts.ask(new Starting(job, slot, owner, runId)).orElse(null);
    }

    private List<Optional<Start.Started>> start(List<Starting> wanted) {
        Map<String, Starting> byJob = firsts(wanted, starting -> starting.job().id());
        List<Starting> rows = List.copyOf(byJob.values());
        Params params = Params.of(
                        "jobs", array(rows.stream().map(each -> each.job().id())))
                .and("slot_keys", array(rows.stream().map(each -> each.slot().key())))
                .and("slot_ats", array(rows.stream().map(each -> each.slot().at())))
                .and("owners", array(rows.stream().map(each -> each.owner().text())))
                .and("run_ids", array(rows.stream().map(Starting::runId)))
                .and("ttls", array(rows.stream().map(each -> each.job().ttl().toMillis())));
        Map<RunId, Start.Started> started = new HashMap<>();
        for (Row row : usual("claim " + words(byJob.keySet()), Urgency.NORMAL, START.of(rows.size()), params)) {
            started.put(RunId.parse(row.text("run_id")), JdbcTicks.started(row, List.of(), 0));
        }
        return wanted.stream()
                .map(each -> Optional.ofNullable(started.get(each.runId())))
                .toList();
    }

    /** The lease with its new end, or null if this renewal has to go the long way, which says why. */
    @Nullable
    Lease renew(Lease lease, Duration ttl) {
        return renewals.ask(new Renewing(lease, ttl)).orElse(null);
    }

    private List<Optional<Lease>> renew(List<Renewing> wanted) {
        Map<String, Renewing> byResource =
                firsts(wanted, renewing -> renewing.lease().resource());
        List<Renewing> rows = List.copyOf(byResource.values());
        List<Lease> leases = rows.stream().map(Renewing::lease).toList();
        Params params = Params.of("resources", array(leases.stream().map(Lease::resource)))
                .and("owners", array(leases.stream().map(lease -> lease.owner().text())))
                .and("fences", array(leases.stream().map(lease -> lease.fence().value())))
                .and("run_ids", array(leases.stream().map(Lease::runId)))
                .and("ttls", array(rows.stream().map(each -> each.ttl().toMillis())));
        Map<String, Instant> ends = new HashMap<>();
        for (Row row : usual("renew " + words(byResource.keySet()), Urgency.URGENT, RENEW.of(rows.size()), params)) {
            ends.put(row.text("resource"), row.instant("expires"));
        }
        return wanted.stream()
                .map(each -> byResource.get(each.lease().resource()) == each
                        ? renewed(each.lease(), ends.get(each.lease().resource()))
                        : null)
                .map(Optional::ofNullable)
                .toList();
    }

    private static @Nullable Lease renewed(Lease lease, @Nullable Instant end) {
        return end == null ? null : lease.until(end);
    }

    /** Whether {@link #complete} takes it, if nothing follows it in the same transaction. */
    static boolean isShort(Completion completion) {
        byte[] result = completion.result();
        String outputTail = completion.outputTail();
        return (result == null || result.length <= LONGEST) && (outputTail == null || outputTail.length() <= LONGEST);
    }

    private static @Nullable String hex(byte @Nullable [] bytes) {
        return bytes == null ? null : "\\x" + HexFormat.of().formatHex(bytes);
    }

    /** Whether it is stored. If not it has to go the long way, which says why. */
    boolean complete(Lease lease, Completion completion) {
        return completions.ask(new Ending(lease, completion));
    }

    private List<Boolean> complete(List<Ending> wanted) {
        Map<String, Ending> byJob = firsts(wanted, ending -> ending.lease().resource());
        List<Lease> leases = byJob.values().stream().map(Ending::lease).toList();
        List<Completion> rows = byJob.values().stream().map(Ending::completion).toList();
        Params params = Params.of("jobs", array(leases.stream().map(Lease::resource)))
                .and("slot_keys", array(leases.stream().map(Lease::slotKey)))
                .and("owners", array(leases.stream().map(lease -> lease.owner().text())))
                .and("fences", array(leases.stream().map(lease -> lease.fence().value())))
                .and("run_ids", array(leases.stream().map(Lease::runId)))
                .and("outcomes", array(rows.stream().map(Completion::outcome)))
                .and("closes", array(rows.stream().map(Completion::closesTick)))
                .and("counted", array(rows.stream().map(Completion::counted)))
                .and("exit_codes", array(rows.stream().map(Completion::exitCode)))
                .and("signals", array(rows.stream().map(Completion::signal)))
                .and("reasons", array(rows.stream().map(Completion::reason)))
                .and("results", array(rows.stream().map(each -> hex(each.result()))))
                .and("output_tails", array(rows.stream().map(Completion::outputTail)))
                .and(
                        "classifications",
                        array(rows.stream().map(each -> each.further().classification())));
        Set<String> stored =
                usual("complete " + words(byJob.keySet()), Urgency.URGENT, COMPLETE.of(rows.size()), params).stream()
                        .map(row -> row.text("ended"))
                        .collect(Collectors.toSet());
        return wanted.stream()
                .map(each -> byJob.get(each.lease().resource()) == each
                        && stored.contains(each.lease().runId().toString()))
                .toList();
    }

    /** The rows of what was done; none if something about one of them made all of them fail, which then shows in the long way. */
    private List<Row> usual(String operation, Urgency urgency, Sql sql, Params params) {
        try {
            return database.writeAtOnce(operation, urgency, sql, params)
                    .getFirst()
                    .rows();
        } catch (StoreException e) {
            if (e.kind() == Kind.BROKEN || isCancelled(e)) {
                return List.of();
            }
            throw e;
        }
    }

    /** All together took longer than a statement may; then nothing of it is in the store. */
    private static boolean isCancelled(StoreException e) {
        return e.getCause() instanceof SQLException cause && QUERY_CANCELED.equals(cause.getSQLState());
    }

    private static <T> Map<String, T> firsts(List<T> all, Function<T, String> job) {
        Map<String, T> firsts = new LinkedHashMap<>();
        all.forEach(each -> firsts.putIfAbsent(job.apply(each), each));
        return firsts;
    }

    private static String words(Collection<String> jobs) {
        return jobs.size() == 1 ? jobs.iterator().next() : jobs.size() + " jobs";
    }

    /** As PostgreSQL writes an array. */
    static String array(Stream<? extends @Nullable Object> values) {
        return values.map(value -> value == null
                        ? "null"
                        : '"' + value.toString().replace("\\", "\\\\").replace("\"", "\\\"") + '"')
                .collect(Collectors.joining(",", "{", "}"));
    }
}
