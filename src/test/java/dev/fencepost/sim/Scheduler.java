package dev.fencepost.sim;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs strands one at a time, in an order drawn from the seed, and moves the clock when all of them wait. Everything that happens, happens
 * at one millisecond of the world and in one order, so that a seed gives the same story each time.
 */
final class Scheduler {

    /** No wait of a test lasts longer in real time: else a strand waits for something that is not the world's. */
    private static final Duration STUCK = Duration.ofSeconds(60);

    private final Random random;
    private final List<Strand> strands = new ArrayList<>();
    private final PriorityQueue<Planned> planned =
            new PriorityQueue<>(Comparator.comparingLong(Planned::at).thenComparingLong(Planned::number));
    private final Semaphore baton = new Semaphore(0);
    private long nowMillis;
    private long number;
    private @Nullable Strand running;
    private Runnable afterStep = () -> {};

    private record Planned(long at, long number, Runnable what) {}

    Scheduler(Random random, long startMillis) {
        this.random = random;
        this.nowMillis = startMillis;
    }

    long now() {
        return nowMillis;
    }

    /** To be called after each step of a strand and each event. */
    void afterEachStep(Runnable check) {
        afterStep = check;
    }

    /** An event of the world. */
    void at(long millis, Runnable what) {
        planned.add(new Planned(Math.max(millis, nowMillis), number++, what));
    }

    void after(long millis, Runnable what) {
        at(nowMillis + millis, what);
    }

    Strand start(Host host, String name, Runnable body) {
        Strand strand = new Strand(host, name, body, baton);
        strands.add(strand);
        return strand;
    }

    /** The strand that runs now. */
    Strand current() {
        if (running == null) {
            throw new AssertionError("no strand runs");
        }
        return running;
    }

    /** The running strand waits until the world's clock says so, or until the condition holds, or until it is interrupted, if it may be. */
    void await(long untilMillis, BooleanSupplier condition, boolean interruptible) {
        Strand strand = current();
        strand.waitFor(untilMillis, condition, interruptible);
    }

    /** Lets the world go on until this millisecond. */
    void runUntil(long endMillis) {
        while (true) {
            Strand next = pick();
            if (next != null) {
                running = next;
                next.step(STUCK);
                running = null;
                if (next.isOver()) {
                    strands.remove(next);
                    next.throwFailure();
                }
                afterStep.run();
                continue;
            }
            long to = nextMoment();
            if (to > endMillis) {
                nowMillis = endMillis;
                return;
            }
            nowMillis = Math.max(nowMillis, to);
            Planned event = planned.peek();
            if (event != null && event.at() <= nowMillis) {
                planned.remove();
                event.what().run();
                afterStep.run();
            }
        }
    }

    private @Nullable Strand pick() {
        strands.removeIf(strand -> strand.host().isDead());
        List<Strand> ready = new ArrayList<>();
        for (Strand strand : strands) {
            if (!strand.host().isFrozen() && strand.isReady(nowMillis)) {
                ready.add(strand);
            }
        }
        return ready.isEmpty() ? null : ready.get(random.nextInt(ready.size()));
    }

    private long nextMoment() {
        long next = planned.isEmpty() ? Long.MAX_VALUE : planned.peek().at();
        for (Strand strand : strands) {
            if (!strand.host().isFrozen()) {
                next = Math.min(next, strand.until());
            }
        }
        return next;
    }
}
