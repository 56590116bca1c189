package dev.fencepost.edge.host;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/**
 * SIGINT and SIGTERM, where asked for SIGHUP too, as a request instead of the end of the JVM: the JVM's own way ends the process with its
 * code and takes no second signal for what it is. One that was ignored when the process began, as under {@code nohup}, stays ignored. The
 * handlers that were there before are put back when this is closed.
 */
public final class StopSignals implements AutoCloseable {

    private record Replaced(Signal signal, SignalHandler before) {}

    /** Told of each signal; on a thread of the JVM's, must not block. */
    @FunctionalInterface
    public interface Listener {
        /**
         * @param name of the signal, without {@code SIG}
         * @param count how many have come so far, from 1
         */
        void caught(String name, int count);
    }

    private final List<Replaced> replaced = new ArrayList<>();
    private final AtomicInteger received = new AtomicInteger();

    /** @param onSignal told how many signals have come so far, from 1; on a thread of the JVM's, must not block */
    public StopSignals(IntConsumer onSignal) {
        this(List.of("INT", "TERM"), (name, count) -> onSignal.accept(count));
    }

    /** Of these signals, named without {@code SIG}. */
    public StopSignals(List<String> names, Listener onSignal) {
        for (String name : names) {
            try {
                Signal signal = new Signal(name);
                replaced.add(new Replaced(
                        signal,
                        Signal.handle(
                                signal, caught -> onSignal.caught(caught.getName(), received.incrementAndGet()))));
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
