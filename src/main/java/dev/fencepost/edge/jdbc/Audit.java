package dev.fencepost.edge.jdbc;

import dev.fencepost.edge.jdbc.Diagnosis.SinkAhead;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Reads the contract out of the rows: what must be so in a store that only this program has written. Each rule is one statement, so that
 * it sees one moment of a store that is in use. Changes nothing.
 */
public final class Audit {

    /** So many faults of one rule are named. */
    public static final int MOST = 50;

    private static final Duration CURSOR_MARGIN = Duration.ofMinutes(1);

    private static final Sql COUNTS =
            Sql.of("select (select count(*) from lease) as leases, (select count(*) from tick) as ticks,"
                    + " (select count(*) from attempt) as attempts, (select count(*) from effect) as effects,"
                    + " (select count(*) from work_item) as items");

    /**
     * @param resource the job, the resource of the lease, or {@code work:} and the item
     * @param slot its key, or the key of the effect; null where the fault is about neither
     * @param fence the token that the fault is about, or null
     */
    public record Fault(
            String rule,
            String resource,
            @Nullable String slot,
            @Nullable Long fence,
            String text) {}

    /** @param checked how many rows of each kind there are */
    public record Findings(Map<String, Long> checked, List<Fault> faults) {}

    /** @param text what is wrong; {@code %s} stands for the column {@code other} */
    private record Rule(String name, String text, Sql sql) {
        Rule(String name, String text, String sql) {
            this(name, text, Sql.of(sql + " limit :limit"));
        }
    }

    private static final List<Rule> RULES = List.of(
            new Rule("ATTEMPT_AHEAD", "an attempt has a higher token than the lease of its job, which has %s", """
                    select a.job as resource, a.slot_key as slot, a.fence, coalesce(l.fence, 0) as other
                    from attempt a left join lease l on l.resource = a.job where a.fence > coalesce(l.fence, 0)"""),
            new Rule(
                    "EVENT_AHEAD", "a write was accepted under a higher token than the lease has, which is at %s", """
                    select e.resource, null as slot, e.fence, coalesce(l.fence, 0) as other
                    from write_event e left join lease l on l.resource = e.resource
                    where e.accepted and e.resource not like 'work:%' and e.fence > coalesce(l.fence, 0)"""),
            new Rule("EVENT_AHEAD", "a write was accepted under a higher token than the item has, which is at %s", """
                    select e.resource, null as slot, e.fence, coalesce(w.fence, f.fence, 0) as other
                    from write_event e left join work_item w on w.id = substr(e.resource, 6)
                    left join work_fence f on f.id = substr(e.resource, 6)
                    where e.accepted and e.resource like 'work:%' and e.fence > coalesce(w.fence, f.fence, 0)"""),
            new Rule("TOKEN_TWICE", "this token was given to %s attempts", """
                    select job as resource, max(slot_key) as slot, fence, count(*) as other from attempt
                    group by job, fence having count(*) > 1"""),
            new Rule("TWO_SUCCESSES", "this slot has %s successes", """
                    select job as resource, slot_key as slot, max(fence) as fence, count(*) as other from attempt
                    where outcome = 'SUCCEEDED' group by job, slot_key having count(*) > 1"""),
            new Rule("SUCCESS_WITHOUT_ATTEMPT", "the slot has succeeded, and no attempt at it has", """
                    select t.job as resource, t.slot_key as slot, null as fence, null as other from tick t
                    where t.outcome = 'SUCCEEDED' and not exists (select 1 from attempt a
                        where a.job = t.job and a.slot_key = t.slot_key and a.outcome = 'SUCCEEDED')"""),
            new Rule("SUCCESS_NOT_STORED", "an attempt has succeeded, and its slot is %s", """
                    select a.job as resource, a.slot_key as slot, a.fence, coalesce(t.outcome, 'open') as other
                    from attempt a join tick t on t.job = a.job and t.slot_key = a.slot_key
                    where a.outcome = 'SUCCEEDED' and coalesce(t.outcome, '') <> 'SUCCEEDED'"""),
            new Rule("ATTEMPT_WITHOUT_SLOT", "an attempt has no slot", """
                    select a.job as resource, a.slot_key as slot, a.fence, null as other from attempt a
                    where not exists (select 1 from tick t where t.job = a.job and t.slot_key = a.slot_key)"""),
            new Rule(
                    "CLOSED_WHILE_IT_RUNS",
                    "the slot has the outcome %s while an attempt at it holds a live lease",
                    """
                    select a.job as resource, a.slot_key as slot, a.fence, t.outcome as other
                    from attempt a join tick t on t.job = a.job and t.slot_key = a.slot_key
                    join lease l on l.resource = a.job and l.run_id = a.run_id and {live l}
                    where a.ended_at is null and t.outcome is not null"""),
            new Rule("HALF_ENDED", "the slot has an outcome without an end, or an end without an outcome", """
                    select job as resource, slot_key as slot, null as fence, null as other from tick
                    where (outcome is null) <> (ended_at is null)"""),
            new Rule("HALF_ENDED", "the attempt has an outcome without an end, or an end without an outcome", """
                    select job as resource, slot_key as slot, fence, null as other from attempt
                    where (outcome is null) <> (ended_at is null)"""),
            new Rule("HALF_HELD", "the lease has an owner without a run, or a run without an owner", """
                    select resource, slot_key as slot, fence, null as other from lease
                    where (owner is null) <> (run_id is null)"""),
            new Rule("CURSOR_AHEAD", "the newest planned slot of the job lies in the future", """
                    select id as resource, null as slot, null as fence, null as other from job
                    where retired_at is null and cursor_at > {now} + :margin {ms}"""),
            new Rule("EFFECT_AHEAD", "an effect has a higher token than the lease of its job, which has %s", """
                    select e.resource, e.key as slot, e.fence, coalesce(l.fence, 0) as other
                    from effect e left join lease l on l.resource = e.resource where e.fence > coalesce(l.fence, 0)"""),
            new Rule("EFFECT_BEFORE_ITS_RUN", "an effect is there before its run has ended", """
                    select e.job as resource, e.key as slot, e.fence, null as other
                    from effect e join attempt a on a.run_id = e.run_id where a.ended_at is null"""),
            new Rule("EFFECT_STATE", "an effect is %s, and whether it is settled says otherwise", """
                    select e.job as resource, e.key as slot, e.fence, e.state as other from effect e
                    where (e.settled_at is null) <> (e.state in ('PENDING', 'SENDING', 'UNKNOWN'))"""),
            new Rule("EFFECT_WITHOUT_CONTENT", "an effect that is %s has no content to be sent", """
                    select e.job as resource, e.key as slot, e.fence, e.state as other from effect e
                    where e.settled_at is null and not exists (select 1 from effect_content c where c.key = e.key)"""),
            new Rule("EFFECT_WITHOUT_RECEIPT", "an effect is confirmed without a receipt", """
                    select e.job as resource, e.key as slot, e.fence, null as other from effect e
                    where e.state = 'CONFIRMED' and e.receipt is null"""),
            new Rule("EFFECT_PAST_ITS_SINK", "an effect was sent, and the highest token sent to its sink is %s", """
                    select e.job as resource, e.key as slot, e.fence, coalesce(s.fence, 0) as other
                    from effect e left join sink_fence s on s.pair = e.pair
                    where e.sender_fence is not null and e.state in ('SENDING', 'CONFIRMED')
                        and e.fence > coalesce(s.fence, 0)"""),
            new Rule("ITEM_STATE", "the item is %s, and owner and end say otherwise", """
                    select 'work:' || id as resource, null as slot, fence, state as other from work_item
                    where (ended_at is null) = (state in ('DONE', 'DEAD')) or (state = 'CLAIMED' and owner is null)"""),
            new Rule("ARTIFACT_AHEAD", "a file was taken under a higher token than the item has, which is at %s", """
                    select 'work:' || a.item as resource, null as slot, a.fence, w.fence as other
                    from work_artifact a join work_item w on w.id = a.item where a.fence > w.fence"""),
            new Rule("BELOW_FLOOR", "the token is below that of store bump, which is %s", """
                    select l.resource, null as slot, l.fence, f.fence as other
                    from lease l, store_floor f where l.fence < f.fence"""),
            new Rule("BELOW_FLOOR", "the token is below that of store bump, which is %s", """
                    select 'work:' || w.id as resource, null as slot, w.fence, f.fence as other
                    from work_item w, store_floor f where w.ended_at is null and w.fence < f.fence"""));

