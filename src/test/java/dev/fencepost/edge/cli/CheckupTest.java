package dev.fencepost.edge.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.fencepost.edge.host.SystemThreads;
import dev.fencepost.lease.StoreException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class CheckupTest {

    private static final Duration LIMIT = Duration.ofSeconds(30);

    private final List<Verdict> told = new ArrayList<>();
    private final Checkup checkup = new Checkup(new SystemThreads(event -> {}), told::add);

    @Test
    void aCheckThatFailsOrHangsIsAFindingAndTheNextOneIsMade() {
        CountDownLatch never = new CountDownLatch(1);
        checkup.check("hangs", Duration.ofMillis(50), () -> {
            never.await();
            return List.of();
        });
        checkup.check("fails", LIMIT, () -> {
            throw new IOException("no such device");
        });
        checkup.check("breaks", LIMIT, () -> {
            throw new StackOverflowError();
        });
        checkup.check("away", LIMIT, () -> {
            throw new StoreException(StoreException.Kind.UNAVAILABLE, "db1 not reachable", null);
        });
        checkup.check("refuses", LIMIT, () -> {
            throw new CommandFailure(ExitCode.BAD_CONFIGURATION, "store x is a directory\n    name a file in it");
        });
        checkup.check("works", LIMIT, () -> List.of(Verdict.ok("works", "fine")));
        never.countDown();

        List<Verdict> verdicts = checkup.verdicts();
        assertEquals(told, verdicts);
        assertEquals(
                List.of("hangs", "fails", "breaks", "away", "refuses", "works"),
                verdicts.stream().map(Verdict::name).toList());
        assertEquals("no answer within 50ms", verdicts.get(0).text());
        assertTrue(verdicts.get(1).text().contains("no such device"), verdicts.toString());
        assertTrue(verdicts.get(2).text().contains("StackOverflowError"), verdicts.toString());
        assertEquals(Verdict.State.BAD, verdicts.get(3).state());
        assertTrue(verdicts.get(3).text().contains("db1 not reachable"), verdicts.toString());
        assertEquals(Verdict.bad("refuses", "store x is a directory", "name a file in it"), verdicts.get(4));
        assertEquals(Verdict.State.OK, verdicts.get(5).state());
    }
}
