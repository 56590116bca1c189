package dev.fencepost.edge.jdbc;

import dev.fencepost.edge.jdbc.Database.Urgency;
import dev.fencepost.effect.Announcement;
import dev.fencepost.effect.Content;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.EffectState;
import dev.fencepost.effect.EffectView;
import dev.fencepost.effect.Fence;
import dev.fencepost.effect.Outbox;
import dev.fencepost.effect.Pair;
import dev.fencepost.effect.Settlement;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Effects in the table {@code effect}, and the highest token sent for each pair in {@code sink_fence}. Whoever decides by a lease, or
 * changes whose turn it is, locks the row of the pair's lease first, then the effect; so senders, and a person's orders, come one after
 * the other. What came of sending is bound to the sender's try instead, and needs no lease.
 *
 * <p>Effects without an end are few beside those that have one, and lie in an index of their own.
 */
final class JdbcOutbox implements Outbox {

    private static final int MAX_EXPIRED_AT_ONCE = 500;
    private static final Duration LONGEST_LOCK_DELAY = Duration.ofHours(1);
    private static final int SHOWN_OF_DIGEST = 12;
    private static final String PERSON = "person";

    /** One instant for the whole statement: an index cannot be searched by a clock that goes on meanwhile. */
    private static final String NOW = "(select {now})";

    private static final String TOO_OLD = "expires_at <= " + NOW;

    /** Nothing goes on by itself with an effect of unknown outcome that has given up its turn. */
    private static final String LEFT_TO_PEOPLE = "(state = 'UNKNOWN' and " + TOO_OLD + ")";

    private static final String DELAYED = "exists (select 1 from sink_fence s where s.pair = effect.pair"
            + " and effect.state = 'PENDING' and s.delay_from <= " + NOW + " and s.delay_until > " + NOW + ")";

    /** Where the clock was set back since {@code next_at} was written, it is not waited for: it may be years ahead. */
    private static final String DUE =
            "(next_at <= " + NOW + " or next_at is not null and written_at > " + NOW + ") and not " + DELAYED;

    private static final String VIEW_COLUMNS = """
            key, job, slot_key, name, sink, resource, state, fence, run_id, tries, override_fence, size, digest, receipt, \
            reason, announced_at, expires_at, changed_at, (waits or\s""" + LEFT_TO_PEOPLE + ") as waits, case when "
            + LEFT_TO_PEOPLE
            + " then null else coalesce((select s.delay_until from sink_fence s where s.pair = effect.pair"
            + " and effect.state = 'PENDING' and s.delay_from <= " + NOW
            + " and s.delay_until > effect.next_at), next_at)"
            + " end as next_at";

    private static final String LIVE =
            " exists (select 1 from lease l where l.resource = :resource and l.owner = :owner"
                    + " and l.fence = :fence and l.run_id = :run_id and {live l})";

    private static final Sql ANNOUNCE = Sql.of("""
            insert into effect (key, job, slot_key, name, sink, resource, pair, fence, run_id, content_type, target, digest,
                announced_at, expires_at, max_age_ms, state, next_at, changed_at, written_at, size)
            values (:key, :resource, :slot_key, :name, :sink, :resource, :pair, :fence, :run_id, :content_type, :target,
                :digest, {now}, {now} + :max_age {ms}, :max_age, 'PENDING', {now}, {now}, {now}, :size)
            on conflict (key) do nothing returning id""");

    private static final Sql STORE_CONTENT =
            Sql.of("insert into effect_content (key, content) values (:key, :content)");

    private static final Sql ANNOUNCED = Sql.of("select job, slot_key, digest from effect where key = :key");

    /**
     * Hops from pair to pair in the index of open effects, and looks at the first effect of each: the cost grows with the pairs alone.
     * Those that somebody holds come last, so that they cannot fill the list.
     */
    static final Sql DUE_PAIRS = Sql.of("""
            with recursive pairs (pair) as (
                select min(pair) from effect where settled_at is null
                union all
                select (select min(n.pair) from effect n where n.settled_at is null and n.pair > pairs.pair)
                from pairs where pairs.pair is not null)
            select effect.sink, effect.resource as of_resource,\s""" + JdbcLeases.VIEW_COLUMNS
            + " from pairs join effect on effect.id = " + turn("pairs.pair") + """

            left join lease l on l.resource = effect.pair and l.owner is not null and {live l}
            where replace(:sinks, ',' || effect.sink || ',', '') <> :sinks and (effect.state = 'SENDING' or\s"""
            + DUE
            + ") order by case when l.owner is null then 0 else 1 end, coalesce(next_at, last_sent_at) limit :limit");

