package dev.fencepost.edge.jdbc;

import dev.fencepost.run.Pause;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a store tells of itself: facts, for {@code doctor} to judge. Never a password, never a payload.
 *
 * @param schema the newest migration that was applied, or null where there is none
 * @param wantedSchema the newest one that this program knows
 * @param leastKnown the one that a program has to know for this store; null unless the schema is there
 * @param paused jobs with a pause, in force or past its end; empty unless the schema is there
 * @param ahead sinks that know a higher token than the store has granted (semantics 2.9); empty unless the schema is there
 */
public record Diagnosis(
        @Nullable String schema,
        String wantedSchema,
        @Nullable String leastKnown,
        Engine engine,
        List<PausedJob> paused,
        List<SinkAhead> ahead) {

    public Diagnosis {
        paused = List.copyOf(paused);
        ahead = List.copyOf(ahead);
    }

    /** Whether the schema is the one that this program needs, or a newer one. */
    public boolean isPrepared() {
        return schema != null && schema.compareTo(wantedSchema) >= 0;
    }

    /** Whether a newer program has made the schema one that this program must not work on. */
    public boolean isTooNew() {
        return leastKnown != null && leastKnown.compareTo(wantedSchema) > 0;
    }

    /** The database behind the store. */
    public sealed interface Engine {}

    /**
     * @param versionNumber as {@code server_version_num}: 170006
     * @param version as the server writes it: {@code 17.6}
     * @param synchronousCommit what a session has that does not set it; ours do
     * @param standby whether it is in recovery, and takes no writes
     * @param timelineRefusal why the server does not tell its timeline, or null where it does, or was not asked since it is a standby
     */
    public record Postgres(
            int versionNumber,
            String version,
            boolean fsync,
            boolean fullPageWrites,
            String synchronousCommit,
            boolean standby,
            @Nullable String timelineRefusal)
            implements Engine {}

    /**
     * @param journalMode of our connection: {@code wal}
     * @param synchronous of our connection: 2 is FULL, 3 EXTRA
     * @param bytes of the database, without what waits in the log
     */
    public record Sqlite(String journalMode, int synchronous, long bytes) implements Engine {}

    public record PausedJob(String job, Pause pause) {}

    /**
     * @param sink its name, or null where the effect that was refused is not kept any more
     * @param resource whose token it is: the job
     * @param sinkFence the token that the sink knows
     * @param storeFence the highest that the store has granted, 0 for none
     */
    public record SinkAhead(@Nullable String sink, String resource, long sinkFence, long storeFence) {}
}
