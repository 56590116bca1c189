package dev.fencepost.edge.jdbc;

import static dev.fencepost.edge.jdbc.JdbcWorkRows.COLUMNS;
import static dev.fencepost.edge.jdbc.JdbcWorkRows.DIED;
import static dev.fencepost.edge.jdbc.JdbcWorkRows.DIED_UNSEEN;
import static dev.fencepost.edge.jdbc.JdbcWorkRows.WITHOUT_BODIES;

import dev.fencepost.edge.jdbc.Database.Urgency;
import dev.fencepost.edge.jdbc.Session.Answer;
import dev.fencepost.lease.Leases;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.work.Artifact;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.ItemResult;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue;
import dev.fencepost.work.WorkState;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Items in the table {@code work_item}. Each state that is not an end has an index of its own, by which a claim finds its items; what
 * has ended lies in none of them. Nothing runs in the background: a claim first puts right what time has changed in its queue.
 *
 * <p>Locks are taken in one order: the row of a queue that has a capacity, then items; several of them, where they are named, in the order of their ids. Claims of any item skip those that others have
 * locked; whoever names an item waits for it, and looks at the clock behind the lock.
 */
final class JdbcWork implements WorkQueue {

    private static final int MOST_PRUNED_AT_ONCE = 10_000;
    private static final int MAX_REASON_LENGTH = 2_000;
    private static final Duration MOST_DELAY = Duration.ofDays(366);

    /** PostgreSQL's code; in SQLite nobody claims at the same time. */
    private static final String UNIQUE_VIOLATION = "23505";

    private static final String MADE = """
            insert into work_item (id, queue, state, priority, not_before, max_attempts, enqueued_at, payload, payload_type)
            values (:id, :queue, case when :not_before > {now} then 'DELAYED' else 'READY' end, :priority, :not_before,
                :max_attempts, {now}, :payload, :payload_type)
            on conflict (id) do nothing returning id""";

    private static final String ITEM_BY_ID = "select " + COLUMNS + " from work_item where work_item.id = :id";

    /** The token comes second: one whose clean-up the first statement waited for had it still in its row when that began. */
    static final Sql ENQUEUE = Sql.of(MADE, """
            update work_item set fence = f.fence from work_fence f
            where work_item.id = :id and f.id = :id and work_item.fence < f.fence and work_item.attempts = 0""", ITEM_BY_ID);

    private static final Sql ITEM = Sql.of(ITEM_BY_ID);

    private static final String LOCK = "select id from work_item where id = :id {for_update}";

    /** Only where there is a capacity: else claimants would wait for one another. */
    private static final String LOCK_QUEUE = "select queue from work_queue where queue = :queue {for_update}";

    private static final String LOCK_QUEUE_OF_ITEM = """
            select queue from work_queue where queue = (select w.queue from work_item w where w.id = :id) {for_update}""";

    private static final String GRANT = """
            update work_item set state = 'CLAIMED', owner = :owner, fence = {next_fence}, attempts = attempts + 1,
                {set_expiry}, run_id =\s""";

    /** Whether as many items of the queue are claimed as may be; counts only where there is a capacity. */
    private static final String FULL = """
            exists (select 1 from work_queue q where q.queue = work_item.queue and q.capacity <= (
                select count(*) from work_item o where o.queue = q.queue and o.state = 'CLAIMED' and {live o}))""";

    private static final String TOO_EARLY = "coalesce(work_item.not_before > {now}, false)";

    private static final String RUN_HOLDS_ANOTHER = """
            exists (select 1 from work_item o where o.run_id = :run_id and o.state = 'CLAIMED' and o.id <> :id)""";

    static final String GRANT_ONE = GRANT + ":run_id where id = :id and ended_at is null and (state <> 'CLAIMED'"
            + " or {dead work_item} and attempts < max_attempts) and not " + TOO_EARLY + " and not " + FULL
            + " and not " + RUN_HOLDS_ANOTHER;

