package dev.fencepost.host;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Clocks that stand still until a test moves them. A sleeper sleeps until the boot clock has been moved far enough. */
public final class ManualTime implements Time {

    private Instant wall;
    private long bootMillis = 1_000_000;
    private String bootId = "boot-1";
    private final List<Long> wakeUps = new ArrayList<>();

    public ManualTime(Instant wall) {
        this.wall = wall;
    }

    /** Time goes by: both clocks move. */
    public synchronized void pass(Duration time) {
        wall = wall.plus(time);
        bootMillis += time.toMillis();
        notifyAll();
    }

    /** Somebody sets the wall clock; the boot clock does not care. */
    public synchronized void setWallClock(Instant to) {
        wall = to;
    }

    /** The host is started anew: its boot clock begins again, at any value. */
    public synchronized void reboot(String newBootId, long newBootMillis) {
        bootId = newBootId;
        bootMillis = newBootMillis;
    }

    /** Waits until so many threads sleep by this clock; one whose time has come, though it has not woken yet, is not among them. */
    public synchronized void awaitSleepers(int count) throws InterruptedException {
        long giveUp = System.nanoTime() + Duration.ofSeconds(10).toNanos();
        while (sleepers() != count) {
            if (System.nanoTime() > giveUp) {
                throw new AssertionError(sleepers() + " threads sleep, expected " + count);
            }
            wait(100);
        }
    }

    /** Whether somebody waits for a later time. */
    public synchronized boolean hasSleepers() {
        return sleepers() > 0;
    }

    private long sleepers() {
        return wakeUps.stream().filter(at -> at > bootMillis).count();
    }

    @Override
    public synchronized Instant wallClock() {
        return wall;
    }

    @Override
    public synchronized long bootMillis() {
        return bootMillis;
    }

    @Override
    public synchronized String bootId() {
        return bootId;
    }

    @Override
    public synchronized void sleep(Duration duration) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Long until = bootMillis + duration.toMillis();
        if (bootMillis >= until) {
            return;
        }
        wakeUps.add(until);
        notifyAll();
        try {
            while (bootMillis < until) {
                wait();
            }
        } finally {
            wakeUps.remove(until);
            notifyAll();
        }
    }
}
