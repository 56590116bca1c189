package dev.fencepost.run;

import dev.fencepost.Store;
import dev.fencepost.edge.jdbc.JdbcStore;
import dev.fencepost.effect.Delivery;
import dev.fencepost.effect.Dispatcher;
import dev.fencepost.effect.Effect;
import dev.fencepost.effect.ReadBack;
import dev.fencepost.effect.Receipt;
import dev.fencepost.effect.Sink;
import dev.fencepost.host.Entropy;
import dev.fencepost.host.Event;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.TestThreads;
import dev.fencepost.host.Time;
import dev.fencepost.lease.DeadlineWatch;
import dev.fencepost.lease.Lease;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.RunId;
import dev.fencepost.schedule.CatchUp;
import dev.fencepost.schedule.Every;
import dev.fencepost.schedule.Schedule;
import dev.fencepost.schedule.Slot;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A runner with a real SQLite store, under a clock that moves only when somebody sleeps by it. Everything runs on the test's own thread,
 * in the order in which it was started; children are made up.
 */
public final class Rig implements AutoCloseable {

    public static final Instant START = Instant.parse("2026-03-01T12:00:00.500Z");

    public final Clock time = new Clock();
    public final Steps spawner = new Steps();
    public final List<Event> events = new ArrayList<>();
    public final Faults faults = new Faults();
    public final Owner owner = new Owner("me");
    public final People children = new People();
    public final Folders folders = new Folders();
    public final Told notices = new Told();
    public final NoPublications publications = new NoPublications();
    public final DeadlineWatch watch = new DeadlineWatch(time);
    public final JdbcStore real;
    public final Store store;
    public final Runner runner;
    public final Scripted sink = new Scripted();
    public final Scripted otherSink = new Scripted();
    public final Dispatcher dispatcher;

    public Rig(Path folder) {
        real = JdbcStore.sqlite(folder.resolve("store.db"), time, new TestThreads());
        real.prepare();
        store = faults.before(real);
        runner = new Runner(
                store,
                store,
                children,
                new NoHttpCalls(),
                folders,
                publications,
                watch,
                time,
                spawner,
                new Dice(),
                events::add,
                notices,
                owner,
                1 << 20);
        dispatcher = new Dispatcher(
                store,
                store,
                Map.of("announce", sink, "site", otherSink),
                owner,
                children::provablyDead,
                time,
                spawner,
                new Dice(),
                events::add);
    }

    public JobLoop loop(Job job) {
        return loop(job, new Places(0, time));
    }

    public JobLoop loop(Job job, Places places) {
        return new JobLoop(job, store, store, runner, children, notices, places, owner, time, spawner, events::add);
    }

    public static Job job(String id) {
        return job(id, Duration.ofSeconds(60), 2, null);
    }

    public static Job job(String id, Schedule schedule) {
        return job(id, schedule, null);
    }

    public static Job job(String id, Schedule schedule, @Nullable Instant startFrom) {
        return job(id, schedule, List.of("true"), Duration.ofSeconds(60), 2, null, startFrom);
    }

    public static Job job(String id, Duration ttl, int maxAttempts, @Nullable Duration timeout) {
        return job(id, new Every(Duration.ofSeconds(10)), List.of("true"), ttl, maxAttempts, timeout, null);
    }

    public static Job job(String id, List<String> command) {
        return job(id, new Every(Duration.ofSeconds(10)), command, Duration.ofSeconds(60), 2, null, null);
    }

    private static Job job(
            String id,
            Schedule schedule,
            List<String> command,
            Duration ttl,
            int maxAttempts,
            @Nullable Duration timeout,
            @Nullable Instant startFrom) {
        return new Job(
                id,
                schedule,
                ZoneOffset.UTC,
                new Action.Command(command, null, Map.of(), null, null),
                Set.of(),
                ttl,
                timeout,
                Duration.ofSeconds(5),
                CatchUp.DEFAULT,
                startFrom,
                maxAttempts,
                null,
                List.of());
    }

    /** With these policies. */
    public static Job with(Job job, Policies policies) {
        return new Job(
                job.id(),
                job.schedule(),
                job.zone(),
                job.action(),
                job.secrets(),
                job.ttl(),
                job.timeout(),
                job.grace(),
                job.catchUp(),
                job.startFrom(),
                job.maxAttempts(),
                job.freshAfter(),
                job.publish(),
                policies,
                job.notifiers());
    }

    public Slot slot() {
        return Slot.at(START);
    }

    public <T extends Event> List<T> events(Class<T> kind) {
        return events.stream().filter(kind::isInstance).map(kind::cast).toList();
    }

    public List<Attempt> attempts(String job) {
        return real.history(job, 100).stream()
                .map(History.Entry::attempt)
                .filter(Objects::nonNull)
                .toList();
    }

    /** The deadlines are looked at once. */
    public void lookAtDeadlines() {
        time.interruptNextSleep = true;
        watch.run();
        if (!Thread.interrupted()) {
            throw new AssertionError("the watch goes on");
        }
    }