    private static final Sql CLAIM = Sql.of(
            LOCK_QUEUE_OF_ITEM,
            LOCK,
            GRANT_ONE,
            "select " + COLUMNS + ", " + TOO_EARLY + " as too_early, " + FULL
                    + " as at_capacity from work_item where work_item.id = :id");

    private static final String DIE = "update work_item set state = 'DEAD', reason = '" + DIED
            + "', ended_at = {expires work_item} where " + DIED_UNSEEN;

    private static final Sql BURY = Sql.of(DIE + " and id = :id");

    /**
     * Delayed items whose time has come, and items whose lease is over, become READY, or DEAD if their tries are used up. The end of a
     * lease is compared with what is locked, and what was over when this began is over for good. A thousand of each kind at a time; what
     * is left is for the next claim.
     */
    static final String PUT_RIGHT = """
            with due (id) as materialized (
                select id from (
                    select id from work_item where queue = :queue and state = 'DELAYED' and not_before <= (select {now})
                    order by not_before limit 1000 {skip_locked}) awaited
                union all
                select id from (
                    select id from work_item where queue = :queue and state = 'CLAIMED' and {over}
                    order by expires_at limit 1000 {skip_locked}) run_out)
            update work_item set
                reason = case when\s""" + DIED_UNSEEN + " then '" + DIED + "' else reason end, ended_at = case when "
            + DIED_UNSEEN + " then {expires work_item} end, state = case when " + DIED_UNSEEN
            + " then 'DEAD' else 'READY' end where work_item.id {among due} and (work_item.state = 'DELAYED'"
            + " or work_item.state = 'CLAIMED' and {dead work_item})";

    /**
     * Run ids that hold an item already are left out: this is a second try of a claim that was granted.
     *
     * @param limit how many. PostgreSQL keeps its plan only where that is written out; it would else plan anew each time, which takes
     *     longer than the claim of one item
     */
    static String claimFirst(String limit) {
        return """
            with free (run_id, place) as materialized (
                select given.value, row_number() over (order by given.place) from {given}
                where not exists (select 1 from work_item w where w.run_id = given.value and w.state = 'CLAIMED')),
            room (places) as materialized (
                select q.capacity - (
                    select count(*) from work_item o where o.queue = q.queue and o.state = 'CLAIMED' and {live o})
                from work_queue q where q.queue = :queue),
            first (id, priority, number, size) as materialized (
                select id, priority, number, coalesce(octet_length(payload), 0) from work_item
                where queue = :queue and state = 'READY' and (not_before is null or not_before <= (select {now}))
                order by priority desc, number limit %s {skip_locked}),
            taken (id, place, before) as (
                select id, row_number() over (order by priority desc, number),
                    sum(size) over (order by priority desc, number) - size from first)
            """.formatted(limit) + GRANT + """
            free.run_id from taken join free on free.place = taken.place
            where work_item.id = taken.id and work_item.state = 'READY'
                and taken.place <= coalesce((select places from room), :count) and taken.before < """ + ENOUGH_BYTES;
    }

    static final String CLAIMED_BY = "select " + COLUMNS + """
             from {given} join work_item on work_item.run_id = given.value and work_item.state = 'CLAIMED'
            where work_item.queue = :queue and work_item.owner = :owner
            order by work_item.priority desc, work_item.number""";

    static final Sql CLAIM_ONE_OF = Sql.of(LOCK_QUEUE, PUT_RIGHT, claimFirst("1"), CLAIMED_BY);

    static final Sql CLAIM_ANY = Sql.of(LOCK_QUEUE, PUT_RIGHT, claimFirst(":count"), CLAIMED_BY);

    /** The row of the grant that is shown. The run id may be left out, on the command line alone. */
    private static final String SHOWN =
            " id = :id and owner = :owner and fence = :fence and coalesce(:run_id, run_id) = run_id";

    /**
     * Only with the row locked. None but a claimed item has a lease that is live; and did it say so here, PostgreSQL would rather read
     * all that is claimed than search for the id.
     */
    private static final String HELD = SHOWN + " and {live work_item}";

    static final String GIVEN_BACK = "owner = null, run_id = null, {set_over}";