    static final Sql NEXT =
            Sql.of("""
            select key, job, slot_key, name, sink, resource, fence, run_id, content_type, target,
                (select c.content from effect_content c where c.key = effect.key) as content,
                announced_at, expires_at, state, tries, may_be_sent, override_fence, checks, last_sent_at, {now} as now
            from effect where id =\s""" + turn(":pair") + " and state in ('PENDING', 'UNKNOWN') and size <= :most and " + DUE);

    /**
     * One that is locked is just being begun, or a person decides on it: the next call looks again. The ids are chosen once, by an
     * expression of their own: PostgreSQL may run a list in a condition again for each row, and each time it would have another limit.
     */
    static final Sql EXPIRE = Sql.of("""
            with chosen as (
                select id from effect where state = 'PENDING' and\s""" + TOO_OLD + """

                order by expires_at limit :limit {skip_locked})
            update effect set state = 'EXPIRED', settled_at = {now}, changed_at = {now}, written_at = {now}, waits = true,
                next_at = null, reason = 'older than its max-age'
            where state = 'PENDING' and id in (select id from chosen)
            returning\s""" + VIEW_COLUMNS);

    /**
     * A dead sender's, of a sink that no node knows any more: nobody would adopt it. It is too old to be begun again meanwhile, and by now
     * any lock-delay would be over.
     */
    private static final Sql LEAVE_TO_PEOPLE = Sql.of("""
            with chosen as (
                select id from effect where settled_at is null and state = 'SENDING' and\s""" + TOO_OLD + """

                and last_sent_at + :rest {ms} <=\s""" + NOW + """

                and not exists (select 1 from lease l where l.resource = effect.pair and l.owner is not null and {live l})
                order by expires_at limit :limit {skip_locked})
            update effect set state = 'UNKNOWN', may_be_sent = true, checks = 0, waits = true, next_at = null,
                changed_at = {now}, written_at = {now},
                reason = 'its sender died, and no node that knows its sink has looked after it'
            where state = 'SENDING' and id in (select id from chosen)
            returning\s""" + VIEW_COLUMNS);

    private static final Sql ADOPT = Sql.of(JdbcLeases.LOCK, """
            update effect set state = 'UNKNOWN', may_be_sent = true, checks = 0, next_at = {now}, changed_at = {now},
                written_at = {now}, reason = 'its sender died'
            where pair = :resource and settled_at is null and state = 'SENDING'
                and not (sender_run_id = :run_id and sender_fence = :fence) and""" + LIVE + " returning " + VIEW_COLUMNS);

    /** Of the pair, not of its effects: one that is announced meanwhile has to wait too. */
    private static final Sql DELAY = Sql.of("""
            update sink_fence set delay_from = {now}, delay_until = {now} + :delay {ms}
            where pair = :resource""");

    /** Locks the lease, then the effect; what is read then stays as it is until the end of the transaction. */
    private static final Sql LOCKED =
            Sql.of(JdbcLeases.LOCK, "select id from effect where key = :key {for_update}", """
            select effect.state, effect.fence, effect.run_id, effect.may_be_sent, effect.override_fence, effect.waits,
                s.fence as known_fence, s.run_id as known_run
            from effect left join sink_fence s on s.pair = effect.pair
            where effect.key = :key and effect.pair = :resource""");

    private static final String AS_READ = " where key = :key and pair = :resource and state = :state and tries = :tries"
            + " and last_sent_at is not distinct from :last_sent_at and id = " + turn(":resource") + " and" + LIVE
            + " returning id";

    private static final Sql BEGIN = Sql.of("""
            update effect set state = 'SENDING', tries = tries + 1, sender_run_id = :run_id, sender_fence = :fence,
                last_sent_at = {now}, next_at = null, changed_at = {now}, written_at = {now}""" + AS_READ);

    private static final Sql REFUSE = Sql.of("""
            update effect set state = 'REFUSED', settled_at = {now}, next_at = null, changed_at = {now}, written_at = {now},
                reason = :reason, waits = may_be_sent""" + AS_READ);

    private static final Sql ADVANCE = Sql.of("""
            insert into sink_fence (pair, sink, resource, fence, run_id)
            select pair, sink, resource, fence, run_id from effect where key = :key
            on conflict (pair) do update set fence = excluded.fence, run_id = excluded.run_id
            where sink_fence.fence < excluded.fence""");

