package dev.fencepost.host;

import java.time.Duration;

/** Of a thread that has ended, or never was. */
public record EndedTask() implements Spawner.Task {

    @Override
    public void interrupt() {}

    @Override
    public boolean isAlive() {
        return false;
    }

    @Override
    public boolean join(Duration limit) {
        return true;
    }
}
