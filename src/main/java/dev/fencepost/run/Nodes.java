package dev.fencepost.run;

import dev.fencepost.lease.Owner;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which nodes share the store, and since when each of their starts was alive: a port. It is for people ({@code status}, {@code why},
 * {@code doctor}, the page) and decides nothing: leases do. What is said of exceptions and threads in {@link dev.fencepost.lease.Leases}
 * holds here too.
 */
public interface Nodes {

    /**
     * Writes that this start of a node is alive now; makes its row at the first call.
     *
     * @param state what others may read of it
     */
    void seen(Owner owner, State state);

    /** Writes that this start ends in order. */
    void stopped(Owner owner);

    /**
     * @param host name of the machine
     * @param version of the program
     * @param jobsFile path of its jobs file
     * @param jobsHash of ids and schedules of the jobs in force; nodes whose hashes differ have different files
     * @param fileError why the file as it is now was refused at the last reload, in one line; null where it is in force
     */
    record State(
            String host,
            String version,
            String jobsFile,
            String jobsHash,
            @Nullable String fileError) {}

    /** Newest start first, with those that ended; at most so many. */
    List<NodeView> nodes(int limit);

    /**
     * One start of a node.
     *
     * @param seenAt the last sign of life, by the store's clock
     * @param stoppedAt when it ended in order, or null while it lives or where it died
     */
    record NodeView(
            Owner owner,
            State state,
            Instant startedAt,
            Instant seenAt,
            @Nullable Instant stoppedAt) {

        /** A living node writes a sign of life at least so often; one that is three times as old is a dead one's. */
        public static final int BEAT_SECONDS = 15;

        public boolean isAlive(Instant now) {
            return stoppedAt == null && seenAt.plusSeconds(3 * BEAT_SECONDS).isAfter(now);
        }
    }
}
