package dev.fencepost.edge.host;

import java.time.Duration;

/** Measures how long something takes, finer than the boot clock; for what people are shown, never for a lease. */
public final class Stopwatch {

    private final long startNanos = System.nanoTime();

    private Stopwatch() {}

    /** Starts to measure. */
    public static Stopwatch start() {
        return new Stopwatch();
    }

    /** Since the start. */
    public Duration elapsed() {
        return Duration.ofNanos(System.nanoTime() - startNanos);
    }

    /** Since the start, in milliseconds with one digit after the point. */
    public double millis() {
        return Math.round(elapsed().toNanos() / 1e5) / 10.0;
    }
}
