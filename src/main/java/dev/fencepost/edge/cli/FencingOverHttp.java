package dev.fencepost.edge.cli;

import dev.fencepost.edge.Assembly;
import dev.fencepost.edge.cli.DemoCommand.Workers;
import dev.fencepost.edge.host.Stopwatch;
import dev.fencepost.host.Spawner;
import dev.fencepost.host.Time;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.Owner;
import dev.fencepost.lease.Refusal;
import dev.fencepost.lease.RunId;
import dev.fencepost.work.Body;
import dev.fencepost.work.Grant;
import dev.fencepost.work.NewItem;
import dev.fencepost.work.WorkAnswer;
import dev.fencepost.work.WorkItem;
import dev.fencepost.work.WorkQueue;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.DoubleAccumulator;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The experiment with a stale worker on the items of a server, with both workers' writes under way at the same time.
 *
 * <p>For each item: worker-a claims; its lease really expires; worker-b claims. Then both hand in their results, in a random order: the
 * one of worker-a has to be refused whether it comes before or after the other.
 */
final class FencingOverHttp {

    /** So many calls are under way at the same time, each with a connection of its own. */
    private static final int HANDS = 16;

    /** Of worker-b, who has to hold its leases until the race; if the command is broken off, they end by themselves. */
    private static final Duration LONG_TTL = Duration.ofHours(1);

    /** The server's clock may go a little slower than ours. */
    private static final Duration BETWEEN_TRIES = Duration.ofMillis(50);

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration BETWEEN_LOOKS = Duration.ofSeconds(1);

    /** One claim for each worker. */
    private static final int ATTEMPTS = 2;

    private static final String NEW = "new result of " + DemoCommand.WORKER_B.text();
    private static final String OLD = "old result of " + DemoCommand.WORKER_A.text();
    private static final String NOBODY = "nobody";

    private final WorkQueue queue;
    private final Time time;
    private final Spawner spawner;
    private final Assembly assembly;
    private final String name;
    private final List<String> ids;

    private final Map<String, Grant> ofA = new ConcurrentHashMap<>();
    private final Map<String, Grant> ofB = new ConcurrentHashMap<>();
    private final Map<String, WorkAnswer> toNew = new ConcurrentHashMap<>();
    private final Map<String, WorkAnswer> toOld = new ConcurrentHashMap<>();
    private final Map<String, WorkItem> atTheEnd = new ConcurrentHashMap<>();
    private final DoubleAccumulator lastOldAnswered = new DoubleAccumulator(Math::max, 0);

    FencingOverHttp(WorkQueue queue, Assembly assembly, int items) {
        this.queue = queue;
        this.assembly = assembly;
        this.time = assembly.time();
        this.spawner = assembly.spawner();
        this.name = "demo-" + assembly.entropy().uuid().toString().substring(0, 13);
        this.ids = IntStream.rangeClosed(1, items).mapToObj(i -> name + "-" + i).toList();
    }

    /** The queue that nobody else uses. */
    String queueName() {
        return name;
    }

    /**
     * Runs the experiment, once.
     *
     * @param ttl of worker-a's leases
     */
    FencingDemo.Column run(Duration ttl) throws InterruptedException {
        forEach(id -> () -> enqueue(id));
        forEach(id -> () -> ofA.put(id, claim(id, DemoCommand.WORKER_A, ttl)));
        time.sleep(ttl); // counted from the last answer, so that all of them are over
        forEach(id -> () -> ofB.put(id, claim(id, DemoCommand.WORKER_B, LONG_TTL)));
        race();
        forEach(id -> () -> look(id));
        return column();
    }

    private void enqueue(String id) {
        if (!queue.enqueue(new NewItem(id, name, null, 0, null, ATTEMPTS)).created()) {
            throw new CommandFailure(ExitCode.FAILED, id + " is there already, though its name is new");
        }
    }

    /** Tries again as long as somebody holds the item. */
    private Grant claim(String id, Owner owner, Duration ttl) throws InterruptedException {
        long giveUp = time.bootMillis() + PATIENCE.toMillis();
        while (true) {
            switch (queue.claimItem(id, owner, new RunId(assembly.entropy().uuid()), ttl)) {
                case WorkAnswer.Done done -> {
                    return new Grant(
                            id,
                            owner,
                            new FencingToken(done.item().fence()),
                            done.item().runId());
                }
                case WorkAnswer.Refused refused -> {
                    if (refused.reason() != Refusal.HELD || time.bootMillis() > giveUp) {
                        throw new CommandFailure(
                                ExitCode.FAILED, id + ": the claim of " + owner + " is refused, " + refused.reason());
                    }
                }
            }
            time.sleep(BETWEEN_TRIES);
        }
    }

