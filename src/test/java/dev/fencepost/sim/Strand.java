package dev.fencepost.sim;

import dev.fencepost.host.Spawner;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A thread of the core, which runs only while it has the baton. One whose host died never gets it again. */
final class Strand implements Spawner.Task {

    private static final BooleanSupplier NEVER = () -> false;

    private final Host host;
    private final String name;
    private final Semaphore baton;
    private final Semaphore turn = new Semaphore(0);
    private final Thread thread;
    private long until = Long.MIN_VALUE;
    private BooleanSupplier condition = NEVER;
    private boolean mayBeInterrupted;
    private boolean interrupted;
    private boolean over;
    private @Nullable Throwable failure;

    Strand(Host host, String name, Runnable body, Semaphore baton) {
        this.host = host;
        this.name = name;
        this.baton = baton;
        this.thread = Thread.ofVirtual().name(host.name() + "/" + name).unstarted(() -> {
            turn.acquireUninterruptibly();
            try {
                body.run();
            } catch (RuntimeException | Error e) {
                failure = e;
            } finally {
                over = true;
                baton.release();
            }
        });
        thread.start();
    }

    Host host() {
        return host;
    }

    boolean isOver() {
        return over;
    }

    /** A body must not throw: what it throws ends the simulation. */
    void throwFailure() {
        if (failure instanceof Error error) {
            throw error;
        }
        if (failure != null) {
            throw new AssertionError(this + " threw", failure);
        }
    }

    boolean isReady(long nowMillis) {
        return (interrupted && mayBeInterrupted) || until <= nowMillis || condition.getAsBoolean();
    }

    long until() {
        return until;
    }

    /** Gives the baton to this strand and takes it back. */
    void step(Duration limit) {
        until = Long.MAX_VALUE;
        turn.release();
        try {
            if (!baton.tryAcquire(limit.toMillis(), TimeUnit.MILLISECONDS)) {
                AssertionError stuck = new AssertionError(this + " does not come back");
                stuck.setStackTrace(thread.getStackTrace());
                throw stuck;
            }
        } catch (InterruptedException e) {
            throw new AssertionError("the simulation was interrupted", e);
        }
    }

    /** On the strand's own thread: waits for the clock or the condition. */
    void waitFor(long untilMillis, BooleanSupplier waitedFor, boolean interruptible) {
        until = untilMillis;
        mayBeInterrupted = interruptible;
        condition = waitedFor;
        baton.release();
        turn.acquireUninterruptibly();
        condition = NEVER;
    }

    /** As {@link Thread#interrupted}, for the strand itself. */
    boolean takeInterrupt() {
        boolean was = interrupted | Thread.interrupted();
        interrupted = false;
        return was;
    }

    @Override
    public void interrupt() {
        interrupted = true;
    }

    @Override
    public boolean isAlive() {
        return !over;
    }

    @Override
    public boolean join(Duration limit) throws InterruptedException {
        return host.world().join(this, limit);
    }

    @Override
    public String toString() {
        return host.name() + "/" + name;
    }
}