    private static final Sql RENEW =
            Sql.of(LOCK, "update work_item set {set_expiry} where" + HELD + " returning " + COLUMNS);

    /** Goes before the change that it tells of, so that the same condition decides on both. */
    static final String ACCEPTED = """
            insert into write_event (at, resource, owner, fence, run_id, accepted, reason)
            select {now}, 'work:' || id, owner, fence, run_id, true, :event from work_item where""" + HELD;

    static final String COMPLETED = "update work_item set state = 'DONE', ended_at = {now}, reason = null,"
            + " result = :result, result_type = :result_type, " + GIVEN_BACK + " where" + HELD + " returning "
            + COLUMNS;

    static final Sql COMPLETE = Sql.of(LOCK, ACCEPTED, COMPLETED);

    private static final String TRIES_LEFT = ":retry and attempts < max_attempts";

    private static final Sql FAIL = Sql.of(
            LOCK,
            ACCEPTED,
            "update work_item set reason = :reason, state = case when not (" + TRIES_LEFT + ") then 'DEAD'"
                    + " when :delay > 0 then 'DELAYED' else 'READY' end, not_before = case when " + TRIES_LEFT
                    + " then {now} + :delay {ms} else not_before end, ended_at = case when not (" + TRIES_LEFT
                    + ") then {now} end, " + GIVEN_BACK + " where" + HELD + " returning " + COLUMNS);

    /** Of a lease that is over too, unless the item is dead by that. */
    private static final Sql RELEASE = Sql.of(
            LOCK,
            "update work_item set state = 'READY', attempts = attempts - 1, " + GIVEN_BACK + " where" + SHOWN
                    + " and ended_at is null and not (" + DIED_UNSEEN + ") returning " + COLUMNS);

    private static final Sql ADD_ARTIFACT = Sql.of(LOCK, """
            insert into work_artifact (item, fence, name, type, size, sha256, at)
            select :id, :fence, :name, :type, :size, :sha, :at from work_item where""" + HELD + """
             on conflict (item, fence, name) do update set type = excluded.type, size = excluded.size,
                sha256 = excluded.sha256, at = excluded.at
            returning item""");

    private static final Sql REFUSED = Sql.of("""
            insert into write_event (at, resource, owner, fence, run_id, accepted, reason, newest_fence)
            values ({now}, 'work:' || :id, :owner, :fence, :run_id, false, :reason, :newest)""");

    /** Which items are listed. */
    private record Listing(boolean ofOneQueue, @Nullable WorkState state) {

        Sql sql() {
            String wanted = switch (state) {
                case null -> "";
                case READY ->
                    " and work_item.ended_at is null and (work_item.state <> 'CLAIMED'"
                            + " or {dead work_item} and work_item.attempts < work_item.max_attempts)";
                case CLAIMED -> " and work_item.state = 'CLAIMED' and {live work_item}";
                case DONE -> " and work_item.state in ('DONE', 'DEAD') and work_item.state = 'DONE'";
                case DEAD ->
                    " and (work_item.state in ('DONE', 'DEAD') and work_item.state = 'DEAD' or " + DIED_UNSEEN + ")";
            };
            return Sql.of("select " + WITHOUT_BODIES + " from work_item where "
                    + (ofOneQueue ? "work_item.queue = :queue" : "true") + wanted
                    + " order by work_item.number desc limit :limit");
        }
    }

    private static final Map<Listing, Sql> LISTS = Stream.of(true, false)
            .flatMap(ofOneQueue -> Stream.concat(Stream.of((WorkState) null), Stream.of(WorkState.values()))
                    .map(state -> new Listing(ofOneQueue, state)))
            .collect(Collectors.toMap(listing -> listing, Listing::sql));

    /** Not all that there are: a newer program may add columns while this one runs, and a prepared statement must answer the same. */
    private static final String ARTIFACT_COLUMNS = "a.item, a.fence, a.name, a.type, a.size, a.sha256, a.at";

    private static final Sql ARTIFACTS =
            Sql.of("select " + ARTIFACT_COLUMNS + " from work_artifact a where a.item = :id order by a.fence, a.name");