    /** The keeper waits for its time and renews once. */
    public void renewOnce() {
        time.interruptAfter = 1;
        spawner.keeper();
        if (!Thread.interrupted()) {
            throw new AssertionError("the keeper goes on");
        }
    }

    @Override
    public void close() {
        real.close();
    }

    /** Sleeping moves it. */
    public static final class Clock implements Time {
        private long millis = 1_000_000;
        private Duration wallAhead = Duration.ZERO;
        private boolean interruptNextSleep;
        private int interruptAfter = -1;
        public Runnable beforeSleep = () -> {};
        public final List<Duration> sleeps = new ArrayList<>();

        @Override
        public synchronized Instant wallClock() {
            return START.plusMillis(millis - 1_000_000).plus(wallAhead);
        }

        /** Somebody sets the wall clock, to so much later than before. */
        public synchronized void setWallClock(Duration later) {
            wallAhead = wallAhead.plus(later);
        }

        @Override
        public synchronized long bootMillis() {
            return millis;
        }

        @Override
        public String bootId() {
            return "boot";
        }

        public synchronized void pass(Duration duration) {
            millis += Math.max(0, duration.toMillis());
        }

        @Override
        public void sleep(Duration duration) throws InterruptedException {
            if (interruptNextSleep || interruptAfter == 0) {
                interruptNextSleep = false;
                interruptAfter = -1;
                throw new InterruptedException();
            }
            if (interruptAfter > 0) {
                interruptAfter--;
            } else {
                beforeSleep.run();
            }
            sleeps.add(duration);
            pass(duration);
        }
    }

    /** Threads that run when the test says so; keepers wait for {@link #keeper}. */
    public static final class Steps implements Spawner {
        private final Deque<Step> steps = new ArrayDeque<>();
        private @Nullable Runnable keeper;
        public boolean refusing;

        private static final class Step implements Task {
            final Runnable body;
            boolean ended;

            Step(Runnable body) {
                this.body = body;
            }

            @Override
            public void interrupt() {}

            @Override
            public boolean isAlive() {
                return !ended;
            }

            @Override
            public boolean join(Duration limit) {
                return ended;
            }
        }

        @Override
        public Task virtualThread(String name, Runnable body) {
            if (refusing) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            Step step = new Step(body);
            if (name.startsWith("keeper-")) {
                keeper = body;
            } else {
                steps.add(step);
            }
            return step;
        }

        @Override
        public Task platformThread(String name, Runnable body) {
            return virtualThread(name, body);
        }

        /** Runs what was started, one after the other. */
        public void runOne() {
            Step step = steps.removeFirst();
            try {
                step.body.run();
            } finally {
                step.ended = true;
            }
        }

        public int waiting() {
            return steps.size();
        }

        public void runAll() {
            for (int i = 0; i < 1_000 && !steps.isEmpty(); i++) {
                runOne();
            }
        }

        /** Runs the newest keeper until it gives up. */
        public void keeper() {
            Objects.requireNonNull(keeper).run();
        }
    }

    /** Calls of the store that fail, by name, in the order given. */
    public static final class Faults {
        private final Map<String, Deque<Fault>> planned = new HashMap<>();
        private final Map<String, Integer> calls = new HashMap<>();

        private record Fault(boolean after, @Nullable Throwable what, Runnable meanwhile) {}

        /** The call is made, and before its caller has the answer something happens. */
        public void meanwhile(String call, Runnable what) {
            planned.computeIfAbsent(call, c -> new ArrayDeque<>()).add(new Fault(true, null, what));
        }

        /** Before the call something happens. */
        public void first(String call, Runnable what) {
            planned.computeIfAbsent(call, c -> new ArrayDeque<>()).add(new Fault(false, null, what));
        }

        /** The call is not made. */
        public void insteadOf(String call, Throwable what) {
            planned.computeIfAbsent(call, c -> new ArrayDeque<>()).add(new Fault(false, what, () -> {}));
        }

        /** The call is made, and its answer lost. */
        public void after(String call, Throwable what) {
            planned.computeIfAbsent(call, c -> new ArrayDeque<>()).add(new Fault(true, what, () -> {}));
        }

        public void none() {
            planned.clear();
        }

        public int calls(String call) {
            return calls.getOrDefault(call, 0);
        }

        private Store before(Store real) {
            return (Store) Proxy.newProxyInstance(
                    Store.class.getClassLoader(), new Class<?>[] {Store.class}, (proxy, method, arguments) -> {
                        calls.merge(method.getName(), 1, Integer::sum);
                        Deque<Fault> faults = planned.getOrDefault(method.getName(), new ArrayDeque<>());
                        Fault fault = faults.poll();
                        if (fault != null && !fault.after()) {
                            fault.meanwhile().run();
                            if (fault.what() != null) {
                                throw fault.what();
                            }
                        }
                        try {
                            Object answer = method.invoke(real, arguments);
                            if (fault != null && fault.after()) {
                                fault.meanwhile().run();
                                if (fault.what() != null) {
                                    throw fault.what();
                                }
                            }
                            return answer;
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    });
        }
    }

