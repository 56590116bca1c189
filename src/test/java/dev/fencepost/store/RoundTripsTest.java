package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.faults.Proxy;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Renewal;
import dev.fencepost.run.Completed;
import dev.fencepost.run.Completion;
import dev.fencepost.run.Job;
import dev.fencepost.run.Outcome;
import dev.fencepost.run.Start;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Slot;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/**
 * How often the program waits for PostgreSQL: a guard against slowness that does not depend on how fast a machine is. The driver may send
 * in several parts what was given to it as one, which only shows on the wire.
 */
class RoundTripsTest {

    private static final Owner OWNER = new Owner("anna");
    private static final Duration TTL = Duration.ofMinutes(10);
    private static final Completion SUCCESS = new Completion(Outcome.SUCCEEDED, true, true, 0, null, null, null, null);

    /** After some executions the driver names its statements, and sends them in another way. */
    private static final int WARM_UP = 20;

    private final Map<String, Integer> trips = new TreeMap<>();

    @Test
    void eachStepOfATickWaitsForTheDatabaseOnce() {
        Postgres.Database database = Postgres.newDatabase();
        try (Proxy proxy = new Proxy(database.port());
                JdbcStore store = database.store(proxy.port(), event -> {})) {
            store.prepare();
            Job job = StoreContract.job("job", new Every(Duration.ofMinutes(1)), CatchUp.DEFAULT, null, 2);
            for (int i = 0; i < WARM_UP; i++) {
                Slot slot = Slot.at(store.now().plusSeconds(i));
                trips.clear();
                Lease lease = count(
                        proxy,
                        "start",
                        () -> assertInstanceOf(
                                        Start.Started.class,
                                        store.start(job, slot, OWNER, StoreContract.newRun(), false))
                                .lease());
                count(proxy, "renew", () -> assertInstanceOf(Renewal.Renewed.class, store.renew(lease, TTL)));
                count(
                        proxy,
                        "complete",
                        () -> assertInstanceOf(Completed.Stored.class, store.complete(lease, SUCCESS)));
                Lease other = count(
                        proxy,
                        "claim",
                        () -> assertInstanceOf(
                                        Claim.Granted.class, store.claim("other", OWNER, StoreContract.newRun(), TTL))
                                .lease());
                count(proxy, "release", () -> store.release(other));
            }
            assertEquals(Map.of("start", 1, "renew", 1, "complete", 1, "claim", 1, "release", 1), trips);
        }
    }

    private <T> T count(Proxy proxy, String what, Supplier<T> step) {
        int before = proxy.roundTrips();
        T answer = step.get();
        trips.merge(what, proxy.roundTrips() - before, Integer::sum);
        return answer;
    }
}