    private static final Sql SET_CAPACITY = Sql.of("""
            insert into work_queue (queue, capacity) values (:queue, :capacity)
            on conflict (queue) do update set capacity = excluded.capacity""");

    private static final Sql NO_CAPACITY = Sql.of("delete from work_queue where queue = :queue");

    /** Reads indexes alone: some tenths of a second for a million of items that have ended. */
    static final Sql QUEUES = Sql.of("""
            select queue, sum(ready) as ready, sum(claimed) as claimed, sum(done) as done, sum(dead) as dead,
                max(capacity) as capacity, min(oldest) as oldest
            from (
                select queue, count(*) as ready, 0 as claimed, 0 as done, 0 as dead, cast(null as integer) as capacity,
                    min(case when not_before > (select {now}) then null else enqueued_at end) as oldest
                from work_item where state = 'READY' group by queue
                union all
                select queue, count(*), 0, 0, 0, null,
                    min(case when not_before > (select {now}) then null else enqueued_at end)
                from work_item where state = 'DELAYED' group by queue
                union all
                select queue, count(case when {over} and attempts < max_attempts then 1 end),
                    count(case when not {over} then 1 end), 0,
                    count(case when {over} and attempts >= max_attempts then 1 end), null,
                    min(case when {over} and attempts < max_attempts then enqueued_at end)
                from work_item where state = 'CLAIMED' group by queue
                union all
                select queue, 0, 0, count(case when state = 'DONE' then 1 end), count(case when state = 'DEAD' then 1 end),
                    null, null
                from work_item where state in ('DONE', 'DEAD') group by queue
                union all
                select queue, 0, 0, 0, 0, capacity, null from work_queue) counted
            group by queue order by queue""");

    static final Sql BURY_ALL = Sql.of(DIE + """
             and work_item.id in (
                select id from work_item where state = 'CLAIMED' and attempts >= max_attempts and {over}
                limit :limit {skip_locked})""");

    static final Sql PRUNABLE = Sql.of("""
            select id from work_item where ended_at is not null and ended_at < :before
            order by ended_at limit :limit {skip_locked}""");

    private static final Sql PRUNE = Sql.of(
            "select " + ARTIFACT_COLUMNS
                    + " from {given} join work_artifact a on a.item = given.value order by a.item, a.fence, a.name",
            """
            insert into work_fence (id, fence)
            select w.id, w.fence from {given} join work_item w on w.id = given.value where w.ended_at is not null
            on conflict (id) do update set fence = excluded.fence where work_fence.fence < excluded.fence""",
            "delete from work_artifact where item in (select given.value from {given})",
            "delete from work_item where id in (select given.value from {given}) and ended_at is not null");

    private static final Sql PRUNED_TOKENS =
            Sql.of("select f.id, f.fence from {given} join work_fence f on f.id = given.value");

    private final Database database;

    JdbcWork(Database database) {
        this.database = database;
    }

    @Override
    public Enqueued enqueue(NewItem item) {
        Body payload = item.payload();
        Params params = Params.of("id", item.id())
                .and("queue", item.queue())
                .and("priority", item.priority())
                .and("not_before", item.notBefore())
                .and("max_attempts", item.maxAttempts())
                .and("payload", payload == null ? null : payload.bytes())
                .and("payload_type", payload == null ? null : payload.type());
        return untilSaid(() -> database.write("enqueue " + item.id(), Urgency.NORMAL, session -> {
            List<Answer> answers = session.run(ENQUEUE, params);
            boolean created = answers.getFirst().first() != null;
            // One that was there, and was pruned before it could be read, is gone: the id is free.
            return Optional.ofNullable(answers.getLast().first())
                    .map(row -> new Enqueued(created, JdbcWorkRows.item(row)));
        }));
    }

    /** Repeats what came to nothing because something passed in between. */
    private static <T> T untilSaid(Supplier<Optional<T>> attempt) {
        while (true) {
            Optional<T> answer = attempt.get();
            if (answer.isPresent()) {
                return answer.get();
            }
        }
    }