    /** Made-up children. */
    public final class People implements Children {
        public final List<Child> started = new ArrayList<>();
        public final List<RunId> swept = new ArrayList<>();
        public final Set<Owner> dead = new HashSet<>();
        public Consumer<Child> life = child -> {};
        public @Nullable String refusal;

        @Override
        public ChildProcess start(Spec spec) throws StartFailure {
            if (refusal != null) {
                throw new StartFailure(refusal, null);
            }
            Child child = new Child(spec);
            started.add(child);
            return child;
        }

        @Override
        public int sweep(RunId runId) {
            swept.add(runId);
            return 0;
        }

        @Override
        public boolean provablyDead(Owner other) {
            return dead.contains(other);
        }

        @Override
        public String guard() {
            return "none";
        }
    }

    /** What notifiers would be told. */
    public static final class Told implements Notices {
        public final List<String> started = new ArrayList<>();
        public final List<Completion> ended = new ArrayList<>();
        public final List<Pause> paused = new ArrayList<>();

        @Override
        public void started(Job job, Slot slot, int attempt, Lease lease) {
            started.add(slot.key() + " " + attempt);
        }

        @Override
        public void ended(Job job, Slot slot, int attempt, Lease lease, Completion completion) {
            ended.add(completion);
        }

        @Override
        public void paused(Job job, Pause pause) {
            paused.add(pause);
        }
    }

    /** Lives for one look at it, in which something may happen; ends with the given code, or when it is stopped. */
    public final class Child implements ChildProcess {
        public final Children.Spec spec;
        public final List<Duration> stops = new ArrayList<>();
        public int code;
        public boolean hangs;
        /** It writes something at each look, so to speak. */
        public boolean talks;

        private long lastOutput = time.bootMillis();
        private boolean lived;

        Child(Children.Spec spec) {
            this.spec = spec;
        }

        @Override
        public long pid() {
            return 1;
        }

        @Override
        public @Nullable Exit await(Duration limit) {
            if (!lived) {
                lived = true;
                children.life.accept(this);
            }
            if (!stops.isEmpty()) {
                return new Exit(143, 15);
            }
            if (hangs) {
                time.pass(limit);
                lastOutput = talks ? time.bootMillis() : lastOutput;
                return null;
            }
            return new Exit(code, null);
        }

        @Override
        public long lastOutputBootMillis() {
            return lastOutput;
        }

        @Override
        public void stop(Duration grace) {
            stops.add(grace);
        }

        @Override
        public Output finish() {
            return new Output("said", 4, false, 0);
        }
    }

    /** No files at all. */
    public static final class Folders implements Workspace {
        public Runnable preparing = () -> {};
        public byte @Nullable [] result;
        public List<String> output = List.of();

        @Override
        public RunFiles prepare(String job, Slot slot, int attempt, RunId runId) throws IOException {
            preparing.run();
            return new RunFiles(Path.of("log"), Path.of("result"), Path.of("effects"), Path.of("out"));
        }

        @Override
        public byte @Nullable [] result(RunFiles files) {
            return result;
        }

        @Override
        public void output(RunFiles files, Consumer<String> line) {
            output.forEach(line);
        }
    }

    /** A sink that answers as it is told: confirmed, and "cannot tell", unless there is more in its script. */
    public static final class Scripted implements Sink {
        public final Deque<Delivery> deliveries = new ArrayDeque<>();
        public final Deque<ReadBack> readBacks = new ArrayDeque<>();
        public final List<Effect> sent = new ArrayList<>();
        public final List<String> readBack = new ArrayList<>();
        public Runnable whileSending = () -> {};
        public Runnable whileReadingBack = () -> {};
        public Duration lockDelay = Duration.ZERO;
        public boolean idempotent;
        public int maxTries;

        @Override
        public Duration timeLimit() {
            return Duration.ofSeconds(30);
        }

        @Override
        public Duration lockDelay() {
            return lockDelay;
        }

        @Override
        public boolean isIdempotent() {
            return idempotent;
        }

        @Override
        public int maxTries() {
            return maxTries;
        }

        @Override
        public Delivery deliver(Effect effect) {
            sent.add(effect);
            whileSending.run();
            Delivery next = deliveries.poll();
            return next == null ? new Delivery.Confirmed(new Receipt("receipt of " + effect.key())) : next;
        }

        @Override
        public ReadBack readBack(Effect effect) {
            readBack.add(effect.key());
            whileReadingBack.run();
            ReadBack next = readBacks.poll();
            return next == null ? new ReadBack.CannotTell("nobody knows", false) : next;
        }

        public List<String> sentKeys() {
            return sent.stream().map(Effect::key).toList();
        }
    }

    private static final class Dice implements Entropy {
        private static final AtomicLong NEXT = new AtomicLong();

        @Override
        public UUID uuid() {
            return new UUID(7, NEXT.incrementAndGet());
        }

        @Override
        public double fraction() {
            return 0.5;
        }
    }
}
