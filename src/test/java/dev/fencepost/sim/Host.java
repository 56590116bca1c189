package dev.fencepost.sim;

import dev.fencepost.Node;
import dev.fencepost.Store;
import dev.fencepost.effect.Dispatcher;
import dev.fencepost.effect.Sink;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.Event;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.DeadlineWatch;
import dev.fencepost.lease.Owner;
import dev.fencepost.run.Job;
import dev.fencepost.run.NoHttpCalls;
import dev.fencepost.run.Notices;
import dev.fencepost.run.Places;
import dev.fencepost.run.Runner;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One start of a node: its clocks, its children, and the production core on them. It may be frozen (SIGSTOP, a suspend), be cut off from
 * the store, have its wall clock set, and die; the node starts again as another host.
 */
final class Host {

    private static final String NODE = "0000000%d-0000-4000-8000-000000000000";

    private final World world;
    private final int node;
    private final int start;
    private final Owner owner;
    private final long bootOffsetMillis;
    private final SimChildren children;
    private final Time time = new Clocks();
    private final Spawner spawner = new Strands();
    private final Node core;
    private long wallOffsetMillis;
    private boolean frozen;
    private boolean dead;
    private boolean cutOff;

    Host(World world, int node, int start, Store store, List<Job> jobs, Map<String, Sink> sinks) {
        this.world = world;
        this.node = node;
        this.start = start;
        this.owner = new Owner(NODE.formatted(node) + "/boot-" + node + "/1/" + (100 + start) + "/" + start + "/"
                + "%08x".formatted(start));
        this.bootOffsetMillis = world.random().nextInt(1_000_000_000);
        this.children = new SimChildren(world, this);
        DeadlineWatch watch = new DeadlineWatch(time);
        SimPublications publications = new SimPublications(world);
        Runner runner = new Runner(
                store,
                store,
                children,
                new NoHttpCalls(),
                new SimWorkspace(),
                publications,
                watch,
                time,
                spawner,
                new Dice(),
                this::told,
                Notices.NONE,
                owner,
                1 << 20);
        Dispatcher dispatcher = new Dispatcher(
                store, store, sinks, owner, children::provablyDead, time, spawner, new Dice(), this::told);
        this.core = new Node(
                store,
                jobs,
                owner,
                runner,
                children,
                dispatcher,
                watch,
                Notices.NONE,
                new Places(0, time),
                time,
                spawner,
                this::told);
    }

    void begin() {
        core.start();
        wakeLoop();
    }

    private void wakeLoop() {
        if (dead) {
            return;
        }
        if (!frozen) {
            core.wake();
        }
        world.scheduler().after(Node.LOOK_AHEAD.toMillis(), this::wakeLoop);
    }

    private void told(Event event) {
        world.told(this, event);
    }

    World world() {
        return world;
    }

    String name() {
        return "n" + node + "." + start;
    }

    int node() {
        return node;
    }

    Owner owner() {
        return owner;
    }

    Time time() {
        return time;
    }

    SimChildren children() {
        return children;
    }

    boolean isFrozen() {
        return frozen;
    }

    boolean isDead() {
        return dead;
    }

    boolean isCutOff() {
        return cutOff;
    }

    void freeze() {
        frozen = true;
    }

    void thaw() {
        frozen = false;
    }

    void cutOff(boolean now) {
        cutOff = now;
    }

    void setWallClock(long offsetMillis) {
        wallOffsetMillis = offsetMillis;
    }

    /** kill -9: nothing of it runs any more, and the guard takes its children with it. */
    void die() {
        dead = true;
        children.killAll();
    }

    private final class Clocks implements Time {
        @Override
        public Instant wallClock() {
            return Instant.ofEpochMilli(world.scheduler().now() + wallOffsetMillis);
        }

        @Override
        public long bootMillis() {
            return world.scheduler().now() + bootOffsetMillis;
        }

        @Override
        public String bootId() {
            return "boot-" + node;
        }

        @Override
        public void sleep(Duration duration) throws InterruptedException {
            world.sleep(duration);
        }
    }

    private final class Strands implements Spawner {
        @Override
        public Task virtualThread(String name, Runnable body) {
            return world.scheduler().start(Host.this, name, body);
        }

        @Override
        public Task platformThread(String name, Runnable body) {
            return virtualThread(name, body);
        }
    }

    private final class Dice implements Entropy {
        @Override
        public UUID uuid() {
            return new UUID(
                    (world.random().nextLong() & ~0xf000L) | 0x4000L,
                    (world.random().nextLong() >>> 2) | 1L << 63);
        }

        @Override
        public double fraction() {
            return world.random().nextDouble();
        }
    }

    /** Whether this is an earlier start of the same node that is dead. */
    boolean knowsToBeDead(Owner other) {
        @Nullable Host host = world.hostOf(other);
        return host != null && host.node == node && host.dead;
    }
}