    @Override
    public @Nullable WorkItem item(String id) {
        return database.<Optional<WorkItem>>read(
                        "item " + id,
                        session -> Optional.ofNullable(
                                        session.one(ITEM, Params.of("id", id)).first())
                                .map(JdbcWorkRows::item))
                .orElse(null);
    }

    @Override
    public List<WorkItem> items(@Nullable String queue, @Nullable WorkState state, int limit) {
        Sql sql = Objects.requireNonNull(LISTS.get(new Listing(queue != null, state)));
        return database.read(
                "items",
                session -> session.one(sql, Params.of("queue", queue).and("limit", limit)).rows().stream()
                        .map(JdbcWorkRows::item)
                        .toList());
    }

    @Override
    public WorkAnswer claimItem(String id, Owner owner, RunId runId, Duration ttl) {
        Leases.checkTtl(ttl);
        Params params = Params.of("id", id)
                .and("owner", owner.text())
                .and("run_id", runId.toString())
                .and("ttl", ttl.toMillis());
        return onceMoreAfterItsTwin(() -> database.write("claim work:" + id, Urgency.NORMAL, session -> {
            List<Answer> answers = session.run(CLAIM, params);
            Row row = answers.getLast().first();
            if (row == null) {
                return new WorkAnswer.Refused(Refusal.UNKNOWN, null);
            }
            if (answers.get(2).changed() > 0) {
                return new WorkAnswer.Done(JdbcWorkRows.held(row));
            }
            WorkItem item = JdbcWorkRows.item(row);
            Refusal reason = switch (item.state()) {
                case DONE -> Refusal.ALREADY_DONE;
                case DEAD -> Refusal.DEAD;
                case CLAIMED -> owner.equals(item.owner()) && runId.equals(item.runId()) ? null : Refusal.HELD;
                case READY -> whyNot(row);
            };
            if (reason == null) {
                return new WorkAnswer.Done(item);
            }
            if (reason == Refusal.DEAD) {
                session.one(BURY, Params.of("id", id));
            }
            return new WorkAnswer.Refused(reason, item);
        }));
    }

    /** An item that is free now was held when the claim looked, or the run id holds another item, if neither is the reason. */
    private static Refusal whyNot(Row row) {
        if (row.truth("too_early")) {
            return Refusal.NOT_YET;
        }
        return row.truth("at_capacity") ? Refusal.AT_CAPACITY : Refusal.HELD;
    }

    @Override
    public List<WorkItem> claimAny(String queue, Owner owner, List<RunId> runIds, Duration ttl) {
        Leases.checkTtl(ttl);
        NewItem.checkQueue(queue);
        if (runIds.size() > MOST_AT_ONCE || Set.copyOf(runIds).size() < runIds.size()) {
            throw new IllegalArgumentException("a claim has up to " + MOST_AT_ONCE + " run ids, each of them once");
        }
        if (runIds.isEmpty()) {
            return List.of();
        }
        Params params = Params.of("queue", queue)
                .and("owner", owner.text())
                .and("given", runIds.stream().map(RunId::toString).collect(Collectors.joining(",")))
                .and("count", runIds.size())
                .and("ttl", ttl.toMillis());
        Sql claim = runIds.size() == 1 ? CLAIM_ONE_OF : CLAIM_ANY;
        return onceMoreAfterItsTwin(
                        () -> database.writeAtOnce("claim of queue " + queue, Urgency.NORMAL, claim, params))
                .getLast()
                .rows()
                .stream()
                .map(JdbcWorkRows::held) // what had run out has just been put right
                .toList();
    }

    /** The first try of the same claim may still have been under way: it is stored now, and is found. */
    private static <T> T onceMoreAfterItsTwin(Supplier<T> claim) {
        try {
            return claim.get();
        } catch (StoreException e) {
            if (e.getCause() instanceof SQLException cause && UNIQUE_VIOLATION.equals(cause.getSQLState())) {
                return claim.get();
            }
            throw e;
        }
    }

