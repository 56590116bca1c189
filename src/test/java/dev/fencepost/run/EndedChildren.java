package dev.fencepost.run;

import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import java.time.Duration;
import java.util.function.Consumer;

/** Children that have ended with 0, and without a word, as soon as they are started. No process is. */
public final class EndedChildren implements Children {

    private final Consumer<Spec> started;

    /** @param started told of each */
    public EndedChildren(Consumer<Spec> started) {
        this.started = started;
    }

    @Override
    public ChildProcess start(Spec spec) {
        started.accept(spec);
        return new Ended();
    }

    @Override
    public int sweep(RunId runId) {
        return 0;
    }

    @Override
    public boolean provablyDead(Owner owner) {
        return false;
    }

    @Override
    public String guard() {
        return "none";
    }

    private record Ended() implements ChildProcess {
        @Override
        public long lastOutputBootMillis() {
            return 0;
        }

        @Override
        public long pid() {
            return 1;
        }

        @Override
        public Exit await(Duration limit) {
            return new Exit(0, null);
        }

        @Override
        public void stop(Duration grace) {}

        @Override
        public Output finish() {
            return new Output("", 0, false, 0);
        }
    }
}