    /** The two writes of an item are neighbours in the list: so they are under way together, and either may come first. */
    private void race() throws InterruptedException {
        List<Call> calls = new ArrayList<>();
        Stopwatch watch = Stopwatch.start();
        for (String id : ids) {
            Call fresh = () -> toNew.put(id, queue.complete(grant(ofB, id), body(NEW)));
            Call stale = () -> {
                toOld.put(id, queue.complete(grant(ofA, id), body(OLD)));
                lastOldAnswered.accumulate(watch.millis());
            };
            calls.addAll(assembly.entropy().fraction() < 0.5 ? List.of(fresh, stale) : List.of(stale, fresh));
        }
        together(calls);
    }

    private static Grant grant(Map<String, Grant> of, String id) {
        return Objects.requireNonNull(of.get(id), id);
    }

    private static Body body(String text) {
        return new Body(text.getBytes(StandardCharsets.UTF_8), "text/plain");
    }

    private void look(String id) {
        WorkItem item = queue.item(id);
        if (item != null) {
            atTheEnd.put(id, item);
        }
    }

    private FencingDemo.Column column() {
        int staleAccepted = accepted(toOld);
        return new FencingDemo.Column(
                accepted(toNew),
                staleAccepted,
                ids.size() - staleAccepted,
                (int) ids.stream().filter(id -> NEW.equals(result(id))).count(),
                (int) ids.stream().filter(id -> OLD.equals(result(id))).count(),
                Workers.distinct(ids.stream().map(this::owner).toList()),
                Workers.distinct(ids.stream().map(this::completedBy).toList()),
                lastOldAnswered.get());
    }

    private static int accepted(Map<String, WorkAnswer> answers) {
        return (int) answers.values().stream()
                .filter(WorkAnswer.Done.class::isInstance)
                .count();
    }

    private @Nullable String result(String id) {
        WorkItem item = atTheEnd.get(id);
        Body result = item == null ? null : item.result();
        return result == null ? null : new String(result.bytes(), StandardCharsets.UTF_8);
    }

    /** A done item has no lease any more: its owner is whose claim gave it the newest token. */
    private String owner(String id) {
        WorkItem item = atTheEnd.get(id);
        if (item != null && item.fence() == grant(ofB, id).fence().value()) {
            return DemoCommand.WORKER_B.text();
        }
        return item != null && item.fence() == grant(ofA, id).fence().value() ? DemoCommand.WORKER_A.text() : NOBODY;
    }

    private String completedBy(String id) {
        String result = result(id);
        return NEW.equals(result)
                ? DemoCommand.WORKER_B.text()
                : OLD.equals(result) ? DemoCommand.WORKER_A.text() : NOBODY;
    }

    /**
     * Why the stale writes were refused, and how many for each reason: {@code STALE_TOKEN} before the new result was there, {@code
     * ALREADY_DONE} after it.
     */
    Map<String, Integer> staleReasons() {
        Map<String, Integer> reasons = new TreeMap<>();
        for (WorkAnswer answer : toOld.values()) {
            if (answer instanceof WorkAnswer.Refused refused) {
                reasons.merge(refused.reason().name(), 1, Integer::sum);
            }
        }
        return reasons;
    }

    private interface Call {
        void make() throws InterruptedException;
    }

    private void forEach(Function<String, Call> call) throws InterruptedException {
        together(ids.stream().map(call).toList());
    }

    /** Makes these calls on a few threads, begun in this order. The first one that fails ends it, with its exception. */
    private void together(List<Call> calls) throws InterruptedException {
        AtomicInteger next = new AtomicInteger();
        AtomicInteger made = new AtomicInteger();
        AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
        Runnable hand = () -> {
            try {
                int mine = next.getAndIncrement();
                while (mine < calls.size() && failure.get() == null) {
                    calls.get(mine).make();
                    made.incrementAndGet();
                    mine = next.getAndIncrement();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (RuntimeException e) {
                failure.compareAndSet(null, e);
            }
        };
        List<Spawner.Task> tasks = new ArrayList<>();
        try {
            for (int i = 0; i < Math.min(HANDS, calls.size()); i++) {
                tasks.add(spawner.virtualThread("demo " + i, hand));
            }
            for (Spawner.Task task : tasks) {
                while (!task.join(BETWEEN_LOOKS)) {
                    // each call has a limit of its own
                }
            }
        } finally {
            tasks.forEach(Spawner.Task::interrupt);
        }
        RuntimeException first = failure.get();
        if (first != null) {
            throw first;
        }
        if (made.get() < calls.size()) {
            throw new IllegalStateException(calls.size() - made.get() + " calls were not made");
        }
    }
}
