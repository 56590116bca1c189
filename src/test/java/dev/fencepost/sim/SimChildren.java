package dev.fencepost.sim;

import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.run.ChildProcess;
import dev.fencepost.run.Children;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** Children of one host: each lives as long as the seed says, ends well or not, and obeys SIGTERM or not. */
final class SimChildren implements Children {

    private static final int SIGKILL = 9;
    private static final int SIGTERM = 15;

    private final World world;
    private final Host host;
    private final List<Child> living = new ArrayList<>();

    SimChildren(World world, Host host) {
        this.world = world;
        this.host = host;
    }

    /** Runs that have a living child. */
    List<RunId> living() {
        long now = world.scheduler().now();
        living.removeIf(child -> child.isOver(now));
        return living.stream().map(child -> child.runId).toList();
    }

    void killAll() {
        long now = world.scheduler().now();
        living.forEach(child -> child.endBy(now, 128 + SIGKILL, SIGKILL));
        living.clear();
    }

    @Override
    public ChildProcess start(Spec spec) throws StartFailure {
        if (world.chance(0.02)) {
            throw new StartFailure("no such command, says the seed", null);
        }
        Child child = new Child(spec.runId());
        living.add(child);
        world.witness().childStarted(host, spec.runId(), spec.environment());
        return child;
    }

    @Override
    public int sweep(RunId runId) {
        long now = world.scheduler().now();
        int killed = 0;
        for (Child child : living) {
            if (child.runId.equals(runId) && !child.isOver(now)) {
                child.endBy(now, 128 + SIGKILL, SIGKILL);
                killed++;
            }
        }
        return killed;
    }

    @Override
    public boolean provablyDead(Owner owner) {
        return host.knowsToBeDead(owner);
    }

    @Override
    public String guard() {
        return "the simulation";
    }

    private final class Child implements ChildProcess {
        private final RunId runId;
        private final boolean obeys;
        private long endsAt;
        private int code;
        private @Nullable Integer signal;

        Child(RunId runId) {
            Random random = world.random();
            this.runId = runId;
            this.obeys = random.nextInt(4) > 0;
            boolean hangs = random.nextInt(20) == 0;
            long life = random.nextInt(3) > 0 ? random.nextInt(3_000) : random.nextInt(60_000);
            this.endsAt = hangs ? Long.MAX_VALUE : world.scheduler().now() + life;
            this.code = random.nextInt(6) == 0 ? 1 : 0;
            if (hangs) {
                world.happened("a child hangs");
            }
        }

        boolean isOver(long now) {
            return endsAt <= now;
        }

        void endBy(long at, int withCode, int bySignal) {
            if (at < endsAt) {
                endsAt = at;
                world.scheduler().at(at, () -> {}); // who waits for it looks then
                code = withCode;
                signal = bySignal;
            }
        }

        @Override
        public long pid() {
            return 1_000;
        }

        @Override
        public @Nullable Exit await(Duration limit) throws InterruptedException {
            world.await(limit, () -> isOver(world.scheduler().now()), () -> endsAt);
            return isOver(world.scheduler().now()) ? new Exit(code, signal) : null;
        }

        @Override
        public long lastOutputBootMillis() {
            return host.time().bootMillis();
        }

        @Override
        public void stop(Duration grace) {
            long now = world.scheduler().now();
            if (obeys) {
                endBy(now + Math.min(grace.toMillis(), 50), 128 + SIGTERM, SIGTERM);
            }
            if (!obeys) {
                world.happened("a child ignores SIGTERM");
            }
            long killAt = now + Math.max(0, grace.toMillis());
            kill(killAt);
        }

        /** By a thread of the runner: one that is frozen kills when it goes on. */
        private void kill(long at) {
            world.scheduler().at(at, () -> {
                if (host.isFrozen()) {
                    world.whenThawed(host, () -> kill(world.scheduler().now()));
                } else if (!host.isDead()) {
                    endBy(world.scheduler().now(), 128 + SIGKILL, SIGKILL);
                }
            });
        }

        @Override
        public Output finish() {
            endBy(world.scheduler().now(), 128 + SIGKILL, SIGKILL);
            return new Output("", 0, false, 0);
        }
    }
}
