package dev.fencepost.run;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A child that writes down with which graces it was stopped, and does nothing else. Under its caller's lock. */
final class StoppedChild implements ChildProcess {

    final List<Duration> stops = new ArrayList<>();

    @Override
    public void stop(Duration grace) {
        stops.add(grace);
    }

    @Override
    public long pid() {
        return 1;
    }

    @Override
    public @Nullable Exit await(Duration limit) {
        return null;
    }

    @Override
    public long lastOutputBootMillis() {
        return 0;
    }

    @Override
    public Output finish() {
        return new Output("", 0, false, 0);
    }
}