    private static final String SETTLED = """
            update effect set state = :state, receipt = coalesce(:receipt, receipt), reason = :reason,
                next_at = {now} + :next_in {ms}, may_be_sent = :may_be_sent, waits = :waits,
                settled_at = case when :open then null else {now} end,
                changed_at = case when state = :state then changed_at else {now} end, written_at = {now}, checks =\s""";

    /** By the sender's try alone. One that somebody has adopted is UNKNOWN already, and that is no news to it. */
    private static final Sql SENT = Sql.of(SETTLED + """
            0
            where key = :key and pair = :resource and sender_run_id = :run_id and sender_fence = :fence
                and (state = 'SENDING' or state = 'UNKNOWN' and :state <> 'UNKNOWN')
            returning id""");

    private static final Sql SENT_BEFORE = Sql.of("""
            select id from effect
            where key = :key and pair = :resource and sender_run_id = :run_id and sender_fence = :fence and state = :state""");

    private static final Sql CHECKED = Sql.of(
            JdbcLeases.LOCK,
            "select id from effect where key = :key {for_update}",
            SETTLED + "checks + 1 where key = :key and pair = :resource and state = 'UNKNOWN' and" + LIVE
                    + " returning id");

    /** Resource, token and run are the effect's own: those that its sink is shown. */
    private static final Sql EVENT = Sql.of("""
            insert into write_event (at, resource, owner, fence, run_id, accepted, reason, effect, newest_fence)
            select {now}, resource, :owner, fence, run_id, :accepted, :reason, key, cast(:newest as bigint)
            from effect where key = :key""");

    private static final Sql EFFECT = Sql.of("select " + VIEW_COLUMNS + " from effect where key = :key");

    private static final Sql EFFECTS = effects("", "id");
    private static final Sql EFFECTS_OF_JOB = effects("job = :job and ", "id");

    private static final Sql EFFECTS_OF_SLOT =
            Sql.of("select " + VIEW_COLUMNS + " from effect where job = :job and slot_key = :slot_key order by id + 0");

    /** By an expression that no index has: otherwise all that was ever sent may be walked through in the order of ids. */
    private static final Sql UNFINISHED = effects("(settled_at is null or waits) and ", "id + 0");

    private static final Sql UNFINISHED_OF_JOB = effects("(settled_at is null or waits) and job = :job and ", "id + 0");

    static final Sql TALLIES = Sql.of("""
            select sink, state, count(*) as effects, min(announced_at) as oldest,
                sum(case when waits or\s""" + LEFT_TO_PEOPLE + """

                then 1 else 0 end) as waiting
            from effect where settled_at is null or waits
            group by sink, state order by sink, state""");

    private static final Sql PAIR = Sql.of("select pair from effect where key = :key");

    /** A person decides: the row is locked and was read behind the lock. */
    private static final String RESOLVED =
            "update effect set changed_at = {now}, written_at = {now}, waits = false," + " reason = :reason, ";

    private static final Sql CONFIRM = Sql.of(RESOLVED + """
            state = 'CONFIRMED', settled_at = {now}, next_at = null, receipt = coalesce(receipt, :receipt)
            where key = :key""");

    private static final Sql GIVE_UP = Sql.of(RESOLVED + """
            state = 'DEAD', settled_at = {now}, next_at = null
            where key = :key""");

    private static final Sql STOP_WAITING =
            Sql.of("update effect set waits = false, written_at = {now} where key = :key");

    /** With an age that began anew, where it would otherwise be too old before it is sent. */
    private static final Sql SEND_AGAIN = Sql.of(RESOLVED + """
            state = 'PENDING', settled_at = null, next_at = {now}, tries = 0, checks = 0, override_fence = :override,
            may_be_sent = may_be_sent and not :absent,
            expires_at = case when :absent and expires_at > {now} then expires_at else {now} + max_age_ms {ms} end
            where key = :key""");

    private final Database database;

    JdbcOutbox(Database database) {
        this.database = database;
    }

    /** The effect whose turn it is in a pair. What is PENDING and too old is EXPIRED but for the name, and holds nothing back. */
    private static String turn(String pair) {
        return "(select t.id from effect t where t.pair = " + pair + " and t.settled_at is null"
                + " and (t.state = 'SENDING' or t.expires_at > " + NOW + ") order by t.fence, t.id limit 1)";
    }

