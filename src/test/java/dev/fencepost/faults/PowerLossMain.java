package dev.fencepost.faults;

import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.edge.host.SystemTime;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.lease.Claim;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import java.nio.file.Path;
import java.time.Duration;
import java.util.UUID;

/** Claims a resource again and again, and says each token that it was granted. */
final class PowerLossMain {

    static final String RESOURCE = "r";
    static final String GRANTED = "granted ";
    static final int GRANTS = 20;

    private PowerLossMain() {}

    /** Argument: the SQLite file, prepared. */
    public static void main(String[] args) {
        try (JdbcStore store = JdbcStore.sqlite(Path.of(args[0]), new SystemTime(), new SystemThreads(event -> {}))) {
            for (int i = 0; i < GRANTS; i++) {
                RunId run = new RunId(UUID.randomUUID());
                Claim claim = store.claim(RESOURCE, new Owner("anna"), run, Duration.ofHours(1));
                if (!(claim instanceof Claim.Granted granted)) {
                    throw new IllegalStateException("not granted: " + claim);
                }
                System.out.println(GRANTED + granted.lease().fence());
                store.release(granted.lease());
            }
        }
    }
}