    private static Params shown(Grant grant) {
        return Params.of("id", grant.id())
                .and("owner", grant.owner().text())
                .and("fence", grant.fence().value())
                .and("run_id", grant.runId() == null ? null : grant.runId().toString());
    }

    @Override
    public WorkAnswer renew(Grant grant, Duration ttl) {
        Leases.checkTtl(ttl);
        Params params = shown(grant).and("ttl", ttl.toMillis());
        String operation = "renew work:" + grant.id();
        Row row = database.writeAtOnce(operation, Urgency.URGENT, RENEW, params)
                .getLast()
                .first();
        return row != null
                ? new WorkAnswer.Done(JdbcWorkRows.held(row))
                : database.write(operation, Urgency.URGENT, session -> refused(session, grant, false));
    }

    @Override
    public WorkAnswer complete(Grant grant, @Nullable Body result) {
        Params params = shown(grant)
                .and("event", "DONE")
                .and("result", result == null ? null : result.bytes())
                .and("result_type", result == null ? null : result.type());
        return ended("complete", COMPLETE, grant, params);
    }

    @Override
    public List<WorkAnswer> completeAll(List<ItemResult> results) {
        WorkQueue.checkResults(results);
        return database.write(
                "complete " + results.size() + " items",
                Urgency.NORMAL,
                session -> new JdbcResults(session, results).complete());
    }

    @Override
    public WorkAnswer fail(Grant grant, String reason, @Nullable Duration again) {
        if (again != null && (again.isNegative() || again.compareTo(MOST_DELAY) > 0)) {
            throw new IllegalArgumentException(
                    "an item waits from 0 to " + MOST_DELAY.toDays() + " days, not " + again);
        }
        Params params = shown(grant)
                .and("event", "FAILED")
                .and("reason", stored(reason))
                .and("retry", again != null)
                .and("delay", again == null ? 0 : again.toMillis());
        return ended("fail", FAIL, grant, params);
    }

    /** PostgreSQL has no text with a NUL in it. */
    private static String stored(String reason) {
        return reason.substring(0, Math.min(reason.length(), MAX_REASON_LENGTH)).replace('\0', '\uFFFD');
    }

    private WorkAnswer ended(String verb, Sql sql, Grant grant, Params params) {
        return untilSaid(() -> database.write(verb + " work:" + grant.id(), Urgency.NORMAL, session -> {
            List<Answer> answers = session.run(sql, params);
            Row row = answers.getLast().first();
            if (row != null) {
                return Optional.of(new WorkAnswer.Done(JdbcWorkRows.item(row)));
            }
            if (answers.get(1).changed() > 0) {
                session.rollbackOnly(); // the lease ended between the event and the change
                return Optional.empty();
            }
            return Optional.of(refused(session, grant, true));
        }));
    }

    @Override
    public WorkAnswer release(Grant grant) {
        return database.write("release work:" + grant.id(), Urgency.NORMAL, session -> {
            Row row = session.run(RELEASE, shown(grant)).getLast().first();
            return row != null ? new WorkAnswer.Done(JdbcWorkRows.item(row)) : refused(session, grant, true);
        });
    }

    /** @param recorded whether it goes on record whatever the reason; a late holder's always does */
    private static WorkAnswer.Refused refused(Session session, Grant grant, boolean recorded) throws SQLException {
        Row row = session.one(ITEM, Params.of("id", grant.id())).first();
        Refusal refusal = JdbcWorkRows.refusal(row, grant);
        Refusal reason = refusal == null ? Refusal.EXPIRED : refusal;
        if (recorded || reason == Refusal.STALE_TOKEN) {
            session.one(
                    REFUSED,
                    shown(grant).and("reason", reason.name()).and("newest", JdbcWorkRows.newerThan(row, grant)));
        }
        return new WorkAnswer.Refused(reason, row == null ? null : JdbcWorkRows.item(row));
    }

    @Override
    public Optional<WorkAnswer.Refused> check(Grant grant) {
        return database.read("check work:" + grant.id(), session -> {
            Row row = session.one(ITEM, Params.of("id", grant.id())).first();
            return Optional.ofNullable(JdbcWorkRows.refusal(row, grant))
                    .map(reason -> new WorkAnswer.Refused(reason, row == null ? null : JdbcWorkRows.item(row)));
        });
    }