    private static Sql effects(String narrowed, String order) {
        return Sql.of("select " + VIEW_COLUMNS + " from effect where " + narrowed
                + "(:states = '' or replace(:states, ',' || state || ',', '') <> :states)"
                + " and (not :waiting_only or waits or " + LEFT_TO_PEOPLE + ") order by " + order
                + " desc limit :limit");
    }

    /**
     * Inserts what a completion announces, in its transaction.
     *
     * @return null if all of it is there now; else why it contradicts what was there, and the transaction has to be rolled back
     */
    static @Nullable String announce(Session session, Lease lease, List<Announcement> effects) throws SQLException {
        for (Announcement effect : effects) {
            Content content = effect.content();
            Params params = JdbcLeases.identity(lease)
                    .and("slot_key", lease.slotKey())
                    .and("key", effect.key())
                    .and("name", effect.name())
                    .and("sink", effect.sink())
                    .and("pair", new Pair(effect.sink(), lease.resource()).leaseResource())
                    .and("content_type", content.type())
                    .and("target", content.target())
                    .and("digest", effect.digest())
                    .and("max_age", effect.maxAge().toMillis())
                    .and("size", content.bytes().length)
                    .and("content", content.bytes());
            if (session.one(ANNOUNCE, params).first() != null) {
                session.one(STORE_CONTENT, params);
                continue;
            }
            Row before = session.one(ANNOUNCED, params).rows().getFirst();
            if (!before.text("digest").equals(effect.digest())) {
                return "effect " + effect.key() + " was announced before with other content, by job "
                        + before.text("job") + " for slot " + before.text("slot_key") + ": digest "
                        + shortened(before.text("digest")) + " then, " + shortened(effect.digest()) + " now";
            }
        }
        return null;
    }

    private static String shortened(String digest) {
        return digest.substring(0, Math.min(SHOWN_OF_DIGEST, digest.length()));
    }

    /** Names have no comma in them. */
    private static String list(Collection<String> names) {
        return names.isEmpty() ? "" : "," + String.join(",,", names) + ",";
    }

    @Override
    public List<DuePair> duePairs(Collection<String> sinks, int limit) {
        Params params = Params.of("sinks", list(sinks)).and("limit", limit);
        return database.read(
                "due pairs",
                session -> session.one(DUE_PAIRS, params).rows().stream()
                        .map(row -> new DuePair(
                                new Pair(row.text("sink"), row.text("of_resource")),
                                row.optionalText("owner") == null ? null : JdbcLeases.lease(row)))
                        .toList());
    }

    @Override
    public List<EffectView> expire() {
        Params params = Params.of("limit", MAX_EXPIRED_AT_ONCE).and("rest", LONGEST_LOCK_DELAY.toMillis());
        return database.write("expire effects", Urgency.NORMAL, session -> {
            List<EffectView> changed = new ArrayList<>(views(session.one(EXPIRE, params)));
            changed.addAll(views(session.one(LEAVE_TO_PEOPLE, params)));
            return changed;
        });
    }

    @Override
    public List<EffectView> adopt(Lease lease, Pair pair, Duration lockDelay) {
        if (!lease.resource().equals(pair.leaseResource())) {
            throw new IllegalArgumentException("the lease of " + lease.resource() + " is not that of " + pair);
        }
        return database.write("adopt effects of " + pair, Urgency.NORMAL, session -> {
            List<EffectView> adopted =
                    views(session.run(ADOPT, JdbcLeases.identity(lease)).getLast());
            if (!adopted.isEmpty() && lockDelay.isPositive()) {
                session.one(DELAY, Params.of("resource", lease.resource()).and("delay", lockDelay.toMillis()));
            }
            return adopted;
        });
    }

    @Override
    public @Nullable Effect next(Pair pair, int mostBytes) {
        return database.<Optional<Effect>>read(
                        "next effect of " + pair,
                        session -> Optional.ofNullable(session.one(
                                                NEXT,
                                                Params.of("pair", pair.leaseResource())
                                                        .and("most", mostBytes))
                                        .first())
                                .map(JdbcOutbox::effect))
                .orElse(null);
    }

