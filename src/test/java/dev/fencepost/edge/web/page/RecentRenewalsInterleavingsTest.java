package dev.fencepost.edge.web.page;

import dev.fencepost.host.Event;
import dev.fencepost.host.ManualTime;
import java.time.Duration;
import java.time.Instant;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Test;

/** Keepers record renewals while runs begin and somebody looks at them. */
@Param(name = "run", gen = IntGen.class, conf = "1:2")
public class RecentRenewalsInterleavingsTest {

    private final RecentRenewals renewals =
            new RecentRenewals(event -> {}, new ManualTime(Instant.parse("2026-01-01T00:00:00Z")));

    @Operation
    public void started(@Param(name = "run") int run) {
        renewals.record(new Event.Started("a", "slot", 1, run, "run-" + run, Duration.ZERO));
    }

    @Operation
    public void renewed(@Param(name = "run") int run) {
        renewals.record(new Event.Renewed("a", "slot", run));
    }

    @Operation
    public long known(@Param(name = "run") int run) {
        RecentRenewals.Known known = renewals.of("a", run, "run-" + run);
        return known.count() * 100 + known.newest().size();
    }

    @Test
    void inEveryInterleavingItIsAsIfOneCameAfterTheOther() {
        new ModelCheckingOptions()
                .iterations(5)
                .invocationsPerIteration(100)
                .threads(2)
                .actorsPerThread(3)
                .check(RecentRenewalsInterleavingsTest.class);
    }
}
