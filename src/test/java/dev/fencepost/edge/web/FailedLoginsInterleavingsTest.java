package dev.fencepost.edge.web;

import dev.fencepost.host.ManualTime;
import java.time.Instant;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Test;

/** Two addresses that are about to have failed too often: exactly one failure of each makes it wait. */
@Param(name = "address", gen = IntGen.class, conf = "1:2")
public class FailedLoginsInterleavingsTest {

    private final FailedLogins failures = new FailedLogins(new ManualTime(Instant.parse("2026-01-01T00:00:00Z")));

    public FailedLoginsInterleavingsTest() {
        for (int i = 0; i < FailedLogins.MOST - 2; i++) {
            failures.failed("10.0.0.1");
            failures.failed("10.0.0.2");
        }
    }

    @Operation
    public boolean failed(@Param(name = "address") int address) {
        return failures.failed("10.0.0." + address);
    }

    @Operation
    public long waits(@Param(name = "address") int address) {
        return failures.waitMillis("10.0.0." + address);
    }

    @Test
    void inEveryInterleavingItIsAsIfOneCameAfterTheOther() {
        new ModelCheckingOptions()
                .iterations(10)
                .invocationsPerIteration(100)
                .threads(3)
                .actorsPerThread(2)
                .check(FailedLoginsInterleavingsTest.class);
    }
}