    @Override
    public Begun begin(Lease lease, Effect effect) {
        Params params = JdbcLeases.identity(lease)
                .and("key", effect.key())
                .and("state", effect.state().name())
                .and("tries", effect.tries())
                .and("last_sent_at", effect.lastSentAt());
        return database.write("begin " + effect.key(), Urgency.NORMAL, session -> {
            Row row = session.run(LOCKED, params).getLast().first();
            if (row == null || !effect.state().isOpen() || effect.state() == EffectState.SENDING) {
                return new Begun.Gone();
            }
            Fence known = known(row);
            if (!row.truth("override_fence") && !known.lets(token(row), run(row))) {
                String reason = tokens(row, known)
                        + (row.truth("may_be_sent") ? "; an earlier try of it may have arrived" : "");
                if (session.one(REFUSE, params.and("reason", reason)).first() == null) {
                    return new Begun.Gone();
                }
                event(session, effect.key(), lease.owner().text(), false, Refusal.STALE_TOKEN.name(), known.fence());
                return new Begun.Refused(known.fence());
            }
            if (session.one(BEGIN, params).first() == null) {
                return new Begun.Gone();
            }
            session.one(ADVANCE, params);
            return new Begun.Sending();
        });
    }

    private static Fence known(Row row) {
        Long fence = row.optionalNumber("known_fence");
        return fence == null ? Fence.NONE : new Fence(fence, RunId.parse(row.text("known_run")));
    }

    private static FencingToken token(Row row) {
        return new FencingToken(row.number("fence"));
    }

    private static RunId run(Row row) {
        return RunId.parse(row.text("run_id"));
    }

    /** Why a token does not pass. */
    private static String tokens(Row row, Fence known) {
        return known.fence() > row.number("fence")
                ? "its token " + row.number("fence") + " is older than " + known.fence() + ", which was sent before"
                : "its token " + row.number("fence") + " of run " + run(row) + " was sent before by run "
                        + known.runId() + ", which has token " + known.fence() + " too";
    }

    private static void event(
            Session session, String key, String owner, boolean accepted, String reason, @Nullable Long newest)
            throws SQLException {
        session.one(
                EVENT,
                Params.of("key", key)
                        .and("owner", owner)
                        .and("accepted", accepted)
                        .and("reason", reason)
                        .and("newest", newest));
    }

    @Override
    public boolean sent(Lease lease, Effect effect, Settlement settlement) {
        return database.write("settle " + effect.key(), Urgency.NORMAL, session -> {
            Params params = params(lease, effect, settlement);
            if (session.one(SENT, params).first() != null) {
                settledEvent(session, lease, effect, settlement);
                return true;
            }
            return session.one(SENT_BEFORE, params).first() != null;
        });
    }

    @Override
    public boolean checked(Lease lease, Effect effect, Settlement settlement) {
        return database.write("settle " + effect.key(), Urgency.NORMAL, session -> {
            if (session.run(CHECKED, params(lease, effect, settlement))
                            .getLast()
                            .first()
                    == null) {
                return false;
            }
            settledEvent(session, lease, effect, settlement);
            return true;
        });
    }

    private static Params params(Lease lease, Effect effect, Settlement settlement) {
        return JdbcLeases.identity(lease)
                .and("key", effect.key())
                .and("state", settlement.state().name())
                .and("open", settlement.state().isOpen())
                .and(
                        "receipt",
                        settlement.receipt() == null
                                ? null
                                : settlement.receipt().text())
                .and("reason", settlement.reason())
                .and(
                        "next_in",
                        settlement.nextIn() == null ? null : settlement.nextIn().toMillis())
                .and("may_be_sent", settlement.mayBeSent())
                .and("waits", settlement.waits());
    }

    private static void settledEvent(Session session, Lease lease, Effect effect, Settlement settlement)
            throws SQLException {
        String owner = lease.owner().text();
        switch (settlement.state()) {
            case CONFIRMED -> event(session, effect.key(), owner, true, "EFFECT", null);
            case REFUSED -> event(session, effect.key(), owner, false, Refusal.STALE_TOKEN.name(), settlement.newest());
            default -> {}
        }
    }

    @Override
    public List<EffectView> effects(Filter filter, int limit) {
        boolean unfinished = filter.waitingOnly()
                || (!filter.states().isEmpty() && filter.states().stream().allMatch(EffectState::isOpen));
        Params params = Params.of(
                        "states", list(filter.states().stream().map(Enum::name).toList()))
                .and("waiting_only", filter.waitingOnly())
                .and("limit", limit)
                .and("job", filter.job());
        Sql all = unfinished ? UNFINISHED : EFFECTS;
        Sql ofJob = unfinished ? UNFINISHED_OF_JOB : EFFECTS_OF_JOB;
        return database.read("effects", session -> views(session.one(filter.job() == null ? all : ofJob, params)));
    }