    @Override
    public WorkAnswer addArtifact(Grant grant, Artifact artifact) {
        if (!artifact.item().equals(grant.id())
                || artifact.fence() != grant.fence().value()) {
            throw new IllegalArgumentException("an artifact belongs to the item and the token that it comes under");
        }
        if (!Artifact.NAME.matcher(artifact.name()).matches() || artifact.size() < 0) {
            throw new IllegalArgumentException("no artifact: " + artifact);
        }
        Params params = shown(grant)
                .and("name", artifact.name())
                .and("type", artifact.type())
                .and("size", artifact.size())
                .and("sha", artifact.sha256())
                .and("at", artifact.at());
        return database.write("artifact of work:" + grant.id(), Urgency.NORMAL, session -> {
            if (session.run(ADD_ARTIFACT, params).getLast().first() == null) {
                return refused(session, grant, true);
            }
            Row row = session.one(ITEM, Params.of("id", grant.id())).rows().getFirst();
            return new WorkAnswer.Done(JdbcWorkRows.item(row));
        });
    }

    @Override
    public List<Artifact> artifacts(String id) {
        return database.read(
                "artifacts of work:" + id,
                session -> session.one(ARTIFACTS, Params.of("id", id)).rows().stream()
                        .map(JdbcWorkRows::artifact)
                        .toList());
    }

    @Override
    public void setCapacity(String queue, @Nullable Integer capacity) {
        NewItem.checkQueue(queue);
        if (capacity != null && capacity < 0) {
            throw new IllegalArgumentException("a capacity is not negative");
        }
        Params params = Params.of("queue", queue).and("capacity", capacity);
        database.write(
                "capacity of queue " + queue,
                Urgency.NORMAL,
                session -> session.one(capacity == null ? NO_CAPACITY : SET_CAPACITY, params));
    }

    @Override
    public List<QueueView> queues() {
        return database.read(
                "queues",
                session -> session.one(QUEUES, Params.none()).rows().stream()
                        .map(row -> new QueueView(
                                row.text("queue"),
                                row.number("ready"),
                                row.number("claimed"),
                                row.number("done"),
                                row.number("dead"),
                                row.optionalInt("capacity"),
                                row.optionalInstant("oldest")))
                        .toList());
    }

    @Override
    public Pruned prune(Instant endedBefore, int limit) {
        if (limit < 1 || limit > MOST_PRUNED_AT_ONCE) {
            throw new IllegalArgumentException(
                    "from 1 to " + MOST_PRUNED_AT_ONCE + " items go at a time, not " + limit);
        }
        return database.write("prune", Urgency.NORMAL, session -> {
            session.one(BURY_ALL, Params.of("limit", limit));
            List<String> ids =
                    session.one(PRUNABLE, Params.of("before", endedBefore).and("limit", limit)).rows().stream()
                            .map(row -> row.text("id"))
                            .toList();
            if (ids.isEmpty()) {
                return new Pruned(0, List.of());
            }
            List<Answer> answers = session.run(PRUNE, Params.of("given", String.join(",", ids)));
            return new Pruned(
                    ids.size(),
                    answers.getFirst().rows().stream()
                            .map(JdbcWorkRows::artifact)
                            .toList());
        });
    }

    @Override
    public Map<String, Long> prunedTokens(Collection<String> ids) {
        if (ids.size() > MOST_AT_ONCE) {
            throw new IllegalArgumentException("at most " + MOST_AT_ONCE + " ids at a time, not " + ids.size());
        }
        // One that is none would be taken for several, or break the list.
        String given =
                ids.stream().filter(id -> NewItem.ID.matcher(id).matches()).collect(Collectors.joining(","));
        return database.read(
                "pruned tokens",
                session -> session.one(PRUNED_TOKENS, Params.of("given", given)).rows().stream()
                        .collect(Collectors.toMap(row -> row.text("id"), row -> row.number("fence"), Math::max)));
    }
}
