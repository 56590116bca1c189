package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.store.Postgres;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * S5, semantics 2.9: PostgreSQL, whose own default here is not to wait for its disk, is killed right after each answer. What it
 * acknowledged to others is lost; grants and completions are not.
 */
@Tag("faults")
class CrashedDatabaseIT {

    private static final int ROUNDS = 8;

    @TempDir
    Path folder;

    @Test
    void whatWasGrantedOrCompletedOutlivesACrashOfTheServer() {
        try (PostgresServer server = PostgresServer.start(folder.resolve("database"))) {
            Postgres.Database database = server.database("fencepost");
            database.sql("create table other (round int)");
            Rows rows = Rows.of(database);
            Job job = PlainJob.of("job", Duration.ofMinutes(1));
            List<Long> tokens = new ArrayList<>();
            Start.Started held = null;
            for (int round = 0; round < ROUNDS; round++) {
                try (JdbcStore store = JdbcStore.postgres(
                        "jdbc:postgresql://127.0.0.1:" + database.port() + "/" + database.name(),
                        "postgres",
                        null,
                        "postgres",
                        event -> {})) {
                    store.prepare();
                    store.register(List.of(job));
                    if (held == null) {
                        held = assertInstanceOf(
                                Start.Started.class,
                                store.start(job, PlainJob.slot(round), new Owner("worker"), newRun(), false));
                        tokens.add(held.lease().fence().value());
                    } else {
                        assertInstanceOf(
                                Completed.Stored.class,
                                store.complete(
                                        held.lease(),
                                        new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null)));
                        held = null;
                    }
                    database.sql("insert into other values (" + round + ")");
                    server.kill();
                }
                server.up();
                assertEquals(tokens.getLast(), rows.lease("job").fence(), "after round " + round);
                assertEquals(tokens.size(), rows.attempts("job").size());
                assertEquals(
                        tokens.size() - (held == null ? 0 : 1),
                        rows.attempts("job", "SUCCEEDED").size());
            }
            assertEquals(tokens.stream().distinct().sorted().toList(), tokens);
            int kept = rows.texts("select round from other").size();
            assertTrue(kept < ROUNDS, "what others were told is lost, else this shows nothing");
        }
    }

    private static RunId newRun() {
        return new RunId(new SystemEntropy().uuid());
    }
}
