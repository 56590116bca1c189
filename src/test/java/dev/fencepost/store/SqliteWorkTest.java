package dev.fencepost.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.fencepost.lease.Refusal;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkState;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SqliteWorkTest extends WorkContract {

    private static SqliteSite site;

    @BeforeAll
    static void open(@TempDir Path folder) {
        site = new SqliteSite(folder);
    }

    @AfterAll
    static void close() {
        site.close();
    }

    @Override
    Site site() {
        return site;
    }

    @Test
    void aLeaseFromBeforeAReboot() {
        for (long uptime : new long[] {5, 1_000_000_000}) {
            WorkItem any = claimed(enqueued());
            WorkItem named = claimed(enqueued());
            site.time.reboot("boot-" + uptime, uptime);
            assertEquals(WorkState.READY, item(any.id()).state());
            assertRefused(grant(named), Refusal.EXPIRED, "renew", "complete", "fail", "give up", "artifact");
            assertEquals(2, claimed(named.id()).fence());
            assertEquals(
                    2,
                    store().claimAny(any.queue(), BEN, newRuns(1), TTL)
                            .getFirst()
                            .fence());
        }
    }

    /** Leases are measured on the boot clock. */
    @Test
    void aWallClockThatIsSetMovesNoEnd() {
        WorkItem item = claimed(enqueued());
        site.time.setWallClock(site.time.wallClock().plus(Duration.ofDays(3)));
        assertEquals(WorkState.CLAIMED, item(item.id()).state());
        assertEquals(store().now().plus(TTL), item(item.id()).until());
        site.time.setWallClock(site.time.wallClock().minus(Duration.ofDays(6)));
        pass(TTL.minusMillis(1));
        assertEquals(WorkState.CLAIMED, item(item.id()).state());
        pass(Duration.ofMillis(1));
        assertEquals(WorkState.READY, item(item.id()).state());
        assertNull(item(item.id()).until());
    }
}