    private final Database database;
    private final JdbcDiagnosis diagnosis;

    Audit(Database database, JdbcDiagnosis diagnosis) {
        this.database = database;
        this.diagnosis = diagnosis;
    }

    /** Reads all tables. */
    public Findings read() {
        List<Fault> faults = new ArrayList<>();
        diagnosis.wholeDamage().forEach(line -> faults.add(new Fault("DAMAGE", "the file", null, null, line)));
        Map<String, Long> checked = database.readPatiently("audit", session -> {
            Params params = Params.of("limit", MOST).and("margin", CURSOR_MARGIN.toMillis());
            for (Rule rule : RULES) {
                for (Row row : session.one(rule.sql(), params).rows()) {
                    faults.add(new Fault(
                            rule.name(),
                            row.text("resource"),
                            row.optionalText("slot"),
                            row.optionalNumber("fence"),
                            rule.text().replace("%s", String.valueOf(row.optionalText("other")))));
                }
            }
            Row counts =
                    Objects.requireNonNull(session.one(COUNTS, Params.none()).first());
            Map<String, Long> rows = new LinkedHashMap<>();
            for (String kind : List.of("leases", "ticks", "attempts", "effects", "items")) {
                rows.put(kind, counts.number(kind));
            }
            return rows;
        });
        for (SinkAhead ahead : diagnosis.read().ahead()) {
            faults.add(new Fault(
                    "SINK_AHEAD",
                    ahead.resource(),
                    null,
                    ahead.sinkFence(),
                    (ahead.sink() == null ? "a sink" : "sink " + ahead.sink())
                            + " knows this token, and the lease has no more than " + ahead.storeFence()
                            + ": fencepost store bump"));
        }
        return new Findings(checked, List.copyOf(faults));
    }
}
