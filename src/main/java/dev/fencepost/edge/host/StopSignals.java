package dev.fencepost.edge.host;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/**
 * SIGINT and SIGTERM as a request, instead of the end of the JVM: the JVM's own way ends the process with its code and takes no second
 * signal for what it is. The handlers that were there before are put back when this is closed.
 */
public final class StopSignals implements AutoCloseable {

    private record Replaced(Signal signal, SignalHandler before) {}

    private final List<Replaced> replaced = new ArrayList<>();
    private final AtomicInteger received = new AtomicInteger();

    /** @param onSignal told how many signals have come so far, from 1; on a thread of the JVM's, must not block */
    public StopSignals(IntConsumer onSignal) {
        for (String name : List.of("INT", "TERM")) {
            try {
                Signal signal = new Signal(name);
                replaced.add(new Replaced(
                        signal, Signal.handle(signal, caught -> onSignal.accept(received.incrementAndGet()))));
            } catch (IllegalArgumentException taken) {
                // the JVM was started with -Xrs, or has no such signal: then it ends the process as ever
            }
        }
    }

    @Override
    public void close() {
        replaced.forEach(each -> Signal.handle(each.signal, each.before));
    }
}