    @Override
    public List<EffectView> effectsOf(String job, String slotKey) {
        Params params = Params.of("job", job).and("slot_key", slotKey);
        return database.read(
                "effects of " + slotKey + " of " + job, session -> views(session.one(EFFECTS_OF_SLOT, params)));
    }

    @Override
    public @Nullable EffectView effect(String key) {
        return database.<Optional<EffectView>>read(
                        "effect " + key,
                        session -> Optional.ofNullable(session.one(EFFECT, Params.of("key", key))
                                        .first())
                                .map(JdbcOutbox::view))
                .orElse(null);
    }

    @Override
    public List<Tally> tallies() {
        return database.read(
                "effects by state",
                session -> session.one(TALLIES, Params.none()).rows().stream()
                        .map(row -> new Tally(
                                row.text("sink"),
                                EffectState.valueOf(row.text("state")),
                                row.number("effects"),
                                row.number("waiting"),
                                row.instant("oldest")))
                        .toList());
    }

    @Override
    public Optional<String> resolve(String key, Order order, String reason, boolean override) {
        return database.write("resolve " + key, Urgency.NORMAL, session -> {
            Row pair = session.one(PAIR, Params.of("key", key)).first();
            if (pair == null) {
                return Optional.of("no effect has the key " + key);
            }
            Params params = Params.of("key", key).and("resource", pair.text("pair"));
            Row row = session.run(LOCKED, params).getLast().rows().getFirst();
            EffectState state = EffectState.valueOf(row.text("state"));
            Fence known = known(row);
            if (!order.suits(state, row.truth("waits"))) {
                return Optional.of("effect " + key + " is " + state + ": " + instead(order, state));
            }
            boolean again = order.sends();
            if (again && !override && !known.lets(token(row), run(row))) {
                return Optional.of("effect " + key + " is not sent again without an override: " + tokens(row, known));
            }
            params.and("reason", reason);
            switch (order) {
                case CONFIRMED -> session.one(CONFIRM, params.and("receipt", "a person says so: " + reason));
                case GIVE_UP -> session.one(state.isOpen() ? GIVE_UP : STOP_WAITING, params);
                case ABSENT, RETRY ->
                    session.one(SEND_AGAIN, params.and("override", override).and("absent", order == Order.ABSENT));
            }
            Long newest = known.equals(Fence.NONE) ? null : known.fence();
            event(session, key, PERSON, true, "RESOLVED " + order + ": " + reason, newest);
            if (again && override) {
                event(session, key, PERSON, true, "OVERRIDE", newest);
            }
            return Optional.empty();
        });
    }

    /** What a person can do where an order does not fit. */
    private static String instead(Order order, EffectState state) {
        return switch (state) {
            case SENDING -> "it is being sent just now, or its sender has died and the next one will find out";
            case PENDING -> "it is sent when its turn comes; it can be given up";
            case UNKNOWN -> "say first whether it took place";
            case CONFIRMED -> "it took place";
            case REFUSED -> "nothing took place; it can only be sent again";
            case DEAD, EXPIRED -> order == Order.ABSENT ? "it can be sent again or given up" : "nothing to be done";
        };
    }

    private static List<EffectView> views(Session.Answer answer) {
        return answer.rows().stream().map(JdbcOutbox::view).toList();
    }

    private static EffectView view(Row row) {
        return new EffectView(
                row.text("key"),
                row.text("job"),
                row.text("slot_key"),
                row.text("name"),
                new Pair(row.text("sink"), row.text("resource")),
                EffectState.valueOf(row.text("state")),
                row.number("fence"),
                row.text("run_id"),
                row.integer("tries"),
                row.truth("waits"),
                row.truth("override_fence"),
                row.number("size"),
                row.text("digest"),
                row.optionalText("receipt"),
                row.optionalText("reason"),
                row.instant("announced_at"),
                row.instant("expires_at"),
                row.optionalInstant("next_at"),
                row.instant("changed_at"));
    }

    private static Effect effect(Row row) {
        return new Effect(
                row.text("key"),
                row.text("job"),
                row.text("slot_key"),
                row.text("name"),
                new Pair(row.text("sink"), row.text("resource")),
                token(row),
                run(row),
                new Content(row.optionalText("content_type"), row.optionalText("target"), row.bytes("content")),
                row.instant("announced_at"),
                row.instant("expires_at"),
                EffectState.valueOf(row.text("state")),
                row.integer("tries"),
                row.truth("may_be_sent"),
                row.truth("override_fence"),
                row.integer("checks"),
                row.optionalInstant("last_sent_at"),
                row.instant("now"));
    }
}
