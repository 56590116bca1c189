package dev.fencepost.edge.jdbc;

import static dev.fencepost.edge.jdbc.JdbcWorkRows.WITHOUT_BODIES;

import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.work.Grant;
import dev.fencepost.work.ItemResult;
import dev.fencepost.work.WorkAnswer;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Results of several items within one transaction. The items are locked first, in the order of their ids, so that two such calls cannot wait
 * for each other at once; then one statement decides, by the clock behind the locks, and what it answers is told in the events.
 */
final class JdbcResults {

    private static final String WANTED = "with wanted (id) as materialized (select listed.id from {listed}) ";

    private static final String ITEMS =
            WANTED + "select " + WITHOUT_BODIES + " from work_item where work_item.id {among wanted}";

    static final String LOCKED = ITEMS + " order by work_item.id {for_update}";

    /** Names the ids twice: a planner that expects many would else rather read the whole table. */
    static final String COMPLETED = WANTED + """
            update work_item set state = 'DONE', ended_at = {now}, reason = null, result = listed.result,
                result_type = listed.result_type,\s""" + JdbcWork.GIVEN_BACK + """
             from {listed}
            where work_item.id {among wanted} and work_item.id = listed.id and work_item.owner = listed.owner
                and work_item.fence = listed.fence and coalesce(listed.run_id, work_item.run_id) = work_item.run_id
                and {live work_item}
            returning\s""" + WITHOUT_BODIES;

    private static final Sql LOCK_ALL = Sql.of(LOCKED);

    private static final Sql COMPLETE_ALL = Sql.of(COMPLETED);

    private static final Sql ALL_NOW = Sql.of(ITEMS);

    private static final Sql TELL_ALL = Sql.of("""
            insert into write_event (at, resource, owner, fence, run_id, accepted, reason, newest_fence)
            select {now}, 'work:' || listed.id, listed.owner, listed.fence, listed.run_id, listed.accepted, listed.reason,
                listed.newest from {listed}""");

    private final Session session;
    private final List<ItemResult> results;

    JdbcResults(Session session, List<ItemResult> results) {
        this.session = session;
        this.results = results;
    }

    List<WorkAnswer> complete() throws SQLException {
        Map<String, Row> before = rows(LOCK_ALL, Listed.grants(results));
        Map<String, Integer> chosen = chosen(before);
        Map<String, Row> done = rows(
                COMPLETE_ALL,
                Listed.results(chosen.values().stream().map(results::get).toList()));
        chosen.keySet().retainAll(done.keySet());
        boolean someRefused = chosen.size() < results.size();
        Map<String, Row> now = someRefused ? rows(ALL_NOW, Listed.grants(results)) : done;
        List<WorkAnswer> answers = new ArrayList<>();
        List<Listed.Told> events = new ArrayList<>();
        for (int place = 0; place < results.size(); place++) {
            Grant grant = results.get(place).grant();
            Row first = before.get(grant.id());
            Row row = now.get(grant.id());
            Integer accepted = chosen.get(grant.id());
            if (accepted != null && accepted == place && first != null && row != null) {
                RunId run = RunId.parse(first.text("run_id"));
                answers.add(new WorkAnswer.Done(JdbcWorkRows.item(row)));
                events.add(
                        new Listed.Told(new Grant(grant.id(), grant.owner(), grant.fence(), run), true, "DONE", null));
            } else {
                // Whoever stands before the one that was accepted is told what was so before.
                Refusal refusal = JdbcWorkRows.refusal(accepted != null && place < accepted ? first : row, grant);
                Refusal reason = refusal == null ? Refusal.EXPIRED : refusal;
                answers.add(new WorkAnswer.Refused(reason, row == null ? null : JdbcWorkRows.item(row)));
                events.add(new Listed.Told(grant, false, reason.name(), JdbcWorkRows.newerThan(row, grant)));
            }
        }
        session.one(TELL_ALL, Listed.params(events));
        return answers;
    }

    /** Of the results of one item, the place of the first whose grant is the one that is stored; no other can be good. */
    private Map<String, Integer> chosen(Map<String, Row> locked) {
        Map<String, Integer> chosen = new LinkedHashMap<>();
        for (int place = 0; place < results.size(); place++) {
            Grant grant = results.get(place).grant();
            Row row = locked.get(grant.id());
            if (row != null && JdbcWorkRows.isOf(row, grant)) {
                chosen.putIfAbsent(grant.id(), place);
            }
        }
        return chosen;
    }

    private Map<String, Row> rows(Sql sql, Params listed) throws SQLException {
        Map<String, Row> rows = new HashMap<>();
        for (Row row : session.one(sql, listed).rows()) {
            rows.put(row.text("id"), row);
        }
        return rows;
    }
}
