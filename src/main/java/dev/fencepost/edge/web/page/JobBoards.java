package dev.fencepost.edge.web.page;

import jakarta.inject.Singleton;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The boards of the jobs that were looked at last. Safe for use by many threads. */
@Singleton
class JobBoards {

    private static final int MOST = 200;

    private final Map<String, JobBoard> boards = new LinkedHashMap<>(16, 0.75f, true);
    private Page.@Nullable Open of;

    synchronized JobBoard board(Page.Open open, String id) {
        if (of != open) {
            boards.clear();
            of = open;
        }
        JobBoard board = boards.computeIfAbsent(id, key -> new JobBoard(open, key));
        if (boards.size() > MOST) {
            boards.remove(boards.keySet().iterator().next());
        }
        return board;
    }

    /** What was read of this job is old, since something was ordered. */
    synchronized void forget(String id) {
        JobBoard board = boards.get(id);
        if (board != null) {
            board.forget();
        }
    }
}
