package dev.fencepost.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemEntropy;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.host.Journal;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Keeper;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.LeaseView;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.lease.StoreException;
import dev.fencepost.lease.Term;
import dev.fencepost.store.Postgres;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * L2, L10: somebody else is frozen, or cut off, in the middle of a transaction that has the lease's row locked. The server must end that
 * transaction before it costs the holder its lease.
 */
@Tag("faults")
class FrozenStrangerIT {

    /** The shortest lease that has the usual margin of two seconds. */
    private static final Duration TTL = Duration.ofSeconds(8);

    private static final Journal SILENT = event -> {};

    private final SystemEntropy entropy = new SystemEntropy();

    @Test
    void aBreakThatStandsStillInItsTransactionCostsTheHolderNothing() throws Exception {
        Postgres.Database database = Postgres.newDatabase();
        try (Proxy proxy = new Proxy(database.port());
                JdbcStore ours = store(database, database.port());
                JdbcStore strangers = store(database, proxy.port())) {
            ours.prepare();
            SystemTime time = new SystemTime();
            List<String> told = new CopyOnWriteArrayList<>();
            long sent = time.bootMillis();
            Lease lease = assertInstanceOf(Claim.Granted.class, ours.claim("r", new Owner("holder"), newRun(), TTL))
                    .lease();
            Keeper keeper = new Keeper(ours, time, lease, TTL, sent, listener(told));
            Thread keeping = Thread.ofPlatform().start(keeper);
            try {
                proxy.breakCommitOf(
                        "coalesce(owner, 'nobody')", Proxy.Break.BEFORE_COMMIT_ARRIVES, Proxy.Mode.BLACK_HOLE);
                CompletableFuture<StoreException> broken = CompletableFuture.supplyAsync(
                        () -> assertThrows(StoreException.class, () -> strangers.breakLease("r", "for a test")));
                Wait.until(Duration.ofSeconds(5), "it stands still", () -> proxy.sprung() == 1);
                assertEquals(List.of(), told, "before the first renewal");

                Wait.sleep(TTL.plusSeconds(4));
                assertTrue(told.stream().filter("renewed"::equals).count() >= 3, told::toString);
                assertTrue(told.stream().noneMatch(line -> line.startsWith("lost")), told::toString);
                LeaseView view = ours.inspect("r");
                assertTrue(
                        view != null
                                && view.isLive()
                                && view.fence() == lease.fence().value(),
                        () -> "it is " + view);
                assertEquals(StoreException.Kind.AMBIGUOUS, broken.get().kind());
            } finally {
                keeper.close();
                keeping.interrupt();
            }
        }
    }

    private RunId newRun() {
        return new RunId(entropy.uuid());
    }

    private static JdbcStore store(Postgres.Database database, int port) {
        return JdbcStore.postgres(
                "jdbc:postgresql://127.0.0.1:" + port + "/" + database.name(), "postgres", null, "postgres", SILENT);
    }

    private static Keeper.Listener listener(List<String> told) {
        return new Keeper.Listener() {
            @Override
            public void renewed(Lease lease) {
                told.add("renewed");
            }

            @Override
            public void renewFailed(Lease lease, StoreException cause) {
                told.add("failed: " + cause.getMessage());
            }

            @Override
            public void lost(Lease lease, Term term, Refusal reason) {
                told.add("lost: " + reason);
            }
        };
    }
}
