package dev.fencepost.run;

import java.time.Duration;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;

/**
 * Whoever asks a run to stop, its child and its end come from threads of their own. In whatever order they take turns, it is as if one had
 * come after the other.
 */
public class StopRequestInterleavingsTest {

    private final StopRequest request = new StopRequest();
    private final StoppedChild child = new StoppedChild();

    @Operation
    public boolean timeout() {
        return request.request(StopRequest.Reason.TIMEOUT, "timeout", Duration.ofSeconds(10));
    }

    @Operation
    public boolean leaseLost() {
        return request.request(StopRequest.Reason.LEASE_LOST, "lost", Duration.ofSeconds(1));
    }

    @Operation
    public boolean cancelled() {
        return request.request(StopRequest.Reason.CANCEL, "cancelled", Duration.ofSeconds(5));
    }

    @Operation
    public void attached() {
        request.attach(child);
    }

    @Operation
    public void ended() {
        request.ended();
    }

    @Operation
    public String told() {
        synchronized (request) {
            return request.reason() + " " + request.text() + " " + child.stops;
        }
    }

    @Test
    void inEveryInterleavingItIsAsIfOneCameAfterTheOther() {
        new ModelCheckingOptions()
                .iterations(15)
                .invocationsPerIteration(200)
                .threads(3)
                .actorsPerThread(2)
                .actorsBefore(1)
                .actorsAfter(2)
                .check(StopRequestInterleavingsTest.class);
    }
}
